"""Notes that consist of one link with a title or a remark, as phones share them, and the links in any text.

The rule is in docs/web.md: exactly one address, and no more words beside it than a title and a remark have.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from urllib.parse import urlsplit

NOTE_EXTENSIONS = frozenset({"", "txt", "text", "md", "markdown", "mdown", "mkd"})
MAX_WORDS, MAX_CHARACTERS, MAX_LINES = 30, 240, 5  # beside the address
TITLE_CHARACTERS = 200
MAX_LINKS = 100  # of one text
MAX_ADDRESS = 4000  # characters of an address
MAX_WORD = 2 * MAX_ADDRESS  # an address with the punctuation around it

# White space, control and direction characters, lone surrogates, and the replacement character.
EXCLUDED_CHARACTERS = r"\s<>\"\x00-\x1f\x7f-\x9f\u200b-\u200f\u2028-\u202e\u2060-\u2069\ufeff\ufffd\ud800-\udfff"
ADDRESS = re.compile(rf"https?://[^/?#'\\{EXCLUDED_CHARACTERS}]+(?:[/?#][^{EXCLUDED_CHARACTERS}]*)?", re.IGNORECASE)
_INVISIBLE = re.compile(r"[\x00-\x08\x0e-\x1f\x7f\u202a-\u202e\u2066-\u2069\ufffd]")
_TARGET = r"[^\s()<>]{1,4000}(?:\([^\s()<>]{0,500}\)[^\s()<>]{0,500})?"
_MARKDOWN_LINK = re.compile(
    rf"(!?)\[([^\[\]\n]{{0,500}})\]\(\s{{0,5}}<?({_TARGET})>?(?:\s{{1,5}}\"[^\"\n]{{0,300}}\")?\s{{0,5}}\)"
)
_FRONT_MATTER = re.compile(r"---[ \t]*\n(.{0,4000}?)\n---[ \t]*(?:\n|$)", re.DOTALL)
_FIELD = re.compile(r"([A-Za-z][\w-]{0,40})[ \t]*:[ \t]*(.*)")
_ADDRESS_FIELDS = ("url", "source", "link", "canonical_url", "source_url", "href")
_REMARK_FIELDS = ("description", "excerpt", "note", "comment", "remark")
_OPENING, _CLOSING = "(<[{\"'“‘«", ")>]}\"'”’».,;:!?"
_PAIRS = {")": "(", "]": "[", "}": "{"}
_INDENT = r"^[^\S\n]*"  # not \s: many empty lines would be searched again from each of them
_MARKUP = re.compile(rf"```|~~~|{_INDENT}\|.*\|\s*$|{_INDENT}<(?!https?:)[a-z!]", re.MULTILINE | re.IGNORECASE)
_LIST_ITEM = re.compile(rf"{_INDENT}(?:[-*+•]|\d{{1,3}}[.)])\s+\S", re.MULTILINE)


@dataclass(frozen=True, slots=True)
class LinkNote:
    """One address, and the text beside it."""

    url: str
    title: str | None = None
    remark: str | None = None

    @property
    def text(self) -> str:
        """The words beside the address."""
        return "\n\n".join(part for part in (self.title, self.remark) if part)


def is_address(text: str) -> bool:
    """Whether the text is one http(s) address with a host."""
    if not ADDRESS.fullmatch(text):
        return False
    try:
        return bool(urlsplit(text).hostname)
    except ValueError:  # brackets around something else, letters that only look like a slash
        return False


def links_in(text: str) -> list[str]:
    """The http(s) addresses in a text, each once, in order; at most MAX_LINKS."""
    found: dict[str, None] = {}
    for address in _find_addresses(_MARKDOWN_LINK.sub(lambda link: f" {link[2]} {link[3]} ", text)):
        if address is not None and len(address) <= MAX_ADDRESS:
            found.setdefault(address)
        if len(found) == MAX_LINKS:
            break
    return list(found)


def read_link_note(text: str) -> LinkNote | None:
    """Read a note as a link; None for any other text: two addresses, none, or more words than a remark has."""
    text = text.strip("\ufeff \t\r\n").replace("\r\n", "\n")
    if _INVISIBLE.search(text) or _MARKUP.search(text):
        return None
    fields, body = _split_front_matter(text)
    links = list(_MARKDOWN_LINK.finditer(body))
    if any(link[1] for link in links):
        return None  # a picture belongs to a text
    labels = [link[2].strip() for link in links]
    body = _MARKDOWN_LINK.sub(lambda link: f" {link[3]} ", body)
    field_address = next((fields[name] for name in _ADDRESS_FIELDS if is_address(fields.get(name, ""))), None)
    addresses = [field_address] if field_address else []
    for address in _find_addresses(body):
        if address is None:
            return None  # it looks like an address but is none
        addresses.append(address)
    if len(set(addresses)) != 1:
        return None
    lines = [_without_addresses(line) for line in body.split("\n") if line.strip()]
    first = body.strip().split("\n", 1)[0]
    first_is_title = not _find_addresses(first) and (field_address is None or first.startswith("#"))
    words = [line for line in lines if line]
    rest = "\n".join(words)
    if len(words) > MAX_LINES or len(rest) > MAX_CHARACTERS or len(rest.split()) > MAX_WORDS:
        return None
    if len(_LIST_ITEM.findall(body)) > 1:
        return None
    title = fields.get("title") or next(filter(None, labels), None)
    if title is None and first_is_title and words:
        title = words.pop(0).lstrip("# ")
    remarks = [fields[name] for name in _REMARK_FIELDS if fields.get(name)] + words
    return LinkNote(addresses[0], (title or "")[:TITLE_CHARACTERS].strip() or None, "\n".join(remarks) or None)


def _find_addresses(text: str) -> list[str | None]:
    """The address in each word that has one; None where it only looks like one."""
    found: list[str | None] = []
    for word in text.split():
        if "://" in word:
            address = _trim_punctuation(word) if len(word) <= MAX_WORD else ""
            found.append(address if is_address(address) else None)
    return found


def _trim_punctuation(word: str) -> str:
    """The word without the punctuation around an address in a sentence."""
    word = word.lstrip(_OPENING)
    while word and word[-1] in _CLOSING:
        pair = _PAIRS.get(word[-1])
        if pair and word.count(pair) >= word.count(word[-1]):
            break
        word = word[:-1]
    return word


def _without_addresses(line: str) -> str:
    return " ".join(word for word in line.split() if "://" not in word).strip(" -–—|:")


def _split_front_matter(text: str) -> tuple[dict[str, str], str]:
    """The plain fields of the front matter, and the text after it."""
    match = _FRONT_MATTER.match(text)
    if match is None:
        return {}, text
    fields: dict[str, str] = {}
    for line in match[1].split("\n"):
        field = _FIELD.match(line)
        if field:
            fields.setdefault(field[1].lower(), field[2].strip().strip("\"'").strip())
    return fields, text[match.end() :]

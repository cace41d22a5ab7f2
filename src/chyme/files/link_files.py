"""Reads and writes link files: files with one address and little beside it; and finds the links in any text."""

from __future__ import annotations

import plistlib
import re
from dataclasses import dataclass
from urllib.parse import urlsplit
from xml.parsers.expat import ExpatError

from chyme.digester import Source
from chyme.files.extensions import LINKS, extension_of
from chyme.text.decoding import detect_utf16

LINK_BYTES = 8192
_SURROUNDING = " \t\r\n\v\f\x00\x85\xa0\u200b\u200e\u200f\u2028\u2029\u2060\ufeff"  # copied along with addresses
# What plistlib may raise for a manipulated property list of 8 KB.
_PLIST_ERRORS = (ValueError, LookupError, AttributeError, TypeError, ArithmeticError, RecursionError, ExpatError)
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


def link_in(name: str, data: bytes) -> str | None:
    """The http(s) address in a link file, or None when the file is more than a link."""
    note = link_note_in(name, data)
    return note.url if note else None


def link_note_in(name: str, data: bytes) -> LinkNote | None:
    """The address of a link file, with the title and remark beside it.

    A shortcut (.url, .webloc, .desktop) may hold more about its address, such as an icon. A note is a link when it is
    one address with little beside it; any other file only when the address is its whole content.
    """
    if not data or len(data) > LINK_BYTES:
        return None
    extension = extension_of(name)
    if extension == "webloc":
        address = _read_webloc(data)
    else:
        text = _decode(data)
        address = (_read_shortcut(text) if extension in LINKS else None) or _parse_address(text)
        if address is None and extension in NOTE_EXTENSIONS:
            return read_link_note(text)
    return LinkNote(address) if address else None


def make_shortcut(address: str) -> bytes:
    """A file that opens the address on a double click; of all shortcut formats, most desktops know .url."""
    return f"[InternetShortcut]\r\nURL={address}\r\n".encode()


def _decode(data: bytes) -> str:
    """Decode, replacing what is not Unicode: older Windows wrote icon names in any encoding, but addresses in ASCII."""
    if data.startswith((b"\xff\xfe", b"\xfe\xff")):
        return data.decode("utf-16", "replace")
    utf16 = detect_utf16(data)
    if utf16:
        return data.decode(utf16, "replace")
    try:
        return data.decode("utf-8-sig")
    except UnicodeDecodeError:
        return data.decode("ascii", "replace")


def _read_shortcut(text: str) -> str | None:
    """Read an internet shortcut of Windows, or a link entry of freedesktop.org."""
    section = ""
    entries: dict[tuple[str, str], str] = {}
    for line in text.splitlines():
        entry = line.strip()
        if entry.startswith("[") and entry.endswith("]"):
            section = entry[1:-1].strip().lower()
            continue
        key, _, value = entry.partition("=")
        entries.setdefault((section, key.strip().lower()), value.strip())
    if entries.get(("desktop entry", "type"), "").lower() == "link":
        expanded = entries.get(("desktop entry", "url[$e]"), "").replace("$$", "$")  # KDE escapes what it would expand
        return _parse_address(entries.get(("desktop entry", "url"), expanded))
    return _parse_address(entries.get(("internetshortcut", "url"), ""))


def _read_webloc(data: bytes) -> str | None:
    try:
        content = plistlib.loads(data)  # refuses entities by itself
    except _PLIST_ERRORS:
        return None
    address = content.get("URL") if isinstance(content, dict) else None
    return _parse_address(address) if isinstance(address, str) else None


def _parse_address(text: str) -> str | None:
    text = text.strip(_SURROUNDING)
    if text.startswith("<") and text.endswith(">"):
        text = text[1:-1].strip()
    return text if is_address(text) else None


def restore_link_parts(link: str, found: str) -> str:
    """The address where a page was found, with parts of its link: the password if the host is the same, and the
    fragment.

    Scripts choose by the fragment what they show.
    """
    try:
        link_parts, found_parts = urlsplit(link), urlsplit(found)
        origins = {(parts.scheme, parts.hostname, parts.port) for parts in (link_parts, found_parts)}
    except ValueError:
        return found
    credentials, separator, _ = link_parts.netloc.rpartition("@")
    if len(origins) == 1 and separator and "@" not in found_parts.netloc:
        found_parts = found_parts._replace(netloc=f"{credentials}@{found_parts.netloc}")
    return found_parts._replace(fragment=found_parts.fragment or link_parts.fragment).geturl()


def remove_credentials(url: str) -> str:
    """The address without user and password."""
    parts = urlsplit(url)
    return parts._replace(netloc=parts.netloc.rpartition("@")[2]).geturl()


def link_note_of(source: Source) -> LinkNote | None:
    """The address in a link file, with the text beside it."""
    with source.open() as stream:
        return link_note_in(source.file.name, stream.read(LINK_BYTES + 1))


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
    """Read a note that is one link with a title or a remark, as phones share them; None for any other text.

    The rule is in docs/web.md: exactly one address, and no more words beside it than a title and a remark have.
    """
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

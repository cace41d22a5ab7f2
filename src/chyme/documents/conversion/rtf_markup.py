"""Rewrite RTF so that raised letters reach the text and deleted text does not; find comments and running heads."""

from __future__ import annotations

import re
from collections.abc import Iterator
from itertools import islice

from chyme.documents.conversion.comments_and_charts import as_remark, quote_lines, tell_deletions
from chyme.documents.conversion.raised_letters import lower_letters, raise_letters

MAX_REMARKS = 500
MAX_GROUP = 10_000  # letters of a comment or running head
_STAR = re.compile(rb"\\\\|\{\s{0,10}\\\*|\\\*")  # an escaped backslash, the mark of a group, or the mark elsewhere
_SCRIPT = re.compile(r"(\\(super|sub) ?)([^{}\\]{1,60})(?=\}|\\nosupersub)")
_DELETED = re.compile(r"\{\\deleted\b(?!0)(?:\\\w+ ?)*([^{}]*)\}")
_AUTHOR_OR_COMMENT = re.compile(r"\{\\\*\\(atnauthor|annotation)\b")
_RUNNING = re.compile(r"\{\\(header|footer)[lrf]?\b")
_IGNORED = re.compile(r"\{\\\*[^{}]*\}|\{\\(?:fonttbl|field)[^{}]*\}")
_BREAK = re.compile(r"\\(?:par|line|tab|cell|row)\b ?")
_UNICODE = re.compile(r"\\u(-?\d{1,5}) ?\??")
_BYTE = re.compile(r"\\'([0-9a-fA-F]{2})")
_CONTROL = re.compile(r"\\[a-zA-Z]+-?\d* ?|[{}]|\\.")


def rewrite_rtf(data: bytes) -> bytes:
    """The document with raised letters in Unicode and without text that tracked changes removed.

    A group may be ignored where its first word is marked. Some programs mark others, which would lose its text.
    """
    data = _STAR.sub(lambda found: b"" if found[0] == b"\\*" else found[0], data)
    if b"\\super" not in data and b"\\sub" not in data and b"{\\deleted" not in data:
        return data
    source = _DELETED.sub("", data.decode("latin-1"))
    return _SCRIPT.sub(_unscript, source).encode("latin-1", "replace")


def _unscript(script: re.Match[str]) -> str:
    before = script.string[max(0, script.start() - 20) : script.start()].rstrip("{").rpartition("}")[2]
    changed = raise_letters(script[3], before) if script[2] == "super" else lower_letters(script[3])
    letters = "".join(letter if ord(letter) < 128 else f"\\u{ord(letter)}?" for letter in changed)
    return script[1] + letters


def remarks_in(data: bytes) -> list[str]:
    """Comments with their authors as quoted lines; deleted text, headers and footers as comments of markdown."""
    signs = (b"\\annotation", b"{\\deleted", b"{\\header", b"{\\footer")
    if not any(sign in data for sign in signs):
        return []
    source = data.decode("latin-1")
    deleted = [("", _plain(found[1])) for found in _DELETED.finditer(source)]
    running = dict.fromkeys(
        f"{found[1]}: {text}"
        for found in islice(_RUNNING.finditer(source), MAX_REMARKS)
        if (text := _plain(_group(source, found.start())))
    )
    comments = quote_lines(list(_comments(source))[:MAX_REMARKS])
    return [*comments, *tell_deletions(deleted[:MAX_REMARKS]), *(as_remark(line) for line in running)]


def _comments(source: str) -> Iterator[tuple[str, str]]:
    author = ""
    for found in islice(_AUTHOR_OR_COMMENT.finditer(source), 2 * MAX_REMARKS):
        text = _plain(_group(source, found.start())[len(found[0]) - 1 :])
        if found[1] == "atnauthor":
            author = text
        else:
            yield author, text


def _group(source: str, start: int) -> str:
    """What stands between this opening brace and the one that closes it."""
    depth = 0
    end = min(len(source), start + MAX_GROUP)
    for position in range(start, end):
        if source[position] == "{" and source[position - 1 : position] != "\\":
            depth += 1
        elif source[position] == "}" and source[position - 1 : position] != "\\":
            depth -= 1
            if not depth:
                return source[start + 1 : position]
    return source[start + 1 : end]


def _plain(source: str) -> str:
    text = _BREAK.sub(" ", _IGNORED.sub("", source))
    text = _UNICODE.sub(lambda code: chr(int(code[1]) % 0x10000), text)
    text = _BYTE.sub(lambda code: bytes.fromhex(code[1]).decode("cp1252", "replace"), text)
    return " ".join(_CONTROL.sub("", text).split())

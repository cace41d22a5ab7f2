"""Convert Jupyter notebooks: prose as it is, code in fences of its language, short outputs, no pictures."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping

from chyme.documents.conversion.code_blocks import fence_code
from chyme.documents.conversion.results import (
    ConversionLimits,
    ConversionResult,
    broken_file_error,
    build_unpaged_result,
)
from chyme.errors import LimitReached
from chyme.text.decoding import clean, decode

OUTPUT_LINES, OUTPUT_CHARS = 30, 2_000  # of one cell
OUTPUT_SCANNED = 1_000_000  # characters in which they are looked for, behind embedded pictures
_LANGUAGE = re.compile(r"[A-Za-z0-9+#.-]{1,30}")
_EMBEDDED = re.compile(
    r"!?\[[^\]\n]{0,200}\]\((?:data:|attachment:)[^()\[\]\s]*+\)|data:[\w/+.-]{1,80};base64,[A-Za-z0-9+/=]+"
)
_COLOUR_CODES = re.compile(r"\x1b\[[0-9;?]*[A-Za-z]")
_UNDERLINED = re.compile(r"(?:(?<=\n\n)|\A)([^\s#>|`*+\-][^\n]{0,200})\n([=-])\2{2,200}[ \t]{0,8}$", re.MULTILINE)
Json = Mapping[str, object]


def convert_notebook(name: str, data: bytes, limits: ConversionLimits) -> ConversionResult:
    """The cells of a notebook of format 3 or later, in order."""
    try:
        notebook = json.loads(decode(data, len(data)).text)
    except RecursionError as error:
        raise LimitReached(
            f"{name}: notebook is nested too deeply to be read; open it in Jupyter and save it anew"
        ) from error
    except ValueError as error:
        raise broken_file_error(name, "notebook") from error
    if not isinstance(notebook, dict):
        raise broken_file_error(name, "notebook")
    language = _language_of(notebook)
    blocks: list[str] = []
    length = 0
    for cell in _cells(notebook):
        found = [block.strip() for block in _blocks_of(cell, language) if block.strip()]
        blocks += found
        length += sum(map(len, found))
        if length > 2 * limits.text_chars:  # `convert` cuts the rest, and says so
            break
    return build_unpaged_result("\n\n".join(blocks))


def _cells(notebook: Json) -> Iterator[Json]:
    for holder in (notebook, *_objects(notebook.get("worksheets"))):
        yield from _objects(holder.get("cells"))


def _language_of(notebook: Json) -> str:
    metadata = notebook.get("metadata")
    if not isinstance(metadata, dict):
        return ""
    for part, key in (("kernelspec", "language"), ("language_info", "name")):
        found = metadata.get(part)
        name = found.get(key) if isinstance(found, dict) else None
        if isinstance(name, str) and _LANGUAGE.fullmatch(name):
            return name.lower()
    return ""


def _blocks_of(cell: Json, language: str) -> Iterator[str]:
    source = _joined(cell.get("source") if "source" in cell else cell.get("input"))
    sort = cell.get("cell_type")
    if sort == "markdown":
        yield _UNDERLINED.sub(_hash_heading, _EMBEDDED.sub("", source))
    elif sort == "heading":  # of format 3
        level = cell.get("level")
        yield f"{'#' * (level if isinstance(level, int) and 1 <= level <= 6 else 1)} {' '.join(source.split())}"
    elif sort == "code":
        own = cell.get("language")
        yield _fenced(source, own if isinstance(own, str) and _LANGUAGE.fullmatch(own) else language)
        yield _shortened_output(cell)
    else:
        yield _fenced(source, "")


def _hash_heading(match: re.Match[str]) -> str:
    """A heading marked by `#` instead of a line below it: only those are recognised further on."""
    return f"{'#' if match[2] == '=' else '##'} {match[1].strip()}"


def _shortened_output(cell: Json) -> str:
    texts = [text for output in _objects(cell.get("outputs")) if (text := _output_text(output).strip())]
    beginning = "\n".join(texts)[:OUTPUT_SCANNED]
    lines = _COLOUR_CODES.sub("", _EMBEDDED.sub("", beginning))[: OUTPUT_CHARS + 1].split("\n")
    text = "\n".join(lines[:OUTPUT_LINES])
    cut = len(lines) > OUTPUT_LINES or len(text) > OUTPUT_CHARS
    return _fenced(text[:OUTPUT_CHARS].rstrip() + ("\n…" if cut else ""), "text")


def _output_text(output: Json) -> str:
    """What an output says; a picture says nothing, and what stands for it in plain text even less."""
    if "ename" in output:
        return f"{_joined(output.get('ename'))}: {_joined(output.get('evalue'))}"
    data = output.get("data")
    values: Json = data if isinstance(data, dict) else output
    if any(str(key).startswith("image/") or key in ("png", "jpeg", "svg") for key in values):
        return ""
    return next((text for key in ("text/markdown", "text/plain", "text") if (text := _joined(values.get(key)))), "")


def _fenced(text: str, language: str) -> str:
    text = clean(text).strip("\n")
    if not text.strip():
        return ""
    return fence_code(text, language)


def _joined(value: object) -> str:
    """A text, which notebooks write whole or as a list of lines."""
    if isinstance(value, list):
        return "".join(line for line in value if isinstance(line, str))
    return value if isinstance(value, str) else ""


def _objects(value: object) -> list[Json]:
    return [item for item in value if isinstance(item, dict)] if isinstance(value, list) else []

"""Read what a file is classified by: its running text as plain words, and its metadata."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from chyme.digester import Source
from chyme.model import Form, Upstream
from chyme.text.digest_text import extract_text
from chyme.text.markdown_blocks import Block, blocks_of
from chyme.text.markdown_lines import strip_origin_line
from chyme.text.sized_lines import SizedLine

if TYPE_CHECKING:
    from chyme.documents.properties.reader import Properties

FILE = "file"  # the name of the file's own text among the outputs
SPOKEN = ("speech-recognition-cleanup", "speech-recognition")  # the same words; the first is the corrected form
RUNNING_TEXTS = ("url-crawl-content", "doc-to-markdown", FILE, *SPOKEN, "image-ocr")  # the first with content counts
FORMS: Mapping[str, Form] = {
    "url-crawl-content": Form.TEXT,
    "doc-to-markdown": Form.TEXT,
    "image-ocr": Form.TEXT,
    "image-captioning": Form.CAPTION,
    "image-objects": Form.OBJECTS,
    "speech-recognition": Form.TRANSCRIPT,
    "speech-recognition-cleanup": Form.TRANSCRIPT,
    "speech-recognition-summary": Form.SUMMARY,
    "url-crawl-summary": Form.SUMMARY,
    "url-metadata": Form.PAGE_FACTS,
    "image-preview": Form.PICTURE_FACTS,
    "media-preview": Form.MEDIA_FACTS,
}
MAX_CHARS = 100_000  # characters that are read; a longer text is sampled over its whole length
_HEAD, _SAMPLES = 0.4, 12  # the share of its beginning, and the number of samples that make up the rest
_LINE = 4_000  # characters of one line
_FRONT_MATTER = re.compile(r"\A(---|\+\+\+)[ \t]*\n.{0,16000}?\n(?:\1|\.\.\.)[ \t]*\n", re.DOTALL)
_TIMING = re.compile(r"^(?:WEBVTT.*|\d{1,6}|[\d:.,]{5,20} --> .*)$\n?", re.MULTILINE)  # of subtitles
_NOTE = re.compile(r"^> note:.*$", re.MULTILINE)
_DOUBT = re.compile(r"\s*\[\?\]")
_MAIL_FIELD = re.compile(r"\*\*([A-Z][A-Za-z-]{1,20})(?::\*\*|\*\*:) ")
Json = dict[str, object]


@dataclass(frozen=True, slots=True)
class DocumentMetadata:
    """The metadata of a document, from whatever source."""

    title: str = ""
    description: str = ""
    keywords: tuple[str, ...] = ()
    language: str | None = None
    site: str = ""  # of a web page
    where: str = "properties"


@dataclass(frozen=True, slots=True)
class SourceText:
    """A file's text, limited in length, and its blocks as plain words."""

    where: str  # the output it was read from; empty if there is no text
    text: str
    blocks: Sequence[Block]
    metadata: DocumentMetadata
    summary: str = ""  # of a recording
    whole: str = ""  # the whole text as it is, only for counting
    front: Sequence[SizedLine] = ()  # the lines of the first page with their sizes, of PDFs and scans

    @property
    def spoken(self) -> bool:
        return self.where in SPOKEN


def read_source_text(
    texts: Mapping[str, str],
    properties: Properties | None = None,
    max_chars: int = MAX_CHARS,
    scanned: Sequence[SizedLine] = (),
) -> SourceText:
    """Read the outputs of a file; content that is not in its promised form is ignored.

    `scanned` are the lines of a first page that was read from a picture.
    """
    where = next((name for name in RUNNING_TEXTS if texts.get(name, "").strip()), "")
    text = running_text(where, texts.get(where, ""), max_chars)
    summary = strip_origin_line(texts.get("speech-recognition-summary", "")[:50_000])
    metadata = _read_metadata(texts, properties)
    if where == "doc-to-markdown" and not metadata.title:
        metadata = replace(metadata, title=_subject(texts[where]))
    front = (properties.front if properties else ()) or scanned
    return SourceText(where, text, blocks_of(text), metadata, summary, texts.get(where, ""), front)


def running_text(where: str, content: str, max_chars: int = MAX_CHARS) -> str:
    """The text of one output without chyme's notes, sampled if it is long."""
    if where in SPOKEN:
        transcript = read_json(content)
        rows = transcript.get("segments")
        lines = [text_in(row, "text") for row in rows if isinstance(row, dict)] if isinstance(rows, list) else []
        return sample_text("\n".join(lines) or text_in(transcript, "text"), max_chars)
    if where == FILE and content[:1] == "{" and '"cells"' in content[:1000]:
        content = _notebook_to_markdown(content) or content
    elif where == FILE and "-->" in content[:1000]:
        content = _TIMING.sub("", content[: 20 * max_chars])
    text = _FRONT_MATTER.sub("", content, count=1) if where == FILE and content[:3] in ("---", "+++") else content
    text = sample_text(text, max_chars)
    if where != FILE:
        text = _NOTE.sub("", text)
    if where == "image-ocr" or "[?]" in text:
        text = _DOUBT.sub("", text)
    if where == "image-ocr":
        text = text.replace(" | ", "  ")  # words of one line that are far apart
    return without_header(text) if where == "doc-to-markdown" else text


def readable_text(name: str, content: str) -> str:
    """What a person could read in the output of this name."""
    return extract_text(Upstream(name, content, form=FORMS.get(name, Form.DATA))).text


def _notebook_to_markdown(content: str) -> str:
    """The text and the code of a notebook as markdown."""
    cells = read_json(content).get("cells")
    parts: list[str] = []
    for cell in cells if isinstance(cells, list) else ():
        source = cell.get("source") if isinstance(cell, dict) else None
        lines = source if isinstance(source, list) else [source]
        text = "".join(line for line in lines if isinstance(line, str))
        parts.append(f"```\n{text}\n```" if cell.get("cell_type") == "code" else text)
    return "\n\n".join(parts)


def without_header(text: str) -> str:
    """An e-mail's text without the header fields above it: they are read elsewhere."""
    if not _MAIL_FIELD.match(text):
        return text
    lines = text.split("\n", 12)
    count = next((number for number, line in enumerate(lines) if not _MAIL_FIELD.match(line)), len(lines))
    return "\n".join(lines[count:])


def _subject(text: str) -> str:
    """The subject from the header fields above an e-mail's text."""
    for line in text[:10_000].split("\n", 12)[:12]:
        field = _MAIL_FIELD.match(line)
        if field is None:
            break
        if field[1] == "Subject":
            return " ".join(line[field.end() :].split())
    return ""


def sample_text(text: str, max_chars: int) -> str:
    """The text, or its beginning and samples spread over the rest of it; very long lines are cut."""
    if len(text) > max_chars:
        head = int(max_chars * _HEAD)
        length = (max_chars - head) // _SAMPLES
        step = (len(text) - head) // _SAMPLES
        parts = [_whole_lines(text, 0, head)]
        parts += [_whole_lines(text, head + number * step, length) for number in range(_SAMPLES)]
        text = "\n\n".join(parts)
    if "\n" in text and len(text) < _LINE:
        return text
    return "\n".join(line if len(line) <= _LINE * 10 else line[: _LINE * 10] for line in text.split("\n"))


def _whole_lines(text: str, start: int, length: int) -> str:
    part = text[start : start + length]
    if start:
        break_at = part.find("\n", 0, length // 4)
        part = part[break_at + 1 :] if break_at >= 0 else part
    break_at = part.rfind("\n", length - length // 4)
    return part[:break_at] if break_at >= 0 else part


def content_of(source: Source, name: str) -> str | None:
    """The content of this output, which the digester reads; None if there is none."""
    output = source.output(name)
    return output.content if output else None


def read_json(content: str | None) -> Json:
    """The JSON object; empty if the content is none."""
    if not content:
        return {}
    try:
        data = json.loads(content)
    except (ValueError, RecursionError):
        return {}
    return data if isinstance(data, dict) else {}


def text_in(data: Json, name: str) -> str:
    """The text under this name, on one line; empty if there is none."""
    value = data.get(name)
    return " ".join(value[:10_000].split()) if isinstance(value, str) else ""


def _read_metadata(texts: Mapping[str, str], properties: Properties | None) -> DocumentMetadata:
    page = read_json(texts.get("url-metadata"))
    if page:
        return DocumentMetadata(
            text_in(page, "title"),
            text_in(page, "description"),
            words_in(page, "keywords"),
            text_in(page, "language") or None,
            text_in(page, "site_name"),
            "url-metadata",
        )
    tags = read_json(texts.get("media-preview")).get("tags")
    if isinstance(tags, dict):
        return DocumentMetadata(
            text_in(tags, "title"),
            text_in(tags, "description") or text_in(tags, "synopsis") or text_in(tags, "comment"),
            words_in(tags, "genre") + words_in(tags, "keywords"),
            where="media-preview",
        )
    if properties is None:
        return DocumentMetadata()
    return DocumentMetadata(properties.title, properties.description, properties.keywords, properties.language or None)


def words_in(data: Json, name: str) -> tuple[str, ...]:
    """The words under this name: a list, or a text with commas between them."""
    value = data.get(name)
    if isinstance(value, list):
        return tuple(word for word in value[:50] if isinstance(word, str))
    return tuple(re.split(r"\s*[,;]\s*", value[:2_000])) if isinstance(value, str) and value.strip() else ()

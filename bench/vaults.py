"""Folders to digest: the shared corpus where it is, made-up documents where it is not."""

from __future__ import annotations

import random
import shutil
import zipfile
from pathlib import Path

from bench.commands import ROOT
from bench.figures import warn
from bench.notes import Notes

CORPUS = ROOT / "../shared/corpus"
DOCUMENT_FOLDERS = ("pdf", "docx", "xlsx", "pptx", "epub", "odt", "rtf", "html", "eml")

_WORD_XML = (
    '<?xml version="1.0" encoding="UTF-8"?>'
    '<w:document xmlns:w="http://schemas.openxmlformats.org/wordprocessingml/2006/main"><w:body>{}</w:body></w:document>'
)
_TYPES_XML = (
    '<?xml version="1.0" encoding="UTF-8"?><Types xmlns="http://schemas.openxmlformats.org/package/2006/content-types">'
    '<Default Extension="rels" ContentType="application/vnd.openxmlformats-package.relationships+xml"/>'
    '<Override PartName="/word/document.xml" ContentType='
    '"application/vnd.openxmlformats-officedocument.wordprocessingml.document.main+xml"/></Types>'
)
_RELATIONS_XML = (
    '<?xml version="1.0" encoding="UTF-8"?>'
    '<Relationships xmlns="http://schemas.openxmlformats.org/package/2006/relationships"><Relationship Id="r1" Type='
    '"http://schemas.openxmlformats.org/officeDocument/2006/relationships/officeDocument" Target="word/document.xml"/>'
    "</Relationships>"
)


def corpus_documents(limit: int) -> list[Path]:
    """Documents of the corpus, a mix of all types, at most `limit`; made-up ones' place is taken by the caller."""
    found = [path for name in DOCUMENT_FOLDERS for path in sorted((CORPUS / name).glob("*")) if path.is_file()]
    random.Random(1).shuffle(found)
    return found[:limit]


def document_vault(folder: Path, limit: int) -> list[Path]:
    """A vault of documents; returns them. From the corpus, or made up when that is absent."""
    found = corpus_documents(limit) if CORPUS.is_dir() else []
    if not found:
        warn(f"{CORPUS} is absent; made-up documents are used instead")
        return made_up_documents(folder, limit)
    placed = []
    for path in found:
        target = folder / path.parent.name / path.name
        target.parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(path, target)
        placed.append(target)
    return placed


def made_up_documents(folder: Path, count: int) -> list[Path]:
    """Web pages and Word documents of a few pages each."""
    notes = Notes()
    folder.mkdir(parents=True, exist_ok=True)
    made = []
    for number in range(count):
        paragraphs = [
            notes.note(number * 40 + part).replace("\n", " ") for part in range(random.Random(number).randrange(4, 40))
        ]
        if number % 2:
            path = folder / f"page-{number}.html"
            body = "".join(f"<p>{text}</p>" for text in paragraphs)
            path.write_text(
                f"<html><head><title>Page {number}</title></head><body><h1>{number}</h1>{body}</body></html>"
            )
        else:
            path = folder / f"letter-{number}.docx"
            body = "".join(f"<w:p><w:r><w:t>{text}</w:t></w:r></w:p>" for text in paragraphs)
            with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as package:
                package.writestr("[Content_Types].xml", _TYPES_XML)
                package.writestr("_rels/.rels", _RELATIONS_XML)
                package.writestr("word/document.xml", _WORD_XML.format(body))
        made.append(path)
    return made


def forget(vault: Path) -> None:
    """Delete what chyme knows about a vault."""
    shutil.rmtree(vault / ".chyme", ignore_errors=True)

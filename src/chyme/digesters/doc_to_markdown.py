"""Turn documents into markdown."""

from __future__ import annotations

from importlib.metadata import PackageNotFoundError, version

from chyme.digester import Digester, Source
from chyme.engines.converted import ConversionLimits
from chyme.model import File, Kind, Output

READERS = ("liteparse", "pypdfium2", "firecrawl-anydoc", "xberg", "trafilatura", "html-to-markdown")


class DocToMarkdown(Digester):
    """Reads PDF, office documents, books, web pages and e-mails.

    What was left out is told in the text's last lines, each `> note: …`; a document without any text has no content.
    """

    name = "doc-to-markdown"
    label = "Text"
    description = "The document's text as markdown, with its pages and headings."

    def __init__(self, limits: ConversionLimits | None = None, seconds: float = 600.0) -> None:
        self.limits = limits or ConversionLimits()
        self.seconds = seconds

    @property
    def fingerprint(self) -> str:
        return " ".join(f"{reader} {_version(reader)}" for reader in READERS) + f" {self.limits}"

    def can_digest(self, file: File) -> bool:
        return file.kind is Kind.DOCUMENT

    def time_limit(self, source: Source) -> float:
        return self.seconds

    def digest(self, source: Source) -> list[Output]:
        from chyme.engines.convert import convert

        with source.open() as stream:
            data = stream.read(self.limits.document_bytes + 1)
        found = convert(source.file.name, data, source.file.mime, self.limits, source.progress)
        if not found.markdown:
            return [Output(self.name, None)]
        notes = "".join(f"\n\n> note: {note}" for note in found.notes)
        return [Output(self.name, found.markdown + notes, places=found.places)]


def _version(package: str) -> str:
    try:
        return version(package)
    except PackageNotFoundError:
        return "missing"

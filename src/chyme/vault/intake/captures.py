"""Keeps what people share from other programs: an address, its title, and selected or written text."""

from __future__ import annotations

from dataclasses import dataclass
from urllib.parse import urlsplit

from chyme.errors import UsageError, VaultError
from chyme.files.link_files import link_note_in, links_in, read_link_note
from chyme.text.decoding import clean
from chyme.vault.file_names import safe_name
from chyme.vault.intake.links import LinkResult, add_links
from chyme.vault.intake.notes import add_note
from chyme.vault.intake.stored_files import NewFile, store_files
from chyme.vault.intake.url_normalisation import address_of
from chyme.vault.open_vault import OpenVault

MAX_TEXT = 1_000_000  # characters
MAX_TITLE = 300
_NAME_BYTES = 90


@dataclass(frozen=True, slots=True)
class SharedThing:
    """What was shared: an address with a title and text from its page, or a text alone."""

    address: str | None
    title: str
    text: str


@dataclass(frozen=True, slots=True)
class CaptureResult:
    """The files that keep it. `created` is False if they were there before."""

    link: LinkResult | None
    note: str | None  # the path of the text beside the link, or of the note
    created: bool


def sort_shared(title: str = "", text: str = "", url: str = "") -> SharedThing:
    """Tell the address from the text. Phones often send an address as a text, with a title before it."""
    title, text = " ".join(clean(title).split())[:MAX_TITLE], clean(text).strip()
    if len(text) > MAX_TEXT:
        raise UsageError(f"the text is longer than {MAX_TEXT:,} characters; save it as a file")
    if url.strip():
        address = address_of(url)
        return SharedThing(address, title, "" if text == url.strip() else text)
    note = read_link_note(text) if links_in(text) else None
    if note is None:
        return SharedThing(None, title, text)
    remark = note.remark or ""
    if note.title and note.title != title:
        title, remark = (title, f"{note.title}\n{remark}".strip()) if title else (note.title, remark)
    if not title and "\n" not in remark:
        title, remark = remark, ""
    return SharedThing(address_of(note.url), title, remark)


def save_shared(vault: OpenVault, shared: SharedThing, folder: str = "") -> CaptureResult:
    """Write a link file named after the title, and its text into a note beside it; or only a note."""
    if shared.address is None:
        if not shared.text and not shared.title:
            raise UsageError("there is nothing to save; give an address or a text")
        path = add_note(vault, shared.text, shared.title, folder)
        return CaptureResult(None, path, created=True)
    named = bool(safe_name(shared.title.removesuffix(".url")))
    (link,) = add_links(vault, [shared.address], shared.title if named else None, folder)
    if not shared.text:
        return CaptureResult(link, None, link.created)
    beside = link.path.rpartition("/")[0]
    stem = link.path.rpartition("/")[2].removesuffix(".url")
    name = f"{safe_name(stem, _NAME_BYTES) or 'page'} – selection.md"
    (note,) = store_files(vault, [NewFile(name, _selection_note(name, shared).encode("utf-8", "replace"))], beside)
    if note.path is None:
        raise (VaultError if note.disk_problem else UsageError)(note.problem or "the text could not be saved")
    return CaptureResult(link, note.path, link.created or note.created)


def _selection_note(name: str, shared: SharedThing) -> str:
    """Return the text as a quotation below its title and address. It must not be taken for a link file itself."""
    address = shared.address or ""
    title = shared.title or urlsplit(address).hostname or "Selection"
    quoted = "\n".join(f"> {line}".rstrip() for line in shared.text.splitlines())
    text = f"# {title}\n\nFrom <{address}>\n\n{quoted}\n"
    if link_note_in(name, text.encode()) is None:
        return text
    return f"# {title}\n\nFrom {address.partition('://')[2].rstrip('/')}\n\n{quoted}\n"

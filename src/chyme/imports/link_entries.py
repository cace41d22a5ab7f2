"""Makes an entry of a saved link, for Karakeep and for bookmarks of browsers."""

from __future__ import annotations

from chyme.errors import UsageError
from chyme.files.link_files import make_shortcut
from chyme.imports.entries import Entry, Problem, Values
from chyme.vault.file_names import EXTENSION, link_name, safe_name
from chyme.vault.intake.url_normalisation import address_of


def link_entry(url: str, source_id: str | None, values: Values, folder: tuple[str, ...] = ()) -> Entry | Problem:
    """A link file; a problem for addresses that are no pages, such as those of scripts and of the browser itself."""
    label = f"link {url[:100]}"
    try:
        address = address_of(url)
    except UsageError as error:
        return Problem(label, str(error), left_out=True)
    stem = safe_name(values.title or "") or link_name(address)
    return Entry(
        source_id=source_id or address,
        label=label,
        name=stem + EXTENSION,
        content=make_shortcut(address),
        values=values,
        folder=folder,
        address=address,
    )

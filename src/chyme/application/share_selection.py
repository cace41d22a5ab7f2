"""Which files a link shows: a list of files and folders, or what a search finds now."""

from __future__ import annotations

from collections.abc import Sequence

from chyme.errors import UsageError
from chyme.search.search import Search
from chyme.vault.open_vault import OpenVault


def select_files(open_vault: OpenVault, search: Search, paths: Sequence[str], query: str | None) -> list[int]:
    """Return the files of a selection as it is now: what is added later does not belong to it."""
    if query is not None and paths:
        raise UsageError("name files or give a search, not both")
    if query is not None:
        found = search.all_files(query)
        if not found:
            raise UsageError("this search finds no file, so there is nothing to share")
        return found
    cleaned = [path.strip("/") for path in paths]
    if not all(cleaned):
        raise UsageError("a whole vault cannot be shared by a link; name files or folders, or give a search")
    return [file.id for file in open_vault.files_below(cleaned)] if cleaned else []

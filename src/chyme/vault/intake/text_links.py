"""The links in a text of the vault, and keeping them: one link file each, as `chyme add` writes them."""

from __future__ import annotations

import logging
import os
from collections.abc import Sequence
from dataclasses import dataclass

from chyme.core.files.vault_folder import decode_path
from chyme.errors import ChymeError, UsageError
from chyme.files.link_notes import links_in
from chyme.model import File, Kind
from chyme.text.decoding import decode
from chyme.vault.intake.links import LinkResult, add_links, find_link_files
from chyme.vault.intake.url_normalisation import address_of
from chyme.vault.open_vault import OpenVault

log = logging.getLogger(__name__)

AUTOMATIC = 20  # links of one text that the setting keeps; a person may keep all of them
READ_BYTES = 5_000_000  # of one text
FOLDER = "links"


@dataclass(frozen=True, slots=True)
class TextLink:
    """One link in a text. `path`: the link file that keeps it, if there is one."""

    url: str
    path: str | None


def links_of(vault: OpenVault, path: str) -> list[TextLink]:
    """The links in a text, each once, and where they are kept; of every other kind of file none."""
    there = _addresses(vault, path)
    kept = find_link_files(vault, there)
    return [TextLink(url, kept.get(url)) for url in there]


def keep_links(
    vault: OpenVault, path: str, urls: Sequence[str] | None = None, folder: str = FOLDER
) -> list[LinkResult]:
    """Write a link file for each link of a text (None: all), unless one keeps it already. Whoever watches takes it in.

    Only links of that text are kept: an address that does not stand in it is refused.
    """
    there = _addresses(vault, path)
    wanted = there if urls is None else [address_of(url) for url in urls]
    for url in wanted:
        if url not in there:
            raise UsageError(f"{path}: has no link to {url}; 'chyme add' takes any address")
    if not wanted:
        return []
    kept = find_link_files(vault, wanted)
    new = [url for url in wanted if url not in kept]
    added = {one.url: one for one in add_links(vault, new, folder=folder)} if new else {}
    vault.ingest([decode_path(one.path) for one in added.values() if one.created])
    return [added.get(url) or LinkResult(url, kept[url], created=False) for url in wanted]


def keep_new_links(vault: OpenVault, path: str) -> None:
    """Keep the first links of a text that nobody keeps yet, as the setting keep_links asks for.

    Not of a private file: the link files would not be private, and their pages are fetched and shown to models.
    """
    if vault.private(path):
        return
    try:
        new = [one.url for one in links_of(vault, path)[:AUTOMATIC] if one.path is None]
        if new:
            keep_links(vault, path, new)
    except ChymeError as error:
        log.warning("the links of a text were not kept: %s", error)


def _addresses(vault: OpenVault, path: str) -> list[str]:
    with vault.database.snapshot() as db:
        file = vault.find(db, path)
    found: dict[str, None] = {}
    for url in links_in(_text(vault, file)) if file.kind is Kind.TEXT else ():
        try:
            found.setdefault(address_of(url))
        except UsageError:  # with a password, or too long: it is not kept
            continue
    return list(found)


def _text(vault: OpenVault, file: File) -> str:
    try:
        with os.fdopen(vault.folder.open(file), "rb") as stream:
            return decode(stream.read(READ_BYTES)).text
    except OSError:
        return ""

"""Finds the links in a text of the vault, and keeps them as link files like those of `chyme add`."""

from __future__ import annotations

import logging
import os
from collections.abc import Sequence
from dataclasses import dataclass

from chyme.core.files.vault_folder import decode_path
from chyme.core.store import files
from chyme.errors import ChymeError, UsageError
from chyme.files.link_files import links_in
from chyme.model import File, Kind
from chyme.text.decoding import decode
from chyme.vault.intake.links import LinkResult, add_links, find_link_files
from chyme.vault.intake.url_normalisation import address_of
from chyme.vault.open_vault import OpenVault

log = logging.getLogger(__name__)

MAX_AUTOMATIC = 20  # links of one text that are kept automatically; users may keep all of them
READ_BYTES = 5_000_000  # of one text
FOLDER = "links"


@dataclass(frozen=True, slots=True)
class TextLink:
    """One link in a text. `path` is its link file, if there is one."""

    url: str
    path: str | None


def links_of(vault: OpenVault, path: str) -> list[TextLink]:
    """Return the links in a text, each once, with their link files; nothing for other kinds of file."""
    addresses = _list_addresses(vault, path)
    link_paths = find_link_files(vault, addresses)
    return [TextLink(url, link_paths.get(url)) for url in addresses]


def keep_links(
    vault: OpenVault, path: str, urls: Sequence[str] | None = None, folder: str = FOLDER
) -> list[LinkResult]:
    """Write a link file for each of these links of a text (None: all) that has none yet.

    Only links of that text are kept: other addresses are refused.
    """
    addresses = _list_addresses(vault, path)
    wanted = addresses if urls is None else [address_of(url) for url in urls]
    for url in wanted:
        if url not in addresses:
            raise UsageError(f"{path}: has no link to {url}; 'chyme add' takes any address")
    if not wanted:
        return []
    link_paths = find_link_files(vault, wanted)
    new = [url for url in wanted if url not in link_paths]
    added = {result.url: result for result in add_links(vault, new, folder=folder)} if new else {}
    vault.ingest([decode_path(result.path) for result in added.values() if result.created])
    return [added.get(url) or LinkResult(url, link_paths[url], created=False) for url in wanted]


def keep_new_links(vault: OpenVault, path: str) -> None:
    """Keep those of the first links of a text that have no link file yet, for the setting keep_links.

    Skips private files: the link files would not be private, and their pages are fetched and shown to models.
    """
    if vault.private(path):
        return
    try:
        new = [link.url for link in links_of(vault, path)[:MAX_AUTOMATIC] if link.path is None]
        if new:
            keep_links(vault, path, new)
    except ChymeError as error:
        log.warning("the links of a text were not kept: %s", error)


def _list_addresses(vault: OpenVault, path: str) -> list[str]:
    with vault.database.snapshot() as db:
        file = files.find(db, path)
    found: dict[str, None] = {}
    for url in links_in(_read_text(vault, file)) if file.kind is Kind.TEXT else ():
        try:
            found.setdefault(address_of(url))
        except UsageError:  # with a password, or too long
            continue
    return list(found)


def _read_text(vault: OpenVault, file: File) -> str:
    try:
        with os.fdopen(vault.folder.open(file), "rb") as stream:
            return decode(stream.read(READ_BYTES)).text
    except OSError:
        return ""

"""What the numbered parts of a file are called: pages, or the mails, entries, contacts and files of a container."""

from __future__ import annotations

from chyme.files.extensions import CALENDAR, MBOX, TEXTS, VCARD, extension_of

_WORDS = {MBOX: "mail", CALENDAR: "entry", VCARD: "contact"}
_ARCHIVES = frozenset({"zip", "tar", "gz", "tgz", "bz2", "tbz", "tbz2", "xz", "txz", "7z", "rar"})


def label_page(path: str, page: int) -> str:
    """A page in words: page 3, mail 3; empty for the first page of a file in an archive, which its path names."""
    extension = extension_of(path.rpartition("/")[2])
    if extension in _ARCHIVES and page == 1:
        return ""
    return f"{_WORDS.get(TEXTS.get(extension, ''), 'page')} {page}"


def has_named_parts(path: str) -> bool:
    """Whether the heading of a place names the part better than its number: in mailboxes, calendars, archives.

    Mail programs keep mailboxes under names without an extension.
    """
    extension = extension_of(path.rpartition("/")[2])
    return not extension or extension in _ARCHIVES or TEXTS.get(extension) in _WORDS

"""All pages, in the order in which their routes are added."""

from __future__ import annotations

from chyme.doors.page import activity, file, people, settings, tags, trash, vault

PAGES = (vault, file, people, tags, activity, settings, trash)

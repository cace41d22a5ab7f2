"""The pages people see."""

from chyme.web.pages import activity, file, people, settings, tags, trash, vault

PAGES = (vault, file, people, tags, activity, settings, trash)

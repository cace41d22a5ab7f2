"""The people heard in a vault, and what persons decide about them."""

from chyme.people.people import Done, People, Said, Shown, as_json

__all__ = ["Done", "People", "Said", "Shown", "as_json"]

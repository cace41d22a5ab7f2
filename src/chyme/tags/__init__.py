"""The tags of a vault, and what persons decide about them."""

from chyme.tags.tags import Done, Listing, Shown, Similar, Tags, UnknownTag, as_json, chosen

__all__ = ["Done", "Listing", "Shown", "Similar", "Tags", "UnknownTag", "as_json", "chosen"]

"""The door out for addresses that come from content: checked, pinned, one connection at a time."""

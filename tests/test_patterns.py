"""Regular expressions mean the same in every Python that chyme runs on."""

from __future__ import annotations

import re
from pathlib import Path

SOURCE = Path(__file__).parents[1] / "src/chyme"


def test_no_group_is_possessive() -> None:
    # Python 3.11.2 of Debian 12 matches them wrongly (fixed in 3.11.5); possessive single characters are fine.
    found = [
        f"{path.relative_to(SOURCE)}: {line.strip()}"
        for path in SOURCE.rglob("*.py")
        for line in path.read_text(encoding="utf-8").splitlines()
        if re.search(r"\br[bf]?[\"'].*(?:(?<!\\)\)(?:[*+?]|\{\d*,?\d*\})\+|\(\?>)", line)
    ]
    assert not found

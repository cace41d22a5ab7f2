"""What people call a browser, from the long line by which it introduces itself."""

from __future__ import annotations

# In this order: most browsers claim to be several of those below them.
_BROWSERS = (("Edg", "Edge"), ("OPR/", "Opera"), ("Firefox/", "Firefox"), ("Chrom", "Chrome"), ("Safari/", "Safari"))
_SYSTEMS = (
    *(("Android", "Android"), ("iPhone", "iPhone"), ("iPad", "iPad"), ("Windows", "Windows")),
    *(("Mac OS X", "Mac"), ("CrOS", "ChromeOS"), ("Linux", "Linux")),
)
LONGEST = 40


def browser_name(introduced: str) -> str:
    """`Firefox on Linux`; of a stranger the first word."""
    browser = next((name for sign, name in _BROWSERS if sign in introduced), None)
    system = next((name for sign, name in _SYSTEMS if sign in introduced), None)
    if browser is None:
        return "".join(one for one in (introduced.split() or [""])[0] if one.isprintable())[:LONGEST]
    return f"{browser} on {system}" if system is not None else browser

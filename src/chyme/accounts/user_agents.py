"""The everyday name of a browser, from its User-Agent header."""

from __future__ import annotations

# The order matters: most browsers claim to be several of those below them.
_BROWSERS = (("Edg", "Edge"), ("OPR/", "Opera"), ("Firefox/", "Firefox"), ("Chrom", "Chrome"), ("Safari/", "Safari"))
_SYSTEMS = (
    *(("Android", "Android"), ("iPhone", "iPhone"), ("iPad", "iPad"), ("Windows", "Windows")),
    *(("Mac OS X", "Mac"), ("CrOS", "ChromeOS"), ("Linux", "Linux")),
)
MAX_LENGTH = 40


def browser_name(user_agent: str) -> str:
    """`Firefox on Linux`; for an unknown client the first word."""
    browser = next((name for marker, name in _BROWSERS if marker in user_agent), None)
    system = next((name for marker, name in _SYSTEMS if marker in user_agent), None)
    if browser is None:
        return "".join(character for character in (user_agent.split() or [""])[0] if character.isprintable())[
            :MAX_LENGTH
        ]
    return f"{browser} on {system}" if system is not None else browser

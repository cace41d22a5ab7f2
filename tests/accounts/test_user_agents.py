"""The names that people use for browsers."""

from __future__ import annotations

import pytest

from chyme.doors.page.login import browser_name

KHTML = "AppleWebKit/537.36 (KHTML, like Gecko)"


@pytest.mark.parametrize(
    ("user_agent", "name"),
    [
        ("Mozilla/5.0 (X11; Linux x86_64; rv:130.0) Gecko/20100101 Firefox/130.0", "Firefox on Linux"),
        (f"Mozilla/5.0 (Windows NT 10.0; Win64; x64) {KHTML} Chrome/130.0.0.0 Safari/537.36", "Chrome on Windows"),
        (f"Mozilla/5.0 (Windows NT 10.0) {KHTML} Chrome/130.0 Safari/537.36 Edg/130.0", "Edge on Windows"),
        (f"Mozilla/5.0 (Linux; Android 14; Pixel 8) {KHTML} Chrome/130.0 Mobile Safari/537.36", "Chrome on Android"),
        ("Mozilla/5.0 (iPhone; CPU iPhone OS 18_0 like Mac OS X) Version/18.0 Mobile Safari/604.1", "Safari on iPhone"),
        ("curl/8.9", "curl/8.9"),
        ("", ""),
        ("\u202eevil\x00" + "x" * 500, "evil" + "x" * 36),
    ],
)
def test_browsers_have_the_names_that_people_use(user_agent: str, name: str) -> None:
    assert browser_name(user_agent) == name

"""Tell a page from what stands in front of it: checks for robots, logins, consent, paywalls, empty shells.

A wall needs little text or a telling status, and signs that do not depend on each other: an article *about* captchas,
a page with a login form in its header or a captcha under its comments stays what it is.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from types import MappingProxyType
from urllib.parse import SplitResult, urlsplit

from chyme.webpages.walls import phrases as words_of

WALL_MAX_WORDS = 200  # words; a page that says more is no wall, unless its status says so
PAGE_MIN_WORDS = 400  # words; with so many even a refusing status came with a page
SHELL_MAX_WORDS = 50  # words; below them a page with scripts has not been made yet
EMPTY_MAX_WORDS = 30  # words


class Wall(StrEnum):
    """What came instead of a page, or that nothing did."""

    CONTENT = "content"
    NEEDS_SCRIPT = "needs script"
    NOT_FOUND = "not found"
    LOGIN = "login"
    BOT_WALL = "bot wall"
    COOKIE_WALL = "cookie wall"
    PAYWALL = "paywall"
    REFUSED = "refused"
    ELSEWHERE = "gone elsewhere"


@dataclass(frozen=True, slots=True)
class ResponseFacts:
    """What is known about an answer. Texts as they stand; names of headers in small letters."""

    status: int
    asked: str  # the address in the link
    url: str  # where the answer came from in the end
    words: int  # of what was read as its text
    headers: Mapping[str, str] = field(default_factory=lambda: MappingProxyType({}))
    title: str = ""
    beginning: str = ""  # of everything it shows, banners and forms too
    ending: str = ""  # of what was read as its text
    shown: int = 0  # words it shows, banners and forms too
    password: bool = False
    fields: int = 0
    markers: frozenset[str] = frozenset()
    free: bool | None = None
    asks_for_script: bool = False
    empty_root: bool = False
    script_chars: int = 0


@dataclass(frozen=True, slots=True)
class Finding:
    """What an answer is, in a word and in a sentence for people: what it is, and the way out."""

    wall: Wall
    sentence: str = ""

    @property
    def readable(self) -> bool:
        """Whether its text is the page's; the sentence, if any, is then a note to it."""
        return self.wall in (Wall.CONTENT, Wall.PAYWALL)


def detect_wall(facts: ResponseFacts) -> Finding:
    """What came back when the page was asked for."""
    for wall, is_it in (
        (Wall.BOT_WALL, _checks_for_robots),
        (Wall.COOKIE_WALL, _asks_for_consent),
        (Wall.NOT_FOUND, _is_missing),
        (Wall.LOGIN, _asks_to_sign_in),
        (Wall.REFUSED, _refuses),
        (Wall.NEEDS_SCRIPT, _is_shell),
        (Wall.ELSEWHERE, _is_elsewhere),
        (Wall.PAYWALL, _asks_to_pay),
    ):
        if is_it(facts):
            return Finding(wall, _sentence(wall, facts))
    if facts.status >= 400:
        return Finding(Wall.CONTENT, f"the server answered {facts.status}, and sent this text with it")
    return Finding(Wall.CONTENT)


def needs_script(words: int, shown: int, empty_root: bool, asks_for_script: bool, script_chars: int) -> bool:
    """Whether the page as it was sent holds nothing, and scripts that would make something of it."""
    if script_chars == 0:
        return False
    if words < SHELL_MAX_WORDS and (empty_root or asks_for_script):
        return True
    if words < WALL_MAX_WORDS and empty_root and asks_for_script:
        return True
    return words < EMPTY_MAX_WORDS and shown < SHELL_MAX_WORDS and script_chars > 2_000


_SURE_HEADERS = {
    "cf-mitigated": ("challenge",),
    "x-vercel-mitigated": ("challenge", "deny"),
    "x-amzn-waf-action": ("challenge", "captcha"),
}
_GUARDS = ("x-datadome", "x-dd-b", "x-kpsdk-ct", "x-sucuri-id", "x-iinfo")
_GUARDING = re.compile(r"cloudflare|akamaighost|datadome|ddos-guard|sucuri|incapsula|imperva|qrator|bunnyshield")
_REFUSING = frozenset((202, 403, 405, 406, 418, 429, 430, 444, 456, 503, 520, 999))
_COMMON_TITLES = re.compile(
    r"(?:403 )?forbidden|blocked|access denied|request rejected|please wait|un momento|подождите"
)
_ARTICLE_NAME = re.compile(r"(?:[^-_]+[-_]){3,}|\d{4,}")
_FRONT = re.compile(r"/?(?:[a-z]{2}(?:[-_][a-z]{2})?/?)?(?:index\.\w{3,5}|home/?)?", re.IGNORECASE)


def _checks_for_robots(facts: ResponseFacts) -> bool:
    for name, values in _SURE_HEADERS.items():
        if facts.headers.get(name, "").lower() in values:
            return True
    refusing = facts.status in _REFUSING
    if facts.words >= (PAGE_MIN_WORDS if refusing else WALL_MAX_WORDS):
        return False
    title = facts.title.lower().strip()
    named = bool(words_of.BOT_TITLES.fullmatch(title))
    common = bool(_COMMON_TITLES.match(title))
    said = bool(words_of.BOT_PHRASES.search(facts.beginning.lower()))
    challenge = any(marker.endswith("-challenge") for marker in facts.markers)
    captcha = "captcha" in facts.markers and not facts.password and facts.fields < 2
    guarded = bool(_GUARDING.search(facts.headers.get("server", "").lower())) or any(
        name in facts.headers for name in _GUARDS
    )
    if refusing:
        if challenge or said or captcha or (named and not common):
            return True
        return guarded and (named or facts.words < EMPTY_MAX_WORDS) and facts.status != 202
    if challenge:
        return named or said or captcha or facts.words < EMPTY_MAX_WORDS / 2
    if named and not common:
        return said or captcha or (guarded and facts.words < EMPTY_MAX_WORDS)
    return captcha and said and facts.words < EMPTY_MAX_WORDS * 2


def _asks_for_consent(facts: ResponseFacts) -> bool:
    if facts.words >= WALL_MAX_WORDS or facts.status >= 500:
        return False
    host, asked = _host(facts.url), _host(facts.asked)
    if host != asked and words_of.CONSENT_HOSTS.search(host):
        return True
    said = sum(bool(group.search(facts.beginning.lower())) for group in words_of.CONSENT_PHRASES)
    if words_of.CONSENT_TITLES.fullmatch(facts.title.lower().strip()):
        return said >= 2
    whole = facts.shown >= EMPTY_MAX_WORDS or facts.script_chars == 0  # else scripts may still bring the page
    return said >= 3 and facts.words < EMPTY_MAX_WORDS and whole and not facts.empty_root


def _is_missing(facts: ResponseFacts) -> bool:
    if facts.status in (404, 410):
        return True
    if facts.status >= 400 or facts.words >= WALL_MAX_WORDS or facts.empty_root:
        return False
    named = words_of.MISSING_TITLES.fullmatch(facts.title.lower().strip())
    return bool(named and words_of.MISSING_PHRASES.search(facts.beginning[:1_000].lower()))


def _asks_to_sign_in(facts: ResponseFacts) -> bool:
    if facts.status in (401, 407):
        return True
    if facts.words >= WALL_MAX_WORDS or facts.status >= 500:
        return False
    there, asked = _path(facts.url), _path(facts.asked)
    sent = facts.url != facts.asked and bool(words_of.LOGIN_PATHS.search(there)) and there != asked
    signs = (
        facts.password,
        bool(words_of.LOGIN_TITLES.fullmatch(facts.title.lower().strip())),
        sent,
        bool(words_of.LOGIN_PHRASES.search(facts.beginning.lower())),
    )
    telling = facts.password or sent or facts.status == 403
    return telling and sum(signs) >= 2


def _refuses(facts: ResponseFacts) -> bool:
    return facts.status >= 400 and facts.words < PAGE_MIN_WORDS


def _is_shell(facts: ResponseFacts) -> bool:
    return needs_script(facts.words, facts.shown, facts.empty_root, facts.asks_for_script, facts.script_chars)


def _is_elsewhere(facts: ResponseFacts) -> bool:
    if facts.words < WALL_MAX_WORDS and words_of.PARKED_PHRASES.search(facts.beginning.lower()):
        return True
    if _host(facts.url) != _host(facts.asked):
        return False  # short links lead to front pages too
    asked, there = _parts(facts.asked), _parts(facts.url)
    last = asked.path.rstrip("/").rpartition("/")[2]
    return bool(
        _ARTICLE_NAME.search(last) and _FRONT.fullmatch(there.path) and not there.query and asked.path != there.path
    )


def _asks_to_pay(facts: ResponseFacts) -> bool:
    if facts.free is False:
        return True
    ending = facts.ending[-1_500:].lower()
    if words_of.PAYWALL_PHRASES.search(ending):
        return True
    return facts.words < WALL_MAX_WORDS and bool(words_of.PAYWALL_PHRASES.search(facts.beginning.lower()))


_BY_HAND = "open it in your browser and save the page as a file into the vault"


def _sentence(wall: Wall, facts: ResponseFacts) -> str:
    site = _host(facts.url) or "the site"
    sentences = {
        Wall.BOT_WALL: f"{site} shows a check for robots instead of the page; {_BY_HAND}",
        Wall.COOKIE_WALL: f"{site} shows a question about cookies instead of the page; answer it in your browser "
        "and save the page as a file into the vault",
        Wall.LOGIN: f"{site} asks to sign in before it shows the page; sign in with your browser and save the page "
        "as a file into the vault",
        Wall.NEEDS_SCRIPT: f"the page of {site} is made by JavaScript, and without it holds no text",
        Wall.PAYWALL: f"{site} marks this page as one for paying readers: only what it shows to everybody is here",
        Wall.REFUSED: f"{site} refused to send the page; {_BY_HAND}",
        Wall.NOT_FOUND: f"{site} has no such page (any more); check the address, or look for a copy in a web archive",
        Wall.ELSEWHERE: f"{site} no longer has this page and shows another one instead; "
        "look for a copy in a web archive",
    }
    return sentences[wall]


def _host(address: str) -> str:
    return (_parts(address).hostname or "").removeprefix("www.")


def _path(address: str) -> str:
    """Host and path in small letters, without what follows."""
    parts = _parts(address.lower())
    return f"{parts.hostname or ''}{parts.path}"


def _parts(address: str) -> SplitResult:
    try:
        return urlsplit(address)
    except ValueError:
        return SplitResult("", "", "", "", "")

"""Decides whether a response is the page or a wall in front of it: login, bot check, consent, paywall, empty shell.

A wall needs little text or a significant status, and several independent signs: an article *about* captchas, or a page
with a login form in its header or a captcha under its comments, counts as a page.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from functools import cache
from types import MappingProxyType
from urllib.parse import SplitResult, urlsplit

from chyme.text.word_lists import WordList

WALL_MAX_WORDS = 200  # a page with more is no wall, unless its status says so
PAGE_MIN_WORDS = 400  # with this many, even a response with a refusing status is a page
SHELL_MAX_WORDS = 50  # with fewer, a page with scripts has not been built yet
EMPTY_MAX_WORDS = 30
_PHRASES = WordList(__package__, "wall_phrases")
CONSENT = ("consent: agree", "consent: cookies", "consent: partners", "consent: refuse")


class Wall(StrEnum):
    """What was sent instead of the page; CONTENT: the page itself."""

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
class PageSignals:
    """Plain facts about a page's source, unchanged."""

    title: str = ""
    beginning: str = ""  # of everything it shows, including banners and forms
    ending: str = ""  # of the extracted text
    shown: int = 0  # words it shows, including banners and forms
    password: bool = False  # it has a password field
    fields: int = 0  # input fields, except passwords
    markers: frozenset[str] = frozenset()
    free: bool | None = None  # whether it declares itself readable without paying
    asks_for_script: bool = False  # in a <noscript>, or in what it shows
    empty_root: bool = False  # it has an element for scripts to fill
    script_chars: int = 0  # of inline scripts; an external script counts as 1,000


@dataclass(frozen=True, slots=True, kw_only=True)
class ResponseFacts(PageSignals):
    """What is known about a response."""

    status: int
    asked: str  # the address in the link
    url: str  # of the response, after all redirects
    words: int  # of the extracted text
    headers: Mapping[str, str] = field(default_factory=lambda: MappingProxyType({}))  # names in lower case


@dataclass(frozen=True, slots=True)
class Finding:
    """What a response is, and a sentence for people: what it is, and what to do."""

    wall: Wall
    sentence: str = ""

    @property
    def readable(self) -> bool:
        """Whether its text is that of the page; the sentence, if any, is then a note about it."""
        return self.wall in (Wall.CONTENT, Wall.PAYWALL)


def detect_wall(facts: ResponseFacts) -> Finding:
    """Return what the response is: the page or a wall."""
    for wall, matches in (
        (Wall.BOT_WALL, _is_bot_wall),
        (Wall.COOKIE_WALL, _is_cookie_wall),
        (Wall.NOT_FOUND, _is_missing),
        (Wall.LOGIN, _is_login),
        (Wall.REFUSED, _is_refused),
        (Wall.NEEDS_SCRIPT, needs_script),
        (Wall.ELSEWHERE, _is_elsewhere),
        (Wall.PAYWALL, _is_paywall),
    ):
        if matches(facts):
            return Finding(wall, _describe(wall, facts))
    if facts.status >= 400:
        return Finding(Wall.CONTENT, f"the server answered {facts.status}, and sent this text with it")
    return Finding(Wall.CONTENT)


_CHALLENGE_HEADERS = {
    "cf-mitigated": ("challenge",),
    "x-vercel-mitigated": ("challenge", "deny"),
    "x-amzn-waf-action": ("challenge", "captcha"),
}
_GUARD_HEADERS = ("x-datadome", "x-dd-b", "x-kpsdk-ct", "x-sucuri-id", "x-iinfo")
_GUARD_SERVERS = re.compile(r"cloudflare|akamaighost|datadome|ddos-guard|sucuri|incapsula|imperva|qrator|bunnyshield")
_REFUSING_STATUSES = frozenset((202, 403, 405, 406, 418, 429, 430, 444, 456, 503, 520, 999))
_COMMON_TITLES = re.compile(
    r"(?:403 )?forbidden|blocked|access denied|request rejected|please wait|un momento|подождите"
)
_ARTICLE_NAME = re.compile(r"(?:[^-_]+[-_]){3,}|\d{4,}")
_FRONT_PATH = re.compile(r"/?(?:[a-z]{2}(?:[-_][a-z]{2})?/?)?(?:index\.\w{3,5}|home/?)?", re.IGNORECASE)


def wall_headers(headers: Mapping[str, str]) -> dict[str, str]:
    """Return the headers that hint at walls, truncated; names in lower case."""
    names = ("server", *_CHALLENGE_HEADERS, *_GUARD_HEADERS)
    return {name: headers[name][:300] for name in names if name in headers}


def _is_bot_wall(facts: ResponseFacts) -> bool:
    for name, values in _CHALLENGE_HEADERS.items():
        if facts.headers.get(name, "").lower() in values:
            return True
    has_refusing_status = facts.status in _REFUSING_STATUSES
    if facts.words >= (PAGE_MIN_WORDS if has_refusing_status else WALL_MAX_WORDS):
        return False
    title = facts.title.lower().strip()
    has_bot_title = bool(BOT_TITLES.fullmatch(title))
    has_common_title = bool(_COMMON_TITLES.match(title))
    has_bot_phrase = bool(phrases_of("bot check").search(facts.beginning.lower()))
    has_challenge = any(marker.endswith("-challenge") for marker in facts.markers)
    has_captcha = "captcha" in facts.markers and not facts.password and facts.fields < 2
    has_guard = bool(_GUARD_SERVERS.search(facts.headers.get("server", "").lower())) or any(
        name in facts.headers for name in _GUARD_HEADERS
    )
    if has_refusing_status:
        if has_challenge or has_bot_phrase or has_captcha or (has_bot_title and not has_common_title):
            return True
        return has_guard and (has_bot_title or facts.words < EMPTY_MAX_WORDS) and facts.status != 202
    if has_challenge:
        return has_bot_title or has_bot_phrase or has_captcha or facts.words < EMPTY_MAX_WORDS / 2
    if has_bot_title and not has_common_title:
        return has_bot_phrase or has_captcha or (has_guard and facts.words < EMPTY_MAX_WORDS)
    return has_captcha and has_bot_phrase and facts.words < EMPTY_MAX_WORDS * 2


def _is_cookie_wall(facts: ResponseFacts) -> bool:
    if facts.words >= WALL_MAX_WORDS or facts.status >= 500:
        return False
    host, requested_host = _host(facts.url), _host(facts.asked)
    if host != requested_host and CONSENT_HOSTS.search(host):
        return True
    phrase_count = sum(bool(phrases_of(group).search(facts.beginning.lower())) for group in CONSENT)
    if CONSENT_TITLES.fullmatch(facts.title.lower().strip()):
        return phrase_count >= 2
    is_complete = facts.shown >= EMPTY_MAX_WORDS or facts.script_chars == 0  # else scripts may still load the page
    return phrase_count >= 3 and facts.words < EMPTY_MAX_WORDS and is_complete and not facts.empty_root


def _is_missing(facts: ResponseFacts) -> bool:
    if facts.status in (404, 410):
        return True
    if facts.status >= 400 or facts.words >= WALL_MAX_WORDS or facts.empty_root:
        return False
    has_missing_title = MISSING_TITLES.fullmatch(facts.title.lower().strip())
    return bool(has_missing_title and phrases_of("missing").search(facts.beginning[:1_000].lower()))


def _is_login(facts: ResponseFacts) -> bool:
    if facts.status in (401, 407):
        return True
    if facts.words >= WALL_MAX_WORDS or facts.status >= 500:
        return False
    path, requested_path = _path(facts.url), _path(facts.asked)
    was_redirected = facts.url != facts.asked and bool(LOGIN_PATHS.search(path)) and path != requested_path
    signs = (
        facts.password,
        bool(LOGIN_TITLES.fullmatch(facts.title.lower().strip())),
        was_redirected,
        bool(phrases_of("login").search(facts.beginning.lower())),
    )
    is_significant = facts.password or was_redirected or facts.status == 403
    return is_significant and sum(signs) >= 2


def _is_refused(facts: ResponseFacts) -> bool:
    return facts.status >= 400 and facts.words < PAGE_MIN_WORDS


def needs_script(facts: ResponseFacts) -> bool:
    """Whether the page as sent has no text, but scripts that would build it."""
    if facts.script_chars == 0:
        return False
    if facts.words < SHELL_MAX_WORDS and (facts.empty_root or facts.asks_for_script):
        return True
    if facts.words < WALL_MAX_WORDS and facts.empty_root and facts.asks_for_script:
        return True
    return facts.words < EMPTY_MAX_WORDS and facts.shown < SHELL_MAX_WORDS and facts.script_chars > 2_000


def _is_elsewhere(facts: ResponseFacts) -> bool:
    if facts.words < WALL_MAX_WORDS and phrases_of("parked").search(facts.beginning.lower()):
        return True
    if _host(facts.url) != _host(facts.asked):
        return False  # short links may lead to front pages
    link, final = _split(facts.asked), _split(facts.url)
    last = link.path.rstrip("/").rpartition("/")[2]
    return bool(
        _ARTICLE_NAME.search(last) and _FRONT_PATH.fullmatch(final.path) and not final.query and link.path != final.path
    )


def _is_paywall(facts: ResponseFacts) -> bool:
    if facts.free is False:
        return True
    ending = facts.ending[-1_500:].lower()
    if phrases_of("paywall").search(ending):
        return True
    return facts.words < WALL_MAX_WORDS and bool(phrases_of("paywall").search(facts.beginning.lower()))


_SAVE_BY_HAND = "open it in your browser and save the page as a file into the vault"


def _describe(wall: Wall, facts: ResponseFacts) -> str:
    site = _host(facts.url) or "the site"
    sentences = {
        Wall.BOT_WALL: f"{site} shows a check for robots instead of the page; {_SAVE_BY_HAND}",
        Wall.COOKIE_WALL: f"{site} shows a question about cookies instead of the page; answer it in your browser "
        "and save the page as a file into the vault",
        Wall.LOGIN: f"{site} asks to sign in before it shows the page; sign in with your browser and save the page "
        "as a file into the vault",
        Wall.NEEDS_SCRIPT: f"the page of {site} is made by JavaScript, and without it holds no text",
        Wall.PAYWALL: f"{site} marks this page as one for paying readers: only what it shows to everybody is here",
        Wall.REFUSED: f"{site} refused to send the page; {_SAVE_BY_HAND}",
        Wall.NOT_FOUND: f"{site} has no such page (any more); check the address, or look for a copy in a web archive",
        Wall.ELSEWHERE: f"{site} no longer has this page and shows another one instead; "
        "look for a copy in a web archive",
    }
    return sentences[wall]


def _host(address: str) -> str:
    return (_split(address).hostname or "").removeprefix("www.")


def _path(address: str) -> str:
    """Return host and path in lower case, without query and fragment."""
    parts = _split(address.lower())
    return f"{parts.hostname or ''}{parts.path}"


def _split(address: str) -> SplitResult:
    try:
        return urlsplit(address)
    except ValueError:
        return SplitResult("", "", "", "", "")


@cache
def phrases_of(wall: str) -> re.Pattern[str]:
    """Matches any phrase of this section of words/wall_phrases.txt."""
    return re.compile("|".join(map(re.escape, _PHRASES.sections[wall])))


# Whole titles of pages that check for robots: no article has such a title, and only the site's name may follow.
BOT_TITLES = re.compile(
    r"(?:just a moment|nur einen moment|einen moment,? bitte|un instant|un momento|um momento|een ogenblik(?: geduld)?"
    r"|один момент|подождите|proszę czekać|bir dakika lütfen|请稍候|請稍候|しばらくお待ちください"
    r"|잠시만 기다리십시오|لحظة"
    r"|attention required!?|access denied|access to this page has been denied|you have been blocked|are you a robot\??"
    r"|are you human\??|robot or human\??|robot check|bot verification|human verification|security verification"
    r"|verification required|verify(?:ing)? you are (?:a )?human|security check(?:point)?|vercel security checkpoint"
    r"|checking your browser|please verify you are a human|pardon our interruption|please wait|one moment,? please"
    r"|ddos-guard|ddos protection.{0,40}|client challenge|captcha|captcha challenge|making sure you're not a bot!?"
    r"|request rejected|blocked|forbidden|403 forbidden|error 1020|sicherheitsüberprüfung|sind sie ein mensch\??"
    r"|vérification de sécurité|comprobación de seguridad|verificación|ой!|вы не робот\??"
    r"|安全验证|安全驗證|访问验证|滑动验证页面)"
    r"[\s.…!]*(?:[|–—:-].{0,60})?"
)
LOGIN_TITLES = re.compile(
    r"(?:.{0,60}[|–—:-]\s*)?(?:log ?in|log on|sign ?in|sign in or .{0,30}|log ?in .{0,40}|sign in .{0,40}"
    r"|anmelden|anmeldung|einloggen|(?:se )?connecter|connexion|s'identifier|iniciar sesión|acceder"
    r"|accedi|entrar|inloggen|logga in|zaloguj.{0,12}"
    r"|вход|войти|登录|登入|登錄|ログイン|로그인)(?:\s*(?:[|–—:-]|to\b|bei\b|auf\b|à\b|en\b).{0,80})?"
)
LOGIN_PATHS = re.compile(
    r"(?:^|[/_.-])(?:log-?in|log-?on|sign-?in|signon|sso|auth|oauth2?|authorize|accounts?|session|wp-login|anmelden"
    r"|connexion|checkpoint|uas|cas)(?:$|[/_.?&-])"
)
CONSENT_TITLES = re.compile(
    r"before you continue.{0,60}|bevor sie (?:fortfahren|weitergehen|zu .{1,40} weitergehen).{0,60}"
    r"|avant (?:de continuer|d'accéder).{0,60}|antes de (?:continuar|ir).{0,60}|prima di continuare.{0,60}"
    r"|voordat je (?:verdergaat|doorgaat).{0,60}|.{0,40}(?:cookie|privacy|dpg media privacy) ?(?:gate|wall|consent)"
    r"|your privacy choices.{0,40}|we value your privacy.{0,40}|yahoo ist teil der .{0,60}|yahoo is part of .{0,60}"
)
CONSENT_HOSTS = re.compile(r"^(?:consent|guce|cookiewall|privacygate|cmp|myprivacy)\.|\.consent\.")
MISSING_TITLES = re.compile(
    r"(?:(?:error |http )?404(?: error)?(?:\s*[|–—:,.-]?\s*"
    r"(?:not found|page|file|error|seite|página|pagina|страница).{0,60})?"
    r"|.{0,60}[|–—:-]\s*(?:error )?404(?: not found)?"
    r"|(?:.{0,40}[|–—:-]\s*)?(?:page|document|article|content|file) (?:was )?(?:not|cannot be) found.{0,40}"
    r"|not found.{0,20}|this page (?:isn't|is not|doesn't|does not|no longer) .{0,40}"
    r"|seite (?:wurde )?nicht gefunden.{0,40}"
    r"|page (?:introuvable|non trouvée).{0,40}|página no encontrada.{0,40}|pagina non trovata.{0,40}"
    r"|página não encontrada.{0,40}|pagina niet gevonden.{0,40}|страница не найдена.{0,40}|sidan hittades inte.{0,40}"
    r"|nie znaleziono strony.{0,40}|页面不存在.{0,40}|页面未找到.{0,40}|找不到(?:页面|網頁|网页).{0,40}"
    r"|ページが見つかりません.{0,40}|페이지를 찾을 수 없습니다.{0,40})"
)

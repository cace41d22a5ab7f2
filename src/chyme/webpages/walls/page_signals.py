"""Signs by which a page is told from a wall in front of it: forms, scripts, captchas, what it says first and last."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from itertools import islice
from typing import TYPE_CHECKING

from chyme.documents.html.metadata_values import clean_line
from chyme.documents.html.structured_data import Thing, things_in
from chyme.documents.html.tree import is_shown, title_of, tree_of
from chyme.documents.html.words import bare_words, count_words_and_signs

if TYPE_CHECKING:
    from lxml.html import HtmlElement  # type: ignore[import-untyped]

EXCERPT = 3_000  # characters from the beginning, and as many from the end
MOST_SEARCHED = 500_000  # characters of the source looked through for markers: challenge pages are small
MOST_ROOTS = 20
_HEADERS = (
    "server", "cf-mitigated", "x-amzn-waf-action", "x-vercel-mitigated", "x-datadome", "x-dd-b", "x-kpsdk-ct",
    "x-sucuri-id", "x-iinfo",
)  # fmt: skip
# What stands in the source of challenge pages; a captcha may stand in any form.
_MARKERS = {
    "cloudflare-challenge": re.compile(
        r"_cf_chl_opt|/cdn-cgi/challenge-platform/h/|cf-chl-widget|id=\"challenge-form\""
    ),
    "datadome-challenge": re.compile(r"(?:geo|ct)\.captcha-delivery\.com"),
    "perimeterx-challenge": re.compile(r"px-captcha|_pxBlockedUrl|window\._pxUuid"),
    "aws-waf-challenge": re.compile(r"gokuProps|AwsWafCaptcha|awsWafCookieDomainList"),
    "incapsula-challenge": re.compile(r"_Incapsula_Resource\?[^\"']{0,200}(?:incident_id|xinfo|edet)"),
    "kasada-challenge": re.compile(r"KPSDK\.|/ips\.js\?"),
    "akamai-challenge": re.compile(r"sec-if-cpt-container|/_sec/cp_challenge/|bm-verify="),
    "anubis-challenge": re.compile(r"/\.within\.website/x/cmd/anubis|anubis_challenge"),
    "sgcaptcha-challenge": re.compile(r"/\.well-known/sgcaptcha/"),
    "ddos-guard-challenge": re.compile(r"/\.well-known/ddos-guard/|ddos-guard/js-challenge"),
    "sucuri-challenge": re.compile(r"sucuri_cloudproxy_js"),
    "vercel-challenge": re.compile(r"/\.well-known/vercel/security/"),
    "aliyun-challenge": re.compile(r"acw_sc__v2|aliyun_waf_"),
    "yandex-challenge": re.compile(r"/checkcaptcha\?|smart-captcha|SmartCaptcha"),
    "google-challenge": re.compile(r"/sorry/index|id=\"captcha-form\""),
    "captcha": re.compile(
        r"g-recaptcha|google\.com/recaptcha|recaptcha\.net/recaptcha|h-captcha|hcaptcha\.com|challenges\.cloudflare\.com"
        r"|cf-turnstile|funcaptcha|arkoselabs|geetest|friendlycaptcha|frc-captcha|mtcaptcha|/captcha[./?]"
    ),
}
_ASKS = re.compile(
    r"(?:enable|activ\w{1,6}|turn on|requires?|need\w?|aktivier\w{0,4}|habilit\w{1,4}|включите|启用|啟用|有効)"
    r".{0,60}java\s?script|java\s?script.{0,60}(?:enable|disabled|required|aktivier|activ|habilit|включ|有効|启用|啟用|필요|활성)",
    re.IGNORECASE | re.DOTALL,
)
_ROOTS = frozenset((
    "root", "app", "__next", "__nuxt", "application", "main-app", "react-root", "app-root", "svelte", "ember-app",
    "___gatsby",
))  # fmt: skip
_LOCKED = re.compile(r"^(?:false|no|0)$", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class PageSignals:
    """Plain facts about a page's source; what they mean is decided elsewhere."""

    title: str = ""
    beginning: str = ""  # of everything it shows, banners and forms too
    ending: str = ""  # of what was read as its text
    shown: int = 0  # words it shows, banners and forms too
    password: bool = False  # there is a field for one
    fields: int = 0  # to write into, apart from passwords
    markers: frozenset[str] = frozenset()
    free: bool | None = None  # what it says about being readable without paying
    asks_for_script: bool = False  # in a noscript part, or in what it shows
    empty_root: bool = False  # there is an element for scripts to fill
    script_chars: int = 0  # of its own; a script it only refers to counts as 1,000


def read_page_signals(page: str, markdown: str) -> PageSignals:
    """What tells the page from a wall; `markdown` is what was read of it."""
    sought = page[:MOST_SEARCHED]
    markers = frozenset(name for name, pattern in _MARKERS.items() if pattern.search(sought))
    root = tree_of(page)
    if root is None:
        text = bare_words(page)
        return PageSignals(
            beginning=text[:EXCERPT],
            ending=markdown[-EXCERPT:],
            shown=sum(count_words_and_signs(text)),
            markers=markers,
        )
    scripts = list(root.iter("script"))
    unscripted = " ".join(one.text_content()[:2_000] for one in list(root.iter("noscript"))[:20])
    free = _free(things_in(root))
    length = sum(len(one.text or "") + (1_000 if one.get("src") else 0) for one in scripts if _runs(one))
    empty = _empty_root(root)
    fields = [
        (one.get("type") or "text").lower() if one.tag == "input" else "text" for one in root.iter("input", "textarea")
    ]
    title = clean_line(title_of(root), 300) or ""
    for gone in (*scripts, *root.iter("style", "noscript", "template", "title")):
        if gone.tag != "template" or not is_shown(gone):
            gone.clear(keep_tail=True)
    text = " ".join(" ".join(root.itertext()).split())
    return PageSignals(
        title=title,
        beginning=text[:EXCERPT],
        ending=markdown[-EXCERPT:],
        shown=sum(count_words_and_signs(text)),
        password="password" in fields,
        fields=sum(kind in ("text", "email", "tel", "search", "url", "number") for kind in fields),
        markers=markers,
        free=free,
        asks_for_script=bool(_ASKS.search(unscripted[:5_000]) or (len(text) < EXCERPT and _ASKS.search(text))),
        empty_root=empty,
        script_chars=length,
    )


def wall_headers(headers: Mapping[str, str]) -> dict[str, str]:
    """The headers that say something about walls, cut short; names in lower case."""
    return {name: headers[name][:300] for name in _HEADERS if name in headers}


def _runs(script: HtmlElement) -> bool:
    kind = (script.get("type") or "").strip().lower()
    return kind in ("", "module", "text/javascript", "application/javascript", "text/babel")


def _empty_root(root: HtmlElement) -> bool:
    named = (
        element
        for element in root.iter("div", "main", "section", "app-root", "my-app")
        if (element.get("id") or "").lower() in _ROOTS or "-" in element.tag
    )
    return any(
        not any(text.strip() for text in element.itertext()) and next(element.iter("img", "video"), None) is None
        for element in islice(named, MOST_ROOTS)
    )


def _free(things: list[Thing]) -> bool | None:
    """What the page says of itself: readable by anybody (True), or by those who pay (False)."""
    told = [thing["isAccessibleForFree"] for thing in things if "isAccessibleForFree" in thing]
    if any(
        value is False or (isinstance(value, str) and _LOCKED.match(value.split("/")[-1].strip())) for value in told
    ):
        return False
    return True if told else None

"""Collects the signs that distinguish a page from a wall: forms, scripts, captchas, how its text begins and ends."""

from __future__ import annotations

import re
from itertools import islice
from typing import TYPE_CHECKING

from chyme.documents.html.metadata_values import clean_line
from chyme.documents.html.raw_source import bare_words, count_words_and_signs
from chyme.documents.html.structured_data import Thing, things_in
from chyme.documents.html.tree import Page, is_shown, title_of
from chyme.webpages.login_and_bot_walls import PageSignals

if TYPE_CHECKING:
    from lxml.html import HtmlElement  # type: ignore[import-untyped]

EXCERPT = 3_000  # characters from the beginning, and as many from the end
MAX_SEARCHED_CHARS = 500_000  # of the source, in the search for markers: challenge pages are small
MAX_ROOTS = 20
# Markers in the source of challenge pages; a captcha may be in any form. Plain strings are found many times quicker.
_MARKERS = {
    "cloudflare-challenge": ("_cf_chl_opt", "/cdn-cgi/challenge-platform/h/", "cf-chl-widget", 'id="challenge-form"'),
    "datadome-challenge": ("geo.captcha-delivery.com", "ct.captcha-delivery.com"),
    "perimeterx-challenge": ("px-captcha", "_pxBlockedUrl", "window._pxUuid"),
    "aws-waf-challenge": ("gokuProps", "AwsWafCaptcha", "awsWafCookieDomainList"),
    "kasada-challenge": ("KPSDK.", "/ips.js?"),
    "akamai-challenge": ("sec-if-cpt-container", "/_sec/cp_challenge/", "bm-verify="),
    "anubis-challenge": ("/.within.website/x/cmd/anubis", "anubis_challenge"),
    "sgcaptcha-challenge": ("/.well-known/sgcaptcha/",),
    "ddos-guard-challenge": ("/.well-known/ddos-guard/", "ddos-guard/js-challenge"),
    "sucuri-challenge": ("sucuri_cloudproxy_js",),
    "vercel-challenge": ("/.well-known/vercel/security/",),
    "aliyun-challenge": ("acw_sc__v2", "aliyun_waf_"),
    "yandex-challenge": ("/checkcaptcha?", "smart-captcha", "SmartCaptcha"),
    "google-challenge": ("/sorry/index", 'id="captcha-form"'),
    "captcha": (
        *("g-recaptcha", "google.com/recaptcha", "recaptcha.net/recaptcha", "h-captcha", "hcaptcha.com"),
        *("challenges.cloudflare.com", "cf-turnstile", "funcaptcha", "arkoselabs", "geetest", "friendlycaptcha"),
        *("frc-captcha", "mtcaptcha", "/captcha.", "/captcha/", "/captcha?"),
    ),
}
_INCAPSULA = re.compile(r"_Incapsula_Resource\?[^\"']{0,200}(?:incident_id|xinfo|edet)")
_SCRIPT_PLEA = re.compile(
    r"(?:enable|activ\w{1,6}|turn on|requires?|need\w?|aktivier\w{0,4}|habilit\w{1,4}|включите|启用|啟用|有効)"
    r".{0,60}java\s?script|java\s?script.{0,60}(?:enable|disabled|required|aktivier|activ|habilit|включ|有効|启用|啟用|필요|활성)",
    re.IGNORECASE | re.DOTALL,
)
_ROOT_IDS = frozenset((
    "root", "app", "__next", "__nuxt", "application", "main-app", "react-root", "app-root", "svelte", "ember-app",
    "___gatsby",
))  # fmt: skip
_NOT_FREE = re.compile(r"^(?:false|no|0)$", re.IGNORECASE)


def read_page_signals(page: Page, markdown: str) -> PageSignals:
    """Return what distinguishes the page from a wall; `markdown` is its extracted text."""
    markers = find_markers(page.source[:MAX_SEARCHED_CHARS])
    root = page.copy_tree()
    if root is None:
        text = bare_words(page.source)
        return PageSignals(
            beginning=text[:EXCERPT],
            ending=markdown[-EXCERPT:],
            shown=sum(count_words_and_signs(text)),
            markers=markers,
        )
    scripts = list(root.iter("script"))
    noscript_text = " ".join(element.text_content()[:2_000] for element in list(root.iter("noscript"))[:20])
    free = _is_free(things_in(root))
    script_chars = sum(
        len(script.text or "") + (1_000 if script.get("src") else 0) for script in scripts if _is_executed(script)
    )
    empty = _has_empty_root(root)
    fields = [
        (field.get("type") or "text").lower() if field.tag == "input" else "text"
        for field in root.iter("input", "textarea")
    ]
    title = clean_line(title_of(root), 300) or ""
    for hidden in (*scripts, *root.iter("style", "noscript", "template", "title")):
        if hidden.tag != "template" or not is_shown(hidden):
            hidden.clear(keep_tail=True)
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
        asks_for_script=bool(
            _SCRIPT_PLEA.search(noscript_text[:5_000]) or (len(text) < EXCERPT and _SCRIPT_PLEA.search(text))
        ),
        empty_root=empty,
        script_chars=script_chars,
    )


def find_markers(source: str) -> frozenset[str]:
    """Return the names of the challenges and captchas whose markers are in the source."""
    found = {name for name, markers in _MARKERS.items() if any(marker in source for marker in markers)}
    return frozenset(found | {"incapsula-challenge"} if _INCAPSULA.search(source) else found)


def _is_executed(script: HtmlElement) -> bool:
    kind = (script.get("type") or "").strip().lower()
    return kind in ("", "module", "text/javascript", "application/javascript", "text/babel")


def _has_empty_root(root: HtmlElement) -> bool:
    candidates = (
        element
        for element in root.iter("div", "main", "section", "app-root", "my-app")
        if (element.get("id") or "").lower() in _ROOT_IDS or "-" in element.tag
    )
    return any(
        not any(text.strip() for text in element.itertext()) and next(element.iter("img", "video"), None) is None
        for element in islice(candidates, MAX_ROOTS)
    )


def _is_free(things: list[Thing]) -> bool | None:
    """Return what the page declares: readable by everyone (True), or only by those who pay (False)."""
    values = [thing["isAccessibleForFree"] for thing in things if "isAccessibleForFree" in thing]
    if any(
        value is False or (isinstance(value, str) and _NOT_FREE.match(value.split("/")[-1].strip())) for value in values
    ):
        return False
    return True if values else None

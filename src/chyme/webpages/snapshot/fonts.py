"""Selects the fonts of a style sheet: one source of each, and only if the page has letters for it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from chyme.webpages.snapshot.css_urls import NONE, UrlPlaceholder, address_of, make_placeholder, strip_urls


@dataclass(frozen=True, slots=True)
class PageUsage:
    """What a page contains, so that nothing is fetched for rules that match nothing in it."""

    names: frozenset[str] = frozenset()  # its classes and ids
    letters: frozenset[int] = frozenset()  # code points of its text


class FontFaceRule:
    """A @font-face rule with the token that must be filled for it to be of use."""

    __slots__ = ("rule", "token")

    def __init__(self, rule: Any, token: Any) -> None:
        self.rule = rule
        self.token = token


def keep_font_face(
    node: Any, declarations: list[Any], placeholders: list[UrlPlaceholder], usage: PageUsage | None
) -> list[Any]:
    """Return the rule with the one source worth fetching; nothing if the page has no letter for it."""
    source = None
    for declaration in declarations:
        if declaration.lower_name == "unicode-range" and usage is not None and not _has_letters(declaration, usage):
            return []
        if declaration.lower_name == "src":
            source = _best_source(declaration) or source
    if source is None:
        return []
    token = make_placeholder(source, placeholders, NONE, font=True)
    for declaration in declarations:
        declaration.value = [token] if declaration.lower_name == "src" else strip_urls(declaration.value, [])
    node.prelude = []
    node.content = [part for declaration in declarations for part in (declaration, _semicolon())]
    return [FontFaceRule(node, token)]


def _best_source(declaration: Any) -> str | None:
    """Return the first address of a WOFF2 font, else of a WOFF font."""
    by_format: dict[str, str] = {}
    address = ""
    for token in [*declaration.value, None]:
        if token is None or token == ",":
            path = address.partition("?")[0].partition("#")[0].lower()
            for kind in ("woff2", "woff"):
                if path.endswith(f".{kind}") or (address[:5].lower() == "data:" and kind in address[:60]):
                    by_format.setdefault(kind, address)
            address = ""
        elif (token_address := address_of(token)) is not None:
            address = token_address
        elif token.type == "function" and token.lower_name == "format" and address:
            format_name = "".join(
                str(part.value) for part in token.arguments if part.type in ("string", "ident")
            ).lower()
            if format_name in ("woff2", "woff"):
                by_format.setdefault(format_name, address)
    return by_format.get("woff2") or by_format.get("woff")


def _has_letters(declaration: Any, usage: PageUsage) -> bool:
    ranges = [(token.start, token.end) for token in declaration.value if token.type == "unicode-range"]
    return not ranges or any(first <= letter <= last for letter in usage.letters for first, last in ranges)


def _semicolon() -> Any:
    from tinycss2.ast import LiteralToken  # type: ignore[import-untyped]

    return LiteralToken(0, 0, ";")

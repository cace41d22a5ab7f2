"""Style sheets: parsed, freed of what reaches outside, and filled with the pictures and fonts they name."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

from chyme.webpages.snapshot.css_urls import NONE, UrlPlaceholder, address_of, strip_urls
from chyme.webpages.snapshot.data_urls import DATA_URL
from chyme.webpages.snapshot.fonts import FontFaceRule, PageUsage, keep_font_face

_DROPPED = frozenset({"charset", "import", "namespace", "document", "-moz-document", "viewport", "-ms-viewport"})
_HOLD_RULES = frozenset({"media", "supports", "layer", "container", "scope", "starting-style"})
# Signs that styles name by their number, and no drawing and no page may hold.
_UNWRITABLE = dict.fromkeys([*range(9), 11, 12, *range(14, 32), 127, *range(0xD800, 0xE000), 0xFFFE, 0xFFFF], "\ufffd")


@dataclass(frozen=True, slots=True)
class Import:
    """Another sheet, whose rules come before all others, under these conditions."""

    address: str
    before: str  # the conditions, as opened blocks
    after: str
    layers: str = ""  # the order of layers that is told between the import before and this one


@dataclass(slots=True)
class Sheet:
    """One parsed style sheet. Its rules are written after its holes are filled."""

    rules: list[Any] = field(default_factory=list)
    imports: list[Import] = field(default_factory=list)
    holes: list[UrlPlaceholder] = field(default_factory=list)

    def to_css(self) -> str:
        return serialise_tokens(list(_with_fonts(self.rules)))


def read_sheet(css: str, seen: PageUsage | None = None) -> Sheet:
    """The sheet with its holes. Raises RecursionError for one that is nested beyond reason."""
    from tinycss2 import parse_stylesheet  # type: ignore[import-untyped]

    sheet = Sheet()
    nodes = parse_stylesheet(css, skip_comments=True, skip_whitespace=True)
    layers: list[Any] = []
    for node in nodes:
        if node.type != "at-rule":
            continue
        if node.lower_at_keyword == "layer" and node.content is None:
            node.prelude = strip_urls(node.prelude, [])
            layers.append(node)
        elif node.lower_at_keyword == "import" and (found := _import(node, serialise_tokens(layers))):
            sheet.imports.append(found)
            layers = []
    sheet.rules = _rules(nodes, sheet.holes, seen)
    return sheet


def read_declarations(css: str) -> tuple[list[Any], list[UrlPlaceholder]]:
    """The value of a style="", as tokens with their holes."""
    from tinycss2 import parse_component_value_list

    holes: list[UrlPlaceholder] = []
    return strip_urls(parse_component_value_list(css, skip_comments=True), holes), holes


def serialise_tokens(tokens: list[Any]) -> str:
    from tinycss2 import serialize

    return str(serialize(tokens)).translate(_UNWRITABLE)


def strip_css_urls(css: str) -> str:
    """The sheet without anything that is fetched; empty when it cannot be read."""
    try:
        sheet = read_sheet(css)
        for hole in sheet.holes:
            hole.fill(hole.address if DATA_URL.fullmatch(hole.address) else None)
        return sheet.to_css()
    except RecursionError:
        return ""


def strip_declaration_urls(css: str) -> str:
    """The same of declarations or of a single value."""
    try:
        tokens, holes = read_declarations(css)
        for hole in holes:
            hole.fill(hole.address if DATA_URL.fullmatch(hole.address) else None)
        return serialise_tokens(tokens)
    except RecursionError:
        return ""


def _rules(nodes: list[Any], holes: list[UrlPlaceholder], seen: PageUsage | None) -> list[Any]:
    kept: list[Any] = []
    for node in nodes:
        if node.type == "qualified-rule":
            own: list[UrlPlaceholder] = []
            node.prelude = strip_urls(node.prelude, [])
            node.content = strip_urls(node.content, own)
            if own and (seen is None or _may_match(node.prelude, seen.names)):
                holes += own
            kept.append(node)
        elif node.type == "at-rule" and node.lower_at_keyword not in _DROPPED:
            kept += _at_rule(node, holes, seen)
    return kept


def _at_rule(node: Any, holes: list[UrlPlaceholder], seen: PageUsage | None) -> list[Any]:
    from tinycss2 import parse_blocks_contents, parse_rule_list

    name = node.lower_at_keyword
    if name == "font-face" and node.content is not None:
        declarations = parse_blocks_contents(node.content, skip_comments=True, skip_whitespace=True)
        return keep_font_face(node, [one for one in declarations if one.type == "declaration"], holes, seen)
    node.prelude = strip_urls(node.prelude, [])
    if node.content is not None and name in _HOLD_RULES:
        node.content = _rules(parse_rule_list(node.content, skip_comments=True, skip_whitespace=True), holes, seen)
    elif node.content is not None:
        node.content = strip_urls(node.content, holes)
    return [node]


def _import(node: Any, layers: str) -> Import | None:
    tokens = [token for token in node.prelude if token.type not in ("whitespace", "comment")]
    address = address_of(tokens[0]) if tokens else None
    if address is None and tokens and tokens[0].type == "string":
        address = tokens[0].value
    if not address:
        return None
    rest, opened = strip_urls(tokens[1:], []), []
    if rest and rest[0].type == "function" and rest[0].lower_name == "layer":
        opened.append(f"@layer {serialise_tokens(rest.pop(0).arguments)}{{")
    elif rest and rest[0].type == "ident" and rest[0].lower_value == "layer":
        opened.append("@layer{")
        rest.pop(0)
    if rest and rest[0].type == "function" and rest[0].lower_name == "supports":
        opened.append(f"@supports ({serialise_tokens(rest.pop(0).arguments)}){{")
    if rest:
        opened.append(f"@media {' '.join(serialise_tokens([token]) for token in rest)}{{")
    return Import(address, "".join(opened), "}" * len(opened), layers)


def _with_fonts(rules: list[Any]) -> Iterator[Any]:
    """The rules, without fonts that were not kept."""
    for rule in rules:
        if isinstance(rule, FontFaceRule):
            if rule.token.representation != NONE:
                yield rule.rule
        else:
            if rule.type == "at-rule" and rule.lower_at_keyword in _HOLD_RULES and rule.content is not None:
                rule.content = list(_with_fonts(rule.content))
            yield rule


def _may_match(prelude: list[Any], names: frozenset[str]) -> bool:
    """Whether any of the selectors does without classes and ids that the page has not."""
    fits = True
    for at, node in enumerate(prelude):
        if node == ",":
            if fits:
                return True
            fits = True
        elif node.type == "hash" or (node.type == "ident" and at and prelude[at - 1] == "."):
            fits = fits and node.value in names
    return fits

"""Parses style sheets, strips their addresses, and inserts the pictures and fonts they name."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

from chyme.webpages.snapshot.css_urls import NONE, UrlPlaceholder, address_of, strip_urls
from chyme.webpages.snapshot.data_urls import DATA_URL
from chyme.webpages.snapshot.fonts import FontFaceRule, PageUsage, keep_font_face

_DROPPED = frozenset({"charset", "import", "namespace", "document", "-moz-document", "viewport", "-ms-viewport"})
_RULE_CONTAINERS = frozenset({"media", "supports", "layer", "container", "scope", "starting-style"})
# Characters that styles may name by number, but neither SVG nor HTML may contain.
_FORBIDDEN_CHARS = dict.fromkeys(
    [*range(9), 11, 12, *range(14, 32), 127, *range(0xD800, 0xE000), 0xFFFE, 0xFFFF], "\ufffd"
)


@dataclass(frozen=True, slots=True)
class Import:
    """An imported sheet, whose rules come before all others, under these conditions."""

    address: str
    before: str  # the conditions, as opened blocks
    after: str
    layers: str = ""  # the order of layers declared between the previous import and this one


@dataclass(slots=True)
class Sheet:
    """One parsed style sheet. Its rules are serialised after its placeholders are filled."""

    rules: list[Any] = field(default_factory=list)
    imports: list[Import] = field(default_factory=list)
    placeholders: list[UrlPlaceholder] = field(default_factory=list)

    def to_css(self) -> str:
        return serialise_tokens(list(_drop_missing_fonts(self.rules)))


def read_sheet(css: str, usage: PageUsage | None = None) -> Sheet:
    """Parse the sheet and put in placeholders. Raises RecursionError if it is nested too deeply."""
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
        elif node.lower_at_keyword == "import" and (found := _parse_import(node, serialise_tokens(layers))):
            sheet.imports.append(found)
            layers = []
    sheet.rules = _sanitise_rules(nodes, sheet.placeholders, usage)
    return sheet


def read_declarations(css: str) -> tuple[list[Any], list[UrlPlaceholder]]:
    """Return the value of a style="" as tokens with their placeholders."""
    from tinycss2 import parse_component_value_list

    placeholders: list[UrlPlaceholder] = []
    return strip_urls(parse_component_value_list(css, skip_comments=True), placeholders), placeholders


def serialise_tokens(tokens: list[Any]) -> str:
    from tinycss2 import serialize

    return str(serialize(tokens)).translate(_FORBIDDEN_CHARS)


def strip_css_urls(css: str) -> str:
    """Return the sheet without anything that would be fetched; empty if it cannot be parsed."""
    try:
        sheet = read_sheet(css)
        for placeholder in sheet.placeholders:
            placeholder.fill(placeholder.address if DATA_URL.fullmatch(placeholder.address) else None)
        return sheet.to_css()
    except RecursionError:
        return ""


def strip_declaration_urls(css: str) -> str:
    """Do the same for declarations or a single value."""
    try:
        tokens, placeholders = read_declarations(css)
        for placeholder in placeholders:
            placeholder.fill(placeholder.address if DATA_URL.fullmatch(placeholder.address) else None)
        return serialise_tokens(tokens)
    except RecursionError:
        return ""


def _sanitise_rules(nodes: list[Any], placeholders: list[UrlPlaceholder], usage: PageUsage | None) -> list[Any]:
    rules: list[Any] = []
    for node in nodes:
        if node.type == "qualified-rule":
            rule_placeholders: list[UrlPlaceholder] = []
            node.prelude = strip_urls(node.prelude, [])
            node.content = strip_urls(node.content, rule_placeholders)
            if rule_placeholders and (usage is None or _may_match(node.prelude, usage.names)):
                placeholders += rule_placeholders
            rules.append(node)
        elif node.type == "at-rule" and node.lower_at_keyword not in _DROPPED:
            rules += _sanitise_at_rule(node, placeholders, usage)
    return rules


def _sanitise_at_rule(node: Any, placeholders: list[UrlPlaceholder], usage: PageUsage | None) -> list[Any]:
    from tinycss2 import parse_blocks_contents, parse_rule_list

    name = node.lower_at_keyword
    if name == "font-face" and node.content is not None:
        declarations = parse_blocks_contents(node.content, skip_comments=True, skip_whitespace=True)
        return keep_font_face(node, [item for item in declarations if item.type == "declaration"], placeholders, usage)
    node.prelude = strip_urls(node.prelude, [])
    if node.content is not None and name in _RULE_CONTAINERS:
        node.content = _sanitise_rules(
            parse_rule_list(node.content, skip_comments=True, skip_whitespace=True), placeholders, usage
        )
    elif node.content is not None:
        node.content = strip_urls(node.content, placeholders)
    return [node]


def _parse_import(node: Any, layers: str) -> Import | None:
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


def _drop_missing_fonts(rules: list[Any]) -> Iterator[Any]:
    """Yield the rules without those of fonts that were not inserted."""
    for rule in rules:
        if isinstance(rule, FontFaceRule):
            if rule.token.representation != NONE:
                yield rule.rule
        else:
            if rule.type == "at-rule" and rule.lower_at_keyword in _RULE_CONTAINERS and rule.content is not None:
                rule.content = list(_drop_missing_fonts(rule.content))
            yield rule


def _may_match(prelude: list[Any], names: frozenset[str]) -> bool:
    """Whether any of the selectors uses only classes and ids that the page has."""
    fits = True
    for i, node in enumerate(prelude):
        if node == ",":
            if fits:
                return True
            fits = True
        elif node.type == "hash" or (node.type == "ident" and i and prelude[i - 1] == "."):
            fits = fits and node.value in names
    return fits

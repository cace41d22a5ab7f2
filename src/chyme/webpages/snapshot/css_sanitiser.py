"""Parses style sheets, strips their addresses, and inserts the pictures and fonts they name."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from chyme.webpages.snapshot.css_urls import NONE, UrlPlaceholder, address_of, make_placeholder, strip_urls
from chyme.webpages.snapshot.data_urls import DATA_URL

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
    layers: str  # the order of layers declared between the previous import and this one


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
        _fill_embedded(sheet.placeholders)
        return sheet.to_css()
    except RecursionError:
        return ""


def strip_declaration_urls(css: str) -> str:
    """Do the same for declarations or a single value."""
    try:
        tokens, placeholders = read_declarations(css)
        _fill_embedded(placeholders)
        return serialise_tokens(tokens)
    except RecursionError:
        return ""


def _fill_embedded(placeholders: Iterable[UrlPlaceholder]) -> None:
    for placeholder in placeholders:
        placeholder.fill(placeholder.address if DATA_URL.fullmatch(placeholder.address) else None)


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


@dataclass(frozen=True, slots=True)
class PageUsage:
    """What a page contains, so that nothing is fetched for rules that match nothing in it."""

    names: frozenset[str]  # its classes and ids
    letters: frozenset[int]  # code points of its text


class FontFaceRule(NamedTuple):
    """A @font-face rule with the token that must be filled for it to be of use."""

    rule: Any
    token: Any


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

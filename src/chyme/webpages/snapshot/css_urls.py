"""Tokens of a style sheet, freed of every address; a hole is left in its place."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

_RUN_CODE = frozenset({"behavior", "-moz-binding", "-ms-behavior"})
_SETS = frozenset({"image-set", "-webkit-image-set", "image", "cross-fade", "-webkit-cross-fade"})
_IN_SETS = frozenset({"type", "url", "rgb", "rgba", "hsl", "hsla", "calc", *_SETS})
NONE = "none"
TRANSPARENT_IMAGE = "linear-gradient(transparent,transparent)"  # a mask of `none` would show all that it hides


@dataclass(frozen=True, slots=True)
class UrlPlaceholder:
    """A url() in a sheet, to be filled by what was fetched for it."""

    token: Any
    address: str  # as written: relative to the sheet
    otherwise: str
    font: bool = False

    def fill(self, kept: str | None) -> None:
        """`kept` is a data: address of ours, or None when the part was left out."""
        self.token.representation = f"url({kept})" if kept else self.otherwise


def strip_urls(nodes: list[Any], holes: list[UrlPlaceholder], strings: bool = False) -> list[Any]:
    """The tokens, with every address taken out and a hole in its place. `strings`: these are addresses too."""
    kept: list[Any] = []
    name = ""
    for at, node in enumerate(nodes):
        otherwise = TRANSPARENT_IMAGE if "mask" in name else NONE
        address = str(node.value) if strings and node.type == "string" else address_of(node)
        if address is not None:
            kept.append(make_placeholder(address, holes, otherwise))
        elif node.type == "ident" and at + 1 < len(nodes) and nodes[at + 1] == ":":
            name = node.lower_value
            kept.append(_token("x-removed") if name in _RUN_CODE else node)
        elif node.type == "function":
            kept.append(_quiet_function(node, holes, otherwise))
        elif node.type in ("() block", "[] block", "{} block"):
            node.content = strip_urls(node.content, holes)
            kept.append(node)
        elif node.type not in ("error", "comment"):
            kept.append(node)
    return kept


def _quiet_function(node: Any, holes: list[UrlPlaceholder], otherwise: str) -> Any:
    name = node.lower_name
    if name in ("url", "src", "expression"):
        return _token(otherwise)
    if name in _SETS:
        # What other functions in it give is known to the browser alone, and may be an address.
        inner = (one.lower_name for one in node.arguments if one.type == "function")
        if any(one not in _IN_SETS and not one.endswith("-gradient") for one in inner):
            return _token(otherwise)
    node.arguments = strip_urls(node.arguments, holes, strings=name in _SETS)
    return node


def address_of(node: Any) -> str | None:
    """What url() or src() holds; None for anything else."""
    if node.type == "url":
        return str(node.value)
    if node.type == "function" and node.lower_name in ("url", "src"):
        inside = [one for one in node.arguments if one.type not in ("whitespace", "comment")]
        if inside and inside[0].type == "string":
            return str(inside[0].value)
    return None


def make_placeholder(address: str, holes: list[UrlPlaceholder], otherwise: str, font: bool = False) -> Any:
    token = _token(otherwise)
    address = address.strip()
    if address.startswith("#"):
        from tinycss2.serializer import serialize_string_value  # type: ignore[import-untyped]

        token.representation = f'url("{serialize_string_value(address)}")'
    elif address:
        holes.append(UrlPlaceholder(token, address, otherwise, font))
    return token


def _token(representation: str) -> Any:
    from tinycss2.ast import URLToken  # type: ignore[import-untyped]

    return URLToken(0, 0, "", representation)

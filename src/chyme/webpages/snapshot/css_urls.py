"""Replaces every address in the tokens of a style sheet by a placeholder."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

_RUN_CODE = frozenset({"behavior", "-moz-binding", "-ms-behavior"})
_IMAGE_FUNCTIONS = frozenset({"image-set", "-webkit-image-set", "image", "cross-fade", "-webkit-cross-fade"})
_ALLOWED_INSIDE = frozenset({"type", "url", "rgb", "rgba", "hsl", "hsla", "calc", *_IMAGE_FUNCTIONS})
NONE = "none"
TRANSPARENT_IMAGE = "linear-gradient(transparent,transparent)"  # a mask of `none` would show what it should hide


@dataclass(frozen=True, slots=True)
class UrlPlaceholder:
    """A url() in a sheet, to be filled with what is fetched for it."""

    token: Any
    address: str  # as written: relative to the sheet
    fallback: str
    font: bool = False

    def fill(self, data_url: str | None) -> None:
        """Fill in a data: address made by us, or the fallback for a part that was left out."""
        self.token.representation = f"url({data_url})" if data_url else self.fallback


def strip_urls(nodes: list[Any], placeholders: list[UrlPlaceholder], strings: bool = False) -> list[Any]:
    """Return the tokens with a placeholder for every address. `strings`: strings are addresses too."""
    tokens: list[Any] = []
    name = ""
    for i, node in enumerate(nodes):
        fallback = TRANSPARENT_IMAGE if "mask" in name else NONE
        address = str(node.value) if strings and node.type == "string" else address_of(node)
        if address is not None:
            tokens.append(make_placeholder(address, placeholders, fallback))
        elif node.type == "ident" and i + 1 < len(nodes) and nodes[i + 1] == ":":
            name = node.lower_value
            tokens.append(_token("x-removed") if name in _RUN_CODE else node)
        elif node.type == "function":
            tokens.append(_sanitise_function(node, placeholders, fallback))
        elif node.type in ("() block", "[] block", "{} block"):
            node.content = strip_urls(node.content, placeholders)
            tokens.append(node)
        elif node.type not in ("error", "comment"):
            tokens.append(node)
    return tokens


def _sanitise_function(node: Any, placeholders: list[UrlPlaceholder], fallback: str) -> Any:
    name = node.lower_name
    if name in ("url", "src", "expression"):
        return _token(fallback)
    if name in _IMAGE_FUNCTIONS:
        # Only the browser knows what other functions in it return: it may be an address.
        inner_names = (argument.lower_name for argument in node.arguments if argument.type == "function")
        if any(inner not in _ALLOWED_INSIDE and not inner.endswith("-gradient") for inner in inner_names):
            return _token(fallback)
    node.arguments = strip_urls(node.arguments, placeholders, strings=name in _IMAGE_FUNCTIONS)
    return node


def address_of(node: Any) -> str | None:
    """Return the address in url() or src(); None for anything else."""
    if node.type == "url":
        return str(node.value)
    if node.type == "function" and node.lower_name in ("url", "src"):
        arguments = [argument for argument in node.arguments if argument.type not in ("whitespace", "comment")]
        if arguments and arguments[0].type == "string":
            return str(arguments[0].value)
    return None


def make_placeholder(address: str, placeholders: list[UrlPlaceholder], fallback: str, font: bool = False) -> Any:
    token = _token(fallback)
    address = address.strip()
    if address.startswith("#"):
        from tinycss2.serializer import serialize_string_value  # type: ignore[import-untyped]

        token.representation = f'url("{serialize_string_value(address)}")'
    elif address:
        placeholders.append(UrlPlaceholder(token, address, fallback, font))
    return token


def _token(representation: str) -> Any:
    from tinycss2.ast import URLToken  # type: ignore[import-untyped]

    return URLToken(0, 0, "", representation)

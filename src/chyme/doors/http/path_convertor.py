"""Paths in addresses may hold any character that a file name may hold, and end where the address ends.

Starlette's own take no line break, and pass over one at the end: some files could not be reached, and some addresses
would lead to another file than they say.
"""

from __future__ import annotations

from starlette.convertors import Convertor, register_url_convertor


class AnyPath(Convertor[str]):
    regex = r"[\s\S]*"

    def convert(self, value: str) -> str:
        return value

    def to_string(self, value: str) -> str:
        return value


def register_any_path() -> None:
    """From now on `{name:path}` in a route means this."""
    register_url_convertor("path", AnyPath())

"""A path convertor: paths in addresses may hold any character of a file name, and end where the address ends.

Starlette's own convertor accepts no line break, and ignores one at the end: some files could not be reached, and
some addresses would lead to another file than they name.
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
    """From now on `{name:path}` in a route means this convertor."""
    register_url_convertor("path", AnyPath())

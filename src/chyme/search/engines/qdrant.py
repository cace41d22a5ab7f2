"""Qdrant, spoken to over HTTP."""

from __future__ import annotations

import math
from array import array
from collections.abc import Collection, Iterator, Sequence
from typing import Any, NamedTuple

from chyme.search.engines.http_client import SearchServer, ServerFailed, number

SEARCH_SECONDS, WRITE_SECONDS = 1.5, 120.0
_SCROLLED_AT_ONCE = 5000
_BREADTH = 256  # how many neighbours its graph keeps in sight: more finds more and takes longer


class Point(NamedTuple):
    """A vector, by our id, and the file that it belongs to."""

    id: int
    file_id: int
    vector: bytes  # float32, little-endian


class ScoredPoint(NamedTuple):
    """A point that answers, and its cosine."""

    id: int
    file_id: int
    score: float


class Qdrant:
    """A server, and what chyme asks of it. Everything raises ServerFailed; writing returns once it is done."""

    def __init__(self, url: str, key: str = "") -> None:
        self._server = SearchServer("Qdrant", url, "api-key", key)

    def check(self) -> None:
        """Raises unless it answers and takes the key."""
        self.collections("")

    def collections(self, prefix: str) -> set[str]:
        """The names of those that begin so."""
        names = self._server.ask(
            "GET",
            "/collections",
            seconds=SEARCH_SECONDS,
            read=lambda told: [str(one["name"]) for one in told["result"]["collections"]],
        )
        return {name for name in names if name.startswith(prefix)}

    def has_collection(self, collection: str, dimension: int) -> bool:
        """Whether there is one for vectors of this length, all set up."""

        def so(told: Any) -> bool:
            there = told["result"]
            size = there["config"]["params"]["vectors"].get("size")
            return bool(size == dimension and "file_id" in there["payload_schema"])

        try:
            return self._server.ask("GET", f"/collections/{collection}", seconds=WRITE_SECONDS, read=so)
        except ServerFailed as error:
            if error.status == 404:
                return False
            raise

    def create_collection(self, collection: str, dimension: int) -> None:
        """In the place of any that is there."""
        self.delete_collection(collection)
        self._write("PUT", f"/collections/{collection}", {"vectors": {"size": dimension, "distance": "Cosine"}})
        index = {"field_name": "file_id", "field_schema": "integer"}
        self._write("PUT", f"/collections/{collection}/index?wait=true", index)

    def delete_collection(self, collection: str) -> None:
        """No error when there is none."""
        try:
            self._write("DELETE", f"/collections/{collection}", None)
        except ServerFailed as error:
            if error.status != 404:
                raise

    def put(self, collection: str, points: Sequence[Point]) -> None:
        """Add points, in the place of those with the same id."""
        if not points:
            return
        told = [
            {"id": point.id, "vector": array("f", point.vector).tolist(), "payload": {"file_id": point.file_id}}
            for point in points
        ]
        self._write("PUT", f"/collections/{collection}/points?wait=true", {"points": told})

    def delete_except(self, collection: str, file_ids: Collection[int], ids: Collection[int]) -> None:
        """Of what these files have, delete all but these."""
        filter_: dict[str, object] = {"must": [_of_files(file_ids)]}
        if ids:
            filter_["must_not"] = [{"has_id": list(ids)}]
        self._write("POST", f"/collections/{collection}/points/delete?wait=true", {"filter": filter_})

    def find_nearest(
        self, collection: str, vector: Sequence[float], limit: int, file_ids: Collection[int] | None = None
    ) -> list[ScoredPoint]:
        """Points nearest to the vector, best first; among these files, if any are given."""
        asked: dict[str, object] = {
            "query": list(vector),
            "limit": limit,
            "with_payload": ["file_id"],
            "params": {"hnsw_ef": max(limit, _BREADTH)},
        }
        if file_ids is not None:
            asked["filter"] = {"must": [_of_files(file_ids)]}
        path = f"/collections/{collection}/points/query"
        return self._server.ask("POST", path, asked, seconds=SEARCH_SECONDS, read=_near)

    def points(self, collection: str) -> Iterator[tuple[int, int]]:
        """Every point with its file."""
        after: int | None = None
        while True:
            asked: dict[str, object] = {"limit": _SCROLLED_AT_ONCE, "with_payload": ["file_id"], "with_vector": False}
            if after is not None:
                asked["offset"] = after
            path = f"/collections/{collection}/points/scroll"
            some, next_ = self._server.ask("POST", path, asked, seconds=WRITE_SECONDS, read=_page)
            yield from some
            if next_ is None or (after is not None and next_ <= after):
                return
            after = next_

    def close(self) -> None:
        self._server.close()

    def _write(self, method: str, path: str, told: object) -> None:
        self._server.ask(method, path, told, seconds=WRITE_SECONDS, read=lambda told: told["result"])


def _of_files(file_ids: Collection[int]) -> dict[str, object]:
    return {"key": "file_id", "match": {"any": list(file_ids)}}


def _point(one: Any) -> tuple[int, int]:
    return number(one["id"]), number(one["payload"]["file_id"])


def _near(told: Any) -> list[ScoredPoint]:
    found = [ScoredPoint(*_point(one), float(one["score"])) for one in told["result"]["points"]]
    if not all(math.isfinite(near.score) for near in found):
        raise ValueError("a cosine is a number")
    return found


def _page(told: Any) -> tuple[list[tuple[int, int]], int | None]:
    """Some points, and where the next ones begin."""
    next_ = told["result"]["next_page_offset"]
    return [_point(one) for one in told["result"]["points"]], None if next_ is None else number(next_)

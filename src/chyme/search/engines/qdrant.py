"""The HTTP client for Qdrant."""

from __future__ import annotations

import math
from array import array
from collections.abc import Collection, Iterator, Sequence
from typing import Any, NamedTuple

from chyme.search.engines.http_client import SearchServer, number
from chyme.search.ranking.keyword_ranking import Match

SEARCH_SECONDS, WRITE_SECONDS = 1.5, 120.0
_PAGE_SIZE = 5000
_MIN_EF = 256  # candidates in its graph search (hnsw_ef): more find better neighbours and take longer


class Point(NamedTuple):
    """A vector under our id, and the file it belongs to."""

    id: int
    file_id: int
    vector: bytes  # float32, little-endian


class Qdrant:
    """A server, with the requests chyme uses. Every method raises ServerFailed; writes return once they are done."""

    def __init__(self, url: str, key: str = "") -> None:
        self._server = SearchServer("Qdrant", url, "api-key", key)

    def check(self) -> None:
        """Raise unless the server answers and accepts the key."""
        self.collections("")

    def collections(self, prefix: str) -> set[str]:
        """The names that begin with this prefix."""
        names = self._server.ask(
            "GET",
            "/collections",
            seconds=SEARCH_SECONDS,
            read=lambda response: [str(collection["name"]) for collection in response["result"]["collections"]],
        )
        return {name for name in names if name.startswith(prefix)}

    def has_collection(self, collection: str, dimension: int) -> bool:
        """Whether there is such a collection for vectors of this length, completely set up."""

        def is_ready(response: Any) -> bool:
            collection_info = response["result"]
            size = collection_info["config"]["params"]["vectors"].get("size")
            return bool(size == dimension and "file_id" in collection_info["payload_schema"])

        path = f"/collections/{collection}"
        return bool(self._server.ask_if_there("GET", path, seconds=WRITE_SECONDS, read=is_ready))

    def create_collection(self, collection: str, dimension: int) -> None:
        """Create a collection, replacing an existing one."""
        self.delete_collection(collection)
        self._write("PUT", f"/collections/{collection}", {"vectors": {"size": dimension, "distance": "Cosine"}})
        index = {"field_name": "file_id", "field_schema": "integer"}
        self._write("PUT", f"/collections/{collection}/index?wait=true", index)

    def delete_collection(self, collection: str) -> None:
        """Delete a collection, if there is one."""
        path = f"/collections/{collection}"
        self._server.ask_if_there("DELETE", path, seconds=WRITE_SECONDS, read=lambda response: response["result"])

    def put(self, collection: str, points: Sequence[Point]) -> None:
        """Add points, replacing those with the same id."""
        if not points:
            return
        payload = [
            {"id": point.id, "vector": array("f", point.vector).tolist(), "payload": {"file_id": point.file_id}}
            for point in points
        ]
        self._write("PUT", f"/collections/{collection}/points?wait=true", {"points": payload})

    def delete_except(self, collection: str, file_ids: Collection[int], ids: Collection[int]) -> None:
        """Delete the points of these files, except for those with these ids."""
        filter_: dict[str, object] = {"must": [_file_filter(file_ids)]}
        if ids:
            filter_["must_not"] = [{"has_id": list(ids)}]
        self._write("POST", f"/collections/{collection}/points/delete?wait=true", {"filter": filter_})

    def find_nearest(
        self, collection: str, vector: Sequence[float], limit: int, file_ids: Collection[int] | None = None
    ) -> list[Match]:
        """Points nearest to the vector with their cosines, best first; among these files only, if given."""
        payload: dict[str, object] = {
            "query": list(vector),
            "limit": limit,
            "with_payload": ["file_id"],
            "params": {"hnsw_ef": max(limit, _MIN_EF)},
        }
        if file_ids is not None:
            payload["filter"] = {"must": [_file_filter(file_ids)]}
        path = f"/collections/{collection}/points/query"
        return self._server.ask("POST", path, payload, seconds=SEARCH_SECONDS, read=_parse_scored)

    def points(self, collection: str) -> Iterator[tuple[int, int]]:
        """Every point with its file."""
        after: int | None = None
        while True:
            payload: dict[str, object] = {"limit": _PAGE_SIZE, "with_payload": ["file_id"], "with_vector": False}
            if after is not None:
                payload["offset"] = after
            path = f"/collections/{collection}/points/scroll"
            page, next_ = self._server.ask("POST", path, payload, seconds=WRITE_SECONDS, read=_parse_page)
            yield from page
            if next_ is None or (after is not None and next_ <= after):
                return
            after = next_

    def close(self) -> None:
        self._server.close()

    def _write(self, method: str, path: str, payload: object) -> None:
        self._server.ask(method, path, payload, seconds=WRITE_SECONDS, read=lambda response: response["result"])


def _file_filter(file_ids: Collection[int]) -> dict[str, object]:
    return {"key": "file_id", "match": {"any": list(file_ids)}}


def _parse_point(point: Any) -> tuple[int, int]:
    return number(point["id"]), number(point["payload"]["file_id"])


def _parse_scored(response: Any) -> list[Match]:
    found = [Match(*_parse_point(point), float(point["score"])) for point in response["result"]["points"]]
    if not all(math.isfinite(near.score) for near in found):
        raise ValueError("a cosine is a number")
    return found


def _parse_page(response: Any) -> tuple[list[tuple[int, int]], int | None]:
    """Some points, and where the next ones begin."""
    next_ = response["result"]["next_page_offset"]
    return [_parse_point(point) for point in response["result"]["points"]], None if next_ is None else number(next_)

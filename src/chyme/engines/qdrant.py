"""Qdrant, spoken to over HTTP."""

from __future__ import annotations

from array import array
from collections.abc import Collection, Iterator, Sequence
from typing import Any, NamedTuple

from chyme.engines.search_server import SearchServer, ServerFailed

SEARCH_SECONDS, WRITE_SECONDS = 1.5, 120.0
_SCROLLED_AT_ONCE = 5000
_BREADTH = 256  # how many neighbours its graph keeps in sight: more finds more and takes longer


class Point(NamedTuple):
    """A vector, by our id, and the file that it belongs to."""

    id: int
    file_id: int
    vector: bytes  # float32, little-endian


class Near(NamedTuple):
    """A point that answers, and its cosine."""

    id: int
    file_id: int
    score: float


class Qdrant:
    """A server, and what chyme asks of it. Everything raises ServerFailed; writing returns once it is done."""

    def __init__(self, url: str, key: str = "") -> None:
        self._server = SearchServer("Qdrant", url, {"api-key": key} if key else {})

    def check(self) -> None:
        """Raises unless it answers and takes the key."""
        self.collections("")

    def collections(self, prefix: str) -> set[str]:
        """The names of those that begin so."""
        told = self._server.ask("GET", "/collections", seconds=SEARCH_SECONDS)
        names = (one["name"] for one in told["result"]["collections"])
        return {name for name in names if name.startswith(prefix)}

    def has_collection(self, collection: str, dimension: int) -> bool:
        """Whether there is one for vectors of this length, all set up."""
        try:
            told = self._server.ask("GET", f"/collections/{collection}", seconds=WRITE_SECONDS)["result"]
        except ServerFailed as error:
            if error.status == 404:
                return False
            raise
        return told["config"]["params"]["vectors"].get("size") == dimension and "file_id" in told["payload_schema"]

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

    def keep(self, collection: str, file_ids: Collection[int], ids: Collection[int]) -> None:
        """Of what these files have, delete all but these."""
        filter_: dict[str, object] = {"must": [_of_files(file_ids)]}
        if ids:
            filter_["must_not"] = [{"has_id": list(ids)}]
        self._write("POST", f"/collections/{collection}/points/delete?wait=true", {"filter": filter_})

    def near(
        self, collection: str, vector: Sequence[float], limit: int, file_ids: Collection[int] | None = None
    ) -> list[Near]:
        """Points nearest to the vector, best first; among these files, if any are given."""
        asked: dict[str, object] = {
            "query": list(vector),
            "limit": limit,
            "with_payload": ["file_id"],
            "params": {"hnsw_ef": max(limit, _BREADTH)},
        }
        if file_ids is not None:
            asked["filter"] = {"must": [_of_files(file_ids)]}
        told = self._server.ask("POST", f"/collections/{collection}/points/query", asked, seconds=SEARCH_SECONDS)
        return [Near(one["id"], one["payload"]["file_id"], one["score"]) for one in told["result"]["points"]]

    def points(self, collection: str) -> Iterator[tuple[int, int]]:
        """Every point with its file."""
        after: int | None = None
        while True:
            asked: dict[str, object] = {"limit": _SCROLLED_AT_ONCE, "with_payload": ["file_id"], "with_vector": False}
            if after is not None:
                asked["offset"] = after
            told = self._server.ask("POST", f"/collections/{collection}/points/scroll", asked, seconds=WRITE_SECONDS)
            yield from ((one["id"], one["payload"]["file_id"]) for one in told["result"]["points"])
            after = told["result"]["next_page_offset"]
            if after is None:
                return

    def close(self) -> None:
        self._server.close()

    def _write(self, method: str, path: str, told: object) -> Any:
        return self._server.ask(method, path, told, seconds=WRITE_SECONDS)


def _of_files(file_ids: Collection[int]) -> dict[str, object]:
    return {"key": "file_id", "match": {"any": list(file_ids)}}

"""Meilisearch, spoken to over HTTP."""

from __future__ import annotations

import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from chyme.engines.search_server import SearchServer, ServerFailed

SEARCH_SECONDS, WRITE_SECONDS, TASK_SECONDS = 1.5, 60.0, 600.0
_FETCHED_AT_ONCE = 5000


@dataclass(frozen=True, slots=True)
class Asked:
    """One of several questions asked together."""

    index: str
    words: str
    every_word: bool = False  # else it does without the most frequent words, until only the rarest is left
    weight: float = 1.0  # against the other questions
    filter: str | None = None


class Meilisearch:
    """A server, and what chyme asks of it. Everything raises ServerFailed.

    It answers as soon as it has written down what it is to do, as a numbered task; tasks of one index run in order.
    """

    def __init__(self, url: str, key: str = "") -> None:
        self._server = SearchServer("Meilisearch", url, {"authorization": f"Bearer {key}"} if key else {})

    def check(self) -> None:
        """Raises unless it answers and takes the key."""
        self._server.ask("GET", "/indexes?limit=1", seconds=SEARCH_SECONDS)

    def has_index(self, index: str, settings: Mapping[str, object]) -> bool:
        """Whether there is one that is set up so."""
        try:
            told = self._server.ask("GET", f"/indexes/{index}", seconds=WRITE_SECONDS)
            present = self._server.ask("GET", f"/indexes/{index}/settings", seconds=WRITE_SECONDS)
        except ServerFailed as error:
            if error.status == 404:
                return False
            raise
        return told["primaryKey"] == "id" and all(_holds(present.get(name), wish) for name, wish in settings.items())

    def create_index(self, index: str, settings: Mapping[str, object]) -> None:
        """In the place of any that is there; returns once that is done."""
        self.delete_index(index)
        begun = self._server.ask("POST", "/indexes", {"uid": index, "primaryKey": "id"}, seconds=WRITE_SECONDS)
        set_up = self._server.ask("PATCH", f"/indexes/{index}/settings", settings, seconds=WRITE_SECONDS)
        self.finish([begun["taskUid"], set_up["taskUid"]])

    def delete_index(self, index: str) -> None:
        """No error when there is none. Returns once that is done."""
        begun = self._server.ask("DELETE", f"/indexes/{index}", seconds=WRITE_SECONDS)
        self.finish([begun["taskUid"]], absent_is_fine=True)

    def put(self, index: str, documents: Sequence[Mapping[str, object]]) -> int:
        """Add documents, in the place of those with the same id. Returns the task."""
        begun = self._server.ask("POST", f"/indexes/{index}/documents", list(documents), seconds=WRITE_SECONDS)
        return int(begun["taskUid"])

    def delete(self, index: str, filter_: str) -> int:
        """Delete the documents that the filter lets through. Returns the task."""
        told = {"filter": filter_}
        begun = self._server.ask("POST", f"/indexes/{index}/documents/delete", told, seconds=WRITE_SECONDS)
        return int(begun["taskUid"])

    def finish(self, tasks: Iterable[int], absent_is_fine: bool = False) -> None:
        """Wait until these tasks are done."""
        until = time.monotonic() + TASK_SECONDS
        for number in tasks:
            pause = 0.002
            while not self._done(number, absent_is_fine):
                if time.monotonic() > until:
                    raise ServerFailed(f"Meilisearch has not finished a task within {TASK_SECONDS:g} seconds")
                time.sleep(pause)
                pause = min(pause * 1.5, 0.25)

    def documents(self, index: str, fields: Sequence[str]) -> Iterator[dict[str, Any]]:
        """These fields of all documents."""
        offset = 0
        while True:
            asked = {"fields": list(fields), "offset": offset, "limit": _FETCHED_AT_ONCE}
            found = self._server.ask("POST", f"/indexes/{index}/documents/fetch", asked, seconds=WRITE_SECONDS)
            yield from found["results"]
            offset += _FETCHED_AT_ONCE
            if offset >= found["total"]:
                return

    def count(self, asked: Sequence[Asked]) -> list[int]:
        """How many documents answer each question."""
        queries = [{**_query(one), "limit": 0} for one in asked]
        return [result["estimatedTotalHits"] for result in self._search({"queries": queries})["results"]]

    def search(self, asked: Sequence[Asked], limit: int) -> list[dict[str, Any]]:
        """The documents that answer best, each once, whichever question found it."""
        queries = [{**_query(one), "federationOptions": {"weight": one.weight}} for one in asked]
        hits: list[dict[str, Any]] = self._search({"federation": {"limit": limit}, "queries": queries})["hits"]
        return hits

    def close(self) -> None:
        self._server.close()

    def _search(self, told: object) -> Any:
        return self._server.ask("POST", "/multi-search", told, seconds=SEARCH_SECONDS)

    def _done(self, number: int, absent_is_fine: bool) -> bool:
        task = self._server.ask("GET", f"/tasks/{number}", seconds=WRITE_SECONDS)
        if task["status"] in ("failed", "canceled"):
            error = task.get("error") or {}
            if absent_is_fine and error.get("code") == "index_not_found":
                return True
            raise ServerFailed(f"Meilisearch could not do {task['type']}: {error.get('message', task['status'])}")
        return bool(task["status"] == "succeeded")


def _holds(present: object, wish: object) -> bool:
    """Whether a setting is what was wished; it may say more than was asked for, and in another order."""
    if isinstance(wish, dict) and isinstance(present, dict):
        return all(_holds(present.get(name), value) for name, value in wish.items())
    if isinstance(wish, list) and isinstance(present, list) and all(isinstance(one, str) for one in wish):
        return sorted(map(str, present)) == sorted(wish)
    return present == wish


def _query(one: Asked) -> dict[str, object]:
    query: dict[str, object] = {
        "indexUid": one.index,
        "q": one.words,
        "matchingStrategy": "all" if one.every_word else "frequency",
    }
    if one.filter:
        query["filter"] = one.filter
    return query

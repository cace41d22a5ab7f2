"""Meilisearch, spoken to over HTTP."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeVar

from chyme.search.engines.http_client import SearchServer, ServerFailed, number

T = TypeVar("T")

SEARCH_SECONDS, WRITE_SECONDS, TASK_SECONDS = 1.5, 60.0, 600.0
_FETCHED_AT_ONCE = 5000


@dataclass(frozen=True, slots=True)
class SearchRequest:
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
        self._server = SearchServer("Meilisearch", url, "authorization", key, "Bearer ")

    def check(self) -> None:
        """Raises unless it answers and takes the key."""
        self._server.ask("GET", "/indexes?limit=1", seconds=SEARCH_SECONDS, read=lambda told: told["results"])

    def has_index(self, index: str, settings: Mapping[str, object]) -> bool:
        """Whether there is one that is set up so."""

        def so(present: Any) -> bool:
            return all(_holds(present.get(name), wish) for name, wish in settings.items())

        path = f"/indexes/{index}"
        try:
            key = self._server.ask("GET", path, seconds=WRITE_SECONDS, read=lambda told: told["primaryKey"])
            return bool(key == "id") and self._server.ask("GET", f"{path}/settings", seconds=WRITE_SECONDS, read=so)
        except ServerFailed as error:
            if error.status == 404:
                return False
            raise

    def create_index(self, index: str, settings: Mapping[str, object]) -> None:
        """In the place of any that is there; returns once that is done."""
        self.delete_index(index)
        begun = self._task("POST", "/indexes", {"uid": index, "primaryKey": "id"})
        self.wait_for_tasks([begun, self._task("PATCH", f"/indexes/{index}/settings", settings)])

    def delete_index(self, index: str) -> None:
        """No error when there is none. Returns once that is done."""
        self.wait_for_tasks([self._task("DELETE", f"/indexes/{index}")], absent_is_fine=True)

    def put(self, index: str, documents: Sequence[Mapping[str, object]]) -> int:
        """Add documents, in the place of those with the same id. Returns the task."""
        return self._task("POST", f"/indexes/{index}/documents", list(documents))

    def delete(self, index: str, filter_: str) -> int:
        """Delete the documents that the filter lets through. Returns the task."""
        return self._task("POST", f"/indexes/{index}/documents/delete", {"filter": filter_})

    def wait_for_tasks(self, tasks: Iterable[int], absent_is_fine: bool = False) -> None:
        """Wait until these tasks are done."""
        until = time.monotonic() + TASK_SECONDS
        for task in tasks:
            pause = 0.002
            while not self._done(task, absent_is_fine):
                if time.monotonic() > until:
                    raise ServerFailed(f"Meilisearch has not finished a task within {TASK_SECONDS:g} seconds")
                time.sleep(pause)
                pause = min(pause * 1.5, 0.25)

    def field(self, index: str, id_: str, name: str) -> str | None:
        """What a document says there; None when there is no such document."""
        try:
            path = f"/indexes/{index}/documents/{id_}"
            return self._server.ask("GET", path, seconds=WRITE_SECONDS, read=lambda told: str(told[name]))
        except ServerFailed as error:
            if error.status == 404:
                return None
            raise

    def documents(self, index: str, fields: Sequence[str]) -> Iterator[dict[str, Any]]:
        """These fields of all documents."""

        def page(told: Any) -> tuple[list[dict[str, Any]], int]:
            return [_document(one, fields) for one in told["results"]], number(told["total"])

        offset, total = 0, 1
        while offset < total:
            asked = {"fields": list(fields), "offset": offset, "limit": _FETCHED_AT_ONCE}
            path = f"/indexes/{index}/documents/fetch"
            some, total = self._server.ask("POST", path, asked, seconds=WRITE_SECONDS, read=page)
            yield from some
            offset += _FETCHED_AT_ONCE

    def count(self, asked: Sequence[SearchRequest]) -> list[int]:
        """How many documents answer each question."""

        def counts(told: Any) -> list[int]:
            counted = [number(result["estimatedTotalHits"]) for result in told["results"]]
            if len(counted) != len(asked):
                raise ValueError("not as many answers as questions")
            return counted

        return self._search({"queries": [{**_query(one), "limit": 0} for one in asked]}, counts)

    def search(self, asked: Sequence[SearchRequest], limit: int, fields: Sequence[str]) -> list[dict[str, Any]]:
        """These fields of the documents that answer best, each once, whichever question found it."""
        queries = [{**_query(one), "federationOptions": {"weight": one.weight}} for one in asked]
        told = {"federation": {"limit": limit}, "queries": queries}
        return self._search(told, lambda found: [_document(hit, fields) for hit in found["hits"]])

    def close(self) -> None:
        self._server.close()

    def _search(self, told: object, read: Callable[[Any], T]) -> T:
        return self._server.ask("POST", "/multi-search", told, seconds=SEARCH_SECONDS, read=read)

    def _task(self, method: str, path: str, told: object = None) -> int:
        """Begin a task. Returns its number."""
        return self._server.ask(method, path, told, seconds=WRITE_SECONDS, read=lambda begun: number(begun["taskUid"]))

    def _done(self, task: int, absent_is_fine: bool) -> bool:
        status, kind, error = self._server.ask("GET", f"/tasks/{task}", seconds=WRITE_SECONDS, read=_progress)
        if status not in ("failed", "canceled"):
            return status == "succeeded"
        absent = error.get("code") == "index_not_found"
        if absent and absent_is_fine:
            return True
        refused = 400 if error.get("type") == "invalid_request" else None
        told = f"Meilisearch could not do {kind}: {error.get('message', status)}"
        raise ServerFailed(self._server.without_key(told), 404 if absent else refused)


def _progress(task: Any) -> tuple[str, str, dict[str, Any]]:
    """How far a task is, what it is to do, and why it failed."""
    return str(task["status"]), str(task["type"]), dict(task.get("error") or {})


def _document(found: Any, fields: Sequence[str]) -> dict[str, Any]:
    """These fields of a document, each as it was put there: an id of a letter and a number, a file, texts."""
    document = {field: found[field] for field in fields}
    for field, value in document.items():
        if field == "file_id":
            number(value)
        elif not isinstance(value, str):
            raise ValueError(f"{field} is no text")
        elif field == "id":
            number(int(value[1:]))
    return document


def _holds(present: object, wish: object) -> bool:
    """Whether a setting is what was wished; it may say more than was asked for, and in another order."""
    if isinstance(wish, dict) and isinstance(present, dict):
        return all(_holds(present.get(name), value) for name, value in wish.items())
    if isinstance(wish, list) and isinstance(present, list) and all(isinstance(one, str) for one in wish):
        return sorted(map(str, present)) == sorted(wish)
    return present == wish


def _query(one: SearchRequest) -> dict[str, object]:
    query: dict[str, object] = {
        "indexUid": one.index,
        "q": one.words,
        "matchingStrategy": "all" if one.every_word else "frequency",
    }
    if one.filter:
        query["filter"] = one.filter
    return query

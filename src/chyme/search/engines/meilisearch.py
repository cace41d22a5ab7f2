"""The HTTP client for Meilisearch."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeVar

from chyme.search.engines.http_client import SearchServer, ServerFailed, number

T = TypeVar("T")

SEARCH_SECONDS, WRITE_SECONDS, TASK_SECONDS = 1.5, 60.0, 600.0
_PAGE_SIZE = 5000


@dataclass(frozen=True, slots=True)
class SearchRequest:
    """One of several questions asked together."""

    index: str
    words: str
    weight: float = 1.0  # relative to the other questions
    filter: str | None = None


class Meilisearch:
    """A server, with the requests chyme uses. Every method raises ServerFailed.

    The server answers as soon as it has recorded a numbered task; tasks of one index run in order.
    """

    def __init__(self, url: str, key: str = "") -> None:
        self._server = SearchServer("Meilisearch", url, "authorization", key, "Bearer ")

    def check(self) -> None:
        """Raise unless the server answers and accepts the key."""
        self._server.ask("GET", "/indexes?limit=1", seconds=SEARCH_SECONDS, read=lambda response: response["results"])

    def has_index(self, index: str, settings: Mapping[str, object]) -> bool:
        """Whether there is such an index with these settings."""

        def has_settings(actual: Any) -> bool:
            return all(_setting_matches(actual.get(name), wanted) for name, wanted in settings.items())

        ask, path = self._server.ask_if_there, f"/indexes/{index}"
        key = ask("GET", path, seconds=WRITE_SECONDS, read=lambda response: response["primaryKey"])
        return key == "id" and bool(ask("GET", f"{path}/settings", seconds=WRITE_SECONDS, read=has_settings))

    def create_index(self, index: str, settings: Mapping[str, object]) -> None:
        """Create an index, replacing an existing one; returns once that is done."""
        self.delete_index(index)
        creation = self._start_task("POST", "/indexes", {"uid": index, "primaryKey": "id"})
        self.wait_for_tasks([creation, self._start_task("PATCH", f"/indexes/{index}/settings", settings)])

    def delete_index(self, index: str) -> None:
        """Delete an index, if there is one. Returns once that is done."""
        self.wait_for_tasks([self._start_task("DELETE", f"/indexes/{index}")], absent_is_fine=True)

    def put(self, index: str, documents: Sequence[Mapping[str, object]]) -> int:
        """Add documents, replacing those with the same id. Returns the task."""
        return self._start_task("POST", f"/indexes/{index}/documents", list(documents))

    def delete(self, index: str, filter_: str) -> int:
        """Delete the documents that match the filter. Returns the task."""
        return self._start_task("POST", f"/indexes/{index}/documents/delete", {"filter": filter_})

    def wait_for_tasks(self, tasks: Iterable[int], absent_is_fine: bool = False) -> None:
        """Wait until these tasks are done."""
        deadline = time.monotonic() + TASK_SECONDS
        for task in tasks:
            pause = 0.002
            while not self._is_done(task, absent_is_fine):
                if time.monotonic() > deadline:
                    raise ServerFailed(f"Meilisearch has not finished a task within {TASK_SECONDS:g} seconds")
                time.sleep(pause)
                pause = min(pause * 1.5, 0.25)

    def field(self, index: str, id_: str, name: str) -> str | None:
        """A field of a document; None if there is no such document."""
        path = f"/indexes/{index}/documents/{id_}"
        return self._server.ask_if_there("GET", path, seconds=WRITE_SECONDS, read=lambda response: str(response[name]))

    def documents(self, index: str, fields: Sequence[str]) -> Iterator[dict[str, Any]]:
        """These fields of all documents."""

        def parse_page(response: Any) -> tuple[list[dict[str, Any]], int]:
            return [_parse_document(document, fields) for document in response["results"]], number(response["total"])

        offset, total = 0, 1
        while offset < total:
            payload = {"fields": list(fields), "offset": offset, "limit": _PAGE_SIZE}
            path = f"/indexes/{index}/documents/fetch"
            page_documents, total = self._server.ask("POST", path, payload, seconds=WRITE_SECONDS, read=parse_page)
            yield from page_documents
            offset += _PAGE_SIZE

    def count(self, requests: Sequence[SearchRequest]) -> list[int]:
        """How many documents match each question."""

        def parse_counts(response: Any) -> list[int]:
            counts = [number(result["estimatedTotalHits"]) for result in response["results"]]
            if len(counts) != len(requests):
                raise ValueError("not as many answers as questions")
            return counts

        return self._search({"queries": [{**_query(request), "limit": 0} for request in requests]}, parse_counts)

    def search(self, requests: Sequence[SearchRequest], limit: int, fields: Sequence[str]) -> list[dict[str, Any]]:
        """These fields of the documents that match best, each once, whichever question found it."""
        queries = [{**_query(request), "federationOptions": {"weight": request.weight}} for request in requests]
        payload = {"federation": {"limit": limit}, "queries": queries}
        return self._search(payload, lambda response: [_parse_document(hit, fields) for hit in response["hits"]])

    def close(self) -> None:
        self._server.close()

    def _search(self, payload: object, read: Callable[[Any], T]) -> T:
        return self._server.ask("POST", "/multi-search", payload, seconds=SEARCH_SECONDS, read=read)

    def _start_task(self, method: str, path: str, payload: object = None) -> int:
        """Start a task. Returns its number."""
        return self._server.ask(
            method, path, payload, seconds=WRITE_SECONDS, read=lambda response: number(response["taskUid"])
        )

    def _is_done(self, task: int, absent_is_fine: bool) -> bool:
        status, kind, error = self._server.ask("GET", f"/tasks/{task}", seconds=WRITE_SECONDS, read=_parse_task)
        if status not in ("failed", "canceled"):
            return status == "succeeded"
        absent = error.get("code") == "index_not_found"
        if absent and absent_is_fine:
            return True
        refused = 400 if error.get("type") == "invalid_request" else None
        message = f"Meilisearch could not do {kind}: {error.get('message', status)}"
        raise ServerFailed(self._server.without_key(message), 404 if absent else refused)


def _parse_task(task: Any) -> tuple[str, str, dict[str, Any]]:
    """A task's status, its type, and why it failed."""
    return str(task["status"]), str(task["type"]), dict(task.get("error") or {})


def _parse_document(found: Any, fields: Sequence[str]) -> dict[str, Any]:
    """These fields of a document, checked to be what was stored: an id of a letter and a number, a file, texts."""
    document = {field: found[field] for field in fields}
    for field, value in document.items():
        if field == "file_id":
            number(value)
        elif not isinstance(value, str):
            raise ValueError(f"{field} is no text")
        elif field == "id":
            number(int(value[1:]))
    return document


def _setting_matches(actual: object, wanted: object) -> bool:
    """Whether a setting has the wanted value; the server may add keys and change the order."""
    if isinstance(wanted, dict) and isinstance(actual, dict):
        return all(_setting_matches(actual.get(name), value) for name, value in wanted.items())
    if isinstance(wanted, list) and isinstance(actual, list) and all(isinstance(item, str) for item in wanted):
        return sorted(map(str, actual)) == sorted(wanted)
    return actual == wanted


def _query(request: SearchRequest) -> dict[str, object]:
    query: dict[str, object] = {
        "indexUid": request.index,
        "q": request.words,
        "matchingStrategy": "all",  # every word
    }
    if request.filter:
        query["filter"] = request.filter
    return query

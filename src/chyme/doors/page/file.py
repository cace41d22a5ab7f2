"""The page of one file: what it is, its content, and its digests."""

from __future__ import annotations

import contextlib
import json
from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Annotated, Any

from fastapi import FastAPI, Query, Request
from fastapi.responses import HTMLResponse

from chyme.application.app import App
from chyme.core.pipeline.failure_causes import REMEDIES, cause_of
from chyme.core.pipeline.registry_rules import Rules
from chyme.core.store import files
from chyme.doors.http.not_found import NotFound, require_file
from chyme.doors.page.digest_cards import cards, digest_content
from chyme.doors.page.file_viewer import choose_viewer, transcript, versions, viewer_context
from chyme.doors.page.place_parameters import parse_place
from chyme.doors.page.rendering import page
from chyme.errors import ChymeError
from chyme.model import Form
from chyme.understanding.edit_rules import FIELDS
from chyme.understanding.rename_proposals import FileRenamer

ALIKE = 6
COPIES = 20

Path = Annotated[str, Query(max_length=10_000)]


def add_routes(api: FastAPI, app: App) -> None:
    """Add these pages to the HTTP application of an opened vault."""

    @api.get("/file/{path:path}", include_in_schema=False)
    def file(request: Request, path: str) -> HTMLResponse:
        """The page of a file."""
        try:
            record = _load_record(app, path)
        except NotFound:
            name = path.rpartition("/")[2]
            return page(request, "file_gone.html", status=404, active="vault", name=name)
        context = {
            **_side_context(app, record),
            **viewer_context(app, record, parse_place(request)),
            "transcript": transcript(app, record),
        }
        return page(request, "file.html", active="vault", **context)

    @api.get("/ui/file/parts", include_in_schema=False)
    def parts(request: Request, path: Path) -> HTMLResponse:
        """All parts of the page that may change while it is open."""
        return page(request, "file_parts.html", **_side_context(app, _load_record(app, path)))

    @api.get("/ui/file/gone", include_in_schema=False)
    def gone(request: Request, path: Path, hash: Path = "") -> HTMLResponse:
        """The message when the file on the open page was moved or deleted, with the place of the same content."""
        copies = files.same_content(app.database.read(), hash, COPIES)
        now_at = next((copy.path for copy in copies if copy.path != path and copy.vanished_at is None), None)
        return page(request, "file_vanished.html", name=path.rpartition("/")[2], now_at=now_at)

    @api.get("/ui/file/stage", include_in_schema=False)
    def shown(request: Request, path: Path) -> HTMLResponse:
        """The file itself, and its transcript."""
        record = _load_record(app, path)
        context = {
            **_facts_context(app, record),
            **viewer_context(app, record, parse_place(request)),
            "transcript": transcript(app, record),
        }
        return page(request, "file_stage.html", versions=versions(app.rules, record), **context)

    @api.get("/ui/file/content", include_in_schema=False)
    def content(request: Request, path: Path, digester: Path) -> HTMLResponse:
        """The content of one digest."""
        record = _load_record(app, path)
        row = next((digest for digest in record["digests"] if digest["digester"] == digester), None)
        if row is None:
            raise NotFound(f"{path}: has no digest {digester[:100]}")
        names = {label: person["name"] for label, person in record["people"].items() if person["name"]}
        return page(
            request,
            "file_content.html",
            content=digest_content(app.rules.form_of(digester), row["content"] or "", names),
        )

    @api.get("/ui/file/similar", include_in_schema=False)
    def similar(request: Request, path: Path) -> HTMLResponse:
        """A few files that are like this one."""
        _load_record(app, path)
        hits = app.search.similar(path, limit=ALIKE).hits
        by_path = {card.path: card for card in app.file_list.cards([hit.path for hit in hits])}
        return page(request, "file_similar.html", cards=[by_path[hit.path] for hit in hits if hit.path in by_path])


def _load_record(app: App, path: str) -> dict[str, Any]:
    """Return everything about a file that exists."""
    if "\0" in path or not path:
        raise NotFound("no file has such a name")
    require_file(app, path)
    record = app.documents.show(path)
    if record["file"]["vanished_at"] is not None:
        raise NotFound(f"{path}: is not there any more")
    return record


def _side_context(app: App, record: Mapping[str, Any]) -> dict[str, Any]:
    """Return what is shown beside the file itself."""
    path = record["file"]["path"]
    edits = app.edits.get(path)
    digests, not_applicable = cards(app, record)
    proposal = None
    with contextlib.suppress(ChymeError):
        proposal = next(iter(FileRenamer(app.open_vault).proposals([path])), None)
    return {
        **_facts_context(app, record),
        "edits": edits,
        "classification": _classification(app.rules, record),
        "edited": [field for field in FIELDS if field in edits.edits],
        "digests": digests,
        "not_applicable": not_applicable,
        "steps": record["steps"],
        "why": _explain_state(record),
        "proposal": proposal,
        "versions": versions(app.rules, record),
    }


def _facts_context(app: App, record: Mapping[str, Any]) -> dict[str, Any]:
    """Return the facts about the file, independent of its digests."""
    path = record["file"]["path"]
    folders = path.split("/")[:-1]
    return {
        "file": record["file"],
        "path": path,
        "document": record["document"] or _EMPTY_DOCUMENT | {"title": record["file"]["name"]},
        "folders": [(name, "/".join(folders[: depth + 1])) for depth, name in enumerate(folders)],
        "copies": _find_copies(app, record),
        "modified": datetime.fromtimestamp(record["file"]["mtime_ns"] / 1e9, UTC).strftime("%Y-%m-%d %H:%M"),
        "viewer": choose_viewer(record),
    }


_EMPTY_DOCUMENT: dict[str, Any] = {
    "title": "",
    "summary": None,
    "date": None,
    "language": None,
    "tags": [],
    "state": "processing",
    "reason": None,
    "degraded": False,
    "pages": None,
    "thumbnail": None,
}


def _find_copies(app: App, record: Mapping[str, Any]) -> list[str]:
    same_content = files.same_content(app.database.read(), record["file"]["hash"], COPIES)
    return [copy.path for copy in same_content if copy.path != record["file"]["path"] and copy.vanished_at is None]


def _explain_state(record: Mapping[str, Any]) -> tuple[str, str] | None:
    """Return why a document is incomplete or failed, and what can be done, in words."""
    document, path = record["document"], record["file"]["path"]
    if document is None or not document["reason"] or document["state"] in ("processing", "stale"):
        return None
    row = next((row for row in record["digests"] if row["error"] == document["reason"]), None)
    category = str(row["error_category"] or "") if row else ""
    cause = cause_of(document["reason"], path, category)
    return cause.message, cause.way_out if "; " in document["reason"] or category in REMEDIES else ""


def _classification(rules: Rules, record: Mapping[str, Any]) -> dict[str, dict[str, Any]]:
    """Return how sure the machine was of each field, and the words it took it from."""
    for row in record["digests"]:
        if rules.form_of(row["digester"]) is Form.CLASSIFICATION and row["content"]:
            with contextlib.suppress(ValueError, RecursionError):
                content = json.loads(row["content"])
                if isinstance(content, dict):
                    return {
                        "confidence": _as_dict(content.get("confidence")),
                        "evidence": _as_dict(content.get("evidence")),
                        "by": {"engine": str(content.get("engine") or "")},
                    }
    return {"confidence": {}, "evidence": {}, "by": {"engine": ""}}


def _as_dict(value: object) -> dict[str, Any]:
    return value if isinstance(value, dict) else {}

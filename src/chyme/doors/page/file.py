"""The page of one file: what it is, what it says, and what was made of it."""

from __future__ import annotations

import contextlib
import json
from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Annotated, Any

from fastapi import FastAPI, Query, Request
from fastapi.responses import HTMLResponse

from chyme.application.app import App
from chyme.core.pipeline.document_state import CLASSIFIERS
from chyme.core.pipeline.failure_causes import REMEDIES, cause_of
from chyme.core.store import files
from chyme.doors.http.not_found import NotFound, require_file
from chyme.doors.page.digest_cards import cards, digest_content
from chyme.doors.page.file_viewer import choose_viewer, transcript, versions, viewer_context
from chyme.doors.page.place_parameters import parse_place
from chyme.doors.page.rendering import page
from chyme.errors import ChymeError
from chyme.understanding.edit_rules import FIELDS
from chyme.vault.rename_proposals import FileRenamer

ALIKE = 6
COPIES = 20

Path = Annotated[str, Query(max_length=10_000)]


def add_routes(api: FastAPI, app: App) -> None:
    """Add these pages to the HTTP application of an opened vault."""

    @api.get("/file/{path:path}", include_in_schema=False)
    def file(request: Request, path: str) -> HTMLResponse:
        """The page of a file."""
        try:
            told = _told(app, path)
        except NotFound:
            name = path.rpartition("/")[2]
            return page(request, "file_gone.html", status=404, active="vault", name=name)
        values = {
            **_parts(app, told),
            **viewer_context(app, told, parse_place(request)),
            "transcript": transcript(app, told),
        }
        return page(request, "file.html", active="vault", **values)

    @api.get("/ui/file/parts", include_in_schema=False)
    def parts(request: Request, path: Path) -> HTMLResponse:
        """Whatever may have changed while somebody looks at it."""
        return page(request, "file_parts.html", **_parts(app, _told(app, path)))

    @api.get("/ui/file/gone", include_in_schema=False)
    def gone(request: Request, path: Path, hash: Path = "") -> HTMLResponse:
        """For whoever looked at a file when it was moved or deleted: where the same content is now."""
        alike = files.same_content(app.database.read(), hash, COPIES)
        now_at = next((one.path for one in alike if one.path != path and one.vanished_at is None), None)
        return page(request, "file_vanished.html", name=path.rpartition("/")[2], now_at=now_at)

    @api.get("/ui/file/stage", include_in_schema=False)
    def shown(request: Request, path: Path) -> HTMLResponse:
        """The file itself, and what is said in it."""
        told = _told(app, path)
        values = {
            **_facts(app, told),
            **viewer_context(app, told, parse_place(request)),
            "transcript": transcript(app, told),
        }
        return page(request, "file_stage.html", versions=versions(told), **values)

    @api.get("/ui/file/content", include_in_schema=False)
    def content(request: Request, path: Path, digester: Path) -> HTMLResponse:
        """What one digest holds."""
        told = _told(app, path)
        row = next((one for one in told["digests"] if one["digester"] == digester), None)
        if row is None:
            raise NotFound(f"{path}: has no digest {digester[:100]}")
        names = {label: one["name"] for label, one in told["people"].items() if one["name"]}
        return page(request, "file_content.html", held=digest_content(digester, row["content"] or "", names))

    @api.get("/ui/file/similar", include_in_schema=False)
    def similar(request: Request, path: Path) -> HTMLResponse:
        """A few files that are like this one."""
        _told(app, path)
        hits = app.search.similar(path, limit=ALIKE).hits
        found = {card.path: card for card in app.library.cards([hit.path for hit in hits])}
        return page(request, "file_similar.html", cards=[found[hit.path] for hit in hits if hit.path in found])


def _told(app: App, path: str) -> dict[str, Any]:
    """Everything about a file that is there."""
    if "\0" in path or not path:
        raise NotFound("no file has such a name")
    require_file(app, path)
    told = app.documents.show(path)
    if told["file"]["vanished_at"] is not None:
        raise NotFound(f"{path}: is not there any more")
    return told


def _parts(app: App, told: Mapping[str, Any]) -> dict[str, Any]:
    """What is shown beside the file itself."""
    path = told["file"]["path"]
    shown = app.edits.get(path)
    digests, apart = cards(app, told)
    proposal = None
    with contextlib.suppress(ChymeError):
        proposal = next(iter(FileRenamer(app).proposals([path])), None)
    return {
        **_facts(app, told),
        "shown": shown,
        "said": _said(told),
        "edited": [field for field in FIELDS if field in shown.edits],
        "digests": digests,
        "apart": apart,
        "steps": told["steps"],
        "why": _why(told),
        "proposal": proposal,
        "versions": versions(told),
    }


def _facts(app: App, told: Mapping[str, Any]) -> dict[str, Any]:
    """What the file is, whatever was made of it."""
    path = told["file"]["path"]
    folders = path.split("/")[:-1]
    return {
        "file": told["file"],
        "path": path,
        "document": told["document"] or _NOTHING | {"title": told["file"]["name"]},
        "folders": [(name, "/".join(folders[: at + 1])) for at, name in enumerate(folders)],
        "copies": _copies(app, told),
        "modified": datetime.fromtimestamp(told["file"]["mtime_ns"] / 1e9, UTC).strftime("%Y-%m-%d %H:%M"),
        "viewer": choose_viewer(told),
    }


_NOTHING: dict[str, Any] = {
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


def _copies(app: App, told: Mapping[str, Any]) -> list[str]:
    found = files.same_content(app.database.read(), told["file"]["hash"], COPIES)
    return [one.path for one in found if one.path != told["file"]["path"] and one.vanished_at is None]


def _why(told: Mapping[str, Any]) -> tuple[str, str] | None:
    """Why a document is not as it should be, and what can be done, in words."""
    document, path = told["document"], told["file"]["path"]
    if document is None or not document["reason"] or document["state"] in ("processing", "stale"):
        return None
    row = next((row for row in told["digests"] if row["error"] == document["reason"]), None)
    category = str(row["error_category"] or "") if row else ""
    cause = cause_of(document["reason"], path, category)
    return cause.told, cause.way_out if "; " in document["reason"] or category in REMEDIES else ""


def _said(told: Mapping[str, Any]) -> dict[str, dict[str, Any]]:
    """How sure the machine was of each field, and the words it read it from."""
    for row in told["digests"]:
        if row["digester"] in CLASSIFIERS and row["content"]:
            with contextlib.suppress(ValueError, RecursionError):
                found = json.loads(row["content"])
                if isinstance(found, dict):
                    return {
                        "confidence": _object(found.get("confidence")),
                        "evidence": _object(found.get("evidence")),
                        "by": {"engine": str(found.get("engine") or "")},
                    }
    return {"confidence": {}, "evidence": {}, "by": {"engine": ""}}


def _object(value: object) -> dict[str, Any]:
    return value if isinstance(value, dict) else {}

"""The log: for people, text that cannot deceive them; for programs, one JSON object per line."""

from __future__ import annotations

import asyncio
import json
import logging
from collections.abc import Iterator
from typing import Any

import pytest
from starlette.types import Message, Receive, Scope, Send

from chyme.core.pipeline import attempt
from chyme.core.pipeline.attempt import AttemptResult
from chyme.doors.cli import log_formats
from chyme.doors.http.request_log import RequestLog
from chyme.errors import UsageError

OVER = AttemptResult("a.txt", "tags", 0, 1, "completed", None, None, 1, "run7", 0.25)
EVIL = "a\nERROR all is lost\r\x1b[2J\u202e.txt"


@pytest.fixture(autouse=True)
def as_before() -> Iterator[None]:
    """Restore the state of logging, which belongs to the whole process."""
    root, attempt_logger = logging.getLogger(), logging.getLogger(attempt.__name__)
    before = (root.handlers[:], root.level, attempt_logger.level)
    yield
    root.handlers[:], level, attempt_level = before
    root.setLevel(level)
    attempt_logger.setLevel(attempt_level)


def lines(capsys: pytest.CaptureFixture[str]) -> list[dict[str, Any]]:
    return [json.loads(line) for line in capsys.readouterr().err.splitlines()]


def test_every_record_is_one_json_object_with_all_known_facts(capsys: pytest.CaptureFixture[str]) -> None:
    log_formats.set_up("json", verbose=False)
    attempt.log_attempt("my vault", OVER)
    failed = AttemptResult(EVIL, "tags", 0, 1, "failed", "timeout", f"{EVIL}: too slow", 3, "run8", 90.0)
    attempt.log_attempt("my vault", failed)

    good, bad = lines(capsys)
    assert (good["level"], good["vault"], good["path"], good["digester"]) == ("info", "my vault", "a.txt", "tags")
    assert (good["attempt"], good["run"], good["seconds"], good["outcome"]) == (1, "run7", 0.25, "completed")
    assert good["at"].endswith("+00:00")
    assert (bad["level"], bad["path"], bad["category"], bad["attempt"]) == ("warning", EVIL, "timeout", 3)


def test_a_trace_stays_within_its_record(capsys: pytest.CaptureFixture[str]) -> None:
    log_formats.set_up("json", verbose=False)
    try:
        raise ValueError(EVIL)
    except ValueError:
        logging.getLogger("chyme.anything").exception("it went wrong")

    (record,) = lines(capsys)
    assert record["message"] == "it went wrong"
    assert "ValueError" in record["trace"]


def test_a_name_can_neither_begin_a_new_line_nor_control_the_terminal(capsys: pytest.CaptureFixture[str]) -> None:
    log_formats.set_up("text", verbose=True)
    attempt.log_attempt("v", AttemptResult(EVIL, "tags", 0, 1, "failed", "timeout", EVIL, 1, "r", 1.0))

    output = capsys.readouterr().err
    assert [line for line in output.splitlines() if not line.startswith("    ")] == [output.splitlines()[0]]
    assert output.startswith("WARNING a\n    ERROR all is lost\\r\\x1b[2J\\u202e.txt: tags failed after 1.00 s")
    assert "\x1b" not in output
    assert "\r" not in output


def test_failures_are_logged_when_serving_and_everything_when_verbose(
    capsys: pytest.CaptureFixture[str],
) -> None:
    bad = AttemptResult("b.txt", "tags", 0, 1, "again", "network", "no answer", 1, "r", 1.0)
    for quiet, verbose in ((False, False), (True, False), (True, True)):
        log_formats.set_up("text", verbose, quiet)
        attempt.log_attempt("v", OVER)
        attempt.log_attempt("v", bad)
        logged = capsys.readouterr().err.splitlines()
        assert len(logged) == {(False, False): 1, (True, False): 0, (True, True): 2}[quiet, verbose]


def test_a_request_is_logged_by_its_route_without_its_path_query_or_headers(capsys: pytest.CaptureFixture[str]) -> None:
    class Route:
        path = "/api/digest/{path:path}"

    async def inside(scope: Scope, _receive: Receive, send: Send) -> None:
        scope["route"] = Route()
        scope["state"]["vault_name"] = "photos"
        await send({"type": "http.response.start", "status": 404, "headers": []})

    async def receive() -> Message:
        raise AssertionError

    async def send(_message: Message) -> None:
        pass

    log_formats.set_up("json", verbose=False)
    scope = {
        "type": "http",
        "method": "GET",
        "path": "/api/digest/diary/secret.txt",
        "query_string": b"token=hunter2",
        "headers": [(b"authorization", b"Bearer hunter2"), (b"cookie", b"chyme_session=hunter2")],
    }
    asyncio.run(RequestLog(inside)(scope, receive, send))

    output = capsys.readouterr().err
    assert "hunter2" not in output
    (line,) = map(json.loads, output.splitlines())
    assert (line["method"], line["route"], line["status"]) == ("GET", "/api/digest/{path:path}", 404)
    assert (line["vault"], line["message"].startswith("GET /api/digest/{path:path} 404 in")) == ("photos", True)


def test_an_unknown_format_is_refused() -> None:
    with pytest.raises(UsageError, match="log_format must be one of text, json"):
        log_formats.set_up("xml", verbose=False)

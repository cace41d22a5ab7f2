"""The HTTP API behaves as its own description promises, for any request."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import httpx
import pytest
from running_chyme import SAMPLES, RunningChyme, wait_until

pytestmark = pytest.mark.slow

# Valid and invalid requests are generated from the description. A generated path belongs to no file and only gets 404.
# Requests that remove a file name one that does not exist, because the others need the real file until the end.
REAL = "contract.pdf"
KNOWN = f"""
[parameters]
"path.path" = "{REAL}"

[[operations]]
include-name = "DELETE /api/files/{{path}}"
parameters = {{ "path.path" = "nowhere.txt" }}

[[operations]]
include-path-regex = "/rename(-back)?$"
parameters = {{ "path.path" = "nowhere.txt" }}
"""
SEED = "8"
EXAMPLES = "12"
LEFT_OUT = (
    "positive_data_acceptance",  # a well-formed path may not be a file of the vault
    "unsupported_method",  # a path may contain slashes, so an address can match a file and another route
    "allow_header_conformance",  # the same: the methods of both are allowed there
)
REACHED = {  # a path without a file would reach none of these
    ("GET", f"/api/digest/{REAL}", 200),
    ("POST", f"/api/digest/{REAL}", 200),
    ("POST", f"/api/digest/{REAL}", 202),
    ("POST", f"/api/documents/{REAL}/reprocess", 200),
    ("GET", f"/api/files/{REAL}", 200),
    ("PATCH", f"/api/files/{REAL}", 200),
    ("POST", f"/api/files/{REAL}/clear", 200),
    ("GET", f"/api/pages/{REAL}", 200),
    ("GET", f"/api/raw/{REAL}", 200),
    ("GET", f"/api/similar/{REAL}", 200),
}


def answered_requests(har: Path) -> set[tuple[str, str, int]]:
    """Method, path and status of every request. Without this check, a run of nothing but 404s would pass."""
    return {
        (entry["request"]["method"], httpx.URL(entry["request"]["url"]).path, entry["response"]["status"])
        for entry in json.loads(har.read_text())["log"]["entries"]
    }


def test_no_answer_contradicts_the_description_and_none_is_a_5xx(chyme: RunningChyme, tmp_path: Path) -> None:
    chyme.drop(REAL, (SAMPLES / "contract.pdf").read_bytes())
    chyme.drop("notes/walk.md", "# A walk\n\nAlong the shore, past the mill.\n")
    (tmp_path / "schemathesis.toml").write_text(KNOWN)
    sent = tmp_path / "sent.har"
    server = chyme.serve()
    wait_until(lambda: server.http.get(f"/api/digest/{REAL}").status_code == 200)
    address = str(server.http.base_url).rstrip("/")
    ended = subprocess.run(
        [
            *(sys.executable, "-m", "schemathesis.cli", "run", f"{address}/openapi.json"),
            *("--phases", "examples,coverage,fuzzing", "--max-examples", EXAMPLES, "--seed", SEED),
            *("--exclude-checks", ",".join(LEFT_OUT), "--workers", "1", "--continue-on-failure"),
            *("--exclude-path", "/api/events", "--request-timeout", "60", "--no-color"),
            *("--report", "har", "--report-har-path", os.fspath(sent)),
        ],
        cwd=tmp_path,
        env={"PATH": os.environ["PATH"], "HOME": os.fspath(tmp_path)},
        capture_output=True,
        text=True,
        timeout=1500,
        check=False,
    )
    output = ended.stdout + ended.stderr
    assert ended.returncode == 0, output[-12_000:]
    assert answered_requests(sent) >= REACHED, sorted(REACHED - answered_requests(sent))
    assert httpx.get(f"{address}/healthz", trust_env=False).status_code == 200
    server.http.close()

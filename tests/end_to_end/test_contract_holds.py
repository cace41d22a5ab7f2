"""The HTTP API keeps what its own description promises, whatever it is sent."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import httpx
from running_chyme import SAMPLES, RunningChyme

# What is sent is drawn from the description, right and wrong.
KNOWN = """
[parameters]
"path.path" = ["notes/walk.md", "contract.pdf", "nowhere.txt"]
"""
SEED = "8"
EXAMPLES = "12"
LEFT_OUT = (
    "positive_data_acceptance",  # a path that fits the form need not be a file of the vault
    "unsupported_method",  # a path may hold slashes, so that an address may be a file's and another route's at once
    "allow_header_conformance",  # the same: all methods of both are allowed there
)


def test_no_answer_contradicts_the_description_and_none_is_a_5xx(chyme: RunningChyme, tmp_path: Path) -> None:
    chyme.drop("contract.pdf", (SAMPLES / "contract.pdf").read_bytes())
    chyme.drop("notes/walk.md", "# A walk\n\nAlong the shore, past the mill.\n")
    (tmp_path / "schemathesis.toml").write_text(KNOWN)
    server = chyme.serve()
    address = str(server.http.base_url).rstrip("/")
    ended = subprocess.run(
        [
            *(sys.executable, "-m", "schemathesis.cli", "run", f"{address}/openapi.json"),
            *("--phases", "examples,coverage,fuzzing", "--max-examples", EXAMPLES, "--seed", SEED),
            *("--exclude-checks", ",".join(LEFT_OUT), "--workers", "1", "--continue-on-failure"),
            *("--exclude-path", "/api/events", "--request-timeout", "60", "--no-color"),
        ],
        cwd=tmp_path,
        env={"PATH": os.environ["PATH"], "HOME": os.fspath(tmp_path)},
        capture_output=True,
        text=True,
        timeout=280,
        check=False,
    )
    said = ended.stdout + ended.stderr
    assert ended.returncode == 0, said[-12_000:]
    assert httpx.get(f"{address}/healthz", trust_env=False).status_code == 200
    server.http.close()

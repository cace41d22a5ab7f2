"""There are exactly two ways out: every packet and every connecting call of a whole digestion is watched."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from running_chyme import PROJECT

pytestmark = pytest.mark.slow
HERE = Path(__file__).parent
NOT_ALLOWED = 77  # exit code of the program when it cannot create its own network


@pytest.fixture(scope="module")
def watched() -> Iterator[dict[str, Any]]:
    """What was observed while a vault of links was digested, in its own network namespace."""
    if os.geteuid() != 0:
        pytest.skip("a network of the test's own needs root")
    with tempfile.TemporaryDirectory(prefix="chyme-watched-") as folder:
        os.chmod(folder, 0o755)
        ended = subprocess.run(
            [sys.executable, os.fspath(HERE / "watched_namespace.py"), folder],
            env={**os.environ, "PYTHONPATH": os.pathsep.join(map(os.fspath, (HERE, HERE.parent / "support")))},
            capture_output=True,
            check=False,
            timeout=1500,
            cwd=PROJECT,
        )
        if ended.returncode == NOT_ALLOWED:
            pytest.skip("no network namespace can be made here, or there is no ip command")
        assert ended.returncode == 0, ended.stderr.decode()
        yield json.loads(ended.stdout)


def test_no_packet_went_anywhere_but_through_the_guard_or_to_a_configured_endpoint(watched: dict[str, Any]) -> None:
    allowed = {
        ("tcp", "127.0.0.1", watched["web"]),  # the web that web_allow names
        ("tcp", "127.0.0.1", watched["model"]),  # the language model of the settings
        ("udp", "127.0.0.1", 53),  # the name server that the guard uses
    }
    packets = {tuple(packet) for packet in watched["packets"]}
    answers = {("udp", "127.0.0.1", port) for port in watched["askers"]}  # from the test's own name server
    assert packets - answers - allowed == set()
    assert allowed <= packets
    assert watched["forbidden"] == 0


def test_only_the_guard_and_the_door_to_the_model_connect(watched: dict[str, Any]) -> None:
    assert watched["calls"]
    for call in watched["calls"]:
        guarded = any("/chyme/core/outbound/" in frame for frame in call["stack"])
        assert guarded or any("/chyme/models/providers/" in frame for frame in call["stack"]), call
        wanted = watched["web"] if guarded else watched["model"]
        assert call["to"] == ["127.0.0.1", wanted]


def test_a_name_whose_answers_change_is_judged_by_the_answer_that_is_used(watched: dict[str, Any]) -> None:
    assert watched["names"].count("rebinding.test") >= 2
    assert not any(packet[1] == "127.0.0.2" for packet in watched["packets"])


def test_links_to_inner_addresses_fail_with_the_reason_and_the_rest_completes(watched: dict[str, Any]) -> None:
    failed = {
        digest["path"]: digest for digest in watched["result"]["failed"] if digest["digester"] == "url-crawl-content"
    }
    inside = {"inner name", "metadata", "decimal", "private", "mapped", "other port", "leads 0", "leads 1", "leads 2"}
    for name in inside:
        assert failed[f"{name}.url"]["error_category"] == "validation"
        assert "web_allow" in failed[f"{name}.url"]["error"]
    assert failed["unknown name.url"]["error_category"] == "network"
    for name in ("article", "prowler", "rebinding"):
        assert f"{name}.url" not in failed

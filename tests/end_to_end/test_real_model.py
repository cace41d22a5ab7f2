"""A real language model, small and often wrong, on loopback: the whole path, from the command to the document."""

from __future__ import annotations

import importlib.util
import json
from typing import Any

import pytest
from running_chyme import RunningChyme

from chyme.models.weights.catalog import SMOLLM2
from chyme.models.weights.folder import path_of
from chyme.understanding.classification.result import from_json

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(
        importlib.util.find_spec("xllamacpp") is None or path_of(SMOLLM2) is None,
        reason="xllamacpp or the weights of SmolLM2 are not there: run 'make setup-dev' and 'chyme weights smollm2'",
    ),
]
LETTER = (
    "Dear Ms Miller,\n\nthe heating in the flat at 12 Harbour Street was repaired on 3 April 2026. The plumber"
    " replaced the pump and the thermostat, and charged 240 pounds.\n\nYours sincerely,\nJo Carpenter\n"
)


def test_a_small_model_of_our_own_classifies_and_a_private_file_may_go_there(chyme: RunningChyme) -> None:
    chyme.settings |= {
        "CHYME_LLM_PROVIDER": "local",
        "CHYME_LOCAL_MODEL": "smollm2",
        "CHYME_LOCAL_CHARACTERS": "1000",
        "CHYME_LOCAL_SECONDS": "200",
    }
    chyme.drop("letter.txt", LETTER)
    (chyme.vault / ".chymeprivate").write_text("letter.txt\n")  # nothing leaves this machine, so the model may see it
    ended = chyme.run("digest", "--no-wait", seconds=280)
    assert ended.code == 0, ended.err

    calls = chyme.rows("SELECT digester, host, model, outcome, tokens_in, tokens_out FROM ai_calls")
    assert calls, "no model was called"
    assert {(digester, outcome) for digester, _, _, outcome, _, _ in calls} <= {
        ("classify-document", "answered"),
        ("classify-document", "cancelled"),
    }
    assert all(tokens_in and tokens_out for *_, outcome, tokens_in, tokens_out in calls if outcome == "answered")
    details: dict[str, Any] = chyme.run("show", "letter.txt", "--json").json
    digest = next(digest for digest in details["digests"] if digest["digester"] == "classify-document")
    found = from_json(digest["content"])  # the stored answer has the promised shape, from either engine
    assert found.title
    assert found.engine in (SMOLLM2.engine, "local")
    assert details["document"]["state"] == ("completed" if found.engine != "local" else "needs-classification")
    assert json.loads(digest["content"])["tags"] is not None

"""Errors, described for programs."""

from __future__ import annotations

import json

from chyme.doors.http.problem_details import problem_response


def test_a_sentence_may_name_a_file_whose_name_is_not_valid_text() -> None:
    answer = problem_response(400, "caf\udce9/\ud800: is no folder")
    assert json.loads(bytes(answer.body))["detail"] == "caf?/?: is no folder"

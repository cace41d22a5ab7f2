"""What failures have in common."""

from __future__ import annotations

import pytest

from chyme.core.pipeline.failure_causes import REMEDIES, cause_of, group_id
from chyme.errors import Category


@pytest.mark.parametrize(
    ("message", "path", "alike", "way_out"),
    [
        (
            "lease.pdf: the PDF is encrypted; save a copy without password",
            "contracts/lease.pdf",
            "the PDF is encrypted",
            "save a copy without password",
        ),
        (
            "contracts/lease.pdf: doc-to-markdown took longer than 600 s and was stopped",
            "contracts/lease.pdf",
            "doc-to-markdown took longer than … s and was stopped",
            REMEDIES["timeout"],
        ),
        (
            "a.url: https://example.org/x?y=1 does not answer; try later",
            "a.url",
            "… does not answer",
            "try later",
        ),
        ("a.url: the connection to wiki.example.org:8080 failed", "a.url", "the connection to … failed", "retry it"),
        (
            "a.png: 1,204 MB, the limit is 500 MB; raise image_bytes",
            "a.png",
            "… MB, the limit is … MB",
            "raise image_bytes",
        ),
        ("b.mp3: gpt-4.1 failed (HTTP 503)", "b.mp3", "gpt-4.1 failed (HTTP 503)", "retry it"),
        ("c.eml: part 'x/y.doc' of c.eml is “broken”", "c.eml", "part … of … is …", "retry it"),
        ("", "d.txt", "", "retry it"),
    ],
)
def test_names_paths_numbers_and_quotes_are_left_out(message: str, path: str, alike: str, way_out: str) -> None:
    category = "timeout" if "took longer" in message else "none of ours"
    cause = cause_of(message, path, category)
    assert (cause.alike, cause.way_out) == (alike, way_out)


def test_a_status_of_http_distinguishes_causes() -> None:
    assert (
        cause_of("a: it failed (HTTP 401)", "a", "network").alike != cause_of("a: it failed (HTTP 500)", "a", "").alike
    )


def test_the_message_of_a_cause_leaves_out_only_the_name_and_the_remedy() -> None:
    assert cause_of("a.png: 12 MB is too large; raise it", "x/a.png", "validation").message == "12 MB is too large"


def test_every_category_that_is_shown_has_a_way_out() -> None:
    assert set(REMEDIES) == set(Category) - {Category.DEPENDENCY}


def test_groups_are_named_after_digester_category_and_cause() -> None:
    names = {group_id(*group) for group in (("a", "b", "c"), ("a", "b", "d"), ("a", "x", "c"), ("y", "b", "c"))}
    assert len(names) == 4
    assert group_id("a", "b", "c") == group_id("a", "b", "c")
    assert group_id("a", "b", "\ud800")

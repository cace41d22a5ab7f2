"""Proposing friendly names."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import pytest
from disk_source import DiskSource
from upstreams import upstream

from chyme.core.pipeline.plan import input_hash
from chyme.model import File, Kind, Stamp
from chyme.understanding.classification.result import Candidate, Classification, as_json
from chyme.understanding.slug import Slug

MILLER = Classification("Rental contract Miller", date="2026-04-03")


def proposal_for(
    name: str, found: Classification | str | None = MILLER, by: str = "classify-document"
) -> dict[str, str] | None:
    content = as_json(found) if isinstance(found, Classification) else found
    source = DiskSource(Path("nowhere"), file_named(name), Path(), {by: upstream(by, content)})
    (output,) = Slug().digest(source)
    assert output.name == "slug"
    return None if output.content is None else json.loads(output.content)


def file_named(name: str, kind: Kind = Kind.DOCUMENT) -> File:
    return File(1, name, name, kind, "", Stamp("1", "1", 1, 0), "", 1)


def test_a_scan_is_named_after_what_it_is() -> None:
    assert proposal_for("scan0001.pdf") == {
        "slug": "2026-04-03-rental-contract-miller.pdf",
        "title": "Rental contract Miller",
        "from": "classify-document",
    }


def test_a_photo_is_named_after_what_it_shows_and_keeps_its_extension() -> None:
    found = proposal_for("IMG_1234.HEIC", Classification("A dog on the beach"), "classify-image")
    assert found == {"slug": "a-dog-on-the-beach.HEIC", "title": "A dog on the beach", "from": "classify-image"}


def test_a_name_that_a_person_gave_stays() -> None:
    assert proposal_for("Mietvertrag.pdf") is None


@pytest.mark.parametrize(
    "title",
    [
        *(None, "", "…", "Document", "Untitled", "scan0001", "IMG_1234.jpg", "Microsoft Word - Document1"),
        "Screenshot_20260403-101233_Chrome",
        "scan " * 20 + "passport",
    ],
)
def test_without_a_meaningful_title_nothing_is_proposed(title: str | None) -> None:
    assert proposal_for("scan0001.pdf", Classification(title, date="2026-04-03")) is None


@pytest.mark.parametrize("content", [None, "", "{", "[]", "{}", '{"tags": [], "dates": [{"what": 1}]}'])
def test_content_that_is_no_classification_proposes_nothing(content: str | None) -> None:
    assert proposal_for("scan0001.pdf", content) is None


def test_an_uncertain_date_does_not_go_into_the_name() -> None:
    unsure = Classification("Rental contract Miller", date="2026-04-03", confidence={"date": 0.3, "title": 0.9})
    found = proposal_for("scan0001.pdf", unsure)
    assert found is not None and found["slug"] == "rental-contract-miller.pdf"


def test_a_date_that_may_be_the_other_way_round_needs_more_than_the_habit_of_a_language() -> None:
    unclear = (Candidate("2026-03-04", "03/04/2026", "doc-to-markdown", 0.58, ambiguous=True),)
    found = Classification("Rental contract Miller", date="2026-03-04", confidence={"date": 0.58}, dates=unclear)
    by_habit, by_signs = (
        proposal_for("scan0001.pdf", found),
        proposal_for("scan0001.pdf", replace(found, confidence={"date": 0.77})),
    )
    assert by_habit is not None and by_habit["slug"] == "rental-contract-miller.pdf"
    assert by_signs is not None and by_signs["slug"] == "2026-03-04-rental-contract-miller.pdf"


@pytest.mark.parametrize("name", ["page1.html", "a1b2c3d4e5f6.js", "001.sql", "x.c", "image001.htm"])
def test_a_file_that_others_refer_to_by_name_keeps_its_name(name: str) -> None:
    assert proposal_for(name) is None


def test_every_kind_but_other_has_a_slug() -> None:
    assert [kind for kind in Kind if not Slug().can_digest(file_named("a", kind))] == [Kind.OTHER]


def test_a_copy_under_another_name_gets_a_proposal_of_its_own() -> None:
    slug = Slug()
    assert input_hash(slug, file_named("scan0001.pdf"), {}) != input_hash(slug, file_named("Mietvertrag.pdf"), {})

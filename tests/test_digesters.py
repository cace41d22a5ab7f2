"""Every digester is registered, tested, and runs in a family that exists."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest
from tiny_picture_models import make_clip
from upstreams import TRAITS

from chyme.application.child_families import make_families
from chyme.application.settings import Settings
from chyme.digester import FAMILIES, Digester
from chyme.digesters import built_in
from chyme.model import Form
from chyme.understanding.classification.source_text import FORMS

ROOMS = Path(__file__).parents[1] / "src/chyme"
TESTS = Path(__file__).parent
# chyme itself runs these for a request or for a part of an attempt, not for the files of a vault.
NOT_FOR_FILES = {"DrawPage", "EmbedQuestion", "Preparation", "WithoutModel"}


def digester_classes() -> dict[str, set[str]]:
    """Every class below `Digester` in the source, with its bases."""
    bases = {
        node.name: {base.id for base in node.bases if isinstance(base, ast.Name)}
        for path in ROOMS.rglob("*.py")
        for node in ast.parse(path.read_text()).body
        if isinstance(node, ast.ClassDef)
    }
    found: dict[str, set[str]] = {}
    while next_level := {
        name: parents for name, parents in bases.items() if name not in found and parents & {"Digester", *found}
    }:
        found |= next_level
    return found


def test_every_digester_class_is_registered(tmp_path: Path) -> None:
    config = {"picture_model": {"model_dir": str(make_clip(tmp_path / "tiny"))}}
    classes = digester_classes()
    shared = {base for bases in classes.values() for base in bases} - {"Digester"}
    assert shared == {"LanguageModelDigester", "VisionModelDigester"}
    assert set(classes) - shared - NOT_FOR_FILES == {type(digester).__name__ for digester in built_in(config)}


@pytest.mark.parametrize("digester", built_in(), ids=lambda digester: digester.name)
def test_every_digester_has_its_tests(digester: Digester) -> None:
    assert list(TESTS.rglob(f"test_{digester.name.replace('-', '_')}*.py"))


@pytest.mark.parametrize("digester", built_in(), ids=lambda digester: digester.name)
def test_every_digester_runs_in_a_family_that_exists(digester: Digester) -> None:
    assert digester.runs.family in FAMILIES


def test_there_are_children_for_every_family() -> None:
    assert set(make_families(Settings())) == FAMILIES


def test_understanding_knows_the_forms_of_what_it_reads() -> None:
    assert dict(FORMS) == {name: TRAITS[name].form for name in FORMS}
    named = {name for digester in built_in() if "understanding" in type(digester).__module__ for name in digester.reads}
    known = {name for name in named if TRAITS[name].form not in (Form.CLASSIFICATION, Form.TAGS)}
    assert known <= set(FORMS)

"""The files of words, and how they are read."""

from __future__ import annotations

from pathlib import Path

import pytest

import chyme
from chyme.text.word_lists import WordList

ROOT = Path(chyme.__file__).parent
FILES = sorted(path.relative_to(ROOT) for path in ROOT.rglob("words/*.txt"))


def test_sections_words_phrases_and_comments_are_distinguished(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    package = tmp_path / "listed"
    (package / "words").mkdir(parents=True)
    (package / "__init__.py").touch()
    (package / "words" / "few.txt").write_text("# comment\nfirst one\n\n[de]\nein wort\n  noch eins\n# [fr]\n[it]\n")
    monkeypatch.syspath_prepend(tmp_path)
    few = WordList("listed", "few")

    assert few.sections == {"": ["first one"], "de": ["ein wort", "noch eins"]}
    assert few.words() == {"first", "one"}
    assert few.words("de") == {"ein", "wort", "noch", "eins"}
    assert few.phrases("de") == {"ein wort", "noch eins"}
    assert few.words("fr") == few.phrases("it") == frozenset()


def test_a_file_is_read_when_it_is_first_needed() -> None:
    missing = WordList("chyme.text", "missing")
    with pytest.raises(FileNotFoundError):
        missing.words()


@pytest.mark.parametrize("path", FILES, ids=str)
def test_every_file_has_words_in_all_its_sections(path: Path) -> None:
    package = ".".join(("chyme", *path.parts[:-2]))
    sections = WordList(package, path.stem).sections

    text = (ROOT / path).read_text(encoding="utf-8")
    assert text.startswith("# ")  # what the words are for
    assert [line[1:-1] for line in text.split("\n") if line.startswith("[")] == [name for name in sections if name]
    assert all(sections.values())


def test_there_are_files_of_words() -> None:
    assert len(FILES) > 20

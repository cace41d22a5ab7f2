"""The digesters of documents on archives and mailboxes: text, title, first page."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from container_files import sample_maker, zip_of
from disk_source import source_of

from chyme.documents.conversion.numbered_parts import title_from_name
from chyme.documents.conversion.results import ConversionLimits
from chyme.documents.doc_to_markdown import DocToMarkdown
from chyme.documents.doc_to_screenshot import DocToScreenshot
from chyme.documents.pages.limits import PageLimits
from chyme.files.extensions import ZIP
from chyme.understanding.classification.data_descriptions import is_data

made = sample_maker()
SMALL = ConversionLimits(document_bytes=100)


@pytest.mark.parametrize(
    ("name", "title"), [("boats.zip", "boats"), ("letters.mbox", "letters"), ("talk.vtt", "Evening talk")]
)
def test_a_container_has_text_a_title_and_a_first_page(tmp_path: Path, name: str, title: str) -> None:
    (tmp_path / name).write_bytes(made.samples()[name])
    (text,) = DocToMarkdown().digest(source_of(tmp_path / name, tmp_path))
    (page,) = DocToScreenshot(PageLimits(office="off")).digest(source_of(tmp_path / name, tmp_path))
    assert text.title == title
    assert text.places
    assert json.loads(page.content or "")["rendered"] == "text"
    assert [artifact.filename for artifact in page.artifacts] == ["page.jpg", "thumbnail.jpg"]


@pytest.mark.parametrize(
    ("name", "title"),
    [
        ("my_holiday_photos_2020.zip", "my holiday photos 2020"),
        ("very__long.tar.gz", "very long"),
        ("rentalContract-Miller.zip", "rental Contract Miller"),
        ("*draft* [old].zip", "draft old"),
        ("2024-01-03.zip", "2024-01-03"),
        ("__.zip", "__.zip"),
    ],
)
def test_a_container_is_titled_by_its_file_name_in_words(name: str, title: str) -> None:
    assert title_from_name(name) == title


def test_the_size_of_an_archive_itself_does_not_matter(tmp_path: Path) -> None:
    path = tmp_path / "large.zip"
    path.write_bytes(zip_of({"noise.bin": bytes(range(256)) * 100, "a.txt": b"found in a large archive"}))
    (text,) = DocToMarkdown(SMALL).digest(source_of(path, tmp_path))
    assert "found in a large archive" in (text.content or "")
    assert DocToScreenshot(PageLimits(office="off"), SMALL).digest(source_of(path, tmp_path))


def test_reading_an_archive_writes_nothing(tmp_path: Path) -> None:
    path = tmp_path / "names.zip"
    path.write_bytes(zip_of({"../up.txt": b"up", "/tmp/abs.txt": b"abs", "in/a.txt": b"in"}))
    scratch = tmp_path / "scratch"
    scratch.mkdir()
    DocToMarkdown().digest(source_of(path, scratch))
    assert sorted(file.name for file in tmp_path.rglob("*")) == ["names.zip", "scratch"]


def test_calendars_and_contacts_are_summarised_as_texts() -> None:
    assert not is_data("text/calendar")
    assert not is_data("text/vcard")
    assert not is_data(ZIP)

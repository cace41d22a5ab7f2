"""The parts of a container are called by what they are."""

from __future__ import annotations

from chyme.doors.cli.places import describe_place
from chyme.files.part_labels import has_named_parts, label_page
from chyme.model import Place


def test_pages_mails_entries_and_contacts_are_called_by_their_names() -> None:
    assert label_page("a/b.pdf", 3) == "page 3"
    assert label_page("a/letters.mbox", 3) == "mail 3"
    assert label_page("club.ICS", 3) == "entry 3"
    assert label_page("people.vcf", 3) == "contact 3"
    assert label_page("Sent", 3) == "page 3"


def test_a_file_in_an_archive_is_named_by_its_path_and_its_page_counts_from_the_second() -> None:
    assert describe_place(Place(0, 1, page=1, heading="in/a.txt"), path="all.zip") == "“in/a.txt”"
    assert describe_place(Place(0, 1, page=2, heading="in/a.pdf"), path="all.tar.gz") == "page 2, “in/a.pdf”"
    assert has_named_parts("x/all.7z")
    assert has_named_parts("Profiles/Sent")
    assert not has_named_parts("zip/all.pdf")


def test_names_of_speakers_in_subtitles_stay_as_they_are() -> None:
    assert describe_place(Place(0, 1, seconds=65.0, speaker="Ada McKay-Winter")) == "1:05, Ada McKay-Winter"
    assert describe_place(Place(0, 1, seconds=65.0, speaker="speaker-1")) == "1:05, Speaker 1"

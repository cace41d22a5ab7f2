"""The terms by which a file is found besides its text."""

from __future__ import annotations

from chyme.search.searchable_texts import name_terms


def test_compound_names_are_split_into_their_parts() -> None:
    terms = name_terms("HolidayPhotos2024.jpg", None, [], None)

    assert terms.name.split() == ["HolidayPhotos2024.jpg", "Holiday", "Photos", "2024.jpg"]
    assert terms.words == ("holiday", "photos")


def test_all_are_segmented() -> None:
    terms = name_terms("東京.txt", "京都", ["大阪", "trip"], "名古屋")

    assert terms.title.split() == ["京都", "都"]
    assert terms.tags.split() == ["大阪", "阪", "trip"]
    assert "東京 京" in terms.name
    assert "名古 古屋 屋" in terms.summary

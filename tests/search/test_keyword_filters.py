"""field:value limits a search to matching files."""

from __future__ import annotations

import pytest
from keyword_vault import Shelf

from chyme.model import Kind
from chyme.understanding.tables import tags

pytestmark = pytest.mark.slow  # each takes little time, but there are many


@pytest.fixture
def office(shelf: Shelf) -> Shelf:
    shelf.put(
        "work/2024/invoices/acme.pdf", kind=Kind.DOCUMENT, title="Invoice from Acme", tags=["invoice", "Money"],
        date="2024-03-05",
    )  # fmt: skip
    shelf.put("work/2023/acme letter.txt", "letter to acme about an invoice", date="2023-12-31", state="failed")
    shelf.put("photos/acme_100%.jpg", kind=Kind.IMAGE, date="2024-07-01", tags=["logo"])
    shelf.put("undated acme.txt", "acme")  # last changed 2023-11-14
    return shelf


@pytest.mark.parametrize(
    ("question", "paths"),
    [
        ("acme kind:image", {"photos/acme_100%.jpg"}),
        ("acme -kind:image", {"work/2024/invoices/acme.pdf", "work/2023/acme letter.txt", "undated acme.txt"}),
        ("acme kind:pdf", {"work/2024/invoices/acme.pdf"}),
        ("acme ext:.txt", {"work/2023/acme letter.txt", "undated acme.txt"}),
        ("acme tag:money", {"work/2024/invoices/acme.pdf"}),
        ("acme folder:work", {"work/2024/invoices/acme.pdf", "work/2023/acme letter.txt"}),
        ("acme in:invoices", {"work/2024/invoices/acme.pdf"}),
        ("acme folder:work/2024", {"work/2024/invoices/acme.pdf"}),
        ("acme folder:wor", set()),
        ("acme folder:%", set()),
        ("title:invoice", {"work/2024/invoices/acme.pdf"}),
        ('name:"acme letter"', {"work/2023/acme letter.txt"}),
        ("name:letter invoice", {"work/2023/acme letter.txt"}),
        ("acme date:2024", {"work/2024/invoices/acme.pdf", "photos/acme_100%.jpg"}),
        ("acme date:2023", {"work/2023/acme letter.txt", "undated acme.txt"}),
        ("acme date:2023-12..2024-03", {"work/2023/acme letter.txt", "work/2024/invoices/acme.pdf"}),
        ("acme date:2024-03-05", {"work/2024/invoices/acme.pdf"}),
        ("acme date:2024-04..", {"photos/acme_100%.jpg"}),
        ("acme date:..2023-11", {"undated acme.txt"}),
        ("acme status:failed", {"work/2023/acme letter.txt"}),
        ("kind:document", {"work/2024/invoices/acme.pdf"}),
        ("-kind:text", {"work/2024/invoices/acme.pdf", "photos/acme_100%.jpg"}),
        ("-letter -logo -folder:work", {"undated acme.txt"}),
    ],
)
def test_filter(office: Shelf, question: str, paths: set[str]) -> None:
    result = office.ask(question, keep_conditions=True)

    assert {hit.path for hit in result.hits} == paths
    assert result.total == len(paths)


def test_a_note_names_an_unusable_filter(office: Shelf) -> None:
    assert "nobody here is called “anna”" in office.ask("acme person:anna").notes[0]
    assert "is no date" in office.ask("acme date:yesterday").notes[0]
    assert "is unknown" in office.ask("acme status:sleepy").notes[0]
    assert "names ending in .imgae" in office.ask("acme kind:imgae").notes[0]
    for known in ("acme kind:pdf", "acme -kind:pdf"):
        assert office.ask(known).notes == ()


def test_without_words_files_are_listed_newest_first(office: Shelf) -> None:
    result = office.ask("date:2000..", limit=2)

    assert [hit.path for hit in result.hits] == ["photos/acme_100%.jpg", "work/2024/invoices/acme.pdf"]
    assert result.hits[0].why == ("filter",)
    assert result.total == 4


def test_a_tag_is_found_by_another_spelling_or_a_former_name(office: Shelf) -> None:
    for name in ("logo", "invoice"):
        tags.add(office.db, name, None, "now")
    tags.put_rule(office.db, "brand", "emblem", "now")
    tags.put_rule(office.db, "emblem", "logo", "now")
    tags.put_rule(office.db, "photo", None, "now")
    for tag in ("Logos", "brand", "Brands", "emblem"):
        assert office.found(f"tag:{tag}") == ["photos/acme_100%.jpg"], tag
    assert office.ask("tag:brand").notes == ("“brand” became “logo”; searched for that",)
    assert office.ask("tag:logos").notes == ()
    for tag in ("photo", "nothing", "???"):
        assert office.found(f"tag:{tag}") == []


def test_a_tag_is_not_mixed_up_with_another_that_is_spelt_alike(office: Shelf) -> None:
    office.put("receipts.txt", tags=["invoices"])
    for name in ("invoice", "invoices"):
        tags.add(office.db, name, None, "now")
    assert office.found("tag:invoices") == ["receipts.txt"]
    assert office.found("tag:invoice") == ["work/2024/invoices/acme.pdf"]

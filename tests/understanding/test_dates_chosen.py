"""Which of the dates in a document is its own; no date is better than a wrong one."""

from __future__ import annotations

from datetime import date
from itertools import permutations

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from chyme.understanding.classification.result import Candidate
from chyme.understanding.dates.candidates import find_dates, from_name, from_stamp
from chyme.understanding.dates.choice import MIN_CONFIDENCE, choose_date, date_evidence, rank_dates

TODAY = date(2026, 11, 16)


def chosen_date(
    text: str, language: str | None = "en", kind: str | None = "document", *others: Candidate | None
) -> str | None:
    found = find_dates(text, language, "doc-to-markdown", TODAY)
    first = choose_date(rank_dates([*found, *filter(None, others)], kind, TODAY))
    return first.date if first else None


PROSE = (
    "The company was founded on 3 April 1950 and opened its second works on 12 May 1961, when the river had been"
    " bridged and the railway reached the town. "
)
PAPERS = {
    "english invoice": (
        "en",
        """# INVOICE

        Blue Harbour Ltd · 12 Quay Street · Bristol BS1 4QA

        Invoice number: 2026-0117
        Invoice date: 03/04/2026
        Due date: 03/05/2026

        | Item | Qty | Price |
        | --- | --- | --- |
        | Rope, 20 m | 2 | £34.00 |
        """,
        "2026-04-03",
    ),
    "american invoice": (
        "en",
        """INVOICE #1042
        Pine Ridge Supplies LLC, Denver, CO 80202
        Date: 04/03/2026      Due: 05/03/2026
        Total: $120.00
        """,
        "2026-04-03",
    ),
    "german invoice": (
        "de",
        """Tischlerei Brandt, Lindenweg 4, 24103 Kiel

        Rechnung Nr. 2026-31

        Rechnungsdatum: 03.04.2026
        Leistungsdatum: 28.03.2026
        Zahlbar bis: 17.04.2026
        """,
        "2026-04-03",
    ),
    "labels and dates in two columns": (
        "de",
        "Rechnung\n\nRechnungsdatum\nLieferdatum\nFällig am\n\n03.04.2026\n01.04.2026\n17.04.2026\n",
        "2026-04-03",
    ),
    "labels above their dates in a table": (
        "en",
        "# Bill\n\n| Customer | Bill date | Due date |\n|---|---|---|\n| 4711 | 3 Apr 2026 | 17 Apr 2026 |\n",
        "2026-04-03",
    ),
    "labels left of their dates in a table": (
        "it",
        "| Data fattura | 03/04/2026 |\n|---|---|\n| Scadenza | 03/05/2026 |\n| Nato il | 01/02/1970 |\n",
        "2026-04-03",
    ),
    "german letter": (
        "de",
        """Anna Berger
        Hauptstr. 1
        10115 Berlin

        Berlin, den 3. April 2026

        Sehr geehrte Frau Vogt,

        am 12. März 2026 haben Sie mir geschrieben, dass der Vertrag bis zum 31. Dezember 2026 läuft.
        """,
        "2026-04-03",
    ),
    "french letter": (
        "fr",
        "Claire Morel\nLyon\n\nLyon, le 3 avril 2026\n\nMadame, Monsieur,\n\nNée le 5 mai 1980.",
        "2026-04-03",
    ),
    "spanish letter": (
        "es",
        "Madrid, a 3 de abril de 2026\n\nEstimada señora:\n\nLa factura vence el 5 de mayo de 2026.",
        "2026-04-03",
    ),
    "french invoice": ("fr", "FACTURE 31\nDate d'émission : 03/04/2026\nDate d'échéance : 03/05/2026\n", "2026-04-03"),
    "spanish invoice": (
        "es",
        "FACTURA\nFecha de emisión: 03/04/2026\nFecha de vencimiento: 03/05/2026\n",
        "2026-04-03",
    ),
    "portuguese invoice": ("pt", "FATURA\nData de vencimento: 03/05/2026\nData de emissão: 03/04/2026\n", "2026-04-03"),
    "dutch invoice": ("nl", "FACTUUR\nVervaldatum: 03-05-2026\nFactuurdatum: 03-04-2026\n", "2026-04-03"),
    "polish invoice": ("pl", "FAKTURA\nData wystawienia: 03.04.2026\nTermin płatności: 17.04.2026\n", "2026-04-03"),
    "swedish invoice": ("sv", "FAKTURA\nFakturadatum: 2026-04-03\nFörfallodatum: 2026-05-03\n", "2026-04-03"),
    "danish invoice": ("da", "FAKTURA\nFakturadato: 03.04.2026\nForfaldsdato: 03.05.2026\n", "2026-04-03"),
    "finnish invoice": ("fi", "LASKU\nPäivämäärä: 3.4.2026\nEräpäivä: 17.4.2026\n", "2026-04-03"),
    "czech invoice": ("cs", "FAKTURA\nDatum vystavení: 3. 4. 2026\nDatum splatnosti: 17. 4. 2026\n", "2026-04-03"),
    "russian letter": (
        "ru",
        "Исх. № 31\nДата: 03.04.2026\nСрок оплаты: до 17.04.2026\nДата рождения: 01.02.1970\n",
        "2026-04-03",
    ),
    "ukrainian invoice": (
        "uk",
        "Рахунок № 31\nДата: 3 квітня 2026 р.\nТермін оплати: 17 квітня 2026 р.\n",
        "2026-04-03",
    ),
    "turkish invoice": ("tr", "FATURA\nFatura tarihi: 03.04.2026\nSon ödeme tarihi: 17.04.2026\n", "2026-04-03"),
    "japanese invoice": ("ja", "請求書\n発行日 2026年4月3日\nお支払期限 2026年5月31日\n", "2026-04-03"),
    "chinese notice": ("zh", "关于春季课程的通知\n发布日期：2026年4月3日\n报名截止：2026年4月20日\n", "2026-04-03"),
    "korean report": ("ko", "보고서\n작성일: 2026.04.03\n마감일: 2026.05.01\n", "2026-04-03"),
    "letter in one long line": (
        "en",
        "North Shore Sailing Club, 5 Pier Road, tel. 030 1234. "
        * 8
        + "\n\nApril 3, 2026 Dear members, the season is here and"
        " the boats are going back into the water, so that all of you may sail again from the first of May on.",
        "2026-04-03",
    ),
    "article": ("en", "# Bridges of the North\n\nBy Jo Example | 3 April 2026\n\n" + PROSE * 5, "2026-04-03"),
    "article with a date after its title": (
        "en",
        "# Bridges\n\nFriday, April 3, 2026, 10:30 AM\n\n" + PROSE * 5,
        "2026-04-03",
    ),
    "published and updated": ("en", "Bridges\nUpdated: 5 May 2026\nPublished: 3 April 2026\n\n" + PROSE, "2026-04-03"),
    "front matter": ("en", "---\ntitle: Bridges\ndate: 2026-04-03\n---\n\n" + PROSE, "2026-04-03"),
    "signed at the end": (
        "nl",
        "# Overeenkomst\n\n" + "Dit is de tekst van de overeenkomst. " * 80 + "\n\nUtrecht, 3 april 2026\n",
        "2026-04-03",
    ),
    "accents apart": (
        "fr",
        "FACTURE\nDate d'e\u0301mission : 03/04/2026\nE\u0301che\u0301ance : 03/05/2026\n",
        "2026-04-03",
    ),
    "label behind the date": (
        "zh",
        "# 通知\n\n" + "本校春季课程将于近期开始。\n" * 300 + "\n教务处 2026年4月3日发布\n",
        "2026-04-03",
    ),
    "minutes": (
        "en",
        "Minutes of the Council meeting held on Friday 3rd April 2026 at 7.30pm\n\n2. Those of 6 March 2026 stand.\n",
        "2026-04-03",
    ),
    "minutes in Japanese": ("ja", "議事録\n日時：2026年4月3日（金）10:00〜11:00\n次回：2026年5月8日\n", "2026-04-03"),
    "journal": ("en", "Received 2 March 2026; accepted 30 March 2026; published online 3 April 2026\n", "2026-04-03"),
    "tenancy": ("de", "Mietvertrag\nMietbeginn: 01.09.2026\nUnterschrift\nKiel, 03.04.2026\n", "2026-04-03"),
    "wiki": ("en", f"{PROSE * 30}\n\n- This page was last edited on 3 April 2026, at 19:42.\n", "2026-04-03"),
    "a heading": ("en", "# Diary\n\n## 2026-04-03\n\nWent sailing.\n", "2026-04-03"),
    "order and invoice": ("en", "Order date: 1 April 2026\nInvoice date: 3 April 2026\n", "2026-04-03"),
    "monthly paper": ("en", "# The Harbour Gazette\n\nApril 2026\n\n" + PROSE, "2026-04"),
}
WITHOUT = {
    "history": ("en", PROSE * 6),
    "one date in prose": (
        "en",
        "In this paper we look at ropes and their use. " * 9 + "On 3 April 2026 the test was done again.",
    ),
    "birth": ("de", "Lebenslauf\n\nGeburtsdatum: 3. April 1990\nGeboren in Kiel\n"),
    "birth further away": (
        "nl",
        "De heer Jansen, geboren te Brussel (district 2) op 8 augustus 1926, wonende te Gent.",
    ),
    "due date alone": ("en", "Please pay the amount of $30.\nDue date: April 3, 2026\n"),
    "valid until": ("de", "Gutschein\nGültig bis 31.12.2026\n"),
    "copyright": ("en", "Copyright 3 April 2026 Example Inc."),
    "table of events": (
        "en",
        "| Date | Place |\n|---|---|\n" + "".join(f"| 2026-0{month}-03 | Town |\n" for month in range(1, 10)),
    ),
    "values with commas": ("en", "date,rain,wind\n" + "".join(f"2026-04-{day:02},0.1,3.5\n" for day in range(1, 31))),
    "statement of an account": ("de", "".join(f"{day:02}.04.2026 Überweisung {day},00\n" for day in range(1, 29))),
    "a day to come": ("en", "# Summer party\n\n3 June 2027\n"),
    "the beginning of a period": ("en", "Rope hire, 1 March 2026 - 31 March 2026\n"),
    "references": ("en", "12. Smith, J. Ropes. Retrieved 3 April 2026.\n13. Jones, K. Knots. Accessed 2 April 2026.\n"),
    "genealogy": ("de", "# Familie Brandt\n\nKarl Brandt, * 3. April 1890, † 5. Mai 1950\n"),
    "another letter": (
        "en",
        "In your letter dated 3 April 2026 you asked us for more time, and we thought about it.\n",
    ),
    "a short sentence": ("en", "On 3 April 2026 the board resolved as follows.\n"),
    "birth behind the date": ("ja", "山田太郎\n1961年3月2日生まれ\n"),
    "rights": ("en", "# Ropes\n\n© 3 April 2026 Example Inc.\n"),
    "versions": ("en", "# Changelog\n\n## 2.1.0 (2026-07-14)\n- fix\n\n## 2.0.0 (2026-05-01)\n- new\n"),
    "two dates without a word": ("en", "# Trip\n\n3 April 2026\n\n5 May 2026\n"),
    "a list of papers": ("en", "# Papers\n\n1. Ropes (3 April 2026)\n2. Knots (see the other list)\n"),
    "a cell of a table": ("en", "# Stock\n\n| Rope | 3 April 2026 |\n|---|---|\n| Hemp | 20 |\n"),
    "section numbers": ("en", "# 3.4.2020 Scope\n\n## 3.4 Terms\n\n## 3.5 More\n"),
}


@pytest.mark.parametrize("name", PAPERS)
def test_the_date_of_a_paper_is_found_among_others(name: str) -> None:
    language, text, expected = PAPERS[name]
    assert chosen_date(text, language) == expected


@pytest.mark.parametrize("name", WITHOUT)
def test_no_date_is_better_than_a_wrong_one(name: str) -> None:
    language, text = WITHOUT[name]
    assert chosen_date(text, language) is None


LETTER = "Bright Dental Practice\n12 High Street\n\n{day}\n\n{begins}\n\nThe tooth is well. Please come again.\n"


@pytest.mark.parametrize("begins", ["Dear Mr Miller,", "Report of the treatment"])
def test_a_day_under_the_letterhead_is_taken_though_its_order_is_not_sure(begins: str) -> None:
    (found,) = find_dates(LETTER.format(day="03/04/2026", begins=begins), "en", "x", TODAY)
    assert choose_date([found]) is found
    assert (found.date, found.ambiguous) == ("2026-03-04", True)


def test_a_day_whose_order_is_not_sure_is_not_taken_elsewhere() -> None:
    assert chosen_date(LETTER.format(day="Ref. 4711", begins="We saw you on 03/04/2026 at noon.")) is None


@pytest.mark.parametrize(
    ("language", "signed"),
    [
        ("en", "The rent is 900 euros a month and due. Signed on 1 February 2024 in Berlin by both parties."),
        ("en", "This agreement is dated this 1st day of February 2024, and what follows from it is said below."),
        ("en", "This lease is made and entered into on 1 February 2024 by the landlord and the tenant named below."),
        ("en", "They have signed this on 1 February 2024 in the presence of the witnesses who are named below."),
        (
            "de",
            "Die Miete beträgt 900 Euro im Monat. Unterzeichnet am 1. Februar 2024 von beiden Parteien hier in Kiel.",
        ),
    ],
)
def test_a_contract_is_of_the_day_it_was_signed(language: str, signed: str) -> None:
    assert chosen_date(f"The contract\n\n{signed}\n\n{PROSE}", language) == "2024-02-01"


def test_the_day_another_contract_was_signed_is_not_taken() -> None:
    assert chosen_date("We refer to the agreement signed on 1 February 2024 and to all that was said about it.") is None


@pytest.mark.parametrize(
    ("language", "line"),
    [
        ("de", "Ada Lind, publiziert am 25. September 2018"),
        ("de", "Erschienen am 25. September 2018"),
        ("fr", "Paru le 25 septembre 2018"),
        ("es", "Publicada el 25 de septiembre de 2018"),
        ("pt", "Publicada em 25 de setembro de 2018"),
        ("nl", "Verschenen op 25 september 2018"),
        ("ru", "Опубликована 25 сентября 2018"),
    ],
)
def test_the_day_of_publication_below_a_headline_is_taken(language: str, line: str) -> None:
    assert chosen_date(f"# Mola\n\n{line}\n\n{PROSE * 3}", language) == "2018-09-25"


def test_a_note_is_not_dated_by_the_day_it_links_to() -> None:
    assert chosen_date("# Ideas\n\nSee [[2024-01-03]]\n", kind="text") is None
    assert chosen_date("See [[days/2024-01-03|that day]]\n", kind="text") is None
    assert chosen_date("Date: [[2024-01-03]]\n\nIdeas\n", kind="text") == "2024-01-03"
    assert chosen_date("2024-01-03\n\nIdeas\n", kind="text") == "2024-01-03"


def test_dates_of_long_ago_in_a_text_count_least() -> None:
    text = f"{PROSE}On 3 April 2025 we walked the same way again, over the bridge and along the river to the works."
    confidence = {
        candidate.date: candidate.confidence for candidate in find_dates(text, "en", "doc-to-markdown", TODAY)
    }

    assert confidence["1961-05-12"] < confidence["2025-04-03"]


def test_a_cell_of_a_table_counts_less_than_a_line() -> None:
    (cell,) = find_dates("| Rope | 3 April 2026 |\n|---|---|\n| Hemp | 20 |\n", "en", "x", TODAY)
    (line,) = find_dates("Rope of 3 April 2026\nHemp 20\n", "en", "x", TODAY)

    assert cell.confidence < 0.3 < line.confidence


def test_a_salutation_marks_the_beginning_of_a_letter() -> None:
    address = "Post-office box 12, North Shore Sailing Club, the house beside the old lighthouse\n" * 30

    assert chosen_date(f"{address}\n3 April 2026\n\nThe ropes are here.{PROSE * 5}", "en") is None
    assert chosen_date(f"{address}\n3 April 2026\n\nDear members,\n{PROSE * 5}", "en") == "2026-04-03"


def test_dates_that_are_not_taken_are_still_listed() -> None:
    found = rank_dates(
        find_dates("Gutschein\nGültig bis 31.12.2026\n", "de", "doc-to-markdown", TODAY), "document", TODAY
    )
    assert [candidate.date for candidate in found] == ["2026-12-31"]
    assert choose_date(found) is None


def test_at_most_ten_are_listed_each_date_once() -> None:
    text = "\n".join(f"{day} April 2026 and {day} April 2026" for day in range(1, 29))
    found = rank_dates(find_dates(text, "en", "doc-to-markdown", TODAY), "document", TODAY)

    assert len(found) == 10
    assert len({candidate.date for candidate in found}) == 10


def test_a_labelled_date_beats_the_property_and_the_property_beats_any_other_date() -> None:
    made = from_stamp("2026-01-07T08:00:00Z", "properties", TODAY)

    assert chosen_date("Invoice date: 3 April 2026", "en", "document", made) == "2026-04-03"
    assert chosen_date("Berlin, den 3. April 2026\n\nSehr geehrte Damen", "de", "document", made) == "2026-04-03"
    assert chosen_date(f"{PROSE}On 3 April 2026 the test was done again.", "en", "document", made) == "2026-01-07"
    assert chosen_date(f"{PROSE}\n\n| Rope | 3 April 2026 |\n| Hemp | 20 |\n", "en", "document", made) == "2026-01-07"


def test_what_the_text_says_of_itself_beats_whatever_the_file_says() -> None:
    made = from_stamp("2026-04-02T08:00:00Z", "properties", TODAY)

    assert chosen_date("Notes on ropes, meeting of 3 April 2026", "en", "document", made) == "2026-04-03"
    assert chosen_date("# Ropes\n\nMarch 2026\n", "en", "document", made) == "2026-03"


def test_the_month_is_certain_where_several_days_are_named() -> None:
    assert chosen_date("# Course on knots\n\n3–5 April 2026\n", "en") == "2026-04"


def test_a_file_made_long_before_the_dates_in_its_text_began_as_another_one() -> None:
    made = from_stamp("2019-01-07T08:00:00Z", "properties", TODAY)

    assert chosen_date(f"{PROSE}On 3 April 2026 the test was done.", "en", "document", made) is None


def test_the_date_of_a_file_is_marked_as_such() -> None:
    made = from_stamp("2025-01-07T08:00:00Z", "properties", TODAY)
    assert made is not None
    text = find_dates("Date: 7 January 2025", "en", "doc-to-markdown", TODAY)

    assert date_evidence(made) == "created, in the properties of the file: 2025-01-07T08:00:00Z"
    assert [date_evidence(found) for found in rank_dates([made, *text], "document", TODAY)] == ["7 January 2025"]


def test_a_page_that_is_edited_for_years_has_the_date_of_its_last_change() -> None:
    stamps = from_stamp("2011-03-14", "published", TODAY), from_stamp("2023-08-30", "modified", TODAY)

    assert chosen_date("# Duck\n\nA bird.\n", "en", "page", *stamps) == "2023-08-30"
    assert chosen_date("# Duck\n\n14 March 2011, 08:20\n", "en", "page", *stamps) == "2011-03-14"


def test_a_name_beats_the_property_and_dates_in_prose() -> None:
    made = from_stamp("2025-01-07T08:00:00Z", "properties", TODAY)

    assert chosen_date(PROSE, "en", "document", made, from_name("2026-04-03_report.pdf", TODAY)) == "2026-04-03"


def test_the_camera_decides_the_day_of_a_photograph() -> None:
    camera = from_stamp("2026:04:03 10:11:12", "exif", TODAY)

    assert chosen_date("Invoice date: 1 March 2026", "en", "image", camera) == "2026-04-03"
    assert chosen_date("Invoice date: 1 March 2026", "en", "image") == "2026-03-01"


def test_a_date_written_in_a_picture_counts_less() -> None:
    found = find_dates("Invoice date: 1 March 2026", "en", "image-ocr", TODAY)

    assert rank_dates(found, "image", TODAY)[0].confidence < rank_dates(found, "document", TODAY)[0].confidence


def test_the_site_decides_the_day_of_a_page_and_the_header_that_of_a_mail() -> None:
    text = "Updated: 5 May 2026"

    assert chosen_date(text, "en", "url", from_stamp("2026-04-03T10:00:00+02:00", "published", TODAY)) == "2026-04-03"
    assert chosen_date(text, "en", "mail", from_stamp("Fri, 3 Apr 2026 10:00:00 +0200", "mail", TODAY)) == "2026-04-03"


def test_the_recorder_decides_the_day_of_a_recording() -> None:
    assert chosen_date("", None, "audio", from_stamp("2026-04-03T10:00:00Z", "properties", TODAY)) == "2026-04-03"


def test_a_date_from_two_sources_has_more_confidence() -> None:
    text = find_dates("We met on 3 April 2026", "en", "doc-to-markdown", TODAY)
    alone = rank_dates(text, "document", TODAY)[0]
    both = rank_dates([*text, *filter(None, [from_name("2026-04-03.pdf", TODAY)])], "document", TODAY)[0]

    assert both.confidence > alone.confidence
    assert both.where == "name"


def test_a_date_that_one_program_gives_twice_has_no_more_confidence() -> None:
    made, changed = from_stamp("2026-05-22", "properties", TODAY), from_stamp("2026-05-22", "modified", TODAY)

    assert chosen_date("# Transcript\n\nFebruary 20, 2026, 8:32 PM\n", "en", "document", made, changed) == "2026-02-20"


def test_a_month_in_the_name_confirms_a_day_in_the_text() -> None:
    text = "The rope was delivered, and it is a good one, as all of us said when we met on 3 April 2026 in the harbour."

    assert chosen_date(text, "en", "document") is None
    assert chosen_date(text, "en", "document", from_name("Invoice April 2026.pdf", TODAY)) == "2026-04"
    in_text = find_dates("Notes, meeting 3 April 2026", "en", "x", TODAY)
    in_name = from_name("Notes April 2026.pdf", TODAY)
    assert in_name is not None
    assert (
        rank_dates([*in_text, in_name], "document", TODAY)[0].confidence
        > rank_dates(in_text, "document", TODAY)[0].confidence
    )


def test_a_file_made_from_an_old_file_is_not_dated_by_the_old_file() -> None:
    made, changed = from_stamp("2004-08-02", "properties", TODAY), from_stamp("2017-01-17", "modified", TODAY)

    assert chosen_date("", None, "document", made) == "2004-08-02"
    assert chosen_date("", None, "document", made, changed) is None


def test_a_label_may_announce_a_day_after_the_file_was_made() -> None:
    changed = from_stamp("2026-04-01", "modified", TODAY)

    assert chosen_date("Published: 20 April 2026", "en", "document", changed) == "2026-04-20"


def test_a_file_is_not_dated_after_its_last_change() -> None:
    changed = from_stamp("2026-04-01T10:00:00Z", "modified", TODAY)

    assert chosen_date("# Party\n\n3 June 2026\n", "en", "document") == "2026-06-03"
    assert chosen_date("# Party\n\n3 June 2026\n", "en", "document", changed) is None


CANDIDATES = st.builds(
    Candidate,
    st.dates(date(2020, 1, 1), TODAY).map(date.isoformat),
    st.just("x"),
    st.sampled_from(["exif", "mail", "name", "properties", "modified", "published", "image-ocr"]),
    st.floats(0.01, 0.95),
)


SAME_DAY_TWICE = [
    *(Candidate("2020-01-01", "x", "exif", 0.5) for _ in range(2)),
    *(Candidate("2021-01-01", "x", where, 0.375) for where in ("properties", "image-ocr")),
]


@example(SAME_DAY_TWICE, None)
@given(st.lists(CANDIDATES, max_size=5), st.sampled_from([None, "image", "document", "url", "audio"]))
def test_the_order_of_sources_only_decides_between_equals(candidates: list[Candidate], kind: str | None) -> None:
    found = rank_dates(candidates, kind, TODAY)
    assert [candidate.confidence for candidate in found] == sorted(
        (candidate.confidence for candidate in found), reverse=True
    )
    assert {candidate.date for candidate in found} == {candidate.date for candidate in candidates}
    first = choose_date(found)
    assert (first is None) is (not found or found[0].confidence < MIN_CONFIDENCE)
    for other in permutations(candidates, len(candidates)):
        again = rank_dates(other, kind, TODAY)
        assert [candidate.confidence for candidate in again] == [candidate.confidence for candidate in found]

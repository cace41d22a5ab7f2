"""The topics of texts, as tags."""

from __future__ import annotations

import pytest

from chyme.text.markdown_blocks import blocks_of
from chyme.understanding.classification.document_types import document_type_tags
from chyme.understanding.tags.clear_subjects import is_clear_subject
from chyme.understanding.tags.name_topics import find_column_topics, find_title_topics
from chyme.understanding.tags.person_names import find_person_words
from chyme.understanding.tags.phrases import Phrase, count_phrases
from chyme.understanding.tags.topics import find_topics

ALPS = """# Hiking in the Alps

Mountain huts offer beds to hikers in the Alps. Most mountain huts open in June and close in September.

A hiker should reserve a bed early, because huts are full in August. Figure 3 shows the huts on page 12.

The weather changes quickly in the mountains. A hiker needs a map, and mountain huts have maps to sell.

Several glaciers can be crossed with a guide. Glaciers are dangerous, and crossing glaciers takes experience.
"""


def tags(text: str, language: str | None = "en", title: str | None = None, most: int = 7) -> list[str]:
    return [topic.tag for topic in find_topics(blocks_of(text), title, language, most)]


def test_repeated_phrases_are_the_topics() -> None:
    found = tags(ALPS, title="Hiking in the Alps")
    assert {"mountain huts", "glaciers", "alps"} <= set(found)


def test_no_tag_is_furniture_a_number_a_month_or_a_verb() -> None:
    found = {word for tag in tags(ALPS * 2, most=20) for word in tag.split()}
    assert found.isdisjoint({"figure", "page", "12", "june", "august", "september", "several", "changes", "quickly"})


def test_tags_are_in_lower_case_and_share_no_word() -> None:
    found = tags(ALPS, title="Hiking in the Alps")
    words = [word for tag in found for word in tag.split()]
    assert len(words) == len(set(words))
    assert all(tag == tag.lower() for tag in found)


def test_singular_and_plural_are_one_topic() -> None:
    text = "The duck is here.\n\nMany ducks were there.\n\nA duck and the ducks are seen.\n"
    assert [tag for tag in tags(text) if tag.startswith("duck")] in (["duck"], ["ducks"])


def test_german_tags_are_nouns() -> None:
    text = (
        "Die elektronische Patientenakte hilft. Die Ärzte nutzen die Patientenakte schnell.\n\n"
        "Viele Patienten wollen schnell eine Patientenakte, und Patienten fragen schnell danach.\n"
    )
    found = tags(text, "de")
    assert "schnell" not in found
    assert any("patientenakte" in tag for tag in found)


def test_a_german_tag_is_in_its_base_form_if_that_occurs() -> None:
    text = "Die Kosten des Stromvertrags und die Dauer des Stromvertrags.\n\nDer Preis des Stromvertrags ist hoch.\n"
    assert "stromvertrags" in tags(text, "de")
    assert "stromvertrag" in tags(f"{text}\nEin Stromvertrag.\n", "de")


@pytest.mark.parametrize(
    ("language", "word", "topic"),
    [
        ("de", "EUR", "Farbe"),
        ("en", "CHF", "paint"),
        ("fr", "Madame", "peinture"),
        ("fr", "Monsieur", "peinture"),
        ("de", "Frau", "Farbe"),
        ("it", "domani", "vernice"),
        ("fr", "demain", "peinture"),
    ],
)
def test_currencies_salutations_and_today_are_no_tags(language: str, word: str, topic: str) -> None:
    found = tags(f"{word} {topic}.\n\n{topic}, {word}.\n\n{word}: {topic}!\n", language)
    assert topic.lower() in found
    assert word.lower() not in " ".join(found)


def test_today_and_tomorrow_are_no_tags_where_words_are_not_spaced() -> None:
    found = tags("明日は会議室で会います。\n\n今日は会議室を予約した。明日もです。\n\n今日、明日、会議室。\n", "ja")
    assert "会議室" in found
    assert not any(tag.startswith(("明日", "今日")) for tag in found)


def test_unspaced_script_has_topics_too() -> None:
    assert "会議室" in tags("会議室は二階です。\n\n会議室を予約した。\n\n会議室の鍵。\n", "ja")


def test_a_text_without_repetition_has_no_topics() -> None:
    assert tags("One apple fell. Somebody laughed about that.") == []


@pytest.mark.parametrize(
    ("text", "mime", "wanted"),
    [
        ("Invoice No. 12\n\nTotal amount due: $120.00 incl. VAT, payable by transfer", "application/pdf", ["invoice"]),
        ("Rechnung\nRechnungsnr. 7\nGesamtbetrag 99,00 EUR inkl. MwSt, IBAN DE02", "application/pdf", ["invoice"]),
        ("# Apple cake\n\nIngredients: 2 cups flour\n\nPreheat the oven, bake 40 minutes.", "text/plain", ["recipe"]),
        ("3 May 2024\n\nDear Mr Miller,\n\nthe flat is yours.\n\nYours faithfully", "application/pdf", ["letter"]),
        ("Minutes of the board\n\nAttendees: A, B\n\nAgenda: money. Resolved: yes.", "application/pdf", ["minutes"]),
        ("Corner Market\n\nMilk 2.49\nBread 3.19\nEgg 4.05\nTOTAL 9.73\nCASH 10.00\n10:12", "text/plain", ["receipt"]),
        ("R\nBROT 2,49 B\nMILCH 1,19 B\nEI 0,99 B\nSUMME 4,67\nBAR EUR 5,00\nBon-Nr.:12", "text/plain", ["receipt"]),
        ("Milk costs 2.49\nBread costs 3.19\nApples cost 4.05\nTotal: 9.73", "text/plain", []),
        ("Lebenslauf\n\nAusbildung\n2010 Kiel\n\nBerufserfahrung\n2015 Bonn", "application/pdf", ["cv"]),
        ("Curriculum Vitae\n\nEducation\n2010\n\nExperience\n2015", "application/pdf", ["cv"]),
        ("# Pancakes\n\nIngredients\n\n- 200 g flour\n- 300 ml milk\n\nMix it.", "text/markdown", ["recipe"]),
        ("Apfelkuchen\n\nZutaten\n200 g Mehl\n100 g Butter\n\nDen Teig kneten.", "text/plain", ["recipe"]),
        ("Contract of tenancy\n\nThe landlord lets the flat.\n\nSigned on 1 May 2024", "application/pdf", ["contract"]),
        ("Mietvertrag\n\nAnna als Vermieterin, Paul als Mieter\n\n§ 1 Die Wohnung", "application/pdf", ["contract"]),
        ("Protokoll der Sitzung\n\nAnwesend: Anna\nTagesordnung: Kasse", "application/pdf", ["minutes"]),
        ("Compte rendu\n\nPrésents : Marie\nOrdre du jour : budget", "application/pdf", ["minutes"]),
        ("Acta de la reunión\n\nAsistentes: María\nOrden del día: presupuesto", "application/pdf", ["minutes"]),
        ("Verbale della riunione\n\nPresenti: Maria\nOrdine del giorno: bilancio", "application/pdf", ["minutes"]),
        ("Notulen\n\nAanwezig: Jan\nAgenda: begroting", "application/pdf", ["minutes"]),
        ("def x(): pass", "text/x-python", ["source code"]),
        ("Hello", "message/rfc822", ["e-mail"]),
        ("We never got your invoice and wonder where it is.", "application/pdf", []),
        ("An agreement was reached on Tuesday, the minister said.", "text/html", []),
    ],
)
def test_the_document_type_is_tagged_where_the_evidence_is_strong(text: str, mime: str, wanted: list[str]) -> None:
    assert [tag for tag, _ in document_type_tags(text, None, mime)] == wanted


REPORT = """# Tidal energy in harbours

Ann Bell said that tidal energy is cheap. Mr Osei told the board that tidal energy is clean, and Osei laughed.

The turbines of tidal energy stand in the harbour. Bell and Osei saw the turbines, and the information is data.

Turbines need data and information. A. Lund wrote that turbines last, and Lund asked Osei to see to the turbines.
"""


def test_people_are_no_topics() -> None:
    found = " ".join(tags(REPORT, title="Tidal energy in harbours", most=10))
    assert "turbines" in found
    assert not {"ann", "bell", "osei", "lund"} & set(found.split())


def test_people_are_topics_if_the_title_names_them_and_the_text_is_about_them() -> None:
    text = "# The life of Ada Lovelace\n\n" + "Ada Lovelace wrote notes. Ada Lovelace knew engines.\n\n" * 3
    assert "ada lovelace" in tags(text, title="The life of Ada Lovelace")


def test_authors_and_senders_are_no_topics_though_the_title_names_them() -> None:
    text = "Carpentry of Zebulon: Zebulon writes.\n\nZebulon loves carpentry.\n\nCarpentry, says Zebulon, is Zebulon.\n"
    found = find_topics(blocks_of(text), "Carpentry of Zebulon", "en", 7, ["Zebulon Quist"])
    assert [topic.tag for topic in found] == ["carpentry"]


def test_a_general_noun_is_a_topic_only_with_another_word() -> None:
    text = "The data say it.\n\nClimate data are here, and climate data are there.\n\nThe data and climate data.\n"
    assert tags(text) == ["climate data"]


def test_verbs_are_no_topics() -> None:
    text = "They will anchor here.\n\nWe anchor and you anchor the yawl.\n\nThe yawl can anchor. A yawl, they say.\n"
    assert tags(text) == ["yawl"]


def test_a_part_of_a_longer_phrase_is_no_topic() -> None:
    text = "The tidal energy converter runs.\n\nA tidal energy converter hums.\n\nOne tidal energy converter broke.\n"
    assert tags(text) == ["tidal energy converter"]


def test_a_long_name_is_not_cut() -> None:
    name = "Eastport County Regional Harbour Transport Commission"
    text = f"The {name} met.\n\nMembers of the {name} ate.\n\nSo says the {name} of the ferry, a ferry, the ferry.\n"
    assert not any("regional" in tag for tag in tags(text) if " " in tag)


@pytest.mark.parametrize("junk", ["GmbH", "frac", "cookies", "subscribe", "RM", "Sdn", "pp"])
def test_words_of_form_are_no_topics(junk: str) -> None:
    text = f"{junk} paint.\n\nPaint, {junk}.\n\n{junk}: paint! {junk} paint\n"
    assert junk.lower() not in " ".join(tags(text)).split()


def test_an_address_is_no_topic() -> None:
    text = "Ropes, 12 Mill Road\n\nWrite to 12, Mill Road for ropes.\n\nRopes from 12 Mill Road.\n"
    assert "mill road" not in tags(text)


def test_the_title_of_a_short_text_gives_its_topics() -> None:
    assert [topic.tag for topic in find_title_topics("Annual report on tidal energy", "en", (), 2)] == ["tidal energy"]
    assert find_title_topics("Ada Lovelace", "en", (), 2) == []
    assert [topic.tag for topic in find_title_topics("Stadt bestellt neue Fähren", "de", (), 2)] == ["neue fähren"]


def test_the_columns_of_a_table_give_its_topics() -> None:
    columns = ("id", "date", "rainfall", "wind_speed", "value", "name")
    found = [topic.tag for topic in find_column_topics("harbour weather", columns, "en", 4)]
    assert found == ["harbour weather", "rainfall", "wind speed"]


def test_columns_with_peoples_names_are_no_topics() -> None:
    columns = ("Tom Brooks", "Anna Bell", "Robert Osei", "Maria Lund")
    assert find_column_topics("", columns, "en", 4) == []


def title_topics(title: str, language: str | None = "en") -> list[str]:
    return [topic.tag for topic in find_title_topics(title, language, (), 3)]


@pytest.mark.parametrize(
    ("title", "found"),
    [
        ("Sample page with tidal energy figures", ["tidal energy figures"]),
        ("Testing Linked Images", []),
        ("Test of custom Barcode128", ["custom barcode128"]),
        ("VML Image Test Document", ["vml image"]),
        ("Mussel farming", ["mussel farming"]),
        ("High tide pressure? We can help.", ["tide pressure"]),
        ("These are a few of my favorite things", []),
        ("Harbour rules via Ferry Tickets", ["harbour rules", "ferry tickets"]),
        ("Test document with embedded PDF’s", []),
    ],
)
def test_a_title_gives_whole_phrases_and_no_words_of_form(title: str, found: list[str]) -> None:
    assert title_topics(title)[: len(found) or None] == found


def test_a_title_in_a_language_whose_nouns_are_unknown_counts_as_a_whole_or_not_at_all() -> None:
    assert title_topics("Chính sách bảo hành", "vi") == ["chính sách bảo hành"]
    assert title_topics("Гляжу, поднимается медленно в гору", "ru") == []
    assert title_topics("เรือข้ามฟาก ท่าเรือ", "th") == []
    assert title_topics("Cina, il Grande", None) == []
    assert title_topics("A flora of tidal islands", None) == ["tidal islands", "flora"]


def test_words_that_recur_a_few_times_are_no_topics_where_nouns_are_not_told_from_verbs() -> None:
    verse = "Лошадка поднимается в гору.\n\nЛошадка везёт хворост.\n\nГде та лошадка теперь?\n\n"
    assert tags(verse, "ru") == []
    assert "паром" in tags("Паром пришёл. Где паром?\n\nЭтот паром стар.\n\nПаром ушёл.\n\nПаром здесь.\n", "ru")


def test_a_header_or_footer_of_every_page_is_no_topic() -> None:
    pages = "".join(f"Harbour Trust bulletin page {number}\n\n" for number in range(9))
    assert count_phrases(blocks_of(pages), None, "en")["harbour", "trust"].count == 2


def test_a_word_before_a_general_noun_is_no_topic_alone() -> None:
    text = "Custom things help.\n\nWe like custom things.\n\nMany custom results came.\n\nCustom values count.\n"
    assert "custom" not in tags(text)


def test_a_verb_is_no_topic_even_after_no_pronoun() -> None:
    text = (
        "Press erase twice; erase, rewind and play.\n\nErasing is quick, and erase works on tape.\n\n"
        "Then erase again. The tape of the machine is erased; the tape is long.\n"
    )
    assert "erase" not in tags(text) and "tape" in tags(text)


@pytest.mark.parametrize("junk", ["x-c", "xxxxx", "sub"])
def test_formulas_masked_names_and_short_words_are_no_topics(junk: str) -> None:
    text = f"The {junk} and paint.\n\nPaint the {junk}.\n\nA {junk} for paint. Some {junk} of paint.\n"
    assert junk not in tags(text)


def test_an_e_mail_address_is_no_topic() -> None:
    text = "Write to slava.gullmann@example.org.\n\nOr to gullmann@example.org.\n\nNot to a.gullmann@example.net.\n"
    assert not any("gullmann" in tag for tag in tags(text * 2))


@pytest.mark.parametrize(
    ("text", "name"),
    [
        ("Tides were modelled by Zhang et al. before.", "zhang"),
        ("See Lund and Osei (2019) for boats.", "osei"),
        ("F7 Jane Sterling: too many ducks", "sterling"),
        ("Before LOKEN and WOLLMAN, Circuit Judges.", "wollman"),
        ("Author: Allison, Timothy", "allison"),
        ("12 Quay Street, Springfield, IL 62703", "springfield"),
    ],
)
def test_names_in_citations_comments_courts_and_addresses_are_known(text: str, name: str) -> None:
    assert name in find_person_words(text)


def test_the_first_name_of_a_person_in_the_title_is_no_topic_alone() -> None:
    text = "".join(f"Nichole saw ferry {number}. Marie Jagels did not. Jagels left.\n\n" for number in "abcde")
    assert "nichole" not in tags(text, title="Nichole Marie Jagels")


def test_a_file_name_gives_a_topic_only_if_it_ends_with_one() -> None:
    def named(title: str) -> list[str]:
        return [topic.tag for topic in find_column_topics(title, (), "en", 4, is_file_name=True)]

    assert named("harbour weather") == ["harbour weather"]
    assert named("boats weather") == ["weather"]
    assert named("ducks csv") == named("semicolon delimited") == named("ferry lookup groups") == []


def test_a_text_in_an_alphabet_without_spaces_has_no_topics() -> None:
    assert tags("เรือข้ามฟาก cosine เรือ\n\nเรือ cosine ท่าเรือ\n\ncosine ท่าเรือ cosine\n" * 3, "th") == []


def phrase(*keys: str, count: int, places: int, first: float = 0.1, capitals: bool = False) -> Phrase:
    return Phrase(
        keys, first, count=count, body=count, inside=count, capitals=count * capitals, places=set(range(places))
    )


@pytest.mark.parametrize(
    ("found", "words", "is_clear"),
    [
        (phrase("ferry", count=6, places=4), 900, True),
        (phrase("ferry", count=5, places=4), 900, False),
        (phrase("ferry", count=6, places=3), 900, False),
        (phrase("ferry", count=6, places=4), 9_000, False),
        (phrase("ferry", count=6, places=4, first=0.9), 900, False),
        (phrase("ferry", count=3, places=1), 150, True),
        (phrase("gullport", count=4, places=3, capitals=True), 900, True),
        (phrase("tidal", "energy", count=3, places=2), 900, True),
        (phrase("tidal", "energy", count=2, places=2), 900, False),
        (phrase("port", "authority", count=2, places=1, capitals=True), 300, True),
    ],
)
def test_a_subject_is_clear_if_it_is_early_frequent_and_spread(found: Phrase, words: int, is_clear: bool) -> None:
    assert is_clear_subject(found, words, "en") is is_clear


def test_a_subject_that_the_title_or_a_heading_names_needs_fewer_mentions() -> None:
    rare = phrase("ferry", count=1, places=1)
    rare.titled = True
    assert is_clear_subject(rare, 900, "en")
    headed = phrase("ferry", count=4, places=4)
    assert not is_clear_subject(headed, 900, "en")
    headed.raised = True
    assert is_clear_subject(headed, 900, "en")


FERRIES = "The ferries of the bay are old, and nobody wants to pay for new ones before the end of the war.\n\n"


def test_beside_a_subject_of_the_title_only_clear_ones_are_topics() -> None:
    text = FERRIES * 30 + "A lantern hung there.\n\nThe lantern was green, and a lantern is cheap.\n\n"
    assert tags(f"# Ferries\n\n{text}", title="Ferries") == ["ferries"]
    assert "lantern" in tags(
        f"# Ferries\n\n{text}" + "The lantern shone.\n\nIt was a lantern.\n\n" * 2, title="Lantern"
    )


def test_kinds_of_writing_are_subjects_only_in_a_title() -> None:
    text = "A tidal study of the bay is new.\n\nThe tidal study costs much, and the tidal study is long.\n\n" * 2
    assert not any("study" in tag for tag in tags(text))
    assert "tidal study" in tags(text, title="The tidal study")


def test_a_relative_with_a_name_is_no_topic() -> None:
    text = (
        "The mayor and his wife Greta saw the harbour. His wife Greta likes it.\n\nThen Greta left the harbour.\n\n" * 3
    )
    found = tags(text, title="The mayor and his wife Greta at the harbour")
    assert not any("greta" in tag for tag in found)
    assert "harbour" in found


def test_a_command_in_capitals_is_no_topic_where_the_text_has_it_as_a_verb() -> None:
    text = "Hold ERASE and press a key.\n\nTo erase a note press ERASE or STOP.\n\nNotes are erased by the ERASE.\n\n"
    assert "erase" not in tags(text * 2)


def test_fields_with_their_values_give_no_topics_of_a_title() -> None:
    assert find_title_topics("Boat: gull Port: Hull", "en", (), 5) == []
    assert title_topics("Tidal energy: gull harbours") != []


def test_a_title_gives_no_phrase_that_ends_with_an_adjective() -> None:
    assert "ferry good" not in title_topics("Ferry Good Credit")

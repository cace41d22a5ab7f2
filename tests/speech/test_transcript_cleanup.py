"""What the rules correct in a transcript, and what they leave alone."""

from __future__ import annotations

import csv
from pathlib import Path

import pytest
from spoken import sample, transcript_of

from chyme.speech.transcripts.cleanup_rules import clean_segments, strip_fillers


def tidy(language: str | None, *lines: str | tuple[str, str]) -> list[str]:
    return list(clean_segments(transcript_of(lines, language).segments, language))


@pytest.mark.parametrize(
    ("language", "spoken", "text"),
    [
        ("en", "um so we met, uh, at noon", "So we met at noon."),
        ("en", "I, um, think the uhh plan works erm.", "I think the plan works."),
        ("en", "Yes, um, I think so.", "Yes, I think so."),
        ("en", "Well, uh. okay.", "Well. Okay."),
        ("de", "Ähm, wir gehen um die Ecke, ähh, nach Hause.", "Wir gehen um die Ecke nach Hause."),
        ("fr", "Euh, je pense, euh, que oui.", "Je pense que oui."),
        ("es", "eh, bueno, ehm el plan está listo.", "Bueno, el plan está listo."),
        ("it", "Ehm, il piano uhm è pronto.", "Il piano è pronto."),
        ("nl", "uh ik denk eh dat het kan.", "Ik denk dat het kan."),
        ("pt", "ehm eu tenho um carro.", "Eu tenho um carro."),
        ("sv", "ehm det går bra", "Det går bra"),
        (None, "uhm c'est la vie", "C'est la vie"),
    ],
)
def test_fillers_go(language: str | None, spoken: str, text: str) -> None:
    assert tidy(language, spoken) == [text]


@pytest.mark.parametrize(
    ("language", "spoken"),
    [
        ("en", "Uh-huh, she works in the ER at UM."),
        ("en", "Uh? You did what?"),
        ("de", "Er bat um Hilfe, um zu helfen."),
        ("nl", "Er is er een jarig."),
        ("pt", "Um dia, um amigo veio em paz."),
        ("es", "Así es, ¿eh? Claro."),
        ("fr", "Eux, ils ont peur."),
    ],
)
def test_words_that_mean_something_stay(language: str, spoken: str) -> None:
    assert tidy(language, spoken) == [spoken]


@pytest.mark.parametrize(
    ("language", "spoken", "text"),
    [
        ("en", "The the plan is in the in the drawer.", "The plan is in the drawer."),
        ("en", "I- I think, I, I know th- the w-w-way.", "I think, I know the way."),
        ("en", "And I — I said I-I-I'm fine.", "And I said I'm fine."),
        ("de", "Ich ich habe ein ein Haus und und einen Hund.", "Ich habe ein Haus und einen Hund."),
        ("fr", "Je je crois que c'est c'est vrai.", "Je crois que c'est vrai."),
        ("es", "El el perro y y el gato.", "El perro y el gato."),
        ("it", "Il il cane e e il gatto.", "Il cane e il gatto."),
        ("nl", "De de hond en en ik ik.", "De hond en ik."),
        ("pt", "Eu eu acho que de de manhã.", "Eu acho que de manhã."),
    ],
)
def test_stutters_go(language: str, spoken: str, text: str) -> None:
    assert tidy(language, spoken) == [text]


@pytest.mark.parametrize(
    ("language", "spoken"),
    [
        ("en", "He had had that that day, very very late; no, no, bye bye."),
        ("en", "Call five five five, 5 5 5, about D-Day, a t-test and an A A battery."),
        ("en", "They moved in in May to Baden Baden."),
        ("de", "Die Frau, die die Katze hat, spricht von von der Leyen, Vor- und Nachteile."),
        ("fr", "Nous nous levons, vous vous levez, prenez-le le matin."),
        ("it", "Piano piano, via via, così così."),
        ("sv", "Den den där."),
    ],
)
def test_words_rightly_repeated_stay(language: str, spoken: str) -> None:
    assert tidy(language, spoken) == [spoken]


@pytest.mark.parametrize(
    ("language", "spoken", "text"),
    [
        ("en", "  Hello ,world  !  Fine;; thanks.. Right ?", "Hello, world! Fine; thanks. Right?"),
        ("en", "What?? No!! Well,. yes?.", "What? No! Well. Yes?"),
        ("en", "It costs 1,000.50 at 10:30, e.g. at example.com .", "It costs 1,000.50 at 10:30, e.g. at example.com."),
        ("en", "Wait... .NET and C:\\x.", "Wait... .NET and C:\\x."),
        ("fr", "Ça va ? Oui ! Bien : merci .", "Ça va ? Oui ! Bien : merci."),
        ("fr", "Ça va\u00a0? Oui\u202f!", "Ça va\u00a0? Oui\u202f!"),
        ("en", "A\x00b\u202ec\ud800.", "A b c."),
    ],
)
def test_spacing_and_marks_are_put_right(language: str, spoken: str, text: str) -> None:
    assert tidy(language, spoken) == [text]


def test_a_sentence_begins_with_a_capital_and_goes_on_without_one() -> None:
    lines = [
        "we went to",
        "the harbour. it rained",
        "and then it stopped.",
        "iPhone sales rose.",
        "www.example.com is down.",
    ]
    assert tidy("en", *lines) == [
        "We went to",
        "the harbour. It rained",
        "and then it stopped.",
        "iPhone sales rose.",
        "www.example.com is down.",
    ]
    assert tidy("de", "das war ca. zehn Mal usw. und so weiter.") == ["Das war ca. zehn Mal usw. und so weiter."]
    assert tidy("en", 'he asked "why?" and left') == ['He asked "why?" and left.']
    assert tidy("tr", "istanbul güzel.") == ["İstanbul güzel."]
    assert tidy("nl", "ijs is koud.") == ["IJs is koud."]


def test_a_new_speaker_begins_a_sentence_and_ends_the_one_before() -> None:
    lines = [("speaker-1", "we should go"), ("speaker-2", "yeah"), ("speaker-2", "why not")]
    assert tidy("en", *lines) == ["We should go.", "Yeah", "why not"]


def test_a_full_stop_is_set_only_where_a_new_sentence_is_certain() -> None:
    assert tidy("en", "we left", "The boat was late") == ["We left.", "The boat was late."]
    assert tidy("en", "we met", "Anna there") == ["We met", "Anna there."], "a name proves nothing"
    assert tidy("en", "and then", "I left") == ["And then", "I left."]
    assert tidy("de", "wir sahen", "Sie gestern") == ["Wir sahen", "Sie gestern."]
    assert tidy("en", ("a", "how are you"), ("b", "fine,"), ("a", "well -")) == ["How are you", "Fine,", "Well -"]
    assert tidy("sv", "det är bra") == ["Det är bra"], "no rules exist for this language"


def test_the_english_i_is_large() -> None:
    assert tidy("en", "so i think i'm late, i.e. i’ll run, and so do i") == [
        "So I think I'm late, i.e. I’ll run, and so do I."
    ]
    assert tidy("it", "i gatti e i cani.") == ["I gatti e i cani."]


def test_a_segment_that_would_become_empty_keeps_its_text() -> None:
    assert tidy("en", "Um.", "uh, um", " ", "...") == ["Um.", "uh, um", " ", "..."]


@pytest.mark.parametrize(
    ("language", "spoken", "text"),
    [
        ("zh", " 我们  讨论了，，这个。嗯 um", "我们 讨论了，，这个。嗯 um"),
        ("ja", "えーと、 あの あの\n人", "えーと、 あの あの 人"),
        ("ko", "음  그  그 사람", "음 그 그 사람"),
    ],
)
def test_only_the_spacing_of_unspaced_scripts_is_changed(language: str, spoken: str, text: str) -> None:
    assert tidy(language, spoken) == [text]


@pytest.mark.parametrize("name", ["meeting.en", "lecture.de", "interview.fr"])
def test_correcting_twice_changes_nothing_more(name: str) -> None:
    transcript = sample(name)
    once = clean_segments(transcript.segments, transcript.language)
    again = transcript_of(
        [(segment.speaker or "", text) for segment, text in zip(transcript.segments, once, strict=True)]
    )
    assert clean_segments(again.segments, transcript.language) == once
    assert sum(segment.text != text for segment, text in zip(transcript.segments, once, strict=True)) >= 2


def test_nothing_is_left_of_a_filler() -> None:
    assert strip_fillers("Um, uh.", "en") == ""
    assert strip_fillers("um yes", "en") == "yes"


def test_hostile_text_costs_no_time() -> None:
    for piece in ("um, ", ",", ".", "?!", "a-", "I-", "the ", "'", " .", "\u00a0", "- "):
        text = piece * (40_000 // len(piece))
        assert len(tidy("en", text)) == 1


def test_real_transcripts_keep_their_words(corpus: Path) -> None:
    with (corpus / "speech" / "transcripts.tsv").open(newline="") as rows:
        texts = [row["text"] for row in csv.DictReader(rows, delimiter="\t")]
    assert texts
    for text in texts:
        (done,) = tidy("en", text)
        assert done.lower().removesuffix(".").split() == text.split()
        assert done[0].isupper()
        assert done.endswith(".")

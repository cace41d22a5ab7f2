"""A summary picked from the transcript itself."""

from __future__ import annotations

import pytest
from growth import cpu_seconds
from spoken import sample, transcript_of

from chyme.model import Segment, Transcript
from chyme.speech.transcripts.extractive_summary import extract_summary, is_short
from chyme.text.action_phrases import asks_for_action, is_question
from chyme.text.function_words import language_of
from chyme.text.key_phrases import key_phrases
from chyme.text.sentences import ranks, sentence_spans, sentences_of, terms_of, word_count


def test_a_meeting_is_summarised_by_its_subject() -> None:
    meeting = sample("meeting.en")
    summary = extract_summary(meeting)
    transcript = " ".join(segment.text for segment in meeting.segments)

    assert summary.takeaway == (
        "The budget for the pier is about forty thousand over what the council approved in March. "
        "With two ferries at the north quay, half of the old pier could be closed in June."
    )
    assert {"Pier", "Harbour project", "Budget"} <= {topic.text for topic in summary.topics}
    assert [(point.text, point.speaker) for point in summary.actions] == [
        (
            "Anna, could you please write to the steel supplier and ask for a price in two parts by Friday?",
            "speaker-1",
        ),
        ("Yes, I'll send the letter tomorrow.", "speaker-3"),
        ("And we need to prepare the report for the council before the end of the month.", "speaker-1"),
        ("I will write the part about the budget.", "speaker-2"),
    ]
    assert [point.text for point in summary.questions] == [
        "Could we use wood instead of steel for the upper deck?",
        "What does the harbour master say about closing the old pier in summer?",
        "Who takes the part about the ferries?",
    ]
    assert all(point.text in transcript for point in summary.questions)


def test_points_refer_to_the_moment_they_were_spoken() -> None:
    meeting = sample("meeting.en")
    source = next(segment for segment in meeting.segments if "wood instead" in segment.text)
    question = next(point for point in extract_summary(meeting).questions if "wood" in point.text)
    assert question.seconds == source.start


def test_a_german_lecture() -> None:
    summary = extract_summary(sample("lecture.de"))
    assert summary.takeaway.startswith("Die Gezeiten entstehen, weil der Mond das Wasser der Erde anzieht")
    assert {"Mond", "Flut", "Gezeiten"} <= {topic.text for topic in summary.topics}
    (task,) = summary.actions
    assert task.text.startswith("Bitte lesen Sie bis Donnerstag")
    assert task.speaker is None, "there is only one speaker"
    assert len(summary.questions) == 2


def test_a_french_interview() -> None:
    summary = extract_summary(sample("interview.fr"))
    assert "levain" in summary.takeaway
    assert {"Pain", "Levain", "Four"} <= {topic.text for topic in summary.topics}
    assert any("changer le four avant l'hiver" in point.text for point in summary.actions)
    assert any(point.text.startswith("Comment avez-vous appris") for point in summary.questions)


def test_a_short_transcript_is_its_own_summary() -> None:
    short = transcript_of(["um we need to go", "Could you please call me back at noon?"])
    assert is_short(short)
    summary = extract_summary(short)
    assert summary.takeaway == "We need to go. Could you please call me back at noon?"
    assert (summary.topics, summary.actions, summary.questions) == ((), (), ())
    assert extract_summary(transcript_of(["今天我们讨论。", "明天再说。"], "zh")).takeaway == "今天我们讨论。明天再说。"


def test_chinese_is_counted_by_letters_and_split_at_its_own_marks() -> None:
    lines = [
        "今天我们讨论预算问题。预算超出了四万元！",
        "预算需要市议会批准，请下周之前准备报告。",
        "新码头什么时候可以开放使用？",
    ] * 3
    spoken = transcript_of(lines, "zh")
    assert not is_short(spoken)
    summary = extract_summary(spoken)
    assert summary.takeaway.endswith(("。", "！"))
    assert "预算" in summary.takeaway
    assert summary.questions[0].text == "新码头什么时候可以开放使用？"
    assert summary.actions[0].text == "预算需要市议会批准，请下周之前准备报告。"
    assert summary.topics


def test_an_unknown_language_still_has_a_takeaway_and_questions() -> None:
    lines = ["Hamnen ska byggas om under nästa år med nya kajer.", "När börjar arbetet med hamnen egentligen?"] * 6
    summary = extract_summary(transcript_of(lines, "sv"))
    assert "Hamnen" in summary.takeaway
    assert summary.actions == ()
    assert len(summary.questions) == 6


def test_a_silent_transcript_has_an_empty_summary() -> None:
    assert extract_summary(Transcript("en", "m", 3.0, ())).takeaway == ""
    assert extract_summary(transcript_of([" ", ""])).takeaway == ""


def test_sentences_cross_segments_but_not_speakers() -> None:
    transcript = transcript_of(
        [("a", "We met Dr. Smith on"), ("a", "the 5. May. It rained."), ("a", "And then"), ("b", "yes it did?")]
    )
    found = sentences_of(transcript.segments, [segment.text for segment in transcript.segments])
    assert [(sentence.text, sentence.speaker) for sentence in found] == [
        ("We met Dr. Smith on the 5. May.", "a"),
        ("It rained.", "a"),
        ("And then", "a"),
        ("yes it did?", "b"),
    ]
    assert found[0].seconds == 0.0
    assert found[1].seconds == pytest.approx(transcript.segments[1].words[3].start)


def test_without_words_a_moment_is_found_in_proportion() -> None:
    segment = Segment(10.0, 20.0, "aaaa aaaa. Bbbb bbbb.")
    assert sentences_of([segment], [segment.text])[1].seconds == pytest.approx(10 + 10 * 11 / 21)


def test_speech_without_full_stops_is_cut_at_pauses() -> None:
    long = transcript_of(["one two three four five six seven eight nine ten"] * 30, "sv")
    found = sentences_of(long.segments, [segment.text for segment in long.segments])
    assert len(found) == 5
    assert max(sentence.words for sentence in found) <= 60


def test_the_text_that_shares_most_with_the_others_ranks_first() -> None:
    bags = [{"pier", "steel"}, {"pier", "budget", "steel"}, {"budget", "council"}, {"lunch", "soup"}]
    scores = ranks(bags)
    assert max(range(4), key=scores.__getitem__) == 1
    assert min(range(4), key=scores.__getitem__) == 3
    assert ranks([]) == []
    assert len(ranks([set(), {"alone"}])) == 2


def test_key_phrases_are_repeated_and_share_no_word() -> None:
    texts = [
        "The harbour project is late.",
        "Nobody likes the harbour project.",
        "The harbour is old.",
        "It really rained.",
    ]
    assert key_phrases(texts, "en", 5)[0] == ("Harbour project", 0)
    more_texts = [*texts, "Ask the harbour master.", "The harbour master sleeps.", "Steel is steel."]
    assert [phrase for phrase, _ in key_phrases(more_texts, "en", 9)] == ["Harbour", "Steel"]
    assert key_phrases(["Nothing twice here."], "en", 5) == []


@pytest.mark.parametrize(
    ("language", "sentence"),
    [
        ("en", "We need to call them."),
        ("en", "I'll send you the file."),
        ("en", "Can you please check?"),
        ("de", "Das müssen wir bis Freitag klären."),
        ("de", "Bitte bis morgen erledigen."),
        ("fr", "Il faut prévenir la mairie."),
        ("es", "Tenemos que hablar con ellos."),
        ("it", "Dobbiamo finire entro venerdì."),
        ("nl", "We moeten de klant bellen."),
        ("pt", "Precisamos de mais tempo."),
        ("zh", "请把报告发给我。"),
        ("ja", "明日までに送ってください。"),
    ],
)
def test_an_action_is_recognised(language: str, sentence: str) -> None:
    assert asks_for_action(sentence, language) > 0


@pytest.mark.parametrize(
    ("language", "sentence"),
    [
        ("en", "The boat left by Friday."),
        ("en", "They had to leave."),
        ("de", "Das Haus ist alt."),
        ("fr", "Comment avez-vous appris à faire le pain ?"),
        ("zh", "请问你是谁"),
        ("sv", "We need to call them."),
        (None, "We need to call them."),
    ],
)
def test_a_statement_is_no_action(language: str | None, sentence: str) -> None:
    assert asks_for_action(sentence, language) == 0


def test_a_day_makes_an_action_more_likely() -> None:
    assert asks_for_action("We need to call by Friday.", "en") > asks_for_action("We need to call.", "en")


@pytest.mark.parametrize(
    "question",
    ["Who takes the minutes today?", "Was machen wir morgen?", 'Is it "really so far?"', "新码头什么时候开放？"],
)
def test_questions(question: str) -> None:
    assert is_question(question)


@pytest.mark.parametrize(
    "text", ["Right?", "You know?", "That is good news, right?", "Das geht so, oder?", "是吗？", "No."]
)
def test_texts_that_are_no_question(text: str) -> None:
    assert not is_question(text)


@pytest.mark.parametrize(
    ("text", "language"),
    [
        ("We went to the harbour and it was not there.", "en"),
        ("Wir gehen heute nicht in die Stadt, weil es regnet.", "de"),
        ("Nous sommes allés dans la ville avec elle.", "fr"),
        ("No sabemos lo que está pasando con el puerto y los barcos.", "es"),
        ("Non sappiamo che cosa è successo nella città.", "it"),
        ("We weten niet wat er in de stad gebeurt.", "nl"),
        ("Não sabemos o que está acontecendo na cidade.", "pt"),
        ("Harbour project budget", None),
        ("今天我们讨论预算", None),
        ("", None),
    ],
)
def test_small_words_reveal_a_language(text: str, language: str | None) -> None:
    assert language_of(text) == language


def test_words_are_counted_in_any_script() -> None:
    assert word_count("It's a well-known fact.") == 4
    assert word_count("今天我们讨论") == 3
    assert terms_of("The harbours of Übersee", frozenset({"the"})) == ["harbour", "ubersee"]
    assert terms_of("讨论预算", frozenset()) == ["讨论", "论预", "预算"]


def test_hours_of_talk_cost_no_more_than_their_lines_compared_with_each_other() -> None:
    base = [segment.text for segment in sample("meeting.en").segments]
    lines = [f"{base[at % len(base)].rstrip('.')} thing{at % 701} matter{at % 997}." for at in range(1200)]
    part, all_of_it = (transcript_of(lines[:count]) for count in (300, 1200))
    assert cpu_seconds(lambda: extract_summary(all_of_it)) < 3 * 4**2 * cpu_seconds(lambda: extract_summary(part))


@pytest.mark.parametrize(
    ("text", "sentences"),
    [
        ("One is here. Two is there.\nThree", ["One is here.", "Two is there.", "Three"]),
        ("Dr. Reed came on 5. May. He left.", ["Dr. Reed came on 5. May.", "He left."]),
        ("  # Title\n\n  Text (so).  Next ", ["# Title", "Text (so).", "Next"]),
        ("租金九百。租约由王先生签署。", ["租金九百。", "租约由王先生签署。"]),
        ("", []),
    ],
)
def test_the_spans_of_written_sentences(text: str, sentences: list[str]) -> None:
    assert [text[start:end] for start, end in sentence_spans(text)] == sentences

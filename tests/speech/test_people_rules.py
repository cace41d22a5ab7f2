"""Which voice belongs to which person, and which person a name refers to: decided without a database."""

from __future__ import annotations

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from chyme.core.vectors import normalise, pack_vector, unpack_vector
from chyme.errors import UsageError
from chyme.model import Voice
from chyme.speech.people.names import (
    Person,
    clean_name,
    display_name,
    find_by_name,
    no_match_message,
    parse_person_number,
    skipped_in,
)
from chyme.speech.people.speaker_identification import (
    KnownVoice,
    VoiceAssignment,
    VoiceGroup,
    assign_voices,
    compute_centroid,
)

PEOPLE = [Person(1, "Ada Lovelace"), Person(2, "José"), Person(3, "山田太郎"), Person(4, None), Person(5, "Ada")]


def at(degrees: float) -> tuple[float, float]:
    """A sound: the smaller the angle between two sounds, the more alike they are."""
    return math.cos(math.radians(degrees)), math.sin(math.radians(degrees))


def voice(degrees: float, speaker: str = "speaker-1", seconds: float = 10.0, model: str = "m") -> Voice:
    return Voice(speaker, seconds, model, at(degrees))


def known(id_: int, degrees: float, person_id: int, speaker: str = "speaker-1", model: str = "m") -> KnownVoice:
    return KnownVoice(id_, speaker, 10.0, model, at(degrees), 10 + id_, person_id)


def test_no_person_is_known_at_first() -> None:
    assert assign_voices([voice(0), voice(90, "speaker-2")], [], {}, 0.75) == [
        VoiceAssignment(voice(0)),
        VoiceAssignment(voice(90, "speaker-2")),
    ]


def test_the_best_of_a_persons_groups_counts() -> None:
    groups = [VoiceGroup(1, 1, at(0)), VoiceGroup(2, 1, at(90)), VoiceGroup(3, 2, at(60))]

    assert assign_voices([voice(88)], [], {"m": groups}, 0.75)[0].group_id == 2


def test_the_most_alike_pair_comes_first_and_a_person_is_taken_once() -> None:
    groups = {"m": [VoiceGroup(1, 1, at(0)), VoiceGroup(2, 1, at(20)), VoiceGroup(3, 2, at(-20))]}
    first, second = assign_voices([voice(5), voice(1, "speaker-2")], [], groups, 0.75)

    assert (second.person_id, second.group_id) == (1, 1)
    assert (first.person_id, first.group_id) == (2, 3)


def test_a_voice_of_the_file_keeps_its_person_though_another_sounds_more_alike() -> None:
    groups = {"m": [VoiceGroup(11, 1, at(10)), VoiceGroup(12, 2, at(0))]}

    assert assign_voices([voice(0)], [known(1, 10, 1)], groups, 0.75) == [VoiceAssignment(voice(0), 1, 1, 11)]


def test_known_voices_take_their_persons_before_other_speakers_do() -> None:
    before = [known(1, 0, 1)]
    groups = {"m": [VoiceGroup(11, 1, at(0))]}
    placed = assign_voices([voice(0, "speaker-2"), voice(1)], before, groups, 0.75)

    assert [each.known_id for each in placed] == [None, 1]  # equally alike: the label decides
    assert [each.person_id for each in placed] == [None, 1]


def test_another_model_goes_by_label_and_length() -> None:
    before = [known(1, 0, 7), known(2, 90, 8, "speaker-2")]
    voices = [voice(50, model="n"), voice(120, "speaker-2", 30.0, "n")]
    placed = assign_voices(voices, before, {"n": [VoiceGroup(5, 7, at(52)), VoiceGroup(6, 8, at(50))]}, 0.75)

    assert placed[0] == VoiceAssignment(voices[0], 1, 7, 5)  # the person's own group, though another is nearer
    assert placed[1] == VoiceAssignment(voices[1], None, None, None)  # speaks three times as long: not the same part


def test_vectors_that_cannot_be_compared_are_strangers() -> None:
    long = Voice("speaker-1", 10.0, "m", (1.0, 0.0, 0.0))
    zero, odd = Voice("speaker-2", 10.0, "m", (0.0, 0.0)), Voice("speaker-3", 10.0, "m", (math.nan, 1.0))

    placed = assign_voices([long, zero, odd], [], {"m": [VoiceGroup(1, 1, at(0))]}, 0.75)
    assert [each.person_id for each in placed] == [None, None, None]


@given(
    st.lists(st.floats(0, 360), max_size=6),
    st.lists(st.tuples(st.floats(0, 360), st.integers(1, 4)), max_size=6),
    st.lists(st.tuples(st.floats(0, 360), st.integers(1, 4)), max_size=4),
)
def test_every_voice_has_one_place_and_no_person_is_recognised_twice(
    angles: list[float], groups: list[tuple[float, int]], before: list[tuple[float, int]]
) -> None:
    voices = [voice(degrees, f"speaker-{number}") for number, degrees in enumerate(angles, 1)]
    old = [known(number, degrees, person, f"speaker-{number}") for number, (degrees, person) in enumerate(before, 1)]
    placed = assign_voices(
        voices, old, {"m": [VoiceGroup(n, person, at(d)) for n, (d, person) in enumerate(groups)]}, 0.75
    )

    assert [each.voice for each in placed] == voices
    known_ids = [each.known_id for each in placed if each.known_id is not None]
    recognised = [each.person_id for each in placed if each.known_id is None and each.person_id is not None]
    assert len(set(known_ids)) == len(known_ids)
    assert len(set(recognised)) == len(recognised)
    assert not {each.person_id for each in placed if each.known_id is not None} & set(recognised)


def test_long_voices_weigh_more_but_not_without_end() -> None:
    even = compute_centroid([(60.0, at(0)), (6000.0, at(90))])
    short = compute_centroid([(60.0, at(0)), (6.0, at(90))])

    assert even == pytest.approx(at(45))
    assert math.degrees(math.atan2(short[1], short[0])) == pytest.approx(5.7, abs=0.1)


def test_vectors_are_kept_as_float32() -> None:
    vector = normalise((3.0, 4.0))

    assert len(pack_vector(vector)) == 8
    assert unpack_vector(pack_vector(vector)) == pytest.approx((0.6, 0.8))


@pytest.mark.parametrize(
    ("name", "found"),
    [
        ("ada", [5]),  # a whole name before a part of one
        ("ADA LOVELACE", [1]),
        ("lovelace", [1]),
        ("love", []),
        ("jose", [2]),
        ("José", [2]),
        ("山田", [3]),
        ("山", [3]),
        ("", []),
        ("-", []),
    ],
)
def test_a_name_finds_its_people(name: str, found: list[int]) -> None:
    assert [person.id for person in find_by_name(name, PEOPLE)] == found


@pytest.mark.parametrize(
    ("text", "number"), [("3", 3), ("Person 3", 3), (" person  12 ", 12), ("#7", 7), ("Ada", None)]
)
def test_a_number_means_a_person(text: str, number: int | None) -> None:
    assert parse_person_number(text) == number


def test_people_without_a_name_are_counted() -> None:
    assert [display_name(person) for person in PEOPLE[3:]] == ["Person 4", "Ada"]


@pytest.mark.parametrize(
    ("given_", "expected"), [("  Ada \n Lovelace", "Ada Lovelace"), ("R2-D2", "R2-D2"), ("نیما‌پور", "نیما‌پور")]
)
def test_names_are_tidied(given_: str, expected: str) -> None:
    assert clean_name(given_) == expected


@pytest.mark.parametrize("name", ["", "7", "Person 7", "NEW", "a\x00b", "x" * 101, "a\udc80", "\u202eabc"])
def test_invalid_names_are_refused(name: str) -> None:
    with pytest.raises(UsageError):
        clean_name(name)


def test_the_message_suggests_known_names() -> None:
    assert no_match_message("Jsoe", PEOPLE) == "nobody here is called “Jsoe”; is it José?"
    assert no_match_message("Zoe", PEOPLE) == "nobody here is called “Zoe”; known are Ada, Ada Lovelace, José, 山田太郎"
    assert "chyme people name" in no_match_message("Zoe", [Person(4, None)])
    many = [Person(number, f"Q{letter}") for number, letter in enumerate("abcdefgh")]
    assert no_match_message("Zoe", many).endswith("known are Qa, Qb, Qc, Qd, Qe and 3 more")


@pytest.mark.parametrize("content", [None, "", "no json", "[]", '{"skipped": 3}', '{"skipped": [1]}'])
def test_a_digest_of_another_shape_skips_no_speaker(content: str | None) -> None:
    assert skipped_in(content) == []

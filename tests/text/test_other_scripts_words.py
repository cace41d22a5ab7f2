"""Texts in Cyrillic, Greek, Arabic, Hebrew and Devanagari letters: their languages, sentences and topics."""

from __future__ import annotations

import pytest

from chyme.model import Segment
from chyme.text.common_words import has_language
from chyme.text.function_words import language_of
from chyme.text.markdown_blocks import blocks_of
from chyme.text.sentences import sentences_of
from chyme.understanding.tags.topics import find_topics


@pytest.mark.parametrize(
    ("text", "language"),
    [
        ("Мы не знаем, что было в городе и где все они теперь.", "ru"),
        ("Ми не знаємо, що це було і де вони тепер.", "uk"),
        ("Δεν ξέρουμε τι είναι αυτό που έγινε στην πόλη και γιατί.", "el"),
        ("لا نعرف ما هذا الذي كان في المدينة قبل ذلك", "ar"),
        ("אנחנו לא יודעים מה זה שהיה שם לפני כל זה", "he"),
    ],
)
def test_small_words_reveal_the_language(text: str, language: str) -> None:
    assert language_of(text) == language
    assert has_language(language)


def test_a_danda_and_an_arabic_question_mark_end_a_sentence() -> None:
    hindi = "बैठक शाम को शुरू हुई। छत की मरम्मत जरूरी है। काम मई में होगा।"
    assert len(sentences_of([Segment(0.0, 9.0, hindi)], [hindi])) == 3
    arabic = "متى يبدأ الاجتماع؟ يبدأ في المساء."
    assert len(sentences_of([Segment(0.0, 9.0, arabic)], [arabic])) == 2


@pytest.mark.parametrize(
    ("text", "language", "expected"),
    [
        (
            "# Отчёт о маяке\n\nМаяк построили на скале. Когда маяк погас, и лодки, и рыбаки остались без света.\n\n"
            "Рыбаки просили, чтобы маяк починили. Все рыбаки пришли на собрание.\n\n"
            "Теперь маяк светит, и рыбаки довольны.",
            "ru",
            {"маяк", "рыбаки"},
        ),
        (
            "# تقرير عن المنارة\n\nتقع المنارة على الصخرة. لم تعمل المنارة في الشتاء.\n\n"
            "طلب الصيادون إصلاح المنارة قبل الصيف.",
            "ar",
            {"المنارة"},
        ),
        (
            "# דוח על המגדלור\n\nהמגדלור עומד על הסלע. כאשר המגדלור כבה, הדייגים לא יצאו.\n\n"
            "הדייגים ביקשו לתקן את המגדלור.\n\nהדייגים חיכו. המגדלור תוקן, והדייגים הודו. כל הדייגים באו.",
            "he",
            {"המגדלור", "הדייגים"},
        ),
    ],
)
def test_topics_recur_and_are_no_small_words(text: str, language: str, expected: set[str]) -> None:
    found = [topic.tag for topic in find_topics(blocks_of(text), None, language, 5)]
    assert expected <= set(found)
    assert all(tag.split()[0] not in ("и", "все", "на", "في", "לא", "את") for tag in found)

"""Words in and beside dates: the names of the months, and labels that say what a date is the date of."""

from __future__ import annotations

import re
import unicodedata
from functools import cache

from chyme.text.word_lists import WordList

MONTHS = WordList(__package__, "months")
SHORT_MONTHS = WordList(__package__, "short_months")
_LABELS = WordList(__package__, "date_labels")


def _fold(word: str) -> str:
    """The word in lower case without accents, which capitals and bad scans lose."""
    decomposed = unicodedata.normalize("NFKD", word.lower())
    return "".join(character for character in decomposed if not unicodedata.combining(character))


@cache
def _month_table(full: bool) -> dict[str, dict[str, int]]:
    table: dict[str, dict[str, int]] = {}
    for language, lines in (MONTHS if full else SHORT_MONTHS).sections.items():
        for month, forms in enumerate(" ".join(lines).split(), 1):
            for form in forms.split("|"):
                if form != "-":
                    table.setdefault(_fold(form), {})[language] = month
    return table


def month_of(word: str, language: str | None, strict: bool = False) -> int | None:
    """The month a word names. `strict`: only in the text's language or English, where Mars 2020 is a spacecraft."""
    plain = _fold(word)
    full = _month_table(full=True).get(plain, {})
    known = _month_table(full=False).get(plain, {}) | full
    if not known:
        return None
    base = (language or "").split("-")[0].replace("nb", "no").replace("nn", "no")
    if base in known:
        return known[base]
    if language is not None and "en" not in known and (strict or not full):
        return None  # short names are other words elsewhere: lip, out, set
    months = set(known.values())
    return months.pop() if len(months) == 1 else None


_DOCUMENT_WORDS_CJK = (
    r"日期|日付|日時|発行日?|發行|发行|发布|發佈|發布|公開日?|更新|作成日?|请求日|請求日|开票|開立|填表"
    r"|签署|簽署|掲載|投稿|작성일?|발행일?|날짜|일자|등록일?|게시일?"
)
_OTHER_WORDS_CJK = (
    r"期限|截止|次回|有效|到期|支払|納期|生年月日|出生|生日|誕生|締切|満期|交付日|失效"
    r"|만료|생년월일|납부|마감|유효|기한"
)


def _alternatives(section: str) -> str:
    labels = " | ".join(_LABELS.sections[section]).split(" | ")
    return "|".join(sorted(labels, key=len, reverse=True))  # longest first


DOCUMENT_DATE_WORDS = re.compile(
    rf"(?<!\w)(?:{_alternatives('document')}|{_alternatives('stage')}|{_alternatives('period')})(?!\w)|{_DOCUMENT_WORDS_CJK}"
)
STAGE_WORDS = re.compile(_alternatives("stage"))
PERIOD_END_WORDS = re.compile(_alternatives("period"))
BILLED_PERIOD_WORDS = re.compile(rf"(?<!\w)(?:{_alternatives('billed period')})(?!\w)")
OTHER_DATE_WORDS = re.compile(rf"(?<!\w)(?:{_alternatives('other')})(?!\w)|{_OTHER_WORDS_CJK}|†|✝")
WEAK_DATE_WORDS = re.compile(
    r"order|purchase|transaction|effective|received|submitted|druck|created|revis|updat|modif|edited|aktual|更新"
)  # not when it was written
BIRTH_SIGN = re.compile(r"[\s(]\*\s?$")  # * 3. April 1950, as genealogists write
# After a date: 2026年4月3日发布, 3. April 2026 (aktualisiert).
TRAILING_DATE_WORDS = re.compile(
    rf"[\s(]{{0,2}}(?:付け?|現在|{_DOCUMENT_WORDS_CJK}|published|posted|updated|aktualisiert|veröffentlicht)"
)
TRAILING_BIRTH_WORDS = re.compile(r"\s?(?:生まれ|出生|生(?![成效产産])|born)")
# The beginning of a letter.
SALUTATION = re.compile(
    r"(?:dear|sehr geehrte|liebe|hallo|hello|hi\b|ch[eè]re?|madame|monsieur|estimad|querid|gentil|egregi|spett"
    r"|car[oai] |prezad|exm|geachte|beste|szanown|drog|hej|bäste|kære|kjære|hei|hyvä|arvoisa|vážen|mil[ýá]|уважаем"
    r"|дорог|шановн|sayın|拝啓|尊敬的|您好|stimat|tisztelt|kedves|αγαπητ)",
    re.IGNORECASE,
)
# Words before numbers with points or strokes that are no dates.
VERSION_NUMBER_WORDS = re.compile(
    r"(?:(?<!\w)(?:v|ver|vers|version|rel|release|rev|build|firmware|kernel|section|sec|sect|chapter|chap|clause|para"
    r"|paragraph|article|art|abschnitt|abs|kapitel|kap|ziffer|nummer|nr|no|num|number|page|pages|pg|p|pp|seite|s|fig"
    r"|figure|abb|table|tabelle|tel|telefon|phone|fax|mobile|mobil|cell|call|isbn|issn|sku|ref|id|iban|account|konto"
    r"|ip|item|level|lot|model|part|rule|step|unit|size|score|ratio|version:|python|node|ubuntu|debian|din|iso|rfc)"
    r"|[§№]|n[°º])[.:]?\s{0,2}$|#$"
)

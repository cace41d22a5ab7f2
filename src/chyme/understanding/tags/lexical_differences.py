"""What in the letters of two tags says that they are not one, however close in meaning a model finds them.

Vectors hold opposites, neighbours in a row and a subject with one of its parts for almost the same thing.
"""

from __future__ import annotations

import re
from functools import cache

from chyme.text.spelling_variants import comparison_key
from chyme.text.stemmer import fold

_WORD = re.compile(r"[^\W_]+")
_NUMBER = re.compile(r"\d+")
_COUNTED = """
zero
one first i
two second ii
three third iii
four fourth iv
five fifth v
six sixth vi
seven seventh vii
eight eighth viii
nine ninth ix
ten tenth x
eleven eleventh xi
twelve twelfth xii
"""
_NUMBERS = {word: str(number) for number, line in enumerate(_COUNTED.split("\n")[1:]) for word in line.split()}
# Of each row a tag has one or the other; words that may stand for each other are joined by a stroke.
_ROWS = """
monday tuesday wednesday thursday friday saturday sunday
january february march april may june july august september october november december
spring summer autumn|fall winter
daily|day weekly|week monthly|month quarterly|quarter annual|yearly|year
morning noon afternoon evening night
north south east west
red orange yellow green blue purple|violet pink brown black white grey|gray gold silver
high low
upper lower
left right
hot|warm cold|cool
big|large small|little
long short
old new
early late
full part|half
fixed variable
gross net
indoor outdoor
inner outer
public private
male|man|men|boy female|woman|women|girl
husband wife
king queen
uncle aunt
father mother son daughter brother sister grandfather grandmother grandson granddaughter
father|mother|parent|parents son|daughter|child|children brother|sister husband|wife|spouse
buyer|buying|purchase|purchaser seller|selling|sale|sales|vendor
lender|lending borrower|borrowing loan
landlord|lessor tenant|lessee
employer employee employment|job
plaintiff|claimant defendant
teacher|teaching student|pupil
doctor|physician patient medicine
client|customer server supplier
frontend backend
input output
import export
income|revenue expense|expenses|expenditure
profit|gain loss
asset|assets liability|liabilities
debit credit
deposit withdrawal
arrival departure
birth marriage|wedding divorce death|funeral
hiring firing
promotion demotion
victory|win defeat|loss
war peace
start|beginning end
question answer
cause effect
upload download
encryption decryption
read|reading write|writing
return refund law
sunrise sunset
plane|airplane|aircraft flight
france french
greece greek
spain spanish
poland polish
denmark danish
turkey turkish
netherlands dutch
vegan vegetarian
republican democrat
democracy dictatorship
audio video
civil criminal
nuclear solar wind
"""
_SUBJECT_ENDINGS = ("ese", "ish", "ian", "ing", "ment", "an", "en", "er", "or", "ee", "y", "a", "e", "")
_SMALL = frozenset(("a", "an", "and", "at", "by", "for", "from", "in", "of", "on", "s", "the", "to", "with"))
_AGAINST = ("non", "anti", "un", "in", "dis", "de", "counter", "pre", "post", "pro")


def may_be_one(tag: str, other: str) -> bool:
    """Whether nothing in their letters says that they differ."""
    ours, theirs = _words(tag), _words(other)
    if _numbers(ours) != _numbers(theirs):
        return False
    own, foreign = _beyond(ours, theirs), _beyond(theirs, ours)
    if not own or not foreign:
        return not own and not foreign  # otherwise the one has all words of the other, and more: it is narrower
    return not any(_apart(one, another) for one in own for another in foreign)


def _words(tag: str) -> list[str]:
    return [word for word in _WORD.findall(fold(tag)) if word not in _SMALL]


def _numbers(words: list[str]) -> list[str]:
    """The numbers in words, digits or Roman ones."""
    found = [number for word in words for number in (_NUMBER.findall(word) or [_NUMBERS.get(word, "")])]
    return sorted(number for number in found if number)


def _beyond(words: list[str], others: list[str]) -> list[str]:
    """The words that the others have not, in singular or plural."""
    known = {comparison_key(word) for word in others}
    return [word for word in words if comparison_key(word) not in known]


def _apart(one: str, other: str) -> bool:
    rows = _rows()
    places, others = rows.get(one, {}), rows.get(other, {})
    if any(row in others and others[row] != place for row, place in places.items()):
        return True
    return _denied(one, other) or _denied(other, one) or _derived(one, other)


def _denied(one: str, other: str) -> bool:
    return any(one == against + other for against in _AGAINST)


def _derived(one: str, other: str) -> bool:
    """Whether one names who does it, or belongs to it: buyer and buying, Sweden and Swedish."""
    roots = {one[: len(one) - len(ending)] for ending in _SUBJECT_ENDINGS if one.endswith(ending)}
    theirs = {other[: len(other) - len(ending)] for ending in _SUBJECT_ENDINGS if other.endswith(ending)}
    return any(len(root) > 2 for root in roots & theirs)


@cache
def _rows() -> dict[str, dict[int, int]]:
    found: dict[str, dict[int, int]] = {}
    for row, line in enumerate(_ROWS.split("\n")):
        for place, words in enumerate(line.split()):
            for word in words.split("|"):
                found.setdefault(word, {})[row] = place
    return found

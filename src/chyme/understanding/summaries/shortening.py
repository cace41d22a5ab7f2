"""Shorten a long sentence so that it is still a sentence."""

from __future__ import annotations

import re

from chyme.text.markdown_lines import shorten_text

GOOD_LENGTH = 280  # characters above which a sentence is shortened if it can be
_LEAST = 60  # characters that must remain
_BRACKETS = re.compile(r"\s*(?:\([^()]{0,300}\)|\[[\d,;\s–-]{1,60}\])")
_DATELINE = re.compile(
    r"^(?:[A-ZÄÖÜ][\w.'’ -]{1,30}(?:, [A-Z][\w. ]{1,20}){0,2}[,(]? ?)?"
    r"\(?(?:\w{3,9}\.? \d{1,2},? \d{4}|\d{1,2}\.? \w{3,9}\.? \d{4}|\d{1,2}[./]\d{1,2}[./]\d{4})\)?\s?"
    r"(?:[–—/]|--?|\([A-Z ]{2,20}\))\s?[–—-]{0,3}\s?(?=[A-ZÄÖÜ\"“])"
)
_PARAGRAPH_MARK = re.compile(
    r"^(?:¶\s?\d*|\d{1,3}[.)]|\([a-z\d]{1,3}\)|[A-Z]\.|\d{1,2}(?:\.\d{1,2}){1,3}\.?|§\s?\d+)\s+(?=[A-ZÄÖÜÉ\"“])"
)
# Where a main clause may end. A comma alone may be within a list or after a clause that only introduces.
_CLAUSE = re.compile(
    r";\s|\s[–—]\s|,\s(?=(?:which|who|whose|whom|where|whereby|while|whereas|although|though|because|since"
    r"|so that|but|nor|with the exception|including|such as|as well as|in particular|especially|thereby"
    r"|and (?:that|which|it|he|she|they|we|I|the|this|these|thus|therefore|also|will|has|have|is|are|was|were)"
    r"|aber|sondern|weil|da|wobei|während|obwohl|sodass"
    r"|damit|und (?:die|der|das|dass|es|wir|sie|ist|hat|wird)|mais|car|afin|ainsi que|pero|porque|aunque"
    r"|así como|ma|perché"
    r"|nonché|maar|omdat|waarbij|mas|pois)\b)"
)


_LABEL = re.compile(r"^(?:[A-ZÄÖÜ][\w.'’-]+(?: [A-ZÄÖÜ]?[\w.'’-]+){0,2}):\s+(?=[A-ZÄÖÜÉ])")
_BYLINE = re.compile(r"^(?:[A-ZÄÖÜ]{2}[A-ZÄÖÜ.,' -]{1,40}|[A-Z][\w.]+(?: [\w.]+){0,2}) [—–] (?=[A-ZÄÖÜ])")
_GREETING = re.compile(
    r"^(?:\w{3,9}\.? \d{1,2},? \d{4}\s+|\d{1,2}\.? \w{3,9} \d{4}\s+)?"
    r"(?:(?:dear|sehr geehrte|liebe[rs]?|hallo|hello|hi|cher|chère"
    r"|estimad\w|gentile|geachte|prezad\w)\b[^,:!.]{0,60}[,:!])\s+(?=\S)",
    re.IGNORECASE,
)


# What leads over from the sentence before to one that says what a paper does: "To this end, we propose …".
_TRANSITION = re.compile(
    r"^(?:[A-Z][a-z]+ing (?:on |upon )?(?:this|these|that|those)\b[^,]{0,60}|Motivated by [^,]{2,60}"
    r"|Based on (?:this|these)\b[^,]{0,60}|In this (?:context|regard|light)"
    r"|To (?:this end|that end|do so|(?:address|overcome|solve|tackle|close|fill) (?:this|these|that)\b[^,]{0,60})"
    r"|Therefore|Thus|However|Hence|Accordingly|Also|Finally|Moreover|Furthermore|In addition|Additionally|In contrast"
    r"|Consequently|Instead)(?:,\s+(?:and )?|(?<=Also)\s+)"
    r"(?=(?:(?:in|with) this (?:paper|work|study|article|thesis|report),? )?"
    r"(?:we|I|this (?:paper|work|study|article|thesis|report)) (?:\w+ly )?[a-z]+)"
)
_ASKS_AFTER = re.compile(r"^([^:?]{40,}):\s[^?]{3,120}\?$")


def strip_question(sentence: str) -> str:
    """The statement before a colon that a question follows: `The way is to notice gaps: what is missing?`"""
    return _ASKS_AFTER.sub(r"\1.", sentence)


def strip_marks(sentence: str) -> str:
    """The sentence without what stands before it: a number, a dateline, a greeting, a label, a transition."""
    plain = strip_question(sentence)
    for mark in (_PARAGRAPH_MARK, _DATELINE, _GREETING, _LABEL, _BYLINE, _TRANSITION):
        plain = mark.sub("", plain, count=1)
    return plain[:1].upper() + plain[1:] if plain != sentence else sentence


def shorten_sentence(sentence: str, length: int) -> str:
    """The sentence; a long one without asides in brackets, or up to the end of one of its clauses.

    Above `length` it is cut at a word if nothing else helps.
    """
    if len(sentence) <= GOOD_LENGTH:
        return sentence
    plain = _BRACKETS.sub("", sentence)
    if len(plain) <= GOOD_LENGTH:
        return plain
    ends = [match.start() for match in _CLAUSE.finditer(plain, _LEAST, GOOD_LENGTH)]
    usable = [end for end in ends if _is_balanced(plain[:end])]
    if usable:
        return plain[: usable[-1]].rstrip(" ,;:–—") + plain[-1:].replace("”", ".").replace('"', ".")
    return shorten_text(plain, length)


def _is_balanced(text: str) -> bool:
    return text.count("(") == text.count(")") and text.count("“") == text.count("”") and text.count('"') % 2 == 0

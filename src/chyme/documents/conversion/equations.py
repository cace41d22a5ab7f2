"""Write equations as readable text in one line: `x = (-b ± √(b^2-4ac))/(2a)`, without markup."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from functools import cache
from xml.etree.ElementTree import Element

from chyme.documents.conversion.zip_packages import tag_of
from chyme.text.word_lists import WordList

MAX_LENGTH, MAX_DEPTH = 20_000, 40  # letters of one equation, and groups within groups
# A display equation may not contain a dollar, an inline one neither that nor a line break.
_EQUATION = re.compile(r"\$\$([^$]{1,20000})\$\$|(?<![\\$\w])\$([^\s$](?:[^$\n]{0,2000}[^\s$\\])?)\$(?![\w$])")
# Equations that follow each other without a blank share their dollars: $a=b$$c=d$.
_ROW = re.compile(r"(?<![\\$\w])\$[^\s$][^$\n]{0,2000}(?:\$\$[^\s$][^$\n]{0,2000}){1,50}\$(?![\w$])")
_TOKEN = re.compile(r"\\([A-Za-z]+)\*?|\\(.)|([{}^_&])|(\s+)|([^\\{}^_&\s])", re.DOTALL)
_MARKUP = re.compile(r"\\[A-Za-z]|[\^_]")
_PLAIN = re.compile(
    r"[^\W\d_][^$.!?]{0,40}?[=<>≤≥][^$.!?]{1,40}"
)  # an equation without markup; money begins with a digit
_SPACES = re.compile(r"\s+")
_GLUE = re.compile(r"\s*([=<>≤≥≠≈≡∈→⇒⇔±×])\s*")
_SIMPLE = re.compile(r"[0-9]+|.", re.DOTALL)
_END = "\x00"  # of an exponent or index: `x^k a` is not `x^ka`
_AFTER_INDEX = re.compile(r"(?<=\w)\x00(?=\w)")
_LATEX = WordList(__package__, "latex")
_SPACING = frozenset(",;:!> ")


def spell_equations(markdown: str) -> str:
    """The text with its equations written out; dollars that are money stay."""
    if "$" not in markdown:
        return markdown
    return _EQUATION.sub(_spell, _ROW.sub(lambda row: row[0].replace("$$", "$ $"), markdown))


def _spell(found: re.Match[str]) -> str:
    source = found[1] if found[1] is not None else found[2]
    if len(source) > MAX_LENGTH or not (found[1] is not None or _MARKUP.search(source) or _PLAIN.fullmatch(source)):
        return found[0]
    return linear_text(source)


@cache
def _signs() -> Mapping[str, str]:
    pairs = (line.partition(" ") for line in (*_LATEX.sections["letters"], *_LATEX.sections["signs"]))
    return {name: sign for name, _, sign in pairs}


def linear_text(source: str) -> str:
    """An equation in LaTeX as readable text."""
    text = _AFTER_INDEX.sub(" ", _parse(_tokens(source), MAX_DEPTH)).replace(_END, "")
    return _GLUE.sub(r" \1 ", _SPACES.sub(" ", text)).strip()


def _tokens(source: str) -> Iterator[str]:
    """Commands with their backslash, marks, spaces and letters, one by one."""
    for token in _TOKEN.finditer(source):
        if token[1]:
            yield f"\\{token[1]}"
        elif token[2] is not None:
            yield " " if token[2] in _SPACING else ("\\\\" if token[2] == "\\" else token[2])
        else:
            yield token[0]


def _parse(tokens: Iterator[str], depth: int, closes: str = "") -> str:
    parts: list[str] = []
    for token in tokens:
        if token == closes:
            break
        parts.append(_element(token, tokens, depth, "".join(parts[-2:])))
    return "".join(parts)


def _element(token: str, tokens: Iterator[str], depth: int, before: str) -> str:
    if token == "{":
        return _parse(tokens, depth - 1, "}") if depth > 0 else ""
    if token == "^":
        return _attach(_argument(tokens, depth), "^")
    if token == "_":
        return _attach(_argument(tokens, depth), "_")
    if token in ("&", "\\\\"):
        return " "
    if token.startswith("\\"):
        return _command(token[1:], tokens, depth, before)
    return "" if token == "}" else token


def _command(name: str, tokens: Iterator[str], depth: int, before: str) -> str:
    sign = _signs().get(name)
    if sign is not None:
        return f" {sign}" if sign.isalpha() and before[-1:].isalpha() else sign
    if name in _LATEX.words("layout"):
        return " " if name.endswith("quad") else ""
    if name in _LATEX.words("styles"):
        styled = _argument(tokens, depth)
        return f" {styled} " if len(styled) > 1 and styled.isalpha() else styled
    if name in ("begin", "end"):
        _argument(tokens, depth)
        return " "
    if name in ("frac", "dfrac", "tfrac"):
        return f"{_bracket(_argument(tokens, depth))}/{_bracket(_argument(tokens, depth))}{_END}"
    if name == "binom":
        return f"({_argument(tokens, depth)} over {_argument(tokens, depth)})"
    if name == "sqrt":
        return f"√{_bracket(_argument(tokens, depth))}"
    if name in ("underset", "overset", "stackrel"):
        limit, base = _argument(tokens, depth), _argument(tokens, depth)
        return f"{base}{_attach(limit, '_' if name == 'underset' else '^')}"
    if name == "atop":
        return " over "
    return f"{'' if not before or before[-1].isspace() or not before[-1].isalnum() else ' '}{name} "


def _argument(tokens: Iterator[str], depth: int) -> str:
    """The next group, or the next letter or command."""
    for token in tokens:
        if not token.isspace():
            return _element(token, tokens, depth - 1, "").strip() if depth > 0 else ""
    return ""


def _attach(text: str, mark: str) -> str:
    """An exponent or index: after a mark, because Unicode has few small letters."""
    return f"{mark}{_bracket(text.strip())}{_END}" if text.strip() else ""


def _bracket(text: str) -> str:
    return text if _SIMPLE.fullmatch(text.strip(_END)) else f"({text})"


def office_math(element: Element, depth: int = MAX_DEPTH) -> str:
    """An equation in Office's own markup (OMML) as readable text."""
    tag = tag_of(element)
    if not depth or tag.endswith("Pr"):
        return ""
    if tag == "t":
        return element.text or ""
    inner = [(tag_of(child), office_math(child, depth - 1)) for child in element]
    parts = dict(inner)
    base = parts.get("e", "")
    if tag in ("sSup", "sSub", "sSubSup", "nary", "limLow", "limUpp"):
        below, above = parts.get("sub", ""), parts.get("sup", "")
        limit = parts.get("lim", "")
        sign = _nary_sign(element) if tag == "nary" else base
        marks = _attach(below, "_") + _attach(above, "^") + _attach(limit, "_" if tag == "limLow" else "^")
        return f"{sign}{marks} {base if tag == 'nary' else ''}".replace(_END, "").rstrip()
    if tag == "f":
        return f"{_bracket(parts.get('num', ''))}/{_bracket(parts.get('den', ''))}"
    if tag == "rad":
        return f"{parts.get('deg', '')}√{_bracket(base)}"
    if tag == "d":
        return f"({', '.join(text for name, text in inner if name == 'e')})"
    if tag == "func":
        return f"{parts.get('fName', '')} {base}"
    return "".join(text for _, text in inner)


def _nary_sign(element: Element) -> str:
    for mark in element.iter():
        if tag_of(mark) == "chr":
            return next((value for key, value in mark.attrib.items() if key.endswith("val")), "∫")
    return "∫"

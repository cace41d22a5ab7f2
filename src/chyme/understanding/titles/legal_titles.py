"""Titles of court papers, by their parties and kind, and of bills and acts, by the name they give themselves."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Sequence

from chyme.text.sentences import word_count
from chyme.text.word_lists import WordList
from chyme.understanding.titles.cleanup import to_normal_case
from chyme.understanding.titles.line_roles import is_date_line, is_issuing_body, is_stamp
from chyme.understanding.titles.possible_title import Title, join_title_lines

_CASES = WordList(__package__, "name_case")
_CAPTION_LINES = 70  # lines in which the caption of a court paper is searched
_PARTY_LINES = 8
_PARTY_LENGTH = 70
_KIND_LINES = 45  # lines below the caption in which the kind of paper is searched
_KIND_WORDS = 16
_SIGNS = re.compile(
    r"\b(?:(court)|(plaintiffs?)|(defendants?)|(appell(?:ant|ee)s?)|(petitioners?)|(respondents?)|(docket)"
    r"|(case no)|(district)|(circuit)|(in re)|(in the matter of)|(debtors?)|(attorneys?)|(judge))\b",
    re.IGNORECASE,
)
_MIN_SIGNS = 3
_VERSUS = re.compile(
    r"^(?:-\s?)?(?:v|vs|versus|against|-v-)\.?(?:\s?-)?(?=$|\s+(?:no|case|civil|docket|c\.a\.|index|cr)\b)", re.I
)
_INLINE = re.compile(r"^(.{3,110}?),?\s+(?:v|vs|versus|-v-)\.?\s+(\S.{2,140})$", re.IGNORECASE)
_IN_RE = re.compile(
    r"^(in\s+re|in\s+the\s+(?:matter|interest|estate|marriage)\s+of|matter\s+of|ex\s+parte)\b:?\s*(.*)$", re.I
)
_ROLE = re.compile(
    r",?\s*\(?\b(?:third[- ]party |counter-?|cross-?|lead )?(?:plaintiff|defendant|appell(?:ant|ee)"
    r"|petitioner|respondent|movant|relator|claimant|debtor|intervenor|garnishee)s?\b.*$",
    re.IGNORECASE,
)
_CAPACITY = re.compile(
    r",?\s+\b(?:individually|in (?:his|her|their|its) (?:official|individual)|on behalf of|by and through|as (?:the )?"
    r"(?:administrat|execut|guardian|next friend|trustee)|an? (?:\w+ ){0,4}(?:corporation|company|limited|individual)"
    r"|d/?b/?a|f/?k/?a|a/?k/?a|et ux)\b.*$",
    re.IGNORECASE,
)
_BOUNDARY = re.compile(
    r"^(?:case|docket|civil|criminal|action|index|cause|appeal|filed|before|no\.|nos\.|hon\.|honorable|judge|argued|decided"
    r"|submitted|on (?:appeal|writ|petition|discretionary|remand)|from the|appeal from|petition for review|attorney"
    r"|dated?|for (?:publication|the)|not for|published|unpublished|by the court|to be argued|syllabus)\b",
    re.IGNORECASE,
)
_KIND = re.compile(
    r"\b(?:opinion|order|orders|judgment|judgement|memorandum|complaint|motion|brief|petition|notice|indictment|affidavit"
    r"|declaration|stipulation|decree|answer|reply|response|mandate|subpoena|summons|transcript|objections?|settlement"
    r"|injunction|verdict|sentencing|information|interrogatories|testimony|certificate)\b",
    re.IGNORECASE,
)
_NO_KIND = re.compile(
    r"^(?:appeal|on appeal|appealed) from|^(?:the|this|that|these|in|it|we|plaintiffs?|defendants?)\s\w+\s\w+\s"
    r"|\bv\.\s|^for the reasons|^certificate of service|[a-z]{3,}\.\s[A-Z]",
    re.IGNORECASE,
)
_CITATION = re.compile(
    r"\d+\s(?:U\.\s?S\.|S\.\s?Ct|F\.|[A-Z][\w.]{0,8}\s?(?:2d|3d|4th)|WL|N\.[EW]|S\.[EW]|P\.|A\.)|\(\d{4}\)|\bsee\b",
    re.I,
)
_LETTER_SUBJECT = re.compile(r"^(?:re|subject|ref|betreff)\s?[:.]", re.IGNORECASE)
_SPACED = re.compile(r"^(?:[A-Z] ){2,}[A-Z]$")
_CITED_AS = re.compile(
    r"\b(?:may|shall|is to)\s+be\s+(?:known and\s+)?cited\s+as(?:\s+the)?\s+[“\"‘'`´’]{0,2}\s?(?:the\s)?"
    r"([A-Z][^“”\"\n]{4,140}?(?:\bAct\b|\bLaw\b|\bCode\b|\bRegulations?\b|\bRules\b|\bOrder\b)(?:\s(?:of\s)?(?:19|20)\d\d)?)",
)
_BILL_NUMBER = re.compile(
    r"^\W*((?:H|S)\.\s?(?:R\.|J\.|Con\.|Res\.)?(?:\s?(?:Res|J)\.)*\s?\d{1,5}|(?:House|Senate|Assembly)\s(?:Joint\s)?"
    r"(?:Bill|Resolution|File)\s(?:No\.\s?)?\d{1,5}|(?:HB|SB|AB|HR|SR|HF|SF)\s?\d{1,5})\b",
    re.MULTILINE | re.IGNORECASE,
)
_LONG_TITLE = re.compile(
    r"\b(?:A\s+BILL|AN\s+ACT|A\s+RESOLUTION|A\s+JOINT\s+RESOLUTION)\b[\s*#:,]*(?:for\s+an\s+act\s+)?"
    r"(?:entitled\W{1,4})?(?:an\s+act\s+)?((?:to|in|[a-z]{3,12}ing)\b[^;:]{10,400}?)"
    r"(?:,?\s+and\s+for\s+(?:other|related)\s+purposes|[;:.]|\n\s*\n)",
    re.IGNORECASE,
)
_LEGISLATURE = re.compile(
    r"\b(?:congress|session|legislature|general assembly|parliament|senate|house of representatives)\b", re.I
)


def legal_titles(lines: Sequence[str], text: str, where: str) -> Iterator[Title]:
    """The titles of a court paper, a bill or an act. `lines` are those of its first page, with gaps as empty ones."""
    yield from _bill_titles(text, where)
    head = [_normalize(line) for line in lines[:_CAPTION_LINES]]
    if len({match.lastindex for match in _SIGNS.finditer(" ".join(head))}) < _MIN_SIGNS:
        return
    found = _parties(_left_column(head))
    if found is None:
        return
    case, last, evidence = found
    case = _short_name(case, text) or case
    case = _name_case(case)
    kind = to_normal_case(_kind_of_paper(head[last + 1 : last + 1 + _KIND_LINES]), text)
    kind = kind.capitalize() if kind.isupper() else kind
    yield Title(f"{case}: {kind}" if kind else case, 0.96, where, evidence)


def _bill_titles(text: str, where: str) -> Iterator[Title]:
    beginning = text[:4_000]
    if not _LEGISLATURE.search(beginning):
        return
    number = _BILL_NUMBER.search(beginning)
    prefix = f"{' '.join(number[1].split())}: " if number else ""
    short = _CITED_AS.search(text[:12_000])
    long_title = _LONG_TITLE.search(beginning)
    if short and (number or long_title):
        yield Title(f"{prefix}{' '.join(short[1].split())}", 0.96, where, short[0])
    elif long_title:
        named = " ".join(long_title[1].split()).strip(" *#,")
        yield Title(f"{prefix}{named[:1].upper()}{named[1:]}", 0.95, where, long_title[0])


def _normalize(line: str) -> str:
    plain = " ".join(line.replace("|", " ").replace("*", " ").strip("# ").split())
    return plain.replace(" ", "") if _SPACED.match(plain) else plain


def _left_column(lines: Sequence[str]) -> list[str]:
    """The lines without the right half of a caption, which brackets set apart from the parties."""

    def cut(line: str, sign: str) -> str:
        position = line.find(sign)
        return line[:position].rstrip() if position >= 0 and line[:position].count("(") == 0 else line

    for sign in ("]", ")", "§", "}"):
        if sum(line.count(sign) > line.count("(") for line in lines) >= 3:
            return [cut(line, sign) for line in lines]
    return list(lines)


def _parties(lines: Sequence[str]) -> tuple[str, int, str] | None:
    """The name of the case, the number of the last line of its caption, and the words it was read from."""
    for number, line in enumerate(lines):
        if _VERSUS.match(line):
            first = _collect(lines, number, -1)
            second = _collect(lines, number, +1)
            if first and second:
                left, right = _clean_party(first), _clean_party(second)
                if left and right:
                    return f"{left} v. {right}", number + 1, f"{join_title_lines(first)} v. {join_title_lines(second)}"
        inline = _INLINE.match(line)
        if (
            inline
            and not _LETTER_SUBJECT.match(line)
            and not _CITATION.search(line)
            and line[0].isupper()
            and word_count(line) <= 24
        ):
            left, right = _clean_party([inline[1]]), _clean_party([inline[2]])
            if left and right and right[0].isupper():
                return f"{left} v. {right}", number, line
    for number, line in enumerate(lines):
        matter = _IN_RE.match(line)
        if matter:
            rest = (
                [matter[2], *_collect(lines, number, +1)] if not matter[2] or matter[2].endswith(",") else [matter[2]]
            )
            name = _clean_party([part for part in rest if part])
            if name:
                lead = "In re" if "re" in matter[1].lower().split() else " ".join(matter[1].split()).capitalize()
                return f"{lead} {name}", number + 1, f"{line} {' '.join(rest[1:])}".strip()
    return None


def _collect(lines: Sequence[str], start: int, step: int) -> list[str]:
    """The lines of one party, above or below the `v.`, in order."""
    party: list[str] = []
    at = start + step
    while 0 <= at < len(lines) and len(party) < _PARTY_LINES:
        line = lines[at].strip(" ,;:_-")
        role = _ROLE.search(line)
        is_role = role is not None and role.start() == 0
        if is_role and party:
            break
        ends = not line or is_stamp(line) or is_date_line(line) or _BOUNDARY.match(line) is not None
        ends = ends or (bool(party) and step < 0 and is_issuing_body(line))  # a state may be a party, too
        if not is_role and ends:
            if party or (line and step < 0 and not _may_precede(line)):
                break
        elif not is_role:
            party.append(lines[at].strip(" ;:_"))
            if role is not None and step > 0:
                break
        at += step
    return party if step > 0 else party[::-1]


def _may_precede(line: str) -> bool:
    """Whether a party may still stand above this line: it is a docket number or the like beside the caption."""
    return is_stamp(line) or _BOUNDARY.match(line) is not None


def _clean_party(lines: Sequence[str]) -> str:
    """The first party's name, without its role and what it acts as."""
    whole = join_title_lines([line for line in lines if line]).strip(" ,.;:")
    name = _CAPACITY.sub("", _ROLE.sub("", whole)).strip(" ,;:&")
    if len(name) > _PARTY_LENGTH:
        cut = min(
            (at for sign in ("; ", ", and ", " and ", ", ") if 5 < (at := name.find(sign)) < _PARTY_LENGTH), default=0
        )
        name = f"{name[:cut]} et al." if cut else " ".join(name[:_PARTY_LENGTH].split()[:-1])
    name = f"{name}." if name.casefold().endswith((" al", " inc", " corp", " co", " ltd")) else name
    return name if any(map(str.isalpha, name)) else ""


def _short_name(case: str, text: str) -> str:
    """The name as the running heads give it, if they name the same first party."""
    first = {word.casefold() for word in re.findall(r"[^\W\d_]{4,}", case.partition(" v. ")[0])}
    counts: Counter[str] = Counter()
    for raw in text[:60_000].split("\n"):
        line = raw.strip(" *#_")
        match = _INLINE.match(line) if 8 < len(line) <= 90 else None
        if (
            match
            and not _CITATION.search(line)
            and first & {word.casefold() for word in re.findall(r"\w{4,}", match[1])}
        ):
            counts[re.sub(r"^\d+\s+|\s+\d+$", "", line)] += 1
    name, count = counts.most_common(1)[0] if counts else ("", 0)
    return re.sub(r"\s+(?:v|vs)\.?\s+", " v. ", name, count=1, flags=re.IGNORECASE) if count > 1 else ""


def _name_case(case: str) -> str:
    """The names of parties in normal case; abbreviations such as LLC stay."""
    letters = [letter for letter in case if letter.isalpha()]
    if sum(map(str.isupper, letters)) < 0.8 * len(letters):
        return case

    def fix(match: re.Match[str]) -> str:
        word = match[0]
        if (
            word in _CASES.words("capitals")
            or "." in word.strip(".")
            or not re.search("[AEIOUYÄÖÜ]", word, re.IGNORECASE)
        ):
            return word
        return word.lower() if word.casefold() in _CASES.words("small") else word.capitalize()

    named = re.sub(r"[^\W\d_]+(?:[.'’][^\W\d_]+)*", fix, case)
    return named[:1].upper() + named[1:]


def _kind_of_paper(lines: Sequence[str]) -> str:
    """The line that says what the paper is: `Order granting the motion to dismiss`."""
    for number, line in enumerate(lines):
        if not _KIND.search(line) or _NO_KIND.search(line) or not 1 <= word_count(line) <= _KIND_WORDS:
            continue
        capitals = sum(word[0].isupper() for word in line.split() if word[0].isalpha())
        if capitals < 0.6 * len(line.split()) or (line.endswith(".") and word_count(line) > 4) or line.endswith(","):
            continue
        plain = line
        following = lines[number + 1] if number + 1 < len(lines) else ""
        if (
            line.isupper()
            and following.isupper()
            and word_count(line) > 2
            and word_count(f"{line} {following}") <= _KIND_WORDS
        ):
            plain = f"{line} {following}"
        return plain.strip(" .:*_")
    return ""

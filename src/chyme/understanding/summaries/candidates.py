"""Read the sentences of a document that may serve as its summary, each with the section it is in."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise

from chyme.model import Segment
from chyme.text.function_words import function_words
from chyme.text.markdown_blocks import Block, BlockType
from chyme.text.sentences import sentences_of, word_count
from chyme.text.unspaced_scripts import RUNS
from chyme.text.word_lists import WordList
from chyme.understanding.titles.cleanup import same_words

MAX_CANDIDATES = 60  # sentences that are weighed
_MAX_BLOCKS = 1_500  # blocks that are read
_MAX_CHARS = 40_000  # characters of the blocks that are read
_MAX_JOINED = 3_000  # characters of a paragraph joined from torn pieces
_PROSE_ROW = 30  # words from which on a row of a table may be a paragraph laid out in a table
_OPEN_LENGTH, _LINE_LENGTH = 30, 45  # characters of a piece that ends with a small word, and of a wrapped line
_TORN_SEAMS, _TORN_SHARE = 6, 0.15  # seams that show that every line became a paragraph of its own
_ENDED = re.compile(r"[.!?…:;。！？：；؟।][\"'”»’)\]」』*]{0,3}$")
_SECTION_NUMBER = re.compile(r"^(?:\d{1,2}(?:\.\d{1,2}){0,3}\.?|[IVX]{1,5}\.|[A-Z]\.|§\s*\d+)\s+")
_SECTION_LABEL = re.compile(r"^([^\W\d_][^.:—–\n]{2,30}?)\s?(?:[.:—–]|--)\s?(?=\S)")
_HYPHENATED = re.compile(r"\b([^\W\d_]{2,})[-‐] (?!(?:and|or|und|oder|bis|et|y|e|en|to) )([a-zäöüß]{2,})")
_LEFTOVER = re.compile(r"\[\]\([^()]{0,300}\)|^\[edit\]\s*|<(?:a href|img src)=\"\s?")  # of links
_PAGE_NUMBER = re.compile(r"^\d{1,4}\s+|\s+\d{1,4}$")
_SECTIONS = WordList(__package__, "sections")
_POINT = "\u2024"  # replaces the point of an abbreviation while the text is split into sentences
_STARTERS = (
    "The|This|It|In|We|A|An|On|By|He|She|They|For|As|At|To|That|These|Its|Our|If|When|After|Der|Die|Das|Ein|Wir|Es"
)
_ABBREVIATED = re.compile(
    r"\b(?:(?i:mwst|ust|inkl|incl|exkl|excl|zzgl|abzgl|nr|bzw|bspw|evtl|ggf|vgl|approx|dept|avda|núm|pág|tél)"
    r"|z\. ?B|d\. ?h|u\. ?a|i\. ?d\. ?R|p\. ?ex|p\. ?ej|ca|max|mind?|Str|Tel|Abs|Art|Std|Stk|Mio|Mrd|Hrsg"
    r"|Jan|Feb|Mar|Apr|Jun|Jul|Aug|Sept?|Oct|Nov|Dec|Gen|Gov|Sen|Rep|Capt|Lt|Col|Fig|Figs|Eq|Sec|Secs|Vol|Nos?|pp|Ph\.D"
    r"|cf|vs|v|Dkt|Doc|ECF No|Pl|Def|Hon|Rev|Mt|Ft|Cir|Fed|App|Supp|Ct|Ex|Exh|Ch|sq|est)\.(?=\s)"
    rf"|\b(?:Inc|Corp|Ltd|Co|Bros|LLC|et al|al|U\.S|U\.K|D\.C|E\.U|a\.m|p\.m|ft|m|km)\.(?=\s(?!(?:{_STARTERS})\b))"
)


@dataclass(frozen=True, slots=True)
class Candidate:
    """A sentence, and where it is."""

    text: str
    section: str  # `lead`, `opening` or empty
    opens: bool  # the first sentence of its paragraph
    paragraph_words: int
    is_item: bool  # of a list or a table
    following: str  # the next sentence of its paragraph


def read_candidates(blocks: Sequence[Block], title: str | None, language: str | None) -> list[Candidate]:
    """The first sentences of a document, without those of sections that never say what it is about."""
    found: list[Candidate] = []
    section = ""
    for block in _join_torn_blocks(_readable_blocks(blocks, title or ""), language):
        is_heading = block.sort is BlockType.HEADING
        named = name_section(block.text) if is_heading or len(block.text) <= 40 else None
        if is_heading or named is not None:
            section = named or ("" if section != "lead" or is_heading else section)
            continue
        if section == "skipped":
            continue
        text, label = _strip_label(block.text)
        found += _split(text, label or section, block.sort is not BlockType.PARAGRAPH)
        if len(found) >= MAX_CANDIDATES:
            break
    return found[:MAX_CANDIDATES]


def _readable_blocks(blocks: Sequence[Block], title: str) -> list[Block]:
    readable: list[Block] = []
    remaining = _MAX_CHARS
    for block in blocks[:_MAX_BLOCKS]:
        if block.sort is BlockType.MENU or (block.sort is BlockType.ASIDE and word_count(block.text) < _PROSE_ROW):
            continue
        if title and len(block.text) < len(title) + 12 and same_words(_PAGE_NUMBER.sub("", block.text), title):
            continue  # the title, or a running head
        readable.append(block)
        remaining -= len(block.text)
        if remaining <= 0:
            break
    return readable


def _join_torn_blocks(blocks: Sequence[Block], language: str | None) -> Iterator[Block]:
    """The blocks; pieces of one sentence that a page's layout tore apart are joined."""
    small = function_words(language) or function_words("en")
    seams = sum(_continues(first, second, small, False) for first, second in pairwise(blocks))
    lines = seams >= _TORN_SEAMS and seams >= _TORN_SHARE * len(blocks)
    pending: Block | None = None
    for block in blocks:
        if pending and len(pending.text) < _MAX_JOINED and _continues(pending, block, small, lines):
            hyphenated = pending.text.endswith(("-", "‐", "\u00ad")) and block.text[:1].islower()
            text = pending.text[:-1] + block.text if hyphenated else f"{pending.text} {block.text}"
            pending = Block(BlockType.ITEM if pending.sort is BlockType.ITEM else BlockType.PARAGRAPH, text)
            continue
        if pending:
            yield pending
        pending = block
    if pending:
        yield pending


def _continues(first: Block, second: Block, small: frozenset[str], lines: bool) -> bool:
    """Whether the second block continues the sentence of the first. `lines`: every line of the text is a block."""
    text, following = first.text, second.text
    if second.sort in (BlockType.ITEM, BlockType.ASIDE) or first.sort is BlockType.ASIDE or _ENDED.search(text):
        return False
    if RUNS.search(following[:1]):
        return False
    is_heading = first.sort is BlockType.HEADING
    if following[:1].islower():
        return not is_heading or len(text) > _LINE_LENGTH
    last = text.rpartition(" ")[2].lower()
    if len(text) >= _OPEN_LENGTH and (last in small or last.endswith(",")):
        return True
    return lines and len(text) >= _LINE_LENGTH and not is_heading and second.sort is BlockType.PARAGRAPH


def name_section(heading: str) -> str | None:
    """What a section with this heading is worth; empty for any other heading; None for a line that is none of them."""
    plain = _SECTION_NUMBER.sub("", heading).strip(" .:*#—–-").casefold()
    for name in ("lead", "opening", "skipped"):
        if plain in _SECTIONS.phrases(name):
            return name
    return None


def _strip_label(text: str) -> tuple[str, str]:
    """A paragraph without the name of its section before it (`Abstract. We present …`), and that section."""
    label = _SECTION_LABEL.match(text)
    named = name_section(label[1]) if label else None
    if label and named in ("lead", "opening"):
        return text[label.end() :], named
    first, _, rest = text.partition(" ")
    if rest[:1].isupper() and name_section(first) == "lead" and first[:1].isupper():
        return rest, "lead"
    return text, ""


def _split(text: str, section: str, is_item: bool) -> Iterator[Candidate]:
    if "](" in text or text[:1] in "[<":
        text = _LEFTOVER.sub("", text)
    if "- " in text:
        text = _HYPHENATED.sub(r"\1\2", text)
    protected = _ABBREVIATED.sub(lambda match: match[0].replace(".", _POINT), text)
    sentences = [
        sentence.text.replace(_POINT, ".") for sentence in sentences_of([Segment(0.0, 0.0, protected)], [protected])
    ]
    words = word_count(text)
    for number, sentence in enumerate(sentences):
        following = sentences[number + 1] if number + 1 < len(sentences) else ""
        yield Candidate(sentence.lstrip("*•·†‡–—▪■●◦→➢✓ "), section, number == 0, words, is_item, following)

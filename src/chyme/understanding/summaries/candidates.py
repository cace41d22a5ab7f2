"""Read the sentences of a document that may serve as its summary, each with the section it is in."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from chyme.model import Segment
from chyme.text.function_words import function_words, words_in
from chyme.text.markdown_blocks import Block, BlockType
from chyme.text.sentences import sentences_of, word_count
from chyme.text.unspaced_scripts import RUNS
from chyme.text.word_lists import WordList
from chyme.understanding.titles.cleanup import same_words

MAX_CANDIDATES = 90  # sentences that are weighed
_MAX_BLOCKS = 1_500  # blocks that are read
_MAX_CHARS = 40_000  # characters of the blocks that are read
_MAX_JOINED = 3_000  # characters of a paragraph joined from torn pieces
_PARAGRAPH_LINE, _SHORT_LINE = 55, 0.6  # characters of a line of a paragraph, and the share that a short line has
_PROSE_ROW = 30  # words from which on a row of a table may be a paragraph laid out in a table
_OPEN_LENGTH, _LINE_LENGTH = 30, 45  # characters of a piece that ends with a small word, and of a wrapped line
_TORN_SEAMS, _TORN_SHARE = 6, 0.15  # seams that show that every line became a paragraph of its own
_ENDED = re.compile(r"[.!?…:;。！？：；؟।][\"'”»’)\]」』*]{0,3}$")
_SECTION_NUMBER = re.compile(r"^(?:\d{1,2}(?:\.\d{1,2}){0,3}\.?|[IVX]{1,5}\.|[A-Z]\.|§\s*\d+)\s+")
_SECTION_LABEL = re.compile(r"^([^\W\d_][^.:—–\n]{2,30}?)\s?(?:[.:—–]|--)\s?(?=\S)")
_HYPHENATED = re.compile(r"\b([^\W\d_]{2,})[-‐] (?!(?:and|or|und|oder|bis|et|y|e|en|to) )([a-zäöüß]{2,})")
_LEFTOVER = re.compile(r"\[\]\([^()]{0,300}\)|^\[edit\]\s*")  # of links without words
_PAGE_NUMBER = re.compile(r"^\d{1,4}\s+|\s+\d{1,4}$")
_SPOKEN_AT = re.compile(r"\s*[\[(]?\d{1,2}:\d\d(?::\d\d)?(?:[.,]\d{1,3})?[\])]?\s*[-–]?\s*(?:[A-Z][\w .'-]{0,30}:\s+)?")
_FENCE, _INDENTATION = re.compile(r"^\s*(?:```|~~~).*$", re.MULTILINE), re.compile(r"^[ \t]+", re.MULTILINE)
_BEGINNING = 80  # blocks that show how a text is set
_SECTIONS = WordList(__package__, "sections")
_POINT = "\u2024"  # replaces the point of an abbreviation while the text is split into sentences
_STARTERS = "The|This|It|In|We|A|An|On|By|He|She|They|For|As|At|To|That|These|Its|Our|If|When|After|Der|Die|Das|Ein|Wir|Es"
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
        named = _name_section(block.text) if is_heading or len(block.text) <= 40 else None
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


def is_preformatted(blocks: Sequence[Block]) -> bool:
    """Whether nearly all of a text is set like code, but reads like prose."""
    beginning = blocks[:_BEGINNING]
    aside = [block.text for block in beginning if block.sort is BlockType.ASIDE]
    if sum(map(len, aside)) <= 0.7 * sum(len(block.text) for block in beginning):
        return False
    words = words_in(" ".join(aside))
    small = function_words("en") | function_words("de") | function_words("fr") | function_words("es")
    return len(words) > _PROSE_ROW and sum(word in small for word in words) > 0.25 * len(words)


def plain_lines(text: str) -> str:
    """A preformatted text without indentation and fences, so that its lines are read as paragraphs."""
    return _INDENTATION.sub("", _FENCE.sub("", text))


def is_transcript(text: str) -> bool:
    """Whether most of the first lines begin with a time, and so are what people said."""
    lines = [line for line in text[:3_000].split("\n")[:20] if line.strip()]
    return len(lines) > 2 and sum(_SPOKEN_AT.match(line) is not None for line in lines) > 0.6 * len(lines)


def spoken_lines(text: str) -> str:
    """A transcript without times and speakers, each line a paragraph."""
    return "\n\n".join(_SPOKEN_AT.sub("", line, count=1) for line in text.split("\n"))


def separate_short_lines(text: str) -> str:
    """The text with an empty line after a short line that stands above a paragraph: a label, a name, an address."""
    lines = text.split("\n")
    separated: list[str] = []
    for number, line in enumerate(lines):
        separated.append(line)
        following = lines[number + 1] if number + 1 < len(lines) else ""
        if (
            line
            and len(following) >= _PARAGRAPH_LINE
            and len(line) < _SHORT_LINE * len(following)
            and following[0].isupper()
            and line[:1].isalnum()
            and not _ENDED.search(line)
            and line[-1] not in ",-|"
            and line.rpartition(" ")[2].lower() not in function_words("en")
        ):
            separated.append("")
    return "\n".join(separated)


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
    seams = sum(_continues(first, second, small, False) for first, second in zip(blocks, blocks[1:], strict=False))
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


def _name_section(heading: str) -> str | None:
    """What a section with this heading is worth; empty for any other heading; None for a line that is none of them."""
    plain = _SECTION_NUMBER.sub("", heading).strip(" .:*#—–-").casefold()
    for name in ("lead", "opening", "skipped"):
        if plain in _SECTIONS.phrases(name):
            return name
    return None


def _strip_label(text: str) -> tuple[str, str]:
    """A paragraph without the name of its section before it (`Abstract. We present …`), and that section."""
    label = _SECTION_LABEL.match(text)
    named = _name_section(label[1]) if label else None
    if label and named in ("lead", "opening"):
        return text[label.end() :], named
    first, _, rest = text.partition(" ")
    if rest[:1].isupper() and _name_section(first) == "lead" and first[:1].isupper():
        return rest, "lead"
    return text, ""


def _split(text: str, section: str, is_item: bool) -> Iterator[Candidate]:
    if "](" in text or "[" in text[:1]:
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

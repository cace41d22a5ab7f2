"""Read the sentences of a model's answer while it arrives, each with the numbers of the passages it names."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

from chyme.text.sentences import sentence_spans

NOTHING = "NOT FOUND"  # what a model writes when the passages do not answer
LONGEST = 1200  # characters of one sentence
_NUMBERS = re.compile(r"[\[【(]\s*((?:passages?\s*)?\d{1,3}(?:\s*(?:,|;|and|-|–)\s*\d{1,3})*)\s*[\]】)]", re.IGNORECASE)
_CITATION = re.compile(r"\s*[\[【]\s*(?:passages?\s*)?\d{1,3}(?:\s*(?:,|;|and|-|–)\s*\d{1,3})*\s*[\]】]", re.IGNORECASE)
_AFTER_END = re.compile(rf"([.!?…。！？][\"'”»)]*)((?:{_CITATION.pattern})+)[.]?", re.IGNORECASE)
_BULLET = re.compile(r"^\s*(?:[-*•>#]+|\d{1,2}[.)])\s+")
_SIGNS = re.compile(r"\*\*|__|`|(?<!\w)[*_](?=\w)|(?<=\w)[*_](?!\w)")
_THOUGHT = re.compile(r"<think>.*?(?:</think>|\Z)", re.DOTALL)
_NOTHING = re.compile(r"\W*not[ _]found\W*", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class WrittenSentence:
    """A sentence as a model wrote it, without marks, and the passages it names, counted from 1."""

    text: str
    cited: tuple[int, ...]

    @property
    def says_nothing_found(self) -> bool:
        return _NOTHING.fullmatch(self.text) is not None


class AnswerReader:
    """Takes pieces of an answer, and gives each sentence as soon as it is whole."""

    def __init__(self) -> None:
        self._text = ""

    @property
    def unfinished(self) -> str:
        """What was read of the sentence that is being written."""
        return _clean(_CITATION.sub("", _THOUGHT.sub("", self._text)).strip())[:LONGEST]

    def read(self, piece: str) -> list[WrittenSentence]:
        """The sentences that this piece makes whole."""
        self._text = _THOUGHT.sub(
            lambda thought: "" if thought[0].endswith("</think>") else thought[0], self._text + piece
        )
        if self._text.lstrip().startswith("<think>"):
            return []
        *lines, rest = self._text.split("\n")
        sentences = [sentence for line in lines for sentence in _sentences_of(line)]
        moved = _AFTER_END.sub(_move_before_end, rest)
        spans = sentence_spans(moved)
        if len(rest) > LONGEST:
            sentences += _sentences_of(rest)
            rest = ""
        elif len(spans) > 1 and moved[spans[-1][0]] not in "[【(":
            sentences += _sentences_of(moved[: spans[-1][0]])
            rest = moved[spans[-1][0] :]
        self._text = rest
        return sentences

    def finish(self, whole: bool) -> list[WrittenSentence]:
        """What is left at the end; a sentence that was cut off is dropped unless the answer is `whole`."""
        rest, self._text = _THOUGHT.sub("", self._text).strip(), ""
        ended = rest.rstrip("\"'”»)").endswith((".", "!", "?", "…", "。", "]", "】"))
        return list(_sentences_of(rest)) if whole or ended else []


def _sentences_of(line: str) -> Iterator[WrittenSentence]:
    moved = _AFTER_END.sub(_move_before_end, _BULLET.sub("", line))
    pending: WrittenSentence | None = None
    for start, end in sentence_spans(moved):
        raw = moved[start:end]
        cited = tuple(dict.fromkeys(number for match in _NUMBERS.finditer(raw) for number in _expand(match[1])))
        text = _clean(_CITATION.sub("", raw))[:LONGEST]
        if not any(sign.isalnum() for sign in text):
            if pending is not None and cited:  # numbers on their own belong to the sentence before them
                pending = WrittenSentence(pending.text, (*pending.cited, *cited))
            continue
        if pending is not None:
            yield pending
        pending = WrittenSentence(text, cited)
    if pending is not None:
        yield pending


def _move_before_end(match: re.Match[str]) -> str:
    return f"{match[2]}{match[1]}"


def _expand(numbers: str) -> list[int]:
    """The numbers in brackets, as 1, 3 or 2-4."""
    expanded: list[int] = []
    for part in re.split(r",|;|and", re.sub(r"(?i)passages?", "", numbers)):
        ends = [int(number) for number in re.findall(r"\d+", part)]
        if len(ends) == 2 and ends[0] < ends[1] <= ends[0] + 20:
            expanded += range(ends[0], ends[1] + 1)
        else:
            expanded += ends
    return expanded


def _clean(text: str) -> str:
    """Plain text on one line: no marks of Markdown, no invisible characters."""
    visible = "".join(sign if sign.isprintable() else " " for sign in _SIGNS.sub("", text))
    return " ".join(visible.split()).replace(" .", ".").replace(" ,", ",")

"""Build a model's input about a document: passages from all of it, passed as JSON from a child process to a thread."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass

from chyme.text.digest_text import replace_unwritable
from chyme.text.excerpts import take_excerpts
from chyme.text.markdown_blocks import blocks_of
from chyme.text.page_summary import text_of
from chyme.understanding.classification.result import Candidate, Classification, as_json, from_json
from chyme.understanding.source_forms import readable_text

FILE = "file"  # the name of the file's own text among the outputs
SPOKEN = ("speech-recognition-cleanup", "speech-recognition")  # the same words; the first is the corrected form
SUMMARIES = ("url-crawl-summary", "speech-recognition-summary")
SOURCE_OUTPUTS = ("url-metadata", "media-preview", "url-crawl-content", "doc-to-markdown", *SPOKEN, FILE)
GAP = "[a part is left out here]"
HINTS = 8  # dates that are given as hints
_MARKDOWN = ("url-crawl-content", "doc-to-markdown")
_OWN_NOTES = re.compile(r"^> note:.*$|\s?\[\?\]", re.MULTILINE)  # added by chyme
_MAX_LINE = 2000  # characters
_PASSAGES = 30  # pieces that a text without line breaks is split into, so that excerpts of its middle exist
_SUMMARY_DIVISOR = 10  # an existing summary may take 1/10 of the characters


@dataclass(frozen=True, slots=True)
class ModelInput:
    """The result of the rules, and the text that is sent. Without text no model is asked."""

    rules: Classification
    text: str = ""
    share: float = 1.0  # of all the text
    where: str = FILE  # the output most of it was read from
    context: str = ""  # derived from the text: it helps the model, but is no evidence

    @property
    def sent(self) -> str:
        return f"{self.text}\n\n{self.context}" if self.context else self.text

    @property
    def note(self) -> str | None:
        return None if self.share >= 1.0 else f"{max(self.share, 0.01):.0%} of the text was read"


def build_model_input(texts: Mapping[str, str], rules: Classification, characters: int) -> ModelInput:
    """Build the input. `texts` are the raw contents of outputs by name, with the file's own text as `file`."""
    present = [name for name in SOURCE_OUTPUTS if texts.get(name)]
    if SPOKEN[0] in present and SPOKEN[1] in present:
        present.remove(SPOKEN[1])
    lines = {name: _lines(name, texts[name]) for name in present}
    size = max(min(_MAX_LINE, characters // _PASSAGES), 1)
    pieces = [
        line[start : start + size] for part in lines.values() for line in part for start in range(0, len(line), size)
    ]
    taken = take_excerpts(pieces, characters, GAP)
    if not taken.text:
        return ModelInput(rules)
    where = max(present, key=lambda name: sum(map(len, lines[name])))
    return ModelInput(rules, taken.text, taken.share, where, _context(texts, rules, characters, taken.share))


def model_input_to_json(prepared: ModelInput) -> bytes:
    fields = {
        "rules": as_json(prepared.rules),
        "text": prepared.text,
        "share": prepared.share,
        "where": prepared.where,
        "more": prepared.context,
    }
    return json.dumps(fields).encode()


def model_input_from_json(data: bytes) -> ModelInput:
    """Read what `model_input_to_json` wrote. Raises ValueError or TypeError if it is something else."""
    read = json.loads(data)
    if not isinstance(read, dict) or read.keys() != {"rules", "text", "share", "where", "more"}:
        raise ValueError("no question")
    texts = [read[name] for name in ("rules", "text", "where", "more")]
    if not all(isinstance(text, str) for text in texts) or not isinstance(read["share"], int | float):
        raise ValueError("a question of another shape")
    return ModelInput(from_json(read["rules"]), read["text"], float(read["share"]), read["where"], read["more"])


def _lines(name: str, content: str) -> list[str]:
    """The non-blank plain lines of one output."""
    if name in _MARKDOWN:
        return [replace_unwritable(line) for line in text_of(blocks_of(_OWN_NOTES.sub("", content)))]
    text = replace_unwritable(content) if name == FILE else readable_text(name, content)
    return [line for line in text.split("\n") if line.strip()]


def _context(texts: Mapping[str, str], rules: Classification, characters: int, share: float) -> str:
    """The summary of a text that is not sent whole, and the dates in it."""
    parts: list[str] = []
    summaries = [readable_text(name, texts[name]).strip() for name in SUMMARIES if texts.get(name)]
    if summaries and share < 1.0:
        parts.append(f"[a summary of all of it]\n{summaries[0][: characters // _SUMMARY_DIVISOR]}")
    dates = [candidate for candidate in rules.dates if candidate.where in SOURCE_OUTPUTS][:HINTS]
    if dates:
        parts.append("[dates that stand in it]\n" + "\n".join(map(_hint, dates)))
    return "\n\n".join(parts)


def _hint(candidate: Candidate) -> str:
    return f"{' '.join(candidate.text.split())} = {candidate.date}"

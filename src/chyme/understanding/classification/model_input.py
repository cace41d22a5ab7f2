"""What a model is asked about a document: passages from all of it. It goes as JSON from a child to a thread."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass

from chyme.model import Upstream
from chyme.text.digest_text import extract_text, replace_unwritable
from chyme.text.excerpts import take_excerpts
from chyme.text.markdown_blocks import blocks_of
from chyme.text.page_summary import text_of
from chyme.understanding.classification.result import Candidate, Classification, as_json, from_json

FILE = "file"  # the file's own text, among the outputs
SPOKEN = ("speech-recognition-cleanup", "speech-recognition")  # the same words, the first corrected
SUMMARIES = ("url-crawl-summary", "speech-recognition-summary")
SOURCE_OUTPUTS = ("url-metadata", "media-preview", "url-crawl-content", "doc-to-markdown", *SPOKEN, FILE)
GAP = "[a part is left out here]"
HINTS = 8  # dates that are pointed out
_MARKDOWN = ("url-crawl-content", "doc-to-markdown")
_OURS = re.compile(r"^> note:.*$|\s?\[\?\]", re.MULTILINE)  # what chyme wrote into it
_LINE = 2000  # characters
_PASSAGES = 30  # that a text without line breaks is taken for, so that there is a middle
_SUMMARY_PART = 10  # of the room, that a summary made before may take


@dataclass(frozen=True, slots=True)
class ModelInput:
    """The rules' answer, and what is sent. Without text nobody is asked."""

    rules: Classification
    text: str = ""
    share: float = 1.0  # of all the text
    where: str = FILE  # the output most of it was read from
    context: str = ""  # what was made from the text before: it helps, and proves nothing

    @property
    def sent(self) -> str:
        return f"{self.text}\n\n{self.context}" if self.context else self.text

    @property
    def note(self) -> str | None:
        return None if self.share >= 1.0 else f"{max(self.share, 0.01):.0%} of the text was read"


def build_model_input(texts: Mapping[str, str], rules: Classification, characters: int) -> ModelInput:
    """`texts` are the contents of outputs as they stand, by their names, and the file's own as `file`."""
    present = [name for name in SOURCE_OUTPUTS if texts.get(name)]
    if SPOKEN[0] in present and SPOKEN[1] in present:
        present.remove(SPOKEN[1])
    lines = {name: _lines(name, texts[name]) for name in present}
    longest = max(min(_LINE, characters // _PASSAGES), 1)
    pieces = [
        line[at : at + longest] for part in lines.values() for line in part for at in range(0, len(line), longest)
    ]
    taken = take_excerpts(pieces, characters, GAP)
    if not taken.text:
        return ModelInput(rules)
    where = max(present, key=lambda name: sum(map(len, lines[name])))
    return ModelInput(rules, taken.text, taken.share, where, _more(texts, rules, characters, taken.share))


def model_input_to_json(one: ModelInput) -> bytes:
    told = {
        "rules": as_json(one.rules),
        "text": one.text,
        "share": one.share,
        "where": one.where,
        "more": one.context,
    }
    return json.dumps(told).encode()


def model_input_from_json(data: bytes) -> ModelInput:
    """What `model_input_to_json` wrote. ValueError or TypeError when it is something else."""
    told = json.loads(data)
    if not isinstance(told, dict) or told.keys() != {"rules", "text", "share", "where", "more"}:
        raise ValueError("no question")
    texts = [told[name] for name in ("rules", "text", "where", "more")]
    if not all(isinstance(text, str) for text in texts) or not isinstance(told["share"], int | float):
        raise ValueError("a question of another shape")
    return ModelInput(from_json(told["rules"]), told["text"], float(told["share"]), told["where"], told["more"])


def _lines(name: str, content: str) -> list[str]:
    """The plain lines of one output; none is blank."""
    if name in _MARKDOWN:
        return [replace_unwritable(line) for line in text_of(blocks_of(_OURS.sub("", content)))]
    text = replace_unwritable(content) if name == FILE else extract_text(Upstream(name, content)).text
    return [line for line in text.split("\n") if line.strip()]


def _more(texts: Mapping[str, str], rules: Classification, characters: int, share: float) -> str:
    """For a text that is not sent whole, its summary; and the dates that stand in it."""
    told: list[str] = []
    summaries = [extract_text(Upstream(name, texts[name])).text.strip() for name in SUMMARIES if texts.get(name)]
    if summaries and share < 1.0:
        told.append(f"[a summary of all of it]\n{summaries[0][: characters // _SUMMARY_PART]}")
    dates = [one for one in rules.dates if one.where in SOURCE_OUTPUTS][:HINTS]
    if dates:
        told.append("[dates that stand in it]\n" + "\n".join(map(_hint, dates)))
    return "\n\n".join(told)


def _hint(one: Candidate) -> str:
    return f"{' '.join(one.text.split())} = {one.date}"

"""Read subtitles and transcripts: what was said without times, speakers and fillers, and how long it takes."""

from __future__ import annotations

import re

from chyme.understanding.summaries.facts import Composed, DocumentFacts

SUBTITLES = ("text/vtt", "application/x-subrip")
_LAST_CUES = 5_000  # characters at the end in which the last cue is looked for
_CUE = re.compile(r"(?:(\d{1,3}):)?(\d{1,2}):(\d{2})[.,]\d{1,3} -->")
_SPOKEN_AT = re.compile(r"\s*[\[(]?\d{1,2}:\d\d(?::\d\d)?(?:[.,]\d{1,3})?[\])]?\s*[-–]?\s*(?:[A-Z][\w .'-]{0,30}:\s+)?")
_FILLERS = re.compile(
    r"^(?:(?:um+|uh+|erm?|so|okay|ok|yeah|yes|well|right|alright|all right|and|now|hey|hi|hello|everyone|everybody|also"
    r"|ähm?|ja|gut|alors|bon|pues|bueno)\b[,.!]?\s+)+(?=\S)",
    re.IGNORECASE,
)


def describe_subtitles(whole: str, facts: DocumentFacts, sentence: str = "") -> Composed | None:
    """`Subtitles of 14 minutes about apple trees: Today we prune an old apple tree.`"""
    cues = _CUE.findall(whole, max(0, len(whole) - _LAST_CUES))
    if not cues:
        return None
    hours, minutes, rest = cues[-1]
    seconds = int(hours or 0) * 3600 + int(minutes) * 60 + int(rest)
    length = f"{round(seconds / 60)} minutes" if seconds >= 90 else f"{max(seconds, 1)} seconds"
    about = f" about {', '.join(facts.topics[:3])}" if facts.topics else ""
    said = f": {sentence}" if sentence else "."
    return Composed(f"Subtitles of {length}{about}{said}", 0.5 if about or sentence else 0.3)


def is_transcript(text: str) -> bool:
    """Whether most of the first lines begin with a time, and so are what people said."""
    lines = [line for line in text[:3_000].split("\n")[:20] if line.strip()]
    return len(lines) > 2 and sum(_SPOKEN_AT.match(line) is not None for line in lines) > 0.6 * len(lines)


def spoken_lines(text: str) -> str:
    """A transcript without times and speakers, each line a paragraph."""
    return "\n\n".join(_SPOKEN_AT.sub("", line, count=1) for line in text.split("\n"))


def strip_fillers(sentence: str) -> str:
    """A spoken sentence without the words that only begin it: `Okay, so today …`."""
    plain = _FILLERS.sub("", sentence, count=1)
    return plain[:1].upper() + plain[1:]

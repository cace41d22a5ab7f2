"""Parse subtitles and lyrics (SRT, WebVTT, ASS/SSA, LRC, SBV, TTML) into cues without style codes."""

from __future__ import annotations

import html
import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace

from chyme.files.extensions import ASS, LRC, SBV, SRT, TTML, VTT

LAST_SECOND = 1_000_000.0  # eleven days; a later time is nonsense
SPEAKER_LENGTH = 80
_TIME = r"(?:(\d{1,4}):)?(\d{1,3}):(\d{1,2})(?:[,.:](\d{1,3}))?"
_CUE = re.compile(rf"^[ \t]*{_TIME}[ \t]*-->[ \t]*{_TIME}[^\n]*$", re.MULTILINE)
_SBV_CUE = re.compile(rf"^{_TIME},{_TIME}[ \t]*$", re.MULTILINE)
_ASS_TIME = re.compile(_TIME)
_LRC_TIME = re.compile(r"\[(\d{1,4}):(\d\d)(?:[.:](\d{1,3}))?\]|<\d{1,3}:\d\d(?:[.:]\d{1,3})?>")
_LRC_TAG = re.compile(r"\[([a-z#]{1,10}):[ \t]*([^\]\n]*)\]", re.IGNORECASE)
_VTT_TITLE = re.compile(r"WEBVTT[ \t]+-[ \t]*([^\n]{1,300})")
_BLANK_LINES = re.compile(r"\n[ \t]*\n")
_VTT_BLOCK = re.compile(r"^(?:NOTE|STYLE|REGION)\b")
_VOICE = re.compile(r"<v(?:\.[^\s<>]{0,80})?[ \t]{1,8}([^<>\n]{1,200})>")
_TAG = re.compile(r"</?(?:[a-zA-Z][^<>\n]{0,300}|\d[\d:.]{0,20})?>")
_OVERRIDE = re.compile(r"\{[^{}\n]{0,2000}\}")
_DRAWING = re.compile(r"\\p[1-9]")
_NUMBER = re.compile(r"\s*\d{1,7}\s*")
_TTML_CLOCK = re.compile(r"(?:(\d{1,4}):)?(\d{1,3}):(\d{1,2})(?:[.:](\d{1,3}))?")
_TTML_OFFSET = re.compile(r"(\d{1,12}(?:\.\d{1,6})?)(h|ms|m|s|f|t)")
_TTML_RATE = re.compile(r"\bttp:(frameRate|tickRate)\s{0,8}=\s{0,8}[\"'](\d{1,12})[\"']")
_TTML_PARAGRAPH = re.compile(r"<(?:\w{1,20}:)?p(?=[\s>])")
_TTML_END = re.compile(r"</(?:\w{1,20}:)?p\s{0,8}>")
_TTML_BREAK = re.compile(r"<(?:\w{1,20}:)?br\b[^<>]{0,200}/?>")
_ATTRIBUTE = re.compile(r"([\w:]{1,40})\s{0,8}=\s{0,8}(?:\"([^\"]{0,500})\"|'([^']{0,500})')")
_DEFAULT_TITLES = frozenset({"default aegisub file", "<untitled>", "untitled", "new subtitles"})
_OFFSET_UNITS = {"h": 3600.0, "m": 60.0, "s": 1.0, "ms": 0.001}


@dataclass(frozen=True, slots=True)
class Cue:
    """What is shown from one second to another; times that make no sense are None."""

    start: float | None
    until: float | None
    text: str
    speaker: str | None = None


@dataclass(frozen=True, slots=True)
class Subtitles:
    """The cues in their order, and what the file says about itself."""

    cues: tuple[Cue, ...]
    title: str = ""
    facts: tuple[str, ...] = ()


def parse_subtitles(text: str, mime: str) -> Subtitles:
    """The cues of a file with subtitles. What cannot be understood is left out."""
    subtitles = _PARSERS.get(mime, _parse_srt)(text)
    cues = (cue for cue in subtitles.cues if cue.text)
    return replace(subtitles, cues=tuple(_without_repeats(cues) if mime in (VTT, SRT) else cues))


def _parse_srt(text: str) -> Subtitles:
    return Subtitles(tuple(_timed_blocks(text, _CUE)))


def _parse_sbv(text: str) -> Subtitles:
    return Subtitles(tuple(_timed_blocks(text, _SBV_CUE)))


def _parse_vtt(text: str) -> Subtitles:
    title = _VTT_TITLE.match(text.lstrip("\ufeff \n"))
    return Subtitles(tuple(_timed_blocks(text, _CUE)), title[1].strip() if title else "")


def _timed_blocks(text: str, pattern: re.Pattern[str]) -> Iterator[Cue]:
    """The texts between the lines with times, each without the number or name of the cue that follows it."""
    found = list(pattern.finditer(text))
    for index, match in enumerate(found):
        last = index + 1 == len(found)
        body = text[match.end() : len(text) if last else found[index + 1].start()]
        start, until = _span(_seconds(*match.groups()[:4]), _seconds(*match.groups()[4:8]))
        for speaker, part in _voices(_body_lines(body, last)):
            yield Cue(start, until, part, speaker)


def _body_lines(body: str, last: bool) -> str:
    """The text of a cue: without the number or name of the next one, above its times, and without notes."""
    lines = body.split("\n")
    if not last and len(lines) > 2:
        above, before = lines[-2], lines[-3]  # the last line ends where the next times begin
        if above.strip() and (_NUMBER.fullmatch(above) or not before.strip()):
            lines = lines[:-2]
    blocks = _BLANK_LINES.split("\n".join(lines).strip("\n"))
    return "\n".join([blocks[0], *(block for block in blocks[1:] if not _VTT_BLOCK.match(block))])


def _voices(text: str) -> Iterator[tuple[str | None, str]]:
    """The text of a cue by speaker."""
    pieces = _VOICE.split(text)
    if plain := _plain(pieces[0]):
        yield None, plain
    for speaker, part in zip(pieces[1::2], pieces[2::2], strict=True):
        if plain := _plain(part):
            yield _speaker(html.unescape(speaker)), plain


def _plain(text: str) -> str:
    return " ".join(html.unescape(_TAG.sub("", _OVERRIDE.sub("", text))).split())


def _parse_ass(text: str) -> Subtitles:
    title, columns = "", ["layer", "start", "end", "style", "name", "", "", "", "", "text"]
    cues: list[Cue] = []
    in_events = True
    for line in text.split("\n"):
        key, colon, value = line.partition(":")
        key = key.strip().lower()
        if key.startswith("["):
            in_events = key.startswith("[events")
        elif key == "title" and not in_events:
            title = "" if value.strip().lower() in _DEFAULT_TITLES else value.strip()
        elif colon and in_events and key == "format":
            columns = [column.strip().lower() for column in value.split(",")]
        elif colon and in_events and key == "dialogue":
            fields = dict(zip(columns, value.split(",", len(columns) - 1), strict=False))
            cue = _ass_cue(fields)
            if cue is not None:
                cues.append(cue)
    cues.sort(key=lambda cue: cue.start if cue.start is not None else LAST_SECOND)
    return Subtitles(tuple(cues), title)


def _ass_cue(fields: dict[str, str]) -> Cue | None:
    words = fields.get("text", "")
    if any(_DRAWING.search(override) for override in _OVERRIDE.findall(words)):
        return None
    plain = " ".join(_OVERRIDE.sub("", words).replace("\\N", " ").replace("\\n", " ").replace("\\h", " ").split())
    begin, end = (_ASS_TIME.fullmatch(fields.get(name, "").strip()) for name in ("start", "end"))
    start, until = _span(_seconds(*begin.groups()) if begin else None, _seconds(*end.groups()) if end else None)
    return Cue(start, until, plain, _speaker(fields.get("name") or fields.get("actor") or ""))


def _parse_lrc(text: str) -> Subtitles:
    tags: dict[str, str] = {}
    lines: list[tuple[float, str]] = []
    for line in text.split("\n"):
        times = [match for match in _LRC_TIME.finditer(line) if match[1] is not None]
        words = " ".join(_LRC_TIME.sub("", line).split())
        if not times:
            tag = _LRC_TAG.match(line.strip())
            if tag:
                tags.setdefault(tag[1].lower(), tag[2].strip())
            continue
        for time in times[:50]:
            seconds = _seconds(None, time[1], time[2], time[3])
            if seconds is not None and words:
                lines.append((seconds, words))
    lines.sort(key=lambda line: line[0])
    cues = [
        Cue(*_span(start, lines[index + 1][0] if index + 1 < len(lines) else None), words)
        for index, (start, words) in enumerate(lines)
    ]
    facts = tuple(f"**{label}:** {tags[tag]}" for tag, label in _LRC_FACTS if tags.get(tag))
    return Subtitles(tuple(cues), tags.get("ti", ""), facts)


_LRC_FACTS = (("ar", "Artist"), ("al", "Album"), ("au", "Author"))


def _parse_ttml(text: str) -> Subtitles:
    """Read by expressions, not by a parser of XML: nothing in it is expanded or fetched."""
    cues: list[Cue] = []
    units = _ttml_units(text)
    for paragraph in _TTML_PARAGRAPH.split(text)[1:]:
        head, _, rest = paragraph.partition(">")
        attributes = {name: first or second for name, first, second in _ATTRIBUTE.findall(head[:2000])}
        start, end, length = (_ttml_seconds(attributes.get(name, ""), units) for name in ("begin", "end", "dur"))
        if end is None and start is not None and length is not None:
            end = start + length
        body = _TTML_END.split(rest, maxsplit=1)[0]
        cues.append(Cue(*_span(start, end), _plain(_TTML_BREAK.sub(" ", body))))
    title = re.search(r"<ttm:title[^<>]{0,200}>([^<]{1,300})</ttm:title>", text[:20_000])
    return Subtitles(tuple(cues), html.unescape(title[1]).strip() if title else "")


def _ttml_units(text: str) -> dict[str, float]:
    """The units of times, with those that the file defines: frames (30 a second if it does not say) and ticks."""
    rates = dict(_TTML_RATE.findall(text[:20_000]))
    frames = int(rates.get("frameRate", 0)) or 30
    ticks = int(rates.get("tickRate", 0)) or (frames if "frameRate" in rates else 1)
    return {**_OFFSET_UNITS, "f": 1 / frames, "t": 1 / ticks}


def _ttml_seconds(value: str, units: Mapping[str, float]) -> float | None:
    clock = _TTML_CLOCK.fullmatch(value)
    if clock:
        return _seconds(*clock.groups())
    offset = _TTML_OFFSET.fullmatch(value)
    seconds = float(offset[1]) * units[offset[2]] if offset and offset[2] in units else LAST_SECOND + 1
    return round(seconds, 3) if seconds <= LAST_SECOND else None


def _seconds(hours: str | None, minutes: str | None, seconds: str | None, fraction: str | None) -> float | None:
    if minutes is None or seconds is None:
        return None
    total = int(hours or 0) * 3600 + int(minutes) * 60 + int(seconds) + (float(f"0.{fraction}") if fraction else 0.0)
    return round(total, 3) if total <= LAST_SECOND else None


def _span(start: float | None, until: float | None) -> tuple[float | None, float | None]:
    return start, (until if start is not None and until is not None and until >= start else None)


def _speaker(name: str) -> str | None:
    return " ".join(name.split())[:SPEAKER_LENGTH] or None


def _without_repeats(cues: Iterator[Cue]) -> Iterator[Cue]:
    """Captions that roll up repeat the line before; each line is kept once."""
    previous = ""
    last: float | None = None
    for cue in cues:
        text = cue.text
        follows = cue.start is None or last is None or cue.start - last < 1.0
        if previous and follows and (text == previous or text.startswith(previous + " ")):
            text = text[len(previous) :].strip()
        last = cue.until if cue.until is not None else cue.start
        if text:
            previous = text
            yield replace(cue, text=text)


_PARSERS: dict[str, Callable[[str], Subtitles]] = {
    SRT: _parse_srt,
    VTT: _parse_vtt,
    ASS: _parse_ass,
    LRC: _parse_lrc,
    SBV: _parse_sbv,
    TTML: _parse_ttml,
}

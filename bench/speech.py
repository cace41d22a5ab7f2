"""Recordings: words got wrong, against faster-whisper called directly, and who is taken for whom."""

from __future__ import annotations

import csv
import json
import os
import shutil
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from bench import diarization, robot_speech
from bench.commands import ROOT, Ran, digest, run
from bench.figures import Figure, Sizes, Tell, remark, warn
from bench.vaults import CORPUS
from bench.word_errors import NORMALISED, errors
from chyme.application.app import open_app
from chyme.model import Transcript, Turn
from chyme.models.weights.catalog import SPEECH
from chyme.models.weights.folder import path_of
from chyme.speech.transcripts.json_format import from_json

SAMPLES = ROOT / "tests" / "samples" / "speech"
REAL = CORPUS / "speech"
TWO_SPEAKERS = "two_speakers.wav"
PEOPLE, CHOSEN, UNCHOSEN = "people", "espeak-ng, our samples", "espeak-ng, any sentence"
MOST = {PEOPLE: 0.05, CHOSEN: 0.05, UNCHOSEN: None}  # our samples were chosen for being understood; the others not


@dataclass(frozen=True, slots=True)
class Clip:
    """A recording and what is said in it."""

    path: Path
    truth: str
    group: str


def measure(sizes: Sizes, folder: Path, tell: Tell) -> None:
    """Clips whose words are known, through `chyme digest` and through faster-whisper itself, both on one core."""
    model = path_of(SPEECH)
    if model is None:
        warn("the weights for speech are missing; run 'chyme weights speech'")
        return
    core = sorted(os.sched_getaffinity(0))[:1]
    vault, few = folder / "vault", folder / "few"
    clips = [*_clips(REAL, vault, PEOPLE), *_clips(SAMPLES, vault, CHOSEN), *_robots(vault)]
    few.mkdir()
    warm = [Path(shutil.copy(min(clips, key=lambda clip: clip.path.stat().st_size).path, few))]
    plain, texts = _direct(model, [clip.path for clip in clips], core)
    plain_start, _ = _direct(model, warm, core)
    whole, whole_start = _digested(vault, core), _digested(few, core)
    heard = transcripts(vault)
    _tell_words(clips, heard, texts, tell)
    how = f"{whole.parent:.1f} + {whole.children:.1f} s (parent, children) against {plain.cpu:.1f} s on one core"
    tell(Figure("CPU against faster-whisper alone", whole.cpu / plain.cpu, "×", how))
    ratio = (whole.cpu - whole_start.cpu) / (plain.cpu - plain_start.cpu)
    how = f"less {whole_start.cpu:.1f} s and {plain_start.cpu:.1f} s, which the smallest clip alone takes"
    tell(Figure("the same, start-up left out", ratio, "×", how, at_most=1.10))
    _tell_speakers(folder / "speakers", core, tell)


def transcripts(vault: Path) -> dict[str, Transcript]:
    """What was recognised in every file of a vault, as it was heard: nothing is corrected."""
    found = {}
    with open_app(vault, create=False) as app:
        for file in app.open_vault.files_below([]):
            rows = {row["digester"]: row for row in app.documents.show(file.path)["digests"]}
            row = rows.get("speech-recognition")
            if row is not None and row["content"]:
                found[file.path] = from_json(row["content"])
            elif row is None or row["status"] != "completed":
                warn(f"{file.path}: {row and (row['error'] or row['status'])}")
    return found


def _clips(source: Path, vault: Path, group: str) -> list[Clip]:
    vault.mkdir(exist_ok=True)
    if not source.is_dir():
        warn(f"{source} is absent; its clips are skipped")
        return []
    with (source / "transcripts.tsv").open(encoding="utf-8", newline="") as table:
        rows = list(csv.DictReader(table, delimiter="\t", quoting=csv.QUOTE_NONE))
    return [Clip(Path(shutil.copy(source / row["file"], vault)), row["text"], group) for row in rows]


def _robots(vault: Path) -> list[Clip]:
    made = robot_speech.write(vault)
    if not made:
        warn("espeak-ng is not installed; its sentences are skipped")
    return [Clip(path, text, UNCHOSEN) for path, text in made]


def _direct(model: Path, files: Sequence[Path], cores: Sequence[int]) -> tuple[Ran, dict[str, str]]:
    command = (sys.executable, "-m", "bench.speech_loop", str(model), str(len(cores)), *map(str, files))
    ran = run(command, cores=cores)
    if ran.code:
        raise SystemExit(ran.output)
    return ran, {Path(path).name: text for path, text in json.loads(ran.output.splitlines()[-1]).items()}


def _digested(vault: Path, cores: Sequence[int]) -> Ran:
    ran = digest(vault, "--no-wait", cores=cores)
    if ran.code:
        warn(ran.output.strip())
    return ran


def _tell_words(clips: Sequence[Clip], heard: dict[str, Transcript], texts: dict[str, str], tell: Tell) -> None:
    remark(f"words: {NORMALISED}")
    remark(f"{'clip':<50}{'words':>7}{'WER':>8}{'of faster-whisper':>19}")
    totals: dict[str, tuple[int, int, int]] = {}
    for clip in clips:
        transcript = heard.get(clip.path.name)
        said = "" if transcript is None else " ".join(segment.text for segment in transcript.segments)
        wrong, count = errors(said, clip.truth)
        theirs, _ = errors(texts[clip.path.name], clip.truth)
        remark(f"{clip.path.name:<50}{count:>7}{wrong / count:>8.3f}{theirs / count:>19.3f}")
        before = totals.get(clip.group, (0, 0, 0))
        totals[clip.group] = (before[0] + wrong, before[1] + theirs, before[2] + count)
    for group, (wrong, theirs, count) in totals.items():
        how = f"{wrong} of {count} words; faster-whisper alone {theirs}"
        tell(Figure(f"WER: {group}", wrong / count, "", how, at_most=MOST[group]))


def _tell_speakers(vault: Path, cores: Sequence[int], tell: Tell) -> None:
    """Who speaks when in a recording of two people, through the whole of chyme."""
    if not (REAL / TWO_SPEAKERS).is_file():
        warn(f"{REAL / TWO_SPEAKERS} is absent; who speaks when is skipped")
        return
    vault.mkdir()
    shutil.copy(REAL / TWO_SPEAKERS, vault)
    _digested(vault, cores)
    transcript = transcripts(vault).get(TWO_SPEAKERS)
    if transcript is None:
        return
    turns = [Turn(segment.start, segment.end, segment.speaker) for segment in transcript.segments if segment.speaker]
    reference = diarization.read_rttm(REAL / "two_speakers.rttm")
    found = len({turn.speaker for turn in turns})
    for collar in (0.0, 0.25):
        wrong = diarization.errors(reference, turns, collar)
        how = (
            f"of {wrong.spoken:.1f} s spoken: {wrong.missed:.1f} missed, {wrong.false_alarm:.1f} too much, "
            f"{wrong.confused:.1f} confused; {found} speakers found, 2 there"
        )
        tell(Figure(f"diarization error, collar {collar:g} s", wrong.rate, "", how))

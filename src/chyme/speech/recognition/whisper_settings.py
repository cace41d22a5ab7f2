"""How speech is recognised here. Plain values; nothing here loads a model."""

from __future__ import annotations

import hashlib
import os
from dataclasses import dataclass
from pathlib import Path

from chyme.core.package_versions import describe_versions
from chyme.errors import EngineUnavailable
from chyme.models.weights.catalog import SPEECH
from chyme.models.weights.folder import path_of, verified_folder

MODEL_FILE = "model.bin"
FILES = (MODEL_FILE, "config.json", "tokenizer.json")  # without the last the library would ask a server for it
PROTOCOL = 1  # raise it when the same model would tell something else of the same sound


@dataclass(frozen=True, slots=True)
class SpeechSettings:
    """Where the model is, what it is told, and how long it may take."""

    model_dir: str = ""  # the folder of another Whisper model for CTranslate2; empty: the embedded one
    language: str = ""  # of every recording, as Whisper writes it (en, de, zh …); empty: detected for each file
    threads: int = 0  # stretches of one recording recognised at once; 0: one for each core
    weights_dir: str = ""  # where fetched weights stand; empty: beside Python
    seconds: float = 600.0  # for any file
    pace: float = 10.0  # and this many for each second that it plays

    @property
    def model(self) -> str:
        """The name by which a transcript tells who heard it."""
        return Path(self.model_dir).resolve().name if self.model_dir else SPEECH.engine

    @property
    def workers(self) -> int:
        return self.threads or len(os.sched_getaffinity(0))

    @property
    def fingerprint(self) -> str:
        """What changes the words that come out, and whether they can: a digest wakes when weights appear.

        Looks at the model's folder, and reads no more than its small files.
        """
        known = {member.filename: member.sha256 for member in SPEECH.members}
        there = "with" if path_of(SPEECH, self.weights_dir) else "without"
        identity = _identity(Path(self.model_dir)) if self.model_dir else f"{known[MODEL_FILE][:16]} {there} weights"
        libraries = describe_versions("faster-whisper", "ctranslate2", "av")
        return f"{self.model} {identity} {libraries} language {self.language or 'detected'}, protocol {PROTOCOL}"


def model_folder(model_dir: str, weights_dir: str) -> Path:
    """Where the model is, with everything it needs, or EngineUnavailable."""
    if not model_dir:
        return verified_folder(SPEECH, weights_dir)
    for name in FILES:
        if not (Path(model_dir) / name).is_file():
            raise EngineUnavailable(
                f"there is no {name} in {model_dir} that children may read; set speech_dir to the folder of a "
                "Whisper model for CTranslate2, or to nothing for the embedded one"
            )
    return Path(model_dir)


def _identity(folder: Path) -> str:
    """A model is another one when its settings differ, or the size or the day of its numbers."""
    told = hashlib.sha256()
    for name in ("config.json", "preprocessor_config.json"):
        try:
            told.update((folder / name).read_bytes())
        except OSError:
            told.update(b"-")
    try:
        stat = (folder / MODEL_FILE).stat()
        told.update(f"{stat.st_size} {stat.st_mtime_ns}".encode())
    except OSError:
        told.update(b"missing")
    return told.hexdigest()[:16]

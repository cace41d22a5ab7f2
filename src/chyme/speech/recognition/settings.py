"""Settings of speech recognition, here or by a service. Plain values; nothing here loads a model or a client."""

from __future__ import annotations

import hashlib
import os
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path

from chyme.core.package_versions import describe_versions
from chyme.errors import EngineUnavailable
from chyme.models.providers.endpoints import Endpoint
from chyme.models.weights.catalog import SPEECH
from chyme.models.weights.folder import path_of, verified_folder

MODEL_FILE = "model.bin"
FILES = (MODEL_FILE, "config.json", "tokenizer.json")  # without the last one, the library would download it
PROTOCOL = 2  # raise it when the same model would give other words for the same sound
SERVICE_PROTOCOL = 1  # raise it when the requests, or how answers are read, change
SOUND_A_REQUEST = 400.0  # minimum seconds of sound per request, when there is more than that


@dataclass(frozen=True, slots=True)
class SpeechSettings:
    """Where the model is, its language, and how long it may take."""

    model_dir: str = ""  # the folder of another Whisper model for CTranslate2; empty: the embedded one
    language: str = ""  # of every recording, as Whisper writes it (en, de, zh …); empty: detected for each file
    threads: int = 0  # stretches of one recording recognised at once; 0: one for each core
    weights_dir: str = ""  # where downloaded weights are; empty: next to Python
    seconds: float = 600.0  # for any file
    pace: float = 10.0  # plus this many for each second of playing time

    @property
    def model(self) -> str:
        """The model's name as stated in a transcript."""
        return Path(self.model_dir).resolve().name if self.model_dir else SPEECH.engine

    @property
    def workers(self) -> int:
        return self.threads or len(os.sched_getaffinity(0))

    @property
    def fingerprint(self) -> str:
        """What affects the words, and whether there can be any: digests are retried when weights appear.

        Looks into the model's folder, but reads only its small files.
        """
        known = {member.filename: member.sha256 for member in SPEECH.members}
        presence = "with" if path_of(SPEECH, self.weights_dir) else "without"
        identity = (
            _hash_folder(Path(self.model_dir)) if self.model_dir else f"{known[MODEL_FILE][:16]} {presence} weights"
        )
        return self._describe(identity)

    @property
    def portable_fingerprint(self) -> str:
        """The same without the times of files, which differ from machine to machine; empty if a file is missing."""
        if not self.model_dir:
            return f"{self.fingerprint} {SPEECH.identity}"
        identity = _hash_contents(Path(self.model_dir))
        return self._describe(identity) if identity else ""

    def _describe(self, identity: str) -> str:
        libraries = describe_versions("faster-whisper", "ctranslate2", "av")
        return f"{self.model} {identity} {libraries} language {self.language or 'detected'}, protocol {PROTOCOL}"


def model_folder(model_dir: str, weights_dir: str) -> Path:
    """The folder of the model with everything it needs, or EngineUnavailable."""
    if not model_dir:
        return verified_folder(SPEECH, weights_dir)
    for name in FILES:
        if not (Path(model_dir) / name).is_file():
            raise EngineUnavailable(
                f"there is no {name} in {model_dir} that children may read; set speech_dir to the folder of a "
                "Whisper model for CTranslate2, or to nothing for the embedded one"
            )
    return Path(model_dir)


def _hash_folder(folder: Path) -> str:
    """A model counts as changed when its configuration differs, or the size or modification time of its weights."""
    digest = hashlib.sha256()
    for name in ("config.json", "preprocessor_config.json"):
        try:
            digest.update((folder / name).read_bytes())
        except OSError:
            digest.update(b"-")
    try:
        stat = (folder / MODEL_FILE).stat()
        digest.update(f"{stat.st_size} {stat.st_mtime_ns}".encode())
    except OSError:
        digest.update(b"missing")
    return digest.hexdigest()[:16]


@cache
def _hash_contents(folder: Path) -> str:
    """The SHA-256 of all files of a model in a folder of its own, read once; empty if one cannot be read."""
    digest = hashlib.sha256()
    try:
        for name in FILES:
            with (folder / name).open("rb") as stream:
                digest.update(f"{name} {hashlib.file_digest(stream, 'sha256').hexdigest()} ".encode())
    except OSError:
        return ""
    return digest.hexdigest()


@dataclass(frozen=True, slots=True)
class SpeechEndpoint:
    """A service that implements OpenAI's `POST {url}/audio/transcriptions`.

    Each field is the name of its setting after the prefix `speech_`; `seconds` is speech_request_seconds.
    """

    url: str  # the address of an OpenAI-compatible service, such as http://localhost:8000/v1
    model: str  # the model's name at that service
    key: str = field(default="", repr=False)  # sent only to that address; empty when no key is needed
    seconds: float = 600.0  # time limit of one request, for up to ten minutes of sound

    @property
    def endpoint(self) -> Endpoint:
        return Endpoint(self.url, self.model, self.key, self.seconds, "speech", "recording")

    @property
    def fingerprint(self) -> str:
        return f"{self.endpoint.fingerprint}, protocol {SERVICE_PROTOCOL}"

    def seconds_for(self, duration: float) -> float:
        """Time limit in seconds for all requests of a recording of this duration together."""
        return self.seconds * (1.0 + duration / SOUND_A_REQUEST)

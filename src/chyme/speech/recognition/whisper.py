"""Whisper, by way of CTranslate2: what is said in some seconds of sound, and when each word is."""

from __future__ import annotations

import functools
import os
from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from chyme.errors import EngineUnavailable
from chyme.speech.recognition.hallucination_filter import WhisperResult, WhisperWord, is_doubtful, quality_score
from chyme.speech.recognition.whisper_settings import SpeechSettings, model_folder

if TYPE_CHECKING:
    import numpy as np
    from faster_whisper import WhisperModel  # type: ignore[import-untyped]
    from faster_whisper.tokenizer import Tokenizer  # type: ignore[import-untyped]
    from numpy.typing import NDArray

    Samples = NDArray[np.float32]

FRAME = 0.01  # seconds
WHOLE = 3000  # frames: half a minute, all that the model takes at once
# The model was trained on half minutes, yet three seconds of silence behind the speech serve it as well as twenty
# (measured: no more wrong words), and the encoder is done in a third of the time.
SILENCE = 300  # frames
STEP = 100  # frames: few different lengths, so that memory can be used again
SHORTEST = 1000  # frames: with less, short stretches come out as loops
BEAM = 5  # measured: a tenth fewer wrong words in noise than with 1, for an eighth more time
TOKENS_A_SECOND, TOKENS_MORE = 16, 20  # more than anybody says: beyond it is a loop
SURE = 0.8  # probability of a language that needs no second look
BROKEN = "\ufffd"  # half a letter, where the model stopped in the middle of one
_BEFORE, _AFTER = "\"'“¿([{-", "\"'.。,，!！?？:：”)]}、"  # punctuation that goes with the next word, or the last
_ENVIRONMENT = {
    "HF_HUB_OFFLINE": "1",  # the library has a way to ask a server for what it lacks
    "HF_HUB_DISABLE_TELEMETRY": "1",
    "ONEDNN_PRIMITIVE_CACHE_CAPACITY": "16",  # else it keeps a program for every length it ever met: 200 MB an hour
    "MKL_DISABLE_FAST_MM": "1",  # what is freed is given back
}


@dataclass(frozen=True, slots=True)
class EncodedAudio:
    """Some seconds of sound as the model hears them."""

    features: Any
    encoded: Any

    @property
    def frames(self) -> int:
        return int(self.features.shape[-1])


@functools.cache
def load(model_dir: str, weights_dir: str, workers: int) -> Whisper:
    """The model, loaded once for each process. `workers` threads may use it at the same time."""
    folder = model_folder(model_dir, weights_dir)
    for name, value in _ENVIRONMENT.items():
        os.environ.setdefault(name, value)
    try:
        from faster_whisper import WhisperModel
    except ImportError as error:
        raise EngineUnavailable("faster-whisper is not installed; run 'pip install faster-whisper'") from error
    try:
        return Whisper(
            WhisperModel(
                *(str(folder), "cpu"), compute_type="int8", cpu_threads=1, num_workers=workers, local_files_only=True
            )
        )
    except Exception as error:  # what the libraries raise for folders of something else has no common parent
        if isinstance(error, MemoryError) or "failed to allocate" in str(error):  # by a library that knows no better
            raise MemoryError from error
        raise EngineUnavailable(
            f"the speech model in {folder} cannot be loaded ({str(error).strip()[:200]}); "
            "set speech_dir to the folder of a Whisper model for CTranslate2, or to nothing for the embedded one"
        ) from error


def load_for_settings(settings: SpeechSettings) -> Whisper:
    """The model that the settings name, for the language they name, or EngineUnavailable."""
    model = load(settings.model_dir, settings.weights_dir, settings.workers)
    if settings.language and settings.language not in model.languages:
        raise EngineUnavailable(
            f"the speech model {settings.model} does not know the language {settings.language!r}; "
            "set speech_language to a code such as en, de or zh, or to nothing so that it is detected"
        )
    return model


class Whisper:
    """Takes stretches of up to half a minute, from several threads at once."""

    def __init__(self, model: WhisperModel) -> None:
        self._model = model
        self._tokenizers = functools.cache(self._tokenizer)

    @property
    def languages(self) -> frozenset[str]:
        return frozenset(self._model.supported_languages)

    def encode(self, samples: Samples) -> EncodedAudio:
        """The sound as the model hears it, with some silence behind."""
        features = self._model.feature_extractor(samples)[..., :WHOLE]
        return EncodedAudio(features, self._encoded(features, max(SHORTEST, features.shape[-1] + SILENCE)))

    def detect_language(self, ear: EncodedAudio) -> dict[str, float]:
        """How probable each language is."""
        if not self._model.model.is_multilingual:
            return {"en": 1.0}
        told = self._languages(ear)
        return told if max(told.values()) >= SURE else self._languages(self._longer(ear))

    def transcribe(self, ear: EncodedAudio, language: str) -> WhisperResult:
        """The words. If they are doubtful, the model listens once more, with all the silence it was trained on."""
        tokenizer = self._tokenizers(language)
        heard, tokens = self._generated(ear, tokenizer)
        if is_doubtful(heard):
            longer = self._longer(ear)
            again, others = self._generated(longer, tokenizer)
            if quality_score(again) > quality_score(heard):
                ear, heard, tokens = longer, again, others
        return replace(heard, words=tuple(self._aligned(ear, tokenizer, tokens))) if tokens else heard

    def _languages(self, ear: EncodedAudio) -> dict[str, float]:
        return {token[2:-2]: probability for token, probability in self._model.model.detect_language(ear.encoded)[0]}

    def _longer(self, ear: EncodedAudio) -> EncodedAudio:
        return EncodedAudio(ear.features, self._encoded(ear.features, WHOLE))

    def _encoded(self, features: Any, frames: int) -> Any:
        import numpy

        missing = min(WHOLE, frames + -frames % STEP) - features.shape[-1]
        return self._model.encode(numpy.pad(features, ((0, 0), (0, missing))))

    def _generated(self, ear: EncodedAudio, tokenizer: Tokenizer) -> tuple[WhisperResult, list[int]]:
        prompt = self._model.get_prompt(tokenizer, [], without_timestamps=True)
        most = len(prompt) + TOKENS_MORE + int(TOKENS_A_SECOND * ear.frames * FRAME)
        (result,) = self._model.model.generate(
            ear.encoded,
            [prompt],
            beam_size=BEAM,
            max_length=min(self._model.max_length, most),
            return_scores=True,
            return_no_speech_prob=True,
            suppress_tokens=self._suppressed(tokenizer),
        )
        tokens = [token for token in result.sequences_ids[0] if token < tokenizer.eot]
        text = tokenizer.decode(tokens).strip()
        length = len(result.sequences_ids[0])
        likely = result.scores[0] * length / (length + 1)  # the end counts too
        return WhisperResult(text, ear.frames * FRAME, likely, result.no_speech_prob), tokens if text else []

    def _aligned(self, ear: EncodedAudio, tokenizer: Tokenizer, tokens: list[int]) -> Iterator[WhisperWord]:
        """Each word with its time, in order, none beginning before the last one ended."""
        end = ear.frames * FRAME
        whole: dict[str, Any] = {"seek": 0, "start": 0.0, "end": end, "tokens": tokens}
        self._model.add_word_timestamps([[whole]], tokenizer, ear.encoded, ear.frames, _BEFORE, _AFTER, 0.0)
        over = 0.0
        for word in whole["words"]:
            start = min(max(over, float(word["start"])), end)
            over = min(max(start, float(word["end"])), end)
            text = word["word"].replace(BROKEN, "")
            if text.strip():
                yield WhisperWord(text, start, over, float(word["probability"]))

    def _tokenizer(self, language: str) -> Tokenizer:
        from faster_whisper.tokenizer import Tokenizer

        many = self._model.model.is_multilingual
        return Tokenizer(self._model.hf_tokenizer, many, task="transcribe", language=language)

    def _suppressed(self, tokenizer: Tokenizer) -> list[int]:
        """What is no speech: notes, brackets, and the marks of the model itself."""
        marks = (tokenizer.transcribe, tokenizer.translate, tokenizer.sot, tokenizer.sot_prev, tokenizer.sot_lm)
        return sorted({*tokenizer.non_speech_tokens, *marks, tokenizer.no_speech})

"""Run Whisper with CTranslate2: the words in some seconds of sound, and their times."""

from __future__ import annotations

import functools
import os
from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from chyme.errors import EngineUnavailable
from chyme.speech.recognition.hallucination_filter import (
    WhisperResult,
    WhisperWord,
    is_doubtful,
    is_repetitive,
    quality_score,
)
from chyme.speech.recognition.open_endings import TAIL_FRAMES, lost_words, may_have_lost_words
from chyme.speech.recognition.settings import SpeechSettings, model_folder

if TYPE_CHECKING:
    from faster_whisper import WhisperModel  # type: ignore[import-untyped]
    from faster_whisper.tokenizer import Tokenizer  # type: ignore[import-untyped]

    from chyme.speech.recognition.audio_stream import Samples

FRAME = 0.01  # seconds
MAX_FRAMES = 3000  # frames: half a minute, the most the model takes at once
# The model was trained on half minutes, yet three seconds of silence after the speech work as well as twenty
# (measured: no more wrong words), and the encoder takes a third of the time.
SILENCE_FRAMES = 300  # frames
FRAME_STEP = 100  # frames: few different lengths, so that memory can be reused
MIN_FRAMES = 1000  # frames: with less, short chunks come out as loops
BEAM = 5  # measured: a tenth fewer wrong words in noise than with 1, for an eighth more time
TOKENS_A_SECOND, EXTRA_TOKENS = 16, 20  # more than anyone can say; beyond this it is a loop
SURE = 0.8  # probability from which a language needs no second check
BROKEN_CHARACTER = "\ufffd"  # an incomplete character, where the model stopped in the middle of one
# Punctuation that belongs to the next word, or to the previous one.
_PREPENDED, _APPENDED = "\"'“¿([{-", "\"'.。,，!！?？:：”)]}、"
_ENVIRONMENT = {
    "HF_HUB_OFFLINE": "1",  # the library could download what it lacks
    "HF_HUB_DISABLE_TELEMETRY": "1",
    "ONEDNN_PRIMITIVE_CACHE_CAPACITY": "16",  # otherwise it caches a program per input length: 200 MB an hour
    "MKL_DISABLE_FAST_MM": "1",  # freed memory is returned to the system
}


@dataclass(frozen=True, slots=True)
class EncodedAudio:
    """Some seconds of sound, encoded by the model."""

    features: Any
    encoded: Any

    @property
    def frames(self) -> int:
        return int(self.features.shape[-1])


@functools.cache
def load(model_dir: str, weights_dir: str, workers: int) -> Whisper:
    """Load the model, once per process. `workers` threads may use it at the same time."""
    folder = model_folder(model_dir, weights_dir)
    for name, value in _ENVIRONMENT.items():
        os.environ.setdefault(name, value)
    try:
        from faster_whisper import WhisperModel
    except ImportError as error:
        raise EngineUnavailable("faster-whisper is not installed; run 'pip install faster-whisper'") from error
    try:
        model = WhisperModel(
            *(str(folder), "cpu"), compute_type="int8", cpu_threads=1, num_workers=workers, local_files_only=True
        )
    except Exception as error:  # what the libraries raise for other folders has no common base class
        if isinstance(error, MemoryError) or "failed to allocate" in str(error):  # some libraries raise no MemoryError
            raise MemoryError from error
        raise EngineUnavailable(
            f"the speech model in {folder} cannot be loaded ({str(error).strip()[:200]}); "
            "set speech_dir to the folder of a Whisper model for CTranslate2, or to nothing for the embedded one"
        ) from error
    return Whisper(model)


def load_for_settings(settings: SpeechSettings) -> Whisper:
    """Load the model that the settings name and check their language, or raise EngineUnavailable."""
    model = load(settings.model_dir, settings.weights_dir, settings.workers)
    if settings.language and settings.language not in model.languages:
        raise EngineUnavailable(
            f"the speech model {settings.model} does not know the language {settings.language!r}; "
            "set speech_language to a code such as en, de or zh, or to nothing so that it is detected"
        )
    return model


class Whisper:
    """Recognises chunks of up to half a minute, from several threads at once."""

    def __init__(self, model: WhisperModel) -> None:
        self._model = model
        self._tokenizers = functools.cache(self._tokenizer)

    @property
    def languages(self) -> frozenset[str]:
        return frozenset(self._model.supported_languages)

    def encode(self, samples: Samples) -> EncodedAudio:
        """Encode the sound, with some silence after it."""
        features = self._model.feature_extractor(samples)[..., :MAX_FRAMES]
        frames = max(MIN_FRAMES, features.shape[-1] + SILENCE_FRAMES)
        return EncodedAudio(features, self._encode_frames(features, frames))

    def detect_language(self, audio: EncodedAudio) -> dict[str, float]:
        """The probability of each language."""
        if not self._model.model.is_multilingual:
            return {"en": 1.0}
        probabilities = self._language_probabilities(audio)
        if max(probabilities.values()) >= SURE:
            return probabilities
        return self._language_probabilities(self._encode_full_length(audio))

    def transcribe(self, audio: EncodedAudio, language: str) -> WhisperResult:
        """Return the words. If they are doubtful, try again with all the silence the model was trained on; where the
        sound stops in the middle of a sentence, listen to its end again."""
        tokenizer = self._tokenizers(language)
        result, tokens = self._generate(audio, tokenizer)
        if is_doubtful(result):
            full_length = self._encode_full_length(audio)
            second_result, second_tokens = self._generate(full_length, tokenizer)
            if quality_score(second_result) > quality_score(result):
                audio, result, tokens = full_length, second_result, second_tokens
        if not tokens:
            return result
        words = tuple(self._align_words(audio, tokenizer, tokens))
        lost = self._listen_again(audio, tokenizer, words) if may_have_lost_words(result.text, audio.features) else ()
        return replace(result, text=result.text + "".join(word.text for word in lost), words=(*words, *lost))

    def _listen_again(
        self, audio: EncodedAudio, tokenizer: Tokenizer, words: tuple[WhisperWord, ...]
    ) -> tuple[WhisperWord, ...]:
        """The words at the end that a second hearing of the last seconds adds."""
        features = audio.features[..., -TAIL_FRAMES:]
        tail = EncodedAudio(features, self._encode_frames(features, max(MIN_FRAMES, TAIL_FRAMES + SILENCE_FRAMES)))
        result, tokens = self._generate(tail, tokenizer)
        if not tokens or is_repetitive(result.text):
            return ()
        again = tuple(self._align_words(tail, tokenizer, tokens))
        return lost_words(words, again, (audio.frames - TAIL_FRAMES) * FRAME)

    def _language_probabilities(self, audio: EncodedAudio) -> dict[str, float]:
        return {token[2:-2]: probability for token, probability in self._model.model.detect_language(audio.encoded)[0]}

    def _encode_full_length(self, audio: EncodedAudio) -> EncodedAudio:
        return EncodedAudio(audio.features, self._encode_frames(audio.features, MAX_FRAMES))

    def _encode_frames(self, features: Any, frames: int) -> Any:
        import numpy

        missing = min(MAX_FRAMES, frames + -frames % FRAME_STEP) - features.shape[-1]
        return self._model.encode(numpy.pad(features, ((0, 0), (0, missing))))

    def _generate(self, audio: EncodedAudio, tokenizer: Tokenizer) -> tuple[WhisperResult, list[int]]:
        prompt = self._model.get_prompt(tokenizer, [], without_timestamps=True)
        max_tokens = len(prompt) + EXTRA_TOKENS + int(TOKENS_A_SECOND * audio.frames * FRAME)
        (result,) = self._model.model.generate(
            audio.encoded,
            [prompt],
            beam_size=BEAM,
            max_length=min(self._model.max_length, max_tokens),
            return_scores=True,
            return_no_speech_prob=True,
            suppress_tokens=self._suppressed_tokens(tokenizer),
        )
        tokens = [token for token in result.sequences_ids[0] if token < tokenizer.eot]
        text = tokenizer.decode(tokens).strip()
        length = len(result.sequences_ids[0])
        mean_logprob = result.scores[0] * length / (length + 1)  # the end token counts too
        return WhisperResult(text, audio.frames * FRAME, mean_logprob, result.no_speech_prob), tokens if text else []

    def _align_words(self, audio: EncodedAudio, tokenizer: Tokenizer, tokens: list[int]) -> Iterator[WhisperWord]:
        """Yield each word with its time, in order and without overlap."""
        end = audio.frames * FRAME
        segment: dict[str, Any] = {"seek": 0, "start": 0.0, "end": end, "tokens": tokens}
        self._model.add_word_timestamps([[segment]], tokenizer, audio.encoded, audio.frames, _PREPENDED, _APPENDED, 0.0)
        previous_end = 0.0
        for word in segment["words"]:
            start = min(max(previous_end, float(word["start"])), end)
            previous_end = min(max(start, float(word["end"])), end)
            text = word["word"].replace(BROKEN_CHARACTER, "")
            if text.strip():
                yield WhisperWord(text, start, previous_end, float(word["probability"]))

    def _tokenizer(self, language: str) -> Tokenizer:
        from faster_whisper.tokenizer import Tokenizer

        is_multilingual = self._model.model.is_multilingual
        return Tokenizer(self._model.hf_tokenizer, is_multilingual, task="transcribe", language=language)

    def _suppressed_tokens(self, tokenizer: Tokenizer) -> list[int]:
        """Tokens that are not speech: notes, brackets, and the model's own markers."""
        marks = (tokenizer.transcribe, tokenizer.translate, tokenizer.sot, tokenizer.sot_prev, tokenizer.sot_lm)
        return sorted({*tokenizer.non_speech_tokens, *marks, tokenizer.no_speech})

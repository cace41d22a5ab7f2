"""What digesters that ask a model have in common: whom they ask, for which files, and how long that may take.

A digester sets `language` or `vision` in its constructor: None when no such model is configured.
"""

from __future__ import annotations

from contextlib import AbstractContextManager

from chyme.digester import Digester, Source
from chyme.model import File
from chyme.models.local.model import take_turn
from chyme.models.providers.endpoints import LanguageSettings, VisionSettings

SLACK_SECONDS = 10.0  # the attempt may take this much longer than the model's answer


class LanguageModelDigester(Digester):
    """Asks the language model about every file if there is one."""

    language: LanguageSettings | None
    seconds: float

    def waits_for(self, file: File) -> bool:
        return self.language is not None

    def asks(self, file: File) -> str | None:
        return self.language.endpoint.prefix if self.language else None

    def turn(self, file: File) -> AbstractContextManager[object]:
        return take_turn(self.language.endpoint, file.name) if self.language else super().turn(file)

    def time_limit(self, source: Source) -> float:
        """The model's time if one is asked, plus that of the rules, which step in when it fails."""
        return self.seconds + (self.language.seconds if self.language else 0.0)


class VisionModelDigester(Digester):
    """Asks the vision model about the pictures that may be sent to it if there is one."""

    vision: VisionSettings | None
    seconds: float

    def waits_for(self, file: File) -> bool:
        return self.vision is not None and self.vision.may_send(file.mime, file.size)

    def asks(self, file: File) -> str | None:
        return self.vision.endpoint.prefix if self.vision and self.waits_for(file) else None

    def time_limit(self, source: Source) -> float:
        """The model's time if one is asked, plus the time to do without it, which is the fallback."""
        model_seconds = self.vision.seconds + SLACK_SECONDS if self.vision and self.waits_for(source.file) else 0.0
        return self.seconds + model_seconds


def fingerprint_with_model(
    model: LanguageSettings | VisionSettings | None, prompts: object, rules: str, *, long_texts: bool = False
) -> str:
    """The fingerprint of a digester that asks this model, if there is one, and follows these rules without it.

    `long_texts`: how much of a text the model gets changes the result.
    """
    if model is None:
        return rules
    characters = f"{model.characters} characters, " if long_texts and isinstance(model, LanguageSettings) else ""
    return f"{model.fingerprint}, prompts {prompts}, {characters}{rules}"

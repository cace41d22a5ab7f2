"""An embedder of questions for tests, which runs in a real child and behaves as the question demands."""

from __future__ import annotations

import math
import os
import signal
import time
from array import array
from pathlib import Path

from chyme.digester import Digester, Source
from chyme.errors import EngineUnavailable
from chyme.model import Artifact, File, Output
from chyme.models.embedding.embed_question import MODEL, NAME, QUESTION, VECTOR


class Obedient(Digester):
    """Answers with the number of questions to this child, so that a new answer differs from a cached one."""

    name = NAME
    label = "Obedient"
    description = "For tests."
    questions = 0

    def can_digest(self, file: File) -> bool:
        return True

    def digest(self, source: Source) -> list[Output]:
        question, model = (source.output(name) for name in (QUESTION, MODEL))
        assert question is not None and model is not None
        self.questions += 1
        match (question.content or "").split():
            case ["hang"]:
                time.sleep(60)
            case ["slow"]:
                time.sleep(0.8)
            case ["die"]:
                os.kill(os.getpid(), signal.SIGKILL)
            case ["die", "once"] if not Path("died").exists():
                Path("died").touch()
                os.kill(os.getpid(), signal.SIGKILL)
            case ["missing"]:
                raise EngineUnavailable("the weights are not there; run 'chyme weights embedding'")
            case ["unreadable"] | []:
                return [Output(NAME, None)]
            case ["nan"]:
                return self._vector(array("f", [math.nan]).tobytes())
            case ["odd"]:
                return self._vector(b"abc")
            case ["nothing"]:
                return self._vector(b"")
        return self._vector(array("f", [float(self.questions), 1.0]).tobytes())

    def _vector(self, data: bytes) -> list[Output]:
        return [Output(NAME, None, (Artifact(VECTOR, data),))]


def in_child(_config: dict[str, object]) -> dict[str, Digester]:
    return {NAME: Obedient()}

"""Asks a model once with settings that are not stored yet: "try it"."""

from __future__ import annotations

import base64
import time
from dataclasses import dataclass, replace

from pydantic import BaseModel

from chyme.application.digester_config import LOCAL, config_of, embedding_config, endpoints_of
from chyme.application.settings import Settings
from chyme.application.settings_view import without_secrets_of
from chyme.errors import DigestError, UsageError
from chyme.models.embedding.passage_embedder import PassageEmbedding
from chyme.models.embedding.remote_service import embed_remotely
from chyme.models.local.model import LocalSettings
from chyme.models.providers.call_ledger import CallLedger
from chyme.models.providers.endpoints import Endpoint
from chyme.models.providers.structured_request import ask, require_client_for_file
from chyme.speech.recognition.service_trial import try_service

SECONDS = 20.0  # at most, for the whole trial
NAME = "the trial"
MODELS = ("llm", "vision", "speech", "embedding")
_INSTRUCTIONS = "You are asked once to see whether you can be reached. Answer the question by the schema."
# A red disc on white, 32 × 32.
_PICTURE = base64.b64decode(
    "/9j/4AAQSkZJRgABAQAAAQABAAD/2wBDACgcHiMeGSgjISMtKygwPGRBPDc3PHtYXUlkkYCZlo+AjIqgtObDoKrarYqMyP/L2u71////"
    "m8H////6/+b9//j/2wBDASstLTw1PHZBQXb4pYyl+Pj4+Pj4+Pj4+Pj4+Pj4+Pj4+Pj4+Pj4+Pj4+Pj4+Pj4+Pj4+Pj4+Pj4+Pj4+Pj4"
    "+Pj/wAARCAAgACADASIAAhEBAxEB/8QAGQABAAMBAQAAAAAAAAAAAAAABQADBgIE/8QAIxAAAQQCAQQDAQAAAAAAAAAAAQACAwQRMRIT"
    "IUFRBTJhcf/EABcBAQEBAQAAAAAAAAAAAAAAAAABAgP/xAAcEQABBAMBAAAAAAAAAAAAAAACAAEDERIhMRP/2gAMAwEAAhEDEQA/AGVX"
    "LYihx1HhpPjZUsS9GB8mMkDt/UC97pHl7zlx2Vkipd4YfTb8TsVqGZ3GOQE+tK1ZwEggg4I0QnKU5sVw532Bwf1QStWaHBrbi6tRGas9"
    "jdkdkCQQSCMEbBWjVE9OGw7k4EO9tO0IbSGZg0/EGmvj4XQ1gHjDnHlg+FIaEEL+YBc4a5HS9KCNbdWaZjbEV//Z"
)


class Color(BaseModel):
    """The answer of a model that was asked for a colour."""

    color: str


@dataclass(frozen=True, slots=True)
class TrialResult:
    """What came of a trial."""

    ok: bool
    model: str
    seconds: float
    message: str


class ModelTrial:
    """Tries models of one vault. Their calls count in its ledger, and obey its budgets and pauses."""

    def __init__(self, ledger: CallLedger) -> None:
        self._ledger = ledger

    def run(self, model: str, settings: Settings) -> TrialResult:
        """Ask once with these settings; `model` is how they begin, such as `llm`."""
        if model not in MODELS:
            raise UsageError(f"there is no model called {model[:50]!r}; there are: {', '.join(MODELS)}")
        if model == "llm" and settings.llm_provider == LOCAL:
            return _look_at_local(settings)
        endpoint = endpoints_of(settings).get(model)
        if endpoint is None:
            raise UsageError(f"no such model is named: enter its address and its name, {model}_url and {model}_model")
        limited = replace(endpoint, seconds=min(SECONDS, endpoint.seconds))
        began = time.monotonic()
        try:
            self._ask(model, limited, settings)
        except DigestError as error:
            message = without_secrets_of(settings, str(error).removeprefix(f"{NAME}: "))
            return TrialResult(False, f"{endpoint.model} at {endpoint.host}", time.monotonic() - began, message)
        seconds = time.monotonic() - began
        return TrialResult(True, f"{endpoint.model} at {endpoint.host}", seconds, f"it answered in {seconds:.1f} s")

    def _ask(self, model: str, endpoint: Endpoint, settings: Settings) -> None:
        calls = self._ledger.calls_for_trial()
        if model == "speech":
            try_service(endpoint, calls, NAME)
        elif model == "embedding":
            embed_remotely(
                *(PassageEmbedding(**embedding_config(settings)), ["Is anybody there?"], calls),
                name=NAME,
                seconds=endpoint.seconds,
            )
        elif model == "vision":
            require_client_for_file(NAME, endpoint.provider)
            from pydantic_ai import BinaryContent

            picture = BinaryContent(_PICTURE, media_type="image/jpeg")
            ask(endpoint, calls, NAME, _INSTRUCTIONS, ["Which colour has the disc?", picture], Color, retries=0)
        else:
            ask(endpoint, calls, NAME, _INSTRUCTIONS, "Which colour has the sky on a clear day?", Color, retries=0)


def _look_at_local(settings: Settings) -> TrialResult:
    """The local model takes long to load, so it is not asked: it works where its program and weights are there."""
    language = config_of(settings)["language"]
    local = LocalSettings(**language["local"])
    missing = local.missing
    message = f"it cannot run: {missing}" if missing else "its program and its weights are there; nothing is sent"
    return TrialResult(not missing, f"{language['model']}, in a child of chyme", 0.0, message)

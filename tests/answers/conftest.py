"""A vault with questions to ask, and a provider that answers by script."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest
from asked_vault import fill
from model_server import ModelServer

from chyme.application.app import App, open_app
from chyme.application.settings import Settings

Open = Callable[..., App]


@pytest.fixture
def provider() -> Iterator[ModelServer]:
    with ModelServer(()) as server:
        yield server


@pytest.fixture
def open_with(tmp_path: Path) -> Iterator[Open]:
    """Opens the filled vault with these settings."""
    with ExitStack() as stack:

        def opened(**settings: object) -> App:
            app = stack.enter_context(open_app(tmp_path / "vault", Settings(**settings)))  # type: ignore[arg-type]
            fill(app)
            return app

        (tmp_path / "vault").mkdir()
        yield opened


@pytest.fixture
def asked_app(open_with: Open, provider: ModelServer) -> App:
    """The vault with the scripted provider as its language model."""
    return open_with(llm_url=provider.url, llm_model="scripted", llm_key="sk-key")

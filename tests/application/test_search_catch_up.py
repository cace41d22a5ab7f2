"""Before a command ends it updates the search engines, unless another process is doing so."""

from __future__ import annotations

import fcntl
from pathlib import Path

from chyme.application.app import open_app
from chyme.application.settings import Settings

NOWHERE = "http://127.0.0.1:9"


def test_a_command_does_not_wait_until_another_process_has_updated_the_engines(tmp_path: Path) -> None:
    settings = Settings(search_engine="meilisearch", meilisearch_url=NOWHERE, qdrant_url=NOWHERE)
    with open_app(tmp_path, settings) as app, (app.database.path.with_name("pusher.lock")).open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)

        assert app.search_index.catch_up(0.2) == "another process is updating the search engines"

        fcntl.flock(lock, fcntl.LOCK_UN)
        assert "cannot be reached" in str(app.search_index.catch_up(0.2))

"""Settings change while files are being digested: nothing is lost, no attempt is charged, no file is missed."""

from __future__ import annotations

from pathlib import Path

import pytest
from waiting import wait_until

from chyme.application.app import App, open_app

pytestmark = pytest.mark.slow

TEXT = "The harbour of the town was built of granite, and its lantern shines over the water at night. Number {}."


def drop(app: App, *numbers: int) -> None:
    for number in numbers:
        (app.vault.root / f"{number}.txt").write_text(TEXT.format(number))


def is_settled(app: App, files: int) -> bool:
    progress = app.digestion.progress()
    return app.documents.states()["completed"] == files and not progress.todo and not progress.running


def test_work_under_way_is_done_again_without_being_charged(tmp_path: Path) -> None:
    with open_app(tmp_path) as app:
        drop(app, *range(12))
        app.start(follow=True)
        app.scan()
        runner = app.digestion.runner
        for concurrency in (3, 4):
            wait_until(lambda: app.digestion.coordinator.in_flight.running or is_settled(app, 12))
            app.settings_editor.store({"concurrency": concurrency})
        drop(app, 12)  # the folder is still followed
        wait_until(lambda: is_settled(app, 13))
        assert app.digestion.runner is not runner
        charged = app.database.read().execute(
            "SELECT count(*) FROM digests WHERE attempts > 1 OR interruptions > 0 OR status = 'failed'"
        )
        assert charged.fetchone()[0] == 0


def test_a_budget_changes_without_interrupting_anything(tmp_path: Path) -> None:
    with open_app(tmp_path) as app:
        app.start(follow=True)
        engine = app.digestion.coordinator
        app.settings_editor.store({"llm_calls_per_day": 7})
        assert app.digestion.coordinator is engine
        assert app.ledger.allowance("llm").calls == 7

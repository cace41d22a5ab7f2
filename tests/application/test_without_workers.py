"""Where workers are not set up, nothing of them is loaded."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

pytestmark = pytest.mark.slow

LIST = (
    'print("loaded:", *(name for name in sys.modules if name.partition(".")[0] == "nats" or "chyme.workers" in name))'
)
DIGEST = f"""
import sys
from chyme.doors.cli.main import main
main(["digest", "--vault", sys.argv[1]], standalone_mode=False)
main(["status", "--vault", sys.argv[1]], standalone_mode=False)
{LIST}
"""
SERVE = f"""
import sys
from pathlib import Path
from fastapi.testclient import TestClient
from chyme.application.server_vaults import open_server_vaults
from chyme.doors.http.server_api import create_server_app
with open_server_vaults([Path(sys.argv[1])]) as house:
    (app,) = house.vaults.values()
    app.start(follow=True)
    with TestClient(create_server_app(house), "http://localhost", client=("127.0.0.1", 50000)) as http:
        assert http.get("/api/workers").json() == {{"enabled": False}}
        for path in ("/api/status", "/activity", "/ui/activity/workers", "/metrics"):
            assert http.get(path).status_code == 200
{LIST}
"""


@pytest.mark.parametrize("program", [DIGEST, SERVE], ids=["digest", "serve"])
def test_without_the_setting_nothing_of_workers_is_loaded(tmp_path: Path, program: str) -> None:
    (tmp_path / "note.txt").write_text("a pelican on the beach")
    env = {name: value for name, value in os.environ.items() if not name.startswith("CHYME_WORKERS")}
    done = subprocess.run(
        [sys.executable, "-c", program, str(tmp_path)], capture_output=True, text=True, check=False, env=env
    )
    assert done.returncode == 0, done.stderr
    assert done.stdout.splitlines()[-1] == "loaded:"

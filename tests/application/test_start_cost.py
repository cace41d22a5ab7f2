"""What starting chyme loads: nothing that most vaults never use."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

OPEN_AND_LIST = """
import sys
from pathlib import Path
from chyme.application.app import open_app
with open_app(Path(sys.argv[1]), create=True):
    print(*sorted({name.partition(".")[0] for name in sys.modules}))
"""


def test_opening_a_vault_without_servers_loads_no_http_client(tmp_path: Path) -> None:
    done = subprocess.run(
        [sys.executable, "-c", OPEN_AND_LIST, str(tmp_path)], capture_output=True, text=True, check=True
    )
    loaded = set(done.stdout.split())

    assert "chyme" in loaded
    assert not loaded.intersection({"httpx2", "imaplib", "numpy", "onnxruntime"})

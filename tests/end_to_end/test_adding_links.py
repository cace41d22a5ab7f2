"""Links that are added while chyme serves the vault."""

from __future__ import annotations

import pytest
from running_chyme import RunningChyme, wait_until

pytestmark = pytest.mark.slow

NOWHERE = "http://127.0.0.1:9/how-to-digest"  # link digesters may try this address: nothing listens there


def test_a_serving_chyme_notices_a_link_that_was_added(chyme: RunningChyme) -> None:
    http = chyme.serve().http
    added = http.post("/api/links", json={"url": NOWHERE, "folder": "to read"})
    assert added.status_code == 201
    path = added.json()["path"]
    assert path == "to read/127.0.0.1 – how to digest.url"
    wait_until(lambda: http.get("/api/status").json()["files"] == 1)
    assert http.get(f"/api/digest/{path}").json()["file"]["kind"] == "url"
    wait_until(lambda: http.get("/api/search", params={"q": "digest"}).json()["total"] == 1)
    assert http.post("/api/links", json={"url": NOWHERE}).json()["created"] is False
    http.close()

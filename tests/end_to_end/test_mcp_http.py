"""A remote assistant asks over HTTP, with the same access checks as all clients."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterator
from typing import Any

import anyio
import httpx2
import pytest
from mcp.client.client import Client
from mcp.client.streamable_http import streamable_http_client
from mcp_types import CallToolResult
from running_chyme import SAMPLES, RunningChyme, Server, wait_until
from waiting import AMPLE

pytestmark = pytest.mark.slow

HELLO = {
    "jsonrpc": "2.0",
    "id": 1,
    "method": "initialize",
    "params": {"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": {"name": "t", "version": "1"}},
}
ACCEPT = {"Accept": "application/json, text/event-stream"}


def run_client(url: str, ask: Callable[[Client], Awaitable[Any]], token: str | None = None, mode: str = "auto") -> Any:
    """Connect with the SDK's own client and return what `ask` returns."""

    async def connected() -> Any:
        headers = {"Authorization": f"Bearer {token}"} if token else {}
        async with (
            httpx2.AsyncClient(headers=headers, trust_env=False, timeout=AMPLE) as http,
            Client(streamable_http_client(url, http_client=http), mode=mode) as client,
        ):
            return await ask(client)

    return anyio.run(connected)


@pytest.fixture
def server(chyme: RunningChyme) -> Iterator[Server]:
    chyme.drop("contract.pdf", (SAMPLES / "contract.pdf").read_bytes())
    chyme.drop("plan.md", "# Plan\n\nThe lighthouse is painted in spring.\n")
    server = chyme.serve()
    wait_until(lambda: server.http.get("/api/search", params={"q": "harbour office"}).json()["total"] > 0)
    yield server
    server.http.close()


async def find(client: Client) -> tuple[list[str], CallToolResult, CallToolResult]:
    names = sorted(tool.name for tool in (await client.list_tools()).tools)
    return (
        names,
        await client.call_tool("search", {"query": "harbour office", "mode": "words"}),
        await client.call_tool("read", {"path": "contract.pdf", "page": 3}),
    )


def test_an_assistant_searches_and_reads_over_http_and_is_let_in_by_its_token(
    chyme: RunningChyme, server: Server
) -> None:
    address = str(server.http.base_url).rstrip("/")
    for mode in ("auto", "legacy"):
        names, found, read = run_client(f"{address}/mcp", find, mode=mode)
        assert names == ["list", "passages", "read", "recent", "search"]
        citation = found.structured_content["hits"][0]["citation"]
        assert (citation["path"], citation["page"]) == ("contract.pdf", 3)
        assert citation["link"] == f"{address}/file/contract.pdf?page=3"
        assert "harbour" in read.structured_content["pieces"][0]["text"]
    assert server.http.get(citation["link"]).status_code == 200

    assert server.http.get("/mcp").status_code == 405
    assert server.http.delete("/mcp").status_code == 405
    strange = {"Origin": "http://evil.example", **ACCEPT}
    assert server.http.post("/mcp", json=HELLO, headers=strange).status_code == 403
    assert server.http.post("/mcp", json=HELLO, headers={"Host": "evil.example", **ACCEPT}).status_code >= 400
    assert server.http.post("/mcp", content=b"{" * 2_000_000, headers=ACCEPT).status_code in (400, 413)
    assert server.http.post("/mcp", content=b"\xff\0nonsense", headers=ACCEPT).status_code == 400

    made = chyme.run("tokens", "add", "assistant", "--read-only", "--json")
    assert made.code == 0, made.err
    secret = made.json["secret"]
    wait_until(lambda: server.http.post("/mcp", json=HELLO, headers=ACCEPT).status_code == 401)
    assert server.http.post("/mcp", json=HELLO, headers={"Authorization": "Bearer no", **ACCEPT}).status_code == 401
    with pytest.raises(Exception):  # noqa: B017 - the SDK raises a group of arbitrary exceptions
        run_client(f"{address}/mcp", find)
    assert run_client(f"{address}/mcp", find, secret)[1].structured_content["total"] == 1

    elsewhere = chyme.folder / "other"
    elsewhere.mkdir()
    assert chyme.run("digest", vault=elsewhere).code == 0
    other = chyme.run("tokens", "add", "stranger", "--only", str(elsewhere), "--json").json["secret"]
    headers = {"Authorization": f"Bearer {other}", **ACCEPT}
    assert server.http.post("/mcp", json=HELLO, headers=headers).status_code in (401, 403, 404)

"""A server with two users and two vaults: what each user may see, and that nothing of the other vault leaks."""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path

import httpx
import pytest
from running_chyme import SAMPLES, RunningChyme, Server, wait_until
from waiting import AMPLE

pytestmark = pytest.mark.slow

PASSWORD = "correct horse battery"
CODE = re.compile(r"(?:[A-Z2-7]{4}-){7}[A-Z2-7]{4}")


class Team(RunningChyme):
    """Ada may do everything, Bob may read `photos`; two tokens, one for each vault."""

    def __init__(self, folder: Path) -> None:
        super().__init__(folder)
        self.vault = self.vault.rename(folder / "photos")
        self.diary = folder / "diary"
        self.diary.mkdir()
        self.drop("beach.md", "# Beach\n\na pelican on the beach")
        self.drop("contract.pdf", (SAMPLES / "contract.pdf").read_bytes())
        self.drop("../diary/confession.md", "# Confession\n\nthe walrus ate a pelican")
        self.drop("../diary/scan.pdf", (SAMPLES / "scanned.pdf").read_bytes())

    def people(self) -> dict[str, str]:
        """Create the users and tokens. Return the secrets of the tokens."""
        for root in (self.vault, self.diary):
            assert self.run("digest", vault=root, seconds=240).code == 0
        folder = os.fspath(self.vault)
        assert self.typed("users", "add", "ada", "--password-stdin") == 0
        assert self.typed("users", "add", "bob", "--access", f"{folder}:read", "--password-stdin") == 0
        reads = self.run("tokens", "add", "reads", "--only", folder, "--read-only", "--json")
        writes = self.run("tokens", "add", "writes", "--only", os.fspath(self.diary), "--json")
        return {"reads": reads.json["secret"], "writes": writes.json["secret"]}

    def typed(self, *arguments: str) -> int:
        return self.run(*arguments, typed=f"{PASSWORD}\n").code


@pytest.fixture(scope="module")
def team(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Team, Server, dict[str, str]]]:
    team = Team(tmp_path_factory.mktemp("team"))
    try:
        secrets = team.people()
        server = team.serve(os.fspath(team.diary))
        with closing(server.http):
            yield team, server, secrets
    finally:
        team.close()


@pytest.fixture
def server(team: tuple[Team, Server, dict[str, str]]) -> Server:
    return team[1]


@contextmanager
def client_of(server: Server, name: str | None = None) -> Iterator[httpx.Client]:
    with httpx.Client(base_url=server.http.base_url, timeout=300, trust_env=False) as client:
        client.headers["Origin"] = str(server.http.base_url).rstrip("/")
        if name is not None:
            answer = client.post("/login", data={"name": name, "password": PASSWORD})
            assert answer.status_code == 303, answer.text
        yield client


@pytest.fixture
def ada(server: Server) -> Iterator[httpx.Client]:
    with client_of(server, "ada") as client:
        yield client


@pytest.fixture
def bob(server: Server) -> Iterator[httpx.Client]:
    with client_of(server, "bob") as client:
        yield client


def test_without_a_key_access_is_refused(server: Server) -> None:
    with client_of(server) as http:
        assert http.get("/healthz").json() == {"status": "ok"}
        assert http.get("/").headers["location"].startswith("/login")
        for path in (
            "/api/vaults",
            "/v/photos/api/status",
            "/v/diary/api/search?q=walrus",
            "/metrics",
            "/v/photos/mcp",
        ):
            assert http.get(path).status_code == 401, path


def test_ada_sees_both_vaults_and_each_keeps_to_itself(ada: httpx.Client) -> None:
    listed = ada.get("/api/vaults").json()["vaults"]
    assert [(vault["name"], vault["files"], vault["right"]) for vault in listed] == [
        ("photos", 2, "write"),
        ("diary", 2, "write"),
    ]
    in_photos = ada.get("/v/photos/api/search?q=pelican").json()
    in_diary = ada.get("/v/diary/api/search?q=pelican").json()
    assert [hit["path"] for hit in in_photos["hits"]] == ["beach.md"]
    assert [hit["path"] for hit in in_diary["hits"]] == ["confession.md"]
    assert ada.get("/v/photos/api/search?q=walrus").json()["total"] == 0


def test_nothing_of_a_vault_leaks_to_a_user_without_the_right_to_read_it(ada: httpx.Client, bob: httpx.Client) -> None:
    scan = ada.get("/v/diary/api/digest/scan.pdf").json()
    picture = scan["document"]["thumbnail"]
    assert ada.get(f"/v/diary/api/artifacts/{picture}").status_code == 200
    contract = ada.get("/v/diary/openapi.json").json()["paths"]
    for path, methods in contract.items():
        for method in methods:
            filled = path.replace("{path}", "confession.md").replace("{name}", picture)
            answer = bob.request(method, f"/v/diary{filled}", params={"q": "walrus"})
            assert answer.status_code == 404, (method, filled)
            assert "walrus" not in answer.text and "confession" not in answer.text
    assert bob.get("/v/diary/openapi.json").status_code == 404
    # Names from one vault, requested in the other.
    assert bob.get(f"/v/photos/api/artifacts/{picture}").status_code == 404
    assert bob.get("/v/photos/api/digest/confession.md").status_code == 404
    assert bob.get("/v/photos/api/digest/..%2fdiary%2fconfession.md").status_code in (400, 404)
    assert bob.get("/v/photos/api/raw/../diary/confession.md").status_code in (400, 404)
    assert bob.get("/v/photos/api/similar/confession.md").status_code == 404
    for path in (
        "/",
        "/account",
        "/api/vaults",
        "/v/photos/",
        "/v/photos/api/status",
        "/metrics",
        "/v/photos/openapi.json",
    ):
        answer = bob.get(path, follow_redirects=True)
        assert "diary" not in answer.text and "walrus" not in answer.text, path
    assert bob.get("/v/photos/api/search?q=walrus").json()["total"] == 0
    assert bob.get("/v/photos/api/status").json()["files"] == 2


def test_events_of_a_vault_reach_no_listener_of_another(
    team: tuple[Team, Server, dict[str, str]], bob: httpx.Client
) -> None:
    chyme = team[0]
    with bob.stream("GET", "/v/photos/api/events") as stream:
        assert stream.status_code == 200
        received = ""
        lines = stream.iter_lines()
        next(lines)
        chyme.drop("../diary/whispered.md", "psst")
        chyme.drop("shouted.md", "hello")
        while "shouted.md" not in received:
            received += next(lines)
    assert "whispered" not in received


def test_a_reader_changes_nothing(bob: httpx.Client) -> None:
    assert bob.post("/v/photos/api/digest/beach.md").status_code == 403
    assert bob.patch("/v/photos/api/files/beach.md", json={"title": "Mine"}).status_code == 403
    assert bob.delete("/v/photos/api/files/beach.md").status_code == 403
    assert bob.get("/v/photos/api/digest/beach.md").json()["document"]["title"] == "Beach"


def test_tokens_open_their_vault_and_right(team: tuple[Team, Server, dict[str, str]]) -> None:
    _, server, secrets = team
    with client_of(server) as http:
        reads, writes = ({"Authorization": f"Bearer {secrets[name]}"} for name in ("reads", "writes"))
        assert http.get("/v/photos/api/status", headers=reads).status_code == 200
        assert http.get("/v/diary/api/status", headers=reads).status_code == 404
        assert http.patch("/v/photos/api/files/beach.md", json={"title": "x"}, headers=reads).status_code == 403
        answer = http.patch("/v/diary/api/files/confession.md", json={"title": "Told"}, headers=writes)
        assert answer.status_code == 200
        assert http.get("/v/photos/api/status", headers=writes).status_code == 404
        assert http.get("/api/vaults", headers={"Authorization": "Bearer chyme_made_up"}).status_code == 401


def test_the_wrong_name_and_another_sites_page_are_refused(server: Server, ada: httpx.Client) -> None:
    for host in ("evil.example", "localhost.evil.example", "169.254.169.254"):
        assert ada.get("/healthz", headers={"Host": host}).status_code == 403
    path = "/v/photos/api/digest/beach.md"
    for headers in ({"Origin": "http://evil.example"}, {"Origin": "null"}, {"Sec-Fetch-Site": "cross-site"}):
        assert ada.post(path, headers=headers).status_code == 403, headers
    ada.headers.pop("Origin")
    assert ada.post(path).status_code == 403  # a cookie alone
    assert ada.post(path, headers={"Sec-Fetch-Site": "same-origin"}, params={"wait": "false"}).status_code == 202


def test_a_session_ends_at_sign_out(server: Server) -> None:
    with client_of(server, "ada") as http, client_of(server) as thief:
        thief.cookies.update(http.cookies)
        assert thief.get("/api/vaults").status_code == 200
        assert http.post("/logout").status_code == 303
        assert thief.get("/api/vaults").status_code == 401


def test_password_guesses_are_slowed_and_no_header_avoids_it(tmp_path: Path) -> None:
    chyme = Team(tmp_path)
    try:
        assert chyme.typed("users", "add", "eve", "--password-stdin") == 0
        server = chyme.serve()
        with client_of(server) as http:
            codes = [
                http.post(
                    "/login",
                    data={"name": f"guess {n}", "password": "wrong"},
                    headers={"X-Forwarded-For": f"198.51.100.{n}"},
                ).status_code
                for n in range(6)
            ]
            assert codes == [401] * 5 + [429]
            right = http.post("/login", data={"name": "eve", "password": PASSWORD})
            assert right.status_code == 429 and int(right.headers["retry-after"]) >= 1
        assert server.end(signal.SIGINT) == 0
        assert PASSWORD not in chyme.said(server.process)
    finally:
        chyme.close()


def test_beyond_loopback_without_accounts_it_waits_for_its_owner(tmp_path: Path) -> None:
    chyme = Team(tmp_path)
    try:
        codes = []
        for arguments in (["--host", "0.0.0.0"], []):  # the second counts as beyond loopback by its settings
            process = chyme.start("serve", "--port", "0", "--json", *arguments)
            codes.append(_printed_code(chyme, process))
            started = next(json.loads(line) for line in chyme.said(process).splitlines() if line.startswith("{"))
            port = int(started["address"].rpartition(":")[2])
            with httpx.Client(base_url=f"http://127.0.0.1:{port}", timeout=AMPLE, trust_env=False) as http:
                assert http.get("/").headers["location"] == "/set-up"
                assert http.get("/api/status").status_code == http.get("/healthz").status_code == 503
                assert http.get("/set-up", headers={"Host": "evil.example"}).status_code == 403
                assert not (tmp_path / "server").exists() or arguments == []
                if arguments == []:
                    assert chyme.typed("users", "add", "ada", "--password-stdin") == 0
                    assert http.get("/healthz").status_code == 200  # the account of a command ends the set-up, too
                    assert http.get("/api/status").status_code == 401
            process.send_signal(signal.SIGTERM)
            assert process.wait(AMPLE) == 0
            chyme.settings["CHYME_TRUSTED_PROXIES"] = "127.0.0.9"
        assert codes[0] != codes[1]
    finally:
        chyme.close()


def _printed_code(chyme: RunningChyme, process: subprocess.Popen[bytes]) -> str:
    wait_until(lambda: CODE.search(chyme.said(process)) is not None)
    return str(CODE.findall(chyme.said(process))[0])

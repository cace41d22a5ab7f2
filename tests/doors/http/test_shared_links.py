"""Links to files: what a link opens, that nothing else opens by it, and when it ends."""

from __future__ import annotations

import logging
import re
from collections.abc import Iterator, Mapping
from functools import partial
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import pytest
from described_vault import complete, file_at, put
from fastapi.routing import APIRoute
from fastapi.testclient import TestClient
from two_vaults import ORIGIN, add_people, answers_of, sign_in, stranger, two_vaults

from chyme.accounts.authentication import WRONG_TOKENS
from chyme.accounts.permissions import Right
from chyme.application.app import App
from chyme.application.server_vaults import ServerVaults
from chyme.core.address_secrets import mark_of
from chyme.core.clock import now
from chyme.core.store import artifacts, digests
from chyme.doors.http.server_api import create_server_api
from chyme.doors.http.vault_api import create_vault_api
from chyme.model import Segment, Transcript, iso
from chyme.speech.transcripts import json_format

pytestmark = pytest.mark.slow

SAMPLES = Path(__file__).parents[2] / "samples"
JPEG = b"\xff\xd8\xffa small picture"
PUBLIC = (  # the same for everybody
    *("/healthz", "/login", "/logout", "/static", "/s/", "/feeds/"),
    *("/invitation", "/api/invitation", "/capture", "/manifest.webmanifest"),
)
VALUES = {
    "name": "tag", "digester": "slug", "secret": "x", "position": "1", "action": "pause",
}  # fmt: skip


@pytest.fixture
def house(tmp_path: Path) -> Iterator[ServerVaults]:
    """Two vaults and their people; with a picture in photos."""
    with two_vaults(tmp_path) as opened:
        add_people(opened)
        yield opened


@pytest.fixture
def photos(house: ServerVaults) -> App:
    return house.vaults["photos"]


def share(house: ServerVaults, *paths: str, vault: str = "photos", who: str = "Ada", **more: object) -> str:
    """Make a link by HTTP; returns its address below the server."""
    made = sign_in(stranger(answers_of(house)), who).post(
        f"/v/{vault}/api/shares", json={"paths": list(paths), **more}, headers=ORIGIN
    )
    assert made.status_code == 201, made.text
    return urlsplit(str(made.json()["address"])).path


def secret_of(address: str) -> str:
    return address.rpartition("/")[2]


def add_picture(app: App, name: str) -> str:
    """A picture with a preview; returns the artifact's name."""
    file = put(app, name, "a picture of a pelican")

    def write(db: Any) -> None:
        digests.register(db, file.id, file.path, [("image-preview", True, 0)], "", iso(now()))
        packed = [artifacts.PackedArtifact("preview.jpg", len(JPEG), JPEG)]
        first = artifacts.replace(db, file.path, "image-preview", packed, 0)
        db.execute(
            "UPDATE digests SET sqlar_name = ? WHERE file_id = ? AND digester = 'image-preview'", (first, file.id)
        )

    app.database.write(write)
    return artifacts.name_of(file.path, "image-preview", "preview.jpg")


def test_a_link_shows_its_file_to_people_without_an_account(house: ServerVaults, photos: App) -> None:
    put(photos, "other.txt", "nobody may know of this")
    http = stranger(answers_of(house))
    address = share(house, "photos.txt", label="For <you>")
    opened = http.get(address)
    assert opened.status_code == 200
    assert "a pelican on the beach" in opened.text and "For &lt;you&gt;" in opened.text
    for secret in ("other.txt", "nobody may know", "/v/photos", "Search", "<nav", house.identities["photos"]):
        assert secret not in opened.text.replace("photos.txt", ""), secret
    assert opened.headers["referrer-policy"] == "no-referrer"
    assert opened.headers["cache-control"] == "private, no-store"
    assert "noindex" in opened.headers["x-robots-tag"]
    policy = opened.headers["content-security-policy"]
    assert "default-src 'none'" in policy and "connect-src" not in policy and "unsafe" not in policy
    assert "set-cookie" not in opened.headers


def test_the_original_is_sent_in_parts_and_never_as_something_that_runs(house: ServerVaults, photos: App) -> None:
    put(photos, "page.html", "<script>alert(1)</script>")
    put(photos, "drawing.svg", "<svg xmlns='http://www.w3.org/2000/svg'><script>1</script></svg>")
    http = stranger(answers_of(house))
    address = share(house, "drawing.svg", "page.html", "photos.txt")
    part = http.get(f"{address}/3/file", headers={"Range": "bytes=2-8"})
    assert (part.status_code, part.text) == (206, "pelican")
    assert part.headers["content-range"] == "bytes 2-8/22"
    assert http.head(f"{address}/3/file").headers["content-length"] == "22"
    for number in (1, 2, 3):
        whole = http.get(f"{address}/{number}/file")
        assert whole.headers["content-type"].partition(";")[0] in ("application/octet-stream", "text/plain")
        assert whole.headers["x-content-type-options"] == "nosniff"
        assert whole.headers["content-security-policy"] == "default-src 'none'; sandbox"
        assert whole.headers["cache-control"] == "private, no-store"
        assert whole.headers["referrer-policy"] == "no-referrer"
    assert http.get(f"{address}/2/file").headers["content-disposition"].startswith("attachment")


def test_several_files_are_listed_and_each_has_its_page(house: ServerVaults, photos: App) -> None:
    put(photos, "trip/one.txt", "the first")
    put(photos, "trip/two.txt", "the second")
    address = share(house, "trip")
    put(photos, "trip/three.txt", "came later")
    http = stranger(answers_of(house))
    listed = http.get(address)
    assert "one.txt" in listed.text and "two.txt" in listed.text and "trip" not in listed.text
    assert "three" not in listed.text
    assert "the second" in http.get(f"{address}/2").text
    for number in ("0", "3", "-1", "1e1", "١", "99999999999999999999"):
        assert http.get(f"{address}/{number}").status_code == 404, number


def test_a_recording_is_shared_with_what_is_said_in_it(house: ServerVaults, photos: App) -> None:
    file = put(photos, "talk.wav", (SAMPLES / "media" / "song.wav").read_bytes())
    said = (Segment(0.0, 1.0, "The pelican is <here>.", "speaker-1"), Segment(1.0, 2.0, "Where?", "speaker-2"))
    complete(photos, file, "speech-recognition", json_format.as_json(Transcript("en", "ear", 2.0, said)))
    http = stranger(answers_of(house))
    address = share(house, "talk.wav")
    shown = http.get(address).text
    assert "The pelican is &lt;here&gt;." in shown and f'src="{address}/1/file"' in shown
    assert 'data-at="1.0"' in shown and "/people/" not in shown
    subtitles = http.get(f"{address}/1/subtitles.vtt")
    assert subtitles.headers["content-type"].startswith("text/vtt") and "Where?" in subtitles.text
    assert subtitles.headers["cache-control"] == "private, no-store"
    assert http.get(f"{address}/1/file", headers={"Range": "bytes=0-3"}).content == b"RIFF"


def test_a_link_to_a_search_shows_what_it_found_when_it_was_made(house: ServerVaults, photos: App) -> None:
    made = sign_in(stranger(answers_of(house)), "Ada")
    body = {"query": 'kind:text name:"photos"'}
    answer = made.post("/v/photos/api/shares", json=body, headers=ORIGIN)
    assert answer.status_code == 201 and answer.json()["share"]["paths"] == ["photos.txt"]
    nothing = made.post("/v/photos/api/shares", json={"query": "kind:video"}, headers=ORIGIN)
    assert nothing.status_code == 400 and "nothing to share" in nothing.json()["detail"]
    for whole in ({"paths": [""]}, {"paths": ["/"]}, {}, {"paths": ["photos.txt"], "query": "x"}):
        assert made.post("/v/photos/api/shares", json=whole, headers=ORIGIN).status_code == 400, whole


def _value(values: Mapping[str, str], found: re.Match[str]) -> str:
    return values.get(found[1], "1")


def every_address(house: ServerVaults) -> Iterator[tuple[str, str]]:
    """Every route of the server and of its vaults, pages and API, with values that exist."""
    apis = [("", create_server_api(house))] + [
        (f"/v/{name}", create_vault_api(app)) for name, app in house.vaults.items()
    ]
    for prefix, api in apis:
        for route in api.routes:
            if not isinstance(route, APIRoute):
                continue
            values = {**VALUES, "path": f"{prefix.rpartition('/')[2]}.txt"}
            path = prefix + re.sub(r"{(\w+)(?::\w+)?}", partial(_value, values), route.path)
            for method in route.methods or ():
                yield method, path


def test_nothing_else_opens_with_a_link(house: ServerVaults, photos: App) -> None:
    artifact = add_picture(photos, "other.png")
    address = share(house, "photos.txt")
    secret = secret_of(address)
    answers = answers_of(house)
    plain = stranger(answers)
    found = [(method, path) for method, path in every_address(house) if not path.startswith(PUBLIC)]
    found += [
        ("GET", f"/v/photos/api/artifacts/{artifact}"),
        ("GET", "/v/photos/openapi.json"),
        ("GET", "/v/photos/mcp"),
    ]
    assert len(found) > 200
    tries = [
        {"headers": {**ORIGIN, "Authorization": f"Bearer {secret}"}},
        {"headers": {**ORIGIN, "Cookie": f"chyme_session={secret}"}},
        {"headers": ORIGIN, "params": {"token": secret, "s": secret, "path": "photos.txt"}},
    ]
    house.authenticator.wrong_tokens._free = 1_000_000  # the limit for guesses is another test
    for method, path in found:
        for attempt in tries:
            answer = plain.request(method, path, **attempt)  # type: ignore[arg-type]
            assert answer.status_code in (401, 303, 404), (method, path, attempt, answer.status_code)
            assert "pelican" not in answer.text
            if answer.status_code == 303:
                assert answer.headers["location"].startswith(("/login", "/capture#lost")), (method, path)


def test_below_a_link_there_is_nothing_but_its_files(house: ServerVaults, photos: App) -> None:
    artifact = add_picture(photos, "other.png")
    address = share(house, "photos.txt")
    http = stranger(answers_of(house))
    for path in (
        *("/api/status", "/api/search?q=pelican", "/api/files", "/2", "/2/file", "/1/file/../../2/file", "/events"),
        *(f"/1/{artifact}", f"/api/artifacts/{artifact}", "/1/preview", "/1/thumbnail", "/1/subtitles.vtt", "/1/x"),
        *("/..%2f..%2fv/diary/", "/%31/../api/status", "/1/text", "/openapi.json"),
    ):
        answer = http.get(address + path)
        assert answer.status_code in (404, 303), path
        assert "pelican" not in answer.text, path
    for method in ("POST", "PUT", "PATCH", "DELETE"):
        assert http.request(method, address, headers=ORIGIN).status_code in (404, 405)
        assert http.request(method, f"{address}/1/file", headers=ORIGIN).status_code in (404, 405)
    assert http.get(f"/feeds/{secret_of(address)}.atom").status_code == 404
    for elsewhere in ("/v/photos", "/v/photos/api", "/v/photos/api/raw", "/api", "/static", "/s/s"):
        answer = http.get(elsewhere + address.replace("/s/", "/"))
        assert answer.status_code in (303, 401, 404) and "pelican" not in answer.text, elsewhere
    assert http.get(address, headers={"Host": "evil.example"}).status_code == 403
    wrong_vault = mark_of(house.identities["diary"]) + secret_of(address)[8:]
    assert http.get(f"/s/{wrong_vault}").status_code == 404


def test_a_link_ends_when_it_is_ended_or_expires(house: ServerVaults, photos: App) -> None:
    ada, http = sign_in(stranger(answers_of(house)), "Ada"), stranger(answers_of(house))
    first, second = share(house, "photos.txt"), share(house, "photos.txt", days=1)
    assert http.get(first).status_code == http.get(second).status_code == 200
    ended = ada.delete("/v/photos/api/shares/1", headers=ORIGIN)
    assert ended.json()["state"] == "ended"
    photos.database.write(lambda db: db.execute("UPDATE shares SET expires_at = created_at WHERE id = 2"))
    for address in (first, second):
        assert http.get(address).status_code == 410 and "has ended" in http.get(address).text
        assert http.get(f"{address}/1/file").status_code == 410
    assert [one["state"] for one in ada.get("/v/photos/api/shares").json()["shares"]] == ["expired", "ended"]
    assert ada.delete("/v/photos/api/shares/99", headers=ORIGIN).status_code == 404


def test_a_link_ends_with_the_right_of_the_person_who_made_it(house: ServerVaults) -> None:
    house.authenticator.accounts.add("Cleo", "correct horse battery")
    house.authenticator.accounts.grant("Cleo", (house.identities["photos"], "photos"), Right.WRITE)
    address = share(house, "photos.txt", who="Cleo")
    http = stranger(answers_of(house))
    assert http.get(address).status_code == 200
    house.authenticator.accounts.grant("Cleo", (house.identities["photos"], "photos"), Right.READ)
    assert http.get(address).status_code == 410
    house.authenticator.accounts.remove("Cleo")
    assert http.get(address).status_code == 410


def test_only_who_may_write_shares_and_sees_links(house: ServerVaults) -> None:
    share(house, "photos.txt", label="secret plans")
    bob = sign_in(stranger(answers_of(house)), "Bob")
    for method, path in (("GET", "api/shares"), ("POST", "api/shares"), ("DELETE", "api/shares/1"), ("GET", "shares")):
        answer = bob.request(method, f"/v/photos/{path}", headers=ORIGIN)
        assert answer.status_code == 403 and "secret plans" not in answer.text, path
    assert bob.get("/v/photos/ui/shares/list").status_code == 403
    assert bob.get("/v/diary/api/shares").status_code == 404


def test_a_link_follows_its_file_and_says_gone_when_it_is_in_the_trash(house: ServerVaults, photos: App) -> None:
    address = share(house, "photos.txt")
    http = stranger(answers_of(house))
    (photos.vault.root / "photos.txt").rename(photos.vault.root / "beach.txt")
    photos.scan_and_settle()
    assert file_at(photos, "beach.txt").id == 1
    assert "a pelican on the beach" in http.get(address).text
    photos.trash.put(["beach.txt"])
    gone = http.get(address)
    assert gone.status_code == 410 and "no longer available" in gone.text and "beach" not in gone.text
    assert http.get(f"{address}/1/file").status_code == 404


def test_private_files_are_shared_only_when_a_person_says_so(house: ServerVaults, photos: App) -> None:
    put(photos, "bank/letter.txt", "the account number")
    put(photos, "open.txt", "no secret")
    address = share(house, "bank/letter.txt", "open.txt")
    http = stranger(answers_of(house))
    assert "letter.txt" in http.get(address).text
    (photos.vault.root / ".chymeprivate").write_text("bank/\n")
    listed = http.get(address)
    assert "letter.txt" not in listed.text and "no longer available" in listed.text  # it became private since
    assert http.get(f"{address}/1/file").status_code == 404
    ada = sign_in(stranger(answers_of(house)), "Ada")
    refused = ada.post("/v/photos/api/shares", json={"paths": ["bank"]}, headers=ORIGIN)
    assert refused.status_code == 409 and ".chymeprivate" in refused.json()["detail"]
    agreed = share(house, "bank", private=True)
    assert "the account number" in http.get(agreed).text


def test_openings_are_counted_and_content_is_not(house: ServerVaults, photos: App) -> None:
    address = share(house, "photos.txt")
    http = stranger(answers_of(house))
    for _ in range(3):
        http.get(address)
    http.get(f"{address}/1/file")
    photos.database.write(lambda _: None)  # the count is written beside
    (listed,) = sign_in(http, "Ada").get("/v/photos/api/shares").json()["shares"]
    assert listed["opens"] == 3 and listed["last_opened_at"] and listed["by"] == "Ada"


def test_guessing_is_limited_and_the_right_link_still_opens(house: ServerVaults) -> None:
    address = share(house, "photos.txt")
    http = stranger(answers_of(house))
    guesses = [http.get(f"/s/{number:x}{'A' * 43}") for number in range(1 << 28, (1 << 28) + WRONG_TOKENS + 1)]
    assert {guess.status_code for guess in guesses[: WRONG_TOKENS - 1]} == {404}
    assert guesses[-1].status_code == 429 and int(guesses[-1].headers["retry-after"]) > 0
    assert http.get("/feeds/x.atom").status_code == 429
    assert http.get(address).status_code == 200


def test_the_secret_is_kept_nowhere(house: ServerVaults, photos: App, caplog: pytest.LogCaptureFixture) -> None:
    address = share(house, "photos.txt")
    secret = secret_of(address)
    http = stranger(answers_of(house))
    with caplog.at_level(logging.DEBUG):
        http.get(address)
        http.get(f"{address}/1/file")
        http.get(address, headers={"Host": "evil.example"})
        http.get(f"{address}/a/b/c")
    lines = [record.getMessage() + str(vars(record)) for record in caplog.records if record.name.startswith("chyme")]
    assert lines and not [line for line in lines if secret in line]
    photos.database.write(lambda db: None)
    for path in photos.state.glob("vault.db*"):
        assert secret[8:].encode() not in path.read_bytes()
    ada = sign_in(stranger(answers_of(house)), "Ada")
    assert secret not in ada.get("/v/photos/api/shares").text + ada.get("/v/photos/shares").text


def test_without_accounts_links_work_on_loopback(tmp_path: Path) -> None:
    with two_vaults(tmp_path) as house:
        http: TestClient = stranger(answers_of(house))
        made = http.post("/v/diary/api/shares", json={"paths": ["diary.txt"]}, headers=ORIGIN).json()
        assert "a secret about pelicans" in http.get(urlsplit(made["address"]).path).text

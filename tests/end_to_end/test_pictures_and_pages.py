"""Pictures, scans and recordings, whole and broken, through the real command and HTTP."""

from __future__ import annotations

import hashlib
import io
import json
import signal
import struct
import zlib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx
import pytest
from PIL import Image
from running_chyme import SAMPLES, RunningChyme

from chyme.models.weights.catalog import OBJECTS
from chyme.models.weights.folder import path_of

pytestmark = pytest.mark.slow

BROKEN = ("bomb.png", "cut.heic", "empty.heic", "empty.mp4", "empty.png")
WHOLE = {
    "photos/sign.jpg": "pages/sign.jpg",
    "photos/stop.jpg": "scenes/stop.jpg",
    "photos/mislabelled.heic": "pictures/jpeg_named.heic",
    "photos/travel.heic": "pictures/travel.heic",
    "scans/minutes.pdf": "pages/three_scans.pdf",
    "office/minutes.docx": "minutes.docx",
    "books/story.epub": "story.epub",
    "music/cover.mp3": "media/cover.mp3",
    "films/mill.mp4": "media/mill.mp4",
}


def bomb(side: int = 30_000) -> bytes:
    """A PNG of a few bytes that claims 900 megapixels."""

    def chunk(name: bytes, data: bytes) -> bytes:
        return struct.pack(">I", len(data)) + name + data + struct.pack(">I", zlib.crc32(name + data))

    header = struct.pack(">IIBBBBB", side, side, 8, 2, 0, 0, 0)
    return (
        b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", header) + chunk(b"IDAT", zlib.compress(bytes(100))) + chunk(b"IEND", b"")
    )


def hashes(vault: Path) -> dict[str, str]:
    files = (path for path in vault.rglob("*") if path.is_file() and ".chyme" not in path.parts)
    return {path.relative_to(vault).as_posix(): hashlib.sha256(path.read_bytes()).hexdigest() for path in files}


@pytest.fixture(scope="module")
def digested(tmp_path_factory: pytest.TempPathFactory) -> Iterator[RunningChyme]:
    """A vault with all these files, digested once."""
    chyme = RunningChyme(tmp_path_factory.mktemp("pictures"))
    for name, sample in WHOLE.items():
        chyme.drop(name, (SAMPLES / sample).read_bytes())
    chyme.drop("broken/bomb.png", bomb())
    chyme.drop("broken/cut.heic", (SAMPLES / "pictures/travel.heic").read_bytes()[:700])
    for name in ("empty.heic", "empty.mp4", "empty.png"):
        chyme.drop(f"broken/{name}", b"")
    before = hashes(chyme.vault)
    ended = chyme.run("digest", seconds=280)
    assert ended.code == 1, ended.out + ended.err  # the broken ones
    assert hashes(chyme.vault) == before
    yield chyme
    assert chyme.close() == []


def show(chyme: RunningChyme, path: str) -> dict[str, Any]:
    return chyme.run("show", path, "--json").json  # type: ignore[no-any-return]


def digest_of(details: dict[str, Any], name: str) -> dict[str, Any]:
    return next(digest for digest in details["digests"] if digest["digester"] == name)


def test_a_word_that_appears_only_in_a_photo_is_found_with_its_box(digested: RunningChyme) -> None:
    (hit,) = digested.run("search", "quetzalpension", "--json").json["hits"]
    assert hit["path"] == "photos/sign.jpg"
    left, top, right, bottom = hit["place"]["box"]
    assert 0 < left < right < 1
    assert 0 < top < bottom < 1
    assert bottom - top < 0.3  # the line, not the picture
    assert "% across" in digested.run("search", "quetzalpension").out


def test_a_word_on_the_third_page_of_a_scan_is_found_on_that_page(digested: RunningChyme) -> None:
    (hit,) = digested.run("search", "narwhal", "--json").json["hits"]
    assert (hit["path"], hit["place"]["page"]) == ("scans/minutes.pdf", 3)
    assert "page 3" in digested.run("search", "narwhal").out


def test_a_recording_is_found_by_its_tags(digested: RunningChyme) -> None:
    tags = json.loads(digest_of(show(digested, "music/cover.mp3"), "media-preview")["content"])["tags"]
    hits = digested.run("search", tags["title"], "--json").json["hits"]
    assert "music/cover.mp3" in [hit["path"] for hit in hits]


@pytest.mark.skipif(path_of(OBJECTS) is None, reason="the detector's weights are missing: chyme weights objects")
def test_a_thing_in_a_picture_is_found_with_its_box(digested: RunningChyme) -> None:
    hits = digested.run("search", "stop sign", "--json").json["hits"]
    hit = next(hit for hit in hits if hit["path"] == "photos/stop.jpg")
    boxed = [piece for piece in hit["passages"] if piece["source"] == "image-objects"]
    assert len(boxed[0]["place"]["box"]) == 4
    caption = json.loads(digest_of(show(digested, "photos/stop.jpg"), "image-captioning")["content"])
    assert caption["composed"] is True
    assert "stop sign" in caption["text"]


@pytest.mark.skipif(path_of(OBJECTS) is None, reason="the detector's weights are missing: chyme weights objects")
def test_objects_are_detected_without_a_request_once_the_weights_are_there(tmp_path: Path) -> None:
    chyme = RunningChyme(tmp_path)
    chyme.drop("stop.jpg", (SAMPLES / "scenes/stop.jpg").read_bytes())
    chyme.settings["CHYME_WEIGHTS_DIR"] = str(tmp_path / "nothing here")
    assert chyme.run("digest").code == 1
    details = show(chyme, "stop.jpg")
    objects = digest_of(details, "image-objects")
    assert (objects["status"], objects["error_category"], objects["attempts"]) == ("failed", "unavailable", 0)
    assert "chyme weights objects" in objects["error"]
    assert details["document"]["state"] == "completed"
    assert json.loads(digest_of(details, "image-captioning")["content"])["composed"] is True

    del chyme.settings["CHYME_WEIGHTS_DIR"]
    assert chyme.run("digest").code == 0
    details = show(chyme, "stop.jpg")
    assert digest_of(details, "image-objects")["status"] == "completed"
    assert "stop sign" in json.loads(digest_of(details, "image-captioning")["content"])["text"]
    assert chyme.close() == []


@pytest.mark.parametrize("path", WHOLE)
def test_every_whole_file_is_completed_and_has_a_thumbnail(digested: RunningChyme, path: str) -> None:
    details = show(digested, path)
    assert details["document"]["state"] == "completed"
    assert details["document"]["thumbnail"]
    assert {digest["status"] for digest in details["digests"]} <= {"completed", "skipped", "failed"}
    failed = [digest for digest in details["digests"] if digest["status"] == "failed"]
    assert [digest["error_category"] for digest in failed if digest["error_category"] != "unavailable"] == []


def test_documents_keep_the_number_of_their_pages(digested: RunningChyme) -> None:
    assert show(digested, "scans/minutes.pdf")["document"]["pages"] == 3


@pytest.mark.parametrize("name", BROKEN)
def test_a_broken_file_says_what_is_wrong_and_keeps_its_name(digested: RunningChyme, name: str) -> None:
    details = show(digested, f"broken/{name}")
    film = name.endswith(".mp4")
    preview = digest_of(details, "media-preview" if film else "image-preview")
    assert (preview["status"], preview["error_category"], preview["attempts"]) == ("failed", "validation", 1)
    assert name in preview["error"]
    assert details["document"]["title"] == ("empty" if film else name)  # for a film, at least the name says something
    assert details["document"]["state"] == "failed"
    assert digest_of(details, "search-keyword")["status"] == "completed"
    assert [hit["path"] for hit in digested.run("search", name, "--json").json["hits"]][:1] == [f"broken/{name}"]


def test_status_lists_each_broken_file_once(digested: RunningChyme) -> None:
    lines = [line for line in digested.run("status").out.splitlines() if line.startswith("validation: ")]
    assert sorted(line.split(": ")[1] for line in lines) == sorted(BROKEN)
    assert any(
        line.startswith("validation: bomb.png: ") and line.endswith("(3 more of its digests failed)") for line in lines
    )


def test_previews_can_be_saved_by_command_and_fetched_by_http(digested: RunningChyme, tmp_path: Path) -> None:
    assert digested.run("show", "photos/travel.heic", "--save", str(tmp_path / "out")).code == 0
    preview = (tmp_path / "out" / "image-preview-preview.jpg").read_bytes()
    assert Image.open(io.BytesIO(preview)).format == "JPEG"
    again = digested.run("show", "photos/travel.heic", "--save", str(tmp_path / "out"))
    assert (again.code, "is there already" in again.err) == (2, True)
    name = digest_of(show(digested, "photos/travel.heic"), "image-preview")["sqlar_name"]
    server = digested.serve()
    http = server.http
    answer = http.get(f"/api/artifacts/{name}")
    assert (answer.content, answer.headers["content-type"]) == (preview, "image/jpeg")
    assert "sandbox" in answer.headers["content-security-policy"]
    assert answer.headers["x-content-type-options"] == "nosniff"
    thumbnail = http.get("/api/digest/photos/travel.heic").json()["document"]["thumbnail"]
    assert http.get(f"/api/artifacts/{thumbnail}").status_code == 200
    _refused(http, name)
    assert server.end(signal.SIGTERM) == 0


def _refused(http: httpx.Client, name: str) -> None:
    for wrong in (f"{name}x", "nothing", "../vault.db", name.rpartition("/")[0], "%", ""):
        assert http.get(f"/api/artifacts/{wrong}").status_code == 404

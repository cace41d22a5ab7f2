"""A vision model behind HTTP, whatever its behaviour."""

from __future__ import annotations

import io
import os
import subprocess
import sys
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest
from free_calls import FreeCalls
from PIL import Image
from vision_server import CAPTION, OBJECTS, Reply, fails, says, serving
from waiting import AMPLE

from chyme.errors import (
    ContentBlocked,
    DigestError,
    EngineUnavailable,
    NetworkFailed,
    QuotaSpent,
    RateLimited,
    TimedOut,
    UnreadableFile,
)
from chyme.models.providers.endpoints import VisionSettings
from chyme.models.providers.service_faults import KeyRefused
from chyme.pictures.vision_model import ask_for_caption, ask_for_objects, size_of

pytestmark = pytest.mark.slow

KEY = "sk-very-secret"
JSON = (("Content-Type", "application/json"),)


def jpeg(width: int = 640, height: int = 480, **options: object) -> bytes:
    out = io.BytesIO()
    Image.new("RGB", (width, height), "teal").save(out, "JPEG", **options)
    return out.getvalue()


def settings(url: str, seconds: float = 20.0) -> VisionSettings:
    return VisionSettings(url, "seer", KEY, seconds)


def test_the_model_sees_the_picture_the_key_and_a_schema_and_is_given_no_tools() -> None:
    picture = jpeg(2048, 100)
    with serving([says(OBJECTS)]) as provider:
        seen = ask_for_objects(FreeCalls(), "pier.jpg", picture, settings(provider.url))

    (request,) = provider.asked
    assert [thing.name for thing in seen.objects] == ["dog"]
    assert request.path == "/v1/chat/completions"
    assert request.headers["authorization"] == f"Bearer {KEY}"
    assert request.pictures == [picture]
    assert request.body["model"] == "seer"
    assert "tools" not in request.body
    assert set(request.body["response_format"]["json_schema"]["schema"]["properties"]) == {"objects"}
    assert "data, not a message" in request.words
    assert "pier.jpg" not in request.words


def test_a_caption_comes_with_the_text_that_can_be_read() -> None:
    with serving([says(CAPTION)]) as provider:
        seen = ask_for_caption(FreeCalls(), "pier.jpg", jpeg(), settings(provider.url))
    assert (seen.caption, seen.visible_text) == ("A dog on a pier.", "Harbour Street")


@pytest.mark.parametrize("misfit", [{"objects": [{"called": "dog"}]}, "it is a dog", '{"objects": [', ""])
def test_an_answer_that_does_not_fit_is_requested_once_more_with_the_reason(misfit: object) -> None:
    with serving([says(misfit), says(OBJECTS)]) as provider:
        seen = ask_for_objects(FreeCalls(), "pier.jpg", jpeg(), settings(provider.url))
    assert len(seen.objects) == 1
    assert len(provider.asked) == 2
    assert len(provider.asked[1].words) > len(provider.asked[0].words)


def test_a_second_misfit_is_final() -> None:
    with (
        serving([says({"objects": 7})]) as provider,
        pytest.raises(UnreadableFile, match=r"^pier\.jpg: .*vision_model"),
    ):
        ask_for_objects(FreeCalls(), "pier.jpg", jpeg(), settings(provider.url))
    assert len(provider.asked) == 2


@pytest.mark.parametrize(
    ("reply", "expected", "way_out"),
    [
        (fails(429, Retry_After="7"), RateLimited, "slow down"),
        (fails(429, code="insufficient_quota"), QuotaSpent, "quota"),
        (fails(402), QuotaSpent, "quota"),
        (fails(529), QuotaSpent, "overloaded"),
        (fails(503, code="overloaded"), QuotaSpent, "overloaded"),
        (fails(503), NetworkFailed, "503"),
        (fails(500), NetworkFailed, "500"),
        (fails(401), KeyRefused, "vision_key"),
        (fails(403), KeyRefused, "vision_key"),
        (fails(404, code="model_not_found"), EngineUnavailable, "vision_model"),
        (fails(400), EngineUnavailable, "vision_model"),
        (fails(400, code="content_filter"), ContentBlocked, "refused"),
        (says("", finish="content_filter"), ContentBlocked, "refused"),
        (says(None, refusal="I will not."), ContentBlocked, "refused"),
        (Reply(body=b"<html>Welcome!", headers=(("Content-Type", "text/html"),)), EngineUnavailable, "vision_url"),
        (Reply(body=b"{{{", headers=JSON), EngineUnavailable, "vision_url"),
        (Reply(body=b"{}", headers=JSON), EngineUnavailable, "vision_url"),
        (Reply(body=says(OBJECTS).body, headers=JSON, cut=True), NetworkFailed, "cannot be reached"),
        (Reply(body=b" " * (5 << 20), headers=JSON), NetworkFailed, "cannot be reached"),
        (Reply(body=b"?", headers=(*JSON, ("Content-Encoding", "gzip"))), NetworkFailed, "cannot be reached"),
    ],
)
def test_a_providers_fault_is_translated_after_one_request(
    reply: Reply, expected: type[DigestError], way_out: str
) -> None:
    with serving([reply]) as provider, pytest.raises(expected) as caught:
        ask_for_objects(FreeCalls(), "pier.jpg", jpeg(), settings(provider.url))
    assert type(caught.value) is expected
    assert str(caught.value).startswith("pier.jpg: ")
    assert way_out in str(caught.value)
    assert len(provider.asked) == 1


def test_retry_after_reaches_the_error() -> None:
    with serving([fails(429, Retry_After="7")]) as provider, pytest.raises(RateLimited) as caught:
        ask_for_objects(FreeCalls(), "pier.jpg", jpeg(), settings(provider.url))
    assert caught.value.retry_after == 7.0


def test_a_model_that_hangs_is_left_in_time_and_its_connection_closed() -> None:
    with serving([Reply(hang=True)]) as provider:
        with pytest.raises(TimedOut, match="vision_seconds"):
            ask_for_objects(FreeCalls(), "pier.jpg", jpeg(), settings(provider.url, seconds=0.5))
        assert provider.hung_up.wait(AMPLE)


def test_a_model_that_goes_on_for_ever_is_left_in_time() -> None:
    with serving([Reply(headers=JSON, drip=True)]) as provider, pytest.raises(TimedOut):
        ask_for_objects(FreeCalls(), "pier.jpg", jpeg(), settings(provider.url, seconds=1.0))


def test_asking_again_does_not_get_more_time() -> None:
    late = [replace(reply, late=1.0) for reply in (says({"objects": 7}), says(OBJECTS))]
    with serving(late) as provider, pytest.raises(TimedOut):  # the second would be in time for a separate request
        ask_for_objects(FreeCalls(), "pier.jpg", jpeg(), settings(provider.url, seconds=1.8))


@pytest.mark.parametrize("status", [301, 302, 307, 308])
def test_a_redirect_is_not_followed(status: int) -> None:
    with serving([says(OBJECTS)]) as elsewhere:
        moved = Reply(status, headers=(("Location", f"{elsewhere.url}/chat/completions"),))
        with serving([moved]) as provider, pytest.raises(EngineUnavailable, match="redirects are not followed"):
            ask_for_objects(FreeCalls(), "pier.jpg", jpeg(), settings(provider.url))
    assert len(provider.asked) == 1
    assert elsewhere.asked == []


@pytest.mark.parametrize("url", ["", "ftp://h/v1", "h/v1", "http://", "http://[::1/v1", "http://h:99999/v1"])
def test_an_invalid_address_is_named_as_the_setting_to_correct(url: str) -> None:
    with pytest.raises(EngineUnavailable, match=r"^pier\.jpg: vision_url "):
        ask_for_objects(FreeCalls(), "pier.jpg", jpeg(), settings(url))


def test_an_unreachable_provider_is_a_network_failure() -> None:
    with serving([says(OBJECTS)]) as provider:
        pass
    with pytest.raises(NetworkFailed):
        ask_for_objects(FreeCalls(), "pier.jpg", jpeg(), settings(provider.url))


def test_the_key_is_in_no_message_and_no_description(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level("DEBUG")
    with serving([fails(401, message=f"wrong key {KEY}")]) as provider, pytest.raises(EngineUnavailable) as caught:
        ask_for_objects(FreeCalls(), "pier.jpg", jpeg(), settings(provider.url))
    mine = settings(provider.url)
    texts = [str(caught.value), repr(caught.value), repr(mine), repr(mine.endpoint), mine.fingerprint]
    assert not any(KEY in text for text in texts)
    assert KEY not in caplog.text
    assert caught.value.__cause__ is None
    assert caught.value.__suppress_context__


@pytest.mark.parametrize("proxy", ["http_proxy", "HTTP_PROXY", "all_proxy"])
def test_the_environment_adds_no_proxy_and_no_header(proxy: str) -> None:
    """Runs in its own process, because its environment is what is tested."""
    code = (
        "import sys; from chyme.models.providers.endpoints import VisionSettings\n"
        "from free_calls import FreeCalls\n"
        "from chyme.pictures.vision_model import ask_for_objects\n"
        "there = VisionSettings(sys.argv[1], 'seer')\n"
        "print(len(ask_for_objects(FreeCalls(), 'a.jpg', sys.stdin.buffer.read(), there).objects))"
    )
    with serving([fails(500)]) as trap, serving([says(OBJECTS)]) as provider:
        environment = {
            **{name: value for name, value in os.environ.items() if not name.lower().endswith("_proxy")},
            proxy: trap.url.removesuffix("/v1"),
            "PYTHONPATH": str(Path(__file__).parents[1] / "support"),
            "OPENAI_ORG_ID": "org-mine",
            "OPENAI_PROJECT_ID": "project-mine",
            "OPENAI_API_KEY": "sk-from-the-environment",
            "OPENAI_BASE_URL": trap.url,
            "OPENAI_CUSTOM_HEADERS": "X-Mine: custom-mine",
        }
        done = subprocess.run(
            [sys.executable, "-c", code, provider.url], input=jpeg(), capture_output=True, env=environment, check=True
        )
    assert done.stdout.strip() == b"1"
    assert trap.asked == []
    headers = str(provider.asked[0].headers)
    assert "mine" not in headers
    assert "environment" not in headers


def test_the_client_is_loaded_only_when_a_model_is_asked() -> None:
    code = (
        "import sys, chyme.pictures.vision_model, chyme.pictures.image_objects, chyme.pictures.image_captioning\n"
        "print([name for name in ('pydantic_ai', 'openai', 'httpx2', 'PIL', 'cv2', 'numpy') if name in sys.modules])"
    )
    output = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout
    assert output.strip() == "[]"


@pytest.mark.parametrize(
    "make", [jpeg, lambda w, h: jpeg(w, h, progressive=True), lambda w, h: jpeg(w, h, exif=b"Exif\0\0")]
)
def test_a_jpegs_size_is_read_from_its_header(make: Callable[[int, int], bytes]) -> None:
    assert size_of(make(321, 123)) == (321, 123)


@pytest.mark.parametrize("data", [b"", b"\xff\xd8", b"\x89PNG\r\n\x1a\n" + bytes(20), b"\xff\xd8" + b"\xff" * 50])
def test_data_that_is_not_jpeg_has_no_size(data: bytes) -> None:
    assert size_of(data) is None


def test_large_heic_files_stay_here_and_other_kinds_may_go() -> None:
    mine = replace(settings("http://h/v1"), heic_bytes=1000)
    assert mine.may_send("image/heic", 1000)
    assert not mine.may_send("image/heic", 1001)
    assert not mine.may_send("image/heif", 1001)
    assert mine.may_send("image/jpeg", 10**9)


def test_the_fingerprint_contains_model_and_place_and_whether_there_is_a_key() -> None:
    mine = settings("http://h:1/v1")
    others = [replace(mine, model="b"), replace(mine, url="http://h:2/v1"), replace(mine, key="")]
    assert len({variant.fingerprint for variant in (mine, *others)}) == 4
    assert replace(mine, key="another").fingerprint == mine.fingerprint

"""What a streamed reply of each provider used is read from its events."""

from __future__ import annotations

import json

import pytest

from chyme.models.providers.endpoints import Endpoint
from chyme.models.providers.usage import parse_event_stream, usage_of

OPENAI = [
    {"choices": [{"delta": {"content": "Hello"}}]},
    {"choices": [], "usage": {"prompt_tokens": 12, "completion_tokens": 5}},
]
ANTHROPIC = [
    {"type": "message_start", "message": {"content": [], "usage": {"input_tokens": 12, "output_tokens": 1}}},
    {"type": "content_block_delta", "delta": {"text": "Hello"}},
    {"type": "message_delta", "usage": {"output_tokens": 5}},
]
GOOGLE = [
    {"candidates": [{}], "usageMetadata": {"promptTokenCount": 12, "candidatesTokenCount": 1}},
    {"candidates": [{}], "usageMetadata": {"promptTokenCount": 12, "candidatesTokenCount": 5}},
]


@pytest.mark.parametrize("events", [OPENAI, ANTHROPIC, GOOGLE], ids=["openai", "anthropic", "google"])
def test_the_tokens_of_a_stream_are_counted(events: list[dict[str, object]]) -> None:
    body = b": a comment\n\n" + b"".join(b"data: " + json.dumps(event).encode() + b"\n\n" for event in events)
    payload = parse_event_stream(body + b"data: [DONE]\n\n")
    assert payload is not None
    assert usage_of(Endpoint("http://127.0.0.1/v1", "m"), payload)[:2] == (12, 5)


@pytest.mark.parametrize("body", [b"", b"data: hello\n\n", b'data: {"ping": 1}\n\n', b"data: [1]\n\n", b"<html>"])
def test_what_no_model_sends_is_no_reply(body: bytes) -> None:
    assert parse_event_stream(body) is None

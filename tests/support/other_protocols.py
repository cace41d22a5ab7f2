"""Answers in the protocols of Google and Anthropic, for a server on loopback."""

from __future__ import annotations

import json
from dataclasses import replace

from model_server import Answer


def google_says(answer: object, finish: str = "STOP", tokens: tuple[int, int] = (7, 3)) -> Answer:
    """A candidate; an `answer` that is a str is sent as its text, None leaves it without text."""
    text = answer if isinstance(answer, str) or answer is None else json.dumps(answer)
    candidate = {"finishReason": finish, "index": 0}
    if text is not None:
        candidate["content"] = {"role": "model", "parts": [{"text": text}]}
    return _json({"candidates": [candidate], "usageMetadata": _google_usage(tokens), "modelVersion": "scripted"})


def google_blocks() -> Answer:
    """The question is blocked before it is read."""
    return _json({"promptFeedback": {"blockReason": "SAFETY"}, "usageMetadata": _google_usage((7, 0))})


def google_fails(status: int, name: str, *details: object, **headers: str) -> Answer:
    """`name` as in RESOURCE_EXHAUSTED; `details` are the objects Google explains an error with."""
    fault = {"code": status, "message": "no", "status": name, "details": list(details)}
    return _failed(status, {"error": fault}, headers)


def anthropic_says(answer: object, stop: str = "end_turn", tokens: tuple[int, int] = (7, 3)) -> Answer:
    """A message; an `answer` that is a str is sent as its text."""
    text = answer if isinstance(answer, str) else json.dumps(answer)
    return _message([{"type": "text", "text": text}] if text else [], stop, tokens)


def anthropic_fills_in(answer: object) -> Answer:
    """A message that answers by calling the given tool."""
    return _message([{"type": "tool_use", "id": "toolu_1", "name": "answer", "input": answer}], "tool_use", (7, 3))


def anthropic_fails(status: int, kind: str, message: str = "no", **headers: str) -> Answer:
    """`kind` as in overloaded_error."""
    return _failed(status, {"type": "error", "error": {"type": kind, "message": message}}, headers)


def _message(content: list[object], stop: str, tokens: tuple[int, int]) -> Answer:
    usage = {"input_tokens": tokens[0], "output_tokens": tokens[1]}
    message = {"id": "m1", "type": "message", "role": "assistant", "model": "scripted", "content": content}
    return _json({**message, "stop_reason": stop, "stop_sequence": None, "usage": usage})


def _google_usage(tokens: tuple[int, int]) -> dict[str, int]:
    return {"promptTokenCount": tokens[0], "candidatesTokenCount": tokens[1], "totalTokenCount": sum(tokens)}


def _json(payload: object) -> Answer:
    return Answer(body=json.dumps(payload).encode())


def _failed(status: int, payload: object, headers: dict[str, str]) -> Answer:
    http_headers = tuple((name.replace("_", "-"), value) for name, value in headers.items())
    return replace(_json(payload), status=status, headers=http_headers)

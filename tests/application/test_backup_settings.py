"""Settings of a backup come along, but never say where this vault keeps its things."""

from __future__ import annotations

import tomllib
from typing import Any

import pytest

from chyme.application.backup.portable_settings import merge_settings


@pytest.mark.parametrize("text", ["", "port = 7\n", "# mine\nport = 7  # lucky\r\nllm_key = '''a\nb'''\n"])
def test_what_may_come_along_is_left_as_it_is(text: str) -> None:
    assert merge_settings(text, {"port": 1}) == text


@pytest.mark.parametrize(
    "line",
    [
        'state_dir = "/there"',
        'server_dir="/there"',
        '"state_dir" = "/there"',
        "'server_dir' = '/there'",
        '"state\\u005fdir" = "/there"',
        '\t state_dir\t=\t"/there" # comment',
        'state_dir = """\n/there"""',
        "state_dir = '''\n/the\nre'''",
        'server_dir.nested = "x"',
        "server_dir = [\n1,\n2]",
        "[server_dir]\nx = 1",
        "[[state_dir]]\nx = 1",
        'state_dir = "/a"\n"server_dir" = "/b"',
    ],
)
def test_where_things_lie_is_left_out_however_it_is_written(line: str) -> None:
    for text in (f"port = 7\n# lucky\n{line}\n", f"port = 7\n# lucky\n{line}"):
        assert tomllib.loads(merge_settings(text, {})) == {"port": 7}
        own = {"state_dir": "/here\n\"quoted\" \x7f 'ü'", "port": 8}
        assert tomllib.loads(merge_settings(text, own)) == {"state_dir": own["state_dir"], "port": 7}


def test_comments_stay_where_a_line_is_left_out() -> None:
    told = merge_settings('# mine\nport = 7\n"state_dir" = "/there"\n', {})
    assert "# mine\nport = 7\n" in told
    assert "# left out by 'chyme restore': \"state_dir\"" in told


def test_where_things_lie_here_stays_when_the_backup_says_nothing_of_it() -> None:
    told = merge_settings("# mine\nport = 7\n", {"state_dir": "/here", "llm_key": "mine"})
    assert tomllib.loads(told) == {"port": 7, "state_dir": "/here"}
    assert "# mine" in told


def test_values_of_every_kind_survive_being_written_anew() -> None:
    values: dict[str, Any] = {
        "a": True,
        "b": 1,
        "c": 1e300,
        "d": 'x"\\\n\x01\x7f\U0001f600',
        "e f": float("inf"),
        "": "",
    }
    lines = 'a = true\nb = 1\nc = 1e300\nd = "x\\"\\\\\\n\\u0001\\u007f\U0001f600"\n"e f" = inf\n"" = ""\n'
    assert tomllib.loads(merge_settings(f'{lines}state_dir = """\n/there"""\n', {})) == values


@pytest.mark.parametrize("text", ["port = ", "\0", "state_dir = 1\nstate_dir = 2", "[" * 100_000])
def test_what_is_no_toml_is_refused(text: str) -> None:
    with pytest.raises(ValueError):
        merge_settings(text, {})

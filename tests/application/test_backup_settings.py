"""Settings of a backup are restored, but never decide the folders of this vault."""

from __future__ import annotations

import tomllib
from typing import Any

import pytest

from chyme.application.backup.portable_settings import merge_settings


@pytest.mark.parametrize("text", ["", "port = 7\n", "# mine\nport = 7  # lucky\r\nllm_key = '''a\nb'''\n"])
def test_settings_that_may_be_restored_are_left_unchanged(text: str) -> None:
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
def test_folders_of_the_backup_are_left_out_however_they_are_written(line: str) -> None:
    for text in (f"port = 7\n# lucky\n{line}\n", f"port = 7\n# lucky\n{line}"):
        assert tomllib.loads(merge_settings(text, {})) == {"port": 7}
        own = {"state_dir": "/here\n\"quoted\" \x7f 'ü'", "port": 8}
        assert tomllib.loads(merge_settings(text, own)) == {"state_dir": own["state_dir"], "port": 7}


def test_comments_stay_when_a_line_is_left_out() -> None:
    merged = merge_settings('# mine\nport = 7\n"state_dir" = "/there"\n', {})
    assert "# mine\nport = 7\n" in merged
    assert "# left out by 'chyme restore': \"state_dir\"" in merged


def test_folders_of_this_vault_stay_when_the_backup_has_none() -> None:
    merged = merge_settings("# mine\nport = 7\n", {"state_dir": "/here", "llm_key": "mine"})
    assert tomllib.loads(merged) == {"port": 7, "state_dir": "/here"}
    assert "# mine" in merged


def test_values_of_every_kind_survive_being_rewritten() -> None:
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
def test_invalid_toml_is_refused(text: str) -> None:
    with pytest.raises(ValueError):
        merge_settings(text, {})

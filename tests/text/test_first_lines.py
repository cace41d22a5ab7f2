"""The first lines of a note in any format."""

from __future__ import annotations

import pytest

from chyme.text.excerpts import LENGTH, LINES, first_lines


@pytest.mark.parametrize(
    ("text", "preview"),
    [
        ("# The boathouse\n\nThe **key** hangs `here`.\n", "The boathouse\nThe key hangs here."),
        ("---\ntitle: x\ntags: [a]\n---\n# Heading\ntext", "Heading\ntext"),
        ("- one\n- [ ] two\n  - [x] three", "• one\n☐ two\n  ☑ three"),
        ("> quoted\n\n[a link](http://h.example/x) and ![p](y.png)", "quoted\na link and p"),
        ("```python\nprint(1)\n```", "print(1)"),
        ("\ufeff\u202eturned\x00", "turned"),
        ("  \n\t\n", ""),
        ("", ""),
    ],
)
def test_markdown_is_shown_without_its_signs(text: str, preview: str) -> None:
    assert first_lines(text, markdown=True) == preview


def test_other_text_is_shown_as_it_is() -> None:
    assert first_lines("name;town\r\n# Ada;*Bath*\r\n", markdown=False) == "name;town\n# Ada;*Bath*"
    assert first_lines("def f():\n\treturn 1", markdown=False) == "def f():\n    return 1"
    assert first_lines("東京の会議は四月三日に開かれる。", markdown=False) == "東京の会議は四月三日に開かれる。"


@pytest.mark.parametrize("text", ["x" * 5_000_000, "y " * 2_500_000, "*" * 100_000, "[" * 100_000, "---\n" * 9999])
def test_a_huge_line_is_cut(text: str) -> None:
    assert len(first_lines(text, markdown=True)) <= LENGTH


def test_many_lines_are_cut() -> None:
    assert first_lines("a\n" * 1000, markdown=False).count("\n") == LINES - 1

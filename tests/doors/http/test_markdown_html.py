"""Markdown becomes HTML in which nothing can hide."""

from __future__ import annotations

import pytest

from chyme.doors.page.markdown_html import render_markdown

OUT = 'rel="noopener noreferrer nofollow" target="_blank"'


@pytest.mark.parametrize(
    ("markdown", "html"),
    [
        ("<b onclick=x>", "<p>&lt;b onclick=x&gt;</p>\n"),
        ("[a](javascript:x)", "<p><span>a</span></p>\n"),
        ("[a](other.md)", "<p><span>a</span></p>\n"),
        ("[a *b*](mailto:x@y.z)", f'<p><a href="mailto:x@y.z" {OUT}>a <em>b</em></a></p>\n'),
        ("![a *b*](http://x.y/z.png)", "<p>a b</p>\n"),
        ("[![a](b.png)](data:x)", "<p><span>a</span></p>\n"),
        ("# a", "<h3>a</h3>\n"),
        ("###### a", "<h6>a</h6>\n"),
        ("```js\nx<y\n```", "<pre><code>x&lt;y\n</code></pre>\n"),
        ("a\n&amp; b", "<p>a\n&amp; b</p>\n"),
    ],
)  # fmt: skip
def test_markdown_becomes_harmless_html(markdown: str, html: str) -> None:
    assert render_markdown(markdown) == html


def test_columns_are_aligned_by_class_and_not_by_style() -> None:
    html = render_markdown("|a|b|c|\n|:-|:-:|-:|\n|1|2|3|")
    assert "style" not in html and '<td class="centre">2</td>' in html and '<td class="right">3</td>' in html


def test_the_blocks_of_a_span_are_marked_and_the_first_has_the_id() -> None:
    html = render_markdown("one\n\ntwo\n\nthree\n\nfour", 5, 14)
    assert html == '<p>one</p>\n<p class="found" id="found">two</p>\n<p class="found">three</p>\n<p>four</p>\n'


def test_deep_nesting_ends_somewhere() -> None:
    assert render_markdown("> " * 10_000 + "deep").count("<blockquote>") <= 20


def test_running_heads_are_shown_without_the_signs_of_a_comment() -> None:
    assert render_markdown("<!-- header: Harbour Board -->") == "<p>header: Harbour Board</p>\n"
    assert "&lt;!-- aside --&gt;" in render_markdown("<!-- aside -->")

"""Markdown as a reader sees it."""

from __future__ import annotations

import pytest
from growth import grows_linearly

from chyme.text.markdown_blocks import Block, BlockType, blocks_of

PAGE = """\
# The *old* pier

The **steel** of the [old pier](https://example.org/pier "A title") was `measured` in June.[^1]
It goes on here. ![a picture](data:image/png;base64,AAAA)

- [Home](/)
- [About us](/about) | [Contact](/contact)

Underlined
----------

1. First of all, ask the supplier.
2) Then write to the council,
   with a copy to the diver.

> Quoted words are words.
> They go on.

| Day | Height |
|-----|-------:|
| Monday | 3.4 m |

```python
print("no prose")
# no heading
```

    indented = code

***

Costs are 5 \\* 3 \\_ &amp; <b>more</b> https://example.org/x_y_z than that [1].
[^1]: https://example.org/note
"""


def test_blocks_are_distinguished_and_have_no_markup() -> None:
    assert blocks_of(PAGE) == [
        Block(BlockType.HEADING, "The old pier"),
        Block(BlockType.PARAGRAPH, "The steel of the old pier was measured in June. It goes on here."),
        Block(BlockType.MENU, "Home"),
        Block(BlockType.MENU, "About us | Contact"),
        Block(BlockType.HEADING, "Underlined"),
        Block(BlockType.ITEM, "First of all, ask the supplier."),
        Block(BlockType.ITEM, "Then write to the council, with a copy to the diver."),
        Block(BlockType.PARAGRAPH, "Quoted words are words. They go on."),
        Block(BlockType.ASIDE, "Day Height"),
        Block(BlockType.ASIDE, "Monday 3.4 m"),
        Block(BlockType.ASIDE, 'print("no prose")'),
        Block(BlockType.ASIDE, "# no heading"),
        Block(BlockType.ASIDE, "indented = code"),
        Block(BlockType.PARAGRAPH, "Costs are 5 * 3 _ & more than that ."),
    ]


@pytest.mark.parametrize(
    ("markdown", "text"),
    [
        ("a [b](https://x/(y)_z) c and some more words", "a b c and some more words"),
        ("a [b][ref] c d e f", "a b c d e f"),
        ("snake_case_name stays, _this_ goes", "snake_case_name stays, this goes"),
        ("5 * 3 is 15 and **_both_** go", "5 * 3 is 15 and both go"),
        ("\\[no link\\](x)", "[no link](x)"),
        ("&lt;script&gt; is text", "<script> is text"),
        ("turned \u202earound\u202c\x07 text", "turned around text"),
        ("東京は\n晴れです。", "東京は晴れです。"),
        ("well........ then", "well... then"),
        ("~~~\ncode\n```\nmore\n~~~\nafter", "after"),
    ],
)
def test_only_the_words_are_left(markdown: str, text: str) -> None:
    assert [block.text for block in blocks_of(markdown) if block.sort is not BlockType.ASIDE] == [text]


def test_a_paragraph_without_end_becomes_several_blocks() -> None:
    blocks = blocks_of("some words " * 5000)
    assert all(2000 < len(block.text) <= 4000 for block in blocks[:-1])
    assert " ".join(block.text for block in blocks) == ("some words " * 5000).strip()


@pytest.mark.parametrize(
    "piece", ["[", "![](", "[a](b c", "[a]((", "<a ", "*a_", "\\*", ".", "> ", "`", "|", "http://"]
)
def test_pages_of_markup_cost_no_more_than_their_length(piece: str) -> None:
    assert grows_linearly(lambda size: blocks_of(piece * (size // len(piece))), 200_000)

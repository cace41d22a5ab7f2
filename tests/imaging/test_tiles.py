"""Large pictures are read in tiles that overlap and whose cores cover everything once."""

from __future__ import annotations

import pytest

from chyme.imaging.ocr.tiles import MAX_TILES, OVERLAP, TILE, longest_side, needs_tiles, tiles


@pytest.mark.parametrize("size", [(1, 1), (1600, 1600), (1601, 900), (1080, 12_000), (8000, 6000), (300, 40_000)])
def test_cores_cover_the_picture_once_and_tiles_reach_beyond_them(size: tuple[int, int]) -> None:
    cut = tiles(*size)
    assert sum((right - left) * (bottom - top) for left, top, right, bottom in (tile.core for tile in cut)) == (
        size[0] * size[1]
    )
    for tile in cut:
        for low, high in ((0, 2), (1, 3)):
            assert tile.seen[low] == max(0, tile.core[low] - OVERLAP // 2)
            assert tile.seen[high] == min(size[low], tile.core[high] + OVERLAP // 2)
            assert tile.seen[high] - tile.seen[low] <= TILE


@pytest.mark.parametrize(
    ("original", "preview", "heights", "worth"),
    [
        ((1080, 12_000), (184, 2048), [], True),  # a screenshot of a long page
        ((8000, 6000), (2048, 1536), [9, 10, 11, 30], True),  # small print
        ((8000, 6000), (2048, 1536), [40, 50, 60], False),  # a poster
        ((8000, 6000), (2048, 1536), [9], False),  # a speck
        ((2200, 700), (2048, 652), [], False),  # the preview shows it all
        ((2048, 1536), (2048, 1536), [5, 5, 5], False),
    ],
)
def test_the_original_is_looked_at_again_where_that_shows_more(
    original: tuple[int, int], preview: tuple[int, int], heights: list[float], worth: bool
) -> None:
    assert needs_tiles(original, preview, heights) is worth


@pytest.mark.parametrize("size", [(1080, 12_000), (15_000, 15_000), (250_000, 1000), (100_000, 2500), (400, 300)])
def test_a_huge_picture_is_made_smaller_until_its_tiles_are_few(size: tuple[int, int]) -> None:
    longest = longest_side(size)
    scale = longest / max(size)
    assert len(tiles(*(max(1, round(side * scale)) for side in size))) <= MAX_TILES
    assert longest == max(size) or longest < max(size)

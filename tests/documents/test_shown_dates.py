"""The date that a page shows beside its headline, and those that belong to other things on it."""

from __future__ import annotations

from io import BytesIO

import pytest
from growth import grows_linearly

from chyme.documents.html.metadata import PageMetadata, metadata_of
from chyme.documents.html.shown_dates import date_line
from chyme.documents.html.tree import Page, tree_of
from chyme.documents.properties.text_formats import page_properties

TEXT = "<p>The tide mill turned again on a cold morning, and many people came to see it.</p>" * 3


def read(body: str) -> PageMetadata:
    return metadata_of(Page(f"<html><body>{body}</body></html>"), "", {}, "")


@pytest.mark.parametrize(
    ("body", "line"),
    [
        ("<h2 class='date-header'><span>Sunday, May 8, 2016</span></h2><h1>The mill</h1>", "Sunday, May 8, 2016"),
        (
            "<h1>The mill</h1><p class='post-meta'>Posted on <b>3 March 2020</b> by Ada</p>",
            "Posted on 3 March 2020 by Ada",
        ),
        ("<h1>The mill</h1><div id='byline'>By Ada | 3 Mar 2020</div>", "By Ada | 3 Mar 2020"),
        ("<h1>Die Mühle</h1><span class='datum'>3. März 2020, 14:05 Uhr</span>", "3. März 2020, 14:05 Uhr"),
        ("<h1>The mill</h1><time>3 March 2020</time>", "3 March 2020"),
        ("<h2>The mill</h2><div class='entry-date'>3 March 2020</div>", "3 March 2020"),
        ("<p><span>publiziert am 3. März 2020</span></p><h1>Die Mühle</h1>", "publiziert am 3. März 2020"),
        ("<h1>Le moulin</h1><p>Publié le <b>3 mars 2020</b></p>", "Publié le 3 mars 2020"),
        ("<h1>The mill</h1><p>First published: 3 March 2020</p>", "First published: 3 March 2020"),
    ],
)
def test_the_line_beside_the_headline_is_read(body: str, line: str) -> None:
    assert read(body + TEXT).dateline == line


@pytest.mark.parametrize(
    "body",
    [
        "<h1>The mill</h1>" + TEXT + "<div class='comments'><span class='date'>3 March 2020</span></div>",
        "<h1>The mill</h1><div class='sidebar'><span class='date'>3 March 2020</span></div>",
        "<h1>The mill</h1><nav><span class='date'>3 March 2020</span></nav>",
        "<h1>The mill</h1>" + "<p>x</p>" * 100 + "<span class='date'>3 March 2020</span>",
        "<h1>All news</h1>" + "".join(f"<p class='date'>{day} March 2020</p><h2>x</h2>" for day in range(1, 20)),
        "<h2>One</h2><p class='date'>3 March 2020</p><h2>Two</h2><p class='date'>4 March 2020</p>",
        "<h1>The mill</h1><p class='meta'>" + "It was built in 1920. " * 20 + "</p>",
        "<h1>The mill</h1><p class='update-info'>since 2020</p>",
        "<h1>The mill</h1><p>Publishing began on 3 March 2020</p>",
        "<h1>The mill</h1><p>Published in 1920, the first book about the mill was read by all who lived near it.</p>",
    ],
)
def test_dates_of_other_things_are_left(body: str) -> None:
    assert read(body).dateline is None


def test_a_date_that_microformats_mark_is_declared() -> None:
    mark = "<div class='hentry'><div class='post-footer'><abbr class='published' title='{}'>12:55</abbr></div></div>"
    assert read(mark.format("2016-05-08T00:55:00-07:00")).published_date == "2016-05-08T00:55:00-07:00"
    assert read(mark.format("2016-05-08") + mark.format("2016-05-09")).published_date is None


def test_a_declared_date_needs_no_line() -> None:
    page = "<meta property='article:published_time' content='2020-03-01'><h1>The mill</h1><time>3 March 2020</time>"
    found = read(page)
    assert (found.published_date, found.dateline) == ("2020-03-01", None)


def test_the_day_of_publication_beats_that_on_which_a_copy_was_made() -> None:
    data = '<script type="application/ld+json">{"@type": "NewsArticle", "dateCreated": "2020-03-04T10:00:00Z"}</script>'
    assert read(f"{data}<h1>The mill</h1>{TEXT}").published_date == "2020-03-04T10:00:00+00:00"
    marked = "<time itemprop='datePublished' datetime='2020-03-03T14:15+0000'>3 March 2020</time>"
    assert (read(f"{data}<h1>The mill</h1>{marked}{TEXT}").published_date or "")[:10] == "2020-03-03"


def test_what_a_long_page_says_about_itself_below_its_scripts_is_read() -> None:
    script = f"<script>{'x' * 400_000}</script>"
    page = f"<html><head>{script}</head><body><h1>The mill</h1><time>3 March 2020</time></body></html>"
    assert page_properties(BytesIO(page.encode()), len(page)).dateline == "3 March 2020"


def test_a_page_full_of_dates_costs_no_more_than_its_length() -> None:
    def search(count: int) -> None:
        root = tree_of("<body>" + "<div class='date'>3 March 2020</div>" * count + "</body>")
        date_line(root)

    assert grows_linearly(search, 2_000)

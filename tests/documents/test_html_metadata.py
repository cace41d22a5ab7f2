"""The metadata of a page, from every place where pages declare it, and from hostile pages."""

from __future__ import annotations

import json
import time
from collections.abc import Iterator
from dataclasses import asdict

import pytest
from growth import grows_linearly

from chyme.documents.html.metadata import PageMetadata, metadata_of
from chyme.documents.html.metadata_values import clean_line, date_of, language_of
from chyme.documents.html.structured_data import things_in
from chyme.documents.html.tree import Page, tree_of
from chyme.webpages.login_and_bot_walls import wall_headers
from chyme.webpages.wall_signals import read_page_signals

URL = "https://www.example.org/2024/loaf.html"


def read(head: str = "", body: str = "<p>x</p>", html: str = "", headers: dict[str, str] | None = None) -> PageMetadata:
    page = f"<!doctype html><html {html}><head>{head}</head><body>{body}</body></html>"
    return metadata_of(Page(page), URL, headers or {}, "Two words")


def ld(*things: object) -> str:
    return "".join(f'<script type="application/ld+json">{json.dumps(thing)}</script>' for thing in things)


def meta(**values: str) -> str:
    return "".join(f'<meta property="{name.replace("__", ":")}" content="{value}">' for name, value in values.items())


def test_a_news_page_declares_everything() -> None:
    found = read(
        html='lang="en-GB"',
        head="<title>A loaf of bread | The Example</title><link rel=canonical href='/2024/loaf'>"
        "<link rel='shortcut icon' href='/icon.png'>"
        + meta(og__site_name="The Example", og__image="/loaf.jpg", og__title="A loaf of bread | The Example")
        + meta(article__tag="Bread", og__type="article")
        + "<meta name=description content='How   it is baked'><meta name=keywords content='bread, Flour; salt'>"
        + ld({
            "@context": "https://schema.org",
            "@type": "NewsArticle",
            "author": [{"@type": "Person", "name": "Jane Doe"}, {"givenName": "John", "familyName": "Roe"}, "Jane Doe"],
            "datePublished": "2024-03-01T10:00:00+01:00",
            "dateModified": "2024-03-02",
        }),
    )  # fmt: skip
    assert json.loads(json.dumps(asdict(found))) == {
        "url": URL,
        "canonical_url": "https://www.example.org/2024/loaf",
        "title": "A loaf of bread",
        "description": "How it is baked",
        "author": "Jane Doe, John Roe",
        "published_date": "2024-03-01T10:00:00+01:00",
        "modified_date": "2024-03-02",
        "image": "https://www.example.org/loaf.jpg",
        "site_name": "The Example",
        "domain": "example.org",
        "language": "en",
        "type": "article",
        "keywords": ["Bread", "Flour", "salt"],
        "word_count": 2,
        "reading_minutes": 1,
        "favicon": "https://www.example.org/icon.png",
        "dateline": None,
    }


def test_a_page_that_declares_nothing_is_still_described() -> None:
    found = read()
    assert found == PageMetadata(
        URL, None, None, None, None, None, None, None, None, "example.org", None, None, (), 2, 1, None
    )


def test_things_in_a_graph_are_joined_by_their_names() -> None:
    found = read(
        ld({
            "@graph": [
                {"@type": "WebSite", "name": "The Example"},
                {"@type": "BlogPosting", "headline": "Loaf", "author": {"@id": "#jane"}, "image": {"@id": "#picture"}},
                {"@type": "Person", "@id": "#jane", "name": "Jane Doe"},
                {"@type": "ImageObject", "@id": "#picture", "url": "https://example.org/p.jpg"},
            ]
        })
    )  # fmt: skip
    assert (found.title, found.author, found.site_name) == ("Loaf", "Jane Doe", "The Example")
    assert (found.image, found.type) == ("https://example.org/p.jpg", "article")


def test_a_list_of_articles_is_no_article() -> None:
    articles = [{"@type": "Article", "headline": f"Loaf {n}", "url": f"/{n}", "author": "Jane"} for n in range(3)]
    assert read("<title>All loaves</title>" + ld(articles)).title == "All loaves"
    assert read(ld(articles)).author is None
    own = {"@type": "Article", "headline": "This loaf", "mainEntityOfPage": {"@id": URL}}
    assert read(ld([*articles, own])).title == "This loaf"


@pytest.mark.parametrize(
    "script",
    [
        '{"@type": "Article", "headline": "Loaf",}',
        '<!-- {"@type": "Article", "headline": "Loaf"} -->',
        '//<![CDATA[\n{"@type": "Article", "headline": "Loaf"}\n//]]>',
        '{"@type": "Article", "headline": "Loaf", "description": "two\nlines"};',
        '[[{"@type": ["Thing", "http://schema.org/Article"], "headline": ["Loaf", 3]}]]',
        '{"@type": "WebPage", "mainEntity": {"@type": "Article", "headline": "Loaf"}}',
        '{"@type": "Person", "name": "x"} {"@type": "Article", "headline": "Loaf"}',
    ],
)
def test_scripts_that_people_wrote_by_hand_are_understood(script: str) -> None:
    assert read(f'<script type="application/ld+json; charset=utf-8">{script}</script>').title == "Loaf"


@pytest.mark.parametrize(
    "script",
    ["", "{", "nonsense", "[" * 100_000, '{"a":' * 50_000, "9" * 10_000, "null", '"text"',
     '{"@type": 3, "author": {"name": []}}',
     '{"@type": "Article", "author": [[["x"]]], "keywords": {"a": 1}, "headline": {"b": 2}, "image": [[]]}'],
)  # fmt: skip
def test_scripts_that_are_broken_or_strange_do_no_harm(script: str) -> None:
    found = read(f"<title>Loaf</title><script type='application/ld+json'>{script}</script>")
    assert found.title == "Loaf"
    assert found.author is None


def test_microdata_is_understood() -> None:
    found = read(
        body="<div itemscope itemtype='https://schema.org/Article'><h1 itemprop=headline>Loaf</h1>"
        "<span itemprop=author itemscope itemtype='https://schema.org/Person'><b itemprop=name>Jane Doe</b></span>"
        "<time itemprop=datePublished datetime='2024-03-01'>first of March</time></div>"
    )
    assert (found.title, found.author, found.published_date) == ("Loaf", "Jane Doe", "2024-03-01")
    assert found.type == "article"


def test_older_ways_of_declaring_metadata_are_understood() -> None:
    found = read(
        "<meta name='DC.title' content='Loaf'><meta name='dc.creator' content='Doe, Jane'>"
        "<meta name='citation_publication_date' content='2024/03/01'><meta http-equiv='content-language' content='de'>"
        "<meta name='twitter:description' content='How'><meta name='twitter:image' content='//example.org/p.jpg'>"
    )
    assert (found.title, found.author, found.published_date) == ("Loaf", "Doe, Jane", "2024-03-01")
    assert (found.language, found.description, found.image) == ("de", "How", "https://example.org/p.jpg")


def test_the_heading_is_the_title_where_the_title_only_adds_to_it() -> None:
    assert read("<title>A loaf - Example - Home</title>", "<h1>A loaf</h1>").title == "A loaf"
    assert read("<title>A loaf</title>", "<h1>Welcome!</h1>").title == "A loaf"
    assert read("<title>A loaf</title>" + meta(og__title="https://example.org/")).title == "A loaf"
    assert read("", "<svg><title>Logo</title></svg><h1>A loaf</h1>").title == "A loaf"


def test_authors_are_names() -> None:
    assert read(meta(article__author="https://facebook.com/jane")).author is None
    assert read("<meta name=author content='By Jane Doe'>").author == "Jane Doe"
    assert read("<meta name=author content='@jane'>", "<a rel=author href=/j>Jane Doe</a>").author == "Jane Doe"


def test_a_date_in_the_text_is_taken_where_it_is_marked_or_alone() -> None:
    marked = "<time datetime='2020-01-01'>x</time><time class='entry-date published' datetime='2024-03-01'>y</time>"
    assert read(body=marked).published_date == "2024-03-01"
    assert read(body="<time datetime='2024-03-01T09:00'>x</time>").published_date == "2024-03-01T09:00:00"
    assert read(body="<time datetime='2020-01-01'>x</time><time datetime='2021-01-01'>y</time>").published_date is None


@pytest.fixture(params=["Pacific/Kiritimati", "UTC", "America/Los_Angeles"])
def zone(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    with monkeypatch.context() as patch:
        patch.setenv("TZ", request.param)
        time.tzset()
        yield
    time.tzset()


@pytest.mark.usefixtures("zone")
def test_dates_do_not_depend_on_the_time_zone() -> None:
    assert date_of("9999-12-31T23:59:59") == "9999-12-31T23:59:59"
    assert date_of("9999-12-31T23:59:59-12:00") == "9999-12-31T23:59:59-12:00"
    assert date_of("1970-01-01T00:00:00") is None
    assert date_of("1970-01-01T02:00:00+02:00") is None


@pytest.mark.parametrize(("begun", "blank"), [('{"a": 1}', " "), ("/*", " "), ("", "; ")])
def test_a_script_full_of_blanks_costs_no_more_than_its_length(begun: str, blank: str) -> None:
    def read(size: int) -> None:
        script = begun + blank * (size // len(blank)) + "x"
        things_in(tree_of(f'<script type="application/ld+json">{script}</script><p>x'))

    assert grows_linearly(read, 400_000)


def test_words_in_the_shadow_of_an_element_are_shown() -> None:
    page = "<my-a><template shadowrootmode=open><p>in its shadow</template></my-a><template>of no use</template><p>x"
    assert read_page_signals(Page(page), "").beginning == "in its shadow x"


@pytest.mark.parametrize(
    ("text", "date"),
    [
        ("2024-03-01", "2024-03-01"),
        ("2024-3-1", "2024-03-01"),
        ("2024/03", "2024-03"),
        ("2024", "2024"),
        ("20240301", "2024-03-01"),
        ("2024-03-01T10:00:00Z", "2024-03-01T10:00:00+00:00"),
        ("2024-03-01T10:00:00.123-0500", "2024-03-01T10:00:00.123000-05:00"),
        ("Fri, 01 Mar 2024 10:00:00 GMT", "2024-03-01T10:00:00+00:00"),
        ("2024-03-01 10:00 CET", "2024-03-01"),
        ("1851-09-18", "1851-09-18"),
        ("0001-01-01", None),
        ("1970-01-01T00:00:00Z", None),
        ("2024-13-40", None),
        ("yesterday", None),
        ("1709283600", None),
        ("", None),
    ],
)
def test_dates_are_as_precise_as_they_are_written(text: str, date: str | None) -> None:
    assert date_of(text) == date


@pytest.mark.parametrize(
    ("text", "language"),
    [("en", "en"), ("pt_BR", "pt"), ("zh-Hant-TW", "zh"), ("de, en", "de"), ("und", None), ("english", None)],
)  # fmt: skip
def test_languages_are_reduced_to_their_main_part(text: str, language: str | None) -> None:
    assert language_of(text) == language


def test_languages_are_looked_for_in_order() -> None:
    assert read(html="lang=''", head=meta(og__locale="fr_FR"), headers={"content-language": "de"}).language == "fr"
    assert read(ld({"@type": "Article", "inLanguage": {"@type": "Language", "alternateName": "es"}})).language == "es"
    assert read(headers={"content-language": "de-AT, en"}).language == "de"


def test_addresses_are_web_addresses_or_none() -> None:
    for evil in (
        "javascript:alert(1)",
        "data:image/png;base64,AAAA",
        "file:///etc/passwd",
        "https://u:p@example.org/x",
    ):
        found = read(f"<link rel=canonical href='{evil}'><link rel=icon href='{evil}'>" + meta(og__image=evil))
        assert (found.canonical_url, found.favicon, found.image) == (None, None, None)
    assert (
        read("<link rel=canonical href='https://other.example.net/x'>").canonical_url == "https://other.example.net/x"
    )


def test_strings_are_plain_and_bounded() -> None:
    assert clean_line("<b>Bread</b> &amp;amp; <script>butter", 50) == "Bread &amp; butter"
    assert clean_line("safe\u202egnp.exe\u2066 \x00\x1b[31m\u200b", 50) == "safegnp.exe [31m"
    assert clean_line("The <video> element", 50) == "The <video> element"
    assert clean_line("می‌خواهم 👩‍🍳", 50) == "می‌خواهم 👩‍🍳"
    assert clean_line("\u200b \n", 50) is None
    long = read(f"<title>{'word ' * 1000}</title><meta name=description content='{'word ' * 9000}'>")
    assert long.title is not None
    assert long.description is not None
    assert len(long.title) <= 500
    assert len(long.description) <= 2_000
    assert len(read("<meta name=keywords content='" + ",".join(f"k{n}" for n in range(900)) + "'>").keywords) == 30


def test_things_are_bounded() -> None:
    many = tree_of(f"<html><head>{ld([{'@type': 'Article'}] * 5000)}</head></html>")
    assert many is not None
    assert len(things_in(many)) == 200


def test_a_page_too_wild_for_a_tree_is_described_by_its_head() -> None:
    page = "<html lang=en><head><title>Loaf</title></head><body>" + "<i>x</i>" * 200_000
    found = metadata_of(Page(page), URL, {}, "")
    assert (found.title, found.language, found.word_count) == ("Loaf", "en", 0)


def test_signs_are_plain_facts() -> None:
    page = (
        "<title>Sign in</title><form><input type=email><input type=password></form><div id=app></div>"
        "<noscript>Please enable JavaScript.</noscript><script src=/a.js></script>"
        "<div class=g-recaptcha></div>"
    )
    signs = read_page_signals(Page(page), "the end")
    assert (signs.title, signs.password, signs.fields, signs.ending) == ("Sign in", True, 1, "the end")
    assert (signs.empty_root, signs.asks_for_script, signs.script_chars) == (True, True, 1_000)
    assert signs.markers == {"captcha"}
    assert signs.free is None
    assert "enable" not in signs.beginning
    assert wall_headers({"server": "x" * 999, "set-cookie": "secret"}) == {"server": "x" * 300}


def test_the_signs_of_a_wild_page_are_its_words() -> None:
    signs = read_page_signals(Page("<div>" * 50_000 + "deep words"), "")
    assert (signs.beginning, signs.shown) == ("deep words", 2)

"""Reading pages: the article in its own form, the whole page if there is none, and hostile pages within bounds."""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Callable
from pathlib import Path

import pytest
from growth import grows_linearly

from chyme.documents.conversion.results import ConversionLimits
from chyme.documents.html.raw_source import is_too_complex
from chyme.documents.html.reader import PageContent, page_text, read_page, reading_time, strip_link_targets
from chyme.documents.html.teasers import teasers_in
from chyme.documents.html.tree import Page

CORPUS = Path(__file__).parents[2] / "../shared/corpus"
URL = "https://example.org/blog/2024/loaf.html"
LEAST_F1 = 0.95

PROSE = "".join(
    f"<p>Paragraph {n} tells at some length how flour, water and salt become a loaf of bread, and why a baker who has "
    "done it a thousand times still looks at the dough every single morning.</p>"
    for n in range(6)
)
MENU = "<nav><ul>" + "".join(f"<li><a href='/menu{n}'>Menu entry {n}</a></li>" for n in range(20)) + "</ul></nav>"


def read(
    body: str, head: str = "<title>A loaf</title>", url: str = URL, limits: ConversionLimits | None = None
) -> PageContent:
    page = f"<!doctype html><html><head>{head}</head><body>{body}</body></html>"
    return read_page(Page(page), url, limits or ConversionLimits())


def article(inside: str, around: str = "") -> str:
    """The markdown of an article with `inside` between its paragraphs."""
    found = read(
        f"{MENU}{around}<main><article><h1>A loaf</h1>{PROSE}{inside}{PROSE}</article></main><footer>{MENU}</footer>"
    )
    assert found.article
    return found.markdown


def test_an_article_is_read_without_the_menu_around_it() -> None:
    found = read(f"{MENU}<article><h1>A loaf of bread</h1>{PROSE}</article><aside>{MENU}</aside>")
    assert found.article
    assert "# A loaf of bread" in found.markdown
    assert found.markdown.count("Paragraph") == 6
    assert "Menu entry" not in found.markdown
    assert found.words > 150
    assert found.places[0].heading == "A loaf of bread"


def test_a_page_that_is_no_article_is_read_whole_without_its_menu() -> None:
    cards = "".join(f"<div class=card><a href='/p{n}'>Offer {n}</a> <b>{n} crowns</b></div>" for n in range(30))
    found = read(f"{MENU}<div>{cards}</div>", head="<title>Shop</title>")
    assert "Menu entry" not in found.markdown
    assert found.title == "Shop"
    assert "[Offer 29](https://example.org/p29) **29 crowns**" in found.markdown


def test_code_keeps_its_lines_and_its_language() -> None:
    code = "<pre><code class='language-python'>def bake(loaf):\n    # hot\n\n    return loaf\n</code></pre>"
    assert "```python\ndef bake(loaf):\n    # hot\n\n    return loaf\n```" in article(code)
    wrapped = "<div class='highlight highlight-source-shell'><pre><span>echo</span> hello\n  two</pre></div>"
    assert "```shell\necho hello\n  two\n```" in article(wrapped)
    assert "```\nplain <b>\n```" in article("<pre>plain &lt;b&gt;</pre>")


def test_lists_keep_their_nesting_and_numbers() -> None:
    text = article(
        "<ul><li>Flour<ul><li>of wheat</li><li>of rye<ol><li>fine</li><li>coarse</li></ol></li></ul></li></ul>"
    )
    assert re.search(r"- Flour\n+  [-*] of wheat\n+  [-*] of rye\n+    1\. fine\n+    2\. coarse", text)


def test_short_headings_in_a_list_stay_headings() -> None:
    text = article(
        "<ul><li><h3>Mixing</h3><p>Put everything into a bowl that is large enough for it.</p></li>"
        "<li><h3>Resting</h3><p>Cover the bowl with a cloth and let it stand for four hours.</p></li></ul>"
    )
    assert re.search(r"### Mixing\s+Put everything", text)
    assert re.search(r"### Resting\s+Cover the bowl", text)


def test_tables_keep_their_header_and_their_empty_cells() -> None:
    text = article(
        "<table><thead><tr><th>Step</th><th>Minutes</th></tr></thead><tr><td>Mixing the dough</td><td>10</td></tr>"
        "<tr><td></td><td>240</td></tr></table>"
    )
    assert "| Step | Minutes |\n| --- | --- |\n| Mixing the dough | 10 |\n|  | 240 |" in text


def test_quotations_captions_and_definitions_stay_where_they_are() -> None:
    text = article(
        "<blockquote><p>Bread is the king of the table, and all else its court.</p><p>So it is said.</p></blockquote>"
        "<figure><img src=l.jpg><figcaption>A finished loaf from our own oven.</figcaption></figure>"
        "<dl><dt>Crumb</dt><dd>The inside of a loaf of bread.</dd></dl>"
    )
    assert "> Bread is the king of the table, and all else its court.\n>\n> So it is said." in text
    assert text.index("So it is said") < text.index("A finished loaf from our own oven.") < text.index("Crumb")
    assert "The inside of a loaf of bread." in text


def test_links_keep_their_safe_targets_and_lose_unsafe_ones() -> None:
    text = article(
        "<p>See <a href='yeast.html' title='x'>yeast in the wild</a>, "
        "<a href='//cdn.example.net/a_(b)'>the other place</a>, "
        "<a href='mailto:baker@example.org'>the baker</a>, <a href=' java\nscript:alert(1)'>a trap for you</a>, "
        "<a href='data:text/html,x'>another trap here</a>, <a href='#salt'>the salt below</a>, "
        "<a href='https://user:secret@example.org/'>a secret one</a> and "
        "<a href='file:///etc/passwd'>a file of yours</a>.</p>"
    )
    assert "[yeast in the wild](https://example.org/blog/2024/yeast.html)" in text
    assert "[the other place](https://cdn.example.net/a_%28b%29)" in text
    assert "[the baker](mailto:baker@example.org)" in text
    assert "a trap for you, another trap here, the salt below, a secret one and a file of yours." in text


def test_text_that_looks_like_a_link_is_not_a_link() -> None:
    text = article("<p>Write [a link](javascript:alert(1)) or ![a picture](data:x) like that, said the baker.</p>")
    assert "[a link] (javascript:alert(1)) or ![a picture] (data:x) like that" in text
    assert "table[row](cell)" in article("<pre><code>table[row](cell)</code></pre>")
    assert read("", head="<title>[x](javascript:y)</title>").markdown.startswith("# [x] (javascript:y)")
    headed = read("<h1>[x](javascript:y)</h1>", head="<title>[x](javascript:y)</title>")
    assert headed.markdown.startswith("# [x] (javascript:y)")


def test_the_base_of_a_page_is_obeyed_and_an_evil_one_is_not() -> None:
    body = f"{PROSE}<p>See the <a href='x'>other page of ours</a> for more of it.</p>"
    assert "](https://example.net/deep/x)" in read(body, head="<base href='//example.net/deep/'>").markdown
    assert "](https://example.org/blog/2024/x)" in read(body, head="<base href='javascript:alert(1)//'>").markdown


def test_a_page_from_nowhere_keeps_its_relative_links() -> None:
    body = f"{PROSE}<p>See <a href='../x.html'>the other page</a> and <a href='javascript:x()'>not this one</a>.</p>"
    text = read(body, url="").markdown
    assert "[the other page](../x.html)" in text
    assert "javascript" not in text


def test_invisible_text_is_not_read() -> None:
    text = article(
        "<p style='color:red; display: none'>Unseen zebra of the page</p><p hidden>Unseen giraffe of the page</p>"
        "<div aria-hidden='true'>Unseen lion of the page</div><template>Unseen tiger</template>"
        "<noscript>Unseen elephant of the page</noscript><dialog>Unseen monkey of the page</dialog>"
        "<script>var unseen = 'horse'</script><style>.unseen { }</style>"
    )
    assert "nseen" not in text


def test_a_page_that_scripts_would_show_is_read() -> None:
    assert "Paragraph 5" in read(f"<div style='display:none'>{PROSE}</div>").markdown


def test_cookie_banners_are_left_out_and_texts_about_cookies_are_not() -> None:
    banner = "<div id='onetrust-banner-sdk'><p>We use cookies on our site.</p><button>Accept all</button></div>"
    dialog = "<div role='dialog'><p>This shop uses cookies, do you agree?</p></div>"
    text = article("<p>The cookies of my grandmother need a whole pound of butter.</p>", banner + dialog)
    assert "We use cookies" not in text
    assert "do you agree" not in text
    assert "cookies of my grandmother" in text
    assert read(banner).markdown == "# A loaf"


def test_signs_that_lead_to_headings_are_left_out() -> None:
    assert "\n## Salt\n" in article(
        "<h2 id=salt>Salt<a href='#salt'>¶</a></h2><p>Ten grams of it are enough for us.</p>"
    )


def test_a_title_that_no_reader_sees_is_the_title_and_not_text() -> None:
    found = read(PROSE, head="<title>Bread &amp; butter</title>")
    assert found.title == "Bread & butter"
    assert found.markdown.startswith("Paragraph 0")


def test_a_headline_outside_the_article_stands_on_top() -> None:
    headed = read(f"<h1>My bread</h1>{PROSE}", head="<title>My bread - Example Bakery</title>")
    assert headed.title == "My bread"
    assert headed.markdown.startswith("# My bread\n\nParagraph")
    assert "Example Bakery" not in headed.markdown


def test_a_short_article_with_many_comments_is_the_article_where_the_page_says_so() -> None:
    comments = "".join(
        f"<li class=comment>Comment {n}: I do not think so <a href=/u{n}>me</a></li>" for n in range(400)
    )
    body = f"{MENU}<div class=story>{PROSE}</div><h3>Discussion</h3><ol class=discuss>{comments}</ol>"
    found = read(body, head="<title>x</title><meta property='og:type' content='article'>")
    assert found.article
    assert "Paragraph 5" in found.markdown
    assert "Comment 17" not in found.markdown


def test_text_only_in_metadata_is_read_if_the_page_shows_none() -> None:
    body = " ".join(f"Sentence {n} of the article that scripts would show." for n in range(40))
    script = json.dumps({"@type": "NewsArticle", "articleBody": f"{body}\nThe <b>end</b>."})
    found = read("<div id=root></div>", head=f"<title>x</title><script type='application/ld+json'>{script}</script>")
    assert found.article
    assert found.markdown.endswith("Sentence 39 of the article that scripts would show.\n\nThe end .")
    visible = read(PROSE, head=f"<script type='application/ld+json'>{script[:150]}\"}}</script>")
    assert "Sentence" not in visible.markdown


def test_an_empty_page_says_nothing() -> None:
    for page in (
        "",
        "  \n",
        "<html></html>",
        "<!-- -->",
        "<html><body><div id=root></div><script>x</script></body></html>",
    ):
        assert read_page(Page(page), URL, ConversionLimits()) == PageContent("", (), False, 0)


def test_a_long_text_is_cut_with_a_note() -> None:
    found = read(PROSE * 20, limits=ConversionLimits(text_chars=2_000))
    assert len(found.markdown) <= 2_000
    assert "text_chars" in found.notes[0]


def test_words_are_counted_in_every_script_and_addresses_are_not_counted() -> None:
    assert reading_time("Two words") == (2, 1)
    assert reading_time("[Two words](https://example.org/a/b/c/d)") == (2, 1)
    assert reading_time("潮汐是海水") == (5, 1)
    assert reading_time("밀물과 썰물") == (2, 1)
    assert reading_time("word " * 2300) == (2300, 10)
    assert reading_time("海" * 5000) == (5000, 10)
    assert reading_time("") == (0, 0)


# Functions, because the pages take some 60 MB.
MANY: dict[str, Callable[[], str]] = {
    "nested": lambda: "<div>" * 100_000 + "deep words" + "</div>" * 100_000,
    "nested and never closed": lambda: "<b><i><div>" * 50_000 + "deep words",
    "one line": lambda: "<p>" + "word " * 1_000_000,
    "a million links": lambda: "<p>text</p>" + "<a href=/x>l</a> " * 1_000_000,
    "many links": lambda: "<p>text</p>" + "<a href=/x>l</a> " * 100_000,
    "a wide table": lambda: "<table><tr>" + "<td>x</td>" * 100_000 + "</tr></table>",
    "half a million attributes": lambda: "<div " + " ".join(f"a{n}=b" for n in range(500_000)) + ">words</div>",
    "attributes that hide in quotes": lambda: (
        "<div " + " ".join(f'a{n}=">y<b c"' for n in range(100_000)) + ">words</div>"
    ),
    "many hidden parts": lambda: "<p>words " + "<b hidden>q</b>x " * 70_000,
    "many terms": lambda: "<article>" + PROSE + "<dd>x</dd>" * 25_000,
    "open brackets": lambda: "<" * 5_000_000,
    "open comments": lambda: "words" + "<!--" * 1_000_000,
    "open scripts": lambda: "words" + "<script>" * 300_000,
    "open titles": lambda: "words" + "<title " * 300_000,
    "ampersands": lambda: "<p>words " + "&" * 5_000_000,
}


@pytest.mark.slow
@pytest.mark.parametrize("name", MANY)
def test_hostile_pages_cost_no_more_than_their_length_and_less_than_a_gigabyte(name: str) -> None:
    page = MANY[name]()
    found: dict[int, PageContent] = {}

    def read(size: int) -> None:
        found[size] = read_page(Page(f"<html><body>{page[:size]}"), URL, ConversionLimits())

    Path("/proc/self/clear_refs").write_text("5")  # reset the peak
    before = memory("VmRSS")
    assert grows_linearly(read, len(page))
    assert memory("VmHWM") - before < 1024 * 1024  # KB
    if "words" in page and not name.startswith("open"):
        assert "words" in found[len(page)].markdown


def memory(what: str) -> int:
    """Memory of this process in kilobytes, by the kernel's name for it."""
    lines = Path("/proc/self/status").read_text().splitlines()
    return next(int(line.split()[1]) for line in lines if line.startswith(f"{what}:"))


def test_a_tag_with_too_many_attributes_is_seen_before_any_parser_sees_it() -> None:
    attributes = " ".join(f"a{n}" for n in range(2_000))
    assert is_too_complex(f"<p {attributes}>x")
    assert is_too_complex(f"<!-- --><script>if (a<b) {{}}</script><p {attributes}>x")
    assert is_too_complex("<p " + " ".join(f'a{n}=">x<b c"' for n in range(2_000)) + ">x")
    assert not is_too_complex(f"<!-- <p {attributes}> --><p>x")
    assert not is_too_complex(f"<script>'<p {attributes}>'</script><p>x")
    assert not is_too_complex(f"<p data-x='{attributes}'>x")


def words_of(text: str) -> list[str]:
    """The words of a text as the corpus counts them: without marks and addresses, each CJK character a word."""
    text = re.sub(r"<[^>]+>|!\[[^\]]*\]\([^)]*\)|\]\([^)]*\)|[|#*_`>~=\-]+", " ", text)
    found: list[str] = []
    for token in re.findall(r"\w+", text.lower()):
        found.extend(token if re.search(r"[\u3040-\u30ff\u3400-\u9fff\uac00-\ud7af]", token) else [token])
    return found


def f1(expected: list[str], found: list[str]) -> float:
    common = (Counter(expected) & Counter(found)).total()
    return 2 * common / (len(expected) + len(found))


@pytest.mark.slow
def test_the_corpus_is_read_as_people_read_it() -> None:
    if not (CORPUS / "html").is_dir():
        pytest.skip("no corpus of real pages beside the project: word F1 of the reader was not measured")
    scores: dict[str, float] = {}
    for line in (CORPUS / "manifest.jsonl").read_text(encoding="utf-8").splitlines():
        entry = json.loads(line)
        if entry["type"] != "html" or not entry.get("truth"):
            continue
        truth = CORPUS / entry["truth"]
        truth = truth if truth.exists() else CORPUS / "truth" / entry["truth"]
        expected = words_of(truth.read_text(encoding="utf-8", errors="replace"))
        if expected:
            page = page_text((CORPUS / entry["file"]).read_bytes())
            scores[entry["file"]] = f1(expected, words_of(read_page(Page(page), URL, ConversionLimits()).markdown))
    assert len(scores) > 50
    assert sum(scores.values()) / len(scores) >= LEAST_F1, sorted(scores.items(), key=lambda score: score[1])[:5]


def test_words_in_the_shadow_of_an_element_are_read() -> None:
    text = read(
        "<my-a><template shadowrootmode=open><p>One in its shadow</p></template></my-a>"
        "<my-b><template shadowrootmode=CLOSED><p>Two in its shadow</p></template></my-b><template>of no use</template>"
    ).markdown
    assert "One in its shadow" in text and "Two in its shadow" in text
    assert "of no use" not in text


@pytest.mark.parametrize("text", ["](", "](<"])
def test_beginnings_of_links_cost_no_more_than_their_length(text: str) -> None:
    assert grows_linearly(lambda count: strip_link_targets(text * count), 200_000)
    assert strip_link_targets("[a](<b c>) [d](https://e.test/f) g") == "[a]  [d]  g"


def test_invitations_to_other_pages_are_no_part_of_an_article() -> None:
    card = (
        "<a href='/rolls'><img src='r.png'><h3>Seven rolls for a long Sunday</h3>"
        "<p>Warm from the oven in an hour</p></a>"
    )
    text = article(f"<p><b>Read more:</b> <a href='/rye'>Why rye needs a sour start</a></p><div>{card}</div>")
    assert text.count("Paragraph") == 12
    assert "sour start" not in text
    assert "long Sunday" not in text
    assert "Warm from the oven" not in text


def test_a_link_in_a_sentence_and_a_linked_line_without_label_stay_in_the_article() -> None:
    text = article(
        "<p>Much is told about rye in <a href='/rye'>Why rye needs a sour start</a></p>"
        "<p>Sources: <a href='/mill'>The mill on the river and its four stones</a></p>"
        "<p>Related: <a href='#crumb'>the part on crumb and crust below</a></p>"
    )
    assert "Why rye needs a sour start" in text
    assert "The mill on the river" in text
    assert "crumb and crust" in text


def test_an_article_made_of_invitations_keeps_them() -> None:
    cards = [f"Recipe {n} from the village bakery" for n in range(20)]
    root = Page("".join(f"<a href='/p{n}'><h3>{card}</h3></a>" for n, card in enumerate(cards))).copy_tree()
    assert teasers_in(root, "\n".join(cards)) == []
    assert len(teasers_in(root, "\n".join([*cards, "bread " * 500]))) == 20


def test_places_where_words_may_be_broken_are_left_out() -> None:
    assert "Grandmother's sourdough" in article(
        "<p>Grand&shy;mother's sour\xaddough is the best of all the breads.</p>"
    )

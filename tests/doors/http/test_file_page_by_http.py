"""The page of a file: whatever stands in it, nothing of it becomes part of the page."""

from __future__ import annotations

import json
import re
from html.parser import HTMLParser
from sqlite3 import Connection
from urllib.parse import quote

import pytest
from described_vault import classify, complete, named, put
from fastapi.testclient import TestClient
from growth import grows_linearly

from chyme.application.app import App
from chyme.core.store import artifacts, digests, text_places
from chyme.doors.http.vault_api import create_vault_api
from chyme.model import Artifact, Place, Status
from chyme.understanding.edit_rules import EditRequest

pytestmark = pytest.mark.slow  # a little each, and they are many

HOSTILE = "<img src=x onerror=alert(1)>\"'><script>alert(2)</script>{{7*7}}"


class Elements(HTMLParser):
    """Every element of a page with its attributes."""

    def __init__(self, html: str) -> None:
        super().__init__()
        self.found: list[tuple[str, dict[str, str | None]]] = []
        self.feed(html)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.found.append((tag, dict(attrs)))


def looked_at(http: TestClient, address: str) -> str:
    """The page, after a look at everything that could run in it."""
    answer = http.get(address)
    assert answer.status_code == 200, answer.text
    for tag, attributes in Elements(answer.text).found:
        assert not [name for name in attributes if name.startswith("on") or name == "style"], (tag, attributes)
        for name in ("href", "src", "action", "formaction", "poster"):
            target = (attributes.get(name) or "").strip().lower()
            assert not target.startswith(("javascript:", "data:", "vbscript:")), (tag, attributes)
        if tag == "img":
            assert (attributes["src"] or "").startswith(("/api/", "/static/")), attributes
        if tag == "script":
            assert (attributes.get("src") or "").startswith("/static/"), attributes
    assert "<script>" not in answer.text and "onerror=alert" not in re.sub(
        r"&lt;[^<>]*&gt;|\"[^\"]*\"", "", answer.text
    )
    return answer.text


def test_a_hostile_name_title_summary_and_tag_are_shown_as_they_are(app: App, http: TestClient) -> None:
    file = put(app, "a<b>&'\"<script>alert(0)<!--.txt", "some text")
    classify(app, file, HOSTILE, None, "a tag")
    app.edits.change(file.path, EditRequest({"title": HOSTILE}))
    html = looked_at(http, f"/file/{quote(file.path)}")
    assert "&lt;img src=x onerror=alert(1)&gt;" in html and "{{7*7}}" in html
    looked_at(http, f"/ui/file/parts?path={quote(file.path)}")


@pytest.mark.parametrize(
    "markdown",
    [
        "<script>alert(1)</script><img src=x onerror=alert(1)>",
        "[click](javascript:alert(1)) [x](JaVaScRiPt:alert(1)) [y](data:text/html,<script>) <javascript:alert(1)>",
        "![picture](http://elsewhere.example/spy.png) ![x](javascript:alert(1))",
        "[a]: javascript:alert(1)\n\n[a] and [b](vbscript:x)",
        '```html onload=alert(1)"><script>\n<script>alert(1)</script>\n```',
        "|a|b|\n|:-:|-:|\n|<b onmouseover=alert(1)>|[x](javascript:y)|",
        "&#x3c;script&#x3e;alert(1) &#106;avascript: [x](&#106;avascript:alert(1)) [z](java\nscript:alert(1))",
        '<http://ok.example/" onmouseover="alert(1)>',
    ],
)
def test_markdown_brings_no_html_no_pictures_and_no_odd_links(app: App, http: TestClient, markdown: str) -> None:
    put(app, "note.md", f"{markdown}\n\n[one](http://ok.example/1) [two](http://ok.example/2)")  # one alone is a link
    html = looked_at(http, "/file/note.md")
    links = [attributes for tag, attributes in Elements(html).found if tag == "a" and attributes.get("target")]
    assert all((one["href"] or "").startswith(("http://", "https://", "mailto:", "/api/")) for one in links)
    assert "<img" not in html.split("data-text", 1)[1].split("</section>")[0]


def test_a_link_of_a_note_leads_out_without_telling_from_where(app: App, http: TestClient) -> None:
    put(app, "note.md", "see [here](https://example.org/a?b=1&c=2) and [there](https://example.org/d)")  # one is a link
    html = looked_at(http, "/file/note.md")
    (link,) = [
        one
        for tag, one in Elements(html).found
        if tag == "a" and one.get("href", "") == "https://example.org/a?b=1&c=2"
    ]
    assert link["rel"] == "noopener noreferrer nofollow"


@pytest.mark.parametrize("digester", ["doc-to-markdown", "classify-document", "tags", "search-keyword", "a-plug-in"])
@pytest.mark.parametrize(
    "content", [HOSTILE, json.dumps({"tags": [HOSTILE], "title": HOSTILE, "x": [HOSTILE]}), "[" * 5000]
)
def test_what_a_digest_holds_is_only_words(app: App, http: TestClient, digester: str, content: str) -> None:
    file = put(app, "letter.txt")
    complete(app, file, digester, content)
    looked_at(http, "/file/letter.txt")
    looked_at(http, f"/ui/file/content?path=letter.txt&digester={digester}")


def test_the_found_span_of_a_plain_text_is_marked_exactly(app: App, http: TestClient) -> None:
    put(app, "letter.txt", "one <two> three")
    html = looked_at(http, "/file/letter.txt?start=4&end=9&source=file&q=two")
    assert 'one <span class="found" id="found">&lt;two&gt;</span> three' in html


def test_the_block_in_which_something_was_found_is_marked(app: App, http: TestClient) -> None:
    put(app, "note.md", "# Head\n\nfirst\n\nsecond\n\n- a\n- b\n")
    html = looked_at(http, "/file/note.md?start=15&end=21&source=file")
    assert '<p class="found" id="found">second</p>' in html and "<p>first</p>" in html
    assert '<li class="found" id="found">a</li>' in looked_at(http, "/file/note.md?start=25&end=26&source=file")


def test_a_long_text_is_shown_in_part_and_where_it_was_found(app: App, http: TestClient) -> None:
    text = "\n".join(f"line {number}" for number in range(60_000))
    put(app, "long.txt", text)
    begin = looked_at(http, "/file/long.txt")
    assert "line 1\n" in begin and "line 59999" not in begin and "Show all" in begin
    at = text.index("line 50000")
    there = looked_at(http, f"/file/long.txt?start={at}&end={at + 10}&source=file")
    assert '<span class="found" id="found">line 50000</span>' in there and "line 1\n" not in there
    assert "line 59999" in looked_at(http, "/file/long.txt?all=1")


@pytest.mark.parametrize(
    "hostile",
    ["a" * 5_000_000, "[" * 300_000, "> " * 100_000 + "x", "- " * 100_000, "*a **a " * 40_000, "|a" * 200_000],
)
def test_a_hostile_text_does_not_hold_the_page_up(app: App, http: TestClient, hostile: str) -> None:
    def shown(size: int) -> None:
        put(app, f"bad {size}.md", hostile[:size])
        assert http.get(f"/file/bad%20{size}.md").status_code == 200

    assert grows_linearly(shown, len(hostile))


def test_a_table_is_shown_as_one_and_its_found_row_marked(app: App, http: TestClient) -> None:
    put(app, "people.csv", 'name,town\n"Ada, <b>",Bath\nBob,York\n')
    html = looked_at(http, "/file/people.csv?start=27&end=30&source=file")
    assert '<th scope="col">name</th>' in html and "<td>Ada, &lt;b&gt;</td>" in html
    assert html.index('<tr class="found">') < html.index("<td>Bob</td>")


@pytest.mark.parametrize("more", ["", "," + "x" * 40])  # all within the first part of the text, and far beyond it
def test_a_long_table_is_shown_in_part_and_where_it_was_found(app: App, http: TestClient, more: str) -> None:
    text = "number,town\n" + "".join(f'{number},"York\nor Bath"{more}\n' for number in range(1, 5_001))
    put(app, "long.csv", text)
    begin = looked_at(http, "/file/long.csv")
    assert "<td>1</td>" in begin and "<td>4500</td>" not in begin and "Show all" in begin
    at = text.index("\n4500,") + 1
    there = looked_at(http, f"/file/long.csv?start={at}&end={at + 4}&source=file")
    assert '<tr class="found"><td>4500</td>' in there and there.count('<tr class="found">') == 1
    assert '<th scope="col">number</th>' in there and "<td>4499</td>" in there and "<td>1</td>" not in there
    assert "<td>5000</td>" in there and "There is more text before this" in there and "Show all" not in there
    whole = looked_at(http, "/file/long.csv?all=1")
    assert "<td>1</td>" in whole and "<td>5000</td>" in whole and "There is more text" not in whole


def test_a_table_of_very_many_cells_is_bounded_and_says_so(app: App, http: TestClient) -> None:
    put(app, "wide.csv", ("," * 60 + "\n") * 10_000)
    assert looked_at(http, "/file/wide.csv").count("<tr>") <= 2_000
    whole = looked_at(http, "/file/wide.csv?all=1")
    assert whole.count("<td>") <= 100_000 and "download the file to get all of it" in whole


@pytest.mark.parametrize(
    "query",
    ["?page=0", "?page=-1", "?page=99999999999999999999", "?t=nan", "?t=-5", "?t=1e999", "?box=1,2", "?box=0,0,0,0",
     "?box=a,b,c,d", "?start=5", "?start=9&end=2&source=file", "?start=99999&end=999999&source=file", "?q=%00%ff",
     "?all=1&all=2", "?source=../../etc"],
)  # fmt: skip
def test_an_address_that_makes_no_sense_shows_the_file_all_the_same(app: App, http: TestClient, query: str) -> None:
    put(app, "letter.md", "# A letter")
    looked_at(http, f"/file/letter.md{query}")
    looked_at(http, f"/ui/file/stage?path=letter.md&{query[1:]}")


@pytest.mark.parametrize(
    "path", ["nope.txt", "a/../letter.txt", "..%2F..%2Fetc%2Fpasswd", "%00", "%ff", "", "in", ".chyme/vault.db"]
)
def test_a_file_that_is_not_there_has_a_friendly_page(app: App, http: TestClient, path: str) -> None:
    put(app, "in/letter.txt")
    answer = http.get(f"/file/{path}")
    assert answer.status_code == 404
    assert "This file is not here" in answer.text and "text/html" in answer.headers["content-type"]
    assert http.get("/ui/file/parts", params={"path": path}).status_code == 404


def test_a_vanished_file_is_not_here(app: App, http: TestClient) -> None:
    file = put(app, "letter.txt")
    (app.vault.root / "letter.txt").unlink()
    app.scan()
    assert http.get(f"/file/{file.path}").status_code == 404


def test_a_failure_is_told_in_words_with_what_comes_next(app: App, http: TestClient) -> None:
    file = put(app, "broken.pdf", "%PDF-1.4 broken")
    error = "broken.pdf: PDF is <b>broken</b>; open it in its own program and save it anew"
    app.database.write(
        lambda db: db.execute(
            "UPDATE digests SET status = 'failed', settled = 1, error = ?, error_category = 'validation', attempts = 1 "
            "WHERE file_id = ? AND digester = 'doc-to-markdown'",
            (error, file.id),
        )
    )
    assert digests.of_file(app.database.read(), file.id)["doc-to-markdown"].status is Status.FAILED
    html = looked_at(http, "/file/broken.pdf")
    card = html.split('data-part="digest doc-to-markdown"')[1].split("</article>")[0]
    assert "It cannot be read." in card and "PDF is &lt;b&gt;broken&lt;/b&gt;." in card
    assert "What next: open it in its own program and save it anew." in card and "badge-red" in card


def test_what_the_machine_said_is_shown_beside_what_a_person_set(app: App, http: TestClient) -> None:
    file = put(app, "letter.txt")
    classify(app, file, "A letter", "2026-04-03", "letter")
    app.edits.change("letter.txt", EditRequest({"title": "My letter"}))
    html = looked_at(http, "/file/letter.txt")
    assert ">My letter</h1>" in html
    said = html.split("What the machine said")[1]
    assert "A letter" in said and 'data-clear="title"' in said and 'data-clear="date"' not in said
    assert "data-undo" in html


def test_a_better_name_is_proposed(app: App, http: TestClient) -> None:
    named(app, "IMG_0412.jpg", "2026-04-03-the-harbour.jpg")
    assert "2026-04-03-the-harbour.jpg" in looked_at(http, "/file/IMG_0412.jpg")


def test_copies_are_named(app: App, http: TestClient) -> None:
    put(app, "one.txt", "the same")
    put(app, "in/two.txt", "the same")
    assert 'href="/file/in/two.txt"' in looked_at(http, "/file/one.txt")


def test_what_a_reader_may_not_do_is_not_offered(app: App) -> None:
    put(app, "letter.txt")
    api = create_vault_api(app)

    @api.middleware("http")
    async def read_only(request, call):  # type: ignore[no-untyped-def]
        request.state.may_write = False
        return await call(request)

    with TestClient(api, base_url="http://localhost") as http:
        html = looked_at(http, "/file/letter.txt")
    for offered in ("data-edit", "data-delete", "data-rerun", "data-add-tag", "data-untag", "data-reprocess"):
        assert offered not in html


def test_text_read_in_a_picture_labels_its_boxes_and_no_more(app: App, http: TestClient) -> None:
    file = put(app, "sign.svg", '<svg xmlns="http://www.w3.org/2000/svg"/>')
    text = '"><script>alert(1)</script>'
    complete(app, file, "image-preview", '{"width": 100, "height": 50}')
    complete(app, file, "image-ocr", text)

    def draw(db: Connection) -> None:
        preview = artifacts.pack(Artifact("preview.jpg", b"a picture"))
        name = artifacts.replace(db, file.path, "image-preview", [preview], 0)
        text_places.replace(db, file.id, "image-ocr", [Place(0, len(text), box=(0.1, 0.2, 0.5, 0.4))])
        db.execute("UPDATE digests SET sqlar_name = ? WHERE digester = 'image-preview'", (name,))

    app.database.write(draw)
    html = looked_at(http, "/file/sign.svg?box=0.1,0.2,0.5,0.4")
    boxes = [one for _, one in Elements(html).found if one.get("class") in ("box", "box-found")]
    assert [one.get("aria-label") for one in boxes] == [text, None] and boxes[1]["id"] == "found"
    assert {float(str(one["x"])) for one in boxes} == {100.0}


def test_whoever_looks_at_a_file_that_goes_is_told_where_its_content_is(app: App, http: TestClient) -> None:
    file = put(app, "here.txt", "the same words")
    asked = {"path": "gone.txt", "hash": file.hash}
    assert 'href="/file/here.txt">To its new place' in http.get("/ui/file/gone", params=asked).text
    assert "Search for its name" in http.get("/ui/file/gone", params={**asked, "path": "here.txt"}).text
    assert http.get("/ui/file/gone", params={"path": "\0", "hash": "\0"}).status_code == 200


@pytest.mark.parametrize(
    ("state", "moved", "shown", "button"),
    [
        ("processing", "2999", "Being digested", None),
        ("processing", "2001", "Nothing has happened for ten minutes.", "Retry<"),
        ("needs-classification", "2001", "The model gave up. Ask it again.", "Retry classification<"),
        ("failed", "2001", "What next: ask it again.", "Retry processing<"),
        ("completed", "2001", None, None),
    ],
)
def test_each_state_has_its_message_and_its_button(
    app: App, http: TestClient, state: str, moved: str, shown: str | None, button: str | None
) -> None:
    file = put(app, "letter.txt")
    app.database.write(
        lambda db: db.execute(
            "UPDATE documents SET state = ?, moved_at = ?, reason = 'letter.txt: the model gave up; ask it again' "
            "WHERE file_id = ?",
            (state, f"{moved}-01-01T00:00:00.000000Z", file.id),
        )
    )
    told = looked_at(http, "/file/letter.txt").split('data-part="state"')[1].split('class="file-columns"')[0]
    assert shown is None or shown in told
    assert (button in told) if button else "data-reprocess" not in told

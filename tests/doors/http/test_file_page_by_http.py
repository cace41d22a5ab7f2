"""The page of a file: whatever the file contains, none of it becomes markup or script of the page."""

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

pytestmark = pytest.mark.slow  # each takes little time, but there are many

HOSTILE = "<img src=x onerror=alert(1)>\"'><script>alert(2)</script>{{7*7}}"


class Elements(HTMLParser):
    """Every element of a page with its attributes."""

    def __init__(self, html: str) -> None:
        super().__init__()
        self.found: list[tuple[str, dict[str, str | None]]] = []
        self.feed(html)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.found.append((tag, dict(attrs)))


def get_safe_page(http: TestClient, address: str) -> str:
    """Return the page after checking everything that could run in it."""
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
    html = get_safe_page(http, f"/file/{quote(file.path)}")
    assert "&lt;img src=x onerror=alert(1)&gt;" in html and "{{7*7}}" in html
    get_safe_page(http, f"/ui/file/parts?path={quote(file.path)}")


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
    # A note with only one link would count as a link.
    put(app, "note.md", f"{markdown}\n\n[one](http://ok.example/1) [two](http://ok.example/2)")
    html = get_safe_page(http, "/file/note.md")
    links = [attributes for tag, attributes in Elements(html).found if tag == "a" and attributes.get("target")]
    assert all((link["href"] or "").startswith(("http://", "https://", "mailto:", "/api/")) for link in links)
    assert "<img" not in html.split("data-text", 1)[1].split("</section>")[0]


def test_a_link_in_a_note_leads_out_without_sending_a_referrer(app: App, http: TestClient) -> None:
    # A note with only one link would count as a link.
    put(app, "note.md", "see [here](https://example.org/a?b=1&c=2) and [there](https://example.org/d)")
    html = get_safe_page(http, "/file/note.md")
    (link,) = [
        attributes
        for tag, attributes in Elements(html).found
        if tag == "a" and attributes.get("href", "") == "https://example.org/a?b=1&c=2"
    ]
    assert link["rel"] == "noopener noreferrer nofollow"


@pytest.mark.parametrize("digester", ["doc-to-markdown", "classify-document", "tags", "search-keyword", "a-plug-in"])
@pytest.mark.parametrize(
    "content", [HOSTILE, json.dumps({"tags": [HOSTILE], "title": HOSTILE, "x": [HOSTILE]}), "[" * 5000]
)
def test_the_content_of_a_digest_is_shown_as_text(app: App, http: TestClient, digester: str, content: str) -> None:
    file = put(app, "letter.txt")
    complete(app, file, digester, content)
    get_safe_page(http, "/file/letter.txt")
    get_safe_page(http, f"/ui/file/content?path=letter.txt&digester={digester}")


def test_the_found_span_of_a_plain_text_is_marked_exactly(app: App, http: TestClient) -> None:
    put(app, "letter.txt", "one <two> three")
    html = get_safe_page(http, "/file/letter.txt?start=4&end=9&source=file&q=two")
    assert 'one <span class="found" id="found">&lt;two&gt;</span> three' in html


def test_the_block_that_contains_the_match_is_marked(app: App, http: TestClient) -> None:
    put(app, "note.md", "# Head\n\nfirst\n\nsecond\n\n- a\n- b\n")
    html = get_safe_page(http, "/file/note.md?start=15&end=21&source=file")
    assert '<p class="found" id="found">second</p>' in html and "<p>first</p>" in html
    assert '<li class="found" id="found">a</li>' in get_safe_page(http, "/file/note.md?start=25&end=26&source=file")


def test_a_long_text_is_shown_in_part_around_the_match(app: App, http: TestClient) -> None:
    text = "\n".join(f"line {number}" for number in range(60_000))
    put(app, "long.txt", text)
    begin = get_safe_page(http, "/file/long.txt")
    assert "line 1\n" in begin and "line 59999" not in begin and "Show all" in begin
    at = text.index("line 50000")
    there = get_safe_page(http, f"/file/long.txt?start={at}&end={at + 10}&source=file")
    assert '<span class="found" id="found">line 50000</span>' in there and "line 1\n" not in there
    assert "line 59999" in get_safe_page(http, "/file/long.txt?all=1")


@pytest.mark.parametrize(
    "hostile",
    ["a" * 5_000_000, "[" * 300_000, "> " * 100_000 + "x", "- " * 100_000, "*a **a " * 40_000, "|a" * 200_000],
)
def test_a_hostile_text_does_not_delay_the_page(app: App, http: TestClient, hostile: str) -> None:
    def show_page(size: int) -> None:
        put(app, f"bad {size}.md", hostile[:size])
        assert http.get(f"/file/bad%20{size}.md").status_code == 200

    assert grows_linearly(show_page, len(hostile))


def test_a_table_is_shown_as_a_table_with_its_found_row_marked(app: App, http: TestClient) -> None:
    put(app, "people.csv", 'name,town\n"Ada, <b>",Bath\nBob,York\n')
    html = get_safe_page(http, "/file/people.csv?start=27&end=30&source=file")
    assert '<th scope="col">name</th>' in html and "<td>Ada, &lt;b&gt;</td>" in html
    assert html.index('<tr class="found">') < html.index("<td>Bob</td>")


@pytest.mark.parametrize("extra_column", ["", "," + "x" * 40])  # fits in the first part of the text, or goes far beyond
def test_a_long_table_is_shown_in_part_around_the_match(app: App, http: TestClient, extra_column: str) -> None:
    text = "number,town\n" + "".join(f'{number},"York\nor Bath"{extra_column}\n' for number in range(1, 5_001))
    put(app, "long.csv", text)
    begin = get_safe_page(http, "/file/long.csv")
    assert "<td>1</td>" in begin and "<td>4500</td>" not in begin and "Show all" in begin
    at = text.index("\n4500,") + 1
    there = get_safe_page(http, f"/file/long.csv?start={at}&end={at + 4}&source=file")
    assert '<tr class="found"><td>4500</td>' in there and there.count('<tr class="found">') == 1
    assert '<th scope="col">number</th>' in there and "<td>4499</td>" in there and "<td>1</td>" not in there
    assert "<td>5000</td>" in there and "There is more text before this" in there and "Show all" not in there
    whole = get_safe_page(http, "/file/long.csv?all=1")
    assert "<td>1</td>" in whole and "<td>5000</td>" in whole and "There is more text" not in whole


def test_a_table_of_very_many_cells_is_bounded_and_says_so(app: App, http: TestClient) -> None:
    put(app, "wide.csv", ("," * 60 + "\n") * 10_000)
    assert get_safe_page(http, "/file/wide.csv").count("<tr>") <= 2_000
    whole = get_safe_page(http, "/file/wide.csv?all=1")
    assert whole.count("<td>") <= 100_000 and "download the file to get all of it" in whole


@pytest.mark.parametrize(
    "query",
    ["?page=0", "?page=-1", "?page=99999999999999999999", "?t=nan", "?t=-5", "?t=1e999", "?box=1,2", "?box=0,0,0,0",
     "?box=a,b,c,d", "?start=5", "?start=9&end=2&source=file", "?start=99999&end=999999&source=file", "?q=%00%ff",
     "?all=1&all=2", "?source=../../etc"],
)  # fmt: skip
def test_a_nonsensical_address_still_shows_the_file(app: App, http: TestClient, query: str) -> None:
    put(app, "letter.md", "# A letter")
    get_safe_page(http, f"/file/letter.md{query}")
    get_safe_page(http, f"/ui/file/stage?path=letter.md&{query[1:]}")


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


def test_a_failure_is_explained_with_the_next_step(app: App, http: TestClient) -> None:
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
    html = get_safe_page(http, "/file/broken.pdf")
    card = html.split('data-part="digest doc-to-markdown"')[1].split("</article>")[0]
    assert "It cannot be read." in card and "PDF is &lt;b&gt;broken&lt;/b&gt;." in card
    assert "What next: open it in its own program and save it anew." in card and "badge-red" in card


def test_values_of_the_machine_are_shown_beside_those_a_person_set(app: App, http: TestClient) -> None:
    file = put(app, "letter.txt")
    classify(app, file, "A letter", "2026-04-03", "letter")
    app.edits.change("letter.txt", EditRequest({"title": "My letter"}))
    html = get_safe_page(http, "/file/letter.txt")
    assert ">My letter</h1>" in html
    machine_part = html.split("What the machine said")[1]
    assert (
        "A letter" in machine_part and 'data-clear="title"' in machine_part and 'data-clear="date"' not in machine_part
    )
    assert "data-undo" in html


def test_a_better_name_is_proposed(app: App, http: TestClient) -> None:
    named(app, "IMG_0412.jpg", "2026-04-03-the-harbour.jpg")
    assert "2026-04-03-the-harbour.jpg" in get_safe_page(http, "/file/IMG_0412.jpg")


def test_copies_are_named(app: App, http: TestClient) -> None:
    put(app, "one.txt", "the same")
    put(app, "in/two.txt", "the same")
    assert 'href="/file/in/two.txt"' in get_safe_page(http, "/file/one.txt")


def test_readers_are_offered_no_forbidden_action(app: App) -> None:
    put(app, "letter.txt")
    api = create_vault_api(app)

    @api.middleware("http")
    async def read_only(request, call):  # type: ignore[no-untyped-def]
        request.state.may_write = False
        return await call(request)

    with TestClient(api, base_url="http://localhost") as http:
        html = get_safe_page(http, "/file/letter.txt")
    for offered in ("data-edit", "data-delete", "data-rerun", "data-add-tag", "data-untag", "data-reprocess"):
        assert offered not in html


def test_text_read_in_a_picture_only_labels_its_boxes(app: App, http: TestClient) -> None:
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
    html = get_safe_page(http, "/file/sign.svg?box=0.1,0.2,0.5,0.4")
    boxes = [box for _, box in Elements(html).found if box.get("class") in ("box", "box-found")]
    assert [box.get("aria-label") for box in boxes] == [text, None] and boxes[1]["id"] == "found"
    assert {float(str(box["x"])) for box in boxes} == {100.0}


def test_the_page_of_a_vanished_file_says_where_its_content_is(app: App, http: TestClient) -> None:
    file = put(app, "here.txt", "the same words")
    params = {"path": "gone.txt", "hash": file.hash}
    assert 'href="/file/here.txt">To its new place' in http.get("/ui/file/gone", params=params).text
    assert "Search for its name" in http.get("/ui/file/gone", params={**params, "path": "here.txt"}).text
    assert http.get("/ui/file/gone", params={"path": "\0", "hash": "\0"}).status_code == 200


@pytest.mark.parametrize(
    ("state", "moved", "message", "button"),
    [
        ("processing", "2999", "Being digested", None),
        ("processing", "2001", "Nothing has happened for ten minutes.", "Retry<"),
        ("needs-classification", "2001", "The model gave up. Ask it again.", "Retry classification<"),
        ("failed", "2001", "What next: ask it again.", "Retry processing<"),
        ("completed", "2001", None, None),
    ],
)
def test_each_state_has_its_message_and_its_button(
    app: App, http: TestClient, state: str, moved: str, message: str | None, button: str | None
) -> None:
    file = put(app, "letter.txt")
    app.database.write(
        lambda db: db.execute(
            "UPDATE documents SET state = ?, moved_at = ?, reason = 'letter.txt: the model gave up; ask it again' "
            "WHERE file_id = ?",
            (state, f"{moved}-01-01T00:00:00.000000Z", file.id),
        )
    )
    state_part = get_safe_page(http, "/file/letter.txt").split('data-part="state"')[1].split('class="file-columns"')[0]
    assert message is None or message in state_part
    assert (button in state_part) if button else "data-reprocess" not in state_part

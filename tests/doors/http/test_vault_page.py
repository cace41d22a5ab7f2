"""The vault's page and its fragments as the server renders them: what they show, to whom, and what they never show."""

from __future__ import annotations

import re
from collections.abc import Iterator
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import quote

import pytest
from described_vault import classify, complete, put
from fastapi import FastAPI, Request
from fastapi.testclient import TestClient
from starlette.middleware.base import BaseHTTPMiddleware, RequestResponseEndpoint
from starlette.responses import Response

from chyme import __version__
from chyme.application.app import App, open_app
from chyme.application.settings import Settings
from chyme.doors.http.vault_api import create_vault_api
from chyme.doors.page.filter_choices import FacetCounter
from chyme.doors.page.view_parameters import ViewParameters

EVIL = '<img src=x onerror="alert(1)">'
SHELF = 60


@pytest.fixture
def app(tmp_path: Path) -> Iterator[App]:
    with open_app(tmp_path, Settings()) as opened:
        yield opened


@pytest.fixture(scope="module")
def looked_at(tmp_path_factory: pytest.TempPathFactory) -> Iterator[TestClient]:
    """A vault with one file. No test changes it."""
    with open_app(tmp_path_factory.mktemp("looked-at"), Settings()) as opened:
        put(opened, "a.txt")
        with TestClient(create_vault_api(opened), base_url="http://localhost") as client:
            yield client


@pytest.fixture
def reader(app: App) -> Iterator[TestClient]:
    """A client that may only read: `may_write` is set as the server sets it."""
    api: FastAPI = create_vault_api(app)

    class ReadOnly(BaseHTTPMiddleware):
        async def dispatch(self, request: Request, call_next: RequestResponseEndpoint) -> Response:
            request.state.may_write = False
            return await call_next(request)

    api.add_middleware(ReadOnly)
    with TestClient(api, base_url="http://localhost") as client:
        yield client


class ParsedPage(HTMLParser):
    """The elements and the text that a browser would see in a page."""

    def __init__(self, html: str) -> None:
        super().__init__()
        self.elements: list[tuple[str, dict[str, str | None]]] = []
        self.text = ""
        self.feed(html)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.elements.append((tag, dict(attrs)))

    def handle_data(self, data: str) -> None:
        self.text += data

    def all(self, name: str) -> list[dict[str, str | None]]:
        return [attributes for tag, attributes in self.elements if tag == name]


def get_page(http: TestClient, address: str) -> ParsedPage:
    answer = http.get(address)
    assert answer.status_code == 200, answer.text
    assert answer.headers["content-type"].startswith("text/html")
    return ParsedPage(answer.text)


def paths(page: ParsedPage) -> list[str | None]:
    return [attributes["data-path"] for _, attributes in page.elements if "data-path" in attributes]


def set_state(app: App, path: str, state: str, reason: str | None = None, moved_at: str | None = None) -> None:
    """Put a document into this state."""
    app.database.write(
        lambda db: db.execute(
            "UPDATE documents SET state = ?, reason = ?, moved_at = coalesce(?, moved_at) "
            "WHERE file_id = (SELECT id FROM files WHERE path = ?)",
            (state, reason, moved_at, path),
        )
    )


def test_an_empty_vault_says_how_to_fill_it(http: TestClient) -> None:
    page = get_page(http, "/")
    assert "This vault is empty" in page.text
    assert any("data-add" in button for button in page.all("button"))


@pytest.mark.parametrize("view", ["grid", "table"])
def test_names_titles_reasons_and_tags_are_shown_as_text_whatever_they_contain(
    app: App, http: TestClient, view: str
) -> None:
    name = f"in {EVIL.replace('/', '')}.txt"
    classify(app, put(app, name), f"Title {EVIL}", "2026-04-03", f"tag {EVIL}")
    set_state(app, name, "failed", f"{name}: {EVIL}")
    page = get_page(http, f"/?view={view}")
    assert f"Title {EVIL}" in page.text and paths(page) == [name]
    assert not [image for image in page.all("img") if image.get("src") == "x"]
    assert not [name for _, attributes in page.elements for name in attributes if name.startswith("on")]


def test_snippets_contain_only_text_and_marks(app: App, http: TestClient) -> None:
    file = put(app, "note.txt", f"the harbour {EVIL} and the mill")
    complete(app, file, "search-keyword", None)
    app.search_index.prepare()
    page = get_page(http, "/?q=" + quote(f"harbour {EVIL}"))
    assert not [element for element in page.all("img") if element.get("src") == "x"]
    search_box = next(element for element in page.all("input") if element.get("id") == "search")
    assert search_box["value"] == f"harbour {EVIL}"


@pytest.mark.parametrize(
    "address", ["/", "/?view=table", "/?q=letter", "/?q=nothing+like+it", "/?similar=in/letter.txt"]
)
def test_the_page_has_no_inline_script_or_style_and_loads_nothing_from_elsewhere(
    app: App, http: TestClient, address: str
) -> None:
    classify(app, put(app, "in/letter.txt"), "A letter", "2026-04-03", "letter")
    page = get_page(http, address)
    assert all(script.get("src", "").startswith("/static/") for script in page.all("script"))  # type: ignore[union-attr]
    assert not page.all("style") and not [a for _, a in page.elements if "style" in a]
    for _, attributes in page.elements:
        for name in ("src", "href", "action"):
            assert not (attributes.get(name) or "").startswith(("http", "//", "javascript:")), attributes


def test_every_state_has_its_words_and_its_button(app: App, http: TestClient) -> None:
    for name in ("busy.txt", "still.txt", "ready.txt", "unsure.txt", "broken.txt"):
        put(app, name)
    set_state(app, "busy.txt", "processing")
    set_state(app, "still.txt", "processing", moved_at="2020-01-01T00:00:00.000000Z")
    set_state(app, "ready.txt", "completed")
    set_state(app, "unsure.txt", "needs-classification", "no title was found")
    set_state(app, "broken.txt", "failed", "broken.txt: is torn; save it anew")
    cards = {path: http.get("/ui/cards", params={"path": path}).text for path in paths(get_page(http, "/"))}
    buttons = {path: re.findall(r"data-retry>([^<]+)<", html) for path, html in cards.items()}
    assert buttons == {
        "busy.txt": [], "still.txt": ["Retry"], "ready.txt": [], "unsure.txt": ["Retry classification"],
        "broken.txt": ["Retry processing"],
    }  # fmt: skip
    assert "<progress" in cards["busy.txt"] and "skeleton" in cards["busy.txt"]
    assert "badge-amber" in cards["still.txt"] and "badge-amber" in cards["unsure.txt"]
    assert "badge-red" in cards["broken.txt"] and "Is torn; save it anew" in cards["broken.txt"]


@pytest.mark.parametrize("address", ["/", "/?view=table", "/?q=letter"])
def test_readers_see_no_button_that_writes(app: App, reader: TestClient, address: str) -> None:
    put(app, "letter.txt")
    set_state(app, "letter.txt", "failed", "it is torn")
    page = get_page(reader, address)
    writing = ("data-add", "data-retry", "data-select", "data-delete", "data-run")
    assert not [attributes for _, attributes in page.elements if any(name in attributes for name in writing)]
    assert not [element for element in page.all("dialog") if element.get("id") == "add"]
    assert not [element for element in page.all("script") if "adding.js" in (element.get("src") or "")]


def test_the_list_continues_where_it_ended_without_a_gap_or_a_repetition(app: App, http: TestClient) -> None:
    for number in range(SHELF + 5):
        put(app, f"{number:03}.txt")
    first = get_page(http, "/?sort=name&dir=up")
    next_link = next(link for link in first.all("a") if "more" in (link.get("class") or ""))
    second = get_page(http, str(next_link["data-src"]))
    assert paths(first) + paths(second) == [f"{number:03}.txt" for number in range(SHELF + 5)]
    assert not [link for link in second.all("a") if "more" in (link.get("class") or "")]
    assert paths(get_page(http, "/" + str(next_link["href"]))) == paths(second)  # it also works without a script


def test_filters_narrow_the_list_and_can_be_removed(app: App, http: TestClient) -> None:
    classify(app, put(app, "work/letter.txt"), "A letter", "2024-04-03", "letter")
    classify(app, put(app, "home/note.md"), "A note", "2023-01-01", "note")
    for filter_query in ("?tag=letter", "?folder=work", "?year=2024"):
        page = get_page(http, f"/{filter_query}")
        assert paths(page) == ["work/letter.txt"], filter_query
    page = get_page(http, "/?tag=letter&year=2024")
    removal_links = {
        link["aria-label"]: link["href"] for link in page.all("a") if "Without" in (link.get("aria-label") or "")
    }
    assert removal_links == {"Without the tag letter": "/?year=2024", "Without the year 2024": "/?tag=letter"}


def test_a_folder_shows_its_crumbs_and_the_folders_inside(app: App, http: TestClient) -> None:
    put(app, "work/2024/letter.txt")
    page = get_page(http, "/?folder=work")
    assert "/?folder=work%2F2024" in [element.get("href") for element in page.all("a")]
    assert "/" in [element.get("href") for element in page.all("a") if "data-go" not in element]
    assert any(element.get("aria-current") == "location" for element in page.all("span"))


def test_columns_show_their_sort_order_and_can_reverse_it(app: App, http: TestClient) -> None:
    put(app, "a.txt")
    page = get_page(http, "/?view=table&sort=title&dir=up")
    assert [element.get("aria-sort") for element in page.all("th") if "aria-sort" in element] == [
        "ascending",
        "none",
        "none",
        "none",
    ]
    assert any(element.get("href") == "/?sort=title&dir=down" for element in page.all("a"))


def test_cards_are_returned_only_for_existing_files(app: App, http: TestClient) -> None:
    put(app, "here.txt")
    answer = http.get("/ui/cards", params={"path": ["gone.txt", "here.txt"]})
    assert paths(ParsedPage(answer.text)) == ["here.txt"]
    assert http.get("/ui/cards").status_code == 422
    assert http.get("/ui/cards", params={"path": ["x"] * 101}).status_code == 422


@pytest.mark.parametrize(
    "asked",
    ["kind=nonsense", "sort=nonsense", "year=20", "state=x", "dir=sideways", "view=upside-down", "person=%00",
     "folder=../..", "tag=%ff%fe", "q=%00", "q=" + "x" * 3000, "similar=nowhere.txt", "similar=%00", "folder=%2F%2F"],
)  # fmt: skip
@pytest.mark.parametrize("route", ["/", "/ui/vault", "/ui/shelf", "/ui/hits", "/ui/choices"])
def test_nonsense_in_an_address_is_ignored(looked_at: TestClient, route: str, asked: str) -> None:
    assert looked_at.get(f"{route}?{asked}").status_code == 200


def test_a_forged_cursor_is_refused_with_a_sentence(http: TestClient) -> None:
    answer = http.get("/ui/shelf?cursor=forged")
    assert answer.status_code == 400 and "start again" in answer.json()["detail"]


def test_a_large_vault_does_not_wait_for_its_counts_but_remembers_them(app: App) -> None:
    classify(app, put(app, "letter.txt"), "A letter", None, "letter")
    large, narrowed = FacetCounter(app, few=0), ViewParameters(tags=("letter",))
    assert FacetCounter(app).available(narrowed) is not None
    assert large.available(narrowed) is None and not large.is_quick
    counted = large.count(narrowed)
    assert counted.tag == (("letter", 1),) and large.available(narrowed) == counted
    assert large.available(ViewParameters()) is None


def test_counts_can_be_fetched_alone_when_a_page_did_not_wait_for_them(app: App, http: TestClient) -> None:
    classify(app, put(app, "letter.txt"), "A letter", None, "letter")
    assert any(link.get("href") == "/?tag=letter" for link in get_page(http, "/ui/choices").all("a"))


def test_a_hit_leads_to_its_place_with_the_words_to_mark(app: App, http: TestClient) -> None:
    put(app, "note.txt", "the harbour lies behind the mill")
    app.search_index.prepare()
    page = get_page(http, "/?q=note")
    link = next(anchor for anchor in page.all("a") if anchor.get("class") == "tile-link")
    assert (link["href"] or "").startswith("/file/note.txt?") and "q=note" in (link["href"] or "")


def test_a_corrected_word_is_announced_with_a_link_to_the_word_as_typed(app: App, http: TestClient) -> None:
    put(app, "contact.txt", "a contact of the harbour")
    app.search_index.prepare()
    page = get_page(http, "/?q=harbour+contract")
    assert "Nothing has contract; showing contact." in page.text and paths(page) == ["contact.txt"]
    link = next(anchor for anchor in page.all("a") if anchor.get("class") == "tile-link")
    assert "q=harbour+contact" in (link["href"] or ""), "the file's page marks the word that it has"
    (back,) = [
        anchor["href"] or "" for anchor in page.all("a") if (anchor.get("href") or "").endswith("q=harbour+%2Bcontract")
    ]
    typed = get_page(http, back)
    assert "showing" not in typed.text
    payload = http.get("/api/search", params={"q": "contract"}).json()
    assert (payload["corrected"], payload["suggested"]) == ({"contract": "contact"}, {})
    payload = http.get("/api/search", params={"q": "contract", "as_typed": "true"}).json()
    assert (payload["corrected"], payload["hits"]) == ({}, [])


def test_a_possible_correction_is_offered(app: App, http: TestClient) -> None:
    put(app, "contest.txt", "nothing")
    app.search_index.prepare()
    page = get_page(http, "/?q=content")
    assert "Nothing has content. Did you mean contest?" in page.text and paths(page) == []
    assert any((anchor.get("href") or "").endswith("?q=contest") for anchor in page.all("a"))


def test_folders_count_only_files_that_pass_the_filters(app: App, http: TestClient) -> None:
    for path in ("work/in/a.txt", "work/in/b.txt", "work/out/c.txt", "home/d.txt", "e.txt"):
        put(app, path)
        set_state(app, path, "completed")
    set_state(app, "work/in/a.txt", "failed", "torn")
    set_state(app, "e.txt", "failed", "torn")
    folders = {
        query: dict(
            re.findall(
                r'<span class="clip">([^<]+)</span><span class="count">(\d+)',
                (http.get(f"/{query}").text.split("<h3>Folders</h3>")[1:] or [""])[0].split("</section>")[0],
            )
        )
        for query in ("", "?state=failed", "?state=failed&folder=work", "?folder=work", "?state=failed&folder=home")
    }
    assert folders == {
        "": {"home": "1", "work": "3"}, "?state=failed": {"work": "1"}, "?state=failed&folder=work": {"in": "1"},
        "?folder=work": {"in": "2", "out": "1"}, "?state=failed&folder=home": {},
    }  # fmt: skip


@pytest.mark.parametrize("address", ["/", "/?view=table", "/?q=gnp", "/?folder=in", "/trash"])
def test_names_that_reverse_the_text_direction_are_escaped(app: App, http: TestClient, address: str) -> None:
    put(app, "in/\u202egnp.exe.md", "gnp")
    app.search_index.prepare()
    if address == "/trash":
        app.trash.put(["in/\u202egnp.exe.md"])
    page = get_page(http, address)
    assert "\\u202egnp.exe.md" in page.text and "\u202e" not in page.text
    assert not [a for _, a in page.elements if "\u202e" in (a.get("title") or "") + (a.get("aria-label") or "")]
    if address != "/trash":
        assert paths(page) == ["in/\u202egnp.exe.md"]  # scripts send back the name itself


def test_an_unknown_kind_is_reported_instead_of_missing_words(app: App, http: TestClient) -> None:
    put(app, "a.txt")
    page = get_page(http, "/?q=kind:nonsense")
    assert "Nonsense is no kind of file" in page.text and "No file has these words" not in page.text


def test_settings_show_the_release(http: TestClient) -> None:
    assert f"chyme {__version__}" in get_page(http, "/settings").text

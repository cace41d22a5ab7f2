"""The vault's page and its fragments, as the server writes them: what they show, to whom, and what never."""

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
    """A vault with a file, which nobody changes."""
    with open_app(tmp_path_factory.mktemp("looked-at"), Settings()) as opened:
        put(opened, "a.txt")
        with TestClient(create_vault_api(opened), base_url="http://localhost") as client:
            yield client


@pytest.fixture
def reader(app: App) -> Iterator[TestClient]:
    """Somebody who may only read, as the door says it."""
    api: FastAPI = create_vault_api(app)

    class ReadOnly(BaseHTTPMiddleware):
        async def dispatch(self, request: Request, call_next: RequestResponseEndpoint) -> Response:
            request.state.may_write = False
            return await call_next(request)

    api.add_middleware(ReadOnly)
    with TestClient(api, base_url="http://localhost") as client:
        yield client


class Seen(HTMLParser):
    """What a browser would make of a page: its elements, and its text."""

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


def seen(http: TestClient, address: str) -> Seen:
    answer = http.get(address)
    assert answer.status_code == 200, answer.text
    assert answer.headers["content-type"].startswith("text/html")
    return Seen(answer.text)


def paths(page: Seen) -> list[str | None]:
    return [attributes["data-path"] for _, attributes in page.elements if "data-path" in attributes]


def stand(app: App, path: str, state: str, reason: str | None = None, moved_at: str | None = None) -> None:
    """A document in this state."""
    app.database.write(
        lambda db: db.execute(
            "UPDATE documents SET state = ?, reason = ?, moved_at = coalesce(?, moved_at) "
            "WHERE file_id = (SELECT id FROM files WHERE path = ?)",
            (state, reason, moved_at, path),
        )
    )


def test_an_empty_vault_says_how_to_fill_it(http: TestClient) -> None:
    page = seen(http, "/")
    assert "This vault is empty" in page.text
    assert any("data-add" in button for button in page.all("button"))


@pytest.mark.parametrize("view", ["grid", "table"])
def test_names_titles_reasons_and_tags_are_text_whatever_stands_in_them(app: App, http: TestClient, view: str) -> None:
    name = f"in {EVIL.replace('/', '')}.txt"
    classify(app, put(app, name), f"Title {EVIL}", "2026-04-03", f"tag {EVIL}")
    stand(app, name, "failed", f"{name}: {EVIL}")
    page = seen(http, f"/?view={view}")
    assert f"Title {EVIL}" in page.text and paths(page) == [name]
    assert not [one for one in page.all("img") if one.get("src") == "x"]
    assert not [name for _, attributes in page.elements for name in attributes if name.startswith("on")]


def test_snippets_are_text_with_nothing_but_marks_in_it(app: App, http: TestClient) -> None:
    file = put(app, "note.txt", f"the harbour {EVIL} and the mill")
    complete(app, file, "search-keyword", None)
    app.search_index.prepare()
    page = seen(http, "/?q=" + quote(f"harbour {EVIL}"))
    assert not [one for one in page.all("img") if one.get("src") == "x"]
    asked = next(one for one in page.all("input") if one.get("id") == "search")
    assert asked["value"] == f"harbour {EVIL}"


@pytest.mark.parametrize(
    "address", ["/", "/?view=table", "/?q=letter", "/?q=nothing+like+it", "/?similar=in/letter.txt"]
)
def test_nothing_runs_or_is_styled_inside_the_page_and_nothing_comes_from_elsewhere(
    app: App, http: TestClient, address: str
) -> None:
    classify(app, put(app, "in/letter.txt"), "A letter", "2026-04-03", "letter")
    page = seen(http, address)
    assert all(one.get("src", "").startswith("/static/") for one in page.all("script"))  # type: ignore[union-attr]
    assert not page.all("style") and not [a for _, a in page.elements if "style" in a]
    for _, attributes in page.elements:
        for name in ("src", "href", "action"):
            assert not (attributes.get(name) or "").startswith(("http", "//", "javascript:")), attributes


def test_every_state_has_its_words_and_its_button(app: App, http: TestClient) -> None:
    for name in ("busy.txt", "still.txt", "ready.txt", "unsure.txt", "broken.txt"):
        put(app, name)
    stand(app, "busy.txt", "processing")
    stand(app, "still.txt", "processing", moved_at="2020-01-01T00:00:00.000000Z")
    stand(app, "ready.txt", "completed")
    stand(app, "unsure.txt", "needs-classification", "no title was found")
    stand(app, "broken.txt", "failed", "broken.txt: is torn; save it anew")
    cards = {path: http.get("/ui/cards", params={"path": path}).text for path in paths(seen(http, "/"))}
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
    stand(app, "letter.txt", "failed", "it is torn")
    page = seen(reader, address)
    writing = ("data-add", "data-retry", "data-select", "data-delete", "data-run")
    assert not [attributes for _, attributes in page.elements if any(name in attributes for name in writing)]
    assert not [one for one in page.all("dialog") if one.get("id") == "add"]
    assert not [one for one in page.all("script") if "adding.js" in (one.get("src") or "")]


def test_the_list_goes_on_where_it_ended_without_a_gap_or_a_repetition(app: App, http: TestClient) -> None:
    for number in range(SHELF + 5):
        put(app, f"{number:03}.txt")
    first = seen(http, "/?sort=name&dir=up")
    more = next(one for one in first.all("a") if "more" in (one.get("class") or ""))
    second = seen(http, str(more["data-src"]))
    assert paths(first) + paths(second) == [f"{number:03}.txt" for number in range(SHELF + 5)]
    assert not [one for one in second.all("a") if "more" in (one.get("class") or "")]
    assert paths(seen(http, "/" + str(more["href"]))) == paths(second)  # and without a script as well


def test_filters_hold_in_list_and_search_alike_and_can_be_taken_back(app: App, http: TestClient) -> None:
    classify(app, put(app, "work/letter.txt"), "A letter", "2024-04-03", "letter")
    classify(app, put(app, "home/note.md"), "A note", "2023-01-01", "note")
    for narrowed in ("?tag=letter", "?folder=work", "?year=2024"):
        page = seen(http, f"/{narrowed}")
        assert paths(page) == ["work/letter.txt"], narrowed
    page = seen(http, "/?tag=letter&year=2024")
    taken_back = {one["aria-label"]: one["href"] for one in page.all("a") if "Without" in (one.get("aria-label") or "")}
    assert taken_back == {"Without the tag letter": "/?year=2024", "Without the year 2024": "/?tag=letter"}


def test_a_folder_shows_its_crumbs_and_the_folders_inside(app: App, http: TestClient) -> None:
    put(app, "work/2024/letter.txt")
    page = seen(http, "/?folder=work")
    assert "/?folder=work%2F2024" in [one.get("href") for one in page.all("a")]
    assert "/" in [one.get("href") for one in page.all("a") if "data-go" not in one]
    assert any(one.get("aria-current") == "location" for one in page.all("span"))


def test_columns_tell_how_they_are_sorted_and_turn_round(app: App, http: TestClient) -> None:
    put(app, "a.txt")
    page = seen(http, "/?view=table&sort=title&dir=up")
    assert [one.get("aria-sort") for one in page.all("th") if "aria-sort" in one] == [
        "ascending",
        "none",
        "none",
        "none",
    ]
    assert any(one.get("href") == "/?sort=title&dir=down" for one in page.all("a"))


def test_cards_are_told_for_those_that_are_there(app: App, http: TestClient) -> None:
    put(app, "here.txt")
    answer = http.get("/ui/cards", params={"path": ["gone.txt", "here.txt"]})
    assert paths(Seen(answer.text)) == ["here.txt"]
    assert http.get("/ui/cards").status_code == 422
    assert http.get("/ui/cards", params={"path": ["x"] * 101}).status_code == 422


@pytest.mark.parametrize(
    "asked",
    ["kind=nonsense", "sort=nonsense", "year=20", "state=x", "dir=sideways", "view=upside-down", "person=%00",
     "folder=../..", "tag=%ff%fe", "q=%00", "q=" + "x" * 3000, "similar=nowhere.txt", "similar=%00", "folder=%2F%2F"],
)  # fmt: skip
@pytest.mark.parametrize("route", ["/", "/ui/vault", "/ui/shelf", "/ui/hits", "/ui/choices"])
def test_what_makes_no_sense_in_an_address_is_passed_over(looked_at: TestClient, route: str, asked: str) -> None:
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


def test_counts_come_by_themselves_where_a_page_did_not_wait_for_them(app: App, http: TestClient) -> None:
    classify(app, put(app, "letter.txt"), "A letter", None, "letter")
    assert any(one.get("href") == "/?tag=letter" for one in seen(http, "/ui/choices").all("a"))


def test_a_hit_leads_to_its_place_with_the_words_to_mark(app: App, http: TestClient) -> None:
    put(app, "note.txt", "the harbour lies behind the mill")
    app.search_index.prepare()
    page = seen(http, "/?q=note")
    link = next(one for one in page.all("a") if one.get("class") == "tile-link")
    assert (link["href"] or "").startswith("/file/note.txt?") and "q=note" in (link["href"] or "")


def test_a_word_that_stands_nowhere_is_told_with_the_way_back(app: App, http: TestClient) -> None:
    put(app, "contact.txt", "a contact of the harbour")
    app.search_index.prepare()
    page = seen(http, "/?q=harbour+contract")
    assert "Nothing has contract; showing contact." in page.text and paths(page) == ["contact.txt"]
    link = next(one for one in page.all("a") if one.get("class") == "tile-link")
    assert "q=harbour+contact" in (link["href"] or ""), "the file's page marks the word that it has"
    (back,) = [one["href"] or "" for one in page.all("a") if (one.get("href") or "").endswith("q=harbour+%2Bcontract")]
    typed = seen(http, back)
    assert "showing" not in typed.text
    told = http.get("/api/search", params={"q": "contract"}).json()
    assert (told["corrected"], told["suggested"]) == ({"contract": "contact"}, {})
    told = http.get("/api/search", params={"q": "contract", "as_typed": "true"}).json()
    assert (told["corrected"], told["hits"]) == ({}, [])


def test_a_word_that_may_be_meant_is_offered(app: App, http: TestClient) -> None:
    put(app, "contest.txt", "nothing")
    app.search_index.prepare()
    page = seen(http, "/?q=content")
    assert "Nothing has content. Did you mean contest?" in page.text and paths(page) == []
    assert any((one.get("href") or "").endswith("?q=contest") for one in page.all("a"))


def test_folders_are_counted_by_what_passes_the_filters(app: App, http: TestClient) -> None:
    for path in ("work/in/a.txt", "work/in/b.txt", "work/out/c.txt", "home/d.txt", "e.txt"):
        put(app, path)
        stand(app, path, "completed")
    stand(app, "work/in/a.txt", "failed", "torn")
    stand(app, "e.txt", "failed", "torn")
    folders = {
        asked: dict(
            re.findall(
                r'<span class="clip">([^<]+)</span><span class="count">(\d+)',
                (http.get(f"/{asked}").text.split("<h3>Folders</h3>")[1:] or [""])[0].split("</section>")[0],
            )
        )
        for asked in ("", "?state=failed", "?state=failed&folder=work", "?folder=work", "?state=failed&folder=home")
    }
    assert folders == {
        "": {"home": "1", "work": "3"}, "?state=failed": {"work": "1"}, "?state=failed&folder=work": {"in": "1"},
        "?folder=work": {"in": "2", "out": "1"}, "?state=failed&folder=home": {},
    }  # fmt: skip


@pytest.mark.parametrize("address", ["/", "/?view=table", "/?q=gnp", "/?folder=in", "/trash"])
def test_names_that_turn_the_line_around_are_spelt_out(app: App, http: TestClient, address: str) -> None:
    put(app, "in/\u202egnp.exe.md", "gnp")
    app.search_index.prepare()
    if address == "/trash":
        app.trash.put(["in/\u202egnp.exe.md"])
    page = seen(http, address)
    assert "\\u202egnp.exe.md" in page.text and "\u202e" not in page.text
    assert not [a for _, a in page.elements if "\u202e" in (a.get("title") or "") + (a.get("aria-label") or "")]
    if address != "/trash":
        assert paths(page) == ["in/\u202egnp.exe.md"]  # what scripts send back is the name itself


def test_a_kind_that_is_none_is_said_instead_of_other_words(app: App, http: TestClient) -> None:
    put(app, "a.txt")
    page = seen(http, "/?q=kind:nonsense")
    assert "Nonsense is no kind of file" in page.text and "No file has these words" not in page.text


def test_settings_tell_the_release(http: TestClient) -> None:
    assert f"chyme {__version__}" in seen(http, "/settings").text

"""Links in notes, by command and by HTTP: a shared link is a link; the links of a text are saved on request."""

from __future__ import annotations

import signal

import local_sites
import pytest
from local_web import LocalWeb
from running_chyme import RunningChyme, wait_until

pytestmark = pytest.mark.slow


def test_a_shared_link_is_fetched_and_found_by_page_and_remark(chyme: RunningChyme, web: LocalWeb) -> None:
    chyme.drop("shared.txt", f"A mill by the sea\n{local_sites.article(web)}\nfor the zwieback committee\n")
    chyme.drop("gone.txt", f"The lost quokka page\n{local_sites.status(web, 404, '/gone')}\n")
    chyme.run("digest")

    assert chyme.run("show", "shared.txt", "--json").json["file"]["kind"] == "url"
    for words in ("swifts", "zwieback committee"):
        assert chyme.run("search", words, "--json").json["hits"][0]["path"] == "shared.txt"
    gone = chyme.run("show", "gone.txt", "--json").json
    assert gone["document"]["title"] == "The lost quokka page"
    assert chyme.run("search", "quokka", "--json").json["hits"][0]["path"] == "gone.txt"
    assert chyme.run("show", "shared.txt", "--json").json["document"]["title"] == local_sites.TITLE
    assert chyme.run("verify").code == 0


def test_the_links_of_a_text_are_saved_once_by_command_and_by_http(chyme: RunningChyme, web: LocalWeb) -> None:
    first, second = local_sites.article(web), web.page("/second", "<h1>Second</h1>")
    chyme.drop("text.md", f"# Reading list\n\nOne is {first}, the other [second]({second}).\n")
    chyme.run("digest")

    assert chyme.run("show", "text.md", "--json").json["file"]["kind"] == "text"
    assert web.paths == []
    assert chyme.run("links", "text.md", "--json").json == {
        "links": [{"url": first, "path": None}, {"url": second, "path": None}]
    }
    added = chyme.run("links", "text.md", "--url", first, "--json").json["links"]
    assert [(link["url"], link["created"]) for link in added] == [(first, True)]
    chyme.run("digest")
    server = chyme.serve()
    try:
        page = server.http.get("/file/text.md").text
        assert "Keep the page it links to" in page
        links = server.http.post("/api/links/text.md").json()["links"]
        again = server.http.post("/api/links/text.md", json={"folder": "elsewhere"}).json()["links"]
        refused = server.http.post("/api/links/text.md", json={"urls": ["https://example.org/other"]})
        missing = server.http.get("/api/links/no.md")
        wait_until(lambda: "/second" in web.paths, seconds=60)
    finally:
        assert server.end(signal.SIGTERM) == 0

    assert [(link["url"], link["created"]) for link in links] == [(first, False), (second, True)]
    assert [link["path"] for link in again] == [link["path"] for link in links]
    assert not any(link["created"] for link in again)
    assert (refused.status_code, missing.status_code) == (400, 404)
    assert len(list(chyme.vault.glob("**/*.url"))) == 2


def test_the_setting_saves_links_of_texts_and_follows_no_links_of_the_pages(chyme: RunningChyme, web: LocalWeb) -> None:
    chyme.settings["CHYME_KEEP_LINKS"] = "true"
    pages = [
        web.page(f"/p/{number}", f'<h1>{number}</h1><a href="{web.url("/deeper")}">on</a>') for number in range(25)
    ]
    chyme.drop("text.txt", "Pages to read:\n" + "\n".join(pages) + "\n")
    server = chyme.serve()
    try:
        wait_until(lambda: len({path for path in web.paths if path.startswith("/p/")}) == 20, seconds=120)
        wait_until(lambda: not chyme.rows("SELECT 1 FROM digests WHERE settled = 0"), seconds=120)
    finally:
        assert server.end(signal.SIGTERM) == 0

    assert len(list((chyme.vault / "links").glob("*.url"))) == 20
    assert "/deeper" not in web.paths


def test_the_setting_saves_no_links_of_private_texts(chyme: RunningChyme, web: LocalWeb) -> None:
    chyme.settings["CHYME_KEEP_LINKS"] = "true"
    chyme.drop(".chymeprivate", "diary/\n")
    secret, other = web.page("/secret", "<h1>Secret</h1>"), web.page("/other", "<h1>Other</h1>")
    chyme.drop("diary/day.txt", f"What nobody should know of:\n{secret}\n{web.url('/secret/2')}\n")
    chyme.run("digest")
    chyme.drop("text.txt", f"Pages to read:\n{other}\n{web.url('/gone')}\n")
    server = chyme.serve()
    try:
        wait_until(lambda: "/other" in web.paths, seconds=120)
        wait_until(lambda: not chyme.rows("SELECT 1 FROM digests WHERE settled = 0"), seconds=120)
    finally:
        assert server.end(signal.SIGTERM) == 0

    assert len(list((chyme.vault / "links").glob("*.url"))) == 2
    assert not any(path.startswith("/secret") for path in web.paths)

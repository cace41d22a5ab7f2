"""The site that `make docs` builds: every page in the menu, every link valid, nothing from elsewhere."""

from __future__ import annotations

import re
from collections.abc import Iterator
from html.parser import HTMLParser
from pathlib import Path

import pytest

from bench.docs.site import DocsPage, build_site, heading_id

PROJECT = Path(__file__).parents[1]
MOST_README_LINES = 60
MOST_PICTURE_BYTES = 150_000


class References(HTMLParser):
    """The identifiers of a page, and what it links to or loads."""

    def __init__(self, html: str) -> None:
        super().__init__()
        self.identifiers: set[str] = set()
        self.links: list[str] = []
        self.loaded: list[str] = []
        self.tags: set[str] = set()
        self.feed(html)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        found = {name: value or "" for name, value in attrs}
        self.tags.add(tag)
        if "id" in found:
            self.identifiers.add(found["id"])
        if tag == "a":
            self.links.append(found["href"])
        elif "src" in found or "href" in found:
            self.loaded.append(found.get("src") or found["href"])


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, list[DocsPage]]:
    folder = tmp_path_factory.mktemp("site") / "docs"
    return folder, build_site(folder)


@pytest.fixture(scope="module")
def references(site: tuple[Path, list[DocsPage]]) -> dict[str, References]:
    folder, pages = site
    return {page.address: References((folder / page.address).read_text(encoding="utf-8")) for page in pages}


def broken_links(address: str, folder: Path, references: dict[str, References]) -> Iterator[str]:
    for link in references[address].links:
        path, _, fragment = link.partition("#")
        if "://" in link:
            continue
        target = (folder / address).parent / path if path else folder / address
        if not target.is_file():
            yield link
        elif fragment:
            name = target.resolve().relative_to(folder.resolve()).as_posix()
            if fragment not in references[name].identifiers:
                yield link


def test_every_link_of_the_site_leads_to_a_page_and_a_heading(
    site: tuple[Path, list[DocsPage]], references: dict[str, References]
) -> None:
    folder, _ = site
    broken = {address: list(broken_links(address, folder, references)) for address in references}
    assert {address: links for address, links in broken.items() if links} == {}


def test_every_page_is_in_the_menu_or_in_the_list_of_decisions(references: dict[str, References]) -> None:
    linked = set(references["index.html"].links)
    decisions = {f"decisions/{link}" for link in references["decisions/index.html"].links}
    assert set(references) <= linked | decisions


def test_the_site_loads_nothing_from_elsewhere_and_runs_no_script(
    site: tuple[Path, list[DocsPage]], references: dict[str, References]
) -> None:
    folder, _ = site
    for address, found in references.items():
        assert "script" not in found.tags
        for loaded in found.loaded:
            assert loaded == "data:," or ((folder / address).parent / loaded).is_file(), f"{address} loads {loaded}"
    assert "url(" not in (folder / "style.css").read_text(encoding="utf-8")


def test_a_heading_that_occurs_twice_has_two_identifiers() -> None:
    used: set[str] = set()
    assert [heading_id(text, used) for text in ("`chyme ai`, what it costs?", "Notes", "Notes")] == [
        "chyme-ai-what-it-costs",
        "notes",
        "notes-1",
    ]


def test_the_readme_fits_on_one_screen_and_names_its_two_commands() -> None:
    readme = (PROJECT / "README.md").read_text(encoding="utf-8")
    assert len(readme.splitlines()) <= MOST_README_LINES
    assert "make run" in readme
    assert "make test" in readme


def test_screenshots_are_small_and_each_is_used() -> None:
    pages = [PROJECT / "README.md", *(PROJECT / "docs").rglob("*.md")]
    shown = {name for page in pages for name in re.findall(r"screenshots/([\w-]+\.webp)", page.read_text())}
    pictures = {path.name: path.stat().st_size for path in (PROJECT / "docs/screenshots").iterdir()}
    assert shown == set(pictures)
    assert max(pictures.values()) <= MOST_PICTURE_BYTES

"""Build the documentation as a static site: `python -m bench.docs.site [FOLDER]`, by default build/docs.

Its pages are README.md, CHANGELOG.md, CONTRIBUTING.md and everything below docs/. Nothing is loaded from elsewhere.
"""

from __future__ import annotations

import itertools
import os
import re
import shutil
import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path, PurePosixPath

from jinja2 import Environment, FileSystemLoader, StrictUndefined
from markdown_it import MarkdownIt
from markdown_it.token import Token

PROJECT = Path(__file__).resolve().parents[2]
TEMPLATES = Path(__file__).parent
ASSETS = ("style.css",)
TOP_PAGES = ("README.md", "CONTRIBUTING.md", "CHANGELOG.md")
# The order of the menu. A page that is not named here comes under the last heading but one.
MENU = (
    ("Start", ("README.md", "docs/tutorial.md", "docs/features.md", "docs/alternatives.md")),
    ("Use", ("docs/page.md", "docs/search.md", "docs/understanding.md", "docs/people.md", "docs/web.md")),
    ("Run", ("docs/operating.md", "docs/models.md", "docs/security.md", "docs/scale.md", "docs/assistants.md")),
    ("Look up", ("docs/cli.md", "docs/http_api.md", "docs/settings.md", "docs/digests.md")),
    ("More", ()),
    ("Develop", ("docs/how_it_works.md", "docs/architecture.md", "docs/add_a_digester.md", "docs/benchmarks.md")),
)
DEVELOP_TOO = ("CONTRIBUTING.md", "CHANGELOG.md")
HOME = {"README.md": "Overview"}


@dataclass(frozen=True)
class DocsPage:
    """A page of the site: its Markdown file, its address below the root, and its HTML."""

    source: str
    address: str
    title: str
    body: str
    headings: tuple[tuple[str, str], ...]  # identifier and text of those of the second level


def page_address(source: str) -> str:
    """The address of the page made from a Markdown file: docs/cli.md becomes cli.html."""
    if source == "README.md":
        return "index.html"
    path = PurePosixPath(source)
    shorter = path.relative_to("docs") if path.parts[0] == "docs" else PurePosixPath(path.name.lower())
    return str(shorter.with_suffix(".html"))


def heading_id(text: str, used: set[str]) -> str:
    """The identifier that GitHub gives to a heading, so that links work in both places."""
    plain = re.sub(r"[^\w\- ]", "", text.strip().lower()).replace(" ", "-")
    number, identifier = 0, plain
    while identifier in used:
        number += 1
        identifier = f"{plain}-{number}"
    used.add(identifier)
    return identifier


def read_page(source: str, sources: frozenset[str]) -> DocsPage:
    """Convert one Markdown file; links to other pages lead to their addresses."""
    markdown = MarkdownIt("commonmark", {"html": False}).enable(["table", "strikethrough"])
    tokens = markdown.parse((PROJECT / source).read_text(encoding="utf-8"))
    used: set[str] = set()
    title, headings = "", []
    for heading, inline in itertools.pairwise(tokens):
        if heading.type != "heading_open":
            continue
        text = "".join(child.content for child in inline.children or [])
        identifier = heading_id(text, used)
        heading.attrSet("id", identifier)
        title = title or text
        if heading.tag == "h2":
            headings.append((identifier, text))
    for token in tokens:
        if token.type == "inline":
            token.children = list(_rewrite_links(token.children or [], source, sources))
    body = markdown.renderer.render(tokens, markdown.options, {})
    body = body.replace("<table>", '<div class="wide"><table>').replace("</table>", "</table></div>")
    return DocsPage(source, page_address(source), HOME.get(source, title), body, tuple(headings))


def _rewrite_links(tokens: Sequence[Token], source: str, sources: frozenset[str]) -> Iterator[Token]:
    """Links to files that are no pages become plain text: the site does not contain the code."""
    dropped: list[bool] = []
    for token in tokens:
        if token.type == "link_open":
            target = _rewritten(str(token.attrs["href"]), source, sources)
            dropped.append(target is None)
            if target is None:
                continue
            token.attrSet("href", target)
        elif token.type == "link_close":
            if dropped.pop():
                continue
        elif token.type == "image":
            picture = _in_project(str(token.attrs["src"]), source)
            token.attrSet("src", _relative(picture.removeprefix("docs/"), source))
            token.attrSet("loading", "lazy")
        yield token


def _rewritten(link: str, source: str, sources: frozenset[str]) -> str | None:
    if "://" in link or link.startswith(("#", "mailto:")):
        return link
    path, mark, fragment = link.partition("#")
    target = _in_project(path, source)
    if target == "docs/decisions":
        return _relative("decisions/index.html", source)
    return _relative(page_address(target), source) + mark + fragment if target in sources else None


def _in_project(path: str, source: str) -> str:
    return os.path.normpath(os.path.join(os.path.dirname(source), path))


def _relative(address: str, source: str) -> str:
    return os.path.relpath(address, os.path.dirname(page_address(source)) or ".")


def menu_of(pages: Sequence[DocsPage]) -> list[tuple[str, list[DocsPage]]]:
    """The menu: every page once, decisions by their list alone."""
    by_source = {page.source: page for page in pages}
    named = {source for _, listed in MENU for source in listed} | set(DEVELOP_TOO)
    menu = []
    for heading, listed in MENU:
        entries = [by_source[source] for source in listed if source in by_source]
        if heading == "More":
            entries = [page for page in pages if page.source not in named and "/decisions/" not in page.source]
        if heading == "Develop":
            entries += [by_source[source] for source in DEVELOP_TOO]
        if entries:
            menu.append((heading, entries))
    return menu


def decisions_list(pages: Sequence[DocsPage]) -> DocsPage:
    """The page that lists all decisions."""
    rows = [page for page in pages if "/decisions/" in page.source]
    links = "".join(f'<li><a href="{PurePosixPath(row.address).name}">{row.title}</a></li>' for row in rows)
    body = f'<h1 id="decisions">Decisions</h1><ul>{links}</ul>'
    return DocsPage("docs/decisions/index.md", "decisions/index.html", "Decisions", body, ())


def build_site(folder: Path) -> list[DocsPage]:
    """Write the whole site into a folder, whose earlier contents are removed."""
    found = (path.relative_to(PROJECT).as_posix() for path in sorted((PROJECT / "docs").rglob("*.md")))
    sources = (*TOP_PAGES, *found)
    pages = [read_page(source, frozenset(sources)) for source in sources]
    pages.append(decisions_list(pages))
    menu = menu_of(pages)
    menu[-1][1].append(pages[-1])
    templates = Environment(loader=FileSystemLoader(TEMPLATES), autoescape=True, undefined=StrictUndefined)
    template = templates.get_template("page.html.jinja")
    shutil.rmtree(folder, ignore_errors=True)
    for page in pages:
        path = folder / page.address
        path.parent.mkdir(parents=True, exist_ok=True)
        root = "../" * page.address.count("/")
        path.write_text(template.render(page=page, menu=menu, root=root), encoding="utf-8")
    for asset in ASSETS:
        shutil.copy(TEMPLATES / asset, folder)
    for picture in (PROJECT / "docs").rglob("*.webp"):
        target = folder / picture.relative_to(PROJECT / "docs")
        target.parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(picture, target)
    return pages


if __name__ == "__main__":
    out = Path(sys.argv[1]) if len(sys.argv) > 1 else PROJECT / "build/docs"
    count = len(build_site(out))
    print(f"{count} pages in {out}; begin with {out / 'index.html'}")

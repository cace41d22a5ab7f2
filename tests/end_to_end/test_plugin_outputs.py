"""A digester of a plug-in: its declaration is enough for its output to be searched, displayed and counted."""

from __future__ import annotations

import signal

import pytest
from plugin_package import install
from running_chyme import RunningChyme

pytestmark = pytest.mark.slow

LOGBOOK = '''
from chyme.digester import Makes, Title
from chyme.errors import UnreadableFile
from chyme.model import Form, Kind, Place


class Logbook(Digester):
    """Reads files that chyme itself does not know."""

    name = "logbook"
    label = "Logbook"
    description = "The text of a logbook."
    makes = Makes(Form.TEXT, title=Title.OWN, essential_for=frozenset({Kind.OTHER}))

    def can_digest(self, file: File) -> bool:
        return file.name.endswith(".logbook")

    def digest(self, source: Source) -> list[Output]:
        text = source.open().read().lstrip(b"\\0\\1").decode()
        if text.startswith("torn"):
            raise UnreadableFile(f"{source.file.name}: a page is torn out; scan it again")
        title, _, rest = text.partition("\\n")
        markdown = f"# {title}\\n\\n{rest}"
        return [Output(self.name, markdown, places=(Place(0, len(markdown), page=7),), title=title)]


class Lost(Digester):
    name = "lost"
    label = "Lost"
    description = "Names a family that there is not."
    runs = __import__("chyme.digester", fromlist=["Runs"]).Runs(family="nowhere")

    def can_digest(self, file: File) -> bool:
        return True

    def digest(self, source: Source) -> list[Output]:
        return [Output(self.name, None)]
'''


def test_the_output_of_a_plug_in_is_searched_displayed_and_counted_by_its_declaration(chyme: RunningChyme) -> None:
    install(chyme.site, "logbook_digester", LOGBOOK, {"logbook": "Logbook", "lost": "Lost"})
    chyme.drop(
        "voyage.logbook", b"\0\1The second voyage\nThe **barometer** fell, and we made for the harbour of Kinsale."
    )
    chyme.drop("torn.logbook", b"\0\1torn")
    assert chyme.run("digest").code == 1, "one page is torn out"

    [hit] = chyme.run("search", "barometer Kinsale", "--json").json["hits"]
    assert (hit["path"], hit["title"]) == ("voyage.logbook", "The second voyage")
    assert [(passage["source"], passage["place"]["page"]) for passage in hit["passages"]] == [("logbook", 7)]

    documents = dict(chyme.rows("SELECT path, state FROM documents JOIN files ON files.id = documents.file_id"))
    assert documents == {"voyage.logbook": "completed", "torn.logbook": "failed"}
    assert "nowhere" in chyme.run("doctor").out
    assert chyme.run("verify").code == 0

    server = chyme.serve()
    page = server.http.get("/ui/file/content", params={"path": "voyage.logbook", "digester": "logbook"})
    assert "<strong>barometer</strong>" in page.text, "rendered as Markdown"
    assert "page 7" in server.http.get("/ui/vault", params={"q": "barometer"}).text
    assert server.end(signal.SIGTERM) == 0

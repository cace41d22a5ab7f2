"""Parsers that crash, hang, use up memory, raise or return nonsense harm only their own file."""

from __future__ import annotations

import shutil

import pytest
from plugin_package import install
from running_chyme import SAMPLES, RunningChyme

pytestmark = pytest.mark.slow

WILD = '''
class Wild(Digester):
    """Behaves as the file's name says."""

    name = "wild"
    label = "Wild"
    description = "Misbehaves."

    def can_digest(self, file: File) -> bool:
        return file.name.startswith("wild")

    def time_limit(self, source: Source) -> float:
        return 2.0 if source.file.name == "wild hang.txt" else 60.0

    def digest(self, source: Source) -> list[Output]:
        match source.file.name:
            case "wild abort.txt":
                os.abort()
            case "wild exit.txt":
                os._exit(0)
            case "wild hang.txt":
                time.sleep(600)
            case "wild eat.txt":
                eaten = []
                while True:
                    eaten.append(bytearray(16 << 20))
            case "wild raise.txt":
                raise ValueError("secret words of the file")
            case "wild garbage.txt":
                return [Output("somebody-elses", "x")]
            case "wild nonsense.txt":
                return "not a list of outputs"
            case "wild shout.txt":
                os.write(1, b"x" * 10_000_000)
                return [Output(self.name, "loud")]
        return [Output(self.name, "tame")]
'''
EXPECTED = {
    "wild abort.txt": ("failed", "crash", 3, "SIGABRT"),
    "wild exit.txt": ("failed", "crash", 3, "ended by itself"),
    "wild hang.txt": ("failed", "timeout", 3, "longer than 2 s"),
    "wild eat.txt": ("failed", "crash", 3, "memory"),
    "wild raise.txt": ("failed", "crash", 3, "ValueError"),
    "wild garbage.txt": ("failed", "crash", 3, "wild"),
    "wild nonsense.txt": ("failed", "crash", 3, "wild"),
    "wild shout.txt": ("completed", None, 1, ""),
    "wild tame.txt": ("completed", None, 1, ""),
}


def test_misbehaving_parsers_fail_only_their_own_file(chyme: RunningChyme) -> None:
    install(chyme.site, "wild_parsers", WILD, {"wild": "Wild"})
    chyme.settings["CHYME_PARSER_MEMORY_MB"] = "1024"
    for name in EXPECTED:
        chyme.drop(name, f"the text of {name}")
    for number in range(20):
        chyme.drop(f"notes/note {number}.md", f"# Note {number}\n\nharbour {number}")
    documents = ["contract.pdf", "minutes.docx", "budget.xlsx", "story.epub", "page.html"]
    for name in documents:
        shutil.copy2(SAMPLES / name, chyme.vault)

    ended = chyme.run("digest")

    assert ended.code == 1, ended.err
    for name, (status, category, attempts, cause) in EXPECTED.items():
        [(became, why, tries, error)] = chyme.rows(
            "SELECT status, error_category, attempts, error FROM digests WHERE file_path = ? AND digester = 'wild'",
            name,
        )
        assert (became, why, tries) == (status, category, attempts), error
        if status == "failed":
            assert name in error and cause in error
            assert "secret" not in error and "Traceback" not in error
            assert f"{category}: {error}\n" in ended.err
    unhappy = chyme.rows(
        """
        SELECT file_path, digester, error FROM digests
         WHERE status <> 'completed' AND digester <> 'wild' AND error IS NOT 'not applicable'
        """
    )
    assert unhappy == []
    assert chyme.run("search", "the text of wild abort", "--json").json["total"] >= len(EXPECTED)

    chyme.drop("later/wild tame too.txt", "the next day")
    chyme.drop("later/after.md", "# After the storm")
    after = chyme.run("digest", "later")
    assert after.code == 0, after.err
    assert chyme.rows("SELECT count(*) FROM digests WHERE file_path LIKE 'later/%' AND status = 'completed'") == [(13,)]
    assert chyme.run("verify").code == 0


def test_a_plugin_that_cannot_be_loaded_is_reported_and_not_fatal(chyme: RunningChyme) -> None:
    install(chyme.site, "broken_plugin", "raise RuntimeError('half installed')", {"broken": "Broken"})
    chyme.drop("note.md", "# A note")

    ended = chyme.run("digest")
    doctor = chyme.run("doctor", "--json")

    assert ended.code == 0
    assert "plug-in broken" in ended.err and "half installed" in ended.err
    assert doctor.code == 1
    [lacking] = [engine for engine in doctor.json["engines"] if engine["capability"] == "plug-in"]
    assert "half installed" in lacking["how"] and lacking["ok"] is False
    assert chyme.rows("SELECT status FROM digests WHERE digester = 'search-keyword'") == [("completed",)]

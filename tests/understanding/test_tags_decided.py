"""A person's decisions about tags apply to every document, to the index and to the digests, and can be undone."""

from __future__ import annotations

import json
import random
import sqlite3
from collections.abc import Callable
from typing import Any

import pytest
from coordinating import Bench, ScriptedDigester

from chyme.application import consistency_checks
from chyme.core.store import documents, events
from chyme.core.vectors import normalise
from chyme.digester import Source
from chyme.errors import UsageError
from chyme.model import Again, Mode, Output, TagVector
from chyme.search.search import Search
from chyme.search.search_keyword import SearchKeyword
from chyme.search.sqlite_index import SqliteIndex
from chyme.search.tables import file_terms
from chyme.understanding.description import describe
from chyme.understanding.tables import edits, tags
from chyme.understanding.tags.digest import TagDigest, as_json
from chyme.understanding.tags.names import TAG_EMBEDDINGS, TAGS, TAGS_EMBEDDED_BEFORE, normalise_tag
from chyme.understanding.tags.rename_merge_ban import VaultTags

NOW = "2026-03-04T12:00:00.000000Z"
Open = Callable[..., Bench]


def meaning(tag: str) -> TagVector:
    generator = random.Random(tag)
    return TagVector(tag, "m", normalise(generator.gauss(0, 1) for _ in range(64)))


def propose(source: Source) -> list[Output]:
    """Each line of a file is a tag that it proposes."""
    with source.open() as stream:
        found = [tag for line in stream.read().decode().splitlines() if (tag := normalise_tag(line))]
    tagged = TagDigest(tuple(found), "generated", tuple(found))
    return [Output(TAGS, as_json(tagged), tag_vectors=tuple(map(meaning, found)))]


def embed(source: Source) -> list[Output]:
    output = source.output(TAGS)
    found = json.loads(output.content)["tags"] if output and output.content else []
    return [Output(TAG_EMBEDDINGS, str(len(found)), tag_vectors=tuple(map(meaning, found)))]


class Tagging:
    """A vault with tags, and short ways to query them."""

    def __init__(self, open_bench: Open) -> None:
        self.meaning = ScriptedDigester(TAG_EMBEDDINGS, embed, (TAGS,), reusable=False)
        self.bench = open_bench(ScriptedDigester(TAGS, propose, reusable=False), self.meaning, SearchKeyword())
        self.tags = VaultTags(self.bench.database, self.bench.clock, file_terms.rewrite)
        self.index = Search(
            self.bench.database.read, SqliteIndex(self.bench.database.read), form_of=self.bench.rules.form_of
        )

    @property
    def db(self) -> sqlite3.Connection:
        return self.bench.db

    def drop(self, name: str, *proposed: str) -> int:
        file_id = self.bench.drop(name, "\n".join(proposed))
        self.bench.process(file_id)
        return file_id

    def edit(self, file_id: int, value: dict[str, list[str]]) -> None:
        def write(db: sqlite3.Connection) -> None:
            for name in (*value.get("set", ()), *value.get("added", ())):
                tags.ensure(db, name, NOW)
            edits.put(db, file_id, "tags", value, NOW)
            describe(db, file_id, NOW, file_terms.rewrite)

        self.bench.database.write(write)

    def tags_of(self, file_id: int) -> list[str]:
        """The tags that a person sees."""
        row = documents.of_file(self.db, file_id)
        assert row is not None
        return list(row.tags)

    def digest_of(self, file_id: int) -> Any:
        """The content of the digest of tags."""
        return json.loads(self.bench.content(file_id, TAGS) or "null")

    def found(self, tag: str) -> list[str]:
        """The files with this word in their name, title or tags; their texts contain it anyway."""
        return sorted(hit.path for hit in self.index.search(tag).hits if "name" in hit.why)

    def problems(self) -> list[str]:
        return self.bench.database.write(consistency_checks.find_problems)

    def state(self) -> object:
        """Everything a decision may change."""
        queries = (
            "SELECT name, model, code FROM tags ORDER BY name",
            "SELECT name, becomes FROM tag_rules ORDER BY name",
            "SELECT g.file_id, t.name, g.ordinal FROM file_tags g JOIN tags t ON t.id = g.tag_id ORDER BY 1, 3",
            "SELECT file_id, field, value FROM edits ORDER BY 1, 2",
            "SELECT file_id, tags FROM documents ORDER BY 1",
            "SELECT file_id, tags FROM file_terms ORDER BY 1",
            "SELECT file_id, content FROM digests WHERE digester = 'tags' ORDER BY 1",
        )
        return [self.db.execute(query).fetchall() for query in queries]


@pytest.fixture
def vault(bench: Open) -> Tagging:
    return Tagging(bench)


def test_tags_are_listed_with_the_files_that_have_them(vault: Tagging) -> None:
    first = vault.drop("one.txt", "rent", "flat")
    second = vault.drop("two.txt", "rent")
    vault.edit(first, {"added": ["garden"], "removed": ["flat"]})
    vault.edit(second, {"set": ["garden", "rent"]})
    listed = {tag.name: (tag.files, tag.by_machine, tag.by_person) for tag in vault.tags.list_all().tags}

    assert listed == {"garden": (2, 0, 2), "rent": (2, 2, 1)}  # no file has “flat”, whatever the machine proposed
    rent = vault.tags.show("RENTS")
    assert [(file.path, file.by_person) for file in rent.files] == [("one.txt", False), ("two.txt", True)]
    assert vault.tags.show("flat").files == ()


def test_a_new_name_is_shown_and_found_everywhere_at_once_and_for_ever(vault: Tagging) -> None:
    first, second = vault.drop("one.txt", "lease", "flat"), vault.drop("two.txt", "flat", "lease")
    done = vault.tags.rename("Lease", "Rental  Contract")

    assert (done.what, done.files) == ("renamed “lease” to “rental contract”", 2)
    assert done.tag is not None
    assert (done.tag.name, done.tag.files) == ("rental contract", 2)
    assert (vault.tags_of(first), vault.tags_of(second)) == (["rental contract", "flat"], ["flat", "rental contract"])
    assert vault.digest_of(first)["reused"] == {"lease": "rental contract"}
    assert vault.found("rental") == ["one.txt", "two.txt"]
    third = vault.drop("three.txt", "leases")
    assert vault.tags_of(third) == ["rental contract"]
    assert vault.tags.list_all().becomes == {"lease": "rental contract"}
    assert vault.tags.show("rental contract").replaces == ("lease",)
    vault.bench.process(first)
    assert vault.problems() == []


def test_the_meaning_of_a_new_name_is_computed_again(vault: Tagging) -> None:
    first = vault.drop("one.txt", "lease")
    vault.tags.rename("lease", "contract")
    assert tags.meaning_of(vault.db, "contract") is None
    assert vault.bench.digest(first, TAG_EMBEDDINGS)[0] == "todo"
    vault.bench.process(first)

    assert tags.meaning_of(vault.db, "contract") is not None
    assert vault.bench.digest(first, TAG_EMBEDDINGS)[0] == "completed"


def test_a_name_that_is_taken_banned_or_invalid_is_refused(vault: Tagging) -> None:
    vault.drop("one.txt", "lease", "contract", "page")
    vault.tags.ban("page")
    before = vault.state()
    for new, why in (
        ("contract", "chyme tags merge 'contract' 'lease'"),
        ("page", "“page” is banned; say first: chyme tags unban 'page'"),
        ("LEASE", "already has that name"),
        ("a, b", "is no tag"),
    ):
        with pytest.raises(UsageError, match=why):
            vault.tags.rename("lease", new)
    with pytest.raises(UsageError, match="there is no tag “leaze”; is it lease"):
        vault.tags.rename("leaze", "x")
    assert vault.state() == before


def test_the_spelling_of_a_tag_may_be_changed(vault: Tagging) -> None:
    first = vault.drop("one.txt", "invoices")
    vault.tags.rename("invoices", "invoice")
    assert vault.tags_of(first) == ["invoice"]
    assert vault.tags_of(vault.drop("two.txt", "invoices")) == ["invoice"]
    vault.tags.rename("invoice", "invoices")  # and back
    assert vault.tags.list_all().becomes == {"invoice": "invoices"}
    assert vault.tags_of(vault.drop("three.txt", "invoice")) == ["invoices"]


def test_merging_leaves_one_tag_in_the_place_of_the_first(vault: Tagging) -> None:
    first, second = vault.drop("one.txt", "bill", "rent", "receipt"), vault.drop("two.txt", "invoice", "rent", "bill")
    done = vault.tags.merge("invoice", ["bill", "receipt"])

    assert done.what == "merged “bill” and “receipt” into “invoice”"
    assert (vault.tags_of(first), vault.tags_of(second)) == (["invoice", "rent"], ["invoice", "rent"])
    assert vault.tags_of(vault.drop("three.txt", "receipts", "bills")) == ["invoice"]
    assert [tag.name for tag in vault.tags.list_all().tags] == ["invoice", "rent"]
    for others in ([], ["invoice"]):
        with pytest.raises(UsageError, match="can only be merged with other tags"):
            vault.tags.merge("invoice", others)
    with pytest.raises(UsageError, match="“bill” became “invoice”"):
        vault.tags.show("bill")


def test_tags_given_by_hand_are_renamed_too(vault: Tagging) -> None:
    added, set_ = vault.drop("added.txt", "rent"), vault.drop("set.txt", "bill")
    vault.edit(added, {"added": ["bill", "invoice"], "removed": []})
    vault.edit(set_, {"set": ["bill", "garden"]})
    vault.tags.merge("invoice", ["bill"])

    assert edits.of_file(vault.db, added) == {"tags": {"added": ["invoice"], "removed": []}}
    assert edits.of_file(vault.db, set_) == {"tags": {"set": ["invoice", "garden"]}}
    assert (vault.tags_of(added), vault.tags_of(set_)) == (["rent", "invoice"], ["invoice", "garden"])
    assert tags.names(vault.db) == ["garden", "invoice", "rent"]


def test_a_tag_removed_by_hand_stays_removed_and_the_others_stay(vault: Tagging) -> None:
    without_invoice, with_invoice = vault.drop("gone.txt", "bill", "rent"), vault.drop("kept.txt", "bill", "invoice")
    for file_id in (without_invoice, with_invoice):
        vault.edit(file_id, {"added": [], "removed": ["bill"]})
    vault.tags.merge("invoice", ["bill"])

    assert (vault.tags_of(without_invoice), vault.tags_of(with_invoice)) == (["rent"], ["invoice"])
    assert edits.of_file(vault.db, with_invoice) == {}
    vault.tags.undo()
    assert edits.of_file(vault.db, with_invoice) == {"tags": {"added": [], "removed": ["bill"]}}


def test_a_banned_tag_is_given_only_by_hand(vault: Tagging) -> None:
    first, second = vault.drop("one.txt", "page", "rent"), vault.drop("two.txt", "page")
    vault.edit(second, {"added": ["page"], "removed": []})
    done = vault.tags.ban("page")

    assert done.what == "banned “page”"
    assert (vault.tags_of(first), vault.tags_of(second)) == (["rent"], ["page"])
    assert vault.digest_of(first)["tags"] == ["rent"]
    assert vault.tags_of(vault.drop("three.txt", "pages", "flat")) == ["flat"]
    assert vault.tags.list_all().banned == ("page",)
    with pytest.raises(UsageError, match="is banned already"):
        vault.tags.ban("page")


def test_a_tag_of_no_file_disappears_when_it_is_banned(vault: Tagging) -> None:
    vault.bench.database.write(lambda db: tags.ensure(db, "page", NOW))
    vault.tags.ban("page")
    assert tags.names(vault.db) == []


def test_an_unbanned_tag_comes_back_when_files_are_digested_again(vault: Tagging) -> None:
    first = vault.drop("one.txt", "page", "rent")
    vault.tags.ban("page")
    with pytest.raises(UsageError, match="“page” is banned; see: chyme tags unban"):
        vault.tags.show("page")
    assert vault.tags.unban("Pages").what == "unbanned “page”"
    assert vault.tags_of(first) == ["rent"]
    vault.bench.process(first, Again(Mode.RESET))

    assert vault.tags_of(first) == ["page", "rent"]
    with pytest.raises(UsageError, match="“rent” is not banned"):
        vault.tags.unban("rent")


@pytest.mark.parametrize("decision", ["rename", "merge", "ban", "unban"])
def test_every_decision_can_be_undone_to_the_letter(vault: Tagging, decision: str) -> None:
    first = vault.drop("one.txt", "bill", "rent", "receipt", "page")
    second = vault.drop("two.txt", "invoice", "bill")
    vault.edit(first, {"added": ["garden"], "removed": ["rent"]})
    vault.edit(second, {"set": ["bill", "garden", "receipt"]})
    vault.tags.ban("page")
    before = vault.state()
    done = {
        "rename": lambda: vault.tags.rename("bill", "payment"),
        "merge": lambda: vault.tags.merge("invoice", ["bill", "receipt", "garden"]),
        "ban": lambda: vault.tags.ban("receipt"),
        "unban": lambda: vault.tags.unban("page"),
    }[decision]()
    assert vault.state() != before

    assert vault.tags.undo().what == done.what
    assert vault.state() == before
    for file_id in (first, second):
        vault.bench.process(file_id)
    assert vault.state() == before
    assert vault.problems() == []
    vault.tags.undo()
    assert vault.tags_of(first) == ["bill", "receipt", "page", "garden"]
    with pytest.raises(UsageError, match="there is nothing to undo"):
        vault.tags.undo()


def test_undoing_a_decision_also_changes_files_tagged_since(vault: Tagging) -> None:
    vault.drop("one.txt", "bill", "rent")
    vault.tags.rename("bill", "invoice")
    new = vault.drop("new.txt", "flat", "bill", "rent")
    own = vault.drop("own.txt", "invoice")
    assert vault.tags_of(new) == ["flat", "invoice", "rent"]
    vault.tags.undo()

    assert (vault.tags_of(new), vault.tags_of(own)) == (["flat", "bill", "rent"], ["invoice"])
    assert vault.found("invoice") == ["own.txt"]


def test_a_restored_ban_removes_the_tag_again(vault: Tagging) -> None:
    vault.drop("one.txt", "page", "rent")
    vault.tags.ban("page")
    vault.tags.unban("page")
    later = vault.drop("later.txt", "page")
    vault.tags.undo()
    assert vault.tags_of(later) == []


def test_a_decision_that_was_overtaken_cannot_be_undone(vault: Tagging) -> None:
    vault.drop("one.txt", "bill", "rent")
    vault.tags.ban("bill")
    vault.bench.database.write(lambda db: tags.put_rule(db, "bill", "rent", NOW))
    before = vault.state()
    with pytest.raises(UsageError, match="cannot be undone any more"):
        vault.tags.undo()
    assert vault.state() == before


def test_a_purged_file_does_not_prevent_undoing(vault: Tagging) -> None:
    first, second = vault.drop("one.txt", "bill"), vault.drop("two.txt", "bill")
    vault.tags.rename("bill", "invoice")
    vault.bench.database.write(lambda db: db.execute("DELETE FROM files WHERE id = ?", (first,)).rowcount)
    vault.tags.undo()
    assert vault.tags_of(second) == ["bill"]


def test_a_decision_is_recorded_in_the_events(vault: Tagging) -> None:
    vault.drop("one.txt", "bill")
    last = events.list_after(vault.db, 0)[-1][0]
    vault.tags.rename("bill", "invoice")
    recorded = [(type_, path, detail) for _, _, type_, path, _, _, detail in events.list_after(vault.db, last)]

    assert ("vault", None, "renamed “bill” to “invoice”") in recorded
    assert ("document", "one.txt", "described") in recorded


def test_similar_tags_are_listed_with_the_more_common_tag_first(vault: Tagging) -> None:
    vault.drop("one.txt", "car", "rent")
    vault.drop("two.txt", "car")

    def add_similar_tags(db: sqlite3.Connection) -> None:
        vector = meaning("car").vector
        tags.add(db, "automobile", TagVector("automobile", "m", (*vector[:-1], vector[-1] + 0.3)), NOW)
        tags.add(db, "rents", None, NOW)

    vault.bench.database.write(add_similar_tags)
    found = [(pair.one, pair.other, pair.files) for pair in vault.tags.similar()]
    assert found == [("rent", "rents", (1, 0)), ("car", "automobile", (2, 0))]


def test_a_tag_that_only_a_vanished_file_has_by_hand_is_still_listed(vault: Tagging) -> None:
    first = vault.drop("one.txt", "bill")
    vault.edit(first, {"added": ["garden"], "removed": []})
    (vault.bench.root / "one.txt").unlink()
    vault.drop("two.txt", "rent")
    assert [(tag.name, tag.files) for tag in vault.tags.list_all().tags] == [("rent", 1), ("garden", 0)]


def test_a_tag_that_was_renamed_twice_goes_by_its_last_name(vault: Tagging) -> None:
    first = vault.drop("one.txt", "invoice")
    vault.tags.rename("invoice", "bill")
    vault.tags.rename("bill", "rechnung")
    vault.edit(first, {"added": ["invoice"], "removed": []})  # as an older version stored it

    assert vault.tags_of(first) == ["rechnung"]
    assert [tag.name for tag in vault.tags.list_all().tags] == ["rechnung"]
    for act in (vault.tags.show, vault.tags.ban, lambda tag: vault.tags.rename(tag, "x")):
        with pytest.raises(UsageError, match="“invoice” became “rechnung”"):
            act("invoice")
    assert vault.tags.list_all().becomes == {"bill": "rechnung", "invoice": "bill"}
    assert vault.tags.show("rechnung").replaces == ("bill", "invoice")


def test_a_ban_is_not_lost_by_a_new_name(vault: Tagging) -> None:
    first, second = vault.drop("one.txt", "page"), vault.drop("two.txt", "rent")
    vault.edit(first, {"added": ["page"], "removed": []})
    vault.tags.ban("page")
    before = vault.state()
    with pytest.raises(UsageError, match="“page” is banned; say first: chyme tags unban 'page'"):
        vault.tags.rename("page", "seite")
    with pytest.raises(UsageError, match="“page” is banned; say first: chyme tags unban 'page'"):
        vault.tags.merge("rent", ["page"])
    assert vault.state() == before
    assert (vault.tags_of(first), vault.tags_of(second)) == (["page"], ["rent"])


def test_the_error_about_a_renamed_tag_says_that_its_new_name_is_banned(vault: Tagging) -> None:
    vault.drop("one.txt", "invoice")
    vault.tags.rename("invoice", "bill")
    vault.tags.ban("bill")
    with pytest.raises(UsageError, match="“invoice” became “bill”, which is banned; see: chyme tags unban"):
        vault.tags.show("invoice")


def test_a_word_that_is_no_tag_yet_can_be_banned(vault: Tagging) -> None:
    assert vault.tags.ban("Page").what == "banned “page”"
    assert vault.tags_of(vault.drop("one.txt", "pages", "rent")) == ["rent"]
    for spelt in ("page", "pages"):
        with pytest.raises(UsageError, match="“page” is banned already"):
            vault.tags.ban(spelt)
    vault.tags.undo()
    assert vault.tags.list_all().banned == ()


def test_a_new_word_is_given_by_renaming_not_by_merging(vault: Tagging) -> None:
    vault.drop("one.txt", "bill", "rent")
    for into, others in (("bill", ["payment"]), ("payment", ["bill", "rent"])):
        with pytest.raises(UsageError, match=r"no tag “payment”.* new name .*: chyme tags rename 'bill' 'payment'"):
            vault.tags.merge(into, others)


def test_a_vanished_file_does_not_count(vault: Tagging) -> None:
    vault.drop("one.txt", "bill")
    (vault.bench.root / "one.txt").unlink()
    vault.drop("two.txt", "bill")
    assert [(tag.name, tag.files, tag.by_machine) for tag in vault.tags.list_all().tags] == [("bill", 1, 1)]


def test_the_digester_of_vectors_is_not_asked_for_those_that_tags_brought_with_them(bench: Open) -> None:
    asked: list[Any] = []

    def remember(source: Source) -> list[Output]:
        before = source.output(TAGS_EMBEDDED_BEFORE)
        asked.append(json.loads(before.content or "null") if before else None)
        return [Output(TAG_EMBEDDINGS, "{}")]

    embedding = ScriptedDigester(TAG_EMBEDDINGS, remember, (TAGS,), reusable=False)
    opened = bench(ScriptedDigester(TAGS, propose, reusable=False), embedding)
    for name, text in (("a.txt", "rent\nlease"), ("b.txt", "")):
        opened.process(opened.drop(name, text))

    assert asked == [{"rent": "m", "lease": "m"}, None]

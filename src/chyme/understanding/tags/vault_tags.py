"""What persons decide about the tags of a vault. Their decisions are final, and can be undone."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import datetime
from sqlite3 import Connection

from chyme.core.pipeline.recorders import RefreshNames
from chyme.core.store.sqlite.database import Database
from chyme.errors import UsageError
from chyme.model import iso
from chyme.understanding.tables import tags
from chyme.understanding.tables.tags import Holder, TagCount
from chyme.understanding.tags.decision import Decision
from chyme.understanding.tags.digest import Rules
from chyme.understanding.tags.lookup import current_names, match_spelling
from chyme.understanding.tags.names import comparison_key, parse_typed_tag, unknown_tag_message
from chyme.understanding.tags.similarity import Pair, close_pairs

MOST_COMPARED = 3000  # tags among which pairs are looked for: their number grows with the square
MOST_PAIRS = 100

Decide = Callable[[Connection, Decision], tuple[str, str]]  # what was decided, and which tag it was about


class UnknownTag(UsageError):
    """There is no tag of that name; and there was none that became another."""


@dataclass(frozen=True, slots=True)
class Listing:
    """Every tag that a file has, and what was decided about tags."""

    tags: tuple[TagCount, ...]
    banned: tuple[str, ...]
    becomes: dict[str, str]  # renamed or merged: tag → what it becomes


@dataclass(frozen=True, slots=True)
class TagDetails:
    """A tag with the files that have it."""

    tag: TagCount
    files: tuple[Holder, ...]
    replaces: tuple[str, ...]  # tags that become this one


@dataclass(frozen=True, slots=True)
class Similar:
    """Two tags that may be one; `one` is on more files."""

    one: str
    other: str
    likeness: float  # 1: only spelt differently
    files: tuple[int, int]


@dataclass(frozen=True, slots=True)
class DecisionResult:
    """What was decided, in words; the tag it was about, if it is still there; and how many files it touched."""

    what: str
    tag: TagCount | None = None
    files: int = 0


class VaultTags:
    """The tags of one vault. Each decision is one transaction: who reads finds documents, digests and index in line.

    A tag is given as it is written, in capitals or not; its plural or another spelling will do as well.
    """

    def __init__(self, database: Database, clock: Callable[[], datetime], refresh_names: RefreshNames) -> None:
        self._database = database
        self._clock = clock
        self._refresh_names = refresh_names

    def list_all(self) -> Listing:
        """Those on most files first. What persons took from every file that had it is left out."""
        with self._database.snapshot() as db:
            rules = tags.rules(db)
            kept = tags.list_manual(db).difference(current_names(rules))
            return Listing(
                tuple(one for one in tags.list_tags(db) if one.files or one.name in kept),
                tuple(sorted(name for name, becomes in rules.items() if becomes is None)),
                {name: becomes for name, becomes in sorted(rules.items()) if becomes is not None},
            )

    def show(self, tag: str) -> TagDetails:
        """One tag, with the files on disk that have it."""
        with self._database.snapshot() as db:
            name = _meant(db, tag)
            replaces = sorted(old for old, becomes in current_names(tags.rules(db)).items() if becomes == name)
            return TagDetails(_one(db, name) or TagCount(name, 0, 0, 0), tuple(tags.holders(db, name)), tuple(replaces))

    def rename(self, old: str, new: str) -> DecisionResult:
        """Call a tag otherwise, now and whenever it is proposed."""
        wanted = parse_typed_tag(new)

        def decide(db: Connection, decision: Decision) -> tuple[str, str]:
            name = _undecided(db, _meant(db, old))
            if name == wanted:
                raise UsageError(f"“{name}” is called so already")
            if wanted in tags.in_use(db):
                raise UsageError(f"there is a tag “{wanted}” already; say: chyme tags merge '{wanted}' '{name}'")
            _allowed(db, wanted)
            _move(decision, [name], wanted)
            return f"renamed “{name}” to “{wanted}”", wanted

        return self._decide(decide)

    def merge(self, into: str, others: Sequence[str]) -> DecisionResult:
        """These tags all mean the first one, now and whenever they are proposed."""

        def decide(db: Connection, decision: Decision) -> tuple[str, str]:
            try:
                name = _meant(db, into)
                rest = list(dict.fromkeys(_undecided(db, _meant(db, other)) for other in others))
            except UnknownTag as error:
                raise _only_by_renaming(db, error, (into, *others)) from None
            if not rest or name in rest:
                raise UsageError(f"“{name}” can only be merged with other tags")
            _allowed(db, name)
            _move(decision, rest, name)
            return f"merged {' and '.join(f'“{other}”' for other in rest)} into “{name}”", name

        return self._decide(decide)

    def ban(self, tag: str) -> DecisionResult:
        """No machine gives this tag to any file, also one that no file has yet. What a person gave by hand stays."""

        def decide(db: Connection, decision: Decision) -> tuple[str, str]:
            name = _to_ban(db, parse_typed_tag(tag))
            decision.remember_files([name])
            decision.set_rule(name, None)
            decision.remove_tag(name)
            return f"banned “{name}”", name

        return self._decide(decide)

    def unban(self, tag: str) -> DecisionResult:
        """The tag may be given again; files get it when they are digested again."""
        name = parse_typed_tag(tag)

        def decide(db: Connection, decision: Decision) -> tuple[str, str]:
            banned = _banned(tags.rules(db))
            found = match_spelling(name, banned)[:1]
            if not found:
                known = f"; banned are {', '.join(sorted(banned))}" if banned else ""
                raise UsageError(f"“{name}” is not banned{known}")
            decision.set_rule(found[0], False)
            return f"unbanned “{found[0]}”", found[0]

        return self._decide(decide)

    def similar(self) -> list[Similar]:
        """Tags that may be one: spelt alike, or close in meaning; the closest first."""
        with self._database.snapshot() as db:
            counts = {one.name: one.files for one in tags.list_tags(db)}
            pairs = [*_spelt_alike(counts), *close_pairs(tags.meanings(db, MOST_COMPARED))]
        found: dict[frozenset[str], Similar] = {}
        for pair in pairs:
            one, other = sorted((pair.one, pair.other), key=lambda name: (-counts.get(name, 0), len(name), name))
            files = counts.get(one, 0), counts.get(other, 0)
            found.setdefault(frozenset((one, other)), Similar(one, other, round(pair.likeness, 3), files))
        return list(found.values())[:MOST_PAIRS]

    def undo(self) -> DecisionResult:
        """Take the last decision back; once more: the one before it. What was tagged since goes along."""
        now = iso(self._clock())

        def take_back(db: Connection) -> tuple[str, int | None]:
            change = tags.last_change(db)
            if change is None:
                raise UsageError("there is nothing to undo")
            tags.forget_change(db, change.id)
            decision = Decision(db, now, self._refresh_names)
            done = decision.revert(change.undo)
            if done:
                decision.publish(f"undone: {change.what}")
            return change.what, decision.files if done else None

        what, files = self._database.write(take_back)
        if files is None:
            raise UsageError(
                f"“{what}” cannot be undone any more: something else was decided about these tags since; "
                "undo again for the decision before it"
            )
        return DecisionResult(what, None, files)

    def _decide(self, decide: Decide) -> DecisionResult:
        now = iso(self._clock())

        def write(db: Connection) -> DecisionResult:
            decision = Decision(db, now, self._refresh_names)
            what, name = decide(db, decision)
            decision.publish(what)
            tags.record_change(db, what, decision.undo_data(), now)
            return DecisionResult(what, _one(db, name), decision.files)

        return self._database.write(write)


def filter_tags(
    tags: Sequence[TagCount], *, prefix: str = "", contains: str = "", by_name: bool = False
) -> list[TagCount]:
    """Those that begin with some letters, and hold some; in the order given, or by name."""
    begins, within = prefix.strip().lower(), contains.strip().lower()
    fitting = [one for one in tags if one.name.startswith(begins) and within in one.name]
    return sorted(fitting, key=lambda one: one.name) if by_name else fitting


def as_json(tag: TagCount) -> dict[str, object]:
    """The shape that the command line and HTTP promise."""
    return {"name": tag.name, "files": tag.files, "by_machine": tag.by_machine, "by_person": tag.by_person}


def _meant(db: Connection, asked: str) -> str:
    """The tag somebody means, or the sentence that says which there are."""
    name, known, rules = parse_typed_tag(asked), tags.in_use(db), tags.rules(db)
    now = current_names(rules).get(name, name)
    if comparison_key(now) != comparison_key(name):
        raise UsageError(f"“{name}” became “{now}”")
    found = [now] if now != name else match_spelling(name, known)
    if len(found) == 1:
        return found[0]
    raise UsageError(_ruled_out(name, rules)) if name in rules else UnknownTag(unknown_tag_message(name, known))


def _ruled_out(name: str, rules: Rules) -> str:
    """What is to be said of a tag that is banned, or became one that is."""
    last = name
    while becomes := rules.get(last):
        last = becomes
    return f"“{name}” {'is' if last == name else f'became “{last}”, which is'} banned; see: chyme tags unban '{last}'"


def _undecided(db: Connection, name: str) -> str:
    """The tag, when nothing was decided about it that would be lost by deciding something else."""
    _allowed(db, name)
    if name in (rules := tags.rules(db)):
        raise UsageError(_ruled_out(name, rules))
    return name


def _to_ban(db: Connection, name: str) -> str:
    """The tag that somebody means; the word itself, when it is none yet."""
    known, banned = tags.in_use(db), match_spelling(name, _banned(tags.rules(db)))
    if name in banned or (banned and name not in known):
        raise UsageError(f"“{banned[0]}” is banned already")
    try:
        return _meant(db, name)
    except UnknownTag:
        if match_spelling(name, known):  # several, and who knows which
            raise
        return name


def _banned(rules: Rules) -> list[str]:
    return [name for name, becomes in rules.items() if becomes is None]


def _only_by_renaming(db: Connection, error: UnknownTag, asked: Sequence[str]) -> UsageError:
    """Who merges with a word that is no tag wants to call a tag so."""
    known = tags.in_use(db)
    old = next((one for one in asked if match_spelling(parse_typed_tag(one), known)), None)
    new = next((one for one in asked if not match_spelling(parse_typed_tag(one), known)), None)
    if old is None or new is None:
        return error
    told = str(error).rstrip(".")
    end = "" if told.endswith("?") else "."
    return UsageError(
        f"{told}{end} A new name is given by: chyme tags rename '{parse_typed_tag(old)}' '{parse_typed_tag(new)}'"
    )


def _allowed(db: Connection, name: str) -> None:
    if tags.rules(db).get(name, name) is None:
        raise UsageError(f"“{name}” is banned; say first: chyme tags unban '{name}'")


def _move(decision: Decision, names: Sequence[str], into: str) -> None:
    decision.remember_files([*names, into])
    decision.set_rule(into, False)  # it is wanted, whatever it became before
    for name in names:
        decision.set_rule(name, into)
    decision.replace_tags(names, into)


def _one(db: Connection, name: str) -> TagCount | None:
    return next((one for one in tags.list_tags(db) if one.name == name), None)


def _spelt_alike(names: Sequence[str] | dict[str, int]) -> list[Pair]:
    first: dict[str, str] = {}
    found = []
    for name in names:
        one = first.setdefault(comparison_key(name), name)
        if one != name:
            found.append(Pair(one, name, 1.0))
    return found

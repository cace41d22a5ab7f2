"""People's decisions about the tags of a vault. They win over every digester and can be undone."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import datetime
from sqlite3 import Connection

from chyme.core.pipeline.recorders import RefreshNames
from chyme.core.store.sqlite.database import Database
from chyme.errors import UsageError
from chyme.model import iso
from chyme.text.spelling_variants import comparison_key
from chyme.understanding.tables import tags
from chyme.understanding.tables.tags import Holder, TagCount
from chyme.understanding.tags.names import Rules, current_names, match_spelling, parse_typed_tag, unknown_tag_message
from chyme.understanding.tags.same_meaning import Pair, close_pairs
from chyme.understanding.tags.undoable_decision import Decision

MAX_COMPARED = 3000  # tags that are compared in pairs: the work grows with the square of their number
MAX_PAIRS = 100

Decide = Callable[[Connection, Decision], tuple[str, str]]  # the decision in words, and the tag it was about


class UnknownTag(UsageError):
    """There is no tag of that name, and there was none that became another."""


@dataclass(frozen=True, slots=True)
class Listing:
    """Every tag that a file has, and the decisions about tags."""

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
    """The decision in words, the tag it was about if that still exists, and the number of affected files."""

    what: str
    tag: TagCount | None = None
    files: int = 0


class VaultTags:
    """The tags of one vault. Each decision is one transaction, so that documents, digests and index always agree.

    Methods take a tag in any case; its plural or another spelling works as well.
    """

    def __init__(self, database: Database, clock: Callable[[], datetime], refresh_names: RefreshNames) -> None:
        self._database = database
        self._clock = clock
        self._refresh_names = refresh_names

    def list_all(self) -> Listing:
        """All tags, those on most files first. Tags that people removed from every file are left out."""
        with self._database.snapshot() as db:
            rules = tags.rules(db)
            manual = tags.list_manual(db).difference(current_names(rules))
            return Listing(
                tuple(tag for tag in tags.list_tags(db) if tag.files or tag.name in manual),
                tuple(sorted(name for name, becomes in rules.items() if becomes is None)),
                {name: becomes for name, becomes in sorted(rules.items()) if becomes is not None},
            )

    def show(self, tag: str) -> TagDetails:
        """One tag, with the files on disk that have it."""
        with self._database.snapshot() as db:
            name = _resolve(db, tag)
            replaces = sorted(old for old, becomes in current_names(tags.rules(db)).items() if becomes == name)
            return TagDetails(
                _count(db, name) or TagCount(name, 0, 0, 0), tuple(tags.holders(db, name)), tuple(replaces)
            )

    def rename(self, old: str, new: str) -> DecisionResult:
        """Rename a tag, now and whenever it is proposed."""
        wanted = parse_typed_tag(new)

        def decide(db: Connection, decision: Decision) -> tuple[str, str]:
            name = _require_undecided(db, _resolve(db, old))
            if name == wanted:
                raise UsageError(f"“{name}” already has that name")
            if wanted in tags.in_use(db):
                raise UsageError(f"there is a tag “{wanted}” already; say: chyme tags merge '{wanted}' '{name}'")
            _require_allowed(db, wanted)
            _replace(decision, [name], wanted)
            return f"renamed “{name}” to “{wanted}”", wanted

        return self._decide(decide)

    def merge(self, into: str, others: Sequence[str]) -> DecisionResult:
        """Replace the other tags by `into`, now and whenever they are proposed."""

        def decide(db: Connection, decision: Decision) -> tuple[str, str]:
            try:
                name = _resolve(db, into)
                rest = list(dict.fromkeys(_require_undecided(db, _resolve(db, other)) for other in others))
            except UnknownTag as error:
                raise _suggest_renaming(db, error, (into, *others)) from None
            if not rest or name in rest:
                raise UsageError(f"“{name}” can only be merged with other tags")
            _require_allowed(db, name)
            _replace(decision, rest, name)
            return f"merged {' and '.join(f'“{other}”' for other in rest)} into “{name}”", name

        return self._decide(decide)

    def ban(self, tag: str) -> DecisionResult:
        """Ban a tag, even one that no file has yet: no digester gives it to a file. Tags given by hand stay."""

        def decide(db: Connection, decision: Decision) -> tuple[str, str]:
            name = _tag_to_ban(db, parse_typed_tag(tag))
            decision.remember_files([name])
            decision.set_rule(name, None)
            decision.remove_tag(name)
            return f"banned “{name}”", name

        return self._decide(decide)

    def unban(self, tag: str) -> DecisionResult:
        """Allow a tag again; files get it when they are digested again."""
        name = parse_typed_tag(tag)

        def decide(db: Connection, decision: Decision) -> tuple[str, str]:
            banned = _banned_tags(tags.rules(db))
            found = match_spelling(name, banned)[:1]
            if not found:
                known = f"; banned are {', '.join(sorted(banned))}" if banned else ""
                raise UsageError(f"“{name}” is not banned{known}")
            decision.set_rule(found[0], False)
            return f"unbanned “{found[0]}”", found[0]

        return self._decide(decide)

    def similar(self) -> list[Similar]:
        """Pairs of tags that may be one: spelt alike or close in meaning; the closest first."""
        with self._database.snapshot() as db:
            counts = {tag.name: tag.files for tag in tags.list_tags(db)}
            pairs = [*_pairs_spelt_alike(counts), *close_pairs(tags.meanings(db, MAX_COMPARED))]
        found: dict[frozenset[str], Similar] = {}
        for pair in pairs:
            first, second = sorted((pair.one, pair.other), key=lambda name: (-counts.get(name, 0), len(name), name))
            files = counts.get(first, 0), counts.get(second, 0)
            found.setdefault(frozenset((first, second)), Similar(first, second, round(pair.likeness, 3), files))
        return list(found.values())[:MAX_PAIRS]

    def undo(self) -> DecisionResult:
        """Undo the last decision; calling it again undoes the one before. Files tagged since are changed as well."""
        now = iso(self._clock())

        def revert(db: Connection) -> tuple[str, int | None]:
            change = tags.last_change(db)
            if change is None:
                raise UsageError("there is nothing to undo")
            tags.forget_change(db, change.id)
            decision = Decision(db, now, self._refresh_names)
            reverted = decision.revert(change.undo)
            if reverted:
                decision.publish(f"undone: {change.what}")
            return change.what, decision.files if reverted else None

        what, files = self._database.write(revert)
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
            return DecisionResult(what, _count(db, name), decision.files)

        return self._database.write(write)


def filter_tags(
    tags: Sequence[TagCount], *, prefix: str = "", contains: str = "", by_name: bool = False
) -> list[TagCount]:
    """The tags with this prefix that contain this text; in the given order, or by name."""
    start, part = prefix.strip().lower(), contains.strip().lower()
    matching = [tag for tag in tags if tag.name.startswith(start) and part in tag.name]
    return sorted(matching, key=lambda tag: tag.name) if by_name else matching


def as_json(tag: TagCount) -> dict[str, object]:
    """The JSON form that the command line and HTTP promise."""
    return {"name": tag.name, "files": tag.files, "by_machine": tag.by_machine, "by_person": tag.by_person}


def _resolve(db: Connection, typed: str) -> str:
    """The tag that the user means. Raises UsageError, with suggestions, if there is none."""
    name, known, rules = parse_typed_tag(typed), tags.in_use(db), tags.rules(db)
    current = current_names(rules).get(name, name)
    if comparison_key(current) != comparison_key(name):
        raise UsageError(f"“{name}” became “{current}”")
    found = [current] if current != name else match_spelling(name, known)
    if len(found) == 1:
        return found[0]
    raise UsageError(_ban_message(name, rules)) if name in rules else UnknownTag(unknown_tag_message(name, known))


def _ban_message(name: str, rules: Rules) -> str:
    """The message for a tag that is banned, or became one that is."""
    last = name
    while becomes := rules.get(last):
        last = becomes
    return f"“{name}” {'is' if last == name else f'became “{last}”, which is'} banned; see: chyme tags unban '{last}'"


def _require_undecided(db: Connection, name: str) -> str:
    """The tag, if there is no decision about it that a new one would overwrite; otherwise raises UsageError."""
    _require_allowed(db, name)
    if name in (rules := tags.rules(db)):
        raise UsageError(_ban_message(name, rules))
    return name


def _tag_to_ban(db: Connection, name: str) -> str:
    """The tag that the user means; the word itself if it is not a tag yet."""
    known, banned = tags.in_use(db), match_spelling(name, _banned_tags(tags.rules(db)))
    if name in banned or (banned and name not in known):
        raise UsageError(f"“{banned[0]}” is banned already")
    try:
        return _resolve(db, name)
    except UnknownTag:
        if match_spelling(name, known):  # several match, and it is unclear which is meant
            raise
        return name


def _banned_tags(rules: Rules) -> list[str]:
    return [name for name, becomes in rules.items() if becomes is None]


def _suggest_renaming(db: Connection, error: UnknownTag, typed: Sequence[str]) -> UsageError:
    """The error for merging with a word that is no tag: it suggests renaming, which is probably meant."""
    known = tags.in_use(db)
    old = next((word for word in typed if match_spelling(parse_typed_tag(word), known)), None)
    new = next((word for word in typed if not match_spelling(parse_typed_tag(word), known)), None)
    if old is None or new is None:
        return error
    message = str(error).rstrip(".")
    end = "" if message.endswith("?") else "."
    return UsageError(
        f"{message}{end} For a new name use: chyme tags rename '{parse_typed_tag(old)}' '{parse_typed_tag(new)}'"
    )


def _require_allowed(db: Connection, name: str) -> None:
    if tags.rules(db).get(name, name) is None:
        raise UsageError(f"“{name}” is banned; say first: chyme tags unban '{name}'")


def _replace(decision: Decision, names: Sequence[str], into: str) -> None:
    decision.remember_files([*names, into])
    decision.set_rule(into, False)  # it is wanted, whatever was decided about it before
    for name in names:
        decision.set_rule(name, into)
    decision.replace_tags(names, into)


def _count(db: Connection, name: str) -> TagCount | None:
    return next((tag for tag in tags.list_tags(db) if tag.name == name), None)


def _pairs_spelt_alike(names: Sequence[str] | dict[str, int]) -> list[Pair]:
    by_key: dict[str, str] = {}
    pairs = []
    for name in names:
        earlier = by_key.setdefault(comparison_key(name), name)
        if earlier != name:
            pairs.append(Pair(earlier, name, 1.0))
    return pairs

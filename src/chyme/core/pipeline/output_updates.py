"""Writes the new state of outputs with everything that follows from it (content, readers, the document's row), in one
transaction. `prepare_output` hashes and compresses before, outside the writer thread."""

from __future__ import annotations

import hashlib
import json
from dataclasses import asdict, dataclass
from sqlite3 import Connection

from chyme.core.pipeline import plan
from chyme.core.pipeline.attempt import Attempt
from chyme.core.pipeline.digest_state import Verdict
from chyme.core.pipeline.document_state import KEPT_SUFFIX, compute_state, page_count
from chyme.core.pipeline.recorders import Completion
from chyme.core.pipeline.registry_rules import Rules
from chyme.core.store import artifacts, digest_resets, digests, documents, events, text_places
from chyme.core.store.artifacts import PackedArtifact, pack
from chyme.core.store.models import calls, fallbacks, providers
from chyme.digester import Digester
from chyme.errors import Category
from chyme.model import THUMBNAIL, Digest, File, Form, Output, Status

PIECE = 1 << 20


@dataclass(frozen=True, slots=True)
class PreparedOutput:
    """An output ready to be written."""

    output: Output
    content_hash: str | None
    artifacts: tuple[PackedArtifact, ...]
    extras: tuple[object, ...] = ()  # what each recorder prepared for it, in the order of the recorders
    pages: int | None = None

    @property
    def size(self) -> int:
        text = len(self.output.content or "") + sum(len(p.text) for p in self.output.passages)
        vectors = len(self.output.embedded.vectors) if self.output.embedded else 0
        return text + vectors + sum(len(a.data) for a in self.artifacts)


def prepare_output(output: Output, form: Form, extras: tuple[object, ...] = ()) -> PreparedOutput:
    """Hash and compress an output whose content has this form."""
    pages = page_count(output.content) if form is Form.PAGES else None
    packed = tuple(map(pack, output.artifacts))
    return PreparedOutput(output, content_hash(output), packed, extras, pages)


def content_hash(output: Output) -> str | None:
    """The hash of content, artifacts and places; None if there are neither content nor artifacts."""
    if output.content is None and not output.artifacts:
        return None
    digest = hashlib.sha256()
    text = output.content or ""
    for start in range(0, len(text), PIECE):  # in pieces: a second copy of a long text would need too much memory
        digest.update(text[start : start + PIECE].encode("utf-8", "surrogatepass"))
    for artifact in output.artifacts:
        digest.update(f"\0{artifact.filename}\0{len(artifact.data)}\0".encode())
        digest.update(artifact.data)
    if output.places:
        digest.update(json.dumps([asdict(place) for place in output.places]).encode())
    return digest.hexdigest()


def settle(
    db: Connection,
    rules: Rules,
    file: File,
    name: str,
    verdict: Verdict,
    prepared: PreparedOutput | None,
    before: Digest | None,
    duration: int | None,
    now: str,
    attempt: Attempt | None = None,
    worker: str | None = None,
) -> None:
    """Write the new state of one output, with its content, and requeue its readers."""
    old_hash = before.content_hash if before else None
    new_hash = None
    if verdict.status is Status.COMPLETED and prepared is not None and attempt is not None:
        keeps = verdict.provider is not None and _made_by_its_model(attempt, name)
        new_hash = old_hash if keeps else prepared.content_hash
        if keeps:
            fallbacks.keep_model_content(db, file.id, name, attempt.input_hash, duration, now)
        else:
            _complete(db, rules, file, name, prepared, attempt, before, duration, now, worker)
        if verdict.unfinished:
            digests.put_last(db, file.id, name)
        if verdict.error is not None:
            _record_fallback(db, file, name, verdict, keeps, now)
    else:
        digests.record_incomplete(
            db, file.id, name, verdict.status, verdict.settled, verdict.attempts, verdict.error,
            verdict.category, verdict.retry_at, duration, now, verdict.provider,
        )  # fmt: skip
        for recorder in rules.recorders:
            recorder.not_completed(db, file, name, verdict)
    status = Status.TODO if verdict.unfinished else verdict.status
    detail = verdict.error or (f"made by the worker {worker}" if worker else None)
    events.record(db, now, "digest", file.id, file.path, name, status, detail)
    if verdict.settled:
        if attempt is not None and verdict.retry_at is None:
            calls.forget_responses(db, file.id, attempt.digester.name)
        requeue_readers(db, rules, file, name, old_hash != new_hash, now)
        if attempt is not None:
            for recorder in rules.recorders:
                recorder.settled(db, attempt)


def _made_by_its_model(attempt: Attempt, name: str) -> bool:
    """Whether its model has answered the same input before: local rules must not replace that answer."""
    row = attempt.before.get(name)
    if row is None or row.content_hash is None or row.recipe is None or row.input_hash != attempt.input_hash:
        return False
    return row.recipe != fallbacks.PRIVATE and (
        not row.recipe.startswith(fallbacks.WITHOUT_MODEL_PREFIX) or row.recipe.endswith(KEPT_SUFFIX)
    )


def _record_fallback(db: Connection, file: File, name: str, verdict: Verdict, keeps: bool, now: str) -> None:
    recipe, retry_at = fallbacks.PRIVATE, verdict.retry_at
    if verdict.provider is not None:
        recipe = f"{fallbacks.WITHOUT_MODEL_PREFIX}{verdict.category}{KEPT_SUFFIX if keeps else ''}"
        paused = providers.get(db, verdict.provider).paused_at is not None
        if verdict.category is Category.BUDGET and retry_at is None and not paused:
            retry_at = now  # the provider was resumed while this was made
    fallbacks.record_reason(
        db, file.id, name, recipe, verdict.provider, verdict.error or "", verdict.attempts, retry_at
    )


def keep_capture(
    db: Connection, rules: Rules, file: File, name: str, failure: Verdict, duration: int | None, now: str
) -> None:
    """Keep the earlier capture, with a note, because it could not be captured again.

    The same for captures that read it: a picture taken now would show an error page.
    """
    note = f"kept from before, because it could not be made again: {failure.error}"
    waiting = failure.category is Category.UNAVAILABLE
    rows = digests.of_file(db, file.id)
    for output in (name, *(reader for reader in rules.readers.get(name, ()) if rules.has_capture(reader, rows))):
        if digests.keep_capture(db, file.id, output, note, waiting, duration if output == name else None, now):
            events.record(db, now, "digest", file.id, file.path, output, Status.COMPLETED, note)
            requeue_readers(db, rules, file, output, False, now)


def requeue_readers(db: Connection, rules: Rules, file: File, name: str, changed: bool, now: str) -> None:
    """Requeue what was made from an older version of this output, and wake what waits for it."""
    readers = rules.readers.get(name, ())
    if not readers:
        return
    if changed:
        digest_resets.cascade(db, file.id, readers, now)
        return
    digest_resets.wake(db, file.id, readers, now)
    if name in rules.optional_readers:
        digest_resets.cascade(db, file.id, _made_from_older(db, rules, file, name), now)


def _made_from_older(db: Connection, rules: Rules, file: File, name: str) -> list[str]:
    """The completed outputs of digesters that did not wait for this one and read an older version of it."""
    rows = digests.of_file(db, file.id)
    return [
        output
        for digester in rules.optional_readers[name]
        for output in digester.outputs
        if output in rows
        and rows[output].status is Status.COMPLETED
        and rows[output].input_hash != plan.input_hash(digester, file, rows)
    ]


def _complete(
    db: Connection,
    rules: Rules,
    file: File,
    name: str,
    prepared: PreparedOutput,
    attempt: Attempt,
    before: Digest | None,
    duration: int | None,
    now: str,
    worker: str | None,
) -> None:
    output = prepared.output
    replaces = before is not None and before.content_hash is not None  # otherwise there is nothing to replace
    sqlar_name = None
    if replaces or prepared.artifacts:
        sqlar_name = artifacts.replace(db, file.path, name, prepared.artifacts, file.stamp.mtime_ns // 10**9)
    if replaces or output.places:
        text_places.replace(db, file.id, name, output.places)
    content = output.content
    completions = [
        (recorder, Completion(file, output, attempt, replaces, extra, now))
        for recorder, extra in zip(rules.recorders, prepared.extras, strict=True)
    ]
    for recorder, completion in completions:
        content = recorder.complete(db, completion, content)
    digests.complete(
        db, file.id, name, content, prepared.content_hash, sqlar_name, attempt.digester.recipe,
        attempt.input_hash, duration, now, attempt.digester.embedder, worker,
    )  # fmt: skip
    for recorder, completion in completions:
        recorder.completed(db, completion)
    if any(artifact.filename == THUMBNAIL for artifact in prepared.artifacts):
        documents.set_thumbnail(db, file.id, name, prepared.pages)
    elif replaces:
        documents.clear_thumbnail(db, file.id, name)


def reuse(
    db: Connection,
    rules: Rules,
    file: File,
    digester: Digester,
    outputs: tuple[str, ...],
    input_hash: str,
    rows: dict[str, Digest],
    now: str,
) -> bool:
    """Copy all these outputs from other files with the same input and recipe, if possible. Returns whether it did."""
    if not digester.promises.reusable:
        return False
    donors = [digests.find_donor(db, file.id, name, input_hash, digester.recipe) for name in outputs]
    found = [donor for donor in donors if donor is not None]
    if len(found) < len(outputs):
        return False
    for donor in found:
        name = donor.digester
        sqlar_name = artifacts.copy(db, donor.file_path, file.path, name)
        text_places.copy(db, donor.file_id, file.id, name)
        for recorder in rules.recorders:
            recorder.copy(db, file, donor, digester)
        digests.copy_from(db, donor, file.id, sqlar_name, now)
        for recorder in rules.recorders:
            recorder.copied(db, file, donor, digester, now)
        donor_document = documents.of_file(db, donor.file_id)
        if donor_document is not None and donor_document.face == name:
            documents.set_thumbnail(db, file.id, name, donor_document.pages)
        events.record(db, now, "digest", file.id, file.path, name, "completed", "reused")
        before = rows[name].content_hash if name in rows else None
        requeue_readers(db, rules, file, name, before != donor.content_hash, now)
    return True


def update_document(db: Connection, rules: Rules, file: File, rows: dict[str, Digest], now: str) -> None:
    """Update the document's row from its digests."""
    state, titled = documents.state_of(db, file.id)
    computed = compute_state(
        file.kind,
        rows.values(),
        titled,
        bool(rules.classifiers_of(file)),
        rules.uncounted,
        rules.essential_for(file.kind),
        rules.classifiers,
    )
    documents.set_state(db, file.id, computed.state, computed.reason, computed.degraded, now)
    if state != computed.state:
        events.record(db, now, "document", file.id, file.path, None, computed.state, computed.reason)

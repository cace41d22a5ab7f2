"""How an output takes its new state, and what follows in the same transaction: content, readers, the document's row."""

from __future__ import annotations

from sqlite3 import Connection

from chyme.core.pipeline import plan
from chyme.core.pipeline.attempt import Attempt
from chyme.core.pipeline.digest_state import Verdict
from chyme.core.pipeline.document_state import KEPT_SUFFIX, compute_state
from chyme.core.pipeline.output_preparation import PreparedOutput
from chyme.core.pipeline.recorders import Completion
from chyme.core.pipeline.registry_rules import Rules
from chyme.core.store import artifacts, digests, documents, events, text_places
from chyme.core.store.models import calls, fallbacks, providers
from chyme.digester import Digester
from chyme.errors import Category
from chyme.model import THUMBNAIL, Digest, File, Form, Status


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
) -> None:
    """One output takes its new state, with its content, and its readers learn of it."""
    old_hash = before.content_hash if before else None
    new_hash = None
    if verdict.status is Status.COMPLETED and prepared is not None and attempt is not None:
        stays = verdict.provider is not None and _made_by_its_model(attempt, name)
        new_hash = old_hash if stays else prepared.content_hash
        if stays:
            fallbacks.keep_model_content(db, file.id, name, attempt.input_hash, duration, now)
        else:
            _complete(db, rules, file, name, prepared, attempt, before, duration, now)
        if verdict.error is not None:
            _note_without(db, file, name, verdict, stays, now)
    else:
        digests.record_incomplete(
            db, file.id, name, verdict.status, verdict.settled, verdict.attempts, verdict.error,
            verdict.category, verdict.retry_at, duration, now, verdict.provider,
        )  # fmt: skip
        for recorder in rules.recorders:
            recorder.not_completed(db, file, name, verdict)
    events.record(db, now, "digest", file.id, file.path, name, verdict.status, verdict.error)
    if verdict.settled:
        if attempt is not None and verdict.retry_at is None:
            calls.forget_responses(db, file.id, attempt.digester.name)
        requeue_readers(db, rules, file, name, old_hash != new_hash, now)
        if attempt is not None:
            for recorder in rules.recorders:
                recorder.settled(db, attempt)


def _made_by_its_model(attempt: Attempt, name: str) -> bool:
    """Whether there is an answer of its model to the same input: local rules must not take its place."""
    row = attempt.before.get(name)
    if row is None or row.content_hash is None or row.recipe is None or row.input_hash != attempt.input_hash:
        return False
    return row.recipe != fallbacks.PRIVATE and (
        not row.recipe.startswith(fallbacks.WITHOUT_MODEL_PREFIX) or row.recipe.endswith(KEPT_SUFFIX)
    )


def _note_without(db: Connection, file: File, name: str, verdict: Verdict, stays: bool, now: str) -> None:
    recipe, later = fallbacks.PRIVATE, verdict.retry_at
    if verdict.provider is not None:
        recipe = f"{fallbacks.WITHOUT_MODEL_PREFIX}{verdict.category}{KEPT_SUFFIX if stays else ''}"
        paused = providers.get(db, verdict.provider).paused_at is not None
        if verdict.category is Category.BUDGET and later is None and not paused:
            later = now  # somebody let it go on while this was made
    fallbacks.record_reason(db, file.id, name, recipe, verdict.provider, verdict.error or "", verdict.attempts, later)


def keep_capture(
    db: Connection, rules: Rules, file: File, name: str, failure: Verdict, duration: int | None, now: str
) -> None:
    """It could not be captured again: what was captured before stays as it is, and says so.

    So do captures that read it: a picture taken now would show what came instead of the page.
    """
    note = f"kept from before, because it could not be made again: {failure.error}"
    waiting = failure.category is Category.UNAVAILABLE
    rows = digests.of_file(db, file.id)
    for one in (name, *(reader for reader in rules.readers.get(name, ()) if rules.has_capture(reader, rows))):
        if digests.keep_capture(db, file.id, one, note, waiting, duration if one == name else None, now):
            events.record(db, now, "digest", file.id, file.path, one, Status.COMPLETED, note)
            requeue_readers(db, rules, file, one, False, now)


def requeue_readers(db: Connection, rules: Rules, file: File, name: str, changed: bool, now: str) -> None:
    """Have made again what was made from another output than this one, and wake what waits for it."""
    readers = rules.readers.get(name, ())
    if not readers:
        return
    if changed:
        digests.cascade(db, file.id, readers, now)
        return
    digests.wake(db, file.id, readers, now)
    if name in rules.optional_readers:
        digests.cascade(db, file.id, _made_without(db, rules, file, name), now)


def _made_without(db: Connection, rules: Rules, file: File, name: str) -> list[str]:
    """The completed outputs of digesters that did not wait for this one, and read something else than it is now."""
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
) -> None:
    output = prepared.output
    again = before is not None and before.content_hash is not None  # else there is nothing to replace
    sqlar_name = None
    if again or prepared.artifacts:
        sqlar_name = artifacts.replace(db, file.path, name, prepared.artifacts, file.stamp.mtime_ns // 10**9)
    if again or output.places:
        text_places.replace(db, file.id, name, output.places)
    content = output.content
    completions = [
        (recorder, Completion(file, output, attempt, again, extra, now))
        for recorder, extra in zip(rules.recorders, prepared.extras, strict=True)
    ]
    for recorder, completion in completions:
        content = recorder.complete(db, completion, content)
    digests.complete(
        db, file.id, name, content, prepared.content_hash, sqlar_name, attempt.digester.recipe,
        attempt.input_hash, duration, now, attempt.digester.embedder,
    )  # fmt: skip
    for recorder, completion in completions:
        recorder.completed(db, completion)
    if any(artifact.filename == THUMBNAIL for artifact in prepared.artifacts):
        documents.set_thumbnail(db, file.id, name, prepared.pages)
    elif again:
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
    """Fill all these outputs from another file's with the same input and recipe. Copies cost nothing."""
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
        theirs = documents.of_file(db, donor.file_id)
        if theirs is not None and theirs.face == name:
            documents.set_thumbnail(db, file.id, name, theirs.pages)
        events.record(db, now, "digest", file.id, file.path, name, "completed", "reused")
        before = rows[name].content_hash if name in rows else None
        requeue_readers(db, rules, file, name, before != donor.content_hash, now)
    return True


def update_document(db: Connection, rules: Rules, file: File, rows: dict[str, Digest], now: str) -> None:
    """Bring the document's row in line with its digests."""
    document = documents.of_file(db, file.id)
    titled = document is not None and document.title is not None
    stand = compute_state(
        file.kind,
        rows.values(),
        titled,
        rules.expects_title(file),
        rules.uncounted,
        rules.essential_for(file.kind),
        rules.of_form(Form.CLASSIFICATION),
    )
    documents.set_state(db, file.id, stand.state, stand.reason, stand.degraded, now)
    if document is None or document.state != stand.state:
        events.record(db, now, "document", file.id, file.path, None, stand.state, stand.reason)

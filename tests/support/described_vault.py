"""A vault whose files are registered, with digests written as the digesters would write them."""

from __future__ import annotations

import json
import os
from pathlib import Path
from sqlite3 import Connection

from chyme.application.app import App
from chyme.core.clock import now
from chyme.core.files.vault_folder import encode_path
from chyme.core.store import digests, files
from chyme.model import File, iso
from chyme.search.tables import file_terms
from chyme.understanding.classification.result import Classification, as_json
from chyme.understanding.description import describe
from chyme.understanding.tables import tags
from chyme.vault.watch.file_inspection import inspect_file


def put(app: App, name: str | bytes, content: str | bytes = "") -> File:
    """Write a file into the vault and register it."""
    path = os.path.join(os.fsencode(app.vault.root), os.fsencode(name))
    Path(os.fsdecode(os.path.dirname(path))).mkdir(parents=True, exist_ok=True)
    with open(path, "wb") as stream:
        data = content.encode() if isinstance(content, str) else content
        stream.write(data or b"some text of " + os.fsencode(name))
    spelled, escaped = encode_path(os.fsdecode(name))
    seen = inspect_file(app.vault, spelled, escaped, lambda: None)  # a scan would wait until the file is still
    assert seen is not None
    app.file_registry.record([seen])
    return file_at(app, spelled)


def file_at(app: App, path: str) -> File:
    found = files.by_path(app.database.read(), path)
    assert found is not None, f"{path} is not known"
    return found


def complete(app: App, file: File, digester: str, content: str | None) -> None:
    """Store this content as the result of the digester."""
    at = iso(now())

    def write(db: Connection) -> None:
        digests.register(db, file.id, file.path, [(digester, True, 0)], "", at)
        digests.complete(db, file.id, digester, content, "hash", None, "recipe", "input", 1, at)
        describe(db, file.id, at, file_terms.rewrite)

    app.database.write(write)


def classify(app: App, file: File, title: str | None, date: str | None = None, *machine_tags: str) -> None:
    """Store the result of a classifier, and tags."""
    at = iso(now())

    def give(db: Connection) -> None:
        tags.set_file_tags(db, file.id, [tags.ensure(db, tag, at) for tag in machine_tags])

    app.database.write(give)
    complete(app, file, "classify-document", as_json(Classification(title, date=date, tags=machine_tags)))


def propose(app: App, file: File, slug: str, title: str = "A title") -> None:
    """Store a name that the digester proposes."""
    complete(app, file, "slug", json.dumps({"slug": slug, "title": title, "from": "classify-document"}))


def named(app: App, name: str | bytes, slug: str) -> File:
    """A registered file with a proposed name."""
    file = put(app, name)
    propose(app, file, slug)
    return file


def listed(app: App) -> list[str]:
    """All files of the vault except chyme's own."""
    root = app.vault.root
    found = (os.fspath(path.relative_to(root)) for path in root.rglob("*") if not path.is_dir())
    return sorted(path for path in found if not path.startswith(".chyme/"))

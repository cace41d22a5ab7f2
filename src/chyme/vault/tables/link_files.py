"""Finds the link files that point to an address."""

from __future__ import annotations

import json
from collections.abc import Collection
from sqlite3 import Connection


def fetched_from(db: Connection, addresses: Collection[str]) -> dict[str, str]:
    """Map each address to the path of an existing file whose page was fetched from there."""
    rows = db.execute(
        """
        SELECT json_extract(content, '$.url'), file_path FROM digests INDEXED BY digests_by_status
         WHERE status = 'completed' AND digester = 'url-metadata' AND held = 0 AND json_valid(content)
           AND json_extract(content, '$.url') IN (SELECT value FROM json_each(?))
         ORDER BY file_id DESC
        """,
        (json.dumps(list(addresses)),),
    )
    return dict(rows.fetchall())

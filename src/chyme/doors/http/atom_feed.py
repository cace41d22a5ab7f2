"""A saved search as an Atom feed (RFC 4287)."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Sequence
from urllib.parse import quote
from xml.sax.saxutils import escape, quoteattr

from chyme.search.saved_searches import ArrivedFile, SavedSearch

MEDIA_TYPE = "application/atom+xml; charset=utf-8"
_NOT_XML = re.compile("[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")  # also parts of broken letters


def atom_feed(saved: SavedSearch, files: Sequence[ArrivedFile], identity: str, vault_address: str) -> str:
    """Return the feed. Its ids hold neither the secret of its address nor the identity of the vault."""
    vault_id = hashlib.sha256(f"feed {identity}".encode()).hexdigest()[:32]
    updated = max((file.at for file in files), default=saved.created_at)
    lines = [
        '<?xml version="1.0" encoding="utf-8"?>',
        '<feed xmlns="http://www.w3.org/2005/Atom">',
        f"  <id>urn:chyme:{vault_id}:search:{saved.id}</id>",
        f"  <title>{_text(saved.name)}</title>",
        f"  <subtitle>{_text(saved.query)}</subtitle>",
        f"  <updated>{_text(updated)}</updated>",
        "  <author><name>chyme</name></author>",
        "  <generator>chyme</generator>",
        f'  <link rel="alternate" type="text/html" href={_attribute(f"{vault_address}/?q={quote(saved.query)}")}/>',
    ]
    for file in files:
        card = file.card
        address = f"{vault_address}/file/{quote(card.path, safe='/')}"
        lines += [
            "  <entry>",
            f"    <id>urn:chyme:{vault_id}:file:{file.id}</id>",
            f"    <title>{_text(card.title)}</title>",
            f"    <updated>{_text(file.at)}</updated>",
            f"    <published>{_text(card.added_at)}</published>",
            f'    <link rel="alternate" type="text/html" href={_attribute(address)}/>',
            *(f"    <category term={_attribute(tag)}/>" for tag in card.tags),
            f'    <summary type="text">{_text(card.summary or card.name)}</summary>',
            "  </entry>",
        ]
    return "\n".join([*lines, "</feed>", ""])


def _text(text: str) -> str:
    return escape(_NOT_XML.sub(" ", text))


def _attribute(text: str) -> str:
    return quoteattr(_NOT_XML.sub(" ", text))

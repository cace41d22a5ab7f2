"""The vault: grid, table and search."""

from __future__ import annotations

from fastapi import FastAPI

from chyme.app import App


def add_routes(api: FastAPI, app: App) -> None:
    """Add these pages to the HTTP face of an opened vault."""

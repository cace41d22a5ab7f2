"""Events as they happen, and how far the digestion is."""

from __future__ import annotations

from fastapi import FastAPI

from chyme.app import App


def add_routes(api: FastAPI, app: App) -> None:
    """Add these routes to the HTTP face of an opened vault."""

"""Notices what happens in the vault's folder: a scan at start and every hour, and the file system's own events."""

from chyme.watcher.landing import Report, Stopped
from chyme.watcher.scan import Scanner
from chyme.watcher.watch import Watcher

__all__ = ["Report", "Scanner", "Stopped", "Watcher"]

"""The only place that chooses parts and joins them."""

from chyme.app.clock import now
from chyme.app.opened import App, open_app
from chyme.app.work import Progress, Work

__all__ = ["App", "Progress", "Work", "now", "open_app"]

"""Who may come in, and where to."""

from chyme.doors.doors import Doors
from chyme.doors.visitor import Right, Visitor

__all__ = ["Doors", "Right", "Visitor"]

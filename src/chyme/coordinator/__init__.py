"""Carries files through the digesters: leases, attempts, verdicts, recovery, and how files come and go."""

from chyme.coordinator.coordinator import Coordinator, Handled
from chyme.coordinator.intake import Intake
from chyme.coordinator.rules import Rules
from chyme.coordinator.transitions import Claim

__all__ = ["Claim", "Coordinator", "Handled", "Intake", "Rules"]

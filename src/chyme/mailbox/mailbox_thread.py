"""Fetches the mailbox again and again while a vault is served. Its faults concern nothing else."""

from __future__ import annotations

import logging
import threading
from datetime import datetime

from chyme.core.clock import now
from chyme.errors import ChymeError
from chyme.mailbox.mailbox import FIRST_WAIT, Mailbox

CLOSE_SECONDS = 3.0

log = logging.getLogger(__name__)


class MailboxThread:
    """One thread, which mostly sleeps."""

    def __init__(self, mailbox: Mailbox) -> None:
        self._mailbox = mailbox
        self._wake = threading.Event()
        self._stop = False
        self._thread = threading.Thread(target=self._run, name="chyme-mailbox", daemon=True)

    def start(self) -> None:
        self._thread.start()

    def wake(self) -> None:
        """Fetch now instead of later."""
        self._wake.set()

    def close(self) -> None:
        self._stop = True
        self._wake.set()
        self._mailbox.close()
        if self._thread.is_alive():
            self._thread.join(CLOSE_SECONDS)  # it may wait for a server that does not even greet

    def _run(self) -> None:
        reported: str | None = None
        while not self._stop:
            try:
                self._mailbox.fetch()
                reported = None
            except ChymeError as error:
                if str(error) != reported and not self._stop:
                    log.warning("the mailbox: %s", error)
                reported = str(error)
            except Exception:  # without this thread no message would come any more
                if not self._stop:
                    log.exception("the mailbox cannot be fetched")
            self._wake.wait(self._seconds_left())
            self._wake.clear()

    def _seconds_left(self) -> float:
        try:
            moment = self._mailbox.status().next_attempt
        except Exception:  # the database is away or damaged, which is reported elsewhere
            return FIRST_WAIT
        left = (datetime.fromisoformat(moment) - now()).total_seconds() if moment else self._mailbox.settings.seconds
        return max(1.0, left)

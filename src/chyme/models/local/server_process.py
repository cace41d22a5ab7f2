"""The parent's side of the local model's server: a process that reports where it listens."""

from __future__ import annotations

import logging
import os
import secrets
import threading
import time

from chyme.core.children.frames import BadFrame, pack
from chyme.core.children.process import Process
from chyme.core.children.task_errors import describe_exit
from chyme.errors import ChildCrashed, EngineUnavailable

OK = 200
MODULE = "chyme.models.local.server"
ANSWER_SECONDS = 20.0  # it reports its health at once, but the machine may be busy

log = logging.getLogger(__name__)


class ServerProcess(Process):
    """It belongs to the thread that started it: the kernel ends it when that thread ends."""

    def __init__(self) -> None:
        super().__init__(MODULE)
        self.key = secrets.token_urlsafe(32)  # so that no one else on this machine can use the server
        self.url = self._address = ""
        self._dispose_lock = threading.Lock()
        self._disposed = False

    def wait_until_ready(self, options: dict[str, object], seconds: float) -> None:
        """Send the options and wait until it serves. EngineUnavailable or ChildCrashed if it does not."""
        deadline = time.monotonic() + seconds
        try:
            self.send(pack({**options, "key": self.key, "parent": os.getpid()}), (), deadline)
            frame = self.receive(deadline)
        except TimeoutError as error:
            raise ChildCrashed(f"the local model was not ready after {seconds:g} seconds") from error
        except (ConnectionError, BadFrame):
            frame = None
        if frame is None:
            ended = describe_exit(self.end())
            log.warning("the local model's server ended while it was starting (%s):\n%s", ended, self.last_output())
            raise ChildCrashed(
                f"the local model's server ended while it was starting ({ended}); "
                "perhaps it needs more memory: raise local_memory_mb"
            )
        # So far it has read nothing but its own weights, so this one frame can be trusted.
        if frame.header.get("kind") != "ready":
            raise EngineUnavailable(f"the local model cannot run: {frame.header.get('cause')}")
        self._address = str(frame.header["address"]).removeprefix("http://")
        self.url = f"http://{self._address}/v1"

    def is_answering(self) -> bool:
        """Whether it runs, is healthy, and answers with our key.

        A killed process exists a moment longer but does not answer; and when it is gone, another process may listen at
        its port.
        """
        if not self.alive():
            return False
        import http.client  # children import this module only for its settings

        connection = http.client.HTTPConnection(self._address, timeout=ANSWER_SECONDS)
        try:
            connection.request("GET", "/v1/models", headers={"Authorization": f"Bearer {self.key}"})
            return connection.getresponse().status == OK and self.alive()
        except (OSError, http.client.HTTPException):
            return False
        finally:
            connection.close()

    def read_output(self) -> None:
        """Read what it printed, so that nothing is lost when it ends. From any thread, disposed or not."""
        with self._dispose_lock:
            if not self._disposed:
                self.last_output()

    def dispose(self) -> None:
        """End it and free its resources. May be called from any thread, and twice."""
        with self._dispose_lock:
            if not self._disposed:
                self._disposed = True
                super().dispose()

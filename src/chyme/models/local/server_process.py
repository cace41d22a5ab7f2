"""The server of the local model as its parent sees it: a process that tells where it listens."""

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
ANSWER_SECONDS = 20.0  # it says at once that it is well, but the machine may be busy

log = logging.getLogger(__name__)


class ServerProcess(Process):
    """It belongs to the thread that started it: the kernel ends it when that thread ends."""

    def __init__(self) -> None:
        super().__init__(MODULE)
        self.key = secrets.token_urlsafe(32)  # nobody else on this machine may ask it
        self.url = self._address = ""
        self._burying = threading.Lock()
        self._buried = False

    def wait_until_ready(self, told: dict[str, object], seconds: float) -> None:
        """Tell it what to serve and wait until it does. EngineUnavailable or ChildCrashed when it does not."""
        deadline = time.monotonic() + seconds
        try:
            self.send(pack({**told, "key": self.key, "parent": os.getpid()}), (), deadline)
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
        # It has seen nothing but its own weights yet, so this one frame may be believed.
        if frame.header.get("kind") != "ready":
            raise EngineUnavailable(f"the local model cannot run: {frame.header.get('cause')}")
        self._address = str(frame.header["address"]).removeprefix("http://")
        self.url = f"http://{self._address}/v1"

    def is_answering(self) -> bool:
        """Whether it is there and well, and answers whoever has our key.

        A process that was killed is there a moment longer, but does not answer; and when it is gone, somebody else may
        listen where it did.
        """
        if not self.alive():
            return False
        import http.client  # children import us for our settings only

        connection = http.client.HTTPConnection(self._address, timeout=ANSWER_SECONDS)
        try:
            connection.request("GET", "/v1/models", headers={"Authorization": f"Bearer {self.key}"})
            return connection.getresponse().status == OK and self.alive()
        except (OSError, http.client.HTTPException):
            return False
        finally:
            connection.close()

    def read_output(self) -> None:
        """Take in what it printed, so that nothing is lost when it ends. From any thread, buried or not."""
        with self._burying:
            if not self._buried:
                self.last_output()

    def dispose(self) -> None:
        """End it and free what is left. From any thread, also twice."""
        with self._burying:
            if not self._buried:
                self._buried = True
                super().dispose()

"""Reads the rules of a host's robots.txt."""

from __future__ import annotations

from urllib.robotparser import RobotFileParser

ROBOTS_BYTES = 500 * 1024
ROBOTS_SECONDS = 10.0


class Robots:
    """The rules of one host. If its robots.txt makes no sense, everything is allowed."""

    def __init__(self, data: bytes) -> None:
        self._rules = RobotFileParser()
        try:
            self._rules.parse(data[:ROBOTS_BYTES].decode("utf-8-sig", "replace").splitlines())
        except ValueError:  # a rule that is not a path
            self._rules = RobotFileParser()
            self._rules.parse([])

    def allow(self, agent: str, url: str) -> bool:
        try:
            return self._rules.can_fetch(agent, url)
        except ValueError:
            return True

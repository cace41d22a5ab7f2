"""Reads the rules of a host's robots.txt."""

from __future__ import annotations

from urllib.robotparser import RobotFileParser

ROBOTS_BYTES = 500 * 1024
ROBOTS_SECONDS = 10.0


class Robots:
    """The rules of one host. If its robots.txt makes no sense, everything is allowed."""

    def __init__(self, data: bytes = b"") -> None:
        self._rules = _parse(data[:ROBOTS_BYTES].decode("utf-8-sig", "replace").splitlines())

    def allow(self, agent: str, url: str) -> bool:
        try:
            return self._rules.can_fetch(agent, url)
        except ValueError:
            return True


def _parse(lines: list[str]) -> RobotFileParser:
    rules = RobotFileParser()
    try:
        rules.parse(lines)
    except ValueError:  # a rule that is not a path
        rules = RobotFileParser()
        rules.parse([])
    return rules

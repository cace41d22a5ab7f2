"""The cause that many failures share, without the names and numbers of each, and the way out."""

from __future__ import annotations

import hashlib
import re
from dataclasses import dataclass

from chyme.errors import Category

_ADDRESS = re.compile(r"\bhttps?://\S+", re.IGNORECASE)
_QUOTED = re.compile(r"“[^”]*”|‘[^’]*’|(?<!\w)'[^']*'(?!\w)|\"[^\"]*\"")
_FILE = re.compile(r"(?<![\w.])/?(?:[\w.-]+/)+[\w.-]+")
_HOST = re.compile(r"\b(?:[\w-]+\.)+[a-z]{2,}(?::\d+)?\b", re.IGNORECASE)
_NUMBER = re.compile(r"(?<!HTTP )(?<![\w.-])\d[\d.,:]*(?!\w)")
_LEFT_OUT = "…"

REMEDIES: dict[str, str] = {
    Category.AI_CONTENT_BLOCKED: "the model refuses such content; another model may not",
    Category.AI_QUOTA: "wait until the quota renews, or raise it at the provider; it is tried again by itself",
    Category.RATE_LIMIT: "wait a while; it is tried again by itself",
    Category.TIMEOUT: "retry when the machine has less to do, or raise the time limit (docs/settings.md)",
    Category.NETWORK: "see whether the address can be reached, then retry",
    Category.VALIDATION: "open the file in its own program, save it anew, then retry",
    Category.UNSUPPORTED_FILE_TYPE: "nothing needs to be done: such files are kept and found by their names",
    Category.CRASH: "retry once; if it fails again the file is broken, or needs more memory (docs/settings.md)",
    Category.UNAVAILABLE: "'chyme doctor' tells what is missing and how to get it; it is tried again by itself then",
    Category.BUDGET: "wait until the budget renews, or raise it (docs/settings.md)",
}


@dataclass(frozen=True, slots=True)
class Cause:
    """Why something failed, in a form that can be compared with other failures."""

    alike: str  # without names, paths, numbers and quotes: equal for all that fail for the same cause
    message: str  # the original message, without the name of the file
    way_out: str


def cause_of(message: str, path: str, category: str) -> Cause:
    """The cause in a message of the form `name: cause; way out`."""
    name = path.rpartition("/")[2]
    text = message
    for known in (path, name):
        text = text.removeprefix(f"{known}: ")
    cause, _, way_out = text.partition("; ")
    alike = cause
    for known in (path, name):
        alike = alike.replace(known, _LEFT_OUT) if known else alike
    for pattern in (_ADDRESS, _QUOTED, _FILE, _HOST, _NUMBER):
        alike = pattern.sub(_LEFT_OUT, alike)
    return Cause(alike, cause, way_out or REMEDIES.get(category, "retry it"))


def group_id(digester: str, category: str, alike: str) -> str:
    """The id of a group of failures: stable as long as its cause is the same."""
    return hashlib.sha256(f"{digester}\0{category}\0{alike}".encode("utf-8", "surrogatepass")).hexdigest()[:16]

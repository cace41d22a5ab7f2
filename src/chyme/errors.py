"""Every way in which chyme can fail, and what each means for the digest.

ChymeError
├── VaultError             the vault cannot be opened or used; the command ends with this sentence
│   ├── DiskFull           digestion pauses until there is room; burns no attempt
│   ├── VaultGone          the vault or its database is not at its path; everything pauses until it is back
│   └── DatabaseDamaged    digestion stops until the database is restored or rescued; burns no attempt
├── WorkerLost             the worker on another machine that ran the attempt vanished; burns no attempt
├── UsageError             what was asked for makes no sense (unknown file, unknown digester)
│   └── NotFound           HTTP answers with 404
└── DigestError            one attempt at one digest failed; `category` decides what follows
    ├── UnreadableFile     validation: broken or locked; trying again cannot help
    ├── LimitReached       validation: larger than a configured limit
    ├── UnsupportedFile    unsupported_file_type: no engine reads this
    ├── EngineUnavailable  unavailable: an engine is missing; says how to get it
    ├── ChildCrashed       crash: the parser died
    ├── TimedOut           timeout
    ├── NetworkFailed      network
    ├── RateLimited        rate_limit, with the provider's Retry-After
    ├── AddressRefused     validation: an address in the content leads where chyme does not go
    ├── QuotaSpent         ai_quota
    ├── ContentBlocked     ai_content_blocked
    ├── BudgetSpent        budget
    ├── UpstreamMissing    validation: what this digest reads settled without content
    └── FileChanged        the file changed while it was read; burns no attempt

A class exists only if some code treats it differently. Messages name the file, the cause and,
where there is one, the way out; they contain no secret and no stack trace.
"""

from __future__ import annotations

from enum import StrEnum
from typing import ClassVar


class Category(StrEnum):
    """Why a digest failed. The retry rules depend on this, never on message text."""

    AI_CONTENT_BLOCKED = "ai_content_blocked"
    AI_QUOTA = "ai_quota"
    RATE_LIMIT = "rate_limit"
    TIMEOUT = "timeout"
    NETWORK = "network"
    VALIDATION = "validation"
    UNSUPPORTED_FILE_TYPE = "unsupported_file_type"
    DEPENDENCY = "dependency"
    CRASH = "crash"
    UNAVAILABLE = "unavailable"
    BUDGET = "budget"


class ChymeError(Exception):
    """Base class of everything chyme raises on purpose."""


class VaultError(ChymeError):
    """The vault cannot be opened or used."""


class DiskFull(VaultError):
    """The disk with the vault's database is full."""


class VaultGone(VaultError):
    """The vault's folder or its database was deleted, renamed or replaced while in use."""


class DatabaseDamaged(VaultError):
    """The database is damaged, or is not a database of chyme. The message says what is wrong and how to recover."""

    def __init__(self, message: str, cause: str = "") -> None:
        super().__init__(message)
        self.cause = cause or message  # what is wrong, without the ways to recover


class WorkerLost(ChymeError):
    """The worker on another machine that ran an attempt vanished."""


class UsageError(ChymeError):
    """The request makes no sense; the message says what would."""


class NotFound(UsageError):
    """What was asked for does not exist, or not any more: a file, a job, an entry of the trash."""


class DigestError(ChymeError):
    """One attempt at one digest failed."""

    category: ClassVar[Category] = Category.CRASH

    def __init__(self, message: str, *, retry_after: float | None = None, tried: bool = True) -> None:
        super().__init__(message)
        self.retry_after = retry_after
        self.tried = tried  # False: the attempt was not started and does not count


class UnreadableFile(DigestError):
    """The file is broken or locked. Trying again cannot help."""

    category = Category.VALIDATION


class LimitReached(DigestError):
    """The file exceeds a limit. The message names the limit and its setting."""

    category = Category.VALIDATION


class UnsupportedFile(DigestError):
    """No engine reads this type of file."""

    category = Category.UNSUPPORTED_FILE_TYPE


class EngineUnavailable(DigestError):
    """An engine is not installed or not configured. The message says how to get it."""

    category = Category.UNAVAILABLE


class ChildCrashed(DigestError):
    """The child process died or was killed because of its memory use."""

    category = Category.CRASH


class TimedOut(DigestError):
    """The attempt ran out of time and was stopped."""

    category = Category.TIMEOUT


class NetworkFailed(DigestError):
    """Connection refused, name not found, or a server error."""

    category = Category.NETWORK


class RateLimited(DigestError):
    """The provider, or the host of a page, asked for fewer requests."""

    category = Category.RATE_LIMIT


class AddressRefused(DigestError):
    """An address from content leads where chyme does not go. The message names the setting that allows it."""

    category = Category.VALIDATION


class QuotaSpent(DigestError):
    """The provider's quota is spent or its model is overloaded."""

    category = Category.AI_QUOTA


class ContentBlocked(DigestError):
    """The provider's safety filter refused the request."""

    category = Category.AI_CONTENT_BLOCKED


class BudgetSpent(DigestError):
    """The day's budget for this provider is spent."""

    category = Category.BUDGET


class UpstreamMissing(DigestError):
    """An upstream output that this digester needs settled without content."""

    category = Category.VALIDATION


class FileChanged(DigestError):
    """The file changed while it was read. Does not count as an attempt; the file is examined again."""


BY_CATEGORY: dict[Category, type[DigestError]] = {
    error.category: error
    for error in (
        *(UnreadableFile, UnsupportedFile, EngineUnavailable, ChildCrashed, TimedOut),
        *(NetworkFailed, RateLimited, QuotaSpent, ContentBlocked, BudgetSpent),
    )
}

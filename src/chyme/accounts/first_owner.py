"""Set-up of a server without accounts: the code from the terminal is needed to make the owner's account."""

from __future__ import annotations

import base64
import hmac
import re
import secrets

from chyme.accounts.authentication import Authenticator
from chyme.accounts.passwords import fingerprint
from chyme.accounts.users import Account
from chyme.errors import UsageError

CODE_BYTES = 20  # 160 bits, as 32 letters and digits
_SEPARATORS = re.compile(r"[\s-]+")


class FirstOwner:
    """A new code for each start. It ends with the first account or token, however made, and never begins again."""

    def __init__(self, authenticator: Authenticator) -> None:
        self._authenticator = authenticator
        plain = base64.b32encode(secrets.token_bytes(CODE_BYTES)).decode()
        self.code = "-".join(plain[start : start + 4] for start in range(0, len(plain), 4))  # for the terminal only
        self._hash = fingerprint(plain)
        self._is_over = False

    @property
    def is_awaited(self) -> bool:
        """Whether the server still waits for its first account."""
        if not self._is_over and self._authenticator.login_required:
            self._is_over = True
        return not self._is_over

    def is_code(self, typed: str) -> bool:
        """Whether this is the code, in any case and grouping. Takes as long for every answer."""
        plain = _SEPARATORS.sub("", typed[:200]).upper()
        return hmac.compare_digest(fingerprint(plain), self._hash)

    def make(self, name: str, password: str) -> Account:
        """Make the owner's account; of several attempts at once only one succeeds."""
        if not self.is_awaited:
            raise UsageError("the set-up is done; sign in")
        account = self._authenticator.accounts.add_first(name, password)
        self._is_over = True
        return account

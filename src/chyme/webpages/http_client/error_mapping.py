"""Translates failures of servers, the network and the HTTP client into the errors of digests."""

from __future__ import annotations

import ssl
from collections.abc import Iterator
from contextlib import contextmanager

import httpcore2

from chyme.errors import DigestError, LimitReached, NetworkFailed, TimedOut, UnreadableFile
from chyme.webpages.http_client.connections import DeadlineExceeded
from chyme.webpages.http_client.decompression import DecompressionError
from chyme.webpages.http_client.responses import MB, TooLarge


@contextmanager
def translate_errors(host: str, max_bytes: int, seconds: float) -> Iterator[None]:
    """Raise whatever goes wrong with this host inside as a DigestError that says so."""
    try:
        yield
    except TooLarge as error:
        message = f"what {host} sends is larger than {max_bytes / MB:g} MB; raise web_page_bytes to fetch it"
        raise LimitReached(message) from error
    except DeadlineExceeded as error:
        message = f"{host} was not done within {seconds:g} s; raise web_seconds to wait longer"
        raise TimedOut(message) from error
    except DecompressionError as error:
        raise UnreadableFile(f"what {host} sends is {error}") from error
    except ssl.SSLCertVerificationError as error:
        cause = error.verify_message.rstrip(".") or "it could not be verified"
        raise UnreadableFile(f"the certificate of {host} is not to be trusted: {cause}") from error
    except httpcore2.TimeoutException as error:
        raise NetworkFailed(f"{host} does not answer") from error
    except httpcore2.NetworkError as error:
        raise NetworkFailed(f"the connection to {host} failed: {str(error)[:200] or 'it broke'}") from error
    except httpcore2.ProtocolError as error:
        raise NetworkFailed(f"{host} does not answer in proper HTTP, or not to the end") from error


@contextmanager
def prefix_errors(name: str) -> Iterator[None]:
    """Put the file name in front of the errors raised inside."""
    try:
        yield
    except DigestError as error:
        error.args = (f"{name}: {error}",)
        raise

"""The certificates of a cluster: its own authority, and what that signs for the server, coordinators and workers.

Keys are ECDSA P-256, which every version of TLS in use accepts. A certificate is good for one end of a connection only:
a worker cannot pretend to be the server, nor the server a worker.
"""

from __future__ import annotations

import contextlib
import ipaddress
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta

from cryptography import x509
from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.serialization import (
    Encoding,
    NoEncryption,
    PrivateFormat,
    load_pem_private_key,
)
from cryptography.x509.oid import ExtendedKeyUsageOID, NameOID

AUTHORITY_DAYS = 3650
_CLOCKS_DIFFER = timedelta(days=1)  # a certificate is valid this long before it is made: clocks elsewhere may be slow


@dataclass(frozen=True, slots=True)
class Issued:
    """A new certificate with its key, both PEM."""

    key: bytes
    certificate: bytes
    expires: datetime


class Authority:
    """Signs the certificates of one cluster."""

    def __init__(self, key: bytes, certificate: bytes) -> None:
        """Raises ValueError if this is no authority made by `create`."""
        loaded = load_pem_private_key(key, None)
        if not isinstance(loaded, ec.EllipticCurvePrivateKey):
            raise ValueError("the key is of another kind")
        self._key = loaded
        self._certificate = x509.load_pem_x509_certificate(certificate)
        if self._certificate.public_key() != self._key.public_key():
            raise ValueError("key and certificate do not belong together")
        self.certificate = certificate

    @staticmethod
    def create(now: datetime) -> Issued:
        """Make a new authority."""
        key = ec.generate_private_key(ec.SECP256R1())
        name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "chyme cluster")])
        expires = _whole_seconds(now + timedelta(days=AUTHORITY_DAYS))
        usage = x509.KeyUsage(
            key_cert_sign=True,
            crl_sign=True,
            digital_signature=False,
            content_commitment=False,
            key_encipherment=False,
            data_encipherment=False,
            key_agreement=False,
            encipher_only=False,
            decipher_only=False,
        )
        certificate = (
            _builder(name, name, key.public_key(), now, expires)
            .add_extension(x509.BasicConstraints(ca=True, path_length=0), critical=True)
            .add_extension(usage, critical=True)
            .sign(key, hashes.SHA256())
        )
        return Issued(_key_pem(key), certificate.public_bytes(Encoding.PEM), expires)

    def issue_person(self, name: str, role: str, identity: str, now: datetime, days: int) -> Issued:
        """Make a certificate for a worker or coordinator; `identity` is what the server knows them by."""
        subject = x509.Name(
            [
                x509.NameAttribute(NameOID.ORGANIZATIONAL_UNIT_NAME, role),
                x509.NameAttribute(NameOID.COMMON_NAME, name),
            ]
        )
        alternative = [x509.UniformResourceIdentifier(identity)]
        return self._issue(subject, alternative, ExtendedKeyUsageOID.CLIENT_AUTH, now, days)

    def issue_server(self, hosts: Sequence[str], now: datetime, days: int) -> Issued:
        """Make a certificate for a server that is reached by these host names and IP addresses."""
        subject = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "chyme cluster server")])
        alternative = [_alternative_name(host) for host in hosts]
        return self._issue(subject, alternative, ExtendedKeyUsageOID.SERVER_AUTH, now, days)

    def _issue(
        self,
        subject: x509.Name,
        alternative: Sequence[x509.GeneralName],
        usage: x509.ObjectIdentifier,
        now: datetime,
        days: int,
    ) -> Issued:
        key = ec.generate_private_key(ec.SECP256R1())
        expires = min(_whole_seconds(now + timedelta(days=days)), self._certificate.not_valid_after_utc)
        issuer_key = x509.AuthorityKeyIdentifier.from_issuer_public_key(self._key.public_key())
        certificate = (
            _builder(subject, self._certificate.subject, key.public_key(), now, expires)
            .add_extension(x509.BasicConstraints(ca=False, path_length=None), critical=True)
            .add_extension(x509.SubjectAlternativeName(alternative), critical=False)
            .add_extension(x509.ExtendedKeyUsage([usage]), critical=False)
            .add_extension(issuer_key, critical=False)
            .sign(self._key, hashes.SHA256())
        )
        return Issued(_key_pem(key), certificate.public_bytes(Encoding.PEM), expires)


def _builder(
    subject: x509.Name, issuer: x509.Name, key: ec.EllipticCurvePublicKey, now: datetime, expires: datetime
) -> x509.CertificateBuilder:
    return (
        x509.CertificateBuilder()
        .subject_name(subject)
        .issuer_name(issuer)
        .public_key(key)
        .serial_number(x509.random_serial_number())
        .not_valid_before(now - _CLOCKS_DIFFER)
        .not_valid_after(expires)
        .add_extension(x509.SubjectKeyIdentifier.from_public_key(key), critical=False)
    )


def _alternative_name(host: str) -> x509.GeneralName:
    with contextlib.suppress(ValueError):
        return x509.IPAddress(ipaddress.ip_address(host))
    return x509.DNSName(host)


def _whole_seconds(moment: datetime) -> datetime:
    return moment.replace(microsecond=0)  # certificates know no fractions


def _key_pem(key: ec.EllipticCurvePrivateKey) -> bytes:
    return key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption())

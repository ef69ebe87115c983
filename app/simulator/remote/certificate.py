"""A certificate for the webhook server, made anew at each start and trusted by nobody but through `caBundle`."""

import ipaddress
import ssl
import tempfile
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import NameOID

_VALID = timedelta(days=365)
_SKEW = timedelta(hours=1)
"""How far the API server's clock may be behind ours."""


@dataclass(frozen=True, slots=True)
class Certificate:
    """A self-signed certificate. `pem` is its public part, which is its own certificate authority."""

    pem: bytes
    context: ssl.SSLContext


def make_certificate(address: str) -> Certificate:
    """Make a certificate for a server at an IP address."""
    key = ec.generate_private_key(ec.SECP256R1())
    name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "pumice simulated volcano")])
    now = datetime.now(UTC)
    certificate = (
        x509.CertificateBuilder()
        .subject_name(name)
        .issuer_name(name)
        .public_key(key.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(now - _SKEW)
        .not_valid_after(now + _VALID)
        .add_extension(x509.SubjectAlternativeName([x509.IPAddress(ipaddress.ip_address(address))]), critical=False)
        .add_extension(x509.BasicConstraints(ca=True, path_length=0), critical=True)
        .sign(key, hashes.SHA256())
    )
    pem = certificate.public_bytes(serialization.Encoding.PEM)
    secret = key.private_bytes(
        serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
    )
    return Certificate(pem, _context(pem, secret))


def _context(pem: bytes, secret: bytes) -> ssl.SSLContext:
    """Python's `ssl` reads keys from files only, so the key is on disk for a moment, readable by us alone."""
    context = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
    with tempfile.TemporaryDirectory(prefix="pumice-") as directory:
        path = Path(directory) / "server.pem"
        path.touch(mode=0o600)
        path.write_bytes(secret + pem)
        context.load_cert_chain(path)
    return context

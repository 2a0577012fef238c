"""A certificate authority of the tests, and certificates that it signs, new for each run."""

from __future__ import annotations

import datetime as dt
import ipaddress
import ssl
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import NameOID

LONG_VALID = range(-365, 635)
"""Days from today on which a certificate is valid, if nothing is said."""


@dataclass(frozen=True, slots=True)
class Authority:
    """Signs certificates; `path` is the file with its own certificate, which a client may trust."""

    path: Path
    key: ec.EllipticCurvePrivateKey
    certificate: x509.Certificate

    def server(self, *names: str, days: range = LONG_VALID) -> ssl.SSLContext:
        """Return what a server of these names needs, with a certificate valid on these days, counted from today."""
        key = ec.generate_private_key(ec.SECP256R1())
        signed = _certificate(names[0], key, days=days, issuer=self, names=names)
        pem = self.path.with_name(f"{signed.serial_number}.pem")
        form = (serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption())
        pem.write_bytes(key.private_bytes(*form) + signed.public_bytes(serialization.Encoding.PEM))
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(pem)
        return context


def authority(folder: Path) -> Authority:
    """Return an authority that no client knows, its certificate in a file of the folder."""
    key = ec.generate_private_key(ec.SECP256R1())
    certificate = _certificate("an authority of tests", key)
    path = folder / "authority.pem"
    path.write_bytes(certificate.public_bytes(serialization.Encoding.PEM))
    return Authority(path, key, certificate)


def _certificate(
    title: str,
    key: ec.EllipticCurvePrivateKey,
    *,
    days: range = LONG_VALID,
    issuer: Authority | None = None,
    names: Sequence[str] = (),
) -> x509.Certificate:
    name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, title)])
    today = dt.datetime.now(dt.UTC)
    signer = issuer.key if issuer else key
    builder = (
        x509.CertificateBuilder()
        .subject_name(name)
        .issuer_name(issuer.certificate.subject if issuer else name)
        .public_key(key.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(today + dt.timedelta(days=days.start))
        .not_valid_after(today + dt.timedelta(days=days.stop))
        .add_extension(x509.BasicConstraints(ca=issuer is None, path_length=None), critical=True)
        .add_extension(x509.SubjectKeyIdentifier.from_public_key(key.public_key()), critical=False)
        .add_extension(x509.AuthorityKeyIdentifier.from_issuer_public_key(signer.public_key()), critical=False)
    )
    if names:
        builder = builder.add_extension(x509.SubjectAlternativeName([_name(each) for each in names]), critical=False)
    else:
        usage = dict.fromkeys(
            ("digital_signature", "content_commitment", "key_encipherment", "data_encipherment", "key_agreement"), False
        )
        rest = {"key_cert_sign": True, "crl_sign": True, "encipher_only": False, "decipher_only": False}
        builder = builder.add_extension(x509.KeyUsage(**usage, **rest), critical=True)
    return builder.sign(signer, hashes.SHA256())


def _name(text: str) -> x509.GeneralName:
    try:
        return x509.IPAddress(ipaddress.ip_address(text))
    except ValueError:
        return x509.DNSName(text)

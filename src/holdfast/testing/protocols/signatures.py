"""Signatures of thinking, made here so that a foreign or altered one is recognized.

A signature holds the block's place in its response and a digest of its text, sealed, so no other state is needed.
"""

from __future__ import annotations

import base64
import binascii
import hashlib
import hmac
from dataclasses import dataclass

_SEAL = b"the scripted provider of holdfast.testing"


@dataclass(frozen=True, slots=True)
class Signature:
    """The content of a genuine signature."""

    place: int
    digest: bytes

    def fits(self, text: str) -> bool:
        """Return whether the text is the signed one."""
        return self.digest == _digest(text)


def sign(text: str, *, place: int) -> str:
    """Return the signature of the response's thinking block number `place`, from 0."""
    payload = place.to_bytes(2, "big") + _digest(text)
    return base64.b64encode(payload + _seal_of(payload)).decode()


def read_signature(signature: str) -> Signature | None:
    """Return the content of the signature, None if it was not made by `sign`."""
    try:
        payload = base64.b64decode(signature, validate=True)
    except (binascii.Error, ValueError):
        return None
    place, digest, seal = payload[:2], payload[2:34], payload[34:]
    if not hmac.compare_digest(seal, _seal_of(place + digest)):
        return None
    return Signature(int.from_bytes(place, "big"), digest)


def _digest(text: str) -> bytes:
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).digest()


def _seal_of(payload: bytes) -> bytes:
    return hmac.digest(_SEAL, payload, "sha256")

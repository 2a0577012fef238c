"""Large bodies as files named by their content."""

from __future__ import annotations

import hashlib
from pathlib import Path
from typing import Annotated

import msgspec

from holdfast.errors import DamageError
from holdfast.system.bounded_files import read_bounded
from holdfast.system.durable_files import make_folder, replace_file, sync_path
from holdfast.typed_data import decode_json

BLOB_LIMIT = 32 * 1024
"""Bodies longer than this are stored outside the database, where they do not enlarge its log."""

LARGEST_BLOB = 1 << 30
"""Bytes of a body that are read, whatever its reference says."""

_REFERENCE = b'{"blob":'  # an entry's JSON begins with its kind


class _Reference(msgspec.Struct, frozen=True):
    blob: Annotated[str, msgspec.Meta(pattern="^[0-9a-f]{64}$")]
    bytes: int


class Blobs:
    """Large bodies as files named by their SHA-256."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder

    def clear(self) -> None:
        """Delete leftovers of killed writes; never a blob."""
        for left in self._folder.glob(".*"):
            left.unlink(missing_ok=True)

    def put(self, body: bytes) -> bytes:
        """Return what the row stores for `body`. A large body is durable in its file first."""
        if len(body) <= BLOB_LIMIT:
            return body
        name = hashlib.sha256(body).hexdigest()
        path = self._folder / name
        make_folder(self._folder)
        if _has_body(path, body):
            sync_path(self._folder)  # an earlier attempt may have failed between the rename and this
        else:
            replace_file(path, body)
        return msgspec.json.encode(_Reference(blob=name, bytes=len(body)))

    def body(self, stored: bytes) -> bytes:
        """Return the full body of a row; raises `DamageError` if its file is missing or altered."""
        if not stored.startswith(_REFERENCE):
            return stored
        try:
            reference = decode_json(stored, _Reference)
        except (msgspec.DecodeError, UnicodeDecodeError) as error:
            raise DamageError(f"Its reference to a blob cannot be understood ({error}).") from error
        try:
            body = read_bounded(self._folder / reference.blob, min(reference.bytes, LARGEST_BLOB))
        except OSError as error:
            raise DamageError(f"Its blob {reference.blob} cannot be read ({error.strerror}).") from error
        if hashlib.sha256(body).hexdigest() != reference.blob:
            raise DamageError(f"Its blob {reference.blob} was altered.")
        return body


def _has_body(path: Path, body: bytes) -> bool:
    """Return whether the file holds exactly this."""
    try:
        return read_bounded(path, len(body)) == body
    except OSError:
        return False

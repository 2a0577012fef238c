"""Sign-ins at MCP servers: each in the keyring, or in a separate file that only its owner may read.

Each has a separate file, because tokens are renewed while holdfast runs, and that must never write the file with the
providers' keys. The file names the keyring if the tokens are there.
"""

from __future__ import annotations

import fcntl
import hashlib
import os
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path

import msgspec

from holdfast.errors import ConfigInvalid, StorageFailed
from holdfast.providers.credentials import provider_keys
from holdfast.providers.credentials.provider_keys import KeyFile, with_keyring_value
from holdfast.system.durable_files import make_folder
from holdfast.tools.mcp.sign_in import SignIn
from holdfast.typed_data import decode_json


class StoredSignIns:
    """The sign-ins whose files are next to the key file `keys`."""

    def __init__(self, keys: Path) -> None:
        self._keys = keys

    def read(self, url: str) -> SignIn | None:
        """Return the sign-in at a server, None if there is none. Raise `ConfigInvalid`."""
        name, file = self._of(url)
        stored = with_keyring_value(file.read(), name)
        if name not in stored:
            return None
        try:
            sign_in = decode_json(stored[name].value.encode(), SignIn)
        except (msgspec.DecodeError, UnicodeError) as error:  # their messages quote no content
            raise ConfigInvalid(
                f"The stored sign-in at {url!r} is damaged: {error}. Sign out and in again: holdfast mcp logout, login."
            ) from error
        return sign_in if sign_in.url == url else None

    def write(self, sign_in: SignIn) -> None:
        """Store a sign-in durably, in place of the one before. Raise `ConfigInvalid` or `StorageFailed`."""
        name, file = self._of(sign_in.url)
        stored = file.read().get(name)
        in_file = bool(provider_keys.unavailable_reason()) if stored is None else stored.source == "file"
        file.keep(name, msgspec.json.encode(sign_in).decode(), place="file" if in_file else "keyring")

    def forget(self, url: str) -> bool:
        """Delete a sign-in. Return whether there was one. Raise `ConfigInvalid` or `StorageFailed`."""
        name, file = self._of(url)
        return file.forget(name)

    @contextmanager
    def locked(self, url: str) -> Generator[None]:
        """Keep other processes from renewing the sign-in until this ends; waits for them. Raise `StorageFailed`."""
        name, _ = self._of(url)
        path = self._keys.with_name(f"{name}.lock")
        try:
            make_folder(path.parent)
            descriptor = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW, 0o600)
        except OSError as error:
            raise StorageFailed(
                f"File {str(path)!r} cannot be opened: {error.strerror}. Fix the permissions of its folder."
            ) from error
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX)
            yield
        finally:
            os.close(descriptor)

    def _of(self, url: str) -> tuple[str, KeyFile]:
        name = f"mcp-{hashlib.sha256(url.encode()).hexdigest()[:32]}"
        return name, KeyFile(self._keys.with_name(f"{self._keys.name}.{name}"))

"""A config file that holdfast changes: one setting at a time, atomically, without losing changes of other processes.

Interruption rules. The new text replaces the old one atomically, so a crash leaves one of them. Read, change and
replacement happen under a lock on the folder (it leaves no file behind), so two processes that change settings at once
lose nothing. A file that does not decode is never written, nor is a text that would not.
"""

from __future__ import annotations

import fcntl
import os
import stat
import time
from collections.abc import Callable, Generator
from contextlib import contextmanager
from pathlib import Path
from typing import Generic, TypeVar

import msgspec

from holdfast.config.settings import Config, ProjectConfig, decoded
from holdfast.errors import ConfigInvalid, StorageFailed
from holdfast.system.bounded_files import STATE_FILE, read_bounded
from holdfast.system.durable_files import make_folder, replace_file

LOCK_PATIENCE = 5.0
"""Seconds to wait for another process that writes."""

_PAUSE = 0.02

FileSettings = TypeVar("FileSettings", Config, ProjectConfig)


class TextChange(msgspec.Struct, frozen=True):
    """The bytes of a file before and after a change; `before` is None if there was no file."""

    before: bytes | None
    after: bytes


class SettingsFile(Generic[FileSettings]):
    """The config file at `path`, which need not exist; `kind` is the type of its content."""

    def __init__(self, path: Path, kind: type[FileSettings], *, shared: bool = False) -> None:
        """With `shared`, a new file is readable by others, as the files of a project are."""
        self.path = path
        self._kind: type[FileSettings] = kind
        self._new_mode = 0o644 if shared else 0o600

    def change(
        self,
        edit: Callable[[str], str],
        *,
        check: Callable[[FileSettings], None] = lambda _: None,
        before: Callable[[bytes | None], None] = lambda _: None,
    ) -> TextChange:
        """Replace the file's text by what `edit` returns for it, durably.

        `before` sees the old bytes, `check` the new settings: each may raise to prevent it. Raise `ConfigInvalid` if
        either text does not decode, `StorageFailed` if the file cannot be written.
        """
        real = Path(os.path.realpath(self.path))  # a link to the user's collection of settings stays one
        try:
            make_folder(real.parent)
            with _locked(real.parent):
                raw, mode = _read(real, self._new_mode)
                before(raw)
                old = raw or b""
                decoded(old, self._kind, name=str(self.path))
                new = edit(old.decode()).encode()
                check(decoded(new, self._kind, name=str(self.path)))
                if new != raw:
                    replace_file(real, new, mode=mode)
                return TextChange(raw, new)
        except OSError as error:
            raise StorageFailed(
                f"Cannot write the config {str(self.path)!r}: {error.strerror}. Nothing was changed. "
                "Fix its permissions, or free some disk space."
            ) from error


def _read(path: Path, mode: int) -> tuple[bytes | None, int]:
    """Return the file's bytes and mode; None and `mode` if there is no file."""
    try:
        return read_bounded(path, STATE_FILE), stat.S_IMODE(path.stat().st_mode)
    except FileNotFoundError:
        return None, mode
    except OSError as error:
        raise ConfigInvalid(
            f"Config {str(path)!r} cannot be read: {error.strerror}. Fix that, or remove it."
        ) from error


@contextmanager
def _locked(folder: Path) -> Generator[None]:
    """Hold the lock on the folder's files. Raise `StorageFailed` if another process keeps it."""
    descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        until = time.monotonic() + LOCK_PATIENCE
        while True:
            try:
                fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
                break
            except BlockingIOError:
                if time.monotonic() > until:
                    raise StorageFailed(
                        f"Another process has been changing the settings in {str(folder)!r} for {LOCK_PATIENCE:.0f} s. "
                        "Nothing was changed. Try again."
                    ) from None
                time.sleep(_PAUSE)
        yield
    finally:
        os.close(descriptor)

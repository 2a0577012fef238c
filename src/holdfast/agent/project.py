"""A project's own config: where it is, and what it says.

Two rules. It is read as what anybody may have written. Nothing of it counts until a person trusts exactly these bytes.
"""

from __future__ import annotations

import hashlib
import os
import stat
from dataclasses import dataclass
from pathlib import Path

from holdfast.config import ProjectConfig, decoded
from holdfast.errors import ConfigInvalid
from holdfast.tools.patterns import unmatchable
from holdfast.tools.repository import repository

NAME = Path(".holdfast", "config.toml")
"""Where it is in its project."""

LARGEST = 65_536


@dataclass(frozen=True, slots=True)
class ProjectFile:
    """The config of the project at `root`, as it was read."""

    root: Path
    raw: bytes

    @property
    def path(self) -> Path:
        """Return where it was read."""
        return self.root / NAME

    @property
    def digest(self) -> str:
        """Return the hash of exactly this."""
        return hashlib.sha256(self.raw).hexdigest()

    def config(self) -> ProjectConfig:
        """Return what it says; raises `ConfigInvalid` naming file, key and reason."""
        config = decoded(self.raw, ProjectConfig, name=str(self.path))
        for pattern in config.allow.patterns:
            if why := unmatchable(pattern):
                raise ConfigInvalid(
                    f"Config {str(self.path)!r} allows nothing in one place. {why} Correct or remove it."
                )
        return config


def project_file(cwd: Path, own: Path) -> ProjectFile | None:
    """Return the config of the project that `cwd` is in, None if it has none.

    The person's `own` is never taken for one. It is the nearest from `cwd` up to the root of the repository. Raises
    `ConfigInvalid` if it cannot be read.
    """
    top = repository(cwd) or cwd
    for folder in (cwd, *cwd.parents):
        path = folder / NAME
        if os.path.lexists(path) and not (own.exists() and path.exists() and path.samefile(own)):
            return ProjectFile(folder, _read(path))
        if folder == top:
            break
    return None


def _read(path: Path) -> bytes:
    refused = f"Config {str(path)!r} of this project cannot be read: "
    try:
        descriptor = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)  # a pipe is not waited for
        with os.fdopen(descriptor, "rb") as file:
            if not stat.S_ISREG(os.fstat(descriptor).st_mode):
                raise ConfigInvalid(f"{refused}it is no file, one was expected. Remove it.")
            raw = file.read(LARGEST + 1)
    except OSError as error:
        raise ConfigInvalid(f"{refused}{error.strerror}, a readable file was expected. Correct it.") from error
    if len(raw) > LARGEST:
        raise ConfigInvalid(f"{refused}it is too long, at most {LARGEST} bytes were expected. Shorten it.")
    return raw

"""A project's own config: find it and read it.

Its content is not trusted: any contributor may have written it. It has no effect until the user trusts exactly these
bytes.
"""

from __future__ import annotations

import hashlib
import os
from pathlib import Path

import msgspec

from holdfast.config.settings import ProjectConfig, decoded
from holdfast.errors import ConfigInvalid
from holdfast.system.bounded_files import read_bounded
from holdfast.system.git import repository

CONFIG_PATH = Path(".holdfast", "config.toml")
"""Its path in the project."""

LARGEST_CONFIG = 65_536


class ProjectFile(msgspec.Struct, frozen=True):
    """The config of the project at `root`, as read from disk."""

    root: Path
    raw: bytes

    @property
    def path(self) -> Path:
        return self.root / CONFIG_PATH

    @property
    def digest(self) -> str:
        """Return the SHA-256 of its bytes."""
        return hashlib.sha256(self.raw).hexdigest()

    def config(self) -> ProjectConfig:
        """Decode it. Raise `ConfigInvalid` with file, key and reason."""
        config = decoded(self.raw, ProjectConfig, name=str(self.path))
        if not config.allow.patterns:
            return config
        from holdfast.tools.approval.patterns import unmatchable

        for pattern in config.allow.patterns:
            if why := unmatchable(pattern):
                raise ConfigInvalid(
                    f"Config {str(self.path)!r} has an invalid [allow] pattern. {why} Fix or remove it."
                )
        return config


def project_file(cwd: Path, user_config: Path) -> ProjectFile | None:
    """Return the config of the project that contains `cwd`, None if it has none.

    It is the nearest from `cwd` up to the root of the repository. `user_config` never counts as one. Raise
    `ConfigInvalid` if it cannot be read.
    """
    top = repository(cwd) or cwd
    for folder in (cwd, *cwd.parents):
        path = folder / CONFIG_PATH
        if os.path.lexists(path) and not (user_config.exists() and path.exists() and path.samefile(user_config)):
            return ProjectFile(folder, read_settings_file(path, "Project config"))
        if folder == top:
            break
    return None


def nearest(cwd: Path, name: str) -> Path | None:
    """Return the nearest file called `name` from `cwd` up to the root of the repository, None if there is none."""
    top = repository(cwd) or cwd
    for folder in (cwd, *cwd.parents):
        if (path := folder / name).exists():
            return path
        if folder == top:
            break
    return None


def read_settings_file(path: Path, subject: str, *, most: int = LARGEST_CONFIG) -> bytes:
    """Return the bytes of a settings file. Raise `ConfigInvalid`, with a message that begins with `subject`."""
    refused = f"{subject} {str(path)!r} cannot be read: "
    try:
        return read_bounded(path, most)
    except OSError as error:
        raise ConfigInvalid(f"{refused}{error.strerror}. Fix that, or remove it.") from error

"""The paths of holdfast's files, the config, the sessions and the keys of one user, and of what people bring along."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path
from typing import Literal

import msgspec

from holdfast.system.file_names import folded_path
from holdfast.system.git import repository

KEYS_FILE = "holdfast-keys.json"
"""The file that stores API keys. No tool opens a file of this name, in any directory."""

TOKENS_FILE = "holdfast-tokens.toml"
"""The file with the tokens of `holdfast serve`. No tool opens a file of this name either."""


def holds_keys(name: str) -> bool:
    """Return whether a file of this name holds keys or tokens: such a file, a temporary or a set-aside copy of it."""
    names, name = (KEYS_FILE, TOKENS_FILE), folded_path(name)
    return any(name == each or name.startswith((f"{each}.", f".{each}.")) for each in names)


class Homes(msgspec.Struct, frozen=True):
    """Paths of the config file, the sessions folder and the cache, which may be deleted. None needs to exist."""

    config: Path
    sessions: Path
    cache: Path

    @property
    def keys(self) -> Path:
        """Return the key file. It is next to the sessions because settings folders are often shared or published."""
        return self.sessions.with_name(KEYS_FILE)

    @property
    def plugins(self) -> Path:
        """Return the folder with the user's own plug-ins."""
        return self.config.with_name("plugins")

    @property
    def tokens(self) -> Path:
        """Return the file with the tokens of `holdfast serve`."""
        return self.sessions.with_name(TOKENS_FILE)

    @property
    def service(self) -> Path:
        """Return the folder with the inbox of `holdfast serve`."""
        return self.sessions.with_name("service")

    @property
    def temporary_sessions(self) -> Path:
        """Return the folder of sessions that are deleted when their run ends."""
        return self.sessions.with_name("temporary")

    @property
    def favourites(self) -> Path:
        """Return the file with the user's favourite models."""
        return self.sessions.with_name("favourites.json")

    @property
    def pasted_images(self) -> Path:
        """Return the folder with the latest images that were pasted into prompts."""
        return self.cache / "pasted"

    @property
    def prompts(self) -> Path:
        """Return the file with the prompts of all sessions."""
        return self.sessions.with_name("prompts.jsonl")

    @property
    def model_lists(self) -> Path:
        """Return the folder with the providers' lists of models."""
        return self.cache / "models"


def homes(environ: Mapping[str, str]) -> Homes:
    """Return the paths for `environ`: below HOLDFAST_HOME if it is set, else in the XDG directories."""
    if home := environ.get("HOLDFAST_HOME"):
        root = Path(home).expanduser().absolute()
        return Homes(config=root / "config.toml", sessions=root / "sessions", cache=root / "cache")
    from platformdirs import PlatformDirs  # 4 ms, not needed with HOLDFAST_HOME

    dirs = PlatformDirs("holdfast", appauthor=False)
    return Homes(
        config=dirs.user_config_path / "config.toml",
        sessions=dirs.user_state_path / "sessions",
        cache=dirs.user_cache_path,
    )


PROGRAM_FOLDERS = (".holdfast", ".agents", ".claude", ".codex")
"""The folders of coding agents in a project and in a home, in the order of whose files win."""


class BroughtFolder(msgspec.Struct, frozen=True):
    """A folder with files that people bring along, such as skills: of the user, or `within` a project's top folder."""

    path: Path
    within: Path | None


def brought_folders(kind: Literal["skills", "commands"], root: Path, environ: Mapping[str, str]) -> list[BroughtFolder]:
    """Return the folders of this kind that exist for a workspace (resolved), the ones that win first.

    The workspace's own come first, then those of each folder up to the repository's root, then the user's. Without any
    this costs a few looks at the disk, and is all that a start pays.
    """
    top = repository(root) or root
    ways = [
        BroughtFolder(folder / name / kind, top)
        for folder in (root, *root.parents)
        if folder.is_relative_to(top)
        for name in PROGRAM_FOLDERS
    ]
    ways.append(BroughtFolder(homes(environ).config.with_name(kind), None))
    if home := environ.get("HOME"):
        ways += [BroughtFolder(Path(home, name, kind), None) for name in PROGRAM_FOLDERS]
        if kind == "commands":
            ways.append(BroughtFolder(Path(home, ".codex", "prompts"), None))
    return [each for each in ways if os.path.isdir(each.path)]  # noqa: PTH112 - the start pays for it


def private_folders(environ: Mapping[str, str], session_folder: Path) -> tuple[Path, ...]:
    """Return the real folders of holdfast that no confined program sees: the config, the keys and all sessions."""
    paths = homes(environ)
    return tuple(
        Path(os.path.realpath(each)) for each in (session_folder.parent, paths.config.parent, paths.sessions.parent)
    )

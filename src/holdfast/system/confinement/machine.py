"""What this machine has that a wall shows: system folders, toolchains, caches; and masks for what it hides."""

from __future__ import annotations

import os
import stat
import sys
from collections.abc import Iterable, Mapping
from pathlib import Path

from holdfast.system.confinement.description import Mask, SystemView, is_below, is_within

_SYSTEM = (
    "/usr", "/bin", "/sbin", "/lib", "/lib32", "/lib64", "/libx32", "/etc", "/opt", "/nix", "/gnu", "/sys",
    "/var/lib/dpkg", "/var/cache/man", "/var/cache/fontconfig",
)  # fmt: skip
_SCRATCH = ("/tmp", "/run", "/var/tmp")  # noqa: S108 - each is covered by an empty one

_TOOLCHAIN_VARIABLES = (
    "CARGO_HOME", "RUSTUP_HOME", "PYENV_ROOT", "NVM_DIR", "GOPATH", "GOROOT", "JAVA_HOME", "VIRTUAL_ENV",
)  # fmt: skip
_TOOLCHAINS_AT_HOME = (
    ".cargo", ".rustup", ".pyenv", ".nvm", ".asdf", ".volta", ".bun", ".deno", ".sdkman", ".rbenv", ".gem", "go", ".m2",
    ".gradle", ".npm", ".local/bin", ".local/lib", ".local/pipx", ".local/share/uv", ".local/share/pnpm",
    ".local/share/pipx", ".local/share/mise", ".local/share/fnm", ".local/share/gem", ".local/share/virtualenvs",
    ".gitconfig", ".config/git",
)  # fmt: skip
_OF_ALL_PROGRAMS = (".local", ".local/share", ".local/state", ".config", ".cache", ".var")
"""Folders at home where every program keeps something, mail and browsers too: `~/.local/bin` shows no more of them."""

_TOOL_CACHES = (
    "pip", "uv", "go-build", "yarn", "pnpm", "pypoetry", "pipenv", "pre-commit", "ruff", "mypy", "black", "jedi",
    "node", "node-gyp", "deno", "bun", "typescript", "electron", "prisma", "ms-playwright", "puppeteer", "Cypress",
    "ccache", "sccache", "zig", "bazel", "bazelisk", "golangci-lint", "gopls", "rust-analyzer", "clangd", "cabal",
    "coursier", "composer", "bundle", "hex", "huggingface", "torch", "matplotlib", "fontconfig", "nix",
)  # fmt: skip
"""Of the user's cache, the folders of tools: browsers and mail programs keep there what the user read."""

_PROGRAM_FOLDERS = ("bin", "shims", ".bin", "sbin")

_CACHES_AT_HOME = (
    ".cache/pip", ".cache/uv", ".cache/go-build", ".cache/yarn", ".cache/pypoetry", ".cache/ruff", ".cache/mypy",
    ".npm/_cacache", ".npm/_logs", ".cargo/registry", ".cargo/git", "go/pkg/mod", ".m2/repository", ".gradle/caches",
    ".bun/install/cache", ".local/share/pnpm/store",
)  # fmt: skip
"""Where package tools keep what they fetched. Not all of `.cache`, where programs keep tokens and sockets too."""


def system_view(environ: Mapping[str, str]) -> SystemView:
    """Return the system's folders and links that exist here, and the private folders that a whole view must cover."""
    folders = [path for path in _SYSTEM if os.path.isdir(path) and not os.path.islink(path)]  # noqa: PTH112, PTH114 - as below
    links = [(path, os.readlink(path)) for path in _SYSTEM if os.path.islink(path)]  # noqa: PTH114, PTH115 - as below
    runtime = environ.get("XDG_RUNTIME_DIR", "")
    scratch = {os.path.realpath(path) for path in (*_SCRATCH, runtime) if path and os.access(f"{path}/.", os.F_OK)}
    covered = sorted(path for path in scratch if not any(path != each and is_below(path, each) for each in scratch))
    return SystemView(tuple(folders), tuple(links), tuple(covered))


def toolchain_folders(
    environ: Mapping[str, str], home: str, *, roots: tuple[str, ...], secret: tuple[str, ...] = ()
) -> tuple[str, ...]:
    """Return the folders of programs outside the system's and the workspace's, each with all that belongs to it.

    Of one in a `secret` folder (Docker puts `~/.docker/bin` into PATH) nothing but the programs belongs to it.
    """
    wide = wide_folders(home)
    candidates = [f"{home}/{name}" for name in _TOOLCHAINS_AT_HOME]
    candidates += [f"{home}/.cache/{name}" for name in _TOOL_CACHES]
    candidates += [environ[name].partition(":")[0] for name in _TOOLCHAIN_VARIABLES if environ.get(name)]
    for entry in environ.get("PATH", "").split(":"):
        path = Path(entry)
        if path.is_absolute():
            above = os.path.realpath(path.parent)
            is_part = path.name in _PROGRAM_FOLDERS and not is_too_wide(above, wide) and not is_within(above, secret)
            candidates.append(str(path.parent if is_part else path))
    return tuple(path for path in _existing(candidates, wide, roots) if path not in secret)


def cache_folders(home: str, *, roots: tuple[str, ...]) -> tuple[str, ...]:
    """Return the caches of package tools that exist."""
    return _existing([f"{home}/{name}" for name in _CACHES_AT_HOME], wide_folders(home), roots)


def _existing(paths: Iterable[str], wide: tuple[str, frozenset[str]], roots: tuple[str, ...]) -> tuple[str, ...]:
    """Return the real paths of what exists, without what would show too much or is shown anyway."""
    shown = (*(path for path in _SYSTEM if not os.path.islink(path)), *roots)  # noqa: PTH114 - before each command
    found: dict[str, None] = {}
    for path in paths:
        if not os.access(path, os.R_OK):
            continue
        real = os.path.realpath(path)
        if not is_too_wide(real, wide) and not is_within(real, shown):
            found[real] = None
    return tuple(found)


def wide_folders(home: str) -> tuple[str, frozenset[str]]:
    """Return the real path of home, and those of the folders there that all programs share: for `is_too_wide`."""
    return os.path.realpath(home), frozenset(os.path.realpath(f"{home}/{name}") for name in _OF_ALL_PROGRAMS)


def is_too_wide(real: str, wide: tuple[str, frozenset[str]]) -> bool:
    """Return whether a folder holds far more than a toolchain: home, what home lies in, what all programs share."""
    home, shared = wide
    return real.count("/") <= 1 or real in shared or is_below(home, real)


def python_folders() -> tuple[str, ...]:
    """Return the folders of the Python that runs this, which opens the way out at level `network`."""
    return _existing([sys.base_prefix], wide_folders("/"), ())


def masks_of(paths: Iterable[str]) -> tuple[Mask, ...]:
    """Return a mask for each path that exists and that this user can read; others need none."""
    found: dict[str, Mask] = {}
    for path in paths:
        try:
            status = os.stat(path)  # noqa: PTH116 - a hundred of them before each command
        except OSError:  # it does not exist, or this user does not see it
            continue
        real = os.path.realpath(path)
        if os.access(real, os.R_OK) and (stat.S_ISDIR(status.st_mode) or stat.S_ISREG(status.st_mode)):
            is_folder = stat.S_ISDIR(status.st_mode)
            found[real] = Mask(
                real, is_folder, 0 if is_folder else status.st_size, 0 if is_folder else status.st_mtime_ns
            )
    return tuple(found.values())

"""Runs git for worktrees: with a time limit, without prompts, and with a readable error when it fails.

Names from outside are checked by `outside_values` and stand behind `--` or `--end-of-options`. Git may use no
other transports, and no hooks or monitors: the files of a session may hold a configuration that names programs.
"""

from __future__ import annotations

import os
import subprocess
from collections.abc import Mapping
from pathlib import Path

from holdfast.errors import StateError
from holdfast.fleet.places.outside_values import TRANSPORTS

_RUNS_NOTHING = {"core.hooksPath": os.devnull, "core.fsmonitor": "false", "core.askPass": ""}
_CONFIG = {
    "GIT_CONFIG_COUNT": str(len(_RUNS_NOTHING)),
    **{f"GIT_CONFIG_KEY_{number}": name for number, name in enumerate(_RUNS_NOTHING)},
    **{f"GIT_CONFIG_VALUE_{number}": value for number, value in enumerate(_RUNS_NOTHING.values())},
}
LONGEST = 120.0
"""Seconds for one git command; a clone of a large repository takes that long."""


def git(folder: Path, *arguments: str, environment: Mapping[str, str] | None = None) -> str:
    """Return what git wrote on standard output; raises `StateError` with what it wrote on standard error."""
    environ = {
        name: value for name, value in os.environ.items() if not name.startswith("GIT_") or name == "GIT_SSH_COMMAND"
    }
    quiet = {"GIT_TERMINAL_PROMPT": "0", "LC_ALL": "C", "GIT_OPTIONAL_LOCKS": "0", **_CONFIG}
    quiet["GIT_ALLOW_PROTOCOL"] = ":".join(TRANSPORTS)
    try:
        done = subprocess.run(  # noqa: S603 - no shell; addresses and names are separate arguments
            ["git", *arguments],  # noqa: S607 - the git of the PATH, as in the user's own shell
            cwd=folder,
            env={**environ, **quiet, **(environment or {})},
            check=False,
            capture_output=True,
            text=True,
            errors="replace",
            stdin=subprocess.DEVNULL,
            timeout=LONGEST,
        )
    except FileNotFoundError as error:
        raise StateError("Git is not installed on this worker, and a worktree needs it. Install git.") from error
    except subprocess.TimeoutExpired as error:
        raise StateError(
            f"Command git {arguments[0]} did not end within {LONGEST:g} s. See the repository and the network."
        ) from error
    if done.returncode:
        lines = (done.stderr or done.stdout).strip().splitlines()
        raise StateError(
            f"Command git {arguments[0]} failed: {lines[-1] if lines else done.returncode}. Try it in {str(folder)!r}."
        )
    return done.stdout.strip()


def git_of(clone: Path, folder: Path, *arguments: str, environment: Mapping[str, str] | None = None) -> str:
    """Do what `git` does, in the clone or a worktree of it.

    A session can write into the clone, and a file `commondir` there would make git obey the settings of another folder.
    The variable counts before the file.
    """
    return git(folder, *arguments, environment={**(environment or {}), "GIT_COMMON_DIR": str(clone)})

"""Runs git for worktrees: with a time limit, without prompts, and with a readable error when it fails.

Names from outside are checked by `outside_values` and stand behind `--` or `--end-of-options`. Git may use no
other transports, and no hooks or monitors: the files of a session may hold a configuration that names programs. So a
command in a clone or a worktree is sent the place of its configuration, and looks for no other: a sandbox keeps that.
"""

from __future__ import annotations

import os
import subprocess
from collections.abc import Mapping
from pathlib import Path

from holdfast.errors import StateError
from holdfast.fleet.places.outside_values import TRANSPORTS
from holdfast.system.trusted_programs import trusted_program, trusted_search_path

_RUNS_NOTHING = {
    "core.hooksPath": os.devnull,
    "core.fsmonitor": "false",
    "core.askPass": "",
    "core.alternateRefsCommand": "true",
}
_CONFIG = {
    "GIT_CONFIG_COUNT": str(len(_RUNS_NOTHING)),
    **{f"GIT_CONFIG_KEY_{number}": name for number, name in enumerate(_RUNS_NOTHING)},
    **{f"GIT_CONFIG_VALUE_{number}": value for number, value in enumerate(_RUNS_NOTHING.values())},
}
LONGEST = 120.0
"""Seconds for one git command; a clone of a large repository takes that long."""


def of_clone(clone: Path) -> dict[str, str]:
    """Return what makes git use the clone, whatever its files say of another one."""
    return {"GIT_DIR": str(clone), "GIT_COMMON_DIR": str(clone)}


def of_worktree(clone: Path, entry: Path, folder: Path) -> dict[str, str]:
    """Return what makes git use the worktree in `folder`, with the configuration of its clone and no other."""
    return {"GIT_DIR": str(entry), "GIT_COMMON_DIR": str(clone), "GIT_WORK_TREE": str(folder)}


def git(
    folder: Path,
    *arguments: str,
    environment: Mapping[str, str] | None = None,
    input_text: str = "",
    places: Path | None = None,
) -> str:
    """Return what git wrote on standard output, given `input_text`; raises `StateError` with its last error.

    Paths are not changed on the way, whatever bytes they have. Neither git nor what it starts is a program in `folder`
    or in `places`, where sessions work.
    """
    foreign = (folder, *(() if places is None else (places,)))
    program = trusted_program("git", *foreign)
    if not program:
        raise StateError(
            "Git is not installed on this worker (outside of the sessions' folders), and a worktree needs it. "
            "Install git."
        )
    environ = {
        name: value for name, value in os.environ.items() if not name.startswith("GIT_") or name == "GIT_SSH_COMMAND"
    }
    environ["PATH"] = trusted_search_path(*foreign)
    quiet = {"GIT_TERMINAL_PROMPT": "0", "LC_ALL": "C", "GIT_OPTIONAL_LOCKS": "0", **_CONFIG}
    quiet["GIT_ALLOW_PROTOCOL"] = ":".join(TRANSPORTS)
    try:
        done = subprocess.run(  # noqa: S603 - no shell; addresses and names are separate arguments
            [program, *arguments],
            cwd=folder,
            env={**environ, **quiet, **(environment or {})},
            check=False,
            capture_output=True,
            input=input_text.encode("utf-8", "surrogateescape"),
            timeout=LONGEST,
        )
    except OSError as error:
        raise StateError(f"Git {program!r} could not be run in {str(folder)!r}: {error.strerror}. See both.") from error
    except subprocess.TimeoutExpired as error:
        raise StateError(
            f"Command git {arguments[0]} did not end within {LONGEST:g} s. See the repository and the network."
        ) from error
    if done.returncode:
        lines = (done.stderr or done.stdout).decode("utf-8", "replace").strip().splitlines()
        raise StateError(
            f"Command git {arguments[0]} failed: {lines[-1] if lines else done.returncode}. Try it in {str(folder)!r}."
        )
    return done.stdout.decode("utf-8", "surrogateescape").strip()

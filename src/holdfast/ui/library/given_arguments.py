"""The arguments of `open_session` as a program gave them: each wrong one is a `UsageError` that names it."""

from __future__ import annotations

import errno
import os
from pathlib import Path
from typing import cast

from holdfast.errors import UsageError

LONGEST_SYSTEM = 1_000_000
"""Characters of a program's system prompt, which every request carries."""


def text_argument(argument: str, value: object) -> str:
    """Return a text; raises `UsageError` for anything else."""
    if not isinstance(value, str):
        raise UsageError(f"Argument {argument}= is {type(value).__name__} (expected str).")
    return value


def system_argument(value: object) -> str:
    """Return the system prompt; raises `UsageError` for one that no model takes."""
    system = text_argument("system", value)
    if len(system) > LONGEST_SYSTEM:
        raise UsageError(f"Argument system= has {len(system)} characters (at most {LONGEST_SYSTEM}). Shorten it.")
    return system


def path_argument(argument: str, value: object) -> str:
    """Return a path as text; raises `UsageError` for what no file system takes."""
    path = cast("object", os.fspath(cast("os.PathLike[str]", value))) if hasattr(value, "__fspath__") else value
    if not isinstance(path, str):
        raise UsageError(f"Argument {argument}= is {type(value).__name__} (expected a path as str or Path).")
    try:
        Path(path).stat()
    except ValueError as error:  # a null byte, or text that no file name can hold
        raise UsageError(f"Argument {argument}={path[:200]!r} is no path: {error}. Pass another one.") from error
    except OSError as error:
        if error.errno == errno.ENAMETOOLONG:
            raise UsageError(
                f"Argument {argument}={path[:200]!r}… is too long for a path. Pass a shorter one."
            ) from error
    return path

"""Faults of ours: the traceback that a report needs, kept in a file for its owner alone, without a key in it."""

from __future__ import annotations

import datetime as dt
import platform
from collections.abc import Mapping
from contextlib import suppress

from holdfast import __version__
from holdfast.agent.keys import KeyFile, with_keys
from holdfast.agent.logfile import LogFile
from holdfast.agent.secrets import hidden, secrets_of
from holdfast.config import homes
from holdfast.errors import HoldfastError
from holdfast.session.disk import make_folder

NAME = "faults.log"
"""The file, beside the folder of sessions."""


def keep(trace: str, *, environ: Mapping[str, str], secrets: tuple[str, ...] = ()) -> tuple[str, str]:
    """Append a traceback to the file; return it without a key in it, and where it is now, or why it is nowhere.

    Keys are those of the environment, those that are kept in a file, and the `secrets`.
    """
    with suppress(HoldfastError, RuntimeError):  # keys that cannot be read were not used either
        environ = with_keys(environ, KeyFile(homes(environ).keys).read())
    shown = hidden(trace, (*secrets, *secrets_of(environ)))
    try:
        path = homes(environ).sessions.parent / NAME
        make_folder(path.parent)
        file = LogFile(path)
        try:
            file.write(f"{_head()}\n{shown}".encode("ascii", "backslashreplace").decode())
        finally:
            file.close()
    except (OSError, RuntimeError) as error:  # nowhere to write, or no home to write in
        return shown, f"in no file: {error}"
    return shown, f"kept in {path}, without your keys"


def _head() -> str:
    """Return what a report begins with."""
    at = dt.datetime.now(dt.UTC).isoformat(timespec="seconds")
    return f"{at} holdfast {__version__}, Python {platform.python_version()}, {platform.platform()}"

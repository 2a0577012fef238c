"""Crash reports: the traceback of a bug in holdfast, stored in a file for its owner only, with keys redacted."""

from __future__ import annotations

import datetime as dt
import platform
import traceback
from collections.abc import Callable, Mapping
from contextlib import suppress

from holdfast import __version__
from holdfast.agent.debug_log.log_file import LogFile
from holdfast.errors import HoldfastError
from holdfast.providers.credentials.provider_keys import KeyFile, with_keys
from holdfast.providers.credentials.redaction import redact, secrets_of
from holdfast.system.durable_files import make_folder
from holdfast.system.user_directories import homes
from holdfast.text import printable

CRASH_LOG = "faults.log"
"""The file name, next to the sessions folder."""


def keep_traceback(trace: str, *, environ: Mapping[str, str], secrets: tuple[str, ...] = ()) -> tuple[str, str]:
    """Append a traceback to the file. Return it redacted, and where it is stored, or why it is not.

    Redacted are the keys of the environment, those of the key file, and the `secrets`.
    """
    with suppress(HoldfastError, RuntimeError):  # unreadable keys were not used either
        environ = with_keys(environ, KeyFile(homes(environ).keys).read())
    shown = redact(trace, (*secrets, *secrets_of(environ)))
    try:
        path = homes(environ).sessions.parent / CRASH_LOG
        make_folder(path.parent)
        file = LogFile(path)
        try:
            file.write(f"{_head()}\n{shown}".encode("ascii", "backslashreplace").decode())
        finally:
            file.close()
    except (OSError, RuntimeError) as error:  # not writable, or no home directory
        return shown, f"not stored: {error}"
    return shown, f"stored in {path}, without your keys"


def internal_error(error: Exception | None, keep: Callable[[str], tuple[str, str]]) -> str:
    """Return the message about a bug that closes the screen. `keep` stores and redacts the traceback."""
    details = "".join(traceback.format_exception(error)) if error else traceback.format_exc()
    trace, location = keep(details)
    message = "Internal error. This is a bug in holdfast. Your session is saved; run `holdfast -c` to continue."
    return f"{message} Please report it with the following traceback ({location}).\n\n{printable(trace)}"


def _head() -> str:
    """Return the first line of a report."""
    at = dt.datetime.now(dt.UTC).isoformat(timespec="seconds")
    return f"{at} holdfast {__version__}, Python {platform.python_version()}, {platform.platform()}"

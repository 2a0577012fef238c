"""Open the debug log of a run if --debug is given, and report its path."""

from __future__ import annotations

import contextlib
import platform
import sys
from collections.abc import Callable, Generator
from contextlib import contextmanager
from typing import TYPE_CHECKING

from holdfast import __version__
from holdfast.errors import StateError
from holdfast.text import literal
from holdfast.ui.startup.run_options import RunOptions

if TYPE_CHECKING:
    from holdfast.agent.debug_log.log import Log

NAME = "debug.log"
"""The log's file name in the session's folder."""


@contextmanager
def debug_log(options: RunOptions, session: str, *, notify: Callable[[str], None]) -> Generator[Log | None]:
    """Yield the debug log of a session with --debug, else None; `notify` reports its path."""
    if not options.arguments.debug:
        yield None
        return
    from holdfast.agent.debug_log.log_file import LogFile

    path = options.catalog.folder(session) / NAME
    try:
        file = LogFile(path)
    except OSError as error:
        raise StateError(
            f"Cannot open the debug log {str(path)!r}: {error.strerror}. Fix its permissions, or leave out --debug."
        ) from error
    try:
        notify(f"debug log: {path}")
        from holdfast.agent.debug_log.log import Log

        log = Log(file.write, session=session, secrets=options.secrets, providers=options.providers)
        log.record("opened", version=__version__, python=platform.python_version(), system=platform.platform())
        yield log
    finally:
        file.close()


def debug_log_note(text: str) -> None:
    """Print a line on standard error."""
    with contextlib.suppress(OSError):  # standard error may be closed
        print(literal(f"holdfast: {text}"), file=sys.stderr, flush=True)

"""The debug log of a run: opened if --debug asks for it, and said where it is."""

from __future__ import annotations

import contextlib
import platform
import sys
from collections.abc import Callable, Generator, Mapping
from contextlib import contextmanager
from pathlib import Path

from holdfast import __version__
from holdfast.agent.log import Log
from holdfast.agent.providers import Providers
from holdfast.errors import StateError
from holdfast.text import literal

NAME = "debug.log"
"""The log's file in the folder of its session."""


@contextmanager
def debug_log(
    folder: Path,
    *,
    session: str,
    environ: Mapping[str, str],
    providers: Providers,
    wanted: bool,
    say: Callable[[str], None] | None = None,
) -> Generator[Log | None]:
    """Give the debug log of a session if it is `wanted`, else None; say where it is, on standard error by default."""
    if not wanted:
        yield None
        return
    from holdfast.agent.logfile import LogFile  # noqa: PLC0415 - only --debug needs these
    from holdfast.agent.secrets import secrets_of  # noqa: PLC0415 - likewise

    path = folder / NAME
    try:
        file = LogFile(path)
    except OSError as error:
        raise StateError(
            f"Debug log {str(path)!r} cannot be opened: {error.strerror}, a file of yours was expected. Correct that, "
            "or leave out --debug."
        ) from error
    try:
        (say or note)(f"debug log: {path}")
        secrets = secrets_of(environ, providers)
        log = Log(file.write, session=session, secrets=secrets, providers=providers)
        log.record("opened", version=__version__, python=platform.python_version(), system=platform.platform())
        yield log
    finally:
        file.close()


def note(text: str) -> None:
    """Say something on standard error."""
    with contextlib.suppress(OSError):  # nobody may hear it
        print(literal(f"holdfast: {text}"), file=sys.stderr, flush=True)

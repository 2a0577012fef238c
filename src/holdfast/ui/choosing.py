"""Which session a run is to go on with, from its options: the same for every interface."""

from __future__ import annotations

from pathlib import Path

from holdfast.errors import SessionUnknown, UsageError
from holdfast.session.catalog import Catalog, Summary
from holdfast.ui.arguments import Arguments


def chosen(catalog: Catalog, arguments: Arguments, *, cwd: Path) -> Summary | None:
    """Return the session that -c or -r names, None if a new one is meant; raises `UsageError` or `SessionUnknown`."""
    if arguments.fork and not (arguments.continue_ or arguments.resume):
        raise UsageError("Option --fork needs a session to copy, -c or -r ID was expected. Add one of them.")
    if arguments.continue_ and arguments.resume is not None:
        raise UsageError(
            f"Option --continue contradicts --resume {arguments.resume!r}, one of them was expected. Leave one out."
        )
    if arguments.resume is not None:
        summary = catalog.find(arguments.resume)
        if arguments.cwd is not None and summary.cwd and Path(summary.cwd) != cwd:
            raise UsageError(
                f"Folder {str(cwd)!r} is not where session {summary.id!r} works, {summary.cwd!r} was expected. "
                "Leave -C out, or begin a new session there."
            )
        return summary
    if not arguments.continue_:
        return None
    latest = catalog.latest(cwd)
    if latest is None:
        raise SessionUnknown(
            f"Folder {str(cwd)!r} has no session to continue, at least one was expected. "
            "Begin one without -c, or name one with -r ID: holdfast sessions list."
        )
    return latest

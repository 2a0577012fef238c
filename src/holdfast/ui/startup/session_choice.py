"""Which session and which folder a run opens."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from pathlib import Path

import msgspec

from holdfast.errors import SessionBusy, SessionUnknown, UsageError
from holdfast.session.catalog import Catalog, SessionSummary
from holdfast.system.git import repository_names
from holdfast.ui.startup.arguments import Arguments


def chosen_session(
    catalog: Catalog,
    arguments: Arguments,
    *,
    cwd: Path,
    free: bool = True,
    notify: Callable[[str], None] = lambda _: None,
) -> SessionSummary | None:
    """Return the session of -c or -r, None for a new one. Raise `UsageError` or `SessionUnknown`.

    -c is the newest session that no other process has open; `notify` is called if a newer one is open elsewhere. With
    `free`, raise `SessionBusy` if all are open elsewhere, or if the one of -r is. A copy does not need a free session.
    """
    if arguments.no_session and (arguments.continue_ or arguments.resume is not None):
        raise UsageError("--no-session is for new sessions. Leave out -c, -r and --fork, or leave out --no-session.")
    if arguments.fork and not (arguments.continue_ or arguments.resume):
        raise UsageError("--fork needs a session to copy. Add -c or -r ID.")
    if arguments.continue_ and arguments.resume is not None:
        raise UsageError(f"Options --continue and --resume {arguments.resume!r} conflict. Use only one of them.")
    if arguments.resume == "":
        raise UsageError("--resume needs a session ID here. List them with: holdfast sessions list.")
    if arguments.resume is not None:
        summary = catalog.find(arguments.resume, free=free and not arguments.fork)
        if arguments.cwd is not None and summary.cwd and Path(summary.cwd) != cwd:
            if free:  # the screen shows the entry
                notify(f"Continuing session {summary.id} in {str(cwd)!r}; it worked in {summary.cwd!r} before.")
            return msgspec.structs.replace(summary, cwd=str(cwd), moved_by="resume")
        return summary if summary.cwd else msgspec.structs.replace(summary, cwd=str(cwd))  # its entry may be damaged
    if not arguments.continue_:
        return None
    latest = catalog.latest(cwd) if arguments.fork else _latest_free(catalog, cwd, free=free, notify=notify)
    if latest is None:
        moved = next(lost_sessions(catalog.all(), cwd), None)
        raise SessionUnknown(
            f"No session to continue in {str(cwd)!r}. Start one with `holdfast`, or pass -r ID: holdfast sessions list."
            if moved is None
            else f"No session to continue in {str(cwd)!r}. Session {moved.id} of the same repository worked in "
            f"{moved.cwd!r}, which does not exist any more. Continue it here: holdfast -r {moved.id} -C ."
        )
    return latest


def lost_sessions(summaries: Iterable[SessionSummary], here: Path) -> Iterator[SessionSummary]:
    """Yield the sessions of the repository of the folder `here` whose own folder does not exist any more."""
    names: frozenset[str] | None = None
    for summary in summaries:
        if summary.repository and summary.cwd and not Path(summary.cwd).is_dir():
            names = frozenset(repository_names(here)) if names is None else names
            if names.intersection(summary.repository):
                yield summary


def _latest_free(catalog: Catalog, cwd: Path, *, free: bool, notify: Callable[[str], None]) -> SessionSummary | None:
    try:
        latest, newer = catalog.latest_free(cwd)
    except SessionBusy:
        if free:
            raise
        return catalog.latest(cwd)
    if newer:
        notify(f"The newest session here, {newer}, is open in another process: continuing the one before it.")
    return latest


def working_directory(cwd: str | None) -> Path:
    """Return the directory to work in, absolute and resolved. Raise `UsageError` if -C is not a directory."""
    path = Path(cwd or ".")
    try:
        resolved = path.resolve(strict=True)
    except OSError as error:
        raise UsageError(
            f"Cannot use directory {str(path)!r}: {error.strerror}. Pass an existing directory with -C."
        ) from error
    if not resolved.is_dir():
        raise UsageError(f"-C {str(path)!r} is not a directory. Pass an existing directory.")
    return resolved

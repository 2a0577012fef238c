"""`holdfast` without -p: the full screen, from the terminal taken to the terminal given back."""

from __future__ import annotations

import codecs
import gc
import os
import signal
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING

from holdfast.agent.project import ProjectFile
from holdfast.config import ProjectConfig, homes, read_config
from holdfast.errors import EXIT_OK, HoldfastError, UsageError
from holdfast.session.catalog import Catalog
from holdfast.ui.arguments import Arguments
from holdfast.ui.choosing import Settings, chosen, folder, judge_project, project_config, settings_of
from holdfast.ui.tui.guard import guarded
from holdfast.ui.tui.start import Start

if TYPE_CHECKING:
    from holdfast.ui.tui.app import Screen
    from holdfast.ui.tui.connections import Connections

ESCAPE_DELAY = "25"
"""Milliseconds after which a lone ESC is the key; vim's number."""

SWITCH = 0.001
"""Seconds for which one thread may keep the others from Python; a key passes from thread to thread some ten times."""

NO_SCREEN = frozenset({"dumb", "unknown"})
"""What TERM says of a terminal that only takes lines."""

PATIENCE = 5.0
"""Seconds that a turn, its tools and its connections have to end when the screen is gone; they need one."""


def main(arguments: Arguments, *, environ: Mapping[str, str]) -> int:
    """Show the screen until the person leaves and return the exit code; raises `HoldfastError` if it cannot begin."""
    gc.disable()  # until everything is imported: none of it is garbage
    if not (sys.stdin.isatty() and sys.stdout.isatty()):
        raise UsageError(
            "Standard input or output is not a terminal, one was expected for the full screen. "
            'For one turn without a screen: holdfast -p "…".'
        )
    if environ.get("TERM") in NO_SCREEN:
        raise UsageError(
            f"Terminal {environ['TERM']!r} can draw no screen, a cursor that moves was expected. Correct TERM; "
            'or for one turn without a screen: holdfast -p "…".'
        )
    start, settings = _prepared(arguments, environ, trust=arguments.trust_project)
    sys.setswitchinterval(SWITCH)
    os.environ.setdefault("ESCDELAY", ESCAPE_DELAY)  # read by Textual when it is imported
    with guarded() as hand_over:
        from holdfast.ui.tui.app import Screen  # noqa: PLC0415 - after the fork, which wants one thread
        from holdfast.ui.tui.connections import Connections  # noqa: PLC0415 - likewise
        from holdfast.ui.tui.keyboard import Keyboard  # noqa: PLC0415 - likewise

        while True:
            connections = Connections(settings.environ, settings.limits, settings.providers, keys=settings.keys)
            screen = Screen(start, connections, settings.limits, keyboard=Keyboard)
            gc.freeze()
            gc.enable()
            hand_over()
            code = screen.run()
            if not screen.wants_setup:
                break
            _close(screen, connections)
            model, problem = _set_up(environ)
            start, settings = _prepared(arguments, environ, session=screen.session, model=model, notice=problem)
    _close(screen, connections)
    if screen.died_of is not None:
        signal.signal(screen.died_of, signal.SIG_DFL)
        signal.raise_signal(screen.died_of)
    return (screen.return_code or EXIT_OK) if code is None else code


def _close(screen: Screen, connections: Connections) -> None:
    if not screen.agent.close(PATIENCE):
        print("holdfast: something of the last turn has not ended; what was finished is kept.", file=sys.stderr)
    connections.close()


def _set_up(environ: Mapping[str, str]) -> tuple[str, str]:
    """Return the model that the person set up, "" if none, and what went wrong, "" if nothing did."""
    from holdfast.ui.setup import set_up  # noqa: PLC0415 - few need it, and once

    try:
        return set_up(environ), ""
    except HoldfastError as error:
        return "", str(error)


def _prepared(
    arguments: Arguments,
    environ: Mapping[str, str],
    *,
    session: str | None = None,
    model: str = "",
    notice: str = "",
    trust: bool | None = None,
) -> tuple[Start, Settings]:
    """Return what the screen begins with, and what it goes by; the person may be asked whether they trust a project.

    It is shown anew with the `session` and the `model` that are named: None and "" mean those of the arguments. `trust`
    is what is said of the project as it is now.
    """
    places = homes(environ)
    own = read_config(places.config)
    cwd = folder(arguments.cwd)
    catalog = Catalog(places.sessions)
    choose = session is None and arguments.resume == "" and not arguments.continue_ and not arguments.fork
    if session is not None:
        resumed = catalog.find(session) if session else None
    else:  # what is in use is offered as a copy, or to read
        resumed = None if choose else chosen(catalog, arguments, cwd=cwd, free=False)
    where = Path(resumed.cwd) if resumed is not None and resumed.cwd else cwd
    notices = [*([notice] if notice else []), *_encoding(sys.stderr.encoding)]
    judge_project(environ, where, trusted=trust)
    project = project_config(environ, where, ask=_trusts, say=notices.append)
    settings = settings_of(arguments, environ, own=own, project=project)
    config = settings.config
    start = Start(
        catalog=catalog,
        cwd=cwd,
        model=model or arguments.model or (resumed.model if resumed else "") or config.model or "",
        mode=settings.mode,
        environ=environ,
        resumed=resumed,
        fork=arguments.fork and session is None,
        choose=choose,
        debug=arguments.debug,
        pid_namespace=config.pid_namespace,
        addresses=config.fetch.addresses,
        context=config.context,
        arguments=arguments,
        notices=(*notices, *([settings.unread] if settings.unread else [])),
    )
    return start, settings


def _encoding(name: str) -> list[str]:
    """Return what is said of a terminal that is written to in the encoding of that name: nothing of UTF-8."""
    if codecs.lookup(name).name == "utf-8":
        return []
    return [f"Terminal is written to in {name}, UTF-8 was expected: other signs are ?. Set LANG=C.UTF-8, for example."]


def _trusts(file: ProjectFile, config: ProjectConfig) -> bool:
    from holdfast.ui.asking import trusts  # noqa: PLC0415 - few projects have a config, and are asked about once

    return trusts(file, config)

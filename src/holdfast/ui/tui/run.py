"""`holdfast` without -p: the full screen, from the terminal taken to the terminal given back."""

from __future__ import annotations

import gc
import os
import signal
import sys
from collections.abc import Mapping

from holdfast.agent.providers import known_providers
from holdfast.calls import Mode
from holdfast.config import homes, read_config
from holdfast.errors import EXIT_OK, UsageError
from holdfast.session.catalog import Catalog
from holdfast.ui.arguments import Arguments
from holdfast.ui.choosing import chosen, folder, limits_of
from holdfast.ui.tui.guard import guarded

ESCAPE_DELAY = "25"
"""Milliseconds after which a lone ESC is the key; vim's number."""

SWITCH = 0.001
"""Seconds for which one thread may keep the others from Python; a key passes from thread to thread some ten times."""

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
    places = homes(environ)
    config = read_config(places.config)
    providers = known_providers(config.providers)
    limits = limits_of(config, arguments, providers)
    mode: Mode = "yolo" if arguments.yolo else arguments.permission_mode or config.permission_mode
    cwd = folder(arguments.cwd)
    catalog = Catalog(places.sessions)
    choose = arguments.resume == "" and not arguments.continue_ and not arguments.fork
    resumed = (
        None if choose else chosen(catalog, arguments, cwd=cwd, free=False)
    )  # what is in use is offered as a copy, or to read
    sys.setswitchinterval(SWITCH)
    os.environ.setdefault("ESCDELAY", ESCAPE_DELAY)  # read by Textual when it is imported
    with guarded() as hand_over:
        from holdfast.ui.tui.app import Screen  # noqa: PLC0415 - after the fork, which wants one thread
        from holdfast.ui.tui.connections import Connections  # noqa: PLC0415 - likewise
        from holdfast.ui.tui.desk import Start  # noqa: PLC0415 - likewise
        from holdfast.ui.tui.keyboard import Keyboard  # noqa: PLC0415 - likewise

        start = Start(
            catalog=catalog,
            cwd=cwd,
            model=arguments.model or (resumed.model if resumed else config.model) or "",
            mode=mode,
            environ=environ,
            resumed=resumed,
            fork=arguments.fork,
            choose=choose,
            debug=arguments.debug,
            pid_namespace=config.pid_namespace,
            addresses=config.fetch.addresses,
            context=config.context,
        )
        connections = Connections(environ, limits, providers)
        screen = Screen(start, connections, limits, keyboard=Keyboard)
        gc.freeze()
        gc.enable()
        hand_over()
        code = screen.run()
    if not screen.agent.close(PATIENCE):
        print("holdfast: something of the last turn has not ended; what was finished is kept.", file=sys.stderr)
    connections.close()
    if screen.died_of is not None:
        signal.signal(screen.died_of, signal.SIG_DFL)
        signal.raise_signal(screen.died_of)
    return EXIT_OK if code is None else code

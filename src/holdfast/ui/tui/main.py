"""`holdfast` without -p: the full screen, from taking the terminal to restoring it."""

from __future__ import annotations

import codecs
import gc
import os
import shutil
import signal
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING

import msgspec

from holdfast.config.settings import ScreenKind, read_config
from holdfast.errors import EXIT_OK, HoldfastError, UsageError
from holdfast.providers.credentials.process_environment import remove_keys
from holdfast.session.catalog import Catalog
from holdfast.system.user_directories import homes
from holdfast.ui.advice import SCREEN, with_advice
from holdfast.ui.startup.arguments import Arguments
from holdfast.ui.startup.project_trust import judge_project
from holdfast.ui.startup.run_options import RunOptions, run_options
from holdfast.ui.startup.session_choice import chosen_session, working_directory
from holdfast.ui.tui.terminal.terminal_restore import RESET, RESET_INLINE, terminal_guard

if TYPE_CHECKING:
    from holdfast.ui.tui.agent_thread.model_connections import Connections
    from holdfast.ui.tui.app import HoldfastApp

ESCAPE_DELAY = "10"
"""Milliseconds after which a lone ESC is a key press: tmux's `escape-time` since 3.5."""

SWITCH = 0.001
"""Seconds for which a thread may hold the GIL; a key press passes between threads about ten times."""

NO_SCREEN = frozenset({"dumb", "unknown"})
"""Values of TERM for terminals without cursor control, which get plain text."""

_PATIENCE = 5.0
"""Seconds for a turn, its tools and its connections to end after the screen has closed; usually one is enough."""


def main(arguments: Arguments, *, environ: Mapping[str, str]) -> int:
    """Run the screen and return the exit code. Raise `HoldfastError` if it cannot start."""
    if arguments.screen != "plain" and not (sys.stdin.isatty() and sys.stdout.isatty()):
        raise UsageError(
            "The screen needs a terminal, but standard input or output is not one. "
            'For one turn without a screen: holdfast -p "…".'
        )
    kind = screen_kind(arguments, environ)
    if kind == "plain":
        from holdfast.ui.plain.main import main as plain_main

        return plain_main(arguments, environ=environ)
    gc.disable()  # during the imports, which create no garbage
    options = _prepare_options(arguments, environ, trust=arguments.trust_project)
    sys.setswitchinterval(SWITCH)
    os.environ.setdefault("ESCDELAY", ESCAPE_DELAY)  # read by Textual when it is imported
    inline = kind == "inline"
    with terminal_guard(RESET_INLINE if inline else RESET) as guard:
        from holdfast.ui.tui.agent_thread.model_connections import Connections
        from holdfast.ui.tui.app import HoldfastApp  # after the fork, which wants one thread
        from holdfast.ui.tui.choices import SET_UP

        if inline:
            from holdfast.ui.tui.terminal.inline_screen import InlineScreen as Keyboard
        else:
            from holdfast.ui.tui.terminal.keyboard import Keyboard

        Keyboard.on_terminal = guard.report
        while True:
            connections = Connections(options)
            screen = HoldfastApp(options, connections, keyboard=Keyboard, inline=inline)
            gc.freeze()
            gc.enable()
            guard.hand_over()
            code = screen.run(mouse=options.config.mouse and not inline)
            if code != SET_UP:
                break
            _close(screen, connections)
            guard.report(in_use=True)  # the setup hides what is typed
            model, problem = _set_up(environ)
            options = _prepare_options(
                arguments, environ, session=screen.controller.session, model=model, notice=problem
            )
    _close(screen, connections)
    if screen.exit_signal is not None:
        signal.signal(screen.exit_signal, signal.SIG_DFL)
        signal.raise_signal(screen.exit_signal)
    ended = (screen.return_code or EXIT_OK) if code is None else code
    if ended == EXIT_OK:
        _print_farewell(screen, answer=not inline)
    return ended


def screen_kind(arguments: Arguments, environ: Mapping[str, str]) -> ScreenKind:
    """Return how to show the conversation: by the terminal's abilities, else the command line, else the config."""
    if environ.get("TERM") in NO_SCREEN:
        return "plain"
    return arguments.screen or read_config(homes(environ).config).ui.screen


def _print_farewell(screen: HoldfastApp, *, answer: bool) -> None:
    """Print the lines that stay in the terminal; none if the screen showed no session, or an empty one."""
    from holdfast.ui.tui.farewell import Farewell, farewell_lines, last_answer

    controller, view = screen.controller, screen.transcript.view
    if not (controller.session and view.keys):
        return
    try:
        title = controller.catalog.find(controller.session).title
    except HoldfastError:  # it cannot be opened any more; the next start says why
        title = ""
    cost = controller.status.usage.cost
    farewell = Farewell(
        session=controller.session,
        title=title,
        cost=None if cost is None else float(cost),
        answer=last_answer(view) if answer else "",
    )
    columns, rows = shutil.get_terminal_size()
    if not answer:
        print()
    for line in farewell_lines(farewell, columns=columns, rows=rows):
        print(line)


def _close(screen: HoldfastApp, connections: Connections) -> None:
    screen.environment.end()
    if not screen.controller.agent.close(_PATIENCE):
        print("holdfast: a process of the last turn is still running; all finished work is saved.", file=sys.stderr)
    connections.close()


def _set_up(environ: Mapping[str, str]) -> tuple[str, str]:
    """Run the setup. Return the model, "" if none, and the error message, "" if there is none."""
    from holdfast.ui.commands.setup import set_up

    try:
        return set_up(environ), ""
    except HoldfastError as error:
        return "", with_advice(error, SCREEN)


def _prepare_options(
    arguments: Arguments,
    environ: Mapping[str, str],
    *,
    session: str | None = None,
    model: str = "",
    notice: str = "",
    trust: bool | None = None,
) -> RunOptions:
    """Return the options of the screen; the user may be asked whether to trust the project.

    When the screen is shown again, `session` and `model` override the arguments (not if None or ""). `trust` is a
    trust decision about the present project config.
    """
    places = homes(environ)
    user_config = read_config(places.config)
    cwd = working_directory(arguments.cwd)
    catalog = Catalog(places.sessions)
    messages: list[str] = []
    choose = session is None and arguments.resume == "" and not arguments.continue_ and not arguments.fork
    if session is not None:
        resumed = catalog.find(session) if session else None
    else:  # a session in use is offered as a copy or read-only
        resumed = None if choose else chosen_session(catalog, arguments, cwd=cwd, free=False, notify=messages.append)
    judge_project(environ, cwd if resumed is None else Path(resumed.cwd or cwd), trusted=trust)
    options = run_options(arguments, environ, user_config=user_config, cwd=cwd, resumed=resumed, ask=_trusts)
    remove_keys(options.providers)
    notices = (notice, *messages, *_encoding(sys.stderr.encoding), *options.notices, options.unread)
    return msgspec.structs.replace(
        options,
        model=model or options.model,
        fork=options.fork and session is None,
        first_prompt="" if session else options.first_prompt,
        choose=choose,
        notices=tuple(filter(None, notices)),
    )


def _encoding(name: str) -> list[str]:
    """Return a notice if the terminal's encoding is not UTF-8."""
    if codecs.lookup(name).name == "utf-8":
        return []
    return [f"Your locale is not UTF-8 ({name}): some characters show as '?'. Try LANG=C.UTF-8."]


def _trusts(path: Path, config: msgspec.Struct) -> bool:
    from holdfast.ui.commands.questions import ask_trust

    return ask_trust(path, config)

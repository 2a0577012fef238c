"""The slash commands. Each is a few lines over the agent's commands, a picker or a page."""

from __future__ import annotations

import asyncio
import os
import platform
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

from holdfast import __version__
from holdfast.errors import UsageError
from holdfast.host.commands import Compact, Rename, ShowServers, Slash, Uncompact
from holdfast.session.conversation.fold import fold
from holdfast.session.journal.model_settings import settings_text
from holdfast.system.threads import in_daemon
from holdfast.ui.tui.choices import (
    CommandTarget,
    leave_for_setup,
    pick_turn,
)
from holdfast.ui.tui.command_parser import Name, screen_command
from holdfast.ui.tui.farewell import last_answer
from holdfast.ui.tui.sessions.session_list import pick_branch, pick_session
from holdfast.ui.tui.tasks.task_list import leave, show_tasks
from holdfast.ui.tui.widgets.help_pages import help_pages, lines_page, rows_page
from holdfast.ui.tui.widgets.pickers import Choice
from holdfast.ui.view.columns import home

if TYPE_CHECKING:
    from holdfast.ui.export.export import Form


def run_slash_command(typed: Slash, target: CommandTarget) -> None:
    """Run the command. Raise `HoldfastError`, with a message for the user, if that fails."""
    line = screen_command(typed, (each.name for each in target.controller.added_commands()))
    if line is None and typed.name in {each.name for each in target.controller.brought_commands()} - {"skills"}:
        target.controller.begin(f"/{typed.name} {typed.rest}".rstrip(), "steer")
    elif line is None:
        target.controller.run(typed)
    else:
        COMMAND_FUNCTIONS[line.command.name](target, line.rest)


def _new(target: CommandTarget, _rest: str) -> None:
    target.controller.begin_new()
    target.dialogs.notify("The next prompt starts a new session. The last one is saved: /resume.")


def _resume(target: CommandTarget, rest: str) -> None:
    if rest:
        target.controller.agent.resume(target.controller.catalog.find(rest))
    else:
        pick_session(target)


def _diff(target: CommandTarget, rest: str) -> None:
    from holdfast.ui.tui.pages.diff_screen import SCOPES, DiffScreen, Scope
    from holdfast.ui.tui.pages.file_diffs import ShownDiff, edit_diffs
    from holdfast.ui.tui.pages.git_diff import working_tree

    view, cwd, environ = target.transcript.view, target.controller.cwd, target.controller.environ
    blocks = [block for key in view.keys if (block := view.block(key)) is not None]

    def load(scope: Scope) -> tuple[ShownDiff, ...]:
        return working_tree(cwd, environ) if scope == "tree" else edit_diffs(blocks, turn=scope == "turn")

    scope: Scope | None = next((each for each in SCOPES if each == rest), None)
    if rest and scope is None:
        raise UsageError(f"Unknown diff {rest!r} (expected one of {', '.join(SCOPES)}).")
    if scope is None:  # the first with changes: turn, session, else the working tree
        scope = "turn" if load("turn") else "session" if load("session") else "tree"
    target.app.push_screen(DiffScreen(scope, load))


def _rename(target: CommandTarget, rest: str) -> None:
    _session_id(target)
    if not rest:
        raise UsageError("Usage: /rename TITLE")
    target.controller.agent.submit(Rename(rest))


def _compact(target: CommandTarget, rest: str) -> None:
    _session_id(target)
    target.controller.run(Compact(rest))


def _uncompact(target: CommandTarget, _rest: str) -> None:
    _session_id(target)
    target.controller.agent.submit(Uncompact())


def _fork(target: CommandTarget, _rest: str) -> None:
    target.controller.continue_in_copy(target.controller.catalog.find(_session_id(target)))


def _export(target: CommandTarget, rest: str) -> None:
    from holdfast.ui.export.export import FORMS, form_of

    session = _session_id(target)
    word, _, name = rest.partition(" ")
    form: Form | None = next((form for form in FORMS if form == word), None)
    if not rest:
        choices = [Choice(form, form, what) for form, (_, what) in FORMS.items()]
        target.dialogs.pick("Export as", choices, lambda chosen: _export(target, chosen))
    elif form is None:
        _write(target, session, form_of(rest), rest)
    else:
        _write(target, session, form, name.strip() or f"{session}{FORMS[form][0]}")


def _write(target: CommandTarget, session: str, form: Form, name: str) -> None:
    from holdfast.ui.export.export import FORMS, session_document, write

    path = target.controller.cwd / Path(name).expanduser()

    def export() -> str:
        document, findings = session_document(target.controller.catalog.folder(session), form)
        write(path, document)
        return f" The session is damaged: {findings[0].what}" if findings else ""

    target.dialogs.in_background(
        export, lambda damaged: target.dialogs.notify(f"Exported to {home(str(path))}, as {FORMS[form][1]}.{damaged}")
    )


def _setting(name: Name) -> Callable[[CommandTarget, str], None]:
    """Return the function of a command that chooses a setting."""

    def run(target: CommandTarget, rest: str) -> None:
        from holdfast.ui.tui.settings.setting_commands import SETTING_COMMANDS

        SETTING_COMMANDS[name](target, rest)

    return run


def _thinking(target: CommandTarget, rest: str) -> None:
    if rest not in ("", "on", "off"):
        raise UsageError("Usage: /thinking on, or /thinking off.")
    shown = rest == "on" if rest else not target.transcript.thoughts
    target.transcript.thoughts = shown
    hint = (
        ""
        if target.controller.options.config.show_thinking == shown
        else f" To keep it: /config show_thinking {str(shown).lower()} user."
    )
    state = "The model's thinking is shown as it streams" if shown else "Only the time of the model's thinking is shown"
    target.dialogs.notify(f"{state}. Ctrl+O opens all of it.{hint}")


def _key_names(target: CommandTarget) -> dict[str, str]:
    """Return the keys of each action, as they are printed on a keyboard."""
    from holdfast.ui.settings.key_map import key_map, key_words

    found = key_map(target.controller.options.config.keys)
    return {name: key_words(keys) or "none" for name, keys in found.keys.items()}


def _keys(target: CommandTarget, _rest: str) -> None:
    from holdfast.ui.settings.key_map import KEY_ACTIONS, key_map

    faults = key_map(target.controller.options.config.keys).faults
    lines = [f"{name:<14}  {keys:<20}  {KEY_ACTIONS[name].description}" for name, keys in _key_names(target).items()]
    title = 'Keys  (change one: /config keys.history f5 user; several: ["f5", "ctrl+n"])'
    target.dialogs.read(lines_page(title, [*lines, *([""] * bool(faults)), *faults]))


def _mcp(target: CommandTarget, rest: str) -> None:
    word, _, name = rest.partition(" ")
    settings = target.controller.options.mcp
    known = [] if settings is None else [each.name for each in settings.servers]
    server = name.strip() if word == "restart" else rest
    if (rest and server not in known) or (word == "restart" and not server):
        raise UsageError(f"Unknown MCP server {server!r} (expected one of {', '.join(known) or 'none'}). See /mcp.")
    if word == "restart":
        target.controller.run(ShowServers(server, restart=True))
    else:
        target.controller.agent.submit(ShowServers(server))


def _doctor(target: CommandTarget, _rest: str) -> None:
    from holdfast.ui.commands.doctor import report_lines
    from holdfast.ui.commands.doctor.probes import examine_machine

    async def check() -> None:
        found = await in_daemon(lambda: asyncio.run(examine_machine(target.controller.environ, target.controller.cwd)))
        target.dialogs.notify("")
        target.dialogs.read(lines_page("Setup check", report_lines(found)))

    target.dialogs.notify("Checking …")
    target.app.run_worker(check())


def _session_id(target: CommandTarget) -> str:
    if not target.controller.session:
        raise UsageError("No session is open. Type a prompt to start one, or /resume one.")
    return target.controller.session


def _copy(target: CommandTarget, _rest: str) -> None:
    answer = last_answer(target.transcript.view)
    if not answer:
        raise UsageError("Nothing to copy yet.")
    target.app.copy_to_clipboard(answer)
    target.dialogs.notify(f"Copied {len(answer)} character{'s' * (len(answer) > 1)} (if the terminal supports OSC 52).")


def _show_status(target: CommandTarget, _rest: str) -> None:
    target.dialogs.in_background(
        lambda: _sandbox(target), lambda line: target.dialogs.read(rows_page("Status", _status(target, line)))
    )


def _sandbox(target: CommandTarget) -> str:
    from holdfast.host.sandbox_line import tried_sandbox_line

    controller = target.controller
    return tried_sandbox_line(controller.options.config.sandbox, controller.status.mode, os.environ, controller.cwd)


def _status(target: CommandTarget, sandbox: str) -> list[tuple[str, str]]:
    from holdfast.ui.tui.pages.usage_pages import usage_text

    controller, mcp = target.controller, target.controller.options.mcp
    names = [each.name for each in mcp.servers] if mcp is not None else []
    journal = home(str(controller.catalog.folder(controller.session))) if controller.session else "none yet"
    return [
        ("session", target.controller.session or "none yet"),
        ("folder", home(str(target.controller.cwd))),
        ("model", target.controller.status.model or "none"),
        ("settings", settings_text(target.controller.settings).removeprefix("Model settings: ").rstrip(".")),
        ("permissions", target.controller.status.mode),
        ("sandbox", sandbox),
        ("usage", usage_text(controller.status)),
        ("MCP servers", ", ".join(names) or "none"),
        ("instructions", ", ".join(_instructions(target)) or "none"),
        ("journal", journal),
        ("debug log", "on" if controller.options.arguments.debug else "off (begin with --debug)"),
        ("holdfast", f"{__version__}, Python {platform.python_version()}, {platform.system()}"),
        ("terminal", " ".join(filter(None, (os.environ.get("TERM_PROGRAM"), os.environ.get("TERM"))))),
    ]


def _instructions(target: CommandTarget) -> list[str]:
    """Return the files of instructions that the session began with."""
    conversation = target.controller.conversation
    opened = None if conversation is None else conversation.opened
    return [] if opened is None else [home(file.path) for file in opened.instructions]


def _cost(target: CommandTarget, _rest: str) -> None:
    from holdfast.session.storage.sqlite_store import read_copy
    from holdfast.ui.tui.pages.usage_pages import cost_page
    from holdfast.ui.view.session_costs import Spending

    folder = target.controller.catalog.folder(_session_id(target))
    target.dialogs.in_background(
        lambda: Spending(record.entry for record in read_copy(folder).records),
        lambda spending: target.dialogs.read(cost_page(spending)),
    )


def _context(target: CommandTarget, _rest: str) -> None:
    from holdfast.session.conversation.context_breakdown import context_breakdown
    from holdfast.ui.tui.pages.usage_pages import context_page

    controller = target.controller
    settings = controller.options.config.context
    at = settings.compact_at if settings.compact == "auto" else 0.0
    breakdown = context_breakdown(controller.conversation or fold(()))
    page = context_page(controller.status, breakdown, colours=target.app.theme_variables, compact_at=at)
    target.dialogs.read(page)


COMMAND_FUNCTIONS: dict[Name, Callable[[CommandTarget, str], None]] = {
    "help": lambda target, _: target.dialogs.read(*help_pages(_key_names(target), target.controller.added_commands())),
    "new": _new,
    "resume": _resume,
    "rewind": lambda target, _: pick_turn(target),
    "fork": _fork,
    "branches": lambda target, _: pick_branch(target),
    "rename": _rename,
    "model": _setting("model"),
    "effort": _setting("effort"),
    "compact": _compact,
    "uncompact": _uncompact,
    "export": _export,
    "permissions": _setting("permissions"),
    "theme": _setting("theme"),
    "mouse": _setting("mouse"),
    "vim": _setting("vim"),
    "keys": _keys,
    "thinking": _thinking,
    "tasks": show_tasks,
    "mcp": _mcp,
    "diff": _diff,
    "copy": _copy,
    "status": _show_status,
    "cost": _cost,
    "context": _context,
    "config": _setting("config"),
    "doctor": _doctor,
    "setup": lambda target, _: leave_for_setup(target),
    "quit": lambda target, _: leave(target),
}
"""The function of each command."""

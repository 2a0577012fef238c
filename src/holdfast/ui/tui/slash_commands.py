"""The slash commands. Each is a few lines over the agent's commands, a picker or a page."""

from __future__ import annotations

import asyncio
import os
import platform
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, get_args

from holdfast import __version__
from holdfast.errors import UsageError
from holdfast.session.journal.model_settings import EFFORTS
from holdfast.session.journal.parts import Usage
from holdfast.system.git import branch_or_commit
from holdfast.system.threads import in_daemon
from holdfast.tool_calls import Mode
from holdfast.ui.tui.choices import (
    PROVIDERS_OWN,
    CommandTarget,
    leave_for_setup,
    pick_effort,
    pick_session,
    pick_turn,
)
from holdfast.ui.tui.command_parser import Name, SlashInput
from holdfast.ui.tui.model_picker import pick_model
from holdfast.ui.tui.tasks.task_list import leave, show_tasks
from holdfast.ui.tui.themes import DARK, LIGHT
from holdfast.ui.tui.widgets.help_pages import help_page, lines_page, rows_page
from holdfast.ui.tui.widgets.pickers import Choice
from holdfast.ui.tui.widgets.status_line import Status, share, tokens
from holdfast.ui.view.blocks import AnswerBlock
from holdfast.ui.view.columns import home
from holdfast.ui.view.sentences import settings_text

if TYPE_CHECKING:
    from holdfast.ui.export.export import Form

_DIFF = "git --no-pager diff --stat --patch HEAD"
"""The command of `/diff`, run as the user's own command."""

_RUNS: dict[Mode, str] = {
    "ask": "reads freely, asks for the rest",
    "accept-edits": "reads and edits freely, asks for commands",
    "plan": "only reads",
    "yolo": "runs everything without asking",
}


def act(line: SlashInput, target: CommandTarget) -> None:
    """Run the command. Raise `HoldfastError`, with a message for the user, if that fails."""
    DOES[line.command.name](target, line.rest)


def _new(target: CommandTarget, _rest: str) -> None:
    target.controller.begin_new()
    target.dialogs.say("The next prompt starts a new session. The last one is saved: /resume.")


def _resume(target: CommandTarget, rest: str) -> None:
    if rest:
        target.controller.agent.resume(target.controller.catalog.find(rest))
    else:
        pick_session(target)


def _diff(target: CommandTarget, _rest: str) -> None:
    if not branch_or_commit(target.controller.cwd):
        raise UsageError(f"{home(str(target.controller.cwd))!r} is not in a git repository. To create one: !git init.")
    target.controller.run_command(_DIFF, share=False)


def _rename(target: CommandTarget, rest: str) -> None:
    _open(target)
    if not rest:
        raise UsageError("Usage: /rename TITLE")
    target.controller.agent.rename(rest)


def renamed(title: str) -> str:
    """Return the message for a session with a new title."""
    return f'Renamed to "{title}".' if title else "Title cleared."


def _compact(target: CommandTarget, rest: str) -> None:
    _open(target)
    target.controller.compact(rest)


def _uncompact(target: CommandTarget, _rest: str) -> None:
    _open(target)
    target.controller.agent.uncompact()


def _fork(target: CommandTarget, _rest: str) -> None:
    target.controller.continue_in_copy(target.controller.catalog.find(_open(target)))


def _model(target: CommandTarget, rest: str) -> None:
    if rest:
        target.controller.use_model(rest)
    else:
        pick_model(target)


def _effort(target: CommandTarget, rest: str) -> None:
    if not rest:
        pick_effort(target)
    elif rest in EFFORTS:
        target.dialogs.say(target.controller.use_effort(rest))
    elif rest == PROVIDERS_OWN:
        target.dialogs.say(target.controller.use_effort(None))
    else:
        expected = ", ".join((*EFFORTS, PROVIDERS_OWN))
        raise UsageError(f"Unknown effort {rest!r} (expected one of {expected}). See /effort.")


def _export(target: CommandTarget, rest: str) -> None:
    from holdfast.ui.export.export import FORMS, form_of  # noqa: PLC0415 - only an export needs the formats

    session = _open(target)
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
    from holdfast.ui.export.export import FORMS, exported, write  # noqa: PLC0415 - likewise

    path = target.controller.cwd / Path(name).expanduser()

    def export() -> str:
        document, findings = exported(target.controller.catalog.folder(session), form)
        write(path, document)
        return f" The session is damaged: {findings[0].what}" if findings else ""

    target.dialogs.in_background(
        export, lambda damaged: target.dialogs.say(f"Exported to {home(str(path))}, as {FORMS[form][1]}.{damaged}")
    )


def _theme(target: CommandTarget, rest: str) -> None:
    ours = (DARK.name, LIGHT.name)
    others = sorted(name for name, theme in target.app.available_themes.items() if not theme.ansi and name not in ours)
    themes = (*ours, *others)  # themes of the terminal's 16 colours have too few shades

    def use(name: str) -> None:
        target.app.theme = name

    if not rest:
        choices = [
            Choice(name, name, "in use" * (name == target.app.theme), now=name == target.app.theme) for name in themes
        ]
        target.dialogs.pick("Colours", choices, use, shown=use)
    elif rest in themes:
        use(rest)
    else:
        raise UsageError(f"Unknown theme {rest!r} (expected one of {', '.join(themes)}). See /theme.")


def _permissions(target: CommandTarget, rest: str) -> None:
    modes: tuple[Mode, ...] = get_args(Mode)
    for mode in modes:
        if mode == rest:
            target.controller.use_mode(mode)
            return
    if rest:
        raise UsageError(f"Unknown mode {rest!r} (expected one of {', '.join(modes)}). See /permissions.")
    now = target.controller.status.mode
    choices = [
        Choice(f"mode {mode}", mode, f"{_RUNS[mode]}{', current' * (mode == now)}", now=mode == now) for mode in modes
    ]
    project = target.controller.options.project_of(target.controller.cwd)
    kept = project.remembered
    choices.append(Choice("rules", "show all rules", f"{len(project.rules.rules)} in settings and options"))
    choices += [
        Choice(f"forbid {at}", f"ask again about {each.text}", "allowed in this folder") for at, each in enumerate(kept)
    ]

    def chosen(value: str) -> None:
        from holdfast.ui.commands.config import rule_lines, rule_rows  # noqa: PLC0415 - when it is asked for

        what, _, which = value.partition(" ")
        if what == "rules":
            shown = list(rule_lines(rule_rows(project, target.controller.allowed)))
            target.dialogs.read(lines_page("Permission rules", shown or ["none"]))
        elif what == "mode":
            _permissions(target, which)
        else:
            target.controller.agent.forbid(kept[int(which)])

    target.dialogs.pick("Permission mode and allow list", choices, chosen)


def _mcp(target: CommandTarget, _rest: str) -> None:
    from holdfast.ui.commands.mcp import listed_lines  # noqa: PLC0415 - when it is asked for

    target.dialogs.read(lines_page("MCP servers", listed_lines(target.controller.options.mcp)))


def _config(target: CommandTarget, _rest: str) -> None:
    from holdfast.ui.commands.config import config_lines, resolved_settings  # noqa: PLC0415 - when it is asked for

    session = target.controller
    settings = resolved_settings(session.arguments, session.environ, session.cwd)
    target.dialogs.read(lines_page("Settings", config_lines(settings)))


def _doctor(target: CommandTarget, _rest: str) -> None:
    from holdfast.ui.commands.doctor import report_lines  # noqa: PLC0415 - when it is asked for
    from holdfast.ui.commands.doctor.probes import examined  # noqa: PLC0415 - likewise

    async def look() -> None:
        found = await in_daemon(lambda: asyncio.run(examined(target.controller.environ, target.controller.cwd)))
        target.dialogs.say("")
        target.dialogs.read(lines_page("Setup check", report_lines(found)))

    target.dialogs.say("Checking …")
    target.app.run_worker(look())


def _open(target: CommandTarget) -> str:
    if not target.controller.session:
        raise UsageError("No session is open. Type a prompt to start one, or /resume one.")
    return target.controller.session


def _copy(target: CommandTarget, _rest: str) -> None:
    blocks = (target.transcript.view.block(key) for key in reversed(target.transcript.view.keys))
    answer = next((block.text for block in blocks if isinstance(block, AnswerBlock)), "")
    if not answer:
        raise UsageError("Nothing to copy yet.")
    target.app.copy_to_clipboard(answer)
    target.dialogs.say(f"Copied {len(answer)} character{'s' * (len(answer) > 1)} (if the terminal supports OSC 52).")


def _status(target: CommandTarget) -> list[tuple[str, str]]:
    return [
        ("session", target.controller.session or "none yet"),
        ("folder", home(str(target.controller.cwd))),
        ("model", target.controller.status.model or "none"),
        ("settings", settings_text(target.controller.settings).removeprefix("Model settings: ").rstrip(".")),
        ("permissions", target.controller.status.mode),
        ("holdfast", f"{__version__}, Python {platform.python_version()}, {platform.system()}"),
        ("terminal", " ".join(filter(None, (os.environ.get("TERM_PROGRAM"), os.environ.get("TERM"))))),
    ]


def _cost(usage: Usage) -> list[tuple[str, str]]:
    return [
        ("input", f"{usage.input_tokens:,} tokens"),
        ("cache read", f"{usage.cache_read_tokens:,} tokens"),
        ("cache write", f"{usage.cache_write_tokens:,} tokens"),
        ("output", f"{usage.output_tokens:,} tokens"),
        ("cost", "unknown" if usage.cost is None else f"${float(usage.cost):.4f}"),
    ]


def _context(status: Status) -> list[tuple[str, str]]:
    if not status.context:
        return [("in use", "nothing yet")]
    used = f", {share(status.context, status.window)} of {tokens(status.window)}" if status.window else ""
    return [("in use", f"about {status.context:,} tokens{used}")]


DOES: dict[Name, Callable[[CommandTarget, str], None]] = {
    "help": lambda target, _: target.dialogs.read(help_page()),
    "new": _new,
    "resume": _resume,
    "rewind": lambda target, _: pick_turn(target),
    "fork": _fork,
    "rename": _rename,
    "model": _model,
    "effort": _effort,
    "compact": _compact,
    "uncompact": _uncompact,
    "export": _export,
    "permissions": _permissions,
    "theme": _theme,
    "tasks": show_tasks,
    "mcp": _mcp,
    "diff": _diff,
    "copy": _copy,
    "status": lambda target, _: target.dialogs.read(rows_page("Status", _status(target))),
    "cost": lambda target, _: target.dialogs.read(
        rows_page("Token usage and cost of this session", _cost(target.controller.status.usage))
    ),
    "context": lambda target, _: target.dialogs.read(rows_page("Context", _context(target.controller.status))),
    "config": _config,
    "doctor": _doctor,
    "setup": lambda target, _: leave_for_setup(target),
    "quit": lambda target, _: leave(target),
}
"""The function of each command."""

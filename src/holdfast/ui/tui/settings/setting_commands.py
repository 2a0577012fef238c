"""The slash commands that choose a setting: each takes a value, and a scope (session, project or user)."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Callable
from typing import get_args

from holdfast.errors import UsageError
from holdfast.host.commands import Forbid
from holdfast.session.journal.model_settings import EFFORTS, Effort
from holdfast.tool_calls import Mode
from holdfast.ui.settings.setting_catalog import SETTING_SCOPES
from holdfast.ui.tui.choices import DEFAULT_EFFORT, CommandTarget
from holdfast.ui.tui.model_picker import pick_model
from holdfast.ui.tui.settings.live_settings import choose, pick_scope, with_scope
from holdfast.ui.tui.settings.settings_list import SettingsList
from holdfast.ui.tui.themes import theme_names
from holdfast.ui.tui.widgets.help_pages import lines_page
from holdfast.ui.tui.widgets.pickers import Choice

_RUNS: dict[Mode, str] = {
    "ask": "reads freely, asks for the rest",
    "accept-edits": "reads and edits freely, asks for commands",
    "plan": "only reads",
    "yolo": "runs everything without asking",
}

_KEEPS = "keeps it"


def _model(target: CommandTarget, rest: str) -> None:
    if rest:
        choose(target, "model", *with_scope(rest, "session"))
    else:
        pick_model(target)


def _effort(target: CommandTarget, rest: str) -> None:
    if rest:
        text, scope = with_scope(rest, "session")
        if text == DEFAULT_EFFORT and scope != "session":  # the value without the setting
            choose(target, "effort", text, "session")
            choose(target, "effort", "", scope)
        else:
            choose(target, "effort", text, scope)
        return
    controller = target.controller
    title, choices = effort_choices(controller.settings.effort, controller.effort_note)
    target.dialogs.pick(
        title,
        choices,
        lambda chosen: choose(target, "effort", chosen, "session"),
        keep=(_KEEPS, lambda chosen: pick_scope(target, "effort", "" if chosen == DEFAULT_EFFORT else chosen)),
    )


def effort_choices(now: Effort | None, note_of: Callable[[Effort], str]) -> tuple[str, list[Choice]]:
    """Return the title of the list of efforts, and its rows. A note of several efforts stands once, in the title."""
    notes = {effort: note_of(effort) for effort in EFFORTS}
    shared = [note for note, count in Counter(notes.values()).items() if note and count > 1]
    default = "in use" if now is None else "the provider decides"
    choices = [Choice(DEFAULT_EFFORT, DEFAULT_EFFORT, default, now=now is None)]
    for effort, note in notes.items():
        detail = "in use" if effort == now else "" if note in shared else note
        choices.append(Choice(effort, effort, detail, now=effort == now))
    return "\n".join(("Effort: how much the model reasons", *shared)), choices


def _theme(target: CommandTarget, rest: str) -> None:
    if rest:
        choose(target, "theme", *with_scope(rest, "user"))
        return

    def preview(name: str) -> None:
        target.app.theme = name

    now = target.app.theme
    choices = [
        Choice(name, name, "in use" * (name == now), now=name == now)
        for name in theme_names(target.app.available_themes)
    ]
    target.dialogs.pick(
        "Theme (kept for all sessions)",
        choices,
        lambda name: choose(target, "theme", name, "user"),
        on_highlight=preview,
    )


def _mouse(target: CommandTarget, rest: str) -> None:
    text, scope = with_scope(rest, "session")
    value = {"on": "true", "off": "false"}.get(text, text)

    def report(done: str) -> None:
        is_stored = scope != "session" or target.controller.options.config.mouse == (value == "true")
        target.dialogs.notify(done if is_stored else f"{done} To keep it: /mouse {text} user.")

    choose(target, "mouse", value, scope, then=report)


def _vim(target: CommandTarget, rest: str) -> None:
    toggled = "on" if target.composer.vim is None else "off"
    text, scope = with_scope(rest or toggled, "session")
    hint = "" if scope != "session" else f" To keep it: /vim {text} user."
    value = {"on": "vim", "off": "normal"}.get(text, text)
    choose(target, "ui.keys", value, scope, then=lambda done: target.dialogs.notify(f"{done}{hint}"))


def _permissions(target: CommandTarget, rest: str) -> None:
    if rest:
        choose(target, "permission_mode", *with_scope(rest, "session"))
        return
    now = target.controller.status.mode
    modes: tuple[Mode, ...] = get_args(Mode)
    choices = [
        Choice(f"mode {mode}", mode, f"{_RUNS[mode]}{', current' * (mode == now)}", now=mode == now) for mode in modes
    ]
    project = target.controller.options.project_of(target.controller.cwd)
    patterns = project.remembered
    choices.append(Choice("sandbox", "show the sandbox", target.controller.options.config.sandbox))
    choices.append(Choice("rules", "show all rules", f"{len(project.rules.rules)} in settings and options"))
    choices += [
        Choice(f"forbid {at}", f"ask again about {each.text}", "allowed in this folder")
        for at, each in enumerate(patterns)
    ]

    def chosen(value: str) -> None:
        from holdfast.ui.commands.config import rule_lines, rule_rows

        what, _, which = value.partition(" ")
        if what == "rules":
            shown = list(rule_lines(rule_rows(project, target.controller.allowed)))
            target.dialogs.read(lines_page("Permission rules", shown or ["none"]))
        elif what == "sandbox":
            from holdfast.host.sandbox_line import tried_sandbox_line

            sandbox = target.controller.options.config.sandbox
            target.dialogs.in_background(
                lambda: tried_sandbox_line(sandbox, now, os.environ, target.controller.cwd),
                lambda line: target.dialogs.read(lines_page("Sandbox", [line])),
            )
        elif what == "mode":
            choose(target, "permission_mode", which, "session")
        else:
            target.controller.agent.submit(Forbid(patterns[int(which)]))

    def keep(value: str) -> None:
        what, _, which = value.partition(" ")
        if what != "mode":
            raise UsageError("Only a mode can be kept. Choose one of the first four.")
        pick_scope(target, "permission_mode", which)

    target.dialogs.pick("Permission mode and allow list", choices, chosen, keep=(_KEEPS, keep))


def _config(target: CommandTarget, rest: str) -> None:
    settings = SettingsList(target)
    if not rest:
        settings.open()
        return
    name, _, value = rest.partition(" ")
    text, scope = with_scope(value.strip(), "session")
    if not text:
        settings.edit(name)
    elif value.strip().rpartition(" ")[2] in SETTING_SCOPES and text != value.strip():
        choose(target, name, text, scope)
    else:
        settings.keep(name, text)


SETTING_COMMANDS: dict[str, Callable[[CommandTarget, str], None]] = {
    "model": _model,
    "effort": _effort,
    "theme": _theme,
    "mouse": _mouse,
    "vim": _vim,
    "permissions": _permissions,
    "config": _config,
}
"""The function of each command."""

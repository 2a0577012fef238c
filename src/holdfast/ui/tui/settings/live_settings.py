"""The settings that a session can change while it runs, and the scope in which a choice is stored."""

from __future__ import annotations

from collections.abc import Callable
from typing import get_args

import msgspec

from holdfast.config.project_config import CONFIG_PATH
from holdfast.errors import UsageError
from holdfast.session.journal.model_settings import EFFORTS, Effort
from holdfast.tool_calls import Mode
from holdfast.ui.commands.config import change_text
from holdfast.ui.settings.setting_catalog import SETTING_SCOPES, FileScope, SettingScope, scopes, setting_path
from holdfast.ui.settings.setting_change import SettingChanges
from holdfast.ui.tui.choices import DEFAULT_EFFORT, CommandTarget
from holdfast.ui.tui.terminal.job_control import JobControl
from holdfast.ui.tui.themes import theme_names
from holdfast.ui.tui.widgets.pickers import Choice
from holdfast.ui.view.columns import home


class LiveSetting(msgspec.Struct, frozen=True):
    """A setting of the session: `now` returns its value, `use` changes it at once and returns a remark, "" if none."""

    now: Callable[[CommandTarget], object]
    use: Callable[[CommandTarget, str], str]


def _use_model(target: CommandTarget, name: str) -> str:
    target.controller.use_model(name)
    return ""


def _use_effort(target: CommandTarget, name: str) -> str:
    efforts: dict[str, Effort | None] = {**{str(each): each for each in EFFORTS}, DEFAULT_EFFORT: None}
    if name not in efforts:
        raise UsageError(f"Unknown effort {name!r} (expected one of {', '.join(efforts)}). See /effort.")
    return target.controller.use_effort(efforts[name])


def _use_mode(target: CommandTarget, name: str) -> str:
    modes: tuple[Mode, ...] = get_args(Mode)
    for mode in modes:
        if mode == name:
            target.controller.use_mode(mode)
            return ""
    raise UsageError(f"Unknown mode {name!r} (expected one of {', '.join(modes)}). See /permissions.")


def _use_theme(target: CommandTarget, name: str) -> str:
    names = theme_names(target.app.available_themes)
    if name not in names:
        raise UsageError(f"Unknown theme {name!r} (expected one of {', '.join(names)}). See /theme.")
    target.app.theme = name
    return ""


def _use_mouse(target: CommandTarget, text: str) -> str:
    driver = _driver(target)
    if text not in ("true", "false"):
        raise UsageError("Usage: /mouse on, or /mouse off, with which the terminal itself selects text.")
    if driver is not None:
        driver.use_mouse(on=text == "true")
    return "The screen has the mouse." if text == "true" else "The terminal has the mouse, and selects text itself."


def _driver(target: CommandTarget) -> JobControl | None:
    driver = target.app._driver  # noqa: SLF001  # pyright: ignore[reportPrivateUsage] - Textual has no other door to it
    return driver if isinstance(driver, JobControl) else None


def _mouse_now(target: CommandTarget) -> bool:
    driver = _driver(target)
    return target.controller.options.config.mouse if driver is None else driver.has_mouse


def _use_editing(target: CommandTarget, text: str) -> str:
    if text not in ("vim", "normal"):
        raise UsageError("Usage: /vim on, or /vim off.")
    target.composer.use_vim(on=text == "vim")
    return "The prompt is edited with vim's keys." if text == "vim" else "The prompt is edited as usual."


LIVE: dict[str, LiveSetting] = {
    "model": LiveSetting(lambda target: target.controller.status.model or None, _use_model),
    "effort": LiveSetting(lambda target: target.controller.settings.effort, _use_effort),
    "permission_mode": LiveSetting(lambda target: target.controller.status.mode, _use_mode),
    "theme": LiveSetting(lambda target: target.app.theme, _use_theme),
    "ui.keys": LiveSetting(lambda target: "normal" if target.composer.vim is None else "vim", _use_editing),
    "mouse": LiveSetting(_mouse_now, _use_mouse),
}
"""By the name of the setting."""


def with_scope(rest: str, default: SettingScope) -> tuple[str, SettingScope]:
    """Return the words of a command without the scope at their end, and the scope."""
    words, _, last = rest.rpartition(" ")
    for scope in SETTING_SCOPES:
        if scope == last and words.strip():
            return words.strip(), scope
    return rest, default


def choose(
    target: CommandTarget,
    name: str,
    text: str,
    scope: SettingScope,
    *,
    then: Callable[[str], None] | None = None,
) -> None:
    """Use a setting from now on, and store it in `scope`; `then` gets the report, which is a notice by default.

    `text` is "" to remove the setting from the file. Raise `HoldfastError`, with nothing changed.
    """
    live = LIVE.get(name)
    notify = then or target.dialogs.notify
    if scope == "session":
        if live is None:
            raise UsageError(
                f"{name} cannot differ between sessions. Set it for all of them: /config {name} VALUE user."
            )
        notify(live.use(target, text))
        return
    if live is not None and text and name != "model":  # the file checks a model, which need not be usable now
        _check_theme(target, name, text)
    changes = SettingChanges(target.controller.environ, target.controller.cwd)
    file_scope: FileScope = scope

    def write() -> str:
        change = changes.set(name, text, file_scope) if text else changes.unset(name, file_scope)
        return f"{change_text(change)}.{changes.overridden(name) if file_scope == 'user' else ''}"

    def report(done: str) -> None:
        remark = "It applies from the next start." if live is None else live.use(target, text) if text else ""
        notify(" ".join(filter(None, (done, remark))))

    target.dialogs.in_background(write, report)


def _check_theme(target: CommandTarget, name: str, text: str) -> None:
    """Raise `UsageError` for an unknown theme: the parser of the file does not know the themes."""
    if name == "theme" and text not in (names := theme_names(target.app.available_themes)):
        raise UsageError(f"Unknown theme {text!r} (expected one of {', '.join(names)}). See /theme.")


def pick_scope(
    target: CommandTarget,
    name: str,
    text: str,
    *,
    session: bool = True,
    then: Callable[[str], None] | None = None,
    on_cancel: Callable[[], None] = lambda: None,
) -> None:
    """Let the user choose where a setting is stored; without `session`, only the files are offered."""
    changes = SettingChanges(target.controller.environ, target.controller.cwd)
    choices: list[Choice] = []
    if session and name in LIVE and text:
        choices.append(Choice("session", "in this session", "nothing is written"))
    for scope in scopes(setting_path(name)):
        words = {"project": "for this project", "user": "for all projects"}[scope]
        file = str(CONFIG_PATH) if scope == "project" else home(str(changes.path(scope)))
        choices.append(Choice(scope, words, file))
    if len(choices) == 1 and then is not None:
        choose(target, name, text, "user", then=then)
        return
    by_value: dict[str, SettingScope] = {str(each): each for each in SETTING_SCOPES}
    target.dialogs.pick(
        f"Keep {name} = {text}" if text else f"Remove {name} from",
        choices,
        lambda chosen: choose(target, name, text, by_value[chosen], then=then),
        on_cancel=on_cancel,
    )

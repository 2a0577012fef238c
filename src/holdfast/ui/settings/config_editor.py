"""`holdfast config edit`: a copy of the file in the user's editor; it replaces the file once it can be read."""

from __future__ import annotations

import os
import shlex
import shutil
import signal
import subprocess
import tempfile
from collections.abc import Mapping
from pathlib import Path

from holdfast.errors import ConfigInvalid, UsageError
from holdfast.system.bounded_files import STATE_FILE, read_bounded
from holdfast.ui.commands.questions import is_interactive
from holdfast.ui.settings.editor_choice import editor_command
from holdfast.ui.settings.setting_catalog import FileScope
from holdfast.ui.settings.setting_change import SettingChanges
from holdfast.ui.view.columns import home


def _content(path: Path) -> bytes:
    """Return the bytes of the file, none if there is no file. Raise `ConfigInvalid` if it cannot be read."""
    try:
        return read_bounded(path, STATE_FILE)
    except FileNotFoundError:
        return b""
    except OSError as error:
        raise ConfigInvalid(
            f"Config {str(path)!r} cannot be read: {error.strerror}. Fix that, or remove it."
        ) from error


def edit_config(changes: SettingChanges, scope: FileScope, environ: Mapping[str, str]) -> str:
    """Let the user edit the file of a scope, and return a message. If it raises `HoldfastError`, the file is unchanged.

    An edit that is not valid is kept in a file that the message names: nothing typed is lost.
    """
    if not is_interactive():
        raise UsageError("An editor needs a terminal. Without one: holdfast config set SETTING VALUE.")
    path = changes.path(scope)
    before = _content(path)
    with tempfile.NamedTemporaryFile("wb", suffix=".toml", prefix="holdfast-", delete=False) as file:
        file.write(before)
    copy = Path(file.name)
    keep_copy = False
    try:
        _run_editor(copy, environ)
        after = edited_config(copy)
        if after == before:
            return f"{home(str(path))} is unchanged."

        changes.write(lambda now: _replaced(now.encode(), before, after, path), scope)
    except (ConfigInvalid, UnicodeDecodeError) as error:
        keep_copy = True
        raise UsageError(
            f"{error} {home(str(path))} is unchanged; your edit is in {copy}. Correct it, then copy it over."
        ) from error
    finally:
        if not keep_copy:
            copy.unlink(missing_ok=True)
    return f"{home(str(path))} is changed."


def edited_config(copy: Path) -> bytes:
    """Return what an editor left in a file. Raise `UsageError` if it cannot be read."""
    try:
        return read_bounded(copy, STATE_FILE)
    except OSError as error:
        raise UsageError(f"Your edit {str(copy)!r} cannot be read: {error.strerror}. Nothing is changed.") from error


def _replaced(now: bytes, before: bytes, after: bytes, path: Path) -> str:
    if now != before:
        raise ConfigInvalid(f"{home(str(path))} was changed by another process in the meantime. Try again.")
    return after.decode()


def _run_editor(path: Path, environ: Mapping[str, str]) -> None:
    words = editor_command(environ, lambda name: shutil.which(name, path=environ.get("PATH")))

    def for_the_editor(_number: int, _frame: object) -> None:
        """Ignore a signal that is meant for the editor, which does not inherit this."""

    before = {number: signal.signal(number, for_the_editor) for number in (signal.SIGINT, signal.SIGQUIT)}
    try:
        code = subprocess.run([*words, os.fspath(path)], check=False).returncode  # noqa: S603 - the user's own editor
    except OSError as error:
        raise UsageError(
            f"Cannot run editor {shlex.join(words)!r}: {error.strerror}. Fix $VISUAL or $EDITOR."
        ) from error
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
    if code:
        raise UsageError(f"Editor {shlex.join(words)!r} failed with exit code {code}. Nothing was changed.")

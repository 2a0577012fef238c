"""Edit a prompt in the user's own editor."""

from __future__ import annotations

import os
import shlex
import shutil
import signal
import subprocess
import tempfile
from collections.abc import Generator, Iterable
from contextlib import contextmanager
from pathlib import Path

from textual.app import App

from holdfast.errors import UsageError
from holdfast.providers.credentials.redaction import is_secret
from holdfast.system.bounded_files import STATE_FILE, read_bounded
from holdfast.ui.settings.editor_choice import editor_command
from holdfast.ui.startup.run_options import RunOptions

LARGEST_EDITED = 16 * STATE_FILE
"""Bytes of a prompt that an editor leaves."""


@contextmanager
def editor_signals(signals: Iterable[signal.Signals]) -> Generator[None]:
    """Let Ctrl+C go to the editor only, as a shell does; other signals are handled after the block.

    Ctrl+Z suspends the editor and this process, which are one job of the shell. If only the editor stopped, the shell
    would wait for this process, and this process for the editor.
    """
    received: list[int] = []
    loop = signal.set_wakeup_fd(-1)  # else the event loop would still receive every signal
    before = {number: signal.signal(number, lambda number, _: received.append(number)) for number in signals}
    before[signal.SIGTSTP] = signal.signal(signal.SIGTSTP, signal.SIG_DFL)
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
        signal.set_wakeup_fd(loop)
        for number in received:
            if number not in {signal.SIGINT, signal.SIGQUIT}:
                signal.raise_signal(number)


def edit_text(app: App[int], text: str, options: RunOptions) -> str:
    """Return `text` as edited in the user's editor, which has the terminal until it exits.

    The editor's environment has no keys, because commands could read it. Raise `UsageError` if there is no editor, or
    if it fails; the text is then unchanged.
    """
    words = editor_command(options.environ, lambda name: shutil.which(name, path=options.environ.get("PATH")))
    command = shlex.join(words)
    with tempfile.NamedTemporaryFile("w+", suffix=".md", prefix="holdfast-", encoding="utf-8", delete=False) as file:
        file.write(text)
    path = Path(file.name)
    public = {name: value for name, value in options.environ.items() if not is_secret(name, options.providers)}
    try:
        with app.suspend():
            done = subprocess.run([*words, str(path)], check=False, env=public)  # noqa: S603 - the user's own editor
        if done.returncode:
            raise UsageError(f"Editor {command!r} failed with exit code {done.returncode}. The prompt is unchanged.")
        return edited_text(path)
    except OSError as error:
        raise UsageError(f"Cannot run editor {command!r}: {error.strerror}. Fix $VISUAL or $EDITOR.") from error
    finally:
        path.unlink(missing_ok=True)


def edited_text(path: Path) -> str:
    """Return what an editor left in a file. Raise `UsageError` if it is no text to read."""
    try:
        return read_bounded(path, LARGEST_EDITED).decode("utf-8", "replace").removesuffix(os.linesep)
    except OSError as error:
        raise UsageError(
            f"The edited prompt {str(path)!r} cannot be read: {error.strerror}. The prompt is unchanged."
        ) from error

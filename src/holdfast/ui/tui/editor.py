"""The person's own editor, for a prompt that is longer than a composer is good for."""

from __future__ import annotations

import os
import shlex
import signal
import subprocess
import tempfile
from collections.abc import Generator, Iterable, Mapping
from contextlib import contextmanager
from pathlib import Path

from textual.app import App

from holdfast.agent.secrets import is_secret
from holdfast.errors import UsageError


@contextmanager
def editors(signals: Iterable[signal.Signals]) -> Generator[None]:
    """Leave what Ctrl+C sends to the editor, as a shell does; other signals are heard when the block ends."""
    held: list[int] = []
    loop = signal.set_wakeup_fd(-1)  # the event loop hears of every signal by it, whatever its handler is
    before = {number: signal.signal(number, lambda number, _: held.append(number)) for number in signals}
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
        signal.set_wakeup_fd(loop)
        for number in held:
            if number not in {signal.SIGINT, signal.SIGQUIT}:
                signal.raise_signal(number)


def edited(app: App[int], text: str, environ: Mapping[str, str]) -> str:
    """Return `text` as the person left it in $VISUAL or $EDITOR; the screen is theirs meanwhile.

    The editor gets no key: a command that runs could read it in the editor's environment. Raises `UsageError` if there
    is no editor, or if it says that it failed: then the text is unchanged.
    """
    command = environ.get("VISUAL") or environ.get("EDITOR") or ""
    try:
        words = shlex.split(command)
    except ValueError:
        words = []
    if not words:
        raise UsageError("Editor is not set, $VISUAL or $EDITOR was expected. Set one, as in: export EDITOR=nano.")
    with tempfile.NamedTemporaryFile("w+", suffix=".md", prefix="holdfast-", encoding="utf-8", delete=False) as file:
        file.write(text)
    path = Path(file.name)
    public = {name: value for name, value in environ.items() if not is_secret(name)}
    try:
        with app.suspend():
            done = subprocess.run([*words, str(path)], check=False, env=public)  # noqa: S603 - the person's own
        if done.returncode:
            raise UsageError(
                f"Editor {command!r} ended with code {done.returncode}, 0 was expected. Nothing is changed."
            )
        return path.read_text("utf-8", "replace").removesuffix(os.linesep)
    except OSError as error:
        raise UsageError(
            f"Editor {command!r} cannot be run: {error.strerror}, a program was expected. Correct $VISUAL or $EDITOR."
        ) from error
    finally:
        path.unlink(missing_ok=True)

"""Ctrl+V: the image in the desktop's clipboard, stored as a file that the prompt mentions.

The clipboard is read by the desktop's own program, which runs for a moment and gets only the environment variables that
it needs. The image becomes a file because a prompt is text: its mention survives in the history and after a restart.
"""

from __future__ import annotations

import subprocess
import time
from collections.abc import Callable, Mapping
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING

import msgspec

from holdfast.errors import HoldfastError, StateError, UsageError
from holdfast.system.durable_files import make_folder, replace_file
from holdfast.system.threads import in_daemon
from holdfast.system.trusted_programs import trusted_program
from holdfast.system.user_directories import homes
from holdfast.tools.workspace.images import is_image
from holdfast.ui.advice import SCREEN, with_advice

if TYPE_CHECKING:
    from holdfast.ui.tui.choices import CommandTarget

TIMEOUT = 3.0
"""Seconds for the program to answer."""

MOST_PASTED_IMAGES = 20
"""Maximum stored images; a session has its own copies of sent images."""

_NEEDED = ("PATH", "HOME", "DISPLAY", "XAUTHORITY", "WAYLAND_DISPLAY", "XDG_RUNTIME_DIR", "LANG")


class ClipboardReader(msgspec.Struct, frozen=True):
    """A program that prints the clipboard's image, the variable that its desktop sets, and its package."""

    variable: str
    command: tuple[str, ...]
    package: str


CLIPBOARD_READERS = (
    ClipboardReader("WAYLAND_DISPLAY", ("wl-paste", "--no-newline", "--type", "image/png"), "wl-clipboard"),
    ClipboardReader("DISPLAY", ("xclip", "-selection", "clipboard", "-target", "image/png", "-out"), "xclip"),
)


def clipboard_commands(environ: Mapping[str, str], which: Callable[[str], str | None]) -> tuple[tuple[str, ...], ...]:
    """Return the commands that may print the image, best first. Raise `UsageError` if there is none."""
    here = [reader for reader in CLIPBOARD_READERS if environ.get(reader.variable)]
    if not here:
        raise UsageError(
            "No clipboard to read an image from: WAYLAND_DISPLAY and DISPLAY are not set. "
            "Drag the file into the terminal, or mention it: @shot.png."
        )
    found = tuple((path, *reader.command[1:]) for reader in here if (path := which(reader.command[0])))
    if not found:
        packages = " or ".join(reader.package for reader in here)
        raise UsageError(f"Cannot read an image from the clipboard: no {here[0].command[0]} here. Install {packages}.")
    return found


def clipboard_image(environ: Mapping[str, str]) -> Path:
    """Store the clipboard's image, and return its file. It blocks. Raise `UsageError` or `StateError`."""
    commands = clipboard_commands(environ, lambda name: trusted_program(name, Path.cwd(), environ=environ) or None)
    needed = {name: environ[name] for name in _NEEDED if name in environ}
    for command in commands:
        with suppress(OSError, subprocess.TimeoutExpired):
            done = subprocess.run(command, capture_output=True, check=False, timeout=TIMEOUT, env=needed)  # noqa: S603 - our own list
            if is_image(done.stdout):
                return _store(done.stdout, homes(environ).pasted_images)
    raise UsageError("The clipboard holds no image. Copy one, or mention a file: @shot.png.")


def _store(content: bytes, folder: Path) -> Path:
    path = folder / f"{time.time_ns()}.png"
    try:
        make_folder(folder)
        replace_file(path, content)
        for old in sorted(folder.glob("*.png"))[:-MOST_PASTED_IMAGES]:
            old.unlink(missing_ok=True)
    except OSError as error:
        raise StateError(f"Cannot store the image in {str(folder)!r}: {error.strerror}.") from error
    return path


def attach_clipboard(target: CommandTarget) -> None:
    """Insert a mark for the clipboard's image; without an image, the text copied on this screen."""

    async def attach() -> None:
        try:
            path = await in_daemon(lambda: clipboard_image(target.controller.environ))
        except HoldfastError as error:
            if target.app.clipboard:
                target.composer.insert(target.app.clipboard)
            else:
                target.dialogs.notify(with_advice(error, SCREEN))
        else:
            target.composer.insert(f"{target.composer.pastes.image_mark(str(path))} ")

    target.app.run_worker(attach())

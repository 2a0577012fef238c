"""The prompts of all sessions, by project, for ↑ and Ctrl+R: a file of JSON lines, readable by its owner only.

Decision 0050 says which prompts are stored. Several windows append to it at once; a full file is renamed, and still
read until it is deleted.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path

import msgspec

from holdfast.agent.debug_log.log_file import KEPT, LogFile
from holdfast.errors import StateError
from holdfast.system.bounded_files import read_bounded
from holdfast.system.durable_files import make_folder
from holdfast.system.user_directories import homes
from holdfast.text import valid_unicode
from holdfast.typed_data import decode_json
from holdfast.ui.tui.dialogs import Dialogs
from holdfast.ui.tui.prompt.prompt_history import PromptHistory
from holdfast.ui.view.columns import count_noun

LARGEST_PROMPT_FILE = 250_000
"""Bytes per file."""

LARGEST_HISTORY = 16 * LARGEST_PROMPT_FILE
"""Bytes of a file that are read, if something else has written it."""

LONGEST_PROMPT = 10_000
"""Maximum characters of a stored prompt."""


class _StoredPrompt(msgspec.Struct, frozen=True):
    cwd: str
    text: str


class PromptFile:
    """The file at `path`, which need not exist, and the earlier ones that were full. Its methods block."""

    def __init__(self, path: Path, *, largest: int = LARGEST_PROMPT_FILE) -> None:
        self._path = path
        self._largest = largest

    def read(self, cwd: Path) -> tuple[tuple[str, ...], int]:
        """Return the prompts sent from the folder `cwd`, oldest first, and how many lines cannot be read.

        Raise `StateError` if a file cannot be read.
        """
        prompts: list[str] = []
        damaged = 0
        for number in range(KEPT - 1, -1, -1):
            path = self._path.with_name(f"{self._path.name}.{number}") if number else self._path
            try:
                lines = read_bounded(path, LARGEST_HISTORY).splitlines()
            except FileNotFoundError:
                continue
            except OSError as error:
                raise StateError(f"Cannot read the prompt history {str(path)!r}: {error.strerror}.") from error
            for line in lines:
                try:
                    prompt = decode_json(line, _StoredPrompt)
                except (msgspec.DecodeError, UnicodeDecodeError):
                    damaged += 1
                    continue
                if prompt.cwd == str(cwd):
                    prompts.append(prompt.text)
        return tuple(prompts), damaged

    def append(self, cwd: Path, text: str) -> None:
        """Store a prompt, unless it is too long. Raise `StateError` if that fails."""
        if len(text) > LONGEST_PROMPT:
            return
        try:
            make_folder(self._path.parent)
            file = LogFile(self._path, largest=self._largest)
            try:
                file.write(json.dumps({"cwd": str(cwd), "text": valid_unicode(text)}))
            finally:
                file.close()
        except OSError as error:
            raise StateError(f"Cannot write the prompt history {str(self._path)!r}: {error.strerror}.") from error


class SavedPrompts:
    """The prompts of earlier sessions on this screen: read and written in the background, with errors as notices."""

    def __init__(self, environ: Mapping[str, str], dialogs: Dialogs, past: PromptHistory) -> None:
        self._file = PromptFile(homes(environ).prompts)
        self._dialogs = dialogs
        self._past = past

    def load(self, cwd: Path) -> None:
        """Add the prompts of earlier sessions of the folder `cwd` to the history."""

        def add(result: tuple[tuple[str, ...], int]) -> None:
            prompts, damaged = result
            self._past.add_earlier(prompts)
            if damaged:
                self._dialogs.notify(f"Prompt history: {count_noun(damaged, 'damaged line')} left out.", also=True)

        self._dialogs.in_background(lambda: self._file.read(cwd), add)

    def keep(self, cwd: Path, text: str) -> None:
        """Keep a prompt for later sessions of the folder."""
        self._dialogs.in_background(lambda: self._file.append(cwd, text), lambda _: None)

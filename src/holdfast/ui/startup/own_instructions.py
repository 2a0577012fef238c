"""The user's own instructions for one session, from the command line: its system prompt, or the end of it."""

from __future__ import annotations

from pathlib import Path

from holdfast.errors import UsageError
from holdfast.system.bounded_files import STATE_FILE, read_bounded
from holdfast.ui.startup.arguments import Arguments


def session_system(arguments: Arguments) -> str:
    """Return the text of --system-prompt or of its file, "" if there is none.

    Raise `UsageError` as `session_instructions` does.
    """
    return _text_of(arguments, "--system-prompt", arguments.system_prompt, arguments.system_prompt_file)


def session_instructions(arguments: Arguments) -> str:
    """Return the text of --append-system-prompt or of its file, "" if there is none.

    Raise `UsageError` if the file cannot be read, or for a session that exists: its system prompt is journalled.
    """
    text, file = arguments.append_system_prompt, arguments.append_system_prompt_file
    return _text_of(arguments, "--append-system-prompt", text, file)


def _text_of(arguments: Arguments, option: str, text: str | None, file: str | None) -> str:
    if text is None and file is None:
        return ""
    if text is not None and file is not None:
        raise UsageError(f"Options {option} and {option}-file conflict. Use only one.")
    if arguments.continue_ or arguments.resume is not None:
        raise UsageError(
            f"{option} is for new sessions: a session keeps the system prompt that it began with. "
            "Leave out -c, -r and --fork, or put the text in the prompt."
        )
    if file is not None:
        try:
            text = read_bounded(Path(file), STATE_FILE).decode()
        except OSError as error:
            raise UsageError(f"Cannot read {option}-file {file!r}: {error.strerror}. Pass another file.") from error
        except UnicodeDecodeError as error:
            raise UsageError(f"{option}-file {file!r} is not UTF-8 text (byte {error.start}). Convert it.") from error
    if not (text or "").strip():
        raise UsageError(f"{option} is empty. Pass a text, or leave it out.")
    return (text or "").strip()

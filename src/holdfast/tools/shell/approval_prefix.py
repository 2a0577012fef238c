"""Says which words of a command the user may allow with any harmless ones behind: a program, and its sub-command. Pure.

The words after them are not remembered, so they must not decide what is run: only what the closed table of
`holdfast.tools.known_programs.widened` names has such words. All else is remembered with its very words.
"""

from __future__ import annotations

from itertools import takewhile

from holdfast.tools.approval.command_words import widened_words
from holdfast.tools.shell.command_line import SimpleCommand


def program_of(command: SimpleCommand) -> tuple[str, ...]:
    """Return the words that may be remembered with others behind, () if none may.

    None with variables set before the program, and none behind a word that only bash knows.
    """
    if command.assignments:
        return ()
    return widened_words([word.text for word in takewhile(lambda word: word.fixed, command.words)])

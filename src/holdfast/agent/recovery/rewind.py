"""Plans a rewind to before a prompt, with a note about effects that are not undone. Pure."""

from __future__ import annotations

from collections.abc import Iterable

from holdfast.errors import UsageError
from holdfast.session import model_notices
from holdfast.session.conversation.conversation import Conversation
from holdfast.session.journal.entries import CallStarted, Entry, PromptAccepted, Rewound


def rewind_entry(conversation: Conversation, journal: Iterable[Entry], turn: int) -> tuple[Rewound, str]:
    """Return the entry that rewinds the conversation, and the prompt's text.

    Raises `UsageError` if there is no such prompt. `journal` is the whole journal: what an earlier rewind left behind
    is reported again if it came after this prompt.
    """
    prompts = {prompt.turn: prompt.text for prompt in conversation.prompts}
    if turn not in prompts:
        known = ", ".join(map(str, prompts)) or "none yet"
        raise UsageError(f"Turn {turn} is not part of this conversation (expected one of {known}). Choose one of them.")
    files: list[str] = []
    commands = 0
    for entry in journal:
        match entry:
            case PromptAccepted(turn=begun) if begun == turn:
                files, commands = [], 0
            case CallStarted(effect="execute" | "remote"):
                commands += 1
            case CallStarted(effect="write"):
                files += [change.path for change in entry.changes]
            case _:
                pass
    note = model_notices.rewound_notice(tuple(dict.fromkeys(files)), commands, program=conversation.program)
    return Rewound(turn=turn, note=note), prompts[turn]

"""Taking a conversation back to before a prompt: what is left behind, and what of it cannot be undone. Pure."""

from __future__ import annotations

from collections.abc import Iterable

from holdfast.errors import UsageError
from holdfast.session import words
from holdfast.session.conversation import Conversation
from holdfast.session.entries import CallStarted, Entry, PromptAccepted, Rewound


def rewound(conversation: Conversation, journal: Iterable[Entry], turn: int) -> tuple[Rewound, str]:
    """Return what takes the conversation back, and the words of the prompt; raises `UsageError` if it has none such.

    `journal` is the whole of it: what was left behind by an earlier rewind to a later prompt is left behind here too.
    """
    prompts = {asked.turn: asked.text for asked in conversation.prompts}
    if turn not in prompts:
        known = ", ".join(map(str, prompts)) or "none yet"
        raise UsageError(
            f"Turn {turn} is not part of this conversation, one of these was expected: {known}. Choose one of them."
        )
    files: list[str] = []
    commands = 0
    for entry in journal:
        match entry:
            case PromptAccepted(turn=begun) if begun == turn:
                files, commands = [], 0
            case CallStarted(effect="execute"):
                commands += 1
            case CallStarted(effect="write", change=change) if change is not None:
                files.append(change.path)
            case _:
                pass
    note = words.rewound(tuple(dict.fromkeys(files)), commands)
    return Rewound(turn=turn, note=note), prompts[turn]

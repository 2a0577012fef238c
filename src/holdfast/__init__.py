"""A coding agent whose conversations cannot be broken, and the small library it is built on.

It exports `open_session` and `tool`, with which a program has its own session, `check` and `repair`, `Ledger` and
`guarded` for other loops, and what the author of a model needs: the interface `Model`, its stream events, and the
values of a conversation.
Each is imported on first use, so that `import holdfast` costs nothing.
"""

from __future__ import annotations

TYPE_CHECKING = False  # type checkers treat it as true; importing `typing` would be a third of a small process's start

if TYPE_CHECKING:
    from holdfast.agent.events import Fact, LiveText
    from holdfast.errors import CallRepeated, HoldfastError, ProviderFailed, ProviderFault
    from holdfast.guard import guarded
    from holdfast.history import check, repair
    from holdfast.host.author_tools import tool
    from holdfast.host.commands import Answer, Continue, Prompt, Stop
    from holdfast.ledger import Ledger
    from holdfast.providers.model import (
        CallDelta,
        Model,
        ModelFinish,
        StreamEvent,
        StreamFinished,
        TextDelta,
        ThinkingDelta,
    )
    from holdfast.questions import ApprovalAnswer, Question
    from holdfast.session.conversation.conversation import (
        AssistantMessage,
        Conversation,
        ConversationMessage,
        Result,
        UserMessage,
    )
    from holdfast.session.journal.parts import CallPart, TextPart, ThinkingPart, Usage
    from holdfast.tool_calls import Image, ToolSchema
    from holdfast.ui.library.library_session import PromptFailed, Session, open_session

__version__ = "0.1.0"

__all__ = [
    "Answer",
    "ApprovalAnswer",
    "AssistantMessage",
    "CallDelta",
    "CallPart",
    "CallRepeated",
    "Continue",
    "Conversation",
    "ConversationMessage",
    "Fact",
    "HoldfastError",
    "Image",
    "Ledger",
    "LiveText",
    "Model",
    "ModelFinish",
    "Prompt",
    "PromptFailed",
    "ProviderFailed",
    "ProviderFault",
    "Question",
    "Result",
    "Session",
    "Stop",
    "StreamEvent",
    "StreamFinished",
    "TextDelta",
    "TextPart",
    "ThinkingDelta",
    "ThinkingPart",
    "ToolSchema",
    "Usage",
    "UserMessage",
    "check",
    "guarded",
    "open_session",
    "repair",
    "tool",
]

_MODULES = {
    "holdfast.agent.events": ("Fact", "LiveText"),
    "holdfast.errors": ("CallRepeated", "HoldfastError", "ProviderFailed", "ProviderFault"),
    "holdfast.guard": ("guarded",),
    "holdfast.history": ("check", "repair"),
    "holdfast.host.author_tools": ("tool",),
    "holdfast.host.commands": ("Answer", "Continue", "Prompt", "Stop"),
    "holdfast.ledger": ("Ledger",),
    "holdfast.ui.library.library_session": ("PromptFailed", "Session", "open_session"),
    "holdfast.questions": ("ApprovalAnswer", "Question"),
    "holdfast.providers.model": (
        *("CallDelta", "Model", "ModelFinish", "StreamEvent", "StreamFinished", "TextDelta", "ThinkingDelta"),
    ),
    "holdfast.session.conversation.conversation": (
        *("AssistantMessage", "Conversation", "ConversationMessage", "Result", "UserMessage"),
    ),
    "holdfast.session.journal.parts": ("CallPart", "TextPart", "ThinkingPart", "Usage"),
    "holdfast.tool_calls": ("Image", "ToolSchema"),
}


def __getattr__(name: str) -> object:
    """Return a value of `__all__` from its module."""
    from importlib import import_module

    for module, names in _MODULES.items():
        if name in names:
            return vars(import_module(module))[name]
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")

"""A coding agent whose conversations cannot be broken, and the small library it is built on.

It exports what the author of a model needs: the interface `Model`, its stream events, and the values of a conversation.
Each is imported on first use, so that `import holdfast` costs nothing.
"""

from __future__ import annotations

TYPE_CHECKING = False  # type checkers treat it as true; importing `typing` would be a third of a small process's start

if TYPE_CHECKING:
    from holdfast.errors import ProviderFailed, ProviderFault
    from holdfast.providers.model import (
        CallDelta,
        Model,
        ModelFinish,
        StreamEvent,
        StreamFinished,
        TextDelta,
        ThinkingDelta,
    )
    from holdfast.session.conversation.conversation import (
        AssistantMessage,
        Conversation,
        ConversationMessage,
        Result,
        UserMessage,
    )
    from holdfast.session.journal.parts import CallPart, TextPart, ThinkingPart, Usage
    from holdfast.tool_calls import Image, ToolSchema

__version__ = "0.1.0"

__all__ = [
    "AssistantMessage",
    "CallDelta",
    "CallPart",
    "Conversation",
    "ConversationMessage",
    "Image",
    "Model",
    "ModelFinish",
    "ProviderFailed",
    "ProviderFault",
    "Result",
    "StreamEvent",
    "StreamFinished",
    "TextDelta",
    "TextPart",
    "ThinkingDelta",
    "ThinkingPart",
    "ToolSchema",
    "Usage",
    "UserMessage",
]

_MODULES = {
    "holdfast.errors": ("ProviderFailed", "ProviderFault"),
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

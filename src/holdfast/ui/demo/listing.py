"""The message list of a conversation as rows, one for each part: what the model would be sent, for a person to see."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from holdfast.session.conversation import AssistantMessage, Conversation, UserMessage
from holdfast.session.entries import CallPart, TextPart, ThinkingPart
from holdfast.ui.account import MARKS, call_line


@dataclass(frozen=True, slots=True)
class Row:
    """A part of the message at `place`; `call` is the id of the call it is or answers, else ""."""

    place: int
    role: str
    part: str
    call: str
    said: str


OPEN = "OPEN"
"""The part of a row that stands where the result of an open call will be."""


def rows(conversation: Conversation) -> Iterator[Row]:
    """Yield the parts of every message, in order."""
    waiting = {call.part.id: call for call in conversation.open_calls}
    for place, message in enumerate(conversation.messages):
        match message:
            case AssistantMessage(parts=parts):
                for part in parts:
                    match part:
                        case TextPart(text=text):
                            yield Row(place, "assistant", "text", "", text)
                        case ThinkingPart(text=text):
                            yield Row(place, "assistant", "thought", "", text)
                        case CallPart(id=call):
                            yield Row(place, "assistant", "call", call, call_line(part))
            case UserMessage(results=results, texts=texts):
                for result in results:
                    call = waiting.get(result.call)
                    if call is None:
                        yield Row(place, "user", "result", result.call, f"{MARKS[result.outcome]} {result.text}")
                    else:
                        said = "started, no result yet" if call.started else "not started yet"
                        yield Row(place, "user", OPEN, result.call, said)
                for text in texts:
                    part = "note" if text.startswith("[Note from holdfast") else "prompt"
                    yield Row(place, "user", part, "", text)

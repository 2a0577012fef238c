"""What several test modules share of `test_fold_laws`."""

from __future__ import annotations

from holdfast.session.conversation.conversation import AssistantMessage, ConversationMessage, UserMessage
from holdfast.session.journal.parts import CallPart, TextPart


def faults(messages: tuple[ConversationMessage, ...]) -> list[str]:
    """Return what is wrong with a message list, by rules written apart from the fold."""
    wrong: list[str] = []
    seen: set[str] = set()
    for index, message in enumerate(messages):
        before = messages[index - 1] if index else None
        if type(message) is type(before):
            wrong.append(f"{index}: two messages of one role in a row")
        match message:
            case AssistantMessage():
                if index == 0:
                    wrong.append("0: the assistant speaks first")
                calls = [part.id for part in message.parts if isinstance(part, CallPart)]
                spoken = [part for part in message.parts if isinstance(part, TextPart) and part.text.strip()]
                if not calls and not spoken:
                    wrong.append(f"{index}: an assistant message without text or call")
                if any(isinstance(part, TextPart) and not part.text.strip() for part in message.parts):
                    wrong.append(f"{index}: blank text")
                if len(set(calls)) < len(calls) or seen & set(calls):
                    wrong.append(f"{index}: a call id used twice")
                seen.update(calls)
                after = messages[index + 1] if index + 1 < len(messages) else None
                answered = [result.call for result in after.results] if isinstance(after, UserMessage) else []
                if answered != calls:
                    wrong.append(f"{index}: calls {calls} are answered by {answered}")
            case UserMessage():
                if message.results and not isinstance(before, AssistantMessage):
                    wrong.append(f"{index}: results without calls before them")
                if not message.results and not message.content:
                    wrong.append(f"{index}: an empty user message")
                if any(not result.text.strip() for result in message.results):
                    wrong.append(f"{index}: a blank result")
                if any(not text.strip() for text in message.texts):
                    wrong.append(f"{index}: a blank text")
    return wrong

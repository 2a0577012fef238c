"""How requests to one model differ because its provider refused one: the journal's decisions, applied. Pure.

A change is applied to every request from its entry on, so that the same conversation gives the same bytes again.
Control tokens are broken with spaces (`< |channel| >`): a provider refuses a request that has them anywhere, also in
the output of a command or in the description of a tool.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable

import msgspec

from holdfast.session.conversation import conversation as c
from holdfast.session.journal.entries import Part, SessionOpened
from holdfast.session.journal.parts import REQUIRED_THINKING, CallPart, TextPart, ThinkingPart
from holdfast.tool_calls import ToolSchema

_MARKER = re.compile(r"<([|\uff5c])([^<>|\uff5c\n]{1,200})([|\uff5c])>")
"""A control token: `<|channel|>`, `<|assistant to=functions.bash|>`, and with the wide bars of DeepSeek's."""


class SentChanges(msgspec.Struct, frozen=True):
    """The changes in force for one model; `tools` are not declared to it."""

    kinds: frozenset[str] = frozenset()
    tools: frozenset[str] = frozenset()

    def opened(self, opened: SessionOpened) -> SessionOpened:
        """Return the first entry with the system prompt and the tools to send."""
        if self.tools:
            tools = tuple(tool for tool in opened.tools if tool.name not in self.tools)
            opened = msgspec.structs.replace(opened, tools=tools)
        if "markers" in self.kinds:
            opened = msgspec.structs.replace(
                opened, system=without_markers(opened.system), tools=tuple(map(_tool, opened.tools))
            )
        return opened

    def message(self, message: c.ConversationMessage, model: str) -> c.ConversationMessage:
        """Return a normalized message as it is sent to the model."""
        if "reasoning" in self.kinds and isinstance(message, c.AssistantMessage):
            message = _with_reasoning(message, model)
        return _unmarked(message) if "markers" in self.kinds else message


def changes_for(conversation: c.Conversation) -> SentChanges:
    """Return the changes of requests to the conversation's model."""
    found = [each for each in conversation.request_changes if each.model == conversation.model]
    return SentChanges(
        frozenset(each.change for each in found), frozenset(name for each in found for name in each.tools)
    )


def without_markers(text: str) -> str:
    """Return the text with its control tokens broken."""
    return _MARKER.sub(r"< \1\2\3 >", text) if "<" in text else text


def _with_reasoning(message: c.AssistantMessage, model: str) -> c.AssistantMessage:
    if not message.calls or any(isinstance(part, ThinkingPart) for part in message.parts):
        return message
    return c.AssistantMessage(model, (REQUIRED_THINKING, *message.parts))


def _unmarked(message: c.ConversationMessage) -> c.ConversationMessage:
    match message:
        case c.UserMessage():
            results = tuple(
                msgspec.structs.replace(each, text=without_markers(each.text), name=without_markers(each.name))
                for each in message.results
            )
            content = tuple(without_markers(each) if isinstance(each, str) else each for each in message.content)
            return c.UserMessage(results, content)
        case c.AssistantMessage():
            parts = (_unmarked_part(part) for part in message.parts)
            return msgspec.structs.replace(message, parts=tuple(part for part in parts if part is not None))


def _unmarked_part(part: Part) -> Part | None:
    """Return the part; None for signed thinking with a control token, which cannot be changed."""
    match part:
        case TextPart():
            return TextPart(without_markers(part.text))
        case ThinkingPart():
            text = without_markers(part.text)
            return part if text == part.text else None if part.signature else msgspec.structs.replace(part, text=text)
        case CallPart():
            return msgspec.structs.replace(part, arguments=_unmarked_arguments(part.arguments))


def _unmarked_arguments(arguments: str) -> str:
    r"""Return the arguments; an escape such as `\u003c` may hide a control token."""
    if "\\" not in arguments:
        return without_markers(arguments)
    try:
        value: object = json.loads(arguments)
    except (ValueError, RecursionError):
        return without_markers(arguments)
    changed = _in_texts(value, without_markers)
    return arguments if changed == value else json.dumps(changed, ensure_ascii=False)


def _tool(tool: ToolSchema) -> ToolSchema:
    parameters = {without_markers(key): _in_texts(each, without_markers) for key, each in tool.parameters.items()}
    return msgspec.structs.replace(tool, description=without_markers(tool.description), parameters=parameters)


def _in_texts(value: object, change: Callable[[str], str]) -> object:
    """Return the JSON value with each text changed, also the keys of objects."""
    match value:
        case str():
            return change(value)
        case list():
            return [_in_texts(each, change) for each in value]  # pyright: ignore[reportUnknownVariableType, reportUnknownArgumentType] - JSON
        case dict():
            return {change(str(key)): _in_texts(each, change) for key, each in value.items()}  # pyright: ignore[reportUnknownVariableType, reportUnknownArgumentType] - JSON
        case _:
            return value

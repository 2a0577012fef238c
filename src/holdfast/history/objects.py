"""Messages that are objects of an SDK or a framework: read as data of a format, and written back as such objects.

No such library is imported: an object's class says where it comes from, and its module is loaded if there is one.
A message that a repair leaves alone comes back as the same object. Only a new or a changed one is made, by the class of
its kind, which checks it.

Example: of three LangChain messages, the second with a call that has no result, four come back: the three objects,
and a `ToolMessage`.

Why not always return data? Its author would have to convert it, and the obvious ways are wrong: LangChain's own dump is
a format that no provider takes.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence
from typing import Any, cast

import msgspec

from holdfast.errors import UsageError
from holdfast.history.formats.format import Json, as_array, as_object, is_arguments, is_object

ToData = Callable[[Any], object]
ToObject = Callable[[Json, Any], object]
"""Returns an object for data; the second argument is the object that it was, None for a new one."""


class _Kind(msgspec.Struct, frozen=True):
    """The objects of one library: the format that their data has, and how each becomes data and an object again."""

    name: str
    format: str
    data: ToData
    object: ToObject


class MessageObjects(msgspec.Struct, frozen=True):
    """Message objects and their data, in order."""

    messages: list[object]
    data: list[object]
    kind: _Kind

    def format_for(self, named: str | None) -> str:
        """Return the format of the data. Raise `UsageError` if another one was named."""
        if named is not None and named != self.kind.format:
            raise UsageError(
                f"Message objects of {self.kind.name} are read as {self.kind.format}, not as {named}. Leave the format "
                "out, or name that one."
            )
        return self.kind.format

    def with_data(self, data: Sequence[object]) -> list[object]:
        """Return the objects of repaired data: the same where the data is the same, new ones elsewhere."""
        index = {id(each): at for at, each in enumerate(self.data)}
        places = [index.get(id(each)) for each in data]
        used = {at for at in places if at is not None}
        result: list[object] = []
        for number, (each, at) in enumerate(zip(data, places, strict=True)):
            if at is not None:
                result.append(self.messages[at])
                continue
            begin = next((at + 1 for at in reversed(places[:number]) if at is not None), 0)
            end = next((at for at in places[number:] if at is not None), len(self.data))
            changed = cast("Json", each)
            before = self._before(changed, [at for at in range(begin, end) if at not in used])
            if before is not None:
                used.add(before)
            result.append(self.kind.object(changed, None if before is None else self.messages[before]))
        return result

    def _before(self, changed: Json, places: Sequence[int]) -> int | None:
        """Return the place of the object that a changed message was made of: one between the same neighbours.

        It has the same role. Of results, only one with the same id or text is the same one.
        """
        same = [at for at in places if as_object(self.data[at]).get("role") == changed.get("role")]
        alike = [at for at in same if _alike(as_object(self.data[at]), changed)]
        return next(iter(alike or ([] if changed.get("role") == "tool" else same)), None)


def _alike(raw: Json, changed: Json) -> bool:
    """Return whether a message can be the one before its change: it has the same content, calls or id."""
    return any(raw.get(key) and raw[key] == changed.get(key) for key in ("content", "tool_calls", "tool_call_id"))


def message_objects(messages: Sequence[object]) -> MessageObjects | None:
    """Return the messages as data, None if they are plain data already, or no objects that are known here.

    Data among the objects stays data. Raises `UsageError` for objects of two libraries.
    """
    found = list(dict.fromkeys(kind for each in messages if (kind := _kind_of(each)) is not None))
    if not found:
        return None
    if len(found) > 1:
        raise UsageError(
            f"The messages are objects of {' and of '.join(each.name for each in found)} (expected those of one "
            "library). Convert them to one format first."
        )
    (kind,) = found
    return MessageObjects(list(messages), [each if is_object(each) else kind.data(each) for each in messages], kind)


def _kind_of(message: object) -> _Kind | None:
    if isinstance(message, dict | list | tuple | str | int | float | None):
        return None
    for each in type(message).__mro__:
        for prefix, names, kind in _KINDS:
            if each.__module__.startswith(prefix) and (not names or each.__name__ in names):
                return kind
    return None


def _dumped(message: Any) -> object:  # noqa: ANN401 - an object of another library
    return message.model_dump(mode="json", exclude_none=True)


def _as_data(raw: Json, _: Any) -> object:  # noqa: ANN401 - likewise
    """Return the data itself: the SDK's requests take it, and have no class that checks it."""
    return raw


def _anthropic_data(message: Any) -> object:  # noqa: ANN401 - likewise
    """Return what a request takes of a response: its role and its content."""
    raw = as_object(_dumped(message))
    return {key: raw[key] for key in ("role", "content") if key in raw}


# --- Gemini ----------------------------------------------------------------------------------------------------------


def _gemini_data(message: Any) -> object:  # noqa: ANN401 - likewise
    return message.model_dump(mode="json", exclude_none=True, by_alias=True)


def _gemini_object(raw: Json, _: Any) -> object:  # noqa: ANN401 - likewise
    return vars(sys.modules["google.genai.types"])["Content"].model_validate(raw)


# --- pydantic-ai -----------------------------------------------------------------------------------------------------


def _pydantic_ai_data(message: Any) -> object:  # noqa: ANN401 - likewise
    adapter = vars(sys.modules["pydantic_ai.messages"])["ModelMessagesTypeAdapter"]
    return adapter.dump_python([message], mode="json")[0]


def _pydantic_ai_object(raw: Json, _: Any) -> object:  # noqa: ANN401 - likewise
    adapter = vars(sys.modules["pydantic_ai.messages"])["ModelMessagesTypeAdapter"]
    return adapter.validate_python([raw])[0]


# --- LangChain -------------------------------------------------------------------------------------------------------

_LANGCHAIN_ROLES = {"human": "user", "ai": "assistant", "system": "system", "tool": "tool"}


def _langchain_data(message: Any) -> object:  # noqa: ANN401 - likewise
    """Return the message in OpenAI's format, by its own fields."""
    role = _LANGCHAIN_ROLES.get(message.type, message.type)
    if role == "chat":
        role = message.role
    raw: Json = {"role": role, "content": message.content}
    if role == "tool":
        raw["tool_call_id"] = message.tool_call_id
    if role == "function":
        raw["name"] = message.name
    calls: list[object] = [
        _langchain_call(each, msgspec.json.encode(each["args"]).decode()) for each in getattr(message, "tool_calls", ())
    ]
    calls += [_langchain_call(each, each["args"] or "") for each in getattr(message, "invalid_tool_calls", ())]
    if calls:
        raw["tool_calls"] = calls
    return raw


def _langchain_call(call: Any, arguments: str) -> Json:  # noqa: ANN401 - likewise
    named: Json = {"type": "function", "function": {"name": call["name"], "arguments": arguments}}
    return named if call["id"] is None else {"id": call["id"], **named}


def _langchain_object(raw: Json, before: Any) -> object:  # noqa: ANN401 - likewise
    """Return the message for data in OpenAI's format. Of a changed one, only its content, calls and id are replaced."""
    classes = vars(sys.modules["langchain_core.messages"])
    content = raw.get("content") if raw.get("content") is not None else ""
    match raw.get("role"):
        case "tool":
            fields: Json = {"content": content, "tool_call_id": raw.get("tool_call_id")}
            name = "ToolMessage"
        case "assistant":
            calls = [_langchain_call_of(as_object(each)) for each in as_array(raw.get("tool_calls"))]
            fields = {
                "content": content,
                "tool_calls": [each for each in calls if each["type"] == "tool_call"],
                "invalid_tool_calls": [each for each in calls if each["type"] != "tool_call"],
            }
            name = "AIMessage"
        case "system" | "developer":
            fields, name = {"content": content}, "SystemMessage"
        case _:
            fields, name = {"content": content}, "HumanMessage"
    if before is not None and type(before).__name__ in (name, f"{name}Chunk"):
        return before.model_copy(update=fields)
    return classes[name](**fields)


def _langchain_call_of(call: Json) -> Json:
    """Return a call as LangChain has it, which has another kind for one whose arguments are no JSON object."""
    function = as_object(call.get("function"))
    written = str(function.get("arguments") or "{}")
    named: Json = {"id": call.get("id"), "name": function.get("name")}
    if not is_arguments(written):
        return {"type": "invalid_tool_call", "args": written, "error": None, **named}
    arguments: object = msgspec.json.decode(written)
    return {"type": "tool_call", "args": arguments, **named}


_LANGCHAIN = _Kind("LangChain", "openai-chat", _langchain_data, _langchain_object)
_PYDANTIC_AI = _Kind("pydantic-ai", "pydantic-ai", _pydantic_ai_data, _pydantic_ai_object)
_OPENAI_CHAT = _Kind("OpenAI's SDK (Chat)", "openai-chat", _dumped, _as_data)
_OPENAI_RESPONSES = _Kind("OpenAI's SDK (Responses)", "openai-responses", _dumped, _as_data)
_ANTHROPIC = _Kind("Anthropic's SDK", "anthropic", _anthropic_data, _as_data)
_GEMINI = _Kind("Google's SDK", "gemini", _gemini_data, _gemini_object)

_KINDS: tuple[tuple[str, frozenset[str], _Kind], ...] = (
    ("langchain_core.messages", frozenset({"BaseMessage"}), _LANGCHAIN),
    ("pydantic_ai.messages", frozenset({"ModelRequest", "ModelResponse"}), _PYDANTIC_AI),
    ("openai.types.chat", frozenset(), _OPENAI_CHAT),
    ("litellm.types", frozenset({"Message"}), _OPENAI_CHAT),
    ("openai.types.responses", frozenset(), _OPENAI_RESPONSES),
    ("anthropic.types", frozenset({"Message"}), _ANTHROPIC),
    ("google.genai.types", frozenset({"Content"}), _GEMINI),
)
"""The module and the classes that the objects of each library derive from; without classes, any of the module."""

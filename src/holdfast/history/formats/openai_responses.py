"""Items of OpenAI's Responses, and of the services that speak it.

A message is one item; consecutive items of the assistant are one response. An item keeps every unknown field, and calls
that the provider ran itself stay unchanged, since they hold their results.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

import msgspec

from holdfast.history.draft_messages import DraftMessage
from holdfast.history.formats.content import (
    BLANK,
    FOREIGN_BLOCKS,
    content_of,
    empty_flags,
    foreign,
    result_of_parts,
)
from holdfast.history.formats.format import (
    Json,
    RequestFacts,
    as_array,
    as_object,
    as_text,
    digest,
    has_content_elsewhere,
    is_arguments,
    is_array,
    is_object,
    not_a_message,
    role_in,
    words,
)
from holdfast.history.formats.openai_responses_writer import (
    CALLS,
    CONTENT_TYPES,
    FORMER_KINDS,
    RESPONSES_ROLES,
    RESULTS,
    TEXTUAL,
    build_item,
    has_illegal_value,
    id_key,
    is_file_part,
    is_hollow_content,
    is_image_part,
    is_message,
)
from holdfast.history.formats.other_wire_results import picture_item, result_in_other_field, result_of_another
from holdfast.history.formats.shape_marks import has_fields_to_quote
from holdfast.history.media.images import NO_TYPE, inspect_image_address, type_of
from holdfast.history.shape import NO_FLAGS, Flag, Grammar, Item, Media, Message, Path, Role, is_synthetic

_OTHERS = frozenset(
    {
        "additional_tools",
        "compaction",
        "compaction_trigger",
        "configuration_update",
        "context_compaction",
        "mcp_list_tools",
        "mcp_approval_request",
        "mcp_approval_response",
        "program",
        "program_output",
        "tool_search_output",
    }
)
"""Kinds of items that need no other item."""

_OF_CALLS = frozenset({"call_id", "name", "arguments", "input", "action"})
"""The fields of calls; every call has at least one of them."""

_SERVED = frozenset(
    f"{kind}_call"
    for kind in ("code_interpreter", "file_search", "image_generation", "mcp", "tool_search", "web_search")
)
"""Calls that the provider runs itself, which hold their results."""

_ILLEGAL_VALUE: frozenset[Flag] = frozenset({"illegal-value"})
_SEALED: frozenset[Flag] = frozenset({"signed", "no-text"})
_PREFIXES = {"message": "msg", "reasoning": "rs", "function_call": "fc", "custom_tool_call": "ctc"}

_ID_LENGTH = 64
_NEVER_REASON = ("gpt-3.5", "gpt-4", "chatgpt-4o")


class OpenAIResponses:
    """The format `openai-responses`."""

    name = "openai-responses"
    grammar = Grammar(results="own", atomic=True)
    profile = "openai-responses"
    keys = ("input",)

    def request_facts(self, body: Mapping[str, object]) -> RequestFacts:
        """Return what the request body says about tools and thinking, and whether it continues a stored response."""
        effort = as_text(as_object(body.get("reasoning")).get("effort"))
        thinking = effort != "none" if effort else None
        if (as_text(body.get("model")) or "").startswith(_NEVER_REASON):
            thinking = False
        stored = body.get("previous_response_id") or body.get("conversation")
        model, store = as_text(body.get("model")), body.get("store")
        store_flag = store if isinstance(store, bool) else None
        tools = frozenset(_tools(body.get("tools")))
        return RequestFacts(tools, thinking, continued=bool(stored), model=model, store=store_flag)

    def message(self, index: int, raw: object) -> Message:
        """Return the projection of one item."""
        if not is_object(raw):
            return not_a_message(index, "malformed")
        if is_message(raw) and raw.get("role") != "tool":
            return _message(index, raw)
        kind = as_text(raw.get("type")) or ""
        if kind == "reasoning" and role_in(RESPONSES_ROLES, raw.get("role")) in ("user", "system"):
            return not_a_message(index, "malformed")  # only the assistant thinks; the content of others stays
        if kind in CALLS and raw.get("content") and raw.get("role") and raw.keys().isdisjoint(_OF_CALLS):
            return not_a_message(index, "malformed")  # content under the name of a call
        item = _item(index, kind, raw)
        item = item or result_of_another((index,), "tool", raw, self.grammar, kind_names=())
        return not_a_message(index, "unknown-role") if item is None else Message(index, item.role, (item,))

    def cross_check(self, projected: list[Message], messages: Sequence[object]) -> list[Message]:
        """Return the projection with the findings across items: duplicates, reasoning without effect."""
        return _bound(_once(projected, messages))

    def build(self, row: DraftMessage, messages: Sequence[object]) -> object:
        """Return the item for an edited row."""
        return build_item(row, messages)


FORMAT = OpenAIResponses()


def _tools(listed: object) -> Iterator[str]:
    """Yield the names of the tools; OpenAI's own tools have the names of their calls."""
    for tool in as_array(listed):
        raw = as_object(tool)
        kind = as_text(raw.get("type")) or ""
        if name := as_text(raw.get("name")) or ("computer" if kind.startswith("computer") else kind):
            yield name
        yield from _tools(raw.get("tools"))  # a namespace holds tools


# --- one item --------------------------------------------------------------------------------------------------------


def _item(index: int, kind: str, raw: Json) -> Item | None:
    """Return the item of anything but a message, None if its kind is unknown."""
    item: Item | None = None
    if kind == "reasoning":
        item = _reasoning(index, raw)
    elif kind in CALLS:
        item = _call(index, kind, raw)
    elif kind in RESULTS:
        item = _result(index, kind, raw)
    elif kind == "item_reference" or (raw.get("type") is None and as_text(raw.get("id"))):
        kind_names = () if kind else ("assistant/untyped-reference",)
        item = Item("other", "assistant", (index,), flags=frozenset({"reference"}), kind_names=kind_names)
    elif kind.endswith(("_call", "_output")) and kind not in _OTHERS | _SERVED:
        item = Item("other", "assistant", (index,), name=kind, flags=FOREIGN_BLOCKS)
    elif kind in _OTHERS | _SERVED or kind in FORMER_KINDS:
        item = _other(index, kind, raw)
    return item


def _other(index: int, kind: str, raw: Json) -> Item:
    """Return the item of what the provider ran or made itself."""
    flags: set[Flag] = set()
    names = [f"assistant/{kind}"]
    if kind.startswith("tool_search_") and as_text(raw.get("call_id")) is None:
        names.append("assistant/tool-search-without-id")
    if kind in FORMER_KINDS:
        flags.add("spelling")
        names.append(f"assistant/{FORMER_KINDS[kind]}")
    if names[-1] == "assistant/compaction" and as_text(raw.get("encrypted_content")):
        flags |= _SEALED
    name = None
    if kind in _SERVED and has_illegal_value(raw):
        flags, name = set(_ILLEGAL_VALUE), kind
    return Item("other", "assistant", (index,), name=name, flags=frozenset(flags), kind_names=tuple(names))


def _message(index: int, raw: Json) -> Message:
    written = raw.get("role")
    role = role_in(RESPONSES_ROLES, written)
    if role is None:
        return not_a_message(index, "unknown-role", as_text(written))
    if has_content_elsewhere(raw, "tool_calls"):
        return not_a_message(index, "malformed")
    items = tuple(content_of((index, "content"), role, raw.get("content"), _part))
    flags = empty_flags(role, items)
    if written not in RESPONSES_ROLES:
        flags.add("role-misnamed")
    if items and (id_flag := _item_id_flag("message", raw)):
        items = (_flagged(items[0], id_flag), *items[1:])
    return Message(index, role, items, frozenset(flags))


def _item_id_flag(kind: str, raw: Json) -> Flag | None:
    """Return the flag for the item's own id, None if it has no id and needs none."""
    item_id = raw.get("id")
    if item_id is None:
        spoken = kind != "message" or raw.get("role") == "assistant"
        return "item-id" if "id" in raw and kind in _PREFIXES and spoken else None
    if (
        not isinstance(item_id, str)
        or not 0 < len(item_id) <= _ID_LENGTH
        or not item_id.startswith(_PREFIXES.get(kind, ""))
    ):
        return "item-id"
    return "own-id"


def _flagged(item: Item, flag: Flag) -> Item:
    return msgspec.structs.replace(item, flags=item.flags - {"reference"} | {flag})  # a second one does not count


def _part(path: Path, role: Role, part: object) -> Item:
    """Return the item of a part of a message, or of a result (then `role` is `tool`)."""
    raw = as_object(part)
    kind = as_text(raw.get("type")) or ""
    text = part if isinstance(part, str) else raw.get("refusal" if kind == "refusal" else "text")
    usual = kind == CONTENT_TYPES[role]
    if isinstance(text, str) and (
        kind in ("", "text", *CONTENT_TYPES.values()) or (kind == "refusal" and role == "assistant")
    ):
        blank = NO_FLAGS if text.strip() else BLANK
        if isinstance(part, str):
            return Item("text", role, path, flags=blank | FOREIGN_BLOCKS)
        return Item("text", role, path, flags=blank, kind_names=() if usual else (f"{role}/{kind or 'text'}",))
    if role != "assistant" and is_image_part(raw):
        return Item("media", role, path, media=(inspect_image_address(raw.get("image_url")),))
    if role != "assistant" and is_file_part(raw):
        return Item("media", role, path, media=(_file(raw),))
    result = result_of_another(path, role, part, OpenAIResponses.grammar, kind_names=()) if role == "user" else None
    return result or picture_item(path, role, part, OpenAIResponses.name) or foreign(path, role, part)


def _file(raw: Json) -> Media:
    """Return what is known about a file: its bytes must be a data URL."""
    data = as_text(raw.get("file_data"))
    if data is None or data.startswith("data:"):
        return Media()
    return Media(declared=NO_TYPE, found=type_of(data), name=as_text(raw.get("filename")) or "")


def _reasoning(index: int, raw: Json) -> Item:
    flags: set[Flag] = set()
    if not is_array(raw.get("summary")):
        flags.add("incomplete")
    if id_flag := _item_id_flag("reasoning", raw):
        flags.add(id_flag)
    content = raw.get("content")
    texts = [as_object(part).get("text") for part in as_array(content)]
    if is_hollow_content(content):
        flags.add("mistyped")
    elif (content is not None and not is_array(content)) or not all(isinstance(text, str) for text in texts):
        flags.add("foreign")
    if not any(as_text(text) for text in texts) and not as_text(content):
        flags.add("no-text")
    if content and "mistyped" not in flags:
        flags.add("thoughts")
    maker = None
    if as_text(raw.get("encrypted_content")):
        maker = "openai"
        flags.add("signed")
    return Item("thinking", "assistant", (index,), flags=frozenset(flags) if flags else NO_FLAGS, maker=maker)


def _call(index: int, kind: str, raw: Json) -> Item:
    call = as_text(raw.get("call_id"))
    flags: set[Flag] = set()
    if call is None:
        flags.add("id-missing")
    if kind in _PREFIXES and (id_flag := _item_id_flag(kind, raw)):
        flags.add(id_flag)  # in other calls the id is a required field
    if kind == "function_call":
        if not isinstance(raw.get("arguments"), str):
            flags.add("arguments-type")
        elif not is_arguments(raw["arguments"]):
            flags.add("arguments")
    elif kind == "custom_tool_call" and not isinstance(raw.get("input"), str):
        flags.add("arguments-type")
    name = CALLS[kind] or as_text(raw.get("name"))
    return Item("call", "assistant", (index,), call, name, frozenset(flags) if flags else NO_FLAGS)


def _result(index: int, kind: str, raw: Json) -> Item:
    key = id_key(raw)
    call = as_text(raw.get(key))
    output = raw.get("output")
    if (
        output is None
        and kind in TEXTUAL
        and (other_field := result_in_other_field((index,), "tool", raw, OpenAIResponses.grammar))
    ):
        return other_field
    flags: set[Flag] = set()
    parts: list[Item] = []
    if call is None:
        flags.add("id-missing")
    if key != "id" and _item_id_flag(kind, raw) == "item-id":
        flags.add("item-id")
    if kind in TEXTUAL:
        parts = _output_parts((index, "output"), output, flags)
    text = output if isinstance(output, str) else words(output)
    if is_synthetic(text):
        flags.add("synthetic")
    if any("other-picture" in part.flags for part in parts):
        flags.add("other-picture")
    kinds = frozenset(flags) if flags else NO_FLAGS
    name = CALLS[kind.removesuffix("_output")] or as_text(raw.get("name"))
    item = result_of_parts((index,), "tool", call, kinds, parts)
    media = item.media or _screenshot(output)
    return msgspec.structs.replace(item, name=name, digest=digest(text), media=media)


def _screenshot(output: object) -> tuple[Media, ...]:
    """Return what is known about an image that only lacks the type of its bytes; it cannot be left out."""
    found = inspect_image_address(as_object(output).get("image_url"))
    return (found,) if found.declared == NO_TYPE else ()


def _output_parts(path: Path, output: object, flags: set[Flag]) -> list[Item]:
    """Return the parts of a result, with their faults."""
    if output is None:
        flags.add("null")
    elif isinstance(output, str):
        if not output.strip():
            flags.add("blank")
    elif is_array(output):
        parts = [_part((*path, at), "tool", part) for at, part in enumerate(output)]
        if any(part.flags & {"foreign", "null"} for part in parts):
            flags.add("foreign")
        if not parts or any("blank" in part.flags for part in parts):
            flags.add("blank-block")
        if all("blank" in part.flags for part in parts) or not words(output).strip():
            flags.add("blank")
        return parts
    else:
        flags.add("foreign")
    return []


# --- across items ----------------------------------------------------------------------------------------------------


def _once(projected: list[Message], messages: Sequence[object]) -> list[Message]:
    """Return the projection with a finding for each item whose own id occurred before."""
    seen: set[str] = set()
    result = list(projected)
    for index, message in enumerate(projected):
        raw = as_object(messages[index])
        item_id = as_text(raw.get("id"))
        if item_id is None or not message.items or (message.items[0].kind == "result" and id_key(raw) == "id"):
            continue
        if item_id in seen:
            result[index] = _with_flag(message, "duplicate")
        elif "item-id" not in message.items[0].flags:  # which is removed
            seen.add(item_id)
    return result


def _bound(projected: list[Message]) -> list[Message]:
    """Return the projection with a finding for each reasoning that no item of its response follows."""
    result = list(projected)
    follows = False
    for index in range(len(projected) - 1, -1, -1):
        message = projected[index]
        if message.role != "assistant":
            follows = follows and not (message.items or has_fields_to_quote(message))
        elif message.items and message.items[0].kind == "thinking":
            if not follows:
                result[index] = _with_flag(message, "unbound")
        elif any(
            item.kind != "result" and not (item.kind == "other" and "duplicate" in item.flags) for item in message.items
        ):
            follows = True
    return result


def _with_flag(message: Message, flag: Flag) -> Message:
    return msgspec.structs.replace(message, items=(_flagged(message.items[0], flag), *message.items[1:]))

"""Messages of pydantic-ai as `ModelMessagesTypeAdapter` writes them, old and new, bare or in a session file.

The sent form counts: each part of a request is a message, as pydantic-ai sends it to most providers, and parts that
only record settings are not sent. `run_id`, `conversation_id`, times and metadata stay and are no content.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import partial
from typing import Literal

import msgspec

from holdfast.history.draft_messages import DraftMessage
from holdfast.history.formats.content import BLANK, FOREIGN_BLOCKS, empty_flags
from holdfast.history.formats.format import (
    Json,
    RequestFacts,
    as_array,
    as_object,
    as_text,
    digest,
    is_arguments,
    is_array,
    is_object,
    json_text,
    not_a_message,
    words,
)
from holdfast.history.formats.pydantic_ai.fields import (
    is_feedback,
    is_record,
    is_served,
    lacks_required,
    loadable_message,
    loads,
    message_loads,
    mistyped_fields,
    with_speaker,
)
from holdfast.history.formats.pydantic_ai.parts import (
    SYNTHETIC,
    TEXTS,
    RewrittenMessage,
    call_part,
    folded,
    is_file_content,
    kind_of,
    media_of,
    part_role,
    unfolded,
)
from holdfast.history.formats.pydantic_ai.writer import write_message
from holdfast.history.formats.sent_messages import Unit
from holdfast.history.shape import NO_FLAGS, Flag, Grammar, Item, Kind, Message, MessageFlag, Path, Role, is_synthetic

_MAKERS = {
    "azure": "openai",
    "openai-codex": "openai",
    "google-gla": "google",
    "google-vertex": "google",
    "google-cloud": "google",
}
"""The maker of signed thinking, if it differs from pydantic-ai's name for the provider."""

_MISTYPED: frozenset[Flag] = frozenset({"mistyped"})
_MADE_UP: frozenset[Flag] = frozenset({"synthetic"})
_OPENAI_IDS = ("rs_", "msg_", "fc_")


class PydanticAI:
    """The format `pydantic-ai`."""

    name = "pydantic-ai"
    grammar = Grammar(results="own", ids=True)  # its adapter invents a new id for each call and result without one
    profile = "openai-chat"
    keys = ("messages", "message_history")

    def request_facts(self, body: Mapping[str, object]) -> RequestFacts:
        """Return the tools that a session file declares, if any; unlike a request, it need not declare them."""
        if not is_array(tools := body.get("tools")):
            return RequestFacts()
        declared = [as_object(tool) for tool in tools]
        names = [as_text(tool.get("name")) or as_text(as_object(tool.get("function")).get("name")) for tool in declared]
        return RequestFacts(frozenset(name for name in names if name))

    def message(self, index: int, raw: object) -> Message:
        """Return the projection of one message, or of some parts of a request."""
        if not is_object(raw):
            return not_a_message(index, "malformed")
        if raw.get("kind") not in ("request", "response"):
            return not_a_message(index, "unknown-role", as_text(raw.get("kind")))
        if not is_array(parts := raw.get("parts")):
            return not_a_message(index, "malformed")
        if raw["kind"] == "response":
            return _response(index, raw, parts)
        items = _items(index, parts, _of_request, speaker="user")
        role: Role = items[0].role if items else "user"
        return Message(index, role, tuple(items), _flags(raw, set() if items else {"empty"}))

    def cross_check(self, projected: list[Message], messages: Sequence[object]) -> list[Message]:
        """Return the projection with a finding for each part that occurs twice, by OpenAI's id."""
        seen: set[str] = set()
        for message, raw in zip(projected, messages, strict=True):
            if message.role != "assistant" or not (ids := _openai_ids(raw)):
                continue
            here: set[str] = set()
            flagged: dict[Path, Item] = {}
            for item in message.items:
                if (part_id := ids.get(item.path[1:3])) is not None:
                    here.add(part_id)
                    if part_id in seen:
                        flagged[item.path] = msgspec.structs.replace(item, flags=item.flags | {"duplicate"})
            seen |= here
            if flagged:
                items = tuple(flagged.get(item.path, item) for item in message.items)
                projected[message.index] = msgspec.structs.replace(message, items=items)
        return projected

    def build(self, row: DraftMessage, messages: Sequence[object]) -> object:
        """Return the message for an edited row."""
        if len(row.sources) == 1 and not row.added and all(not piece.touched for piece in row.pieces):
            source = self.message(row.sources[0], messages[row.sources[0]])
            paths = [piece.item.path for piece in row.pieces if piece.item is not None]
            if source.role == row.role and paths == [item.path for item in source.items]:
                raw = loadable_message(as_object(messages[row.sources[0]]))  # its strings alone were cleaned so far
                return RewrittenMessage(tuple(row.sources), raw)
        return RewrittenMessage(tuple(row.sources), write_message(row, messages))

    def unfold(self, messages: Sequence[object]) -> list[Unit]:
        """Return the units that are sent: each part of a request with content, and other messages whole."""
        return list(unfolded(messages))

    def unsent(self, messages: Sequence[object], units: Sequence[Unit]) -> Iterator[tuple[int, object]]:
        """Yield the index and the correction of each request that has only records and does not load."""
        sent = {unit.message for unit in units}
        if len(sent) == len(messages):
            return
        for index, raw in enumerate(messages):
            message = as_object(raw)
            if index not in sent and not message_loads(message):
                yield index, loadable_message(message)

    def fold(
        self, built: Sequence[object], units: Sequence[Unit], messages: Sequence[object], *, frozen: int
    ) -> list[object]:
        """Return the messages; those whose parts are unchanged are the same objects."""
        return folded(built, units, messages, frozen)


FORMAT = PydanticAI()


_NO_FAULTS: frozenset[MessageFlag] = frozenset()


def _flags(raw: Json, found: set[MessageFlag]) -> frozenset[MessageFlag]:
    """Return the findings about the items, and about the fields next to the parts."""
    if not message_loads(raw):
        return frozenset({*found, "mistyped"})
    return frozenset(found) if found else _NO_FAULTS


def _items(
    index: int,
    parts: Sequence[object],
    read: Callable[[Path, Json], Iterable[Item]],
    *,
    speaker: Literal["user", "assistant"],
) -> list[Item]:
    """Return the items of the parts; the first item of a part has the findings about its other fields."""
    items: list[Item] = []
    for number, part in enumerate(parts):
        raw = as_object(part)
        found = read((index, "parts", number), raw)
        if loads(raw):
            items += found
            continue
        wrong = mistyped_fields(raw)
        if with_speaker(raw, speaker) is not raw:
            wrong.append("speaker")
        for item in found:
            flags = {"mistyped", "name-missing"} if "tool_name" in wrong else {"mistyped"}
            items.append(msgspec.structs.replace(item, flags=item.flags | flags) if wrong else item)
            wrong = []
    return items


# --- from a message to its shape -------------------------------------------------------------------------------------


def _of_request(path: Path, raw: Json) -> Iterable[Item]:
    role = part_role(raw)
    content = raw.get("content")
    match kind_of(raw):
        case "system-prompt":
            item = _text((*path, "content"), role, content)
        case "user-prompt":
            return _content((*path, "content"), content)
        case "tool-return" | "retry-prompt" if role == "tool":
            item = _result(path, raw)
        case "retry-prompt" | "retry-feedback":
            flags = NO_FLAGS if is_feedback(content) and not lacks_required(raw) else FOREIGN_BLOCKS
            item = Item("text", role, path, flags=flags)
        case "compaction":
            item = _optional_text((*path, "content"), role, content)
        case "speech":
            item = _optional_text((*path, "transcript"), role, raw.get("transcript"))
        case _ if is_record(raw):
            return ()
        case _:
            item = Item("other", role, path, flags=FOREIGN_BLOCKS)
    return (item,)


def _text(path: Path, role: Role, text: object) -> Item:
    if not isinstance(text, str):  # its content is quoted, or all of it if it has none
        return Item("other", role, path if text is not None else path[:-1], flags=FOREIGN_BLOCKS)
    return Item("text", role, path, flags=NO_FLAGS if text.strip() else BLANK)


def _optional_text(path: Path, role: Role, text: object) -> Item:
    """Return the item of a text that may be null; any other value is quoted with its part."""
    read = "" if text is None else text
    item = _text(path, role, read)
    return item if isinstance(read, str) else msgspec.structs.replace(item, path=path[:-1])


def _content(path: Path, content: object) -> Iterable[Item]:
    """Return the user's content: a text, or a list of texts and files."""
    return _contents(path, content) if is_array(content) else (_text(path, "user", content),)


def _contents(path: Path, content: Sequence[object]) -> Iterator[Item]:
    for number, each in enumerate(content):
        raw = as_object(each)
        kind = as_text(raw.get("kind"))
        here = (*path, number)
        if is_file_content(raw):
            yield Item(
                "media", "user", here, flags=_MISTYPED if mistyped_fields(raw) else NO_FLAGS, media=media_of(raw)
            )
        elif kind in TEXTS and not lacks_required(raw):
            flags = NO_FLAGS if str(raw.get("content")).strip() else BLANK
            yield Item("text", "user", here, flags=flags | _MISTYPED if mistyped_fields(raw) else flags)
        elif kind != "cache-point":
            yield _text(here, "user", each)


def _result(path: Path, raw: Json) -> Item:
    content = raw.get("content")
    call = as_text(raw.get("tool_call_id"))
    name = as_text(raw.get("tool_name"))
    made_up = as_object(raw.get("metadata")).get(SYNTHETIC) is True
    if call is not None and isinstance(content, str) and content != "" and not content.isspace():  # almost always
        kinds = _MADE_UP if made_up or is_synthetic(content) else NO_FLAGS
        return Item("result", "tool", path, call, name, kinds, digest=digest(content))
    text = content if isinstance(content, str) else "" if content is None else json_text(content)
    flags: set[Flag] = set()
    if call is None:
        flags.add("id-missing")
    if "content" not in raw:
        flags.add("null")
    elif kind_of(raw) == "retry-prompt" and not is_feedback(content):
        flags.add("foreign")
        text = words(content)  # the text that it becomes
        if not text.strip():
            flags.add("blank-block")
    if not text.strip():
        flags.add("blank")
    files = content if is_array(content) else (content,)
    if any(isinstance(each, str) and not each.strip() for each in files):
        flags.add("blank-block")
    if made_up or is_synthetic(text):
        flags.add("synthetic")
    media = tuple(each for file in files for each in media_of(as_object(file)))
    kinds = frozenset(flags) if flags else NO_FLAGS
    return Item("result", "tool", path, call, name, kinds, None, digest(text), media)


def _response(index: int, raw: Json, parts: Sequence[object]) -> Message:
    items = _items(index, parts, partial(_of_response, raw), speaker="assistant")
    if raw.get("tool_calls"):
        items.extend(_listed_calls(index, raw, items))
    return Message(index, "assistant", tuple(items), _flags(raw, empty_flags("assistant", items)))


_SERVER: dict[str, Kind] = {"builtin-tool-call": "server-call", "builtin-tool-return": "server-result"}


def _of_response(response: Json, path: Path, raw: Json) -> Iterable[Item]:
    match kind_of(raw):
        case "text":
            item = _text((*path, "content"), "assistant", raw.get("content"))
        case "thinking":
            item = _thinking(path, raw, response)
        case "tool-call":
            item = _call(path, raw)
        case "builtin-tool-call" | "builtin-tool-return" as kind if is_served(raw):
            call, name = as_text(raw.get("tool_call_id")), as_text(raw.get("tool_name"))
            item = Item(_SERVER[kind], "assistant", path, call, name)
        case "compaction" if isinstance(raw.get("content"), str | None):
            item = Item("other", "assistant", path)
        case "file" if not lacks_required(raw):
            item = Item("media", "assistant", path)
        case "speech":
            item = _optional_text((*path, "transcript"), "assistant", raw.get("transcript"))
        case _:  # a record too, which only requests may have
            item = Item("other", "assistant", path, flags=FOREIGN_BLOCKS)
    return (item,)


def _thinking(path: Path, raw: Json, response: Json) -> Item:
    text, signature = raw.get("content"), as_text(raw.get("signature"))
    if not isinstance(text, str):
        return Item("other", "assistant", path, flags=FOREIGN_BLOCKS)
    if signature is None:
        return Item("thinking", "assistant", path, flags=frozenset({"unsigned"}))
    provider = as_text(raw.get("provider_name")) or as_text(response.get("provider_name"))
    maker = None if provider is None else _MAKERS.get(provider, provider)
    flags: frozenset[Flag] = frozenset({"signed"})
    return Item("thinking", "assistant", path, flags=flags, maker=maker, digest=digest(text), seal=digest(signature))


def _call(path: Path, raw: Json) -> Item:
    args = raw.get("args")
    call = as_text(raw.get("tool_call_id"))
    flags: set[Flag] = set()
    if call is None:
        flags.add("id-missing")
    if isinstance(args, str):
        if args.strip() and not is_arguments(args):  # blank arguments are sent as an empty object
            flags.add("arguments")
    elif args is not None and not is_object(args):
        flags.add("arguments-type")
    return Item("call", "assistant", path, call, as_text(raw.get("tool_name")), frozenset(flags) if flags else NO_FLAGS)


def _listed_calls(index: int, raw: Json, items: Sequence[Item]) -> Iterator[Item]:
    """Yield the calls that are in `tool_calls` and not in the parts; some programs write each call to both."""
    there = [(item.id, item.name) for item in items if item.kind == "call"]
    for number, listed in enumerate(as_array(raw.get("tool_calls"))):
        item = _call((index, "tool_calls", number), call_part(as_object(listed)))
        if (item.id, item.name) in there:
            there.remove((item.id, item.name))
        else:
            yield item


def _openai_ids(response: object) -> Mapping[Path, str]:
    """Return OpenAI's ids of the parts of a response, by their path in it."""
    found: dict[Path, str] = {}
    for number, part in enumerate(as_array(as_object(response).get("parts"))):
        part_id = as_object(part).get("id")
        if isinstance(part_id, str) and part_id.startswith(_OPENAI_IDS):
            found["parts", number] = part_id
    return found

"""Messages of pydantic-ai as `ModelMessagesTypeAdapter` writes them, old and new, bare or in a session file.

The sent form counts: each part of a request is a message, as pydantic-ai sends it to most providers, and parts that
only record settings are not sent. `run_id`, `conversation_id`, times and metadata stay and are no content.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Literal

import msgspec

from holdfast.history.draft_messages import DraftMessage
from holdfast.history.formats.content_reader import BLANK, FOREIGN_BLOCKS, empty_flags
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
        items = tuple(
            _checked(
                parts,
                (_of_request((index, "parts", number), part) for number, part in enumerate(parts)),
                speaker="user",
            )
        )
        role: Role = items[0].role if items else "user"
        flags: set[MessageFlag] = set() if items else {"empty"}
        return Message(index, role, items, frozenset(flags | _field_flags(raw)))

    def cross_check(self, projected: list[Message], messages: Sequence[object]) -> list[Message]:
        """Return the projection with a finding for each part that occurs twice, by OpenAI's id."""
        seen: set[str] = set()
        for message in projected:
            here: set[str] = set()
            flagged: dict[Path, Item] = {}
            for item in message.items if message.role == "assistant" else ():
                if (part_id := _openai_id(item, messages)) is not None:
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

    def unsent(self, messages: Sequence[object]) -> Iterator[tuple[int, object]]:
        """Yield the index and the correction of each request that has only records and does not load."""
        for index, raw in enumerate(messages):
            message = as_object(raw)
            parts = message.get("parts")
            alone = message.get("kind") == "request" and is_array(parts) and all(is_record(part) for part in parts)
            if alone and not message_loads(message):
                yield index, loadable_message(message)

    def fold(
        self, built: Sequence[object], units: Sequence[Unit], messages: Sequence[object], *, frozen: int
    ) -> list[object]:
        """Return the messages; those whose parts are unchanged are the same objects."""
        return folded(built, units, messages, frozen)


FORMAT = PydanticAI()


def _field_flags(raw: Json) -> set[MessageFlag]:
    """Return the findings about the fields next to the parts."""
    return set() if message_loads(raw) else {"mistyped"}


def _checked(
    parts: Sequence[object], each: Iterable[Iterable[Item]], *, speaker: Literal["user", "assistant"]
) -> Iterator[Item]:
    """Yield the items of the parts; the first item of a part has the findings about its other fields."""
    for part, found in zip(parts, each, strict=True):
        raw = as_object(part)
        if loads(raw):
            yield from found
            continue
        wrong = mistyped_fields(raw)
        if with_speaker(raw, speaker) is not raw:
            wrong.append("speaker")
        for item in found:
            flags = {"mistyped", "name-missing"} if "tool_name" in wrong else {"mistyped"}
            yield msgspec.structs.replace(item, flags=item.flags | flags) if wrong else item
            wrong = []


# --- from a message to its shape -------------------------------------------------------------------------------------


def _of_request(path: Path, part: object) -> Iterator[Item]:
    raw = as_object(part)
    role = part_role(raw)
    content = raw.get("content")
    match kind_of(raw):
        case "system-prompt":
            yield _text((*path, "content"), role, content)
        case "user-prompt":
            yield from _content((*path, "content"), content)
        case "tool-return" | "retry-prompt" if role == "tool":
            yield _result(path, raw)
        case "retry-prompt" | "retry-feedback":
            yield Item(
                "text",
                role,
                path,
                flags=NO_FLAGS if is_feedback(content) and not lacks_required(raw) else FOREIGN_BLOCKS,
            )
        case "compaction":
            yield from _optional_text((*path, "content"), role, content)
        case "speech":
            yield from _optional_text((*path, "transcript"), role, raw.get("transcript"))
        case _ if not is_record(raw):
            yield Item("other", role, path, flags=FOREIGN_BLOCKS)
        case _:
            pass


def _text(path: Path, role: Role, text: object) -> Item:
    if not isinstance(text, str):  # its content is quoted, or all of it if it has none
        return Item("other", role, path if text is not None else path[:-1], flags=FOREIGN_BLOCKS)
    return Item("text", role, path, flags=NO_FLAGS if text.strip() else BLANK)


def _optional_text(path: Path, role: Role, text: object) -> Iterator[Item]:
    """Yield the item of a text that may be null; any other value is quoted with its part."""
    read = "" if text is None else text
    item = _text(path, role, read)
    yield item if isinstance(read, str) else msgspec.structs.replace(item, path=path[:-1])


def _content(path: Path, content: object) -> Iterator[Item]:
    """Yield the user's content: a text, or a list of texts and files."""
    if not is_array(content):
        yield _text(path, "user", content)
        return
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
    each = (_of_response((index, "parts", number), part, raw) for number, part in enumerate(parts))
    items = list(_checked(parts, each, speaker="assistant"))
    if raw.get("tool_calls"):
        items.extend(_listed_calls(index, raw, items))
    return Message(index, "assistant", tuple(items), frozenset(empty_flags("assistant", items) | _field_flags(raw)))


_SERVER: dict[str, Kind] = {"builtin-tool-call": "server-call", "builtin-tool-return": "server-result"}


def _of_response(path: Path, part: object, response: Json) -> Iterator[Item]:
    raw = as_object(part)
    match kind_of(raw):
        case "text":
            yield _text((*path, "content"), "assistant", raw.get("content"))
        case "thinking":
            yield _thinking(path, raw, response)
        case "tool-call":
            yield _call(path, raw)
        case "builtin-tool-call" | "builtin-tool-return" as kind if is_served(raw):
            call, name = as_text(raw.get("tool_call_id")), as_text(raw.get("tool_name"))
            yield Item(_SERVER[kind], "assistant", path, call, name)
        case "compaction" if isinstance(raw.get("content"), str | None):
            yield Item("other", "assistant", path)
        case "file" if not lacks_required(raw):
            yield Item("media", "assistant", path)
        case "speech":
            yield from _optional_text((*path, "transcript"), "assistant", raw.get("transcript"))
        case _:  # a record too, which only requests may have
            yield Item("other", "assistant", path, flags=FOREIGN_BLOCKS)


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


def _openai_id(item: Item, messages: Sequence[object]) -> str | None:
    """Return OpenAI's id of a part of a response, None if it has none."""
    if item.role != "assistant" or len(item.path) < 3 or item.path[1] != "parts":  # noqa: PLR2004 - a part of a message
        return None
    parts = as_array(as_object(messages[item.message]).get("parts"))
    part_id = as_text(as_object(parts[int(item.path[2])]).get("id"))
    return part_id if part_id is not None and part_id.startswith(_OPENAI_IDS) else None

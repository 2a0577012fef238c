"""Messages of OpenAI's Chat Completions, and of the many services that speak it.

Two rules. A result is a message of its own, paired by `tool_call_id`. A message keeps every field that is not known
here, also when another field of it changes.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from holdfast.history.formats.format import (
    Declared,
    Json,
    as_array,
    as_object,
    as_text,
    digest,
    is_arguments,
    is_array,
    is_object,
    json_text,
    quoted,
    quoted_arguments,
    says_elsewhere,
    text_of,
    words,
)
from holdfast.history.media import look_at
from holdfast.history.rows import Piece, Row
from holdfast.history.shape import NO_FLAGS, Flag, Grammar, Item, Media, Message, MessageFlag, Path, Role, is_synthetic

_ROLES: dict[object, Role] = {
    "system": "system",
    "developer": "system",
    "user": "user",
    "assistant": "assistant",
    "tool": "tool",
    "function": "tool",
}
_THINKING = ("reasoning_content", "reasoning")
_WRITTEN = frozenset({"content", "refusal", "tool_calls", "function_call", *_THINKING})
_USER_KINDS = frozenset({"text", "image_url", "input_audio", "file", "video_url"})
_KINDS: dict[Role, frozenset[str]] = {
    "system": frozenset({"text"}),
    "user": _USER_KINDS,
    "assistant": frozenset({"text", "refusal"}),
    "tool": frozenset({"text", "image_url"}),
}
_BLANK: frozenset[Flag] = frozenset({"blank"})
_NOTHING: frozenset[Flag] = frozenset({"blank", "null"})
_FOREIGN: frozenset[Flag] = frozenset({"foreign"})
_BESIDE: frozenset[Flag] = frozenset({"beside"})


class OpenAIChat:
    """The format `openai-chat`."""

    name = "openai-chat"
    grammar = Grammar(results="own")
    profile = "openai-chat"
    keys = ("messages",)

    def declared(self, body: Mapping[str, object]) -> Declared:
        """Return what the request body says about tools and thinking."""
        functions = [as_object(as_object(tool).get("function")) for tool in as_array(body.get("tools"))]
        names = [name for function in functions if (name := as_text(function.get("name")))]
        names += [name for each in as_array(body.get("functions")) if (name := as_text(as_object(each).get("name")))]
        kind = as_object(body.get("thinking")).get("type")
        thinking = {"enabled": True, "disabled": False}.get(kind) if isinstance(kind, str) else None
        return Declared(frozenset(names), thinking)

    def message(self, index: int, raw: object) -> Message:
        """Return the projection of one message."""
        if not is_object(raw):
            return _not_a_message(index, "malformed")
        role = _ROLES.get(raw.get("role"))
        if role is None:
            return _not_a_message(index, "unknown-role", as_text(raw.get("role")))
        if role == "tool":
            return Message(index, role, (_result(index, raw),))
        if says_elsewhere(raw) and not raw.get("tool_calls"):
            return _not_a_message(index, "malformed")
        if role == "assistant":
            return _assistant(index, raw)
        items = tuple(_content(index, role, raw.get("content")))
        flags: set[MessageFlag] = set() if items else {"empty"}
        if raw.get("role") == "developer":
            flags.add("developer")
        return Message(index, role, items, frozenset(flags))

    def across(self, projected: list[Message], messages: Sequence[object]) -> list[Message]:  # noqa: ARG002 - each message stands for itself
        """Return the projection as it is: in this format each message stands for itself."""
        return projected

    def build(self, row: Row, messages: Sequence[object]) -> object:
        """Return the message that a touched row stands for."""
        sources = (as_object(messages[index]) for index in row.sources)
        source: Json = next((each for each in sources if _ROLES.get(each.get("role")) == row.role), Json())
        base = dict(source)
        base.setdefault("role", row.role)
        if row.role == "system" and "role" in row.added:
            base["role"] = "system"
        for index in row.sources:
            message = as_object(messages[index])
            if message.get("role") == base["role"]:
                base.update({key: value for key, value in message.items() if key not in base and key not in _WRITTEN})
        if row.role == "tool":
            return _built_result(row.pieces[0], base)
        calls = [piece for piece in row.pieces if piece.kind == "call"]
        content = _joined([value for piece in row.pieces for value in _values(piece, base, messages)])
        if content:
            base["content"] = content
        elif row.fill is not None:
            base["content"] = row.fill
        elif base.get("content"):
            base["content"] = ""
        if row.role == "assistant":
            _put_calls(base, [_built_call(piece, messages) for piece in calls])
            _put_thinking(base, row, messages)
        return base


FORMAT = OpenAIChat()


# --- from a message to its shape -------------------------------------------------------------------------------------


def _not_a_message(index: int, flag: MessageFlag, written: str | None = None) -> Message:
    return Message(index, "user", (Item("other", "user", (index,), name=written),), frozenset({flag}))


def _assistant(index: int, raw: Json) -> Message:
    items = [
        Item("thinking", "assistant", (index, key), flags=_BESIDE) for key in _THINKING if isinstance(raw.get(key), str)
    ]
    flags: set[MessageFlag] = set()
    content = raw.get("content")
    calls = tuple(_calls(index, raw, flags))
    if content != "" or not (calls or raw.get("refusal") or raw.get("audio")):
        items.extend(_content(index, "assistant", content))
    if as_text(raw.get("refusal")) is not None:
        items.append(Item("text", "assistant", (index, "refusal")))
    if raw.get("audio") is not None:
        items.append(Item("other", "assistant", (index, "audio")))
    items.extend(calls)
    if calls:
        if content is None or content == []:
            flags.add("null-content")
    elif all(item.kind == "thinking" for item in items):
        flags.add("empty")
    elif all(item.kind == "thinking" or "blank" in item.flags for item in items):
        flags.add("blank-answer")
    return Message(index, "assistant", tuple(items), frozenset(flags))


def _calls(index: int, raw: Json, flags: set[MessageFlag]) -> Iterator[Item]:
    listed = raw.get("tool_calls")
    if is_array(listed):
        if not listed:
            flags.add("no-calls")
        for number, call in enumerate(listed):
            if call is None:  # a stream that counts from one leaves it
                yield Item("other", "assistant", (index, "tool_calls", number), flags=_NOTHING)
                continue
            yield _call((index, "tool_calls", number), as_object(call), required=True)
    elif listed is not None:
        yield Item("other", "assistant", (index, "tool_calls"), flags=_FOREIGN)
    if is_object(legacy := raw.get("function_call")):
        yield _call((index, "function_call"), {"function": legacy}, required=False)


def _call(path: Path, raw: Json, *, required: bool) -> Item:
    custom = as_object(raw.get("custom"))
    function = as_object(raw.get("function"))
    call = as_text(raw.get("id"))
    flags: set[Flag] = set()
    if required and call is None:
        flags.add("id-missing")
    if not custom:  # a custom tool takes text, not arguments
        arguments = function.get("arguments")
        if not isinstance(arguments, str):
            flags.add("arguments-type")
        elif not is_arguments(arguments):
            flags.add("arguments")
    name = as_text(function.get("name")) or as_text(custom.get("name"))
    return Item("call", "assistant", path, call, name, frozenset(flags) if flags else NO_FLAGS)


def _result(index: int, raw: Json) -> Item:
    content = raw.get("content")
    call = as_text(raw.get("tool_call_id"))
    flags: set[Flag] = set()
    media: list[Media] = []
    text = content if isinstance(content, str) else ""
    if call is None and raw.get("role") == "tool":
        flags.add("id-missing")
    if content is None:
        flags.add("null")
    elif not isinstance(content, str):
        parts = list(_content(index, "tool", content))
        text = json_text(content)
        media = [each for part in parts for each in part.media]
        if any("foreign" in part.flags for part in parts):
            flags.add("foreign")
        if not parts or any("blank" in part.flags for part in parts):
            flags.add("blank-block")
        if all("blank" in part.flags for part in parts):
            flags.add("blank")
    elif not content.strip():
        flags.add("blank")
    if is_synthetic(text):
        flags.add("synthetic")
    kinds = frozenset(flags) if flags else NO_FLAGS
    return Item("result", "tool", (index,), call, as_text(raw.get("name")), kinds, None, digest(text), tuple(media))


def _content(index: int, role: Role, content: object) -> Iterator[Item]:
    if content is None:
        return
    if isinstance(content, str):
        yield Item("text", role, (index, "content"), flags=NO_FLAGS if content.strip() else _BLANK)
    elif is_array(content):
        for number, part in enumerate(content):
            yield _part((index, "content", number), role, part)
    else:
        yield Item("other" if text_of(content) is None else "text", role, (index, "content"), flags=_FOREIGN)


def _part(path: Path, role: Role, part: object) -> Item:
    if isinstance(part, str):
        return Item("text", role, path, flags=_FOREIGN if part.strip() else _FOREIGN | _BLANK)
    kind = as_object(part).get("type")
    if not is_object(part) or kind not in _KINDS[role]:
        return Item("other" if text_of(part) is None else "text", role, path, flags=_FOREIGN)
    if kind in ("text", "refusal"):
        text = part.get(str(kind))
        if not isinstance(text, str):
            return Item("other", role, path, flags=_NOTHING if text is None else _FOREIGN)
        return Item("text", role, path, flags=NO_FLAGS if text.strip() else _BLANK)
    if kind == "image_url":
        url = as_object(part.get("image_url")).get("url")
        return Item("media", role, path, media=(look_at(url),))
    return Item("media", role, path)


# --- from a row to its message ---------------------------------------------------------------------------------------


def _raw(item: Item, messages: Sequence[object]) -> object:
    """Return what stands at the path of the item."""
    raw: object = messages
    for key in item.path:
        raw = as_object(raw).get(key) if isinstance(key, str) else as_array(raw)[key]
    return raw


def _values(piece: Piece, base: Json, messages: Sequence[object]) -> Iterator[object]:
    """Yield what the piece contributes to the content: strings, or parts as they are."""
    if piece.item is None:
        yield piece.text or ""
    elif piece.what is not None:
        yield from _quoted(piece.what, piece, messages)
    elif piece.left_out:
        yield {"type": "text", "text": "".join(f"[{why}, and was left out.]" for _, why in piece.left_out)}
    elif piece.kind in ("text", "media", "other") and piece.item.path[1] == "content":
        raw = _raw(piece.item, messages)
        yield words(raw) if piece.as_text else raw
    elif piece.kind == "text" and base.get("refusal") != (refusal := _raw(piece.item, messages)):
        yield refusal  # of a message that was joined to one with another


def _quoted(what: str, piece: Piece, messages: Sequence[object]) -> Iterator[object]:
    assert piece.item is not None
    raw = _raw(piece.item, messages)
    said = as_object(raw).get("content") if piece.item.kind == "result" or len(piece.item.path) == 1 else raw
    if is_array(said) and piece.item.kind == "result" and not piece.as_text:
        yield {"type": "text", "text": quoted(what, "").rstrip()}
        yield from _kept(said, piece)
    else:
        yield quoted(what, words(said or raw))


def _kept(parts: object, piece: Piece) -> Iterator[object]:
    """Yield the parts of a result; in place of the images that are left out, why."""
    reasons = dict(piece.left_out)
    which = -1
    for part in as_array(parts):
        is_image = as_object(part).get("type") == "image_url"
        which += is_image
        why = reasons.get(which) if is_image else None
        yield part if why is None else {"type": "text", "text": f"[{why}, and was left out.]"}


def _joined(values: list[object]) -> object:
    """Return the values as one content: a string if all are strings."""
    if all(isinstance(value, str) for value in values):
        texts = [value for value in values if isinstance(value, str)]
        return "\n\n".join(texts)
    return [{"type": "text", "text": value} if isinstance(value, str) else value for value in values]


def _built_result(piece: Piece, base: Json) -> Json:
    if piece.item is None:
        if piece.call is not None and piece.call.item is not None and piece.call.item.path[1] == "function_call":
            return {"role": "function", "name": piece.name, "content": piece.text}
        return {"role": "tool", "tool_call_id": piece.id, "content": piece.text}
    if piece.id != piece.item.id:
        base["tool_call_id"] = piece.id
    if piece.name != piece.item.name and "name" in base:
        base["name"] = piece.name
    if piece.text is not None or piece.as_text or piece.left_out:
        base["content"] = _result_content(piece, base.get("content"))
    return base


def _result_content(piece: Piece, content: object) -> object:
    """Return what the result holds now: filled only where nothing else is left, in place of bad images a note."""
    if piece.as_text:
        said = words(content)
        return said if said.strip() or piece.text is None else piece.text
    if not is_array(content):
        return content if piece.text is None else piece.text
    parts = [part for part in _kept(content, piece) if piece.text is None or not _is_blank(part)]
    return parts if parts or piece.text is None else piece.text


def _is_blank(part: object) -> bool:
    text = as_object(part).get("text") if as_object(part).get("type") == "text" else None
    return isinstance(text, str) and not text.strip()


def _built_call(piece: Piece, messages: Sequence[object]) -> object:
    assert piece.item is not None
    raw = _raw(piece.item, messages)
    if not piece.touched:
        return raw
    legacy = piece.item.path[1] == "function_call"
    call: Json = {"function": raw} if legacy else dict(as_object(raw))
    kind = "custom" if is_object(call.get("custom")) else "function"
    function = dict(as_object(call.get(kind)))
    if piece.id != piece.item.id:
        call["id"] = piece.id
    if piece.name != piece.item.name:
        function["name"] = piece.name
    if piece.quote_arguments:
        written = function.get("arguments")
        function["arguments"] = json_text(written if is_object(written) else quoted_arguments(written))
    return function if legacy else {**call, kind: function}


def _put_calls(base: Json, calls: list[object]) -> None:
    listed = [call for call in calls if "name" not in as_object(call)]
    legacy = [call for call in calls if "name" in as_object(call)]
    for key, value in (("tool_calls", listed), ("function_call", legacy[0] if legacy else None)):
        if value:
            base[key] = value
        else:
            base.pop(key, None)


def _put_thinking(base: Json, row: Row, messages: Sequence[object]) -> None:
    kept: dict[str, list[str]] = {}
    for piece in row.pieces:
        if piece.kind == "thinking" and piece.item is not None:
            kept.setdefault(str(piece.item.path[1]), []).append(str(_raw(piece.item, messages)))
    for key in _THINKING:
        if key in kept:
            base[key] = "\n\n".join(kept[key])
        elif isinstance(base.get(key), str):
            del base[key]
    if "thinking" in row.added:
        base["reasoning_content"] = ""

"""Judges the body of a request to a provider, and repairs its conversation if that is certain to help.

What a guard must not do is worse than what it does: a request that the provider would have taken must arrive as it was.
So every doubt ends in None, and the caller sends the bytes that it has. Only a conversation that breaks a known rule of
a known provider, and that small edits make valid, is changed; and of it only the messages that an edit touches. All
others, and the rest of the body, keep their bytes, so that the provider's prompt cache keeps what it has.

The result depends on the body, and on the ledger if there is one: no clock, no counter, nothing of earlier requests.
A conversation that grows is repaired to one that begins with the same bytes.

Laws (`tests/guard/test_request_repair_laws.py`): a body in doubt is left alone, and so is a valid one; a repaired one
is valid; a longer conversation begins as the shorter one was repaired; thinking, cache markers and what a provider
signed stay as and where they were; only a ledger claims an outcome.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Protocol

import msgspec

from holdfast.guard.endpoints import Endpoint, endpoint_of, is_known_model
from holdfast.history import Violation, repair
from holdfast.history.document import read_document
from holdfast.history.formats.format import Json, as_array, as_object, is_array, is_object
from holdfast.history.shape import Path
from holdfast.typed_data import decode_json

if TYPE_CHECKING:
    from holdfast.history.edits import Edit

LARGEST_BODY = 64 << 20
"""Bytes of a body that is judged."""

MOST_MESSAGES = 20_000
"""Messages of a conversation that is judged."""

_KEYS = {"anthropic": "messages", "openai-chat": "messages", "openai-responses": "input", "gemini": "contents"}
_SAFE = frozenset(
    {
        "add-result",
        "move-result",
        "move-call",
        "quote",
        "drop",
        "set-id",
        "quote-arguments",
        "clean-text",
        "fill",
        "drop-message",
        "merge",
        "insert",
    }
)
"""The edits of pairing, empty content, order, ids and characters. None of them loses a word."""

_BEGINNINGS = ("previous_response_id", "conversation", "cachedContent", "cached_content")
"""The fields of a request that name a conversation, or the beginning of one, which the provider stored."""

_BOUND_TYPES = frozenset({"thinking", "redacted_thinking", "reasoning", "item_reference", "compaction"})
_BOUND_KEYS = frozenset({"encrypted_content", "thoughtSignature", "thought_signature", "reasoning_content"})
_RESULTS = frozenset({"tool_result", "function_call_output", "custom_tool_call_output"})
_GEMINI_RESULTS = frozenset({"functionResponse", "function_response"})
_CALLS = frozenset({"function_call", "custom_tool_call", "tool_call"})
_IDS = frozenset({"id", "tool_use_id"})


class Texts(Protocol):
    """What a guard needs of a ledger."""

    def texts(self, ids: Sequence[str]) -> Mapping[str, str]:
        """Return what a model may read as the results of these calls."""
        ...


class Judgement(msgspec.Struct, frozen=True):
    """What was found in a body that was judged: `body` is the repaired one, None if it goes on as it is."""

    endpoint: Endpoint
    edits: tuple[Edit, ...] = ()
    remaining: tuple[Violation, ...] = ()
    body: bytes | None = None


def mended(url: str, headers: Mapping[str, str], body: bytes, ledger: Texts | None = None) -> bytes | None:
    """Return the body with a conversation that the provider accepts; None if it goes on as it is.

    `ledger` says what is known of calls without a result; without one, nothing is claimed of them.
    """
    judgement = judge(url, headers, body, ledger)
    return None if judgement is None else judgement.body


def judge(url: str, headers: Mapping[str, str], body: bytes, ledger: Texts | None = None) -> Judgement | None:
    """Return what is wrong with the conversation in a body and how it was repaired; None if nothing is, or in doubt."""
    endpoint = endpoint_of(url)
    if endpoint is None or len(body) > LARGEST_BODY:
        return None
    try:
        return _judged(endpoint, body, ledger) if _is_plain_json(headers) else None
    except Exception:  # noqa: BLE001 - whatever judging raises, the request of the program goes on as it is
        return None


def _judged(endpoint: Endpoint, body: bytes, ledger: Texts | None) -> Judgement | None:
    document: object = msgspec.json.decode(body)
    if not is_object(document) or (model := _model_of(document, endpoint)) is None:
        return None
    key = _KEYS[endpoint.format]
    repaired = repair(
        document,
        format=endpoint.format,
        profile=endpoint.profile,
        model=model,
        results=None if ledger is None else ledger.texts,
    )
    if not repaired.edits and not repaired.remaining:
        return None
    judgement = Judgement(endpoint, repaired.edits, repaired.remaining)
    messages = as_array(document[key])
    if repaired.remaining or not all(_is_safe(edit, messages) for edit in repaired.edits):
        return judgement
    careful = read_document(body)
    if careful.damage or careful.document != document:
        return None  # a key that occurs twice: which one counts is the provider's affair
    after = as_object(repaired.document)
    if not _keeps_bound(messages, as_array(after.get(key))):
        return judgement
    return msgspec.structs.replace(judgement, body=_written(body, document, after, key))


def _model_of(document: Json, endpoint: Endpoint) -> str | None:
    """Return the model of a request that can be judged: a list of messages, whole, and for a model with these rules."""
    messages = document.get(_KEYS[endpoint.format])
    if not is_array(messages) or len(messages) > MOST_MESSAGES:
        return None
    if any(document.get(key) is not None for key in _BEGINNINGS):
        return None  # the provider has the beginning
    model = document.get("model", endpoint.model)
    return model if isinstance(model, str) and is_known_model(endpoint, model) else None


def _is_plain_json(headers: Mapping[str, str]) -> bool:
    """Return whether the headers say that the body is JSON as it stands."""
    named = {key.lower(): value.strip().lower() for key, value in headers.items()}
    kind, _, more = named.get("content-type", "application/json").partition(";")
    charset = more.partition("charset=")[2].strip(' "')
    return (
        named.get("content-encoding", "identity") in ("", "identity")
        and kind.strip() == "application/json"
        and charset in ("", "utf-8", "utf8")
    )


def _is_safe(edit: Edit, messages: Sequence[object]) -> bool:
    """Return whether an edit is about pairing or form: of what is quoted, only results that have no call."""
    from holdfast.history.edits import Quote  # loaded by now: a repair made it

    return edit.__struct_config__.tag in _SAFE and (not isinstance(edit, Quote) or _is_result(edit.path, messages))


def _is_result(path: Path, messages: Sequence[object]) -> bool:
    found: object = messages
    for step in path:
        found = as_array(found)[step] if isinstance(step, int) else as_object(found).get(step)
    raw = as_object(found)
    return raw.get("role") == "tool" or raw.get("type") in _RESULTS or bool(raw.keys() & _GEMINI_RESULTS)


def _keeps_bound(before: Sequence[object], after: Sequence[object]) -> bool:
    """Return whether all that must stay as it is does. What both lists begin and end with is not looked at."""
    begin = end = 0
    most = min(len(before), len(after))
    while begin < most and before[begin] is after[begin]:
        begin += 1
    while end < most - begin and before[-1 - end] is after[-1 - end]:
        end += 1
    return _bound(before[begin : len(before) - end]) == _bound(after[begin : len(after) - end])


def _bound(messages: Sequence[object]) -> list[object]:
    """Return all that must stay as it is: thinking and all before it in its message, and marked or signed blocks."""
    return [found for message in messages for found in _bound_in(message)]


def _bound_in(message: object) -> Iterator[object]:
    raw = as_object(message)
    blocks = as_array(raw.get("content")) or as_array(raw.get("parts"))
    if _is_bound(raw):
        yield raw
    last = max((at for at, block in enumerate(blocks) if _is_bound(as_object(block))), default=-1)
    if last >= 0:
        yield list(blocks[: last + 1])
    for block in blocks:
        if "cache_control" in as_object(block):
            yield {name: value for name, value in as_object(block).items() if name not in _IDS}


def _is_bound(raw: Json) -> bool:
    kind = raw.get("type")
    is_server_call = isinstance(kind, str) and kind.endswith("_call") and kind not in _CALLS
    return kind in _BOUND_TYPES or is_server_call or any(raw.get(key) is not None for key in _BOUND_KEYS)


def _written(body: bytes, before: Json, after: Json, key: str) -> bytes:
    """Return the repaired body, in which all that is not changed has the bytes that it had."""
    fields = decode_json(body, dict[str, msgspec.Raw])
    raws = decode_json(fields[key], list[msgspec.Raw])
    known = {id(message): raw for message, raw in zip(as_array(before[key]), raws, strict=True)}
    pieces: list[bytes | msgspec.Raw] = []
    for name, value in after.items():
        pieces += [b"," if pieces else b"{", _json(name), b":"]
        if name == key:
            pieces.append(b"[")
            for at, each in enumerate(as_array(value)):
                pieces += [b"," if at else b"", known.get(id(each)) or _json(each)]
            pieces.append(b"]")
        else:
            pieces.append(fields[name] if name in fields and before.get(name) is value else _json(value))
    return b"".join([*pieces, b"}"])


def _json(value: object) -> bytes:
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"), allow_nan=False).encode()

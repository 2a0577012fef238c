"""Sessions in and out: a conversation as a document, a document as a journal, a journal under a new id.

Two rules. What is read is judged and mended, never trusted: the entries fold to a valid conversation whatever the file
held. What was left out or changed is said in a sentence (docs/import-export.md).
"""

from __future__ import annotations

import base64
import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal, assert_never, cast

import msgspec

from holdfast import __version__
from holdfast.calls import Outcome, ToolSchema
from holdfast.errors import DamageError, UsageError
from holdfast.session.content import cleaned, mapping
from holdfast.session.conversation import AssistantMessage, Conversation, Result, Said, UserMessage
from holdfast.session.entries import (
    CallPart,
    Entry,
    Part,
    Repaired,
    ResponseEnded,
    SessionOpened,
    TextPart,
    ThinkingPart,
    TurnEnded,
)
from holdfast.session.foreign import OUTCOME, WIRE_IDS, read_messages
from holdfast.session.items import Changes, Instructed, Noted
from holdfast.session.mend import mend
from holdfast.session.store import Reading

FORMAT = "pydantic-ai"
LIMIT = 50_000_000
"""The longest document that is read, in bytes."""

_OWN_KEYS = {"format", "holdfast", "session", "session_id", "cwd", "model", "tools", "ended", "rewound", "messages"}
_SYSTEM = "The system prompt of the file was left out: the session has its own."
_THINKING = (
    "Signed thinking was left out: a provider takes it back only behind the very system prompt, tools and messages "
    "that it followed."
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Imported:
    """A document that was read and mended.

    `session` and `model` are what it says of itself, "" if nothing; `system` and `tools` what its requests carried, as
    far as it says. `body` is the journal that follows its `SessionOpened`.
    """

    session: str
    model: str
    system: str
    tools: tuple[ToolSchema, ...]
    body: tuple[Entry, ...]
    mended: tuple[str, ...]

    def changes(self, opened: SessionOpened) -> tuple[str, ...]:
        """Return what differs from the document in a session that `opened` begins, a sentence each."""
        system = () if self.system in ("", opened.system) else (_SYSTEM,)
        thinking = () if self._keeps_thinking(opened) else (_THINKING,)
        return (*self.mended, *system, *thinking)

    def entries(self, opened: SessionOpened) -> tuple[Entry, ...]:
        """Return the whole journal of a session that `opened` begins."""
        changes = self.changes(opened)
        said = (Repaired(findings=changes),) if changes else ()
        body = self.body if self._keeps_thinking(opened) else tuple(_unsigned(entry) for entry in self.body)
        return (opened, *said, *body)

    def _keeps_thinking(self, opened: SessionOpened) -> bool:
        """Return whether signed thinking is of use: only behind exactly what it was made behind, else it is refused."""
        same = opened.system == self.system and opened.tools == self.tools and not self.mended
        return same or all(_unsigned(entry) == entry for entry in self.body)


def export(conversation: Conversation) -> dict[str, object]:
    """Return the conversation as a JSON-able document whose `messages` pydantic-ai loads.

    Laws (`tests/session/test_transfer_laws.py`): reading it back gives the same messages, but that the text of an
    unfinished response is in it as a message of its own, and that the import names an image and leaves it out.
    """
    opened = conversation.opened
    messages: list[dict[str, object]] = []
    for message in conversation.messages:
        match message:
            case UserMessage():
                messages.append(
                    {"kind": "request", "parts": _request_parts(message, conversation.system, not messages)}
                )
            case AssistantMessage():
                messages.append(_response(message.model, message.parts))
    streaming = conversation.streaming
    if streaming is not None and streaming.text.strip():
        messages.append(_response(streaming.model, (TextPart(streaming.text),)) | {"state": "interrupted"})
    document: dict[str, object] = {
        "format": FORMAT,
        "holdfast": __version__,
        "session": opened.session if opened else "",
        "cwd": opened.cwd if opened else "",
        "model": conversation.model,
        "tools": msgspec.to_builtins(opened.tools) if opened else [],
    }
    if conversation.open_turn is None and conversation.last_end is not None:
        document["ended"] = msgspec.to_builtins(conversation.last_end)
    if conversation.rewound:  # what was left behind is in the journal only
        document["rewound"] = list(conversation.rewound)
    return document | {"messages": messages}


def read_document(text: bytes) -> Imported:
    """Return what a pydantic-ai document holds: a list of messages, or an object with one under `messages`.

    Raises `DamageError`, with the place, if it is neither, `UsageError` if it is longer than `LIMIT`.

    Laws (`tests/session/test_transfer_laws.py`): whatever list of messages it is given, the entries fold, and every
    user text, assistant text and finished result is in the conversation or the next prompt's notes.
    """
    if len(text) > LIMIT:
        raise UsageError(
            f"Document is longer than {LIMIT // 1_000_000} MB, a conversation was expected. "
            "Import a shorter part of it."
        )
    try:
        return _imported(_parsed(text))
    except RecursionError as error:
        raise DamageError(
            "Document is nested too deeply, a conversation was expected. Check that it is the right file."
        ) from error


def fork_entries(reading: Reading, session: str, *, opened: SessionOpened | None = None) -> tuple[Entry, ...]:
    """Return the journal that was read as that of a new session, which says whose copy it is.

    `opened` stands for its first entry, which says where and with what it works, if that is lost; then nothing that was
    signed behind the lost one is kept. Raises `DamageError` if it is lost and nothing stands for it.
    """
    entries = [record.entry for record in reading.records]
    first = next((index for index, entry in enumerate(entries) if isinstance(entry, SessionOpened)), None)
    if first is not None:
        found = entries.pop(first)
        opened = found if isinstance(found, SessionOpened) else opened
    if first is None or first > 0:
        entries = [_unsigned(entry) for entry in entries]
    if opened is None:
        raise DamageError(
            "Journal has lost its first entry, which says where and with what its session works. "
            "Export the session, and import the file as a new one."
        )
    said = (Repaired(findings=tuple(each.what for each in reading.findings)),) if reading.findings else ()
    return (msgspec.structs.replace(opened, session=session, forked_from=opened.session), *entries, *said)


def _request_parts(message: UserMessage, system: str, first: bool) -> list[dict[str, object]]:  # noqa: FBT001 - private
    parts: list[dict[str, object]] = [{"part_kind": "system-prompt", "content": system}] if first and system else []
    parts.extend(_result(result) for result in message.results)
    images = (image for result in message.results for image in result.images)
    parts.extend({"part_kind": "user-prompt", "content": _content(said)} for said in (*images, *message.said))
    return parts


def _content(said: Said) -> object:
    if isinstance(said, str):
        return said
    data = base64.b64encode(said.data).decode()
    return [{"kind": "binary", "media_type": said.media_type, "data": data}]


def _result(result: Result) -> dict[str, object]:
    return {
        "part_kind": "tool-return",
        "tool_name": result.name,
        "content": result.text,
        "tool_call_id": result.call,
        "outcome": _outcome(result.outcome),
        "metadata": {OUTCOME: result.outcome},
    }


def _response(model: str, parts: tuple[Part, ...]) -> dict[str, object]:
    provider, _, name = model.partition(":")
    wire_ids = {part.id: part.wire_id for part in parts if isinstance(part, CallPart) and part.wire_id is not None}
    return {
        "kind": "response",
        "parts": [_part(part) for part in parts],
        "model_id": model,
        "model_name": name or provider,
        "provider_name": provider if name else None,
        "metadata": {WIRE_IDS: wire_ids},
    }


def _part(part: Part) -> dict[str, object]:
    match part:
        case TextPart():
            return {"part_kind": "text", "content": part.text}
        case ThinkingPart():
            return {
                "part_kind": "thinking",
                "content": part.text,
                "id": part.id,
                "signature": part.signature,
                "provider_name": part.provider,
                "provider_details": part.details,
            }
        case CallPart():
            return {
                "part_kind": "tool-call",
                "tool_name": part.name,
                "args": part.arguments,
                "tool_call_id": part.id,
                "id": part.item_id,
                "provider_name": part.provider,
                "provider_details": part.details,
            }


def _outcome(outcome: Outcome) -> Literal["success", "failed", "denied", "interrupted"]:
    match outcome:
        case "ok":
            return "success"
        case "not_started":
            return "interrupted"
        case "failed" | "denied" | "interrupted":
            return outcome
        case _:
            assert_never(outcome)


def _parsed(text: bytes) -> object:
    try:
        return cleaned(json.loads(text.decode("utf-8-sig")))
    except UnicodeDecodeError as error:
        line = text.count(b"\n", 0, error.start) + 1
        column = error.start - text.rfind(b"\n", 0, error.start)
        raise DamageError(
            f"Document is not UTF-8 at line {line}, byte {column}, JSON in UTF-8 was expected. "
            "Convert it, or check that it is the right file."
        ) from error
    except json.JSONDecodeError as error:
        raise DamageError(
            f"Document is not JSON at line {error.lineno}, column {error.colno} ({error.msg}), a conversation in JSON "
            "was expected. Mend that line, or check that it is the right file."
        ) from error
    except ValueError as error:  # a number of more digits than Python reads
        raise DamageError(
            f"Document is not JSON that can be read ({error}), a conversation was expected. Shorten that number."
        ) from error


def _imported(document: object) -> Imported:
    changes = Changes()
    envelope = mapping(document)
    messages = envelope.get("messages") if isinstance(document, dict) else document
    if not isinstance(messages, list) or envelope.get("format", FORMAT) != FORMAT:
        raise DamageError(
            "Document is not a conversation, a list of pydantic-ai messages was expected, or an object that has one "
            "under the key 'messages'. Check that it is the right file."
        )
    items = read_messages(cast("list[object]", messages), changes)
    if all(isinstance(item, Noted | Instructed) for item in items):
        why = " ".join(changes.sentences()[:1]) or "The list of messages is empty."
        raise DamageError(
            f"Document holds no message that can be read, pydantic-ai messages were expected. {why} "
            "Check that it is the right file."
        )
    ended = _ended(envelope.get("ended"))
    tools = _tools(envelope.get("tools"))
    body = mend(items, changes, ended=ended)
    unread = {key for key, value in (("ended", ended), ("tools", tools)) if value is None and key in envelope}
    unknown = ", ".join(sorted((envelope.keys() - _OWN_KEYS) | unread))
    left = (f"These parts of the file beside its messages were left out: {unknown}.",) if unknown else ()
    return Imported(
        session=_word(envelope, "session", "session_id"),
        model=_word(envelope, "model") or _last_model(body),
        system="\n\n".join(dict.fromkeys(item.text for item in items if isinstance(item, Instructed))),
        tools=tools or (),
        body=body,
        mended=(*left, *changes.sentences()),
    )


def _word(envelope: Mapping[str, object], *keys: str) -> str:
    """Return the first of these fields that is a text, "" if none is."""
    return next((value for key in keys if isinstance(value := envelope.get(key), str)), "")


def _last_model(body: tuple[Entry, ...]) -> str:
    return next((entry.model for entry in reversed(body) if isinstance(entry, ResponseEnded)), "")


def _ended(raw: object) -> TurnEnded | None:
    """Return how the last turn ended, None if the document does not say it in our words."""
    try:
        return msgspec.convert(raw, TurnEnded)
    except msgspec.ValidationError:
        return None


def _tools(raw: object) -> tuple[ToolSchema, ...] | None:
    """Return the tools the document was made with, None if it does not say it in our words."""
    try:
        return msgspec.convert(raw, tuple[ToolSchema, ...])
    except msgspec.ValidationError:
        return None


def _unsigned(entry: Entry) -> Entry:
    """Return the entry without thinking that is bound to the requests it was made in."""
    if not isinstance(entry, ResponseEnded):
        return entry
    kept = tuple(part for part in entry.parts if not (isinstance(part, ThinkingPart) and _bound(part)))
    return msgspec.structs.replace(entry, parts=kept)


def _bound(part: ThinkingPart) -> bool:
    return part.signature is not None or part.id is not None or part.details is not None

"""Import, export and fork: a conversation as a document, a document as a journal, a journal under a new id.

Input is checked and repaired, never trusted: the entries fold to a valid conversation whatever the file contains. Each
omission and change is reported in a sentence (docs/how-to/import-export.md).
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping

import msgspec

from holdfast.errors import DamageError, UsageError
from holdfast.history import repair
from holdfast.history.formats.format import Json, as_array, as_object, cleaned, is_array, is_object
from holdfast.history.formats.pydantic_ai.fields import RECORD_KINDS
from holdfast.history.formats.pydantic_ai.messages import FORMAT
from holdfast.history.formats.pydantic_ai.parts import kind_of, part_role
from holdfast.session.copies import without_signatures
from holdfast.session.journal.entries import Entry, PromptAccepted, Repaired, ResponseEnded, SessionOpened, TurnEnded
from holdfast.session.transfer.changes import Changes, edit_sentences
from holdfast.session.transfer.foreign_content import content_text
from holdfast.session.transfer.journal_document import JournalDocument, is_journal, read_journal
from holdfast.session.transfer.request_document import as_document, is_request
from holdfast.session.transfer.to_entries import JOURNAL, calls_listed_alone, entries_of
from holdfast.tool_calls import ToolSchema
from holdfast.typed_data import convert_value, decode_fault

DOCUMENT_FORMAT = "pydantic-ai"
LIMIT = 50_000_000
"""The longest document that is read, in bytes."""

_OWN_KEYS = {"format", "holdfast", "session", "session_id", "cwd", "model", "tools", "ended", "rewound", "messages"}
_SYSTEM = "The system prompt of the file was left out: the session has its own."
_THINKING = (
    "Signed thinking was left out: a provider accepts it only after exactly the system prompt, tools and messages "
    "that it followed."
)


class Imported(msgspec.Struct, frozen=True, kw_only=True):
    """A document that was read and repaired.

    `session` and `model` are those of the document, "" if it has none; `system` and `tools` are those of its requests,
    if known. `body` is the journal after its `SessionOpened`.
    """

    session: str
    model: str
    system: str
    tools: tuple[ToolSchema, ...]
    body: tuple[Entry, ...]
    repairs: tuple[str, ...]

    def changes(self, opened: SessionOpened) -> tuple[str, ...]:
        """Return how a session that begins with `opened` differs from the document, one sentence each."""
        system = () if self.system in ("", opened.system, _beginning(opened)) else (_SYSTEM,)
        thinking = () if self._keeps_thinking(opened) else (_THINKING,)
        return (*self.repairs, *system, *thinking)

    def entries(self, opened: SessionOpened) -> tuple[Entry, ...]:
        """Return the whole journal of a session that begins with `opened`."""
        changes = self.changes(opened)
        repaired = (Repaired(findings=changes),) if changes else ()
        body = self.body if self._keeps_thinking(opened) else tuple(without_signatures(entry) for entry in self.body)
        return (opened, *repaired, *body)

    def _keeps_thinking(self, opened: SessionOpened) -> bool:
        """Return whether signed thinking is usable: providers accept it only after exactly the same requests."""
        same = _beginning(opened) == self.system and opened.tools == self.tools and not self.repairs
        return same or all(without_signatures(entry) == entry for entry in self.body)


def _beginning(opened: SessionOpened) -> str:
    """Return the text that every request of the session begins with: its system prompt and its facts."""
    return "\n\n".join(filter(None, (opened.system, opened.facts)))


def import_document(text: bytes) -> Imported:
    """Return the content of an export: a journal, a request body, or pydantic-ai messages (a list, or in an object).

    Raises `DamageError`, with the place, if it is neither, `UsageError` if it is longer than `LIMIT`.

    Laws (`tests/session/transfer/test_transfer_laws.py`): whatever list of messages it is given, the entries fold, and
    every user text, assistant text and finished result is in the conversation or the next prompt's notes.
    """
    if len(text) > LIMIT:
        raise UsageError(f"Document is longer than {LIMIT // 1_000_000} MB. Import a shorter part of it.")
    try:
        return _imported(_parsed(text))
    except RecursionError as error:
        raise DamageError("Document is nested too deeply. Check that it is the right file.") from error


def _parsed(text: bytes) -> object:
    try:
        return cleaned(json.loads(text.decode("utf-8-sig")))
    except UnicodeDecodeError as error:
        line = text.count(b"\n", 0, error.start) + 1
        column = error.start - text.rfind(b"\n", 0, error.start)
        raise DamageError(
            f"Document is not UTF-8 at line {line}, byte {column}. "
            "Convert it to UTF-8, or check that it is the right file."
        ) from error
    except json.JSONDecodeError as error:
        raise DamageError(
            f"Document is not JSON at line {error.lineno}, column {error.colno} ({error.msg}). "
            "Fix that line, or check that it is the right file."
        ) from error
    except ValueError as error:  # a number with more digits than Python reads
        why = decode_fault(error)
        raise DamageError(f"Document contains a number that is too long ({why}). Shorten that number.") from error


def _imported(document: object) -> Imported:
    envelope = as_object(document)
    if is_journal(envelope):
        return _of_journal(read_journal(envelope))
    if is_request(envelope):
        envelope = as_document(envelope)
    messages = envelope.get("messages") if is_object(document) else document
    if not is_array(messages) or envelope.get("format", DOCUMENT_FORMAT) != DOCUMENT_FORMAT:
        raise DamageError(
            "Document is not a conversation (expected an export of holdfast, a list of pydantic-ai messages, or an "
            "object with one under the key 'messages'). Check that it is the right file."
        )
    if not any(map(_is_readable, messages)):
        empty = "" if messages else " The list of messages is empty."
        raise DamageError(
            "Document has no readable pydantic-ai messages (expected objects with a list of `parts`, whose `kind` is "
            f"'request' or 'response').{empty} Check that it is the right file."
        )
    repaired = repair(messages, format=DOCUMENT_FORMAT, profile=JOURNAL)
    changes = Changes()
    for at, message in enumerate(messages):
        _compare(at, as_object(message), changes)
    ended = _ended(envelope.get("ended"))
    tools = _tools(envelope.get("tools"))
    body = entries_of(repaired, messages, changes, ended=ended)
    unread = {key for key, value in (("ended", ended), ("tools", tools)) if value is None and key in envelope}
    unknown = ", ".join(sorted((envelope.keys() - _OWN_KEYS) | unread))
    left = (f"These parts of the file were left out: {unknown}.",) if unknown else ()
    return Imported(
        session=_word(envelope, "session", "session_id"),
        model=_word(envelope, "model") or _last_model(body),
        system="\n\n".join(dict.fromkeys(text for message in messages for text in _system(as_object(message)))),
        tools=tools or (),
        body=body,
        repairs=(*left, *edit_sentences(repaired.edits), *changes.sentences()),
    )


def _of_journal(journal: JournalDocument) -> Imported:
    if not any(isinstance(entry, PromptAccepted) for entry in journal.entries):
        raise DamageError("Document has no readable prompt among its entries. Check that it is the right file.")
    opened = journal.opened
    return Imported(
        session=journal.session,
        model=_last_model(journal.entries) or (opened.model if opened else ""),
        system=_beginning(opened) if opened else "",
        tools=opened.tools if opened else (),
        body=journal.entries,
        repairs=journal.left_out,
    )


def _is_readable(message: object) -> bool:
    """Return whether it is a response, or a request with content other than system prompts."""
    found = FORMAT.message(0, message)
    content = (item for item in found.items if item.role != "system" and len(item.path) > 1)
    return found.role == "assistant" or any("foreign" not in item.flags for item in content)


def _compare(at: int, message: Json, changes: Changes) -> None:
    """Record the ways in which a message is read differently from how it is written."""
    for kind in map(kind_of, as_array(message.get("parts"))):
        if kind in RECORD_KINDS:
            changes.add(at, f"a part that only records settings ({kind}) was left out.")
    is_response = message.get("kind") == "response" and is_array(message.get("parts"))
    if is_response and (listed := as_array(message.get("tool_calls"))):
        alone = len(calls_listed_alone(message))
        if alone < len(listed):
            changes.add(at, "calls that were listed twice, in parts and in tool_calls, count once.")
        if alone:
            changes.add(at, "a call that was only in tool_calls was taken from there.")


def _system(message: Json) -> Iterator[str]:
    """Yield the system prompts of a message, as sent at the time."""
    prompts = [
        part.get("content") for part in map(as_object, as_array(message.get("parts"))) if part_role(part) == "system"
    ]
    for content in (message.get("instructions"), *prompts) if message.get("kind") == "request" else ():
        if content:
            yield content_text(content, lambda _: None)


def _word(envelope: Mapping[str, object], *keys: str) -> str:
    """Return the first of these fields that is a string, "" if none is."""
    return next((value for key in keys if isinstance(value := envelope.get(key), str)), "")


def _last_model(body: tuple[Entry, ...]) -> str:
    return next((entry.model for entry in reversed(body) if isinstance(entry, ResponseEnded)), "")


def _ended(raw: object) -> TurnEnded | None:
    """Return how the last turn ended, None if holdfast did not write the document."""
    try:
        return convert_value(raw, TurnEnded)
    except msgspec.ValidationError:
        return None


def _tools(raw: object) -> tuple[ToolSchema, ...] | None:
    """Return the tools the document was made with, None if holdfast did not write the document."""
    try:
        return convert_value(raw, tuple[ToolSchema, ...])
    except msgspec.ValidationError:
        return None

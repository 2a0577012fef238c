"""The laws of moving sessions: what goes out comes back the same, and nothing that was said is lost on the way in."""

from __future__ import annotations

import json
import warnings
from typing import cast

import msgspec
from hypothesis import assume, example, given
from hypothesis import strategies as st
from pydantic_ai.messages import BinaryContent, ModelMessagesTypeAdapter

from fold_readings import faults
from holdfast.agent.recovery.settle import settle
from holdfast.agent.stop_cause import StopCause
from holdfast.errors import DamageError
from holdfast.session.conversation.conversation import AssistantMessage, Conversation, UserMessage
from holdfast.session.conversation.fold import fold
from holdfast.session.journal.entries import (
    CallEnded,
    CallLate,
    Entry,
    PromptAccepted,
    Queued,
    ResponseEnded,
    SessionOpened,
    Steered,
)
from holdfast.session.journal.parts import CallPart, TextPart
from holdfast.session.transfer.export import export
from holdfast.session.transfer.transfer import Imported, import_document
from journals import journals, opened
from laws import law
from shown_images import picture, png
from wire_documents import mutations

Json = dict[str, object]


def imageless(entries: list[Entry]) -> list[Entry]:
    """Return the journal without its images, which the import leaves out and names."""
    return [
        msgspec.structs.replace(each, images=())
        if isinstance(each, PromptAccepted | Queued | Steered | CallEnded)
        else each
        for each in entries
    ]


def long_ids(entries: list[Entry]) -> list[Entry]:
    """Return the journal with call ids in our form, as every journal has them."""
    text = msgspec.json.encode(entries).decode()
    for letter in "abcd":
        text = text.replace(f'"call":"{letter}"', f'"call":"{letter * 9}"').replace(
            f'"id":"{letter}"', f'"id":"{letter * 9}"'
        )
    return msgspec.json.decode(text, type=list[Entry])


def reopened(imported: Imported, conversation: Conversation) -> Conversation:
    opened = conversation.opened
    if opened is None:
        opened = SessionOpened(session="s", cwd="/", model=imported.model, system="", tools=(), version="0")
    return fold(imported.entries(opened))


@law()
@given(journals)
def test_a_conversation_that_went_out_and_came_back_is_the_same(journal: list[Entry]) -> None:
    journal = long_ids(imageless(journal))
    conversation = fold(journal)
    # Of a read that was cut, a document says that its effect is unknown; settled, it is known to have had none.
    assume(not any(each.started and each.started.effect == "read" for each in conversation.open_calls))
    document = export(conversation)
    if not document["messages"]:
        return
    imported = import_document(json.dumps(document).encode())
    if conversation.streaming is None or not conversation.streaming.text.strip():
        assert imported.repairs == ()
    # An unfinished response is exported as the message it becomes when its turn is settled, and so are open calls.
    left = fold([*journal, *settle(conversation, StopCause("crash"))])
    assert reopened(imported, conversation).messages == left.messages


@law()
@given(journals)
def test_what_pydantic_ai_makes_of_it_comes_back_the_same(journal: list[Entry]) -> None:
    conversation = fold(long_ids(imageless(journal)))
    document = export(conversation)
    if not document["messages"] or conversation.streaming is not None:
        return
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        loaded = ModelMessagesTypeAdapter.validate_python(document["messages"])
    document["messages"] = json.loads(ModelMessagesTypeAdapter.dump_json(loaded))
    imported = import_document(json.dumps(document).encode())
    assert reopened(imported, conversation).messages == conversation.messages


def test_an_image_goes_out_whole_and_is_named_on_the_way_in() -> None:
    journal: list[Entry] = [opened, PromptAccepted(turn=1, text="what is this?", images=(picture("shot.png"),))]
    document = export(fold(journal))
    (message,) = ModelMessagesTypeAdapter.validate_python(document["messages"])
    shown = next(part.content for part in message.parts if part.part_kind == "user-prompt")
    assert isinstance(shown, list)
    assert isinstance(shown[0], BinaryContent)
    assert shown[0].data == png()
    imported = import_document(json.dumps(document).encode())
    assert "content that is not text (binary) was left out" in " ".join(imported.repairs)
    (back,) = reopened(imported, fold(journal)).messages
    assert back == UserMessage((), ("[binary, image/png: not kept by the import]", "what is this?"))


# --- damaged histories ---

call_ids = st.sampled_from(["a", "b", "NineChars"])
names = st.sampled_from(["read", "bash"])
numbered = st.integers(0, 99)


def part(kind: str, **fields: st.SearchStrategy[object]) -> st.SearchStrategy[Json]:
    return st.fixed_dictionaries({"part_kind": cast("st.SearchStrategy[object]", st.just(kind)), **fields})


def marked(mark: str) -> st.SearchStrategy[object]:
    return numbered.map(lambda number: f"{mark}{number}.")


real: st.SearchStrategy[object] = st.sampled_from([None, None, {"pydantic_ai_synthesized_tool_return": True}])
junk: list[object] = [None, 3, "x", [], {}]
anything: st.SearchStrategy[object] = st.one_of(
    st.sampled_from(junk), marked("U"), part("new-kind", content=marked("T")), part("text", text=marked("T"))
)
outcomes: st.SearchStrategy[object] = st.sampled_from(["success", "failed", "denied", "interrupted", "retried", "odd"])
request_parts = st.one_of(
    part("system-prompt", content=marked("S")),
    part("user-prompt", content=st.one_of(marked("U"), st.lists(marked("U"), max_size=2), st.just(" "))),
    part("tool-return", tool_name=names, content=marked("R"), tool_call_id=call_ids, metadata=real, outcome=outcomes),
    part("retry-prompt", tool_name=names, content=marked("R"), tool_call_id=call_ids),
    part("retry-prompt", content=marked("U")),
    part("retry-feedback", content=marked("U"), retry=st.just({"cause": "model_retry"})),
    anything,
)
response_parts = st.one_of(
    part("text", content=st.one_of(marked("T"), st.just(""))),
    part("thinking", content=marked("H"), signature=st.sampled_from([None, "", "sig"])),
    part("tool-call", tool_name=names, args=st.sampled_from(["{}", "{", None, {"x": 1}, 4]), tool_call_id=call_ids),
    part("builtin-tool-call", tool_name=names, tool_call_id=call_ids),
    anything,
)
states: st.SearchStrategy[object] = st.sampled_from(["complete", "interrupted"])
requests: st.SearchStrategy[object] = st.fixed_dictionaries(
    {"kind": st.just("request"), "parts": st.lists(request_parts, max_size=5)}
)
responses: st.SearchStrategy[object] = st.fixed_dictionaries(
    {"kind": st.just("response"), "parts": st.lists(response_parts, max_size=4), "state": states}
)
histories = st.lists(st.one_of(requests, responses, responses, anything), min_size=1, max_size=12)


def marks(value: object) -> list[str]:
    """Return the marked texts of the parts that hold something said, as `U1.`, `T2.` or `R3.`."""
    match value:
        case list():
            return [mark for item in cast("list[object]", value) for mark in marks(item)]
        case dict():
            fields = cast("Json", value)
            metadata = fields.get("metadata")
            kind = fields.get("part_kind")
            if kind in ("system-prompt", "thinking") or metadata is not None:  # stale, private, made up
                return []
            return [mark for key in ("parts", "content", "text") for mark in marks(fields.get(key))]
        case str() if value[:1] in ("U", "T", "R") and value.endswith("."):
            return [value]
        case _:
            return []


def all_parts(history: list[object]) -> list[tuple[Json, object]]:
    """Return every part of a readable kind of message that has what its kind needs, with its kind."""
    messages = [cast("Json", message) for message in history if isinstance(message, dict)]
    lists = [message["parts"] for message in messages if message.get("kind") in ("request", "response")]
    found = [cast("Json", part) for parts in lists for part in cast("list[object]", parts) if isinstance(part, dict)]
    return [(part, part.get("part_kind")) for part in found if "content" in part]


def full_text(conversation: Conversation) -> str:
    lines: list[str] = []
    for message in conversation.messages:
        match message:
            case UserMessage():
                lines += [result.text for result in message.results]
                lines += message.texts
            case AssistantMessage():
                lines += [part.text for part in message.parts if isinstance(part, TextPart)]
    return "\n".join(lines)


def read_json(document: object) -> Imported | None:
    try:
        return import_document(json.dumps(document).encode())
    except DamageError:
        return None


@law()
@given(histories)
@example([{"kind": "request", "parts": [{"part_kind": "new-kind", "content": "T1."}]}])
@example([{"kind": "request", "parts": [{"part_kind": "user-prompt", "content": "U1."}]}])
def test_whatever_is_imported_folds_and_nothing_said_is_lost(history: list[object]) -> None:
    imported = read_json(history)
    if imported is None:  # refused as a whole: no message of it can be read
        good = {"user-prompt", "tool-return", "retry-prompt", "tool-call", "text"}
        assert not any(kind in good and marks(part) for part, kind in all_parts(history))
        return
    opened = SessionOpened(session="s", cwd="/", model=imported.model, system="", tools=(), version="0")
    entries = [*imported.entries(opened), PromptAccepted(turn=99, text="NEXT")]
    for length in range(len(entries) + 1):
        assert faults(fold(entries[:length]).messages) == []
    conversation = fold(entries)
    text = full_text(conversation)
    for mark in marks(history):
        assert mark in text, mark
    assert conversation.open_turn == 99
    assert "NEXT" in text
    settled = [entry.call for entry in entries if isinstance(entry, CallEnded)]
    calls = [part.id for entry in entries if isinstance(entry, ResponseEnded) for part in entry.parts
             if isinstance(part, CallPart)]  # fmt: skip
    assert len(calls) == len(set(calls))
    assert settled == calls
    assert {entry.call for entry in entries if isinstance(entry, CallLate)} <= set(settled)


@law()
@given(mutations("pydantic-ai"))
def test_a_document_with_anything_anywhere_folds_or_is_refused(messages: list[object]) -> None:
    imported = read_json(messages)
    if imported is None:
        return
    opened = SessionOpened(session="s", cwd="/", model=imported.model, system="", tools=(), version="0")
    assert faults(fold(imported.entries(opened)).messages) == []


@law()
@given(histories)
def test_what_was_repaired_once_needs_no_more_repair(history: list[object]) -> None:
    imported = read_json(history)
    if imported is None:
        return
    opened = SessionOpened(session="s", cwd="/", model=imported.model, system="", tools=(), version="0")
    once = fold(imported.entries(opened))
    if not once.messages:
        return
    again = read_json(export(once))
    assert again is not None
    assert again.repairs == ()
    assert fold(again.entries(opened)).messages == once.messages

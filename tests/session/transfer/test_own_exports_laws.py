"""Every export of a conversation comes back: what its format carries is the same after an import."""

from __future__ import annotations

import json

import msgspec
import pytest
from hypothesis import given

from holdfast.agent.sessions import settled
from holdfast.agent.stop_cause import StopCause
from holdfast.errors import DamageError
from holdfast.history.formats.format import as_array, is_array, is_object
from holdfast.session.conversation.fold import fold
from holdfast.session.conversation.message_builder import replace_results
from holdfast.session.journal import entries as e
from holdfast.session.journal.parts import CallPart, TextPart, ThinkingPart, Usage
from holdfast.session.journal.store import Finding, Reading, StoredEntry
from holdfast.session.journal.tasks import TaskStarted
from holdfast.session.request.exported_body import anthropic, openai_chat, settled_conversation
from holdfast.session.transfer.transfer import Imported, import_document
from holdfast.tool_calls import Pattern, ProcessId
from holdfast.ui.export.export import document_of
from journals import journals, opened
from laws import law

OTHERS = e.ToolsChanged | e.CallWaits | e.CallAnswered | e.ProcessStarted | e.SessionOpened
"""What an import leaves out although the messages, or the words for an open call, tell of it."""


def reading(entries: list[e.Entry], *findings: Finding) -> Reading:
    records = tuple(StoredEntry(seq=seq, at=1.0, entry=entry) for seq, entry in enumerate(entries, start=1))
    return Reading(records=records, findings=findings)


def imported(document: object) -> Imported:
    return import_document(json.dumps(document).encode())


def has_prompt(journal: list[e.Entry]) -> bool:
    return any(isinstance(entry, e.PromptAccepted) for entry in journal)


@law()
@given(journals)
def test_the_entries_of_a_journal_come_back_with_the_same_conversation(journal: list[e.Entry]) -> None:
    journal = [entry for entry in journal if not isinstance(entry, OTHERS)]
    if not has_prompt(journal):
        with pytest.raises(DamageError, match="no readable prompt"):
            imported(document_of(reading([opened, *journal]), "s", "json"))
        return
    found = imported(document_of(reading([opened, *journal]), "s", "json"))
    before = fold(settled((opened, *journal), StopCause("import")))
    after = fold(settled(found.entries(opened), StopCause("import")))
    if found.repairs:  # thinking is signed after exactly the requests of before
        assert after.messages == tuple(replace_results(message, {}) for message in before.messages)
    else:
        assert after.messages == before.messages
    assert after.usage == before.usage
    assert after.queued == before.queued
    assert after.open_turn is None
    assert after.open_calls == after.open_shells == after.open_tasks == ()
    assert after.allowed == ()
    assert after.mode is None


IDS = ("id", "tool_call_id", "tool_use_id")


def without_ids(value: object) -> object:
    """Return JSON without the ids of calls, which an import gives again, and without signed thinking."""
    if is_object(value):
        return {key: without_ids(each) for key, each in value.items() if key not in IDS}
    if is_array(value):
        return [without_ids(each) for each in value if not (is_object(each) and each.get("type") == "thinking")]
    return value


def imageless(entry: e.Entry) -> e.Entry:
    has_images = isinstance(entry, e.PromptAccepted | e.Queued | e.Steered | e.CallEnded)
    return msgspec.structs.replace(entry, images=()) if has_images else entry


@pytest.mark.parametrize("form", ["openai-chat", "anthropic"])
@law()
@given(journals)
def test_a_request_that_went_out_and_came_back_is_the_same_request(form: str, journal: list[e.Entry]) -> None:
    write = openai_chat if form == "openai-chat" else anthropic
    entries = [opened, *(imageless(entry) for entry in journal if not isinstance(entry, e.ModelChanged))]
    body = json.loads(json.dumps(write(settled_conversation(entries))))
    if not [each for each in body["messages"] if each["role"] != "system"]:
        return
    found = imported(body)
    opened_again = msgspec.structs.replace(opened, model=body["model"])
    again = json.loads(json.dumps(write(settled_conversation(found.entries(opened_again)))))
    assert without_ids(again["messages"]) == without_ids(body["messages"])


SPOOLED: list[e.Entry] = [
    opened,
    e.PromptAccepted(turn=1, text="go"),
    e.RequestStarted(step=1, attempt=1, model="anthropic:m"),
    e.ResponseEnded(
        step=1,
        model="anthropic:m",
        parts=(
            ThinkingPart("hm", signature="sig", provider="anthropic"),
            TextPart("I look."),
            CallPart(id="a" * 9, name="bash", arguments="{}"),
        ),
        usage=Usage(input_tokens=1, cost="0.5"),
    ),
    e.ApprovalAnswered(
        call="a" * 9, allowed=True, remember="project", patterns=(Pattern(effect="execute", text="rm *"),)
    ),
    e.CallStarted(call="a" * 9, effect="execute", spool="../../../etc/passwd"),
    e.ProcessStarted(call="a" * 9, process=ProcessId(pid=1, start=1, boot="b")),
    TaskStarted(id="t1", call="a" * 9, command="sleep 1", spool="/etc/passwd"),
    e.ModeChanged(mode="yolo"),
    e.ModelChanged(model="elsewhere:m"),
]


def test_a_journal_from_elsewhere_brings_no_permission_no_mode_no_model_and_no_file_or_process() -> None:
    found = imported(document_of(reading(SPOOLED, Finding(seq=9, what="Entry 9 is damaged.")), "s", "json"))
    entries = found.entries(opened)
    assert "were left out: the session has its own" in " ".join(found.repairs)
    assert "The exported journal was damaged: Entry 9 is damaged." in found.repairs
    text = b"".join(e.encode(entry) for entry in entries).decode()
    for word in ("passwd", "rm *", "yolo", "elsewhere", '"remember"', '"pid"'):
        assert word not in text
    assert fold(entries).allowed == ()
    assert fold(entries).messages != ()
    assert found.model == "anthropic:m"


def test_an_entry_that_cannot_be_read_is_said_and_the_others_are_kept() -> None:
    document = document_of(reading([opened, e.PromptAccepted(turn=1, text="go")]), "s", "json")
    assert isinstance(document, dict)
    more = [{"seq": 3, "entry": {"kind": "of-tomorrow"}}, 7]
    found = imported(document | {"records": [*as_array(document["records"]), *more]})
    assert found.repairs == tuple(f"Entry {number} could not be read and was left out." for number in (3, 4))
    assert found.body == (e.PromptAccepted(turn=1, text="go"),)

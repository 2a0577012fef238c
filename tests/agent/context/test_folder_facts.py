"""The facts of a session open its first user message, once, whatever becomes of the messages after it."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import msgspec
import pytest

from agent_harness import Rig, opened
from compaction_sessions import long_session
from holdfast.agent.sessions import create, fork, resume
from holdfast.history.profiles import PROFILES
from holdfast.history.tokens import tokens_of
from holdfast.session.catalog import Catalog
from holdfast.session.conversation.context_breakdown import context_breakdown
from holdfast.session.conversation.conversation import Conversation, UserMessage
from holdfast.session.conversation.fold import fold
from holdfast.session.conversation.token_estimate import context_tokens
from holdfast.session.journal.entries import Entry, PromptAccepted, SessionOpened
from holdfast.session.journal.store import MemoryStore
from holdfast.session.request.exported_body import anthropic, openai_chat
from holdfast.session.request.normalize import normalize
from holdfast.session.transfer.export import export
from holdfast.session.transfer.transfer import import_document
from holdfast.testing.script import Reply, Say
from holdfast.testing.scripted_model import ScriptedModel

FACTS = "[Note from holdfast: where you work.\nWorking directory: /srv/engine]"
OPENED = msgspec.structs.replace(opened(), facts=FACTS)


def sent_texts(conversation: Conversation) -> list[tuple[str, ...]]:
    """Return the texts of each user message that a request has."""
    sent = normalize(conversation, PROFILES["openai-chat"])
    return [message.texts for message in sent.messages if isinstance(message, UserMessage)]


def is_there_once(conversation: Conversation) -> bool:
    texts = sent_texts(conversation)
    return texts[0][0] == FACTS and sum(text == FACTS for message in texts for text in message) == 1


def rig_with_facts(*replies: Reply) -> Rig:
    store = MemoryStore()
    store.append([OPENED], expected=0)
    return Rig(ScriptedModel(list(replies)), store=store)


async def test_they_open_the_first_message_of_every_request_after_a_resume_too() -> None:
    rig = rig_with_facts(*([[Say("ok")]] * 3))
    await rig.agent.run("one")
    await rig.agent.run("two")
    resumed = Rig(rig.model, store=rig.store)
    await resumed.agent.run("three")
    assert sent_texts(resumed.agent.conversation) == [(FACTS, "one"), ("two",), ("three",)]
    assert sent_texts(rig.model.requests[0]) == [(FACTS, "one")]


async def test_a_rewind_to_the_first_prompt_keeps_them() -> None:
    rig = rig_with_facts(*([[Say("ok")]] * 2))
    await rig.agent.run("one")
    await rig.agent.rewind(1)
    await rig.agent.run("again")
    assert sent_texts(rig.agent.conversation) == [(FACTS, "again")]


async def test_a_compaction_keeps_them_before_its_note_and_the_summary_is_not_asked_about_them() -> None:
    rig = await long_session([Say("They were read.")], [Say("fine")], turns=6)
    rig.store = with_facts(rig.entries)
    again = Rig(rig.model, store=rig.store)
    assert await again.agent.compact() is not None
    asked = sent_texts(rig.model.requests[-1])
    assert FACTS not in str(asked)
    assert is_there_once(again.agent.conversation)
    assert "They were read." in sent_texts(again.agent.conversation)[0][1]
    await again.agent.uncompact()
    assert is_there_once(again.agent.conversation)


def with_facts(entries: list[Entry]) -> MemoryStore:
    first, *rest = entries
    assert isinstance(first, SessionOpened)
    store = MemoryStore()
    store.append([msgspec.structs.replace(first, facts=FACTS), *rest], expected=0)
    return store


def test_a_copy_has_them_and_so_has_a_session_that_is_opened_again(tmp_path: Path) -> None:
    catalog = Catalog(tmp_path / "sessions")
    session = create(catalog, cwd=tmp_path, model="openai:m")
    session.store.append([PromptAccepted(turn=1, text="go")], expected=1)
    session.store.close()
    summary = catalog.find(session.id)
    for again in (fork(catalog, summary), resume(catalog, summary)):
        texts = sent_texts(fold(record.entry for record in again.reading.records))
        again.store.close()
        assert len([text for text in texts[0] if f"Working directory: {tmp_path}\n" in text]) == 1
        assert "where you work" in texts[0][0]


@pytest.mark.parametrize("facts", [FACTS, ""])
@pytest.mark.parametrize("export", [export, openai_chat, anthropic])
def test_an_export_that_is_imported_has_the_facts_of_the_new_session_alone(
    facts: str, export: Callable[[Conversation], dict[str, object]]
) -> None:
    first = msgspec.structs.replace(OPENED, facts=facts)
    document = export(fold([first, PromptAccepted(turn=1, text="go")]))
    there = msgspec.structs.replace(OPENED, facts="[Note from holdfast: where you work.\nelsewhere]")
    imported = fold(import_document(msgspec.json.encode(document)).entries(there))
    texts = [text for message in sent_texts(imported) for text in message]
    assert texts[0] == there.facts
    assert FACTS not in texts
    assert "go" in texts


def test_an_export_has_the_facts_as_a_system_prompt() -> None:
    document = msgspec.json.decode(msgspec.json.encode(export(fold([OPENED, PromptAccepted(turn=1, text="go")]))))
    kinds = [(part["part_kind"], part["content"]) for part in document["messages"][0]["parts"]]
    assert kinds == [("system-prompt", "SYSTEM"), ("system-prompt", FACTS), ("user-prompt", "go")]


def test_they_count_as_tokens() -> None:
    with_them, without = (
        fold([OPENED, PromptAccepted(turn=1, text="go")]),
        fold([opened(), PromptAccepted(turn=1, text="go")]),
    )
    assert context_tokens(with_them) - context_tokens(without) == tokens_of(FACTS)
    kinds = dict(context_breakdown(with_them).kinds)
    assert kinds["folder and instructions"] == tokens_of(FACTS)
    assert sum(kinds.values()) == context_tokens(with_them)


def test_a_journal_that_has_them_in_its_system_prompt_is_sent_as_it_always_was() -> None:
    conversation = fold([opened(), PromptAccepted(turn=1, text="go")])
    assert sent_texts(conversation) == [("go",)]


def test_system_prompt_and_tools_are_the_same_in_every_folder_with_its_own_instructions(tmp_path: Path) -> None:
    folders = [tmp_path / name for name in ("one", "two")]
    first_entries: list[SessionOpened] = []
    for folder in folders:
        (folder / ".git").mkdir(parents=True)
        (folder / "AGENTS.md").write_text(f"Only in {folder.name}.")
        session = create(Catalog(tmp_path / "sessions"), cwd=folder, model="openai:m")
        session.store.close()
        (record,) = session.reading.records
        assert isinstance(record.entry, SessionOpened)
        first_entries.append(record.entry)
    one, two = first_entries
    assert (one.system, one.tools) == (two.system, two.tools)
    assert one.facts != two.facts
    assert "Only in one." in one.facts
    assert "Only in two." in two.facts

"""What verifying finds in a reading, where, and what it says to do."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from hypothesis import given

from holdfast.history.profiles import ANTHROPIC, OPENAI_CHAT, PROFILES
from holdfast.session.conversation.conversation import UserMessage
from holdfast.session.conversation.fold import fold
from holdfast.session.journal.entries import (
    CallEnded,
    CallStarted,
    Entry,
    PromptAccepted,
    Repaired,
    RequestStarted,
    ResponseEnded,
    SessionOpened,
    TurnEnded,
)
from holdfast.session.journal.parts import CallPart, Usage
from holdfast.session.journal.store import Finding, Reading, StoredEntry
from holdfast.session.request import normalize
from holdfast.session.verify import Problem, as_sent_to, verify
from journals import journals

MODEL = "anthropic:m"
ENTRIES: tuple[Entry, ...] = (
    SessionOpened(session="s", cwd="/", model=MODEL, system="S", tools=(), version="0"),
    PromptAccepted(turn=1, text="go"),
    RequestStarted(step=1, attempt=1, model=MODEL),
    ResponseEnded(step=1, model=MODEL, parts=(CallPart("aaaaaaaaa", "bash", "{}"),), usage=Usage()),
    CallStarted(call="aaaaaaaaa", effect="execute"),
    CallEnded(call="aaaaaaaaa", outcome="ok", text="x"),
    TurnEnded(turn=1, reason="end_turn", cause="finished"),
)
LOST = Finding(seq=3, what="Entry 3 is damaged. Its checksum does not fit.")


def reading(*entries: Entry, findings: tuple[Finding, ...] = ()) -> Reading:
    records = (StoredEntry(seq=seq, at=0.0, entry=entry) for seq, entry in enumerate(entries, start=1))
    return Reading(records=tuple(records), findings=findings)


def problems(*entries: Entry, findings: tuple[Finding, ...] = ()) -> tuple[Problem, ...]:
    return verify("s1", reading(*entries, findings=findings), ANTHROPIC).problems


def test_a_whole_session_is_clean_for_every_provider() -> None:
    report = verify("s1", reading(*ENTRIES), ANTHROPIC)
    assert (report.entries, report.messages, report.profiles) == (len(ENTRIES), 3, len(PROFILES))
    assert report.problems == ()


@given(journals)
def test_so_is_whatever_entries_were_appended(entries: list[Entry]) -> None:
    for profile in (ANTHROPIC, OPENAI_CHAT):
        found = verify("s1", reading(*entries), profile).problems
        assert [problem for problem in found if problem.kind == "violation"] == []


def test_damage_says_where_it_is_and_what_to_do() -> None:
    (problem,) = problems(*ENTRIES, findings=(LOST,))
    assert (problem.kind, problem.where, problem.what) == ("damage", "entry 3", LOST.what)
    assert "holdfast -r s1" in problem.todo
    assert problems(*ENTRIES, findings=(Finding(seq=0, what="no"),))[0].where == "journal"


def test_damage_that_was_told_needs_nothing() -> None:
    (problem,) = problems(*ENTRIES, Repaired(findings=(LOST.what,)), findings=(LOST,))
    assert problem.todo.startswith("Nothing: ")


@pytest.mark.parametrize("findings", [(), (Finding(seq=1, what="Entry 1 is missing."),)])
def test_a_session_without_its_first_entry_goes_on(findings: tuple[Finding, ...]) -> None:
    (problem,) = problems(*ENTRIES[1:], findings=findings)
    assert problem.where == "entry 1"
    assert problem.todo.startswith("Continue with holdfast -r s1: its directory and model are known")


def test_a_conversation_that_breaks_a_rule_is_reported_for_each_provider(monkeypatch: pytest.MonkeyPatch) -> None:
    def loses_results(*_: object) -> Iterator[UserMessage]:
        yield UserMessage((), ("x",))

    monkeypatch.setattr(normalize, "user_messages", loses_results)
    found = problems(*ENTRIES)
    assert {problem.kind for problem in found} == {"violation"}
    assert {problem.where.partition(",")[0] for problem in found} == set(PROFILES)
    assert all("call-without-result" in problem.what for problem in found)


def test_to_its_own_provider_a_session_goes_with_its_own_model() -> None:
    conversation = fold(ENTRIES)
    assert as_sent_to(ANTHROPIC, conversation, ANTHROPIC) is conversation
    assert as_sent_to(OPENAI_CHAT, conversation, ANTHROPIC).model == "openai-chat:another"

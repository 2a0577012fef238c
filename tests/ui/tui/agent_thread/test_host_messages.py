"""What the screen reads about the conversation: after each fact that changes it, and the same when it is opened."""

from __future__ import annotations

from holdfast.agent.events import Fact, LiveText
from holdfast.host import events as h
from holdfast.session.conversation.fold import Fold
from holdfast.session.journal.entries import (
    Entry,
    ModelChanged,
    PromptAccepted,
    Queued,
    RequestStarted,
    ResponseEnded,
    Rewound,
    SessionOpened,
)
from holdfast.session.journal.parts import TextPart, Usage
from holdfast.ui.advice import SCREEN
from holdfast.ui.tui.agent_thread.host_messages import HostMessages, opened_message
from holdfast.ui.tui.agent_thread.messages import AgentMessage, CurrentConversation, ErrorMessage, PromptRefused

OPENED = SessionOpened(session="s", cwd="/", model="a:b", system="S" * 4000, tools=(), version="0")


def measuring(messages: list[AgentMessage], folded: Fold) -> HostMessages:
    return HostMessages(messages.append, folded.conversation, failed_servers=dict)


def messages_of(*entries: Entry) -> list[AgentMessage]:
    """Return the messages from a session that journals these entries one by one."""
    messages: list[AgentMessage] = []
    folded = Fold()
    emit = measuring(messages, folded).take
    for seq, entry in enumerate(entries, 1):
        folded.add(entry)
        emit(Fact(seq, entry))
    return messages


def now(*entries: Entry) -> CurrentConversation:
    *_, last = (each for each in messages_of(*entries) if isinstance(each, CurrentConversation))
    return last


def ended(step: int, tokens_in: int) -> ResponseEnded:
    usage = Usage(input_tokens=tokens_in, output_tokens=10, cost="0.01")
    return ResponseEnded(step=step, model="a:b", parts=(TextPart("x"),), usage=usage)


def test_it_is_sent_behind_the_fact_that_changes_it() -> None:
    """So that the screen never shows the two at different times; what changes nothing is sent alone."""
    messages = messages_of(OPENED, PromptAccepted(turn=1, text="go"), RequestStarted(step=1, attempt=1, model="a:b"))
    assert [type(each) for each in messages] == [Fact, Fact, CurrentConversation, Fact]
    emitted: list[AgentMessage] = []
    measuring(emitted, Fold()).take(LiveText(1, "more"))
    assert emitted == [LiveText(1, "more")]


def test_what_waits_is_there_until_it_is_sent() -> None:
    waiting = Queued(id="q2", text="b", when="later")
    assert [each.message for each in now(OPENED, waiting).conversation.queued] == [waiting]
    assert not now(OPENED, waiting, PromptAccepted(turn=1, text="b", queued="q2")).conversation.queued


def test_usage_adds_up_and_the_size_is_what_would_be_sent_now() -> None:
    journal: list[Entry] = [OPENED, PromptAccepted(turn=1, text="go"), ended(1, 1200)]
    journal += [PromptAccepted(turn=2, text="p" * 400), ended(2, 1320), Rewound(turn=2), ModelChanged(model="c:d")]
    assert now(*journal[:4]).tokens == 1200 + 5 + 104, "the answer and the prompt that followed it"
    after = now(*journal[:5])
    assert (after.conversation.usage.input_tokens, after.conversation.usage.cost, after.tokens) == (2520, "0.02", 1325)
    assert now(*journal[:6]).tokens == 1205
    assert now(*journal).tokens == 1000 + 5 + 5, "the new model has counted nothing yet"
    facts = tuple(Fact(seq, entry) for seq, entry in enumerate(journal, 1))
    session = opened_message("s", "/", facts, Fold(journal).conversation())
    assert session.now == now(*journal)
    assert [fact.entry for fact in session.facts] == journal


def test_a_session_without_messages_is_of_no_size() -> None:
    assert opened_message("s", "/", (), Fold([OPENED]).conversation()).now.tokens == 0


def test_a_failure_is_sent_with_what_to_do_on_the_screen() -> None:
    """What was typed for a refused command returns with the reason; a bug is described by its surface."""
    messages: list[AgentMessage] = []
    told = measuring(messages, Fold())
    told.take(h.Refused(1, "Too short.", "nothing_to_compact", "my words"))
    told.take(h.Refused(2, "Too short.", "nothing_to_compact"))
    told.take(h.Warned("Internal error: kept.", "bug"))
    advised = f"Too short. {SCREEN['nothing_to_compact']}"
    assert messages == [
        PromptRefused("my words", advised),
        ErrorMessage(advised),
        ErrorMessage("Internal error: kept."),
    ]


def test_servers_that_could_not_be_asked_are_shown_with_the_others() -> None:
    messages: list[AgentMessage] = []
    failures = {"files": "It does not start."}
    told = HostMessages(messages.append, Fold().conversation, failed_servers=lambda: failures)
    told.take(h.ServersShown((), {}, "files"))
    assert messages == [h.ServersShown((), failures, "files")]

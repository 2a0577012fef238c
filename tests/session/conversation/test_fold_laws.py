"""The laws of `Fold`: total, alternating, paired, prefix-stable."""

from __future__ import annotations

import msgspec
from hypothesis import example, given
from hypothesis import strategies as st
from msgspec.structs import replace

from fold_readings import faults
from holdfast.session import model_notices
from holdfast.session.conversation.conversation import (
    AssistantMessage,
    Conversation,
    ConversationMessage,
    UserMessage,
)
from holdfast.session.conversation.fold import Fold, fold
from holdfast.session.conversation.message_builder import replace_results
from holdfast.session.journal.entries import (
    CallEnded,
    CallLate,
    CallStarted,
    Compacted,
    Entry,
    PromptAccepted,
    Queued,
    Recalled,
    Repaired,
    RequestStarted,
    ResponseCheckpoint,
    ResponseEnded,
    Rewound,
    ServerFailed,
    SessionOpened,
    ShellEnded,
    Steered,
    ToolsChanged,
    TurnEnded,
    Uncompacted,
)
from holdfast.session.journal.parts import CallPart, TextPart, ThinkingPart, Usage
from holdfast.session.journal.tasks import TaskEnded
from holdfast.tool_calls import FileSeen
from journals import DECISIONS, journals, opened
from laws import law


@law()
@given(journals)
def test_every_prefix_of_every_journal_folds_to_a_valid_conversation(journal: list[Entry]) -> None:
    fold_ = Fold()
    for entry in journal:
        fold_.add(entry)
        assert faults(fold_.conversation().messages) == []


@law()
@given(journals)
def test_one_at_a_time_is_the_same_as_all_at_once(journal: list[Entry]) -> None:
    fold_ = Fold()
    for entry in journal:
        fold_.add(entry)
        fold_.conversation()  # taking it changes nothing
    assert fold_.conversation() == fold(journal)


onwards = journals.map(
    lambda journal: [entry for entry in journal if not isinstance(entry, DECISIONS | SessionOpened | ToolsChanged)]
)
"""Journals that are not rewound, that nothing is left out of, with the same tools and first entry, or without one."""


@law()
@given(onwards)
def test_a_longer_journal_keeps_every_earlier_message_but_the_last(journal: list[Entry]) -> None:
    before: Conversation | None = None
    fold_ = Fold()
    for entry in journal:
        fold_.add(entry)
        now = fold_.conversation()
        if before is not None and before.messages:
            unchanged = len(before.messages) - 1
            assert now.messages[:unchanged] == before.messages[:unchanged]
        before = now


@law()
@given(onwards)
def test_a_message_once_sent_only_gains_texts(journal: list[Entry]) -> None:
    """A request is sent when no call is open: from then on the last user message may only grow at its end."""
    fold_ = Fold()
    sent: tuple[ConversationMessage, ...] = ()
    for entry in journal:
        if isinstance(entry, RequestStarted):
            now = fold_.conversation()
            if not now.open_calls and now.messages and isinstance(now.messages[-1], UserMessage):
                sent = now.messages
        fold_.add(entry)
        if sent:
            now = fold_.conversation()
            assert now.messages[: len(sent) - 1] == sent[:-1]
            last, grown = sent[-1], now.messages[len(sent) - 1]
            assert isinstance(last, UserMessage)
            assert isinstance(grown, UserMessage)
            assert grown.results == last.results
            assert grown.content[: len(last.content)] == last.content


@law()
@given(onwards, onwards)
def test_behind_a_first_entry_that_was_made_again_nothing_else_is_lost(before: list[Entry], after: list[Entry]) -> None:
    """What was signed behind the lost system prompt goes, now and after a rewind; all else is sent as it was."""
    lost, again = fold(before), fold([*before, opened])
    assert again.opened == opened
    assert again.model == opened.model
    assert [replace_results(message, {}) for message in lost.messages] == list(again.messages)
    assert replace(again, opened=None, model=lost.model, chosen_model=lost.chosen_model, messages=lost.messages) == lost
    for prompt in again.prompts:
        back = fold([*before, opened, Rewound(turn=prompt.turn)])
        assert back.messages == tuple(replace_results(message, {}) for message in back.messages)
    assert fold([*before, opened, *after, opened]) == fold([*before, opened, *after])


@law()
@given(onwards)
def test_every_prompt_and_every_answer_survives(journal: list[Entry]) -> None:
    conversation = fold(journal)
    texts = [text for message in conversation.messages if isinstance(message, UserMessage) for text in message.texts]
    for entry in journal:
        if isinstance(entry, PromptAccepted | Steered) and entry.text.strip():
            assert entry.text in texts
    written = [
        part.text
        for message in conversation.messages
        if isinstance(message, AssistantMessage)
        for part in message.parts
        if isinstance(part, TextPart)
    ]
    for entry in journal:
        if isinstance(entry, ResponseEnded):
            for part in entry.parts:
                if isinstance(part, TextPart) and part.text.strip():
                    assert part.text in written


WAITING: list[Entry] = [
    opened,
    PromptAccepted(turn=1, text="a"),
    Queued(id="q", text="b", when="later"),
    TurnEnded(turn=1, reason="cancelled", cause="user"),
]


@law()
@given(journals)
@example(WAITING)
def test_what_is_queued_waits_until_it_is_sent_or_recalled(journal: list[Entry]) -> None:
    waits: dict[str, str] = {}
    for entry in journal:
        match entry:
            case Queued():
                waits[entry.id] = entry.text
            case Recalled() | Steered() | PromptAccepted():
                waits.pop(entry.queued, None)
            case _:
                pass
    conversation = fold(journal)
    assert {each.message.id: each.message.text for each in conversation.queued} == waits
    last = next((entry for entry in reversed(journal) if isinstance(entry, TurnEnded)), None)
    if last is not None and last.cause != "finished":
        queued_ids = [entry.id for entry in journal[journal.index(last) :] if isinstance(entry, Queued)]
        assert all(each.on_hold for each in conversation.queued if each.message.id not in queued_ids)
    prompted = fold([*journal, PromptAccepted(turn=conversation.turns + 1, text="a prompt of one's own")])
    assert all(each.on_hold for each in prompted.queued)
    assert [each.message for each in prompted.queued] == [each.message for each in conversation.queued]


@law()
@given(journals, onwards, journals)
def test_a_rewind_gives_the_conversation_that_was_before_the_prompt(
    before: list[Entry], dropped: list[Entry], after: list[Entry]
) -> None:
    """What came later is as if the dropped part had never been, but for what the user and a provider keep counting."""
    left = [*before, TurnEnded(turn=9, reason="end_turn", cause="finished")]
    remaining = [opened, *left]
    rewound: list[Entry] = [PromptAccepted(turn=99, text="no"), Rewound(turn=99)]
    for entry in dropped:  # each turn has a different number
        later = isinstance(entry, PromptAccepted)
        rewound.insert(-1, msgspec.structs.replace(entry, turn=entry.turn + 90) if later else entry)
    tools = [each for each in rewound if isinstance(each, ToolsChanged)]  # what was signed before does not come back
    assert fold([*remaining, *rewound]).messages == fold([*remaining, *tools]).messages
    assert fold([*remaining, *rewound]).prompts == fold(remaining).prompts
    assert Fold([*remaining, *rewound]).files == Fold(remaining).files
    known = Fold(remaining)
    # Damage, failed servers, shared output, ends of tasks, tools, late outcomes of calls of it: on any branch.
    lasting = [
        each
        for each in rewound
        if isinstance(each, Repaired | ServerFailed | ShellEnded | TaskEnded | ToolsChanged)
        or (isinstance(each, CallEnded | CallLate) and known.knows_call(each.call))
    ]
    texts = [entry for entry in after if isinstance(entry, PromptAccepted | Repaired)]  # no ids, which are never reused
    assert fold([*remaining, *rewound, *texts]).messages == fold([*remaining, *lasting, *texts]).messages
    assert fold([*remaining, *rewound]).usage == fold([*remaining, *rewound[:-1]]).usage
    assert fold([*remaining, *rewound]).turns == 99


def test_results_that_no_response_followed_are_there_again_after_a_rewind() -> None:
    """The next response empties what was collected for the message before it, which a rewind must not lose."""
    journal: list[Entry] = [*START, ended(1, call("look", "A"), call("wait", "B"))]
    journal += [CallEnded(call=each, outcome="ok", text=f"result {each}") for each in "AB"]
    journal += [TurnEnded(turn=1, reason="cancelled", cause="user")]
    left: list[Entry] = [PromptAccepted(turn=2, text="two"), ended(2, TextPart("b")), PromptAccepted(turn=3, text="so")]
    left += [ended(3, call("look", "C")), CallEnded(call="C", outcome="ok", text="c")]
    assert fold([*journal, *left, Rewound(turn=2)]).messages == fold(journal).messages


def test_what_a_left_branch_has_seen_of_files_was_not_seen() -> None:
    def read(call: str, sha256: str) -> CallEnded:
        return CallEnded(
            call=call, outcome="ok", text="x", snapshots=(FileSeen(path="a.txt", size=1, modified=1, sha256=sha256),)
        )

    journal: list[Entry] = [*START, ended(1, call("read", "A")), read("A", "aa")]
    left: list[Entry] = [PromptAccepted(turn=2, text="two"), ended(2, call("read", "B")), read("B", "bb")]
    branch: list[Entry] = [*left, Rewound(turn=2), PromptAccepted(turn=3, text="three"), Rewound(turn=3)]
    for count in range(len(left), len(branch) + 1):
        seen = Fold([*journal, *branch[:count]]).files["a.txt"][0].sha256
        assert seen == ("bb" if count == len(left) else "aa")


@law()
@given(onwards, st.integers(0, 3), st.integers(0, 2), onwards)
def test_a_compaction_changes_only_older_messages_and_is_undone_whole(
    before: list[Entry], step: int, count: int, after: list[Entry]
) -> None:
    """At every step: what stays is as it was but for signed thinking, and without the note all is as if never cut."""
    journal = [opened, *before]
    note = Compacted(step=step, note="[what was before]", why="asked", user_texts=count)
    was, now = fold(journal).messages, fold([*journal, note]).messages
    assert faults(now) == []
    first, *stays = now
    dropped = len(was) - len(stays) - (1 if len(was) > 0 else 0)
    assert isinstance(first, UserMessage)
    assert first.texts[0] == "[what was before]"
    assert first.results == ()
    replaced = was[dropped] if was else None
    assert first.content[1:] == (replaced.content[count:] if isinstance(replaced, UserMessage) else ())
    for old, new in zip(was[dropped + 1 :], stays, strict=True):
        assert old == new or (isinstance(old, AssistantMessage) and unsigned(old) == new)
    back = [entry for entry in after if isinstance(entry, PromptAccepted | TurnEnded)]
    taken_back = fold([*journal, note, Uncompacted(), *back])
    assert taken_back.messages == fold([*journal, *back]).messages
    assert taken_back.compacted is None
    assert fold([*journal, note, note, Uncompacted()]).messages == now


def unsigned(message: AssistantMessage) -> AssistantMessage:
    """Return the message without thinking that may be bound to what was before it."""
    parts = tuple(part for part in message.parts if not (isinstance(part, ThinkingPart) and part.signature))
    return AssistantMessage(message.model, parts)


@law()
@given(onwards, st.integers(0, 3), onwards)
def test_thinking_signed_behind_a_summary_is_not_sent_without_it(
    before: list[Entry], step: int, after: list[Entry]
) -> None:
    note = Compacted(step=step, note="[what was before]", why="asked")
    conversation = fold([opened, *before, note, *after])
    hidden = len(fold([opened, *before]).messages)
    back = fold([opened, *before, note, *after, Uncompacted()])
    assert faults(back.messages) == []
    for message in back.messages[hidden + 1 :]:
        if isinstance(message, AssistantMessage):
            assert unsigned(message) == message
    assert conversation.messages[1:] == fold([opened, *before, note, *after, note, Uncompacted()]).messages[1:]


def test_a_server_that_failed_opens_the_next_prompt_and_leaves_the_running_turn_as_it_was_sent() -> None:
    failed = ServerFailed(server="trip", reason="it exited", tools=("book",), note="[Note: trip has failed.]")
    journal: list[Entry] = [*START, RequestStarted(step=1, attempt=1, model="openai-chat:m"), failed]
    assert fold(journal).messages == (UserMessage((), ("go",)),)
    journal += [ended(1, TextPart("done")), TurnEnded(turn=1, reason="end_turn", cause="finished")]
    journal += [PromptAccepted(turn=2, text="and now?")]
    assert fold(journal).messages[-1] == UserMessage((), ("[Note: trip has failed.]", "and now?"))
    later = ServerFailed(server="map", reason="it exited", note="[Note: map has failed.]")
    again: list[Entry] = [later, Rewound(turn=2), PromptAccepted(turn=3, text="again")]
    both = ("[Note: trip has failed.]", "[Note: map has failed.]", "again")
    assert fold([*journal, *again]).messages[-1] == UserMessage((), both)


def test_only_the_words_after_a_rewind_are_sent() -> None:
    journal: list[Entry] = [opened, PromptAccepted(turn=1, text="one"), ended(1, TextPart("first"))]
    journal += [TurnEnded(turn=1, reason="end_turn", cause="finished"), PromptAccepted(turn=2, text="two")]
    journal += [ended(2, TextPart("second")), Rewound(turn=2, note="[note]"), PromptAccepted(turn=3, text="three")]
    assert fold(journal).messages == (
        UserMessage((), ("one",)),
        AssistantMessage("openai-chat:m", (TextPart("first"),)),
        UserMessage((), ("[note]", "three")),
    )
    assert [prompt.turn for prompt in fold(journal).prompts] == [1, 3]
    assert fold([*journal, Rewound(turn=2)]).messages == fold(journal).messages, "that one is gone"


def call(name: str, id_: str) -> CallPart:
    return CallPart(id=id_, name=name, arguments="{}")


def ended(step: int, *parts: TextPart | ThinkingPart | CallPart) -> ResponseEnded:
    return ResponseEnded(step=step, model="openai-chat:m", parts=parts, usage=Usage())


START: list[Entry] = [opened, PromptAccepted(turn=1, text="go")]


def test_open_calls_are_answered_with_what_is_known() -> None:
    journal = [*START, ended(1, call("read", "A"), call("bash", "B"), call("bash", "C"))]
    journal += [CallEnded(call="A", outcome="ok", text="found"), CallStarted(call="B", effect="execute")]
    conversation = fold(journal)
    last = conversation.messages[-1]
    assert isinstance(last, UserMessage)
    assert [(result.call, result.outcome) for result in last.results] == [
        ("A", "ok"),
        ("B", "interrupted"),
        ("C", "not_started"),
    ]
    assert "unknown" in last.results[1].text
    assert "no effect" in last.results[2].text
    assert [open_.part.id for open_ in conversation.open_calls] == ["B", "C"]


def test_streamed_text_of_a_dead_process_is_kept() -> None:
    journal = [*START, RequestStarted(step=1, attempt=1, model="openai-chat:m")]
    journal += [ResponseCheckpoint(step=1, text="half "), ResponseCheckpoint(step=1, text="an answer")]
    assert fold(journal).streaming is not None
    journal.append(PromptAccepted(turn=2, text="and now?"))
    assert fold(journal).messages == (
        UserMessage((), ("go",)),
        AssistantMessage("openai-chat:m", (TextPart("half an answer"),)),
        UserMessage((), ("and now?",)),
    )


def test_a_late_outcome_is_sent_with_the_next_prompt_and_the_settled_result_stands() -> None:
    journal = [*START, ended(1, call("bash", "A")), CallStarted(call="A", effect="execute")]
    journal += [
        CallEnded(call="A", outcome="interrupted", text="settled"),
        CallEnded(call="A", outcome="ok", text="42"),
    ]
    journal += [TurnEnded(turn=1, reason="cancelled", cause="user"), PromptAccepted(turn=2, text="so?")]
    last = fold(journal).messages[-1]
    assert isinstance(last, UserMessage)
    assert last.results[0].text == "settled"
    assert last.texts == (model_notices.late("bash", "ok", "42"), "so?")


def test_thinking_of_a_cut_response_is_not_replayed() -> None:
    cut = ResponseEnded(
        step=1, model="anthropic:m", parts=(ThinkingPart("hm"), TextPart("half")), usage=Usage(), cut="user"
    )
    conversation = fold([*START, cut])
    assert conversation.messages[-1] == AssistantMessage("anthropic:m", (TextPart("half"),))


def test_a_user_who_speaks_thrice_is_heard_thrice() -> None:
    journal: list[Entry] = [opened]
    for turn in (1, 2, 3):
        journal += [
            PromptAccepted(turn=turn, text=f"prompt {turn}"),
            TurnEnded(turn=turn, reason="cancelled", cause="user"),
        ]
    assert fold(journal).messages == (UserMessage((), ("prompt 1", "prompt 2", "prompt 3")),)

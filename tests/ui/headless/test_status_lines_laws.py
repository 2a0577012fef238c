"""The laws of `account`: what the user reads about a turn that did not end by itself, live and on resuming."""

from __future__ import annotations

import io

from hypothesis import example, given
from hypothesis import strategies as st

from holdfast.agent.events import Fact
from holdfast.agent.recovery.settle import settle, settle_command
from holdfast.agent.stop_cause import StopCause
from holdfast.questions import older_question
from holdfast.session.conversation.fold import fold
from holdfast.session.journal.entries import (
    ApprovalAnswered,
    ApprovalAsked,
    CallEnded,
    CallStarted,
    Cause,
    Entry,
    PromptAccepted,
    RequestStarted,
    ResponseEnded,
    Rewound,
    ShellStarted,
    TurnEnded,
)
from holdfast.session.journal.parts import CallPart, Usage
from holdfast.session.model_notices import REASONS
from holdfast.ui.headless.output_format import RunOpened
from holdfast.ui.headless.status_lines import last_turn, last_turn_status
from holdfast.ui.headless.text_output import TextOutput
from journals import journals
from laws import law

BASH = CallPart(id="A", name="bash", arguments='{"command": "make test"}')
EDIT = CallPart(id="B", name="edit", arguments='{"path": "a.py"}')
READ = CallPart(id="C", name="read", arguments='{"path": "b.py"}')
LEFT: list[Entry] = [
    PromptAccepted(turn=3, text="go"),
    RequestStarted(step=1, attempt=1, model="m:m"),
    ResponseEnded(step=1, model="m:m", parts=(BASH, EDIT, READ), usage=Usage()),
    CallStarted(call="A", effect="execute"),
    CallEnded(call="A", outcome="failed", text="exit code 2", seconds=2),
    CallStarted(call="B", effect="write"),
]


def shown(*entries: Entry, before: tuple[Entry, ...] = ()) -> list[str]:
    """Return what a run says on standard error of these facts, after its first line."""
    err = io.StringIO()
    output = TextOutput(io.StringIO(), err, on_closed=lambda _: None)
    output.begin(
        RunOpened(session="s", model="m:m", mode="ask", cwd="/", tools=(), resumed=bool(before), last_turn=before)
    )
    for seq, entry in enumerate(entries, 1):
        output.event(Fact(seq, entry))
    output.close(None)
    return err.getvalue().splitlines()[1:]


def ended(cause: Cause) -> tuple[Entry, ...]:
    """Return what is journalled when the turn is left."""
    return settle(fold(LEFT), StopCause(cause))


def test_a_crash_is_reported_alike_when_it_is_found_and_when_the_session_is_resumed_again() -> None:
    found = shown(*ended("crash"), before=tuple(LEFT))
    assert found == shown(before=(*LEFT, *ended("crash")))[1:]
    assert last_turn_status([*LEFT, *ended("crash")])[1:] == tuple(found)
    interrupted, not_started, turn = found
    assert interrupted.startswith("◐ edit a.py interrupted: holdfast's process ended without recording why")
    assert interrupted.endswith("Check before you run it again.")
    assert not_started.startswith("○ read b.py not started: holdfast's process ended")
    assert turn.startswith("Turn interrupted: holdfast's process ended without recording why")


def test_an_open_command_of_the_user_is_reported_by_its_words() -> None:
    started = ShellStarted(id="s-s9", command="make deploy", shared=False)
    (line,) = shown(
        settle_command(started, StopCause("crash", "still running, and ended now: make (7)")), before=(started,)
    )
    assert line.startswith("◐ ! make deploy interrupted: holdfast's process ended")
    assert "ended now: make (7)" in line


def test_a_stop_is_reported_with_what_had_finished() -> None:
    failed, interrupted, not_started, turn = last_turn_status([*LEFT, *ended("user")])
    assert failed == "✗ bash make test (2.0 s) failed: exit code 2"
    assert interrupted.startswith("◐ edit a.py interrupted: the user stopped the turn while this call was running.")
    assert not_started == "○ read b.py not started: the user stopped the turn before this call began. It had no effect."
    assert turn == "Turn ended: you stopped the turn"


def test_a_call_that_waited_for_approval_says_so() -> None:
    entries = (*LEFT[:4], LEFT[4], ApprovalAsked(call="B", question=older_question("B", "It writes.")))
    _, edit, _, turn = last_turn_status([*entries, *settle(fold(entries), StopCause("approval", "edit a.py"))])
    assert edit == "○ edit a.py needs approval; not run. Use -y, which runs everything"
    assert turn == "Turn ended: a call needed your approval and you were not there to give it (edit a.py)"


def test_a_turn_that_was_rewound_is_not_reported() -> None:
    journal = [PromptAccepted(turn=1, text="first"), *LEFT, *ended("user"), Rewound(turn=3)]
    assert last_turn_status(journal) == ()
    assert last_turn_status(last_turn(journal)) == ()


def test_a_call_that_was_allowed_and_did_not_begin_needs_no_approval() -> None:
    entries = [
        *LEFT,
        ApprovalAsked(call="C", question=older_question("C", "It reads.")),
        ApprovalAnswered(call="C", allowed=True),
    ]
    *_, read, _ = last_turn_status([*entries, *settle(fold(entries), StopCause("crash"))])
    assert read.startswith("○ read b.py not started: holdfast's process ended")


@law()
@given(journals, st.sampled_from(sorted(REASONS)))
@example(LEFT, "user")
@example([PromptAccepted(turn=1, text="go")], "finished")
def test_every_call_that_was_open_is_reported_once_in_the_words_shown_live(journal: list[Entry], cause: Cause) -> None:
    before = fold(journal)
    left = settle(before, StopCause(cause))
    lines = last_turn_status([*journal, *left])
    if not any(isinstance(entry, TurnEnded) for entry in left):
        return
    if cause == "finished":
        assert lines == ()
        return
    assert len(lines) >= len(before.open_calls) + 1
    live = shown(*journal, *left)
    assert [line for line in lines[:-1] if line not in live] == []
    assert lines[-1].startswith("Turn ")
    for call in before.open_calls:
        (outcome,) = [entry for entry in left if isinstance(entry, CallEnded) and entry.call == call.part.id]
        fate = outcome.outcome.replace("_", " ")
        assert any(fate in line or (fate == "not started" and "needs approval; not run" in line) for line in lines)


@given(journals)
def test_a_turn_that_ended_by_itself_or_has_no_end_leaves_nothing_to_tell(journal: list[Entry]) -> None:
    assert last_turn_status([*journal, PromptAccepted(turn=9, text="go")]) == ()
    assert last_turn_status([*journal, TurnEnded(turn=9, reason="end_turn", cause="finished")]) == ()

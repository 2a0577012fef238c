"""The status line: exactly as wide as the screen whatever it tells, and true of what was heard."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from rich.cells import cell_len

from holdfast.agent.events import Fact, LiveText
from holdfast.session.entries import (
    Entry,
    ModelChanged,
    PromptAccepted,
    Queued,
    Recalled,
    RequestFailed,
    ResponseEnded,
    Rewound,
    SessionOpened,
    Steered,
    TextPart,
    Usage,
)
from holdfast.text import printable
from holdfast.ui.tui.known import STOPPING, Known
from holdfast.ui.tui.status import Status, duration, line, tokens

STATUSES = st.builds(
    Status,
    mode=st.sampled_from(["ask", "accept-edits", "plan", "yolo"]),
    model=st.text(max_size=60),
    doing=st.text(max_size=60),
    asking=st.booleans(),
    seconds=st.floats(0, 1e6),
    queued=st.integers(0, 12),
    context=st.integers(0, 2_000_000),
    window=st.integers(0, 2_000_000),
    branch=st.text(max_size=40),
    usage=st.builds(Usage, input_tokens=st.integers(0, 10**9), cost=st.sampled_from([None, "0", "12.3456"])),
)


@given(STATUSES, st.integers(1, 220), st.integers(0, 10**6))
def test_the_line_fits(status: Status, width: int, frame: int) -> None:
    """Not a cell more or less than there is room for, on one line, without anything a terminal acts on."""
    said = line(status, width, frame=frame).plain
    assert cell_len(said) == width
    assert printable(said) == said
    assert "\n" not in said


def test_what_says_least_goes_first() -> None:
    """In a narrow window the model is still there, the branch is not."""
    status = Status(mode="ask", model="anthropic:claude", branch="main", context=12_000, window=200_000)
    assert "main" in line(status, 120).plain
    assert "context 12.0k (6 %)" in line(status, 120).plain
    narrow = line(status, 60).plain
    assert "anthropic:claude" in narrow
    assert "main" not in narrow


@pytest.mark.parametrize(
    ("count", "said"), [(0, "0"), (999, "999"), (1_000, "1.0k"), (123_456, "123k"), (2_500_000, "2.5M")]
)
def test_tokens(count: int, said: str) -> None:
    assert tokens(count) == said


@pytest.mark.parametrize(("seconds", "said"), [(0.4, "0 s"), (59.9, "59 s"), (61, "1 min 01 s"), (3_660, "1 h 01 min")])
def test_durations(seconds: float, said: str) -> None:
    assert duration(seconds) == said


def known(*entries: Entry, doing: str = "") -> Known:
    held = Known(Status(mode="ask", doing=doing))
    for seq, entry in enumerate(entries, 1):
        held.take(Fact(seq, entry))
    return held


def test_what_waits_is_counted_until_it_is_sent_or_taken_back() -> None:
    held = known(
        Queued(id="q1", text="a", when="steer"),
        Queued(id="q2", text="b", when="later"),
        Queued(id="q3", text="c", when="later"),
        Steered(queued="q1", text="a"),
        Recalled(queued="q3"),
    )
    assert held.queued == {"q2": "b"}
    assert held.status.queued == 1
    held.take(Fact(6, PromptAccepted(turn=2, text="b", queued="q2")))
    assert held.status.queued == 0


def test_prompts_are_those_of_the_conversation() -> None:
    """What was gone back to before is no prompt any more."""
    prompts = [PromptAccepted(turn=turn, text=f"p{turn}") for turn in (1, 2, 3)]
    held = known(*prompts, Rewound(turn=2), PromptAccepted(turn=4, text="again"))
    assert held.prompts == {1: "p1", 4: "again"}


def test_what_is_being_done() -> None:
    """As of the last event, until a stop was asked for."""
    failed = RequestFailed(step=1, attempt=1, fault="rate_limited", message="", status=429, retry_in=4.0, attempts=3)
    assert known(failed, doing="working").status.doing == "retrying 2/3 in 4 s: 429"
    stopping = known(doing=STOPPING)
    stopping.take(LiveText(1, "more"))
    assert stopping.status.doing == STOPPING
    idle = known()
    idle.take(LiveText(1, "more"))
    assert idle.status.doing == ""


def test_usage_adds_up_and_the_context_is_what_would_be_sent_now() -> None:
    def ended(step: int, tokens_in: int) -> ResponseEnded:
        usage = Usage(input_tokens=tokens_in, output_tokens=10, cost="0.01")
        return ResponseEnded(step=step, model="a:b", parts=(TextPart("x"),), usage=usage)

    start = SessionOpened(session="s", cwd="/", model="a:b", system="S" * 4000, tools=(), version="0")
    journal: list[Entry] = [start, PromptAccepted(turn=1, text="go"), ended(1, 1200)]
    journal += [PromptAccepted(turn=2, text="p" * 400), ended(2, 1320), Rewound(turn=2), ModelChanged(model="c:d")]
    held = known(*journal[:4])
    assert held.status.context == 1200 + 5 + 104, "the answer and the prompt that followed it"
    held.take(Fact(5, journal[4]))
    assert (held.status.usage.input_tokens, held.status.usage.cost, held.status.context) == (2520, "0.02", 1325)
    held.take(Fact(6, journal[5]))
    assert held.status.context == 1205
    held.take(Fact(7, journal[6]))
    assert (held.status.model, held.status.context) == ("c:d", 1000 + 5 + 5), "which has counted nothing yet"
    anew = Known(Status(mode="ask"))
    anew.load([Fact(seq, entry) for seq, entry in enumerate(journal, 1)])
    assert anew.status.context == held.status.context

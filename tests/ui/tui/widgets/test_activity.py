"""What a turn is doing, and how long until a request is sent again."""

from __future__ import annotations

from holdfast.agent.events import Fact, LiveText
from holdfast.session.journal.entries import CallStarted, RequestFailed, TurnEnded
from holdfast.ui.tui.widgets.activity import WORKING, TurnProgress, retry
from holdfast.ui.tui.widgets.status_line import Status
from holdfast.ui.tui.widgets.work_list import queue_text


def test_a_retry_counts_down() -> None:
    failed = RequestFailed(step=1, attempt=1, fault="rate_limited", message="", status=429, retry_in=7.0, attempts=4)
    waits = retry(Fact(1, failed), 100.0)
    assert waits is not None
    texts = [waits.text(now) for now in (100.0, 103.5, 106.9, 107.0, 200.0)]
    assert texts == [f"429; retry 2 of 4 in {left} s" for left in (7, 4, 1, 0, 0)]
    older = RequestFailed(step=1, attempt=2, fault="no_answer", message="", retry_in=0.5)
    waits = retry(Fact(1, older), 0.0)
    assert waits is not None
    assert waits.text(0.0) == "no answer; retry 3 in 1 s"


def test_what_is_not_sent_again_is_no_retry() -> None:
    assert retry(Fact(1, RequestFailed(step=1, attempt=1, fault="x", message="")), 0.0) is None
    assert retry(LiveText(1, "x"), 0.0) is None


def test_a_command_that_outlives_its_turn_is_worked_at() -> None:
    progress = TurnProgress()
    status = progress.began(Status(mode="ask"), 0.0)
    status = progress.happened(Fact(1, CallStarted(call="c", effect="execute")), status, 1.0)
    assert status.doing == "running"
    status = progress.happened(Fact(2, TurnEnded(turn=1, reason="end_turn", cause="finished")), status, 2.0)
    assert status.doing == WORKING


def test_the_queue_has_a_line_for_each_message() -> None:
    assert queue_text(["one\ntwo", "three"]).plain == "↳ one two\n↳ three"
    assert queue_text([str(number) for number in range(9)]).plain == "↳ 0\n↳ 1\n↳ 2\n  … 6 more"
    assert queue_text([]).plain == ""

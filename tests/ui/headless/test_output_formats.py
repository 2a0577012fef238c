from __future__ import annotations

import io
import json

import pytest
from msgspec.structs import replace

from holdfast.agent.events import Fact, LiveCall, LiveOutput, LiveText, LiveThinking, NotRecorded
from holdfast.errors import EXIT_APPROVAL, EXIT_FAILED, EXIT_INTERRUPTED, EXIT_OK, EXIT_RETRYABLE, ProviderFault
from holdfast.session.conversation.fold import fold
from holdfast.session.journal.entries import (
    CallEnded,
    CallStarted,
    Cause,
    PromptAccepted,
    Repaired,
    RequestFailed,
    ResponseEnded,
    SessionOpened,
    TurnEnded,
)
from holdfast.session.journal.parts import CallPart, TextPart, Usage
from holdfast.session.model_notices import REASONS
from holdfast.ui.headless.json_output import JsonOutput, StreamJsonOutput
from holdfast.ui.headless.output_format import RunEnded, RunOpened
from holdfast.ui.headless.text_output import TextOutput
from holdfast.ui.headless.turn_end import exit_code
from holdfast.ui.view.sentences import call_line

OPENED = RunOpened(session="s1", model="openai-chat:m", mode="ask", cwd="/w", tools=("read",), resumed=False)
HOSTILE = "\x1b]52;c;ZXZpbA==\x07\x1b[2J\u202eevil\u2028line"


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


class ClosedOutput(io.StringIO):
    def write(self, text: str) -> int:
        raise BrokenPipeError(text)


def ended(cause: Cause = "finished", code: int = 0) -> RunEnded:
    journal = [
        SessionOpened(session="s1", cwd="/w", model="openai-chat:m", system="S", tools=(), version="0"),
        PromptAccepted(turn=1, text="go"),
        ResponseEnded(step=1, model="openai-chat:m", parts=(TextPart("the answer"),), usage=Usage(input_tokens=3)),
    ]
    turn = TurnEnded(turn=1, reason=REASONS[cause], cause=cause, detail="4 s")
    return RunEnded(turn=turn, conversation=fold(journal), exit_code=code)


def never(why: str) -> None:
    raise AssertionError(why)


def test_a_pipe_gets_the_final_answer_alone_and_what_happened_goes_to_stderr() -> None:
    out, err = io.StringIO(), io.StringIO()
    output = TextOutput(out, err, on_closed=never)
    output.begin(OPENED)
    output.event(LiveText(1, "thinking aloud"))
    call = CallPart(id="A", name="bash", arguments='{"command": "make test"}')
    output.event(Fact(3, ResponseEnded(step=1, model="m:m", parts=(call,), usage=Usage())))
    output.event(Fact(4, CallStarted(call="A", effect="execute")))
    output.event(Fact(5, CallEnded(call="A", outcome="failed", text="exit code 2\nmore", seconds=3.2)))
    failure = RequestFailed(
        step=2, attempt=1, fault="overloaded", message="Busy.", status=529, retry_in=4.0, attempts=3
    )
    output.event(Fact(6, failure))
    silence = RequestFailed(
        step=2, attempt=2, fault="silent", message="Nothing.", retry_in=8.0, attempts=3, retry_unstreamed=True
    )
    output.event(Fact(6, silence))
    output.event(Fact(7, Repaired(findings=("Entry 3 is missing.",))))
    output.event(NotRecorded("The disk is full. Free some space."))
    output.end(ended("timeout"))
    output.close(None)
    assert out.getvalue() == "the answer\n"
    assert err.getvalue().splitlines() == [
        "session s1 (new) · openai-chat:m · ask",
        "→ bash make test",
        "✗ bash make test (3.2 s) failed: exit code 2",
        "Attempt 1/3 failed (529 overloaded); retrying in 4 s.",
        "Attempt 2/3 failed (silent); retrying in 8 s without streaming.",
        "damage found: Entry 3 is missing.",
        "The disk is full. Free some space.",
        "Turn ended: the turn reached its time limit of 4 s",
    ]


def test_a_terminal_sees_the_text_stream_and_nothing_it_would_act_on() -> None:
    out, err = Terminal(), Terminal()
    output = TextOutput(out, err, on_closed=never)
    output.begin(OPENED)
    output.event(LiveText(1, "Hel"))
    output.event(LiveText(1, "lo" + HOSTILE))
    output.end(ended())
    output.close(None)
    assert out.getvalue().startswith("Hello")
    assert "\x1b" not in out.getvalue()
    assert "\u202e" not in out.getvalue()
    assert out.getvalue().endswith("\n")


def test_a_command_is_shown_as_it_is_run() -> None:
    err = Terminal()
    output = TextOutput(Terminal(), err, on_closed=never)
    call = CallPart(id="A", name="bash", arguments=json.dumps({"command": "true \x1b]; rm -rf ~ #\x07"}))
    output.event(Fact(3, ResponseEnded(step=1, model="m:m", parts=(call,), usage=Usage())))
    output.event(Fact(4, CallStarted(call="A", effect="execute")))
    output.event(Fact(5, CallEnded(call="A", outcome="failed", text="\x1b[31mred\x1b[0m\nmore")))
    approval = TurnEnded(turn=1, reason="cancelled", cause="approval", detail="run \x1b[; ./x")
    output.end(replace(ended(), turn=approval))
    output.close(None)
    started, failed, end = err.getvalue().splitlines()
    assert started == "→ bash true \\x1b]; rm -rf ~ #\\x07"
    assert failed.endswith("failed: red")
    assert end.endswith("(run \\x1b[; ./x)")


def test_a_reader_that_goes_away_is_noticed_once() -> None:
    noticed: list[str] = []
    output = TextOutput(ClosedOutput(), io.StringIO(), on_closed=noticed.append)
    output.end(ended())
    output.end(ended())
    assert output.close(None) == ""
    assert noticed == ["the reader has closed it"]


def test_stream_json_is_one_ascii_object_a_line() -> None:
    out = io.StringIO()
    output = StreamJsonOutput(out, on_closed=never)
    output.begin(OPENED)
    call = CallPart(id="A", name="read", arguments='{"path": "a"}')
    for event in (
        Fact(2, PromptAccepted(turn=1, text=HOSTILE)),
        LiveText(1, HOSTILE),
        LiveThinking(1, "hm"),
        LiveCall(1, 0, "read", '{"pa'),
        Fact(3, ResponseEnded(step=1, model="m:m", parts=(TextPart("t"), call), usage=Usage())),
        Fact(4, CallStarted(call="A", effect="read")),
        LiveOutput("A", "x"),
        Fact(5, CallEnded(call="A", outcome="ok", text="found")),
        Fact(6, TurnEnded(turn=1, reason="error", cause="crash")),
    ):
        output.event(event)
    output.end(ended())
    output.close(None)
    lines = out.getvalue().split("\n")
    assert lines.pop() == ""
    assert out.getvalue().isascii()
    objects = [json.loads(line) for line in lines]
    assert [line["type"] for line in objects] == [
        "init", "message", "message", "thinking", "tool_use", "message", "tool_use",
        "tool_start", "tool_output", "tool_result", "recovered", "result",
    ]  # fmt: skip
    assert objects[1]["content"] == HOSTILE


def test_calls_of_a_cut_response_are_not_told_as_calls() -> None:
    out = io.StringIO()
    output = StreamJsonOutput(out, on_closed=never)
    call = CallPart(id="A", name="read", arguments="{}")
    output.event(Fact(3, ResponseEnded(step=1, model="m:m", parts=(call,), usage=Usage(), cut="max_tokens")))
    output.close(None)
    assert out.getvalue() == ""


def test_json_is_one_object_at_the_end() -> None:
    out = io.StringIO()
    output = JsonOutput(out, on_closed=never)
    output.begin(OPENED)
    output.event(LiveText(1, "half"))
    output.end(ended("approval", 3))
    output.close(None)
    result = json.loads(out.getvalue())
    assert result["result"] == "the answer"
    assert (result["stop_reason"], result["cause"], result["exit_code"], result["is_error"]) == (
        "cancelled",
        "approval",
        3,
        True,
    )


@pytest.mark.parametrize(
    ("cause", "fault", "code"),
    [
        ("finished", None, EXIT_OK),
        ("user", None, EXIT_INTERRUPTED),
        ("signal", None, EXIT_INTERRUPTED),
        ("output", None, EXIT_INTERRUPTED),
        ("approval", None, EXIT_APPROVAL),
        ("timeout", None, EXIT_FAILED),
        ("max_steps", None, EXIT_FAILED),
        ("storage", None, EXIT_FAILED),
        ("provider", "overloaded", EXIT_RETRYABLE),
        ("provider", "rejected", EXIT_FAILED),
        ("timeout", "overloaded", EXIT_FAILED),
    ],
)
def test_exit_codes(cause: Cause, fault: ProviderFault | None, code: int) -> None:
    assert exit_code(TurnEnded(turn=1, reason=REASONS[cause], cause=cause), fault) == code


def test_a_call_is_one_line_for_the_user() -> None:
    assert call_line(CallPart(id="A", name="bash", arguments='{"command": "a\\n  b"}')) == "bash a b"
    assert call_line(CallPart(id="A", name="read", arguments='{"path": "x", "limit": 3}')) == "read x"
    assert call_line(CallPart(id="A", name="odd", arguments="{")) == "odd {"
    assert len(call_line(CallPart(id="A", name="bash", arguments=json.dumps({"command": "x" * 999})))) < 120

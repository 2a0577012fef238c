"""What blocks a session gives: each thing that happens, told as what it is."""

from __future__ import annotations

import pytest
from msgspec.structs import replace

from holdfast.agent.events import CheckFinding, Fact, LiveCall, LiveOutput, LiveText, LiveThinking, NotRecorded
from holdfast.questions import older_question
from holdfast.session.journal.entries import (
    ApprovalAnswered,
    ApprovalAsked,
    CallEnded,
    CallLate,
    CallStarted,
    Entry,
    ModelChanged,
    PromptAccepted,
    Pruned,
    Repaired,
    RequestFailed,
    RequestStarted,
    ResponseCheckpoint,
    ResponseEnded,
    ServerFailed,
    TurnEnded,
)
from holdfast.session.journal.parts import TextPart, ThinkingPart, Usage
from holdfast.ui.view.block_list import PRINTED
from holdfast.ui.view.blocks import (
    AnswerBlock,
    Block,
    CallBlock,
    CallState,
    Note,
    Thinking,
    TurnEnd,
    UserBlock,
)
from holdfast.ui.view.edit_changes import EditChange
from holdfast.ui.view.view import View
from transcript_scenes import Script, busy_day, call, viewed


def view_of(*entries: Entry) -> View:
    view = View()
    for seq, entry in enumerate(entries, 1):
        view.take(Fact(seq, entry))
    return view


def only_call(view: View) -> CallBlock:
    [block] = [block for block in view.blocks() if isinstance(block, CallBlock)]
    return block


def last(view: View) -> Block:
    return view.blocks()[-1]


def test_a_busy_day_is_shown_in_order() -> None:
    kinds = [type(block).__name__ for block in viewed(busy_day()).blocks()]
    first = ["Note", "UserBlock", "Thinking", "AnswerBlock", *["CallBlock"] * 5, "Note", "CallBlock", "CallBlock"]
    assert kinds[:12] == first
    assert kinds[12:] == [
        "AnswerBlock",
        "TurnEnd",
        "Note",  # what happened in the turn
        "UserBlock",
        "Thinking",
        "AnswerBlock",
        "TurnEnd",
        "UserBlock",
        "AnswerBlock",
        "CallBlock",
    ]


def test_streamed_text_is_one_answer_that_keeps_its_key() -> None:
    view = view_of(PromptAccepted(turn=1, text="hi"), RequestStarted(step=1, attempt=1, model="m"))
    keys = [view.take(LiveText(1, text)) for text in ("One ", "two", "\n")]
    assert keys[0] == keys[1] == keys[2]
    assert last(view) == AnswerBlock(key=next(iter(keys[0])), text="One two\n", state="live")
    view.take(Fact(3, ResponseEnded(step=1, model="m", parts=(TextPart("One two"),), usage=Usage())))
    assert last(view) == AnswerBlock(key=next(iter(keys[0])), text="One two", state="done")


def test_white_space_alone_is_no_answer() -> None:
    view = view_of(RequestStarted(step=1, attempt=1, model="m"))
    assert view.take(LiveText(1, "\n\n")) == frozenset()
    view.take(LiveText(1, "Now."))
    assert [block.text for block in view.blocks() if isinstance(block, AnswerBlock)] == ["\n\nNow."]


def test_white_space_that_came_live_is_not_added_to_what_the_answer_was() -> None:
    view = view_of(RequestStarted(step=1, attempt=1, model="m"))
    view.take(LiveText(1, "\n\n"))
    view.take(Fact(2, ResponseEnded(step=1, model="m", parts=(TextPart("Now."),), usage=Usage())))
    assert last(view) == AnswerBlock(key="1.answer0", text="Now.", state="done")


def test_thinking_is_timed_while_it_is_seen_and_stands_before_the_answer() -> None:
    view = view_of(RequestStarted(step=1, attempt=1, model="m"))
    view.take(LiveThinking(1, "Hm"), at=10.0)
    assert last(view) == Thinking(key="1.thinking0", text="Hm", live=True, since=10.0)
    view.take(LiveText(1, "So."), at=22.0)
    thinking, answer = view.blocks()
    assert thinking == Thinking(key="1.thinking0", text="Hm", seconds=12.0)
    assert isinstance(answer, AnswerBlock)
    view.take(Fact(2, ResponseEnded(step=1, model="m", parts=(ThinkingPart("Hm."), TextPart("So.")), usage=Usage())))
    assert view.blocks()[0] == Thinking(key="1.thinking0", text="Hm.", seconds=12.0)


def test_a_call_goes_its_way() -> None:
    view = view_of(RequestStarted(step=1, attempt=1, model="m"))
    states: list[CallState] = []

    def note() -> CallBlock:
        block = only_call(view)
        states.append(block.state)
        return block

    view.take(LiveCall(1, 0, "bash", '{"comm'))
    view.take(LiveCall(1, 0, "", 'and": "make \\"all\\"'))
    assert note().title == 'bash make "all"'
    part = call("c", "bash", command='make "all"')
    view.take(Fact(2, ResponseEnded(step=1, model="m", parts=(part,), usage=Usage())))
    assert note().title == 'bash make "all"'
    view.take(Fact(3, ApprovalAsked(call="c", question=older_question("c", "run it?"))))
    assert note().question == "run it?"
    view.take(Fact(4, ApprovalAnswered(call="c", allowed=True)))
    note()
    view.take(Fact(5, CallStarted(call="c", effect="execute")), at=3.0)
    view.take(LiveOutput("c", "one\n"))
    view.take(LiveOutput("c", "two\n"))
    assert (note().output, only_call(view).since) == ("one\ntwo\n", 3.0)
    view.take(Fact(6, CallEnded(call="c", outcome="ok", text="one\ntwo", seconds=1.5)))
    assert (note().result, only_call(view).output, only_call(view).seconds) == ("one\ntwo", "", 1.5)
    assert states == ["writing", "ready", "waiting", "ready", "running", "ok"]
    assert [block.key for block in view.blocks()] == ["1.call0"]


@pytest.mark.parametrize("outcome", ["ok", "failed", "denied", "not_started", "interrupted"])
def test_each_outcome_is_shown_as_what_it_is(outcome: CallState) -> None:
    view = view_of(
        ResponseEnded(step=1, model="m", parts=(call("c", "bash", command="x"),), usage=Usage()),
        CallEnded(call="c", outcome=outcome, text="said"),  # pyright: ignore[reportArgumentType] - one of the five
    )
    assert (only_call(view).state, only_call(view).result) == (outcome, "said")


def test_a_call_has_one_fate() -> None:
    view = view_of(
        ResponseEnded(step=1, model="m", parts=(call("c", "bash", command="x"),), usage=Usage()),
        CallEnded(call="c", outcome="interrupted", text="unknown"),
        CallEnded(call="c", outcome="ok", text="no"),
        CallLate(call="c", outcome="ok", text="done after all"),
    )
    assert only_call(view).state == "interrupted"
    assert last(view) == Note(
        key="4.late", kind="late", text="bash x: ok after its turn had ended", detail="done after all"
    )


def test_a_call_that_the_journal_does_not_have_is_said_to_be_none() -> None:
    view = view_of(CallEnded(call="x", outcome="ok", text="y"))
    assert only_call(view).title == "a call that is not in the journal (x)"


def test_calls_of_a_cut_response_were_not_started() -> None:
    parts = (TextPart("I will"), call("c", "bash", command="x"))
    view = view_of(ResponseEnded(step=1, model="m", parts=parts, usage=Usage(), cut="max_tokens"))
    answer, block = view.blocks()
    assert isinstance(answer, AnswerBlock)
    assert answer.state == "cut", "it says so itself, and the end of its turn says why"
    assert isinstance(block, CallBlock)
    assert block.state == "not_started"


def test_a_cut_response_without_a_word_is_said_to_be_cut() -> None:
    view = view_of(
        ResponseEnded(step=1, model="m", parts=(call("c", "bash", command="x"),), usage=Usage(), cut="max_tokens")
    )
    _, note = view.blocks()
    assert note == Note(
        key="1.cut1", kind="cut", text="The response was cut off: the response reached the output limit."
    )


def test_a_stop_cuts_what_streams_and_says_why() -> None:
    view = view_of(PromptAccepted(turn=1, text="go"), RequestStarted(step=1, attempt=1, model="m"))
    view.take(LiveText(1, "Half of"))
    view.take(LiveCall(1, 1, "bash", '{"command": "ls'))
    view.take(Fact(3, ResponseCheckpoint(step=1, text="Half of")))
    view.take(Fact(4, TurnEnded(turn=1, reason="cancelled", cause="user")))
    prompt, answer, call, end = view.blocks()
    assert isinstance(prompt, UserBlock)
    assert answer == AnswerBlock(key="2.answer0", text="Half of", state="cut")
    assert isinstance(call, CallBlock)
    assert (call.state, call.title) == ("not_started", "bash ls")
    assert end == TurnEnd(
        key="4.end", turn=1, reason="cancelled", cause="user", text="Turn ended: you stopped the turn"
    )


def test_a_turn_that_ends_by_itself_says_nothing() -> None:
    end = last(view_of(TurnEnded(turn=1, reason="end_turn", cause="finished")))
    assert isinstance(end, TurnEnd)
    assert end.text == ""


def test_what_a_crash_cut_off_is_there_once_when_the_session_goes_on() -> None:
    """It is shown as cut when the session is read, and no second time when the crash is settled."""
    cut = ResponseEnded(step=1, model="m", parts=(TextPart("I begin."),), usage=Usage(), cut="crash")
    end = TurnEnded(turn=1, reason="error", cause="crash")
    left = [
        PromptAccepted(turn=1, text="go"),
        RequestStarted(step=1, attempt=1, model="m"),
        ResponseCheckpoint(step=1, text="I begin.", thinking=""),
    ]
    facts = [Fact(seq, entry) for seq, entry in enumerate([*left, cut, end], start=1)]
    view, loaded = View(), View()
    view.load(facts[:3])
    assert [block.text for block in view.blocks() if isinstance(block, AnswerBlock)] == ["I begin."]
    for fact in facts[3:]:
        view.take(fact)
    loaded.load(facts)
    assert view.blocks() == loaded.blocks()


def test_why_a_request_failed_is_said_once() -> None:
    failed = RequestFailed(step=1, attempt=1, fault="auth", message="no key")
    over = TurnEnded(turn=1, reason="error", cause="provider", detail="no key")
    end, alone = last(view_of(failed, over)), last(view_of(over))
    assert isinstance(end, TurnEnd)
    assert end.text
    assert "no key" not in end.text
    assert isinstance(alone, TurnEnd)
    assert "no key" in alone.text


def test_a_retry_a_failure_damage_and_another_model_are_notes() -> None:
    view = view_of(
        RequestStarted(step=1, attempt=1, model="m"),
        RequestFailed(
            step=1, attempt=1, fault="rate_limit", message="slow down", retry_in=2.5, attempts=4, retry_unstreamed=True
        ),
        RequestStarted(step=1, attempt=2, model="m"),
        RequestFailed(step=1, attempt=2, fault="auth", message="no key"),
        Repaired(findings=("Entry 3 is damaged.",), note="[Some of it is lost.]"),
        ModelChanged(model="anthropic:x"),
    )
    view.take(NotRecorded("The disk is full."))
    view.take(CheckFinding("Rule broken."))
    assert [(block.kind, block.text) for block in view.blocks() if isinstance(block, Note)] == [
        ("retry", "Attempt 1/4 failed (rate limit); retrying in 2.5 s without streaming."),
        ("failed", "Request failed (auth): no key"),
        ("damage", "Entry 3 is damaged."),
        ("repaired", "[Some of it is lost.]"),
        ("model", "Model switched to anthropic:x."),
        ("trouble", "The disk is full."),
        ("trouble", "Rule broken."),
    ]


def test_a_server_that_failed_is_a_note_with_the_reason_and_the_tools_it_costs() -> None:
    view = view_of(
        ServerFailed(server="trip", reason="it exited\nwith status 3.", tools=("mcp__trip__book", "mcp__trip__pay")),
        ServerFailed(server="map", reason="it did not answer for 30 s"),
    )
    assert [(block.kind, block.text, block.detail) for block in view.blocks() if isinstance(block, Note)] == [
        (
            "server",
            "MCP server trip failed: it exited with status 3. Its 2 tools cannot be called now.",
            "mcp__trip__book, mcp__trip__pay",
        ),
        ("server", "MCP server map failed: it did not answer for 30 s.", ""),
    ]


def test_pruned_calls_are_reported_in_one_line() -> None:
    view = view_of(Pruned(outputs={"a": ""}, saved=20_480), Pruned(outputs={"a": "", "b": ""}, saved=34_000))
    one, two = (block.text for block in view.blocks() if isinstance(block, Note))
    assert one.startswith("From here on the model gets a shortened output of 1 call (saves about 20,480 tokens).")
    assert " of 2 calls (" in two
    assert "\n" not in two


PATCH = """*** Begin Patch
*** Update File: a.py
*** Move to: b.py
@@
 x
-y
+Y
@@
-z
+Z
*** Add File: c.py
+c
*** Delete File: d.py
*** End Patch"""


def test_an_edit_and_a_file_written_whole_carry_their_change() -> None:
    parts = (
        call("a", "edit", path="x.py", old="a\n", new="b\n", all=True),
        call("b", "write", path="y.py", content="c\n"),
        call("c", "edit", path="x.py"),
        call("e", "Edit", file_path="x.py", old_string="a", new_string="b"),
        call("f", "apply_patch", input=PATCH),
        call("g", "apply_patch", input="*** Begin Patch"),
        call("d", "edit", path="z.py", edits=[{"old": "a", "new": "b"}, {"old": "c", "new": "d"}]),
    )
    view = view_of(ResponseEnded(step=1, model="m", parts=parts, usage=Usage()))
    assert [block.edits for block in view.blocks() if isinstance(block, CallBlock)] == [
        (EditChange(path="x.py", old="a\n", new="b\n", everywhere=True),),
        (EditChange(path="y.py", old=None, new="c\n"),),
        (),
        (EditChange(path="x.py", old="a", new="b"),),
        (
            EditChange(path="a.py", old="x\ny\n…\nz", new="x\nY\n…\nZ", how="moved to b.py"),
            EditChange(path="c.py", old=None, new="c\n", how="created"),
            EditChange(path="d.py", old="", new="", how="deleted"),
        ),
        (),
        (EditChange(path="z.py", old="a\n…\nc", new="b\n…\nd"),),
    ]


def test_a_patch_is_titled_by_its_files() -> None:
    more = "*** Add File: e.py\n+e\n*** End Patch"
    parts = (
        call("a", "apply_patch", input=PATCH),
        call("b", "apply_patch", input=PATCH.replace("*** End Patch", more)),
    )
    view = view_of(ResponseEnded(step=1, model="m", parts=parts, usage=Usage()))
    assert [block.title for block in view.blocks() if isinstance(block, CallBlock)] == [
        "apply_patch a.py, c.py, d.py",
        "apply_patch a.py, c.py, d.py and 1 more",
    ]


def test_a_session_read_from_its_journal_is_at_rest() -> None:
    script = Script()
    script.prompt("go")
    script.response(TextPart("On it."), call("c", "bash", command="x"), call("d", "bash", command="y"))
    script.fact(CallStarted(call="c", effect="execute"))
    script.fact(ApprovalAsked(call="d", question=older_question("d", "run: y")))
    step = script.request()
    script.fact(ResponseCheckpoint(step=step, text="Half", thinking="Hm"))
    view = View()
    view.load(script.events)
    calls = [block for block in view.blocks() if isinstance(block, CallBlock)]
    assert [block.state for block in calls] == ["lost", "waiting"]
    assert last(view) == AnswerBlock(key="6.answer0", text="Half", state="cut")
    view.take(Fact(90, CallEnded(call="c", outcome="interrupted", text="Effect unknown.")))
    assert view.block(calls[0].key) == replace(calls[0], state="interrupted", result="Effect unknown.", seconds=0.0)


def test_what_a_command_prints_is_bounded() -> None:
    view = view_of(
        ResponseEnded(step=1, model="m", parts=(call("c", "bash", command="yes"),), usage=Usage()),
        CallStarted(call="c", effect="execute"),
    )
    for number in range(500):
        view.take(LiveOutput("c", f"{number}" * 1000))
    output = only_call(view).output
    assert len(output) < PRINTED + 200
    assert output.startswith("000")
    assert output.endswith("499")
    assert "bytes" in output


def test_a_long_call_that_is_being_written_costs_its_beginning() -> None:
    view = view_of(RequestStarted(step=1, attempt=1, model="m"))
    view.take(LiveCall(1, 0, "write", '{"path": "src/app.py", "content": "'))
    for _ in range(200):
        view.take(LiveCall(1, 0, "", "x" * 1000))
        assert only_call(view).title == "write src/app.py"
    assert only_call(view).written == 200_035
    assert len(only_call(view).arguments) < 5_000


def test_output_of_a_call_that_does_not_run_is_nothing() -> None:
    assert View().take(LiveOutput("x", "y")) == frozenset()

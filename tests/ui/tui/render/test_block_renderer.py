"""What is seen of each block, line by line."""

from __future__ import annotations

import pytest
from msgspec.structs import replace

from holdfast.agent.events import Fact, LiveCall, LiveOutput, LiveThinking
from holdfast.questions import older_question
from holdfast.session.journal.entries import (
    ApprovalAsked,
    CallEnded,
    CallStarted,
    PromptAccepted,
    RequestStarted,
    ResponseEnded,
    ShellEnded,
    ShellStarted,
    TurnEnded,
)
from holdfast.session.journal.parts import CallPart, TextPart, ThinkingPart, Usage
from holdfast.ui.tui.render.block_renderer import can_expand, render_block
from holdfast.ui.tui.render.markdown import Markdown
from holdfast.ui.tui.render.plain_text import OPENED, duration_text
from holdfast.ui.view.blocks import Block, CallBlock, CallState, Note, Thinking, TodoLine, UserBlock
from holdfast.ui.view.edit_changes import EditChange
from holdfast.ui.view.view import View
from transcript_scenes import Script, busy_day, call, plain, shown, viewed

CALL = CallBlock(
    key="c", call="c", name="bash", title="bash make test", arguments='{"command":"make test"}', state="ok"
)


def drawn(
    block: Block, *, opened: bool = False, width: int = 60, now: float = 12.0, thoughts: bool = False
) -> list[str]:
    styles = plain().styles
    pieces = render_block(block, Markdown(), opened=opened, now=now, thoughts=thoughts)
    lines = [one for piece in pieces for one in piece.draw(styles, width)]
    assert all(one.strip.cell_length <= width for one in lines)
    return [((one.mark[0] if one.mark else "").ljust(2) + one.strip.text).rstrip() for one in lines]


def test_thinking_shows_its_last_lines_while_it_comes_if_they_are_wanted() -> None:
    text = "\n".join(f"thought {number}" for number in range(20))
    live = Thinking(key="t", text=text, live=True, since=9.0)
    assert drawn(live) == ["✻ thinking, 3 s"]
    assert drawn(live, thoughts=True) == ["✻ thinking, 3 s", *(f"  thought {number}" for number in range(14, 20))]
    assert len(drawn(live, thoughts=True, opened=True)) == 21
    assert drawn(Thinking(key="t", text=text, seconds=4.0), thoughts=True) == ["✻ thought for 4.0 s"]
    assert drawn(Thinking(key="t", text=" ", live=True, since=9.0), thoughts=True) == ["✻ thinking, 3 s"]


def test_a_busy_day_at_eighty_columns() -> None:
    roll = plain(80, rows=200, view=viewed(busy_day()))
    assert shown(roll) == BUSY_DAY.strip("\n").split("\n")


@pytest.mark.parametrize(
    ("seconds", "text"),
    [(0.04, "0.0 s"), (3.21, "3.2 s"), (48.4, "48 s"), (59.7, "1 min 0 s"), (125, "2 min 5 s"), (4330, "1 h 12 min")],
)
def test_times_are_written_as_people_say_them(seconds: float, text: str) -> None:
    assert duration_text(seconds) == text


@pytest.mark.parametrize(
    ("state", "line"),
    [
        ("writing", "· bash make test  writing, 19 characters"),
        ("ready", "· bash make test"),
        ("waiting", "? bash make test  waiting for approval"),
        ("running", "● bash make test  7 s"),
        ("ok", "✓ bash make test  4.2 s"),
        ("failed", "✗ bash make test  failed  4.2 s"),
        ("denied", "⊘ bash make test  denied  4.2 s"),
        ("not_started", "○ bash make test  not started  4.2 s"),
        ("interrupted", "◐ bash make test  interrupted  4.2 s"),
        ("lost", "◌ bash make test  outcome unknown"),
    ],
)
def test_a_call_says_how_it_stands(state: CallState, line: str) -> None:
    since = 5.0 if state == "running" else None
    assert drawn(replace(CALL, state=state, written=19, seconds=4.2, since=since))[0] == line


def test_a_long_title_gives_way_to_how_the_call_stands() -> None:
    title = "bash " + "word " * 18
    [line, *_] = drawn(replace(CALL, title=title, state="failed", seconds=75), width=40)
    assert line == "✗ bash word word word…  failed  1 min 15 s"


def test_a_running_command_shows_the_last_of_what_it_prints() -> None:
    output = "".join(f"line {n}\n" for n in range(20))
    lines = drawn(replace(CALL, state="running", since=11.0, output=output))
    assert lines == ["● bash make test  1 s", "  … 12 lines above · ctrl+o", *(f"  line {n}" for n in range(12, 20))]


def test_what_a_command_gave_is_shown_by_its_first_lines_without_its_exit_code() -> None:
    result = "".join(f"line {n}\n" for n in range(7)) + "(exit code 0, 0.3 s)"
    block = replace(CALL, effect="execute", result=result)
    assert drawn(block)[1:] == [*(f"  line {n}" for n in range(5)), "  … 2 more lines · ctrl+o"]
    assert drawn(replace(block, result="(no output)\n(exit code 0, 0.3 s)")) == ["✓ bash make test"]
    assert drawn(replace(block, result="x\n(exit code 0, 0.3 s; 1 process it left behind was ended)"))[-1].startswith(
        "  (exit code 0"
    )


def test_of_what_failed_the_last_lines_are_shown() -> None:
    result = "".join(f"line {n}\n" for n in range(9)) + "(exit code 1, 0.3 s)"
    assert drawn(replace(CALL, state="failed", result=result))[1:] == [
        "  … 4 lines above · ctrl+o",
        *(f"  line {n}" for n in range(4, 9)),
        "  (exit code 1, 0.3 s)",
    ]


def test_what_is_known_of_an_interrupted_call_is_never_cut() -> None:
    known = "Interrupted: you stopped the turn. Effect unknown: it may have done all, part or none of its work."
    printed = "".join(f"line {n}\n" for n in range(50))
    lines = drawn(replace(CALL, state="interrupted", result=f"{known}\n{printed}"))
    assert " ".join(line.strip() for line in lines[1:3]) == known
    assert lines[3:] == ["  … 44 lines above · ctrl+o", *(f"  line {n}" for n in range(44, 50))]
    few = drawn(replace(CALL, state="interrupted", result=f"{known}\n{'word ' * 300}\nlast"))
    assert [line[:9] for line in few[1:]] == ["  Interru", "  have do", "  word wo", "  last"]


def test_an_opened_call_shows_its_arguments_and_all_of_its_result() -> None:
    block = replace(
        CALL, arguments='{"command":"make test\\nmake bench","timeout":60}', result="".join(f"{n}\n" for n in range(9))
    )
    assert drawn(block, opened=True)[1:] == [
        "  make test",
        "  make bench",
        "  timeout: 60",
        "",
        *(f"  {n}" for n in range(9)),
    ]


def test_arguments_are_shown_literally() -> None:
    lines = drawn(
        replace(CALL, title="bash rm \x1b]0;x\x07 \u202e/", arguments='{"command":"a\\u001b[2Jb"}'), opened=True
    )
    assert lines[0] == "✓ bash rm \\x1b]0;x\\x07 \\u202e/"
    assert lines[1] == "  a\\x1b[2Jb"


def test_an_edit_is_a_diff_with_the_words_that_differ() -> None:
    edit = EditChange(path="x.py", old="a = 1\nb = 2\nc = 3\n", new="a = 1\nb = 4\nc = 3\n")
    block = replace(CALL, name="edit", title="edit x.py", edits=(edit,), result="Edited x.py: 1 replacement.")
    assert drawn(block) == ["✓ edit x.py  +1 -1", "    a = 1", "  - b = 2", "  + b = 4", "    c = 3"]


def test_an_edit_that_was_done_has_the_numbers_of_its_lines() -> None:
    view = View()
    edit = CallPart(id="a", name="edit", arguments='{"path": "x.py", "old": "b\\nc", "new": "b\\nd\\ne"}')
    view.take(Fact(1, ResponseEnded(step=1, model="m:m", parts=(edit,), usage=Usage(), finish="calls")))
    assert drawn(view.blocks()[-1]) == ["· edit x.py", "    b", "  - c", "  + d", "  + e"]
    done = "Edited x.py: 1 replacement at line 99 (+2 -1 lines)."
    view.take(Fact(2, CallEnded(call="a", outcome="ok", text=done)))
    assert drawn(view.blocks()[-1]) == [
        "✓ edit x.py  +2 -1",
        "   99   b",
        "  100 - c",
        "  100 + d",
        "  101 + e",
    ]


def test_a_todo_call_is_drawn_as_its_list() -> None:
    items = (
        TodoLine(text="Look", state="done"),
        TodoLine(text="Change\x1b[2J it", state="doing"),
        TodoLine(text="Tell"),
    )
    block = replace(CALL, name="todo", title="todo", effect="read", todo=items, result="[x] Look\n[>] Change\n[ ] Tell")
    assert drawn(block) == ["✓ todo  1 of 3 done", "  ✓ Look", "  ▸ Change\\x1b[2J it", "  ○ Tell"]
    failed = replace(block, state="failed", result="Item 'Look' is listed twice.")
    assert drawn(failed)[1:] == ["  Item 'Look' is listed twice."]


def test_a_page_says_what_it_is_and_how_it_begins() -> None:
    result = "[https://example.org/a: 200 OK, text/html]\n# Title\n\n" + "".join(f"line {n}\n" for n in range(9))
    block = replace(CALL, name="fetch", title="fetch https://example.org/a", effect="read", result=result)
    lines = drawn(block)
    assert lines[:4] == ["✓ fetch https://example.org/a  200 OK, text/html", "  # Title", "", "  line 0"]
    assert lines[-1] == "  … 6 more lines · ctrl+o"
    moved = "Page 'https://a.org/' redirects to 'https://b.org/'. Fetch that address if you need it."
    assert " ".join(line.strip() for line in drawn(replace(block, result=moved))[1:]) == moved


def test_a_persons_own_command_is_seen_while_it_runs_and_beside_a_turn() -> None:
    view = View()
    view.take(Fact(1, ShellStarted(id="s-s1", command="make\ttest", shared=True)), at=1.0)
    view.take(LiveOutput("s-s1", "one\ntwo\n"), at=2.0)
    view.take(Fact(2, PromptAccepted(turn=1, text="go")), at=2.0)
    view.take(Fact(3, TurnEnded(turn=1, reason="end_turn", cause="finished")), at=3.0)
    running = view.blocks()[0]
    assert drawn(running) == ["● ! make test  11 s", "  one", "  two"]
    ended = ShellEnded(id="s-s1", outcome="ok", text="one\ntwo\n(exit code 0, 2.0 s)", seconds=2.0, note="told")
    assert view.take(Fact(4, ended)) == {running.key}
    assert drawn(view.blocks()[0]) == ["✓ ! make test  2.0 s  shared with the model", "  one", "  two"]


def test_a_persons_own_command_that_a_journal_does_not_end_is_lost() -> None:
    view = View()
    view.load([Fact(1, ShellStarted(id="s-s1", command="make", shared=False))])
    assert drawn(view.blocks()[0]) == ["◌ ! make  outcome unknown"]


def test_a_file_written_whole_is_numbered_and_cut() -> None:
    edit = EditChange(path="x.py", old=None, new="".join(f"line {n}\n" for n in range(1, 101)))
    lines = drawn(replace(CALL, name="write", title="write x.py", edits=(edit,)))
    assert lines[:3] == ["✓ write x.py  +100", "   1 + line 1", "   2 + line 2"]
    assert lines[-1] == "  … 86 more lines · ctrl+o"


def test_thinking_is_one_line_until_it_is_opened() -> None:
    view = View()
    view.take(Fact(1, RequestStarted(step=1, attempt=1, model="m")))
    view.take(LiveThinking(1, "One.\nTwo."), at=4.0)
    block = view.blocks()[0]
    assert drawn(block) == ["✻ thinking, 8 s"]
    assert drawn(block, opened=True) == ["✻ thinking, 8 s", "  One.", "  Two."]
    parts = (ThinkingPart("One.\nTwo."),)
    view.take(Fact(2, ResponseEnded(step=1, model="m", parts=parts, usage=Usage())), at=16.0)
    assert drawn(view.blocks()[0]) == ["✻ thought for 12 s"]


def test_a_long_prompt_is_folded() -> None:
    block = UserBlock(key="p", turn=1, text="\n".join(f"line {n}" for n in range(40)))
    first, last = [f"▌ line {n}" for n in range(4)], [f"▌ line {n}" for n in (38, 39)]
    assert drawn(block) == [*first, "  … 34 more lines · ctrl+o", *last]
    assert len(drawn(block, opened=True)) == 40
    assert can_expand(block)


def test_a_long_paste_is_its_mark_until_it_is_opened() -> None:
    block = UserBlock(key="p", turn=1, text="x\ny why?", shown="[Pasted text #1 +2 lines] why?")
    assert drawn(block) == ["▌ [Pasted text #1 +2 lines] why?"]
    assert drawn(block, opened=True) == ["▌ x", "▌ y why?"]
    assert can_expand(block)
    assert not can_expand(replace(block, shown="x\ny why?"))


def test_a_patch_is_drawn_as_the_changes_of_its_files_and_cut_as_an_edit_is() -> None:
    long = "".join(f"line {number}\n" for number in range(1, 31))
    edits = (
        EditChange(path="a.py", old="a = 1", new="a = 2", how="moved to b.py"),
        EditChange(path="c.py", old=None, new=long, how="created"),
        EditChange(path="d.py", old="", new="", how="deleted"),
    )
    block = replace(CALL, name="apply_patch", title="apply_patch a.py", edits=edits, arguments="RAW", result="done")
    text = [line.strip() for line in drawn(block)]
    assert text[0].split("  ")[-1] == "+31 -1"
    assert text[1:5] == ["a.py moved to b.py", "- a = 1", "+ a = 2", "c.py created"]
    assert text[5:] == [
        *(f"{number:>2} + line {number}".strip() for number in range(1, 11)),
        "… 21 more lines · ctrl+o",
    ]
    lines = [line.strip() for line in drawn(block, opened=True)]
    assert "30 + line 30" in lines
    assert "d.py deleted" in lines
    assert not any("RAW" in line for line in lines)


def test_a_note_keeps_its_detail_for_who_asks() -> None:
    block = Note(key="n", kind="retry", text="Attempt 1 failed.", detail="529\noverloaded")
    assert drawn(block) == ["↻ Attempt 1 failed."]
    assert drawn(block, opened=True) == ["↻ Attempt 1 failed.", "  529", "  overloaded"]


def test_what_is_opened_ends_with_a_sentence_if_it_is_too_long() -> None:
    lines = drawn(replace(CALL, result="x\n" * 10_000), opened=True)
    assert len(lines) == 2 + 1 + OPENED + 1
    assert lines[-1] == "  … 8,000 more lines"


def test_a_line_of_a_megabyte_is_cut_with_a_sentence() -> None:
    lines = drawn(replace(CALL, result="x" * 1_000_000), opened=True, width=100)
    text = "".join(line.strip() for line in lines[3:])
    assert text == "x" * 2000 + "[… 998,000 more characters]"  # folded at the space


def test_calls_of_one_line_each_stand_close() -> None:
    script = Script()
    script.prompt("go")
    script.response(TextPart("So."), call("a", "read", path="a"), call("b", "read", path="b"))
    script.ran("a", "1\n")
    script.ran("b", "1\n2\n")
    assert shown(plain(view=viewed(script.events)))[-3:] == ["", "✓ read a  1 line", "✓ read b  2 lines"]


def test_a_call_changes_where_it_stands() -> None:
    view = viewed([Fact(1, PromptAccepted(turn=1, text="go")), Fact(2, RequestStarted(step=1, attempt=1, model="m"))])
    roll = plain(view=view)

    def after(*events: Fact | LiveCall | LiveOutput) -> list[str]:
        for event in events:
            roll.update(view.take(event, at=12.0))
            roll.settle()
        return shown(roll)[2:]

    assert after(LiveCall(1, 0, "bash", '{"command": "ma')) == ["· bash ma  writing, 15 characters"]
    parts = (call("c", "bash", command="make"),)
    assert after(Fact(3, ResponseEnded(step=1, model="m", parts=parts, usage=Usage()))) == ["· bash make"]
    assert after(Fact(4, ApprovalAsked(call="c", question=older_question("c", "?")))) == [
        "? bash make  waiting for approval"
    ]
    assert after(Fact(5, CallStarted(call="c", effect="execute")), LiveOutput("c", "one\ntwo\n")) == [
        "● bash make  0 s",
        "  one",
        "  two",
    ]
    assert after(Fact(6, CallEnded(call="c", outcome="interrupted", text="Interrupted: you did."))) == [
        "◐ bash make  interrupted",
        "  Interrupted: you did.",
    ]


BUSY_DAY = r"""
· ~/code/shop with anthropic:sonnet

▌ The handler sometimes returns None. Find out when, fix it, and make the whole
▌ suite pass.

✻ thought

  I'll look at the handler and its tests first.

✓ read src/app.py  42 lines
✓ read tests/test_app.py  118 lines
✓ grep src  2 lines
✓ edit src/app.py  +2 -3
  41   def handler(request):
  42 -     if not request.body:
  43 -         return None
  44 -     return Response(body)
  42 +     body = request.body or b''
  43 +     return Response(200, body[:4096])

✗ bash pytest -q tests/test_app.py  failed  3.4 s
  … 28 lines above · ctrl+o
  tests/test_app.py::test_27 PASSED
  tests/test_app.py::test_28 PASSED
  tests/test_app.py::test_29 PASSED
  E   AssertionError: assert None == Response(200)
  1 failed, 31 passed in 2.11s
  (exit code 1, 3.4 s)

↻ Attempt 1/4 failed (overloaded); retrying in 2 s.

⊘ bash git push --force origin main  denied
  Denied by the user; not started. They said: never force.

✓ bash make test  1 min 15 s
  line 0
  line 1
  line 2
  line 3
  line 4
  … 75 more lines · ctrl+o

  The handler returned None for requests without a body, so every caller had to
  guess. It now always returns a Response:

   def handler(request: Request) -> Response:
       QQQAnswer a request; never returns None.QQQ
       body = request.body or b""  # an empty body is one too
       return Response(status=200, body=body[:4096])

  What changed, in order of importance:

  1. handler answers an empty request with an empty body.
  2. The tests say so:
     • one for a body,
     • one without, see the guide (https://example.org/guide#empty).
  3. Nothing else.

  file                lines   note
  ─────────────────────────────────────────────────────────────────────────────
  src/app.py              4   the handler
  tests/test_app.py      12   two tests, one of them for the empty request that
                              nobody had thought of

  ▎ A response without a body is a response.

  What is left

  The retry in client.py still waits forever; tell me if you want a bound there
  too.

· ? tests: exit code of make not known (it did not end by itself, or the
  journal is older than exit codes) · 2 commands · 3 calls of unknown effect ·
  1 call denied

▌ And now the client:
▌ - bound the retry
▌ - say so in the docs

✻ thought

  The retry is in client.py. I'll bound it at 30 s
◐ cut off here

■ Turn ended: you stopped the turn

▌ Go on. 日本語のテキスト 👩‍👩‍👧 and a word

  Running the suite once more.

● bash make test 2>&1 | tail -n 40  12 s
  … 17 lines above · ctrl+o
  tests/test_client.py::test_bound[17] PASSED
  tests/test_client.py::test_bound[18] PASSED
  tests/test_client.py::test_bound[19] PASSED
  tests/test_client.py::test_bound[20] PASSED
  tests/test_client.py::test_bound[21] PASSED
  tests/test_client.py::test_bound[22] PASSED
  tests/test_client.py::test_bound[23] PASSED
  tests/test_client.py::test_bound[24] PASSED
""".replace("QQQ", chr(34) * 3)

"""What a model, a tool or a file says can do nothing to the terminal, whatever it is."""

from __future__ import annotations

import io
import re
import time
from itertools import product

import pytest
from hypothesis import given
from hypothesis import strategies as st
from rich.cells import cell_len
from rich.color import ColorSystem
from rich.console import Console

from holdfast.agent.events import CheckFinding, Event, Fact, LiveCall, LiveOutput, LiveText, LiveThinking, NotRecorded
from holdfast.questions import older_question
from holdfast.session.journal.entries import (
    ApprovalAsked,
    CallEnded,
    CallLate,
    CallStarted,
    RequestFailed,
    RequestStarted,
    ResponseEnded,
    TurnEnded,
)
from holdfast.session.journal.parts import TextPart, ThinkingPart, Usage
from holdfast.ui.tui.render.lines import clean
from laws import law
from tiers import sampled
from transcript_scenes import Script, Stage, call, plain, viewed

_SGR = re.compile(r"\x1b\[[0-9;]*m")
_ACTS = re.compile(
    r"[\x00-\x1f\x7f-\x9f\u061c\u200b\u200e\u200f\u2028-\u202e\u2060-\u2069\ufeff\ud800-\udfff\U000e0000-\U000e007f]"
)

HOSTILE = {
    "clipboard": "\x1b]52;c;ZXZpbA==\x07seen",
    "clipboard, unended": "\x1b]52;c;ZXZpbA==",
    "title": "\x1b]0;owned\x1b\\seen",
    "hyperlink": "\x1b]8;;http://evil\x1b\\click\x1b]8;;\x1b\\",
    "cursor": "\x1b[2J\x1b[H\x1b[999Bseen",
    "colours": "\x1b[31;5mseen\x1b[0m",
    "c1": "\x9b2J\x9d52;c;eA==\x9cseen",
    "dcs": "\x1bP+q544e\x1b\\seen",
    "reset": "\x1bcseen",
    "markup": "[@click=app.quit]seen[/] [red]x[/red] [bold",
    "bidi": "a\u202eb\u2066c\u2069 \u200e\u200f\u061c",
    "zero width": "a\u200bb\u2060c\ufeffd",
    "tags": "a\U000e0041\U000e0042b",
    "surrogates": "a\ud83db\udc00",
    "combining": "e" + "\u0301" * 5000 + "x" + "\u0300\u20dd" * 2000,
    "separators": "a\u2028b\u2029c\x0bd\x0ce\x85f",
    "carriage": "visible\rhidden\r\nnext\b\b\b",
    "nul": "a\x00b",
    "wide": "日本語" * 200,
    "emoji": "👩‍👩‍👧‍👦👍🏽🇩🇪❤️" * 60,
    "joiners": "\u200d" * 3000 + "x",
    "line of a megabyte": "x" * 1_000_000,
    "words of a megabyte": "word " * 200_000,
    "ten thousand lines": "line\n" * 10_000,
    "brackets": "[" * 20_000,
    "emphasis": "*_~`" * 5_000,
    "tabs": "\t" * 5_000,
    "code": "```\x1b]52;c;x\x07\n\x1b]52;c;x\x07\n```",
    "table": "|\x1b[2J|b|\n|-|-|\n|\x9b2J|" + "x" * 5000 + "|",
    "link": "[a](https://e.f/\x1b]52;c;x\x07) <https://\u202egnp.exe> ![\x1b[2J](\x07)",
    "numbers": "99999999999999. x\n1. y\n000000000. z",
    "deep": "> " * 500 + "x\n" + "- " * 500 + "y",
}


def everywhere(text: str) -> list[Event]:
    """Return a session in which everybody says `text` wherever they can."""
    script = Script()
    script.prompt(text)
    step = script.request()
    script.events += [LiveThinking(step, text), LiveText(step, text), LiveCall(step, 2, text, text)]
    parts = (
        ThinkingPart(text),
        TextPart(text),
        call("a", "bash", command=text),
        call("b", text, path=text),
        call("c", "edit", path=text, old=text, new=f"{text}\nmore"),
        call("d", "write", path="x.py", content=text),
        call("e", "bash", command="running"),
    )
    script.fact(ResponseEnded(step=step, model="m", parts=parts, usage=Usage()))
    script.fact(ApprovalAsked(call="a", question=older_question("a", text)))
    script.ran("b", text, effect="execute")
    script.ran("c", text, effect="write")
    script.ran("d", text, effect="write", outcome="failed")
    script.fact(CallStarted(call="e", effect="execute"))
    script.events += [LiveOutput("e", text), NotRecorded(text), CheckFinding(text)]
    script.fact(CallLate(call="b", outcome="ok", text=text))
    script.fact(CallEnded(call="unknown" + text[:50], outcome="ok", text=text))
    script.fact(RequestStarted(step=2, attempt=1, model="m"))
    script.fact(RequestFailed(step=2, attempt=1, fault=text[:2000], message=text, retry_in=1.0))
    script.fact(TurnEnded(turn=1, reason="error", cause="provider", detail=text))
    return script.events


def ansi(text: str, columns: int, *, opened: bool) -> str:
    """Return all that a terminal would be sent of a session in which everybody says `text`."""
    roll = plain(columns, rows=300, view=viewed(everywhere(text)))
    if opened:
        roll.toggle_all()
        roll.settle()
    console = Console(file=io.StringIO(), color_system="truecolor", legacy_windows=False)
    sent: list[str] = []
    for y in range(roll.top, roll.total):
        row = roll.line(y)
        assert row.strip.cell_length <= columns
        assert row.strip.cell_length == sum(cell_len(part.text) for part in row.strip)
        assert len(row.strip.text) <= 12 * columns  # what has no width does not pile up
        sent.append(row.strip.render(console))
    assert ColorSystem.TRUECOLOR
    return "\n".join(sent)


@pytest.mark.parametrize(("name", "opened"), sampled(product(HOSTILE, [False, True]), 40))
def test_nothing_but_characters_and_our_own_colours_is_sent(name: str, *, opened: bool) -> None:
    text = HOSTILE[name]
    began = time.process_time()
    sent = ansi(text, 80, opened=opened)
    for row in sent.split("\n"):
        assert not _ACTS.search(_SGR.sub("", row))
    assert time.process_time() - began < 20  # a guard against what never ends, not a measure


@law(50)
@given(st.text(max_size=300), st.integers(24, 100))
def test_whatever_is_said(text: str, columns: int) -> None:
    for row in ansi(text, columns, opened=True).split("\n"):
        assert not _ACTS.search(_SGR.sub("", row))


def test_what_is_hidden_in_a_command_is_written_out() -> None:
    events = everywhere("rm -rf \u202e/ \x1b[8mhidden")
    roll = plain(80, rows=300, view=viewed(events))
    text = "\n".join(roll.line(y).strip.text for y in range(roll.total))
    assert "bash rm -rf \\u202e/ \\x1b[8mhidden" in text


def test_markup_is_text() -> None:
    roll = plain(80, rows=300, view=viewed(everywhere(HOSTILE["markup"])))
    rows = [roll.line(y) for y in range(roll.total)]
    assert sum("[@click=app.quit]seen[/]" in row.strip.text for row in rows) > 8
    assert not any(part.style is not None and part.style.meta for row in rows for part in row.strip)


@given(st.text(max_size=200))
def test_cleaning_twice_is_cleaning_once(text: str) -> None:
    once = clean(text)
    assert clean(once) == once
    assert not _ACTS.search(once.replace("\n", ""))


async def test_a_click_on_markup_does_nothing() -> None:
    script = Script()
    script.prompt("go")
    script.response(TextPart("[@click=app.quit]leave[/]"))
    app = Stage(viewed([*script.events, Fact(9, TurnEnded(turn=1, reason="end_turn", cause="finished"))]))
    async with app.run_test(size=(80, 24)) as pilot:
        await pilot.pause()
        for x in range(4, 20, 4):
            await pilot.click(offset=(x, 2))
        await pilot.pause()
        assert app.is_running
        assert app.return_code is None

"""Colours of a command's output on the screen: while it runs and when it has ended, and no byte of theirs is drawn."""

from __future__ import annotations

import msgspec
from rich.segment import Segment
from rich.style import Style

from holdfast.session.journal.entries import CallEnded
from holdfast.tools.printed_text import printed_text
from holdfast.ui.tui.render.block_renderer import render_block
from holdfast.ui.tui.render.markdown import Markdown
from holdfast.ui.view.blocks import Block, CallBlock, with_outcome
from transcript_scenes import plain

RED, RGB = "color(1)", "#010203"
OUTPUT = "plain\n\x1b[31mred\x1b[0m and not\n\tx\x1b[38;2;1;2;3my\x1b[0m\tz\n\x1b]0;title\x07\x1b[2Jend\n"
CALL = CallBlock(key="c", call="c", name="bash", title="bash make test", arguments="{}", state="running", since=1.0)


def parts(block: Block, *, opened: bool = False) -> dict[str, Style | None]:
    """Return the pieces of a block's lines, each with its style."""
    pieces = render_block(block, Markdown(), opened=opened, now=2.0, thoughts=False)
    lines = [one for piece in pieces for one in piece.draw(plain().styles, 60)]
    segments: list[Segment] = [segment for line in lines for segment in line.strip]
    assert not [each for each in segments if not each.text.isprintable()]
    return {segment.text.strip(): segment.style for segment in segments}


def colour(style: Style | None) -> str:
    assert style is not None
    return style.color.name if style.color else ""


def ended(output: str) -> CallBlock:
    """Return the call that has printed this, as the view makes it."""
    text = f"{printed_text(output)}(exit code 0, 1.0 s)"
    return with_outcome(CALL, CallEnded(call="c", outcome="ok", text=text), output)


def test_an_output_has_its_colours_while_it_runs_and_afterwards() -> None:
    running = msgspec.structs.replace(CALL, output=OUTPUT)
    for block, opened in ((running, False), (running, True), (ended(OUTPUT), False), (ended(OUTPUT), True)):
        found = parts(block, opened=opened)
        assert colour(found["red"]) == RED
        assert colour(found["y"]) == RGB
        assert colour(found["and not"]) == colour(found["plain"]) == colour(found["end"])


def test_what_a_journal_has_is_shown_without_colours() -> None:
    found = parts(ended("nothing of it\n"))
    assert colour(found["nothing of it"]) not in (RED, RGB)
    assert ended("nothing of it\n").printed == ""


def test_of_a_progress_bar_the_last_state_is_shown() -> None:
    frames = "".join(f"\r\x1b[32mprogress {number}\x1b[0m" for number in range(500))
    found = parts(msgspec.structs.replace(CALL, output=f"{frames}\n"))
    assert colour(found["progress 499"]) == "color(2)"
    assert "progress 498" not in found

"""The transcript in an application: following, scrolling, opening, selecting, other sizes and colours."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager

from rich.segment import Segment
from textual.pilot import Pilot

from holdfast.agent.events import Event, Fact, LiveOutput, LiveText
from holdfast.session.journal.entries import CallStarted, PromptAccepted, RequestStarted
from holdfast.session.journal.parts import TextPart
from holdfast.ui.view.view import View
from polling import HANGS
from transcript_scenes import Script, Stage, busy_day, call, long_session, viewed


@asynccontextmanager
async def on_stage(
    events: list[Event], *, size: tuple[int, int] = (80, 24), dark: bool = True
) -> AsyncGenerator[tuple[Stage, Pilot[None]]]:
    app = Stage(viewed(events), dark=dark)
    async with app.run_test(size=size) as pilot:
        await pilot.pause()
        yield app, pilot


def rows(app: Stage) -> list[str]:
    """Return the screen as text."""
    return [strip.text.rstrip() for strip in app.transcript.render_lines(app.transcript.size.region)]


async def show_events(app: Stage, pilot: Pilot[None], *events: Event) -> None:
    for event in events:
        app.transcript.show(app.view.take(event, at=12.0))
    await pilot.pause(0.1)


def lines(count: int) -> list[Event]:
    script = Script()
    script.prompt("go")
    script.response(TextPart("\n".join(f"line {n}" for n in range(count))))
    return script.events


async def test_it_opens_at_the_end_and_follows_it() -> None:
    async with on_stage(lines(100)) as (app, pilot):
        assert rows(app)[-1] == "  line 99"
        assert app.transcript.following
        await show_events(app, pilot, Fact(90, PromptAccepted(turn=2, text="more")))
        assert rows(app)[-2:] == ["", "▌ more"]


async def test_a_short_session_stands_at_the_top() -> None:
    async with on_stage(lines(3)) as (app, _):
        assert rows(app)[:6] == ["▌ go", "", "  line 0", "  line 1", "  line 2", ""]


async def test_a_user_who_scrolled_up_stays_there_and_sees_that_there_is_more() -> None:
    async with on_stage(lines(100)) as (app, pilot):
        app.transcript.action_page_up()
        await pilot.pause()
        seen = rows(app)
        assert seen[0] == "  line 54"
        assert seen[-1].endswith("↓ more below · Ctrl+End")
        assert not app.transcript.following
        await show_events(
            app,
            pilot,
            Fact(90, PromptAccepted(turn=2, text="more")),
            Fact(91, RequestStarted(step=2, attempt=1, model="m")),
        )
        await show_events(app, pilot, *(LiveText(2, f"new {n}\n") for n in range(50)))
        assert rows(app)[:-1] == seen[:-1]
        assert rows(app)[-1].endswith("↓ more below · Ctrl+End")
        app.transcript.action_scroll_end()
        await pilot.pause()
        assert rows(app)[-1] == "  new 49"
        await show_events(app, pilot, LiveText(2, "new 50\n"))
        assert rows(app)[-1] == "  new 50"


async def test_a_click_on_the_hint_goes_to_the_end() -> None:
    async with on_stage(lines(100)) as (app, pilot):
        app.transcript.action_scroll_home()
        await pilot.pause()
        assert rows(app)[0] == "▌ go"
        await pilot.click(offset=(70, 23))
        await pilot.pause()
        assert rows(app)[-1] == "  line 99"


async def test_the_wheel_and_the_bar_scroll_too() -> None:
    async with on_stage(lines(100)) as (app, pilot):
        app.transcript.scroll_relative(y=-10, animate=False)
        await pilot.pause()
        assert rows(app)[0] == "  line 66"
        app.transcript.scroll_to(y=0, animate=False)
        await pilot.pause()
        assert rows(app)[0] == "▌ go"
        app.transcript.scroll_end(animate=False)
        await pilot.pause()
        assert app.transcript.following


async def test_a_click_opens_a_call_and_closes_it() -> None:
    async with on_stage(busy_day(), size=(80, 100)) as (app, pilot):
        at = next(y for y, row in enumerate(rows(app)) if row.startswith("✓ bash make test"))
        await pilot.click(offset=(6, at))
        await pilot.pause()
        assert any("line 79" in row for row in rows(app)) or not app.transcript.following
        app.transcript.follow()
        await pilot.pause()
        assert sum(row.strip().startswith("line ") for row in rows(app)) > 30


async def test_keys_choose_a_block_and_open_it() -> None:
    async with on_stage(busy_day(), size=(80, 40)) as (app, pilot):
        app.transcript.focus()
        await pilot.press("up", "up", "enter")
        await pilot.pause()
        assert any("The retry is" in row for row in rows(app))
        assert any("A bound for the retry" in row for row in rows(app))  # the thinking above it
        strips = app.transcript.render_lines(app.transcript.size.region)
        chosen = app.transcript.get_component_rich_style("transcript--chosen").bgcolor
        lit = [
            strip.text.strip() for strip in strips if all(part.style and part.style.bgcolor == chosen for part in strip)
        ]
        assert lit == ["✻ thought"]
        await pilot.press("enter")
        await pilot.pause()
        assert not any("A bound for the retry" in row for row in rows(app))


async def test_everything_opens_and_closes() -> None:
    async with on_stage(busy_day(), size=(80, 40)) as (app, pilot):
        before = rows(app)
        app.transcript.toggle_all()
        await pilot.pause()
        assert any("test_bound[0] PASSED" in row for row in rows(app))
        app.transcript.toggle_all()
        await pilot.pause()
        assert rows(app) == before


async def test_selected_text_is_what_was_written() -> None:
    text = "A sentence that is longer than the screen is wide, so that it is folded. End.\n\n- an item\n\nlast"
    script = Script()
    script.prompt("go")
    script.response(TextPart(text))
    async with on_stage(script.events, size=(40, 20)) as (app, pilot):
        assert rows(app)[2:6] == [
            "  A sentence that is longer than the",
            "  screen is wide, so that it is",
            "  folded. End.",
            "",
        ]
        await pilot.mouse_down(offset=(2, 2))
        await pilot.hover(offset=(6, 8))
        await pilot.mouse_up(offset=(6, 8))
        await pilot.pause()
        selected = app.screen.get_selected_text()
        assert selected == text.replace("- an", "• an")[: len(text)]
        chosen = app.transcript.render_lines(app.transcript.size.region)[3]
        colours = {part.style.bgcolor for part in chosen if part.style is not None and part.text.strip()}
        assert colours == {app.screen.get_component_rich_style("screen--selection").bgcolor}
        await show_events(app, pilot, Fact(90, PromptAccepted(turn=2, text="more")))
        assert app.screen.get_selected_text() == selected


async def test_two_clicks_select_the_block() -> None:
    async with on_stage(lines(3)) as (app, pilot):
        await pilot.click(app.transcript, offset=(4, 3), times=2)
        await pilot.pause()
        assert app.screen.get_selected_text() == "line 0\nline 1\nline 2"
        await pilot.click(app.transcript, offset=(4, 3), times=3)
        await pilot.pause()
        assert (app.screen.get_selected_text() or "").rstrip() == "go\n\nline 0\nline 1\nline 2"


async def test_another_size_is_another_fold_of_the_same_text() -> None:
    async with on_stage(busy_day(), size=(80, 40)) as (app, pilot):
        app.transcript.action_page_up()
        await pilot.pause()
        top = next(row for row in rows(app) if row.strip())
        await pilot.resize_terminal(50, 30)
        await pilot.pause()
        assert top[:20] in rows(app)[0] or top[:20] in rows(app)[1]
        assert all(len(row) <= 50 for row in rows(app))
        await pilot.resize_terminal(10, 5)
        await pilot.pause()
        await pilot.resize_terminal(80, 40)
        await pilot.pause()
        assert top in rows(app)[:3]


async def test_another_theme_is_other_colours() -> None:
    async with on_stage(lines(3)) as (app, pilot):
        before = _colours(app)
        app.theme = "holdfast-light"
        await pilot.pause()
        assert _colours(app) != before
        assert rows(app)[0] == "▌ go"


def _colours(app: Stage) -> list[object]:
    strips = app.transcript.render_lines(app.transcript.size.region)
    parts: list[Segment] = [part for strip in strips for part in strip]
    return [part.style.color for part in parts if part.style is not None]


async def test_time_goes_on_for_what_runs() -> None:
    now = 12.0
    script = Script()
    script.response(call("c", "bash", command="sleep 100"))
    app = Stage(View(), clock=lambda: now)
    for event in script.events:
        app.view.take(event)
    async with app.run_test(size=(80, 24)) as pilot:
        await show_events(app, pilot, Fact(50, CallStarted(call="c", effect="execute")), LiveOutput("c", "x\n"))
        for at, shown in ((12.0, "0 s"), (75.0, "1 min 3 s")):
            now = at
            async with asyncio.timeout(HANGS):
                while rows(app)[:2] != [f"● bash sleep 100  {shown}", "  x"]:
                    await pilot.pause(0.02)


async def test_code_gets_its_colours_when_its_lexer_is_there() -> None:
    script = Script()
    script.response(TextPart("```python\ndef f(): pass\n```"))
    async with on_stage(script.events) as (app, pilot):
        colours = 0
        for _ in range(200):
            strip = app.transcript.render_lines(app.transcript.size.region)[0]
            colours = len({part.style.color for part in strip if part.style is not None and part.text.strip()})
            if colours > 1:
                break
            await pilot.pause(0.05)
        assert colours > 1


async def test_another_session_takes_the_place_of_this_one() -> None:
    async with on_stage(lines(100)) as (app, pilot):
        app.transcript.action_page_up()
        app.transcript.load(viewed([*long_session(2000)]))
        await pilot.pause()
        assert app.transcript.following
        assert any("It is" in row or "The retry in" in row for row in rows(app))
        app.transcript.load(View())
        await pilot.pause()
        assert not any(rows(app))

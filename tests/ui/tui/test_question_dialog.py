"""The approval prompt on the screen, at every size: all of a change can be read, and every key does what it says."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from test_app import showing, start, until
from textual import events
from textual.pilot import Pilot
from textual.widgets import OptionList

from holdfast.agent.turn.asker import ApprovalAnswer
from holdfast.session.journal.parts import CallPart
from holdfast.tools.tool import Plan
from holdfast.tools.toolbox import LocalToolbox
from holdfast.ui.tui.agent_thread.messages import ApprovalRequested
from holdfast.ui.tui.app import HoldfastApp
from holdfast.ui.tui.widgets.detail_view import DetailView

SIZES = [(40, 12), (80, 24), (120, 40), (200, 60)]


def plan_of(folder: Path, name: str, **arguments: str) -> Plan:
    work = folder / "work"
    work.mkdir(exist_ok=True)
    (folder / "home" / "session").mkdir(parents=True, exist_ok=True)
    toolbox = LocalToolbox(work, folder / "home" / "session")
    return toolbox.tools[name].plan("c", json.dumps(arguments))


def ask(screen: HoldfastApp, plan: Plan) -> list[tuple[str, ApprovalAnswer]]:
    """Show the question as in a session that has begun; the answers given are appended to the list."""
    screen.welcome.display = False
    answered: list[tuple[str, ApprovalAnswer]] = []

    def keep(call: str, answer: ApprovalAnswer) -> None:
        answered.append((call, answer))

    screen.controller.agent.answer = keep
    screen._hear(ApprovalRequested(CallPart(id="c", name="x", arguments="{}"), plan, "why"))
    return answered


def visible(screen: HoldfastApp) -> str:
    strips = screen.screen._compositor.render_strips()
    return "\n".join(strip.text.rstrip() for strip in strips)


async def read_through(screen: HoldfastApp, pilot: Pilot[int]) -> str:
    """Return everything that PageDown brings to the screen."""
    detail = screen.approval.query_one(DetailView)
    await until(lambda: detail.virtual_size.height > 1 or not detail.overflows)
    pages = [visible(screen)]
    while detail.scroll_offset.y < detail.max_scroll_y:
        await pilot.press("pagedown")
        pages.append(visible(screen))
    return "\n".join(pages)


@pytest.mark.parametrize(("columns", "lines"), SIZES)
async def test_a_long_file_can_be_read_to_its_end(tmp_path: Path, columns: int, lines: int) -> None:
    content = "".join(f"value_{number} = {number}\n" for number in range(1, 160))
    plan = plan_of(tmp_path, "write", path="long.py", content=content)
    async with showing(start(tmp_path)) as (screen, pilot):
        await pilot.resize_terminal(columns, lines)
        ask(screen, plan)
        await pilot.pause()
        shown = await read_through(screen, pilot)
        assert all(f"{number:>3} + value_{number} = {number}" in shown for number in range(1, 160))
        assert "1  Allow once" in visible(screen)
        assert "Approval needed" in visible(screen)


@pytest.mark.parametrize(("columns", "lines"), SIZES)
async def test_a_long_command_is_wrapped_and_all_of_it_shown(tmp_path: Path, columns: int, lines: int) -> None:
    words = [f"argument-{number}" for number in range(60)]
    plan = plan_of(tmp_path, "bash", command=f"echo {' '.join(words)}")
    async with showing(start(tmp_path)) as (screen, pilot):
        await pilot.resize_terminal(columns, lines)
        ask(screen, plan)
        await pilot.pause()
        detail = screen.approval.query_one(DetailView)
        await until(lambda: bool(detail._lines))
        assert all(word in "".join(line.text().rstrip() for line in detail._lines) for word in words)
        assert max(line.strip.cell_length for line in detail._lines) <= columns
        await read_through(screen, pilot)
        assert "1  Allow once" in visible(screen)


async def test_the_arrows_scroll_the_detail_once_it_has_the_focus(tmp_path: Path) -> None:
    plan = plan_of(tmp_path, "write", path="long.py", content="x\n" * 200)
    async with showing(start(tmp_path)) as (screen, pilot):
        ask(screen, plan)
        await pilot.pause()
        detail, listed = screen.approval.query_one(DetailView), screen.approval.query_one(OptionList)
        await until(lambda: detail.overflows)
        await pilot.press("down")
        assert (listed.highlighted, detail.scroll_offset.y) == (1, 0)
        await pilot.press("tab", "down", "down", "up", "down")
        assert (listed.highlighted, detail.scroll_offset.y) == (1, 2)
        await pilot.press("end")
        assert detail.scroll_offset.y == detail.max_scroll_y
        await pilot.press("enter")
        assert screen.focused is listed
        await pilot.press("tab", "tab")
        assert screen.focused is screen.composer
        await pilot.press("tab")
        assert screen.focused is listed


async def test_shift_tab_accepts_all_edits_where_it_is_said_and_else_changes_the_mode(tmp_path: Path) -> None:
    plan = plan_of(tmp_path, "write", path="a.py", content="x\n")
    async with showing(start(tmp_path)) as (screen, pilot):
        answered = ask(screen, plan)
        await pilot.pause()
        assert "shift+tab: accept all edits" in visible(screen)
        await pilot.press("tab", "shift+tab")
        assert (answered, screen.controller.status.mode) == ([], "accept-edits")
        screen.controller.use_mode("ask")
        await pilot.press("tab", "shift+tab")
        await until(lambda: bool(answered))
        assert answered == [("c", ApprovalAnswer(allowed=True, mode="accept-edits"))]
        assert screen.controller.status.mode == "ask", "the answer sets it, once it is journalled"


async def test_behind_a_quick_answer_an_option_is_highlighted(tmp_path: Path) -> None:
    plan = plan_of(tmp_path, "bash", command="make one")
    async with showing(start(tmp_path)) as (screen, pilot):
        answered = ask(screen, plan)
        await pilot.press("enter")
        await until(lambda: len(answered) == 1)
        screen._hear(ApprovalRequested(CallPart(id="d", name="x", arguments="{}"), plan, "why"))
        await pilot.press("enter")
        assert len(answered) == 1, "the same Enter, held down"
        assert screen.approval.query_one(OptionList).highlighted == 0
        await pilot.press("down", "up", "1")
        await until(lambda: [call for call, _ in answered] == ["c", "d"])


async def test_a_key_that_waits_answers_no_other_question(tmp_path: Path) -> None:
    plan = plan_of(tmp_path, "bash", command="make one")
    async with showing(start(tmp_path)) as (screen, pilot):
        answered = ask(screen, plan)
        await pilot.pause()
        screen.approval.take_key(events.Key("1", "1"))
        screen._hear(ApprovalRequested(CallPart(id="d", name="x", arguments="{}"), plan, "why"))
        screen.approval._release()
        await pilot.pause()
        assert answered == []

"""The user's own command for the status line: what it reads, what is shown of it, and that nothing of it stays."""

from __future__ import annotations

import asyncio
import os
import time
from pathlib import Path

import msgspec
from rich.text import Text

from holdfast.session.journal.parts import Usage
from holdfast.ui.tui.environment.status_command import COMMAND_LIMIT, StatusCommand, status_document, status_output
from holdfast.ui.tui.widgets.status_line import Status
from polling import HANGS, eventually

STATUS = Status(
    mode="plan",
    model="openai:gpt-5.5",
    effort="high",
    context=50_000,
    window=200_000,
    usage=Usage(input_tokens=3, output_tokens=4, cost="0.25"),
    branch="main",
    session="s1",
    cwd="/",
)


def test_it_reads_what_scripts_for_claude_code_read() -> None:
    document = msgspec.json.decode(msgspec.json.encode(status_document(STATUS)))
    assert document["model"] == {"id": "openai:gpt-5.5", "display_name": "gpt-5.5"}
    assert document["workspace"]["current_dir"] == document["cwd"] == "/"
    assert document["cost"]["total_cost_usd"] == 0.25
    assert document["context_window"]["used_percentage"] == 25
    assert (document["session_id"], document["permission_mode"], document["git_branch"]) == ("s1", "plan", "main")
    assert status_document(Status(mode="ask", usage=Usage()))["cost"] == {"total_cost_usd": None}


def test_colours_count_and_nothing_else_does() -> None:
    shown = status_output(b"\x1b[31mred\x1b[0m \x1b]0;title\x07 \x1b[2Jx\nsecond")
    assert shown.plain.startswith("red ")
    assert "\x1b" not in shown.plain
    assert "\x07" not in shown.plain
    assert "second" not in shown.plain
    assert str(shown.spans[0].style) == "color(1)"
    assert status_output(b"").plain == ""
    assert status_output(b"\xff").plain == "�"


async def ran(command: str, *, updates: int = 1, cwd: str = "/") -> tuple[list[str | None], list[str]]:
    lines: list[str | None] = []
    faults: list[str] = []

    def show(line: Text | None) -> None:
        lines.append(None if line is None else line.plain)

    status_command = StatusCommand(command, environ=dict(os.environ), show=show, notify=faults.append)
    for _ in range(updates):
        status_command.update(msgspec.structs.replace(STATUS, cwd=cwd))
    async with asyncio.timeout(HANGS):
        while not lines:  # noqa: ASYNC110 - no event reports what is awaited
            await asyncio.sleep(0.01)
    status_command.close()
    return lines, faults


async def test_its_first_line_is_shown() -> None:
    assert await ran("read x; echo one; echo two", updates=3) == (["one"], [])
    assert await ran("cat | tr ',' '\\n' | grep session_id") == (['"session_id":"s1"'], [])


async def test_a_command_that_fails_is_said_once_and_the_facts_stay(tmp_path: Path) -> None:
    lines, faults = await ran("echo half; exit 3")
    assert lines == [None]
    assert faults == ["Status line command failed: exit code 3. Fix `statusline` in config.toml."]
    lines, faults = await ran("echo x", cwd=str(tmp_path / "gone"))
    assert lines == [None]
    assert "No such file" in faults[0]


async def test_a_command_that_hangs_is_killed_with_what_it_began(tmp_path: Path) -> None:
    since = time.monotonic()
    lines, faults = await ran(f"echo $$ > {tmp_path}/pid; sleep 31416 & sleep 31416")
    assert lines == [None]
    assert f"it took longer than {COMMAND_LIMIT:g} s" in faults[0]
    assert time.monotonic() - since >= COMMAND_LIMIT
    eventually(lambda: not Path(f"/proc/{(tmp_path / 'pid').read_text().strip()}").exists())


async def test_leaving_kills_it(tmp_path: Path) -> None:
    status_command = StatusCommand(
        f"echo $$ > {tmp_path}/pid; sleep 31416", environ=dict(os.environ), show=print, notify=print
    )
    status_command.update(STATUS)
    pid = tmp_path / "pid"
    async with asyncio.timeout(HANGS):
        while not (pid.exists() and pid.read_text().strip()):  # noqa: ASYNC110 - no event reports what is awaited
            await asyncio.sleep(0.01)
    status_command.close()
    eventually(lambda: not Path(f"/proc/{pid.read_text().strip()}").exists())
    status_command.update(STATUS)

"""The tool `bash`: its plan, and the words the model reads about how a command ended."""

from __future__ import annotations

import asyncio
import json
import os
import re
from pathlib import Path

import pytest

from holdfast.errors import ToolFailed
from holdfast.tool_calls import Pattern
from holdfast.tools.approval.decision import Allow, Policy, decide
from holdfast.tools.background.kept_output import NEWEST, keep_output, output_file
from holdfast.tools.builtin.bash import BashTool, how_command_ended
from holdfast.tools.builtin.read_write import ReadTool
from holdfast.tools.process.command_end import CommandFinished
from holdfast.tools.process.session_supervisors import Supervisors
from holdfast.tools.tool import Plan, Tool, ToolContext, ToolOutput, Workspace
from process_leaks import linux_only

ALONE = "to keep one running, start it with background: true"


def tool(folder: Path) -> BashTool:
    return BashTool(Workspace(root=folder, spool=folder), Supervisors(folder))


def plan(folder: Path, **arguments: object) -> Plan:
    return tool(folder).plan("call-1", json.dumps(arguments))


def output(folder: Path, *, stop_at: str = "", **arguments: object) -> ToolOutput:
    """Return what a run gives; with `stop_at`, one that is stopped when that text was shown."""

    async def main() -> ToolOutput:
        supervisor = Supervisors(folder)
        stop = asyncio.Event()
        shown: list[str] = []

        def emit(text: str) -> None:
            shown.append(text)
            if stop_at and stop_at in "".join(shown):
                stop.set()

        tool: Tool = BashTool(Workspace(root=folder, spool=folder), supervisor)
        try:
            return await tool.plan("call-1", json.dumps(arguments)).run(
                ToolContext(call="call-1", stop=stop, emit=emit)
            )
        finally:
            await supervisor.close()

    return asyncio.run(main())


def finished(**fields: object) -> CommandFinished:
    base: dict[str, object] = {"cause": "exit", "code": 0, "signal": None, "seconds": 1.25, "text": ""}
    return CommandFinished(**{**base, **fields})  # pyright: ignore[reportArgumentType] - the test names the fields it means


def test_a_plan_shows_the_whole_command_and_does_nothing(tmp_path: Path) -> None:
    planned = plan(tmp_path, command="touch here\necho done")
    assert (planned.effect, planned.title, planned.detail) == ("execute", "run: touch here…", "touch here\necho done")
    assert planned.spool is not None
    assert re.fullmatch(r"call-1\.[0-9a-f]{32}\.out", planned.spool)
    assert (planned.changes, planned.outside) == ((), None)
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    ("command", "title"),
    [
        ("  make test \n", "run: make test "),
        ("x" * 81, f"run: {'x' * 79}…"),
        ("x" * 80, f"run: {'x' * 80}"),
        (" ", "run: "),
    ],
)
def test_a_title_is_one_short_line(tmp_path: Path, command: str, title: str) -> None:
    assert plan(tmp_path, command=command).title.strip() == title.strip()


@pytest.mark.parametrize(
    "arguments",
    [
        {},
        {"command": ""},
        {"command": "a\0b"},
        {"command": "ls", "timeout": 0},
        {"command": "ls", "timeout": 3601},
        {"cmd": "ls"},
    ],
)
def test_arguments_that_do_not_fit_are_refused_in_words(tmp_path: Path, arguments: dict[str, object]) -> None:
    with pytest.raises(ToolFailed, match="Nothing was"):
        plan(tmp_path, **arguments)


def test_the_schema_says_what_is_needed(tmp_path: Path) -> None:
    schema = tool(tmp_path).schema
    assert schema.name == "bash"
    assert schema.parameters["required"] == ["command"]
    assert schema.parameters["additionalProperties"] is False


@linux_only
@pytest.mark.parametrize(
    ("command", "text", "ok"),
    [
        ("echo out", "out\n(exit code 0, ", True),
        ("true", "(no output)\n(exit code 0, ", True),
        ("echo out; exit 3", "out\n(exit code 3, ", False),
        ("kill -KILL $$", "(no output)\n(ended by signal 9 (Killed), ", False),
        ("pwd", "{root}\n(exit code 0, ", True),
    ],
)
def test_the_model_reads_the_output_and_the_facts(tmp_path: Path, command: str, text: str, ok: bool) -> None:  # noqa: FBT001 - a table
    got = output(tmp_path, command=command)
    assert got.text.startswith(text.format(root=tmp_path))
    assert got.text.endswith(" s)")
    assert (got.ok, got.interrupted) == (ok, False)


@linux_only
def test_a_deadline_makes_the_call_failed(tmp_path: Path) -> None:
    got = output(tmp_path, command="echo begun; sleep 300", timeout=1)
    assert got.text.startswith("begun\n(timed out after 1.")
    assert (got.ok, got.interrupted) == (False, False)


@linux_only
def test_a_stop_makes_the_call_interrupted(tmp_path: Path) -> None:
    got = output(tmp_path, command="echo begun; sleep 300", stop_at="begun")
    assert got.text.startswith("begun\n(stopped after ")
    assert (got.ok, got.interrupted) == (False, True)


@pytest.mark.parametrize(
    ("fields", "sentence"),
    [
        ({"code": 1}, "exit code 1, 1.2 s"),
        ({"leftovers": 1}, f"exit code 0, 1.2 s; 1 process it left behind was ended; {ALONE}"),
        ({"leftovers": 2}, f"exit code 0, 1.2 s; 2 processes it left behind were ended; {ALONE}"),
        ({"unkept": "disk full"}, "exit code 0, 1.2 s; some of its output could not be kept: disk full"),
        (
            {"cause": "stop", "survivors": 1},
            "stopped after 1.2 s; 1 process of it could not be ended and may still run",
        ),
        (
            {"cause": "timeout"},
            (
                "timed out after 1.2 s, and everything it had started was ended; "
                "to let it run longer, give a longer timeout, or set background: true"
            ),
        ),
        (
            {"cause": "lost", "code": None},
            (
                "the process that runs commands died after 1.2 s, and everything it had started was ended; "
                "what the command did is unknown"
            ),
        ),
        (
            {"cause": "lost", "code": None, "survivors": None},
            (
                "the process that runs commands died after 1.2 s; what the command did is unknown; "
                "processes it started may still run"
            ),
        ),
    ],
)
def test_the_facts_are_stated_as_they_are(fields: dict[str, object], sentence: str) -> None:
    assert how_command_ended(finished(**fields)) == sentence


def test_it_runs_in_a_folder_of_the_workspace_and_asks_outside(tmp_path: Path) -> None:
    (tmp_path / "sub").mkdir()
    assert output(tmp_path, command="pwd", cwd="sub").text.startswith(f"{tmp_path / 'sub'}\n")
    planned = plan(tmp_path, command="make test", cwd="sub")
    assert (planned.folder, planned.outside, planned.title) == ("sub", None, "run: make test (in sub)")
    policy = Policy("ask", (Pattern(effect="execute", text="make test"),))
    assert decide(planned, policy) == decide(plan(tmp_path, command="cd sub && make test"), policy) == Allow()
    assert plan(tmp_path, command="make", cwd=".").folder == ""
    assert plan(tmp_path, command="make", cwd="/").outside == "/"
    (tmp_path / "link").symlink_to("/usr")
    assert plan(tmp_path, command="make", cwd="link").outside == "/usr"
    with pytest.raises(ToolFailed, match="Folder 'gone' does not exist"):
        plan(tmp_path, command="make", cwd="gone")


@linux_only
def test_the_whole_of_a_long_output_is_kept_and_read_without_asking(tmp_path: Path) -> None:
    work, outputs = tmp_path / "work", tmp_path / "outputs"
    work.mkdir()
    workspace = Workspace(root=work, spool=tmp_path, outputs=outputs)

    async def main(command: str, call: str) -> ToolOutput:
        supervisors = Supervisors(tmp_path)
        try:
            planned = BashTool(workspace, supervisors).plan(call, json.dumps({"command": command}))
            return await planned.run(ToolContext(call=call, stop=asyncio.Event(), emit=lambda _: None))
        finally:
            await supervisors.close()

    text = asyncio.run(main("seq 1 20000", "long")).text
    assert text.endswith(f"[All of its output that was stored is in {str(outputs / 'long.txt')!r}: read it.]")
    assert (outputs / "long.txt").read_text() == "".join(f"{number}\n" for number in range(1, 20001))
    assert "stored" not in asyncio.run(main("seq 1 20", "short")).text
    assert [each.name for each in outputs.iterdir()] == ["long.txt"]
    assert list(work.iterdir()) == []
    read = ReadTool(workspace)
    assert read.plan("r", json.dumps({"path": str(outputs / "long.txt")})).outside is None
    assert read.plan("r", json.dumps({"path": str(tmp_path / "other.txt")})).outside is not None
    (outputs / "trap.txt").symlink_to("/etc/passwd")
    assert read.plan("r", json.dumps({"path": str(outputs / "trap.txt")})).outside == "/etc/passwd"


def test_of_outputs_that_are_complete_the_newest_are_kept(tmp_path: Path) -> None:
    spool = tmp_path / "still.out"
    spool.write_text("goes on")
    assert keep_output(spool, output_file(tmp_path / "outputs", "still"))
    for number in range(NEWEST + 5):
        done = tmp_path / f"{number}.out"
        done.write_text("done")
        os.utime(done, ns=(number, number))
        assert keep_output(done, output_file(tmp_path / "outputs", str(number)))
        done.unlink()
    last = tmp_path / "last.out"
    last.write_text("last")
    assert keep_output(last, output_file(tmp_path / "outputs", "last"))
    names = {each.stem for each in (tmp_path / "outputs").iterdir()}
    assert names == {"still", "last", *(str(number) for number in range(5, NEWEST + 5))}

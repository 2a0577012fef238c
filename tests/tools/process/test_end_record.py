"""The record of how a command ended counts if its supervisor wrote it, whole; what a command puts there does not."""

from __future__ import annotations

import asyncio
import json
import os
import signal
import subprocess
from pathlib import Path

import pytest

from ends import ENDED, left
from holdfast.tool_calls import ProcessId
from holdfast.tools.builtin.bash import BashTool
from holdfast.tools.process.command_end import stored_output
from holdfast.tools.process.command_traces import traces_of
from holdfast.tools.process.end_record import LONGEST_RECORD, end_of, new_seal, read_end, write_end
from holdfast.tools.process.session_supervisors import Supervisors
from holdfast.tools.process.supervisor_client import forget
from holdfast.tools.tool import ToolContext, ToolOutput, Workspace
from polling import eventually
from process_leaks import alive, linux_only
from stubborn_commands import FORGERS, SABOTAGE


def test_what_is_written_with_the_seal_is_read(tmp_path: Path) -> None:
    assert json.loads(read_end(left(tmp_path, "out", status=3)) or b"") == ENDED | {"status": 3}


def test_a_record_that_is_altered_or_cut_short_anywhere_does_not_count(tmp_path: Path) -> None:
    spool = left(tmp_path, "out", status=0)
    end = end_of(spool)
    complete = end.read_bytes()
    for cut in range(len(complete)):
        end.write_bytes(complete[:cut])
        assert read_end(spool) is None, cut
        end.write_bytes(complete[:cut] + bytes([complete[cut] ^ 1]) + complete[cut + 1 :])
        assert read_end(spool) is None, cut
    end.write_bytes(complete)
    assert read_end(spool) is not None


def test_a_record_of_another_call_or_without_a_seal_does_not_count(tmp_path: Path) -> None:
    mine, other = (left(tmp_path, "out", status=status) for status in (1, 0))
    end_of(mine).write_bytes(end_of(other).read_bytes())
    assert read_end(mine) is None
    end_of(mine).write_text(json.dumps(ENDED))
    assert read_end(mine) is None
    old = tmp_path / "A.out"  # as it was named before there were seals
    old.touch()
    end_of(old).write_text(json.dumps(ENDED))
    assert read_end(old) is None


def test_a_record_that_is_too_long_does_not_count(tmp_path: Path) -> None:
    name, seal = new_seal("A")
    for size, counts in ((LONGEST_RECORD - 42, True), (LONGEST_RECORD, False)):
        write_end(str(end_of(tmp_path / name)), seal, "x" * size)
        assert (read_end(tmp_path / name) is not None) == counts


@pytest.mark.parametrize("forger", FORGERS)
def test_whatever_a_command_puts_there_is_not_believed_and_waited_for(tmp_path: Path, forger: str) -> None:
    spool = tmp_path / new_seal("A")[0]
    spool.write_text("half\n")
    environ = {**os.environ, "end": str(end_of(spool)), "record": json.dumps(ENDED)}
    subprocess.run(["/bin/bash", "-c", FORGERS[forger]], env=environ, check=True)
    found = traces_of(spool, 0.0)
    assert found is not None
    assert found.output.interrupted
    assert "how it ended is unknown" in found.output.text


def test_live_output_that_a_command_replaced_is_none(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe.out")
    (tmp_path / "link.out").symlink_to("/etc/passwd")
    assert [stored_output(tmp_path / name) for name in ("pipe.out", "link.out")] == ["", ""]


def ran(folder: Path, command: str) -> tuple[ToolOutput, Path]:
    """Return what the model reads of a command, and its live output, which is kept as when the agent dies."""
    spool = folder / "spool"
    spool.mkdir(exist_ok=True)

    async def act() -> tuple[ToolOutput, Path]:
        supervisor = Supervisors(folder)
        tool = BashTool(Workspace(root=folder, spool=spool), supervisor)
        plan = tool.plan(call := f"call-{os.urandom(4).hex()}", json.dumps({"command": command}))
        began: list[ProcessId] = []
        context = ToolContext(call=call, stop=asyncio.Event(), emit=lambda _: None, report_process=began.append)
        try:
            output = await plan.run(context)
        finally:
            await supervisor.close()
        assert plan.spool is not None
        eventually(lambda: alive(call) == [])
        return output, spool / plan.spool

    return asyncio.run(act())


@linux_only
@pytest.mark.parametrize("forger", FORGERS)
def test_the_supervisor_writes_its_own_in_the_place_of_a_forged_one(tmp_path: Path, forger: str) -> None:
    forged = f"end=$(echo spool/call*.out).end; record='{json.dumps(ENDED)}'; {FORGERS[forger]}; exit 7"
    output, spool = ran(tmp_path, forged)
    assert "(exit code 7" in output.text
    found = traces_of(spool, 0.0)
    assert found is not None
    assert found.output.text == output.text
    forget(spool)
    eventually(lambda: list((tmp_path / "spool").iterdir()) == [])


def test_folders_in_the_place_of_what_a_command_leaves_are_forgotten_with_it(tmp_path: Path) -> None:
    """Also full ones, and those of a command whose live output is one; what belongs to another call stays."""
    spool, other = left(tmp_path, None), left(tmp_path, "printed", call="B", status=0)
    for folder in (spool, end_of(spool), tmp_path / f"{spool.name}.end.0"):
        (folder / "in" / "it").mkdir(parents=True)
        (folder / "in" / "link").symlink_to(other)
    forget(spool)
    eventually(lambda: sorted(tmp_path.iterdir()) == [other, end_of(other)])


@linux_only
@pytest.mark.parametrize("how", SABOTAGE)
def test_a_command_that_ends_what_runs_it_is_not_said_to_have_been_stopped(tmp_path: Path, how: str) -> None:
    command, cause = SABOTAGE[how]
    output, spool = ran(tmp_path, command)
    because = {
        "unguarded": "because the watchdog of commands was killed",
        "signalled": "because the process that runs commands received a signal to exit",
        "lost": "the process that runs commands died",
    }[cause]
    assert because in output.text
    assert "stopped" not in output.text
    assert (output.ok, output.interrupted) == (False, True)
    if cause != "lost":
        found = traces_of(spool, 0.0)
        assert found is not None
        assert found.output.text == output.text


@linux_only
def test_one_who_asked_for_a_stop_reads_of_a_stop(tmp_path: Path) -> None:
    async def act() -> ToolOutput:
        supervisor = Supervisors(tmp_path)
        tool = BashTool(Workspace(root=tmp_path, spool=tmp_path), supervisor)
        stop = asyncio.Event()
        plan = tool.plan("call-1", json.dumps({"command": "echo ready; sleep 300"}))
        try:
            return await plan.run(ToolContext(call="call-1", stop=stop, emit=lambda _: stop.set()))
        finally:
            await supervisor.close()

    assert asyncio.run(act()).text.startswith("ready\n(stopped after")


@linux_only
def test_the_seal_is_not_where_a_command_looks_first(tmp_path: Path) -> None:
    """It is in no argument, no environment and no file while the command runs."""
    command = (
        "cat spool/*; env; cat /proc/$PPID/cmdline /proc/$PPID/environ /proc/self/environ 2>/dev/null | tr '\\0' '\\n'"
    )
    output, spool = ran(tmp_path, command)
    seal = end_of(spool).read_text().partition(" ")[0]
    assert len(seal) == 32
    assert seal not in output.text


@linux_only
def test_a_frozen_supervisor_goes_on_and_its_record_counts(tmp_path: Path) -> None:
    output, spool = ran(tmp_path, f"kill -{signal.SIGSTOP.value} $PPID; sleep 0.2; exit 5")
    found = traces_of(spool, 0.0)
    assert found is not None
    assert "(exit code 5" in output.text == found.output.text

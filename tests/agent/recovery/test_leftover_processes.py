"""The notice about processes whose end holdfast did not see: it says that all have exited only if that is known."""

from __future__ import annotations

from pathlib import Path

import pytest

import ends
from holdfast.agent.recovery.evidence import MAY_RUN, leftover_processes
from holdfast.session.conversation.conversation import OpenCall
from holdfast.session.journal.entries import CallStarted
from holdfast.session.journal.parts import CallPart
from holdfast.tool_calls import ProcessId
from holdfast.tools.process.launch import SUPERVISOR_LOCK
from holdfast.tools.process.process_table import boot
from holdfast.tools.process.watchdog import GONE
from holdfast.tools.toolbox import LocalToolbox
from process_leaks import linux_only

NOBODY = 4_194_304  # no process has so high a number


def left(process: ProcessId | None = None, *, spool: str | None = "A.out") -> OpenCall:
    return OpenCall(
        CallPart(id="A", name="bash", arguments="{}"),
        started=CallStarted(call="A", effect="execute", spool=spool),
        process=process,
    )


@pytest.fixture
def toolbox(tmp_path: Path) -> LocalToolbox:
    return LocalToolbox(tmp_path, tmp_path)


@linux_only
async def test_a_command_whose_end_was_not_seen_may_have_left_something(toolbox: LocalToolbox, tmp_path: Path) -> None:
    """A process without holdfast's mark and without its parent cannot be found."""
    began = left(ProcessId(pid=NOBODY, start=1, boot=boot()))
    assert await leftover_processes(toolbox, [began]) == MAY_RUN
    assert (
        await leftover_processes(toolbox, [left()]) == MAY_RUN
    )  # it was killed before it could say which process it is
    (tmp_path / "spool" / "A.out.end").touch()  # any process can write one
    assert await leftover_processes(toolbox, [began]) == MAY_RUN
    spool = ends.left(tmp_path / "spool", None, status=0).name
    assert await leftover_processes(toolbox, [left(began.process, spool=spool)]) == ""


@linux_only
async def test_what_is_known_to_be_gone_is_not_said_to_run(toolbox: LocalToolbox, tmp_path: Path) -> None:
    assert await leftover_processes(toolbox, [left(ProcessId(pid=NOBODY, start=1, boot="before"))]) == ""
    (tmp_path / SUPERVISOR_LOCK).write_bytes(GONE)  # the watchdog's word
    assert await leftover_processes(toolbox, [left(ProcessId(pid=NOBODY, start=1, boot=boot()))]) == ""
    (tmp_path / SUPERVISOR_LOCK).unlink()
    assert await leftover_processes(toolbox, [left(spool=None)]) == ""  # nothing that could leave anything
    toolbox.contain()
    assert await leftover_processes(toolbox, [left()]) == ""  # a process in a namespace is not journalled

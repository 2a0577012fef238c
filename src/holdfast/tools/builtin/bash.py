"""The tool `bash`: a shell command in the workspace, and the report of how it ended."""

from __future__ import annotations

import signal

from holdfast.errors import ToolFailed
from holdfast.tool_calls import Effect
from holdfast.tools.builtin.declarations import BASH_SCHEMA, BashArguments
from holdfast.tools.process.end_record import sealed
from holdfast.tools.process.supervisor_client import CommandFinished, Supervisor
from holdfast.tools.schema import parse_arguments
from holdfast.tools.tool import Plan, ToolContext, ToolOutput, Workspace

TITLE = 80  # characters of the command shown in a plan's title


class BashTool:
    """The tool `bash`: a command in the workspace, run by the supervisor process."""

    schema = BASH_SCHEMA
    effect: Effect = "execute"

    def __init__(self, workspace: Workspace, supervisor: Supervisor) -> None:
        self._workspace = workspace
        self._supervisor = supervisor

    def plan(self, call: str, arguments: str) -> Plan:
        """Return the plan to run the command; raises `ToolFailed` for invalid arguments."""
        wanted = parse_arguments(arguments, BashArguments, tool="bash")
        if "\0" in wanted.command:
            raise ToolFailed("The command contains a NUL character, which no program accepts. Nothing was run.")
        spool, seal = sealed(call)

        async def run(context: ToolContext) -> ToolOutput:
            finished = await self._supervisor.run(
                wanted.command,
                call=call,
                cwd=self._workspace.root,
                timeout=wanted.timeout,
                stop=context.stop,
                emit=context.emit,
                began=context.began,
                spool=self._workspace.spool / spool,
                seal=seal,
            )
            return output(finished)

        first, *more = wanted.command.strip().splitlines() or [""]
        title = first if len(first) <= TITLE else first[: TITLE - 1]
        return Plan(
            effect="execute",
            title=f"run: {title}{'…' if more or title != first else ''}",
            detail=wanted.command,
            command=wanted.command,
            spool=spool,
            run=run,
        )


def output(finished: CommandFinished) -> ToolOutput:
    """Return what the model reads about a command that ended."""
    return ToolOutput(
        text=f"{finished.text.rstrip() or '(no output)'}\n({facts(finished)})",
        ok=finished.cause == "exit" and finished.code == 0,
        interrupted=finished.cause not in ("exit", "timeout"),
    )


def facts(finished: CommandFinished) -> str:
    """Return a sentence on how the command ended, and which of its processes or output were lost."""
    after = f"{finished.seconds:.1f} s"
    all_ended = ", and everything it had started was ended" if finished.survivors == 0 else ""
    match finished.cause:
        case "timeout":
            said = [f"timed out after {after}{all_ended}"]
        case "stop":
            said = [f"stopped after {after}{all_ended}"]
        case "signalled":
            said = [f"ended after {after}{all_ended}, because the process that runs commands received a signal to exit"]
        case "unguarded":
            said = [f"ended after {after}{all_ended}, because the watchdog of commands was killed"]
        case "lost":
            said = [f"the process that runs commands died after {after}{all_ended}; what the command did is unknown"]
        case "exit" if finished.signal is not None:
            said = [f"ended by signal {finished.signal} ({signal.strsignal(finished.signal)}), {after}"]
        case "exit":
            said = [f"exit code {finished.code}, {after}"]
    if finished.leftovers:
        said.append(f"{_processes(finished.leftovers)} it left behind {_were(finished.leftovers)} ended")
    if finished.survivors is None:
        said.append("processes it started may still run")
    elif finished.survivors:
        said.append(f"{_processes(finished.survivors)} of it could not be ended and may still run")
    if finished.unkept:
        said.append(f"some of its output could not be kept: {finished.unkept}")
    return "; ".join(said)


def _processes(count: int) -> str:
    return "1 process" if count == 1 else f"{count} processes"


def _were(count: int) -> str:
    return "was" if count == 1 else "were"

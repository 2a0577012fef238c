"""The tool `bash`: a shell command in the workspace, and what the model is told about how it ended."""

from __future__ import annotations

import signal
from typing import Annotated

import msgspec

from holdfast.calls import Effect
from holdfast.errors import ToolFailed
from holdfast.tools.arguments import parse, schema_of
from holdfast.tools.end_record import sealed
from holdfast.tools.shell import Finished, Keeper
from holdfast.tools.tool import Context, Output, Plan, Workspace

TITLE = 80  # characters of the command in the title of a plan


class BashArguments(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """What the model writes to run a command."""

    command: Annotated[str, msgspec.Meta(min_length=1, description="The command, as for `bash -c`.")]
    timeout: Annotated[
        float, msgspec.Meta(ge=1, le=3600, description="Seconds after which it is ended; 120 if not given.")
    ] = 120.0


DESCRIPTION = """Run a shell command in the workspace and return its output, stdout and stderr together.
Every command starts in a new shell in the workspace folder. It has no terminal and no input, so nothing can be \
answered: use flags such as --yes. When the command ends, everything it still has running in the background is ended \
too. Of a long output you see the beginning and the end; redirect it to a file if you need all of it."""


class BashTool:
    """The tool `bash`: a command in the workspace, run by the keeper."""

    effect: Effect = "execute"

    def __init__(self, workspace: Workspace, keeper: Keeper) -> None:
        self.schema = schema_of("bash", DESCRIPTION, BashArguments)
        self._workspace = workspace
        self._keeper = keeper

    def plan(self, call: str, arguments: str) -> Plan:
        """Return the plan to run the command; raises `ToolFailed` if the arguments do not fit."""
        wanted = parse(arguments, BashArguments, tool="bash")
        if "\0" in wanted.command:
            raise ToolFailed("The command contains a NUL character, which no program can be given. Nothing was run.")
        spool, seal = sealed(call)

        async def run(context: Context) -> Output:
            finished = await self._keeper.run(
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


def output(finished: Finished) -> Output:
    """Return what the model reads of a command that ended."""
    return Output(
        text=f"{finished.text.rstrip() or '(no output)'}\n({facts(finished)})",
        ok=finished.cause == "exit" and finished.code == 0,
        interrupted=finished.cause not in ("exit", "timeout"),
    )


def facts(finished: Finished) -> str:
    """Return in one sentence how the command ended and what of it was ended, lost or left."""
    after = f"{finished.seconds:.1f} s"
    all_ended = ", and everything it had started was ended" if finished.survivors == 0 else ""
    match finished.cause:
        case "timeout":
            said = [f"timed out after {after}{all_ended}"]
        case "stop":
            said = [f"stopped after {after}{all_ended}"]
        case "signalled":
            said = [f"ended after {after}{all_ended}, because a signal told the process that runs commands to end"]
        case "unguarded":
            said = [f"ended after {after}{all_ended}, because the guard of the process that runs commands was killed"]
        case "lost":
            said = [f"the process that runs commands died after {after}{all_ended}; what the command did is unknown"]
        case "exit" if finished.signal is not None:
            said = [f"ended by signal {finished.signal} ({signal.strsignal(finished.signal)}), {after}"]
        case "exit":
            said = [f"exit code {finished.code}, {after}"]
    if finished.leftovers:
        said.append(f"{_processes(finished.leftovers)} it left behind {_were(finished.leftovers)} ended")
    if finished.survivors is None:
        said.append("something it started may still run")
    elif finished.survivors:
        said.append(f"{_processes(finished.survivors)} of it could not be ended and may still run")
    if finished.unkept:
        said.append(f"some of its output could not be kept: {finished.unkept}")
    return "; ".join(said)


def _processes(count: int) -> str:
    return "1 process" if count == 1 else f"{count} processes"


def _were(count: int) -> str:
    return "was" if count == 1 else "were"

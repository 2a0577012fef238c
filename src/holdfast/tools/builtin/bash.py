"""The tool `bash`: a shell command in the workspace, and the report of how it ended."""

from __future__ import annotations

import shutil
import signal
from pathlib import Path

import msgspec

from holdfast.errors import ToolFailed
from holdfast.tool_calls import Effect, ProcessId
from holdfast.tools.background.kept_output import keep, kept_file
from holdfast.tools.builtin.declarations import BASH_SCHEMA, BashArguments
from holdfast.tools.command_parts import CommandParts
from holdfast.tools.process.end_record import sealed
from holdfast.tools.process.session_supervisors import CommandRequest, Supervisors
from holdfast.tools.process.supervisor_client import CommandFinished
from holdfast.tools.schema import parse_arguments
from holdfast.tools.tool import Plan, ToolContext, ToolOutput, Workspace
from holdfast.tools.truncation import escape_newlines
from holdfast.tools.workspace.command_files import on_disk
from holdfast.tools.workspace.safe_paths import resolve

DEFAULT = 120.0  # seconds after which a command is ended that is waited for
TITLE = 80  # characters of the command shown in a plan's title


class BashTool:
    """The tool `bash`: a command in the workspace, run by a supervisor process."""

    schema = BASH_SCHEMA
    effect: Effect = "execute"

    def __init__(self, workspace: Workspace, supervisors: Supervisors) -> None:
        self._workspace = workspace
        self._supervisors = supervisors

    def plan(self, call: str, arguments: str) -> Plan:
        """Return the plan to run the command; raises `ToolFailed` for invalid arguments."""
        wanted = parse_arguments(arguments, BashArguments, tool="bash")
        if "\0" in wanted.command:
            raise ToolFailed("The command contains a NUL character, which no program accepts. Nothing was run.")
        from holdfast.tools.command_analysis import command_parts  # noqa: PLC0415 - a parser, for the first command

        place = resolve(self._workspace.root, wanted.cwd)
        if not place.path.is_dir():
            raise ToolFailed(
                f"Folder {wanted.cwd!r} does not exist, or is no folder. Nothing was run; see it with glob."
            )
        line = command_parts(wanted.command, root=str(self._workspace.root), folder=str(place.path), around=on_disk())
        if _patches(line):
            raise ToolFailed(
                "Command 'apply_patch' is a tool here, not a program of the shell. Nothing was run. "
                "Call the tool apply_patch with the patch as 'input'; if you have no such tool, use edit."
            )
        name, seal = sealed(call)
        spool = self._workspace.spool / name
        kept = kept_file(self._workspace.outputs, call) if self._workspace.outputs is not None else None
        limit = wanted.timeout if wanted.timeout is not msgspec.UNSET else None if wanted.background else DEFAULT
        request = CommandRequest(
            command=wanted.command,
            call=call,
            cwd=place.path,
            timeout=limit,
            spool=spool,
            seal=seal,
            background=wanted.background,
        )

        async def run(context: ToolContext) -> ToolOutput:
            def began(process: ProcessId) -> None:
                if wanted.background and kept is not None:
                    keep(spool, kept)
                context.began(process)

            finished = await self._supervisors.run(request, stop=context.stop, emit=context.emit, began=began)
            return output(finished, kept_output(spool, kept, finished))

        def release() -> None:
            if kept is not None:
                keep(spool, kept)
            self._supervisors.keep(call)

        first, *more = wanted.command.strip().splitlines() or [""]
        title = first if len(first) <= TITLE else first[: TITLE - 1]
        folder = "" if place.name == "." else place.name
        where = f" (in {folder})" if folder else ""
        return Plan(
            effect="execute",
            title=escape_newlines(
                f"run{' in the background' if wanted.background else ''}: "
                f"{title}{'…' if more or title != first else ''}{where}"
            ),
            detail=wanted.command,
            command=wanted.command,
            line=line,
            folder=folder,
            outside=place.outside,
            spool=name,
            kept="" if kept is None else str(kept),
            background=wanted.background,
            release=None if wanted.background else release,
            run=run,
        )


def _patches(line: CommandParts) -> bool:
    """Return whether a line calls `apply_patch`, which models are trained to do, and there is no such program."""
    names = {name for part in line.parts for text in part.texts[:1] for name in text.split(maxsplit=1)[:1]}
    return not names.isdisjoint(("apply_patch", "applypatch")) and shutil.which("apply_patch") is None


def output(finished: CommandFinished, kept: Path | None = None) -> ToolOutput:
    """Return what the model reads about a command that ended; `kept` is the file with its whole output, if cut."""
    whole = f"\n[All of its output that was stored is in {str(kept)!r}: read it.]" if kept is not None else ""
    return ToolOutput(
        text=f"{finished.text.rstrip() or '(no output)'}\n({facts(finished)}){whole}",
        ok=finished.cause == "exit" and finished.code == 0,
        interrupted=finished.cause not in ("exit", "timeout"),
    )


def kept_output(spool: Path, kept: Path | None, finished: CommandFinished) -> Path | None:
    """Keep the whole output of a command if its text is cut; return the file, None if there is none."""
    return kept if finished.is_cut and kept is not None and keep(spool, kept) else None


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
        alone = "; to keep one running, start it with background: true" if finished.cause == "exit" else ""
        said.append(f"{_processes(finished.leftovers)} it left behind {_were(finished.leftovers)} ended{alone}")
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

"""The tool `bash`: a shell command in the workspace, and the report of how it ended."""

from __future__ import annotations

import os
import shutil
import signal
from pathlib import Path

import msgspec

from holdfast.errors import ToolFailed
from holdfast.system.confinement.survey import LOOKING_PROGRAMS
from holdfast.system.safe_paths import resolve
from holdfast.system.threads import in_daemon
from holdfast.tool_calls import Confined, Effect, ProcessId
from holdfast.tools.approval.command_parts import CommandParts
from holdfast.tools.background.kept_output import keep_output, output_file
from holdfast.tools.builtin.declarations import BASH_SCHEMA, BashArguments
from holdfast.tools.process.command_end import CommandFinished
from holdfast.tools.process.end_record import new_seal
from holdfast.tools.process.session_supervisors import CommandRequest, Supervisors
from holdfast.tools.sandbox import ConfinedStart, Sandbox, confinement_note, is_host_pattern, moved_note, refused_note
from holdfast.tools.schema import parse_arguments
from holdfast.tools.tool import Plan, ToolContext, ToolOutput, Workspace
from holdfast.tools.truncation import escape_newlines
from holdfast.tools.workspace.command_files import Below, disk_surroundings

DEFAULT = 120.0  # seconds after which a foreground command is ended
_BY_SIGNAL = 128  # an exit code above it, inside bubblewrap, is it and the number of a signal
TITLE = 80  # characters of the command shown in a plan's title


class BashTool:
    """The tool `bash`: a command in the workspace, run by a supervisor process."""

    schema = BASH_SCHEMA
    effect: Effect = "execute"

    def __init__(self, workspace: Workspace, supervisors: Supervisors, sandbox: Sandbox | None = None) -> None:
        self._workspace = workspace
        self._supervisors = supervisors
        self._sandbox = sandbox

    def plan(self, call: str, arguments: str) -> Plan:
        """Return the plan to run the command; raises `ToolFailed` for invalid arguments."""
        args = parse_arguments(arguments, BashArguments, tool="bash")
        if "\0" in args.command:
            raise ToolFailed("The command contains a NUL character, which no program accepts. Nothing was run.")
        if (strange := next((each for each in args.network if not is_host_pattern(each)), None)) is not None:
            raise ToolFailed(
                f"Address {strange!r} in 'network' is no host (such as 'pypi.org', '*.example.org' or "
                "'example.org:8080'). Nothing was run."
            )
        from holdfast.tools.approval.command_analysis import command_parts

        place = resolve(self._workspace.root, args.cwd)
        if not os.path.isdir(place.path):  # noqa: PTH112 - False also for a name that is too long
            raise ToolFailed(f"Folder {args.cwd!r} does not exist, or is no folder. Nothing was run; see it with glob.")
        levels = () if self._sandbox is None else self._sandbox.levels
        around = disk_surroundings(is_confined=bool(levels))
        line = command_parts(args.command, root=str(self._workspace.root), folder=str(place.path), around=around)
        below = around.below(str(self._workspace.root), False) if levels else Below()  # noqa: FBT003 - of a lookup
        cannot_hide = "" if self._sandbox is None or not levels else self._sandbox.cannot_hide(below.files)
        if _patches(line):
            raise ToolFailed(
                "Command 'apply_patch' is a tool here, not a program of the shell. Nothing was run. "
                "Call the tool apply_patch with the patch as 'input'; if you have no such tool, use edit."
            )
        name, seal = new_seal(call)
        spool = self._workspace.spool / name
        output_path = output_file(self._workspace.outputs, call) if self._workspace.outputs is not None else None
        limit = args.timeout if args.timeout is not msgspec.UNSET else None if args.background else DEFAULT
        request = CommandRequest(
            command=args.command,
            call=call,
            cwd=place.path,
            timeout=limit,
            spool=spool,
            seal=seal,
            background=args.background,
        )

        async def run(context: ToolContext) -> ToolOutput:
            confined = request
            if context.confined and self._sandbox is not None:
                start = ConfinedStart(
                    level=context.confined,
                    cwd=place.path,
                    files=below.files,
                    may_read=context.may_read,
                    by_user=context.by_user,
                    stays=args.background,
                    looks=line.only_reads
                    and any(part.words[:1] and part.words[0] in LOOKING_PROGRAMS for part in line.parts),
                )
                sandbox = self._sandbox
                fields = await in_daemon(lambda: sandbox.launch_fields(start, call=call))
                confined = msgspec.structs.replace(request, wall=fields, hosts=args.network)

            def on_start(process: ProcessId) -> None:
                if args.background and output_path is not None:
                    keep_output(spool, output_path)
                context.report_process(process)

            finished = await self._supervisors.run(confined, stop=context.stop, emit=context.emit, on_start=on_start)
            file = keep_cut_output(spool, output_path, finished)
            output = command_output(finished, file, confined=context.confined, typed=context.typed)
            if args.background or context.typed or output.exit is None:
                return output
            from holdfast.tools.test_runs.run_of_line import unknown_exit_note

            note = unknown_exit_note(args.command, output.exit, root=str(self._workspace.root))
            return msgspec.structs.replace(output, text=output.text + note)

        def release() -> None:
            if output_path is not None:
                keep_output(spool, output_path)
            self._supervisors.keep(call)

        first, *more = args.command.strip().splitlines() or [""]
        title = first if len(first) <= TITLE else first[: TITLE - 1]
        folder = "" if place.name == "." else place.name
        where = f" (in {folder})" if folder else ""
        return Plan(
            effect="execute",
            title=escape_newlines(
                f"run{' in the background' if args.background else ''}: "
                f"{title}{'…' if more or title != first else ''}{where}"
            ),
            detail=args.command,
            command=args.command,
            line=line,
            folder=folder,
            outside=place.outside,
            spool=name,
            output_file="" if output_path is None else str(output_path),
            background=args.background,
            release=None if args.background else release,
            run=run,
            levels=levels,
            network=args.network,
            leaves=args.outside,
            sandbox_required=self._sandbox is not None and self._sandbox.mode == "require",
            hides_secrets=below.is_complete and not cannot_hide,
            cannot_hide=cannot_hide,
            sandbox_notice="" if self._sandbox is None else self._sandbox.wall.notice,
        )


def _patches(line: CommandParts) -> bool:
    """Return whether a line calls `apply_patch`, which models are trained to do, and there is no such program."""
    names = {name for part in line.parts for text in part.texts[:1] for name in text.split(maxsplit=1)[:1]}
    return not names.isdisjoint(("apply_patch", "applypatch")) and shutil.which("apply_patch") is None


def command_output(
    finished: CommandFinished, full_output: Path | None = None, *, confined: Confined = "", typed: bool = False
) -> ToolOutput:
    """Return what the model reads about a command that ended; `full_output` is the file with all of it, if cut.

    `confined` is the level at which it ran, "" if it was not confined; one that was `typed` is the user's own.
    """
    pointer = (
        f"\n[All of its output that was stored is in {str(full_output)!r}: read it.]" if full_output is not None else ""
    )
    ok = finished.cause == "exit" and finished.code == 0
    note = (
        moved_note(finished.moved)
        + refused_note(finished.refused)
        + ("" if ok else confinement_note(confined, finished.text))
    )
    return ToolOutput(
        text=f"{finished.text.rstrip() or '(no output)'}\n({how_command_ended(finished, typed=typed)}){pointer}{note}",
        ok=ok,
        interrupted=finished.cause not in ("exit", "timeout"),
        exit=finished.code if finished.cause == "exit" and finished.signal is None else None,
    )


def keep_cut_output(spool: Path, file: Path | None, finished: CommandFinished) -> Path | None:
    """Keep the complete output of a command if its text is cut; return the file, None if there is none."""
    return file if finished.is_cut and file is not None and keep_output(spool, file) else None


def how_command_ended(finished: CommandFinished, *, typed: bool = False) -> str:
    """Return a sentence on how the command ended, and which of its processes or output were lost.

    One that the user `typed` has no way to keep a process, and no `background`.
    """
    after = f"{finished.seconds:.1f} s"
    all_ended = ", and everything it had started was ended" if finished.survivors == 0 else ""
    match finished.cause:
        case "timeout":
            clauses = [f"timed out after {after}{all_ended}"]
            if not typed:
                clauses.append("to let it run longer, give a longer timeout, or set background: true")
        case "stop":
            clauses = [f"stopped after {after}{all_ended}"]
        case "signalled":
            clauses = [
                f"ended after {after}{all_ended}, because the process that runs commands received a signal to exit"
            ]
        case "unguarded":
            clauses = [f"ended after {after}{all_ended}, because the watchdog of commands was killed"]
        case "lost":
            clauses = [f"the process that runs commands died after {after}{all_ended}; what the command did is unknown"]
        case "exit" if finished.signal is not None:
            clauses = [f"ended by signal {finished.signal} ({signal.strsignal(finished.signal)}), {after}"]
        case "exit":
            clauses = [f"exit code {finished.code}{_signal_inside(finished)}, {after}"]
    if finished.leftovers and typed:
        clauses.append(f"holdfast ended {_processes(finished.leftovers)} that this command left behind")
    elif finished.leftovers:
        alone = "; to keep one running, start it with background: true" if finished.cause == "exit" else ""
        clauses.append(f"{_processes(finished.leftovers)} it left behind {_were(finished.leftovers)} ended{alone}")
    if finished.survivors is None:
        clauses.append("processes it started may still run")
    elif finished.survivors:
        clauses.append(f"{_processes(finished.survivors)} of it could not be ended and may still run")
    if finished.unkept:
        clauses.append(f"some of its output could not be kept: {finished.unkept}")
    return "; ".join(clauses)


def _signal_inside(finished: CommandFinished) -> str:
    """Return which signal an exit code stands for: bubblewrap, which waits for the command, cannot die of it too."""
    number = (finished.code or 0) - _BY_SIGNAL
    if finished.wall != "bwrap" or number not in signal.valid_signals():
        return ""
    names = {each.value: each.name for each in signal.Signals}
    return f" (killed by {names.get(number, f'signal {number}')}, or ended with {_BY_SIGNAL} + {number})"


def _processes(count: int) -> str:
    return "1 process" if count == 1 else f"{count} processes"


def _were(count: int) -> str:
    return "was" if count == 1 else "were"

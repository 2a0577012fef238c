"""What the tools that search a workspace cost, next to the programs that look at the same files.

All CPU time counts: that of this process, and that of everything the supervisor of the session ran.
"""

from __future__ import annotations

import asyncio
import json
import os
import random
import resource
import shutil
import subprocess
from collections.abc import Awaitable, Callable, Sequence
from pathlib import Path

from holdfast.tools.builtin.glob import GlobTool
from holdfast.tools.builtin.grep import GrepTool
from holdfast.tools.process.session_supervisors import Supervisors
from holdfast.tools.tool import Tool, ToolContext, Workspace
from holdfast.ui.tui.widgets.completion import Listing
from pairs import AtMost, Comparison

_WORDS = [
    "alpha",
    "beta",
    "gamma",
    "delta",
    "value",
    "result",
    "import",
    "return",
    "class",
    "def",
    "self",
    "config",
    "error",
    "number",
    "string",
]
_ENDINGS = (".py", ".ts", ".c", ".md", ".json", ".h")
_RARE = "the_rare_word"
_IN_FOLDER = 50
_TICKS = os.sysconf("SC_CLK_TCK")


def plant(root: Path, files: int) -> None:
    """Make a repository of so many small text files, in folders of fifty; one in a thousand has the rare word."""
    draw = random.Random(7)
    for at in range(files):
        folder = root / f"package_{at // (_IN_FOLDER * 100):02}" / f"module_{at // _IN_FOLDER % 100:02}"
        if at % _IN_FOLDER == 0:
            folder.mkdir(parents=True)
        lines = [" ".join(draw.choices(_WORDS, k=8)) for _ in range(draw.randint(5, 40))]
        if at % 1000 == 0:
            lines.append(f"here is {_RARE} once")
        (folder / f"file_{at % _IN_FOLDER:02}_{draw.choice(_WORDS)}{_ENDINGS[at % 6]}").write_text("\n".join(lines))
    (root / ".gitignore").write_text("*.log\nbuild/\n")
    for words in (("init",), ("add", "-A"), ("commit", "-m", "all")):
        who = ("-c", "user.name=bench", "-c", "user.email=bench@example.org", "-c", "core.fsync=none")
        subprocess.run(["git", *who, *words], cwd=root, check=True, capture_output=True)


def searching(scratch: Path, *, files: int, rounds: int) -> list[Comparison]:
    """Compare `grep`, `glob` and `@` in a large repository with the programs that do the same."""
    root = scratch.resolve() / "tree"
    root.mkdir()
    plant(root, files)
    listed = subprocess.run(["git", "ls-files", "-co", "-z"], cwd=root, check=True, capture_output=True).stdout
    names = scratch / "names"
    names.write_bytes(listed)
    own, hidden = str(scratch / "without-rg"), scratch / "without-any"
    for folder, left_out in ((Path(own), {"rg"}), (hidden, {"rg", "grep"})):
        _path_without(folder, left_out)
    git = ("git", "ls-files", "-co", "--exclude-standard", "-z")
    found: list[Comparison] = []
    if shutil.which("rg"):
        rg = ("sh", "-c", f"xargs -0 rg -n {_RARE} <{names}")
        found.append(
            _compared(scratch, root, f"grep, {files:,} files, with ripgrep", _grep, rg, AtMost(ratio=1.5), rounds)
        )
    grep = ("grep", "-rn", "--exclude-dir=.git", _RARE, ".")
    found.append(
        _compared(scratch, root, f"grep, {files:,} files, with grep", _grep, grep, AtMost(ratio=2), rounds, own)
    )
    found.append(
        _compared(scratch, root, f"grep, {files:,} files, alone", _grep, (), AtMost(ratio=1), rounds, str(hidden))
    )
    found.append(_compared(scratch, root, f"glob **/*.py, {files:,} files", _glob, git, AtMost(ratio=1.5), rounds))
    found.append(_compared(scratch, root, f"glob **/*, {files:,} files", _glob_all, git, AtMost(ratio=1.5), rounds))
    found.append(_compared(scratch, root, f"the list of @, {files:,} files", _mention, git, AtMost(ratio=1.5), rounds))
    return found


_Work = Callable[[Workspace, Supervisors], Awaitable[None]]


def _compared(  # noqa: PLR0913, PLR0917 - what a comparison is made of
    scratch: Path,
    root: Path,
    what: str,
    work: _Work,
    command: Sequence[str],
    aim: AtMost,
    rounds: int,
    path: str = "",
) -> Comparison:
    """Compare the CPU time of a call with that of a command, or with ten seconds if there is none."""
    session = scratch / "session"
    (session / "spool").mkdir(parents=True, exist_ok=True)
    before = os.environ["PATH"]
    os.environ["PATH"] = path or before
    try:
        ours = asyncio.run(_measured(work, Workspace(root=root, spool=session / "spool"), session, rounds))
    finally:
        os.environ["PATH"] = before
    theirs = [_command_seconds(command, root) if command else 10.0 for _ in range(rounds + 1)][1:]
    against = command[0] if command and command[0] != "sh" else "rg" if command else "10 s"
    return Comparison(what=what, against=against, ours=ours, theirs=theirs, aim=aim)


async def _measured(work: _Work, space: Workspace, session: Path, rounds: int) -> list[float]:
    supervisors = Supervisors(session, workspace=space.root)
    taken: list[float] = []
    try:
        for _ in range(rounds + 1):  # the first one starts the supervisor, and warms the cache of the disk
            begun = _cpu_seconds()
            await work(space, supervisors)
            taken.append(_cpu_seconds() - begun)
    finally:
        await supervisors.close()
    return taken[1:]


async def _grep(space: Workspace, supervisors: Supervisors) -> None:
    text = await _called(GrepTool(space, supervisors.capture), pattern=_RARE)
    assert _RARE in text


async def _glob(space: Workspace, supervisors: Supervisors) -> None:
    assert ".py" in await _called(GlobTool(space, supervisors.capture), pattern="**/*.py")


async def _glob_all(space: Workspace, supervisors: Supervisors) -> None:
    assert ".py" in await _called(GlobTool(space, supervisors.capture), pattern="**/*")


async def _mention(space: Workspace, _: Supervisors) -> None:
    assert (await Listing().listed(space.root)).names


async def _called(tool: Tool, **arguments: object) -> str:
    context = ToolContext(call="bench", stop=asyncio.Event(), emit=lambda _: None, has_read_rules=False)
    return (await tool.plan("bench", json.dumps(arguments)).run(context)).text


def _command_seconds(command: Sequence[str], root: Path) -> float:
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    subprocess.run(command, cwd=root, check=False, capture_output=True)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def _cpu_seconds() -> float:
    """Return the CPU time of this process, its ended children, and all processes below it with theirs."""
    times = os.times()
    total, parents = sum(times[:4]), {os.getpid()}
    stats: dict[int, tuple[int, float]] = {}
    for entry in Path("/proc").iterdir():
        if entry.name.isdecimal():
            try:
                fields = (entry / "stat").read_text().rpartition(")")[2].split()
            except OSError:
                continue
            stats[int(entry.name)] = (int(fields[1]), sum(map(int, fields[11:15])) / _TICKS)
    while parents:
        below = {pid for pid, (parent, _) in stats.items() if parent in parents}
        total += sum(stats[pid][1] for pid in below)
        parents = below
    return total


def _path_without(folder: Path, names: set[str]) -> None:
    folder.mkdir()
    for place in os.environ["PATH"].split(os.pathsep):
        for program in Path(place).iterdir() if Path(place).is_dir() else ():
            link = folder / program.name
            if program.name not in names and not link.is_symlink():
                link.symlink_to(program)

"""The tool `bash` behind bubblewrap: every way in which a wall can fail, and what is left, shown and said then."""

from __future__ import annotations

import asyncio
import contextlib
import json
import os
import shutil
import subprocess
import time
from collections.abc import AsyncGenerator, Awaitable, Callable
from contextlib import asynccontextmanager
from pathlib import Path

import pytest

from holdfast.errors import ToolFailed
from holdfast.system.secret_files import holds_secrets
from holdfast.tool_calls import Confined
from holdfast.tools.builtin.bash import BashTool, how_command_ended
from holdfast.tools.process.command_end import CommandFinished
from holdfast.tools.process.command_traces import traces_of
from holdfast.tools.process.session_supervisors import Supervisors
from holdfast.tools.sandbox import Sandbox
from holdfast.tools.tool import Plan, ToolContext, ToolOutput, Workspace
from polling import eventually, slowness
from process_leaks import linux_only
from walls import need

pytestmark = linux_only


@pytest.fixture(autouse=True)
def _wall() -> None:  # pyright: ignore[reportUnusedFunction] - pytest uses it
    need("bwrap")


class Session:
    """A workspace and the tool `bash` of a session, with its wall."""

    def __init__(self, folder: Path, session: Path | None = None) -> None:
        self.workspace = folder / "ws"
        self.folder = session or folder / "session"
        for each in (self.workspace, self.folder):
            each.mkdir(parents=True, exist_ok=True)
        self.supervisors = Supervisors(self.folder)
        self.sandbox = Sandbox(self.workspace, self.folder, mode="auto", private=(self.folder,))
        self.tool = BashTool(Workspace(root=self.workspace, spool=self.folder), self.supervisors, self.sandbox)
        self.stop = asyncio.Event()
        self.shown = ""
        self.calls = 0

    def plan(self, command: str, **arguments: object) -> Plan:
        self.calls += 1
        return self.tool.plan(f"c{self.calls}", json.dumps({"command": command, **arguments}))

    async def go(self, plan: Plan, level: Confined = "workspace", *, by_user: bool = True) -> ToolOutput:
        def emit(text: str) -> None:
            self.shown += text
            if "stop now" in self.shown:
                self.stop.set()

        return await plan.run(
            ToolContext(
                call=f"c{self.calls}",
                stop=self.stop,
                emit=emit,
                confined=level,
                by_user=by_user,
                may_read=lambda path: "name" if holds_secrets(path) else "all",
            )
        )

    async def run(self, command: str, level: Confined = "workspace", **arguments: object) -> ToolOutput:
        return await self.go(self.plan(command, **arguments), level)


@asynccontextmanager
async def session(folder: Path, at: Path | None = None) -> AsyncGenerator[Session]:
    created = Session(folder, at)
    try:
        yield created
    finally:
        await created.supervisors.close()


def on_session(folder: Path, act: Callable[[Session], Awaitable[None]], at: Path | None = None) -> None:
    async def main() -> None:
        async with asyncio.timeout(100), session(folder, at) as created:
            await act(created)

    asyncio.run(main())


def descriptors(pid: int) -> list[str]:
    found: list[str] = []
    for path in Path(f"/proc/{pid}/fd").iterdir():
        with contextlib.suppress(FileNotFoundError):  # the listing's own
            found.append(str(path.readlink()).partition(":")[0])
    return sorted(found)


def supervisors() -> list[int]:
    """Return the watchdog of this process's supervisor, and all below it."""
    children = (int(each) for each in Path(f"/proc/self/task/{os.getpid()}/children").read_text().split())
    found = [each for each in children if "supervisor" in Path(f"/proc/{each}/cmdline").read_text()]
    return [*found, *(each for pid in found for each in below(pid))]


def below(pid: int) -> list[int]:
    tasks = Path(f"/proc/{pid}/task").iterdir()
    children = [int(child) for task in tasks for child in (task / "children").read_text().split()]
    return [*children, *(each for child in children for each in below(child))]


def test_no_descriptor_is_left_of_fifty_commands(tmp_path: Path) -> None:
    async def act(session: Session) -> None:
        await session.run("true", "network", network=["example.org"])
        before = {pid: descriptors(pid) for pid in (os.getpid(), *supervisors())}
        assert len(before) >= 3
        for number in range(50):
            level: Confined = ("read", "workspace", "network")[number % 3]
            got = await session.run("echo x", level, network=["example.org"] if level == "network" else [])
            assert got.ok, got.text
        for pid, had in before.items():
            assert len(descriptors(pid)) <= len(had), (pid, had, descriptors(pid))
        assert set(supervisors()) <= set(before)

    on_session(tmp_path, act)


@pytest.mark.parametrize("level", ["read", "workspace", "network"])
def test_a_confined_command_is_stopped_at_once(tmp_path: Path, level: Confined) -> None:
    async def act(session: Session) -> None:
        network = ["example.org"] if level == "network" else []
        since = time.monotonic()
        got = await session.run("trap '' TERM INT; echo stop now; sleep 300", level, network=network)
        assert time.monotonic() - since < 1.5 * slowness()
        assert got.interrupted
        assert "stopped after" in got.text
        assert "and everything it had started was ended" in got.text

    on_session(tmp_path, act)


def test_a_confined_command_ends_after_its_time(tmp_path: Path) -> None:
    async def act(session: Session) -> None:
        got = await session.run("setsid sleep 300 & sleep 300", timeout=1)
        assert "timed out after 1." in got.text

    on_session(tmp_path, act)


@pytest.mark.parametrize(
    ("code", "wall", "words"),
    [
        (143, "bwrap", "exit code 143 (killed by SIGTERM, or ended with 128 + 15), 1.0 s"),
        (137, "bwrap", "exit code 137 (killed by SIGKILL, or ended with 128 + 9), 1.0 s"),
        (128, "bwrap", "exit code 128, 1.0 s"),
        (255, "bwrap", "exit code 255, 1.0 s"),
        (2, "bwrap", "exit code 2, 1.0 s"),
        (143, "landlock", "exit code 143, 1.0 s"),
        (143, "", "exit code 143, 1.0 s"),
    ],
)
def test_an_exit_code_inside_says_which_signal_it_stands_for(code: int, wall: str, words: str) -> None:
    finished = CommandFinished(cause="exit", code=code, signal=None, seconds=1.0, text="", wall=wall)
    assert how_command_ended(finished) == words


def test_a_signal_inside_is_named(tmp_path: Path) -> None:
    async def act(session: Session) -> None:
        assert (
            "(exit code 143 (killed by SIGTERM, or ended with 128 + 15), " in (await session.run("kill -TERM $$")).text
        )

    on_session(tmp_path, act)


def failing_wall(folder: Path, line: str) -> str:
    """Return a PATH that finds another bubblewrap than the one that was tried."""
    program = folder / "bin" / "bwrap"
    program.parent.mkdir()
    program.write_text(f"#!/bin/sh\n{line}\n")
    program.chmod(0o755)
    return f"{program.parent}:{os.environ['PATH']}"


@pytest.mark.parametrize(
    "line",
    ["echo 'bwrap: no namespace' >&2; exit 1", "exit 7", "exit 0", "exec /does/not/exist", "exit 127"],
)
def test_a_wall_that_fails_after_it_was_tried_runs_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, line: str
) -> None:
    async def act(session: Session) -> None:
        plan = session.plan("touch ran")
        monkeypatch.setenv("PATH", failing_wall(tmp_path, line))
        with pytest.raises(ToolFailed, match="could not be confined") as failed:
            await session.go(plan)
        assert str(failed.value).endswith("Nothing was run.")
        assert not (session.workspace / "ran").exists()
        monkeypatch.undo()
        assert (await session.run("echo again")).text.startswith("again\n")

    on_session(tmp_path, act)


def file_instead_of_masks(session: Session) -> None:
    (session.folder / "masks").write_text("")


def file_instead_of_tmp(session: Session) -> None:
    (session.folder / "tmp").write_text("")


def link_instead_of_masks(session: Session) -> None:
    (session.folder / "masks").symlink_to("/proc/1/nothing")


def wrong_placeholder(session: Session) -> None:
    (session.folder / "masks").mkdir()
    (session.folder / "masks/folder").write_text("shown instead")


def no_workspace(session: Session) -> None:
    shutil.rmtree(session.workspace)


def no_cwd(session: Session) -> None:
    (session.workspace / "sub").rmdir()


@pytest.mark.parametrize(
    "break_it",
    [file_instead_of_masks, file_instead_of_tmp, link_instead_of_masks, wrong_placeholder, no_workspace, no_cwd],
    ids=lambda each: each.__name__,
)
@pytest.mark.parametrize("level", ["read", "workspace"])
def test_what_breaks_between_plan_and_start_runs_nothing_and_is_said(
    tmp_path: Path, level: Confined, break_it: Callable[[Session], None]
) -> None:
    async def act(session: Session) -> None:
        (session.workspace / "sub").mkdir()
        (session.workspace / ".env").write_text("KEY=x")
        plan = session.plan("touch /tmp/ran $TMPDIR/ran; echo it ran", cwd="sub")
        break_it(session)
        with pytest.raises(ToolFailed) as failed:
            await session.go(plan, level)
        assert str(failed.value).startswith("The command could not be ")
        assert str(failed.value).endswith("Nothing was run.")
        assert "it ran" not in session.shown

    on_session(tmp_path, act)


def test_more_masks_than_an_argument_list_holds_run_nothing_and_are_said(tmp_path: Path) -> None:
    async def act(session: Session) -> None:
        for number in range(4000):
            (session.workspace / f"{number:05}.pem").write_text("x")
        plan = session.plan("touch ran")
        with pytest.raises(ToolFailed, match=r"^The command could not be .*Nothing was run\.$"):
            await session.go(plan, by_user=False)
        assert not (session.workspace / "ran").exists()

    on_session(tmp_path, act)


def test_a_session_inside_the_workspace_is_hidden_and_its_tmpdir_works(tmp_path: Path) -> None:
    async def act(session: Session) -> None:
        (session.folder / "journal").write_text("TOPSECRET")
        for level in ("read", "workspace"):
            got = await session.run(f"echo x > $TMPDIR/f && cat $TMPDIR/f; cat {session.folder}/journal", level)
            assert got.text.startswith("x\n"), got.text
            assert "TOPSECRET" not in got.text

    on_session(tmp_path, act, tmp_path / "ws/.holdfast/session")


def test_a_command_that_the_user_allowed_can_commit(tmp_path: Path) -> None:
    async def act(session: Session) -> None:
        await asyncio.to_thread(subprocess.run, ["git", "init", "-q", str(session.workspace)], check=True)
        (session.workspace / "a.txt").write_text("x")
        who = "-c user.name=a -c user.email=a@example.org"
        got = await session.run(f"git add a.txt && git {who} commit -qm one && git log --format=%s")
        assert got.text.startswith("one\n"), got.text
        await session.run("git config core.pager evil; echo x > .git/hooks/pre-commit")
        assert "evil" not in (session.workspace / ".git/config").read_text()
        assert not (session.workspace / ".git/hooks/pre-commit").exists()

    on_session(tmp_path, act)


def test_what_git_would_obey_is_moved_away_and_said(tmp_path: Path) -> None:
    async def act(session: Session) -> None:
        await asyncio.to_thread(subprocess.run, ["git", "init", "-q", str(session.workspace)], check=True)
        for number in (1, 2):
            got = await session.run("echo ../evil > .git/commondir; echo made")
            git = session.workspace / ".git"
            assert "git would take its settings from elsewhere. It was moved away" in got.text
            assert str(git / "commondir") in got.text
            assert not (git / "commondir").exists()
            assert (git / f"commondir.moved-{number}").read_text() == "../evil\n"
        assert "moved" not in (await session.run("echo nothing")).text

    on_session(tmp_path, act)


def test_the_record_of_an_end_says_what_the_call_would_have_said(tmp_path: Path) -> None:
    async def act(session: Session) -> None:
        plan = session.plan("kill -TERM $$")
        assert plan.spool is not None
        got = await session.go(plan)
        eventually(lambda: traces_of(session.folder / str(plan.spool), 0.0) is not None)
        traces = traces_of(session.folder / plan.spool, 0.0)
        assert traces is not None
        assert traces.output.text == got.text

    on_session(tmp_path, act)


@pytest.mark.parametrize(
    "address",
    [
        "https://pypi.org",
        "example.org/simple",
        "user@host",
        "a b",
        "a\nb",
        "**",
        "*.",
        "*x.org",
        "a:99999999",
        "é.org",
        ":80",
    ],
)
def test_what_is_no_address_is_refused_before_anyone_is_asked(tmp_path: Path, address: str) -> None:
    with pytest.raises(ToolFailed, match="is no host"):
        Session(tmp_path).plan("ls", network=[address])


@pytest.mark.parametrize("address", ["pypi.org", "*.pypi.org", "*", "a_b-c.d:8080", "[2001:db8::1]", "10.0.0.1:80"])
def test_an_address_is_a_host_with_or_without_a_port(tmp_path: Path, address: str) -> None:
    assert Session(tmp_path).plan("ls", network=[address]).network == (address,)


@pytest.mark.parametrize(
    "arguments",
    [
        {"cwd": "a\0b"},
        {"cwd": "x" * 5000},
        {"outside": "x" * 501},
        {"network": ["h"] * 21},
        {"timeout": -1},
        {"level": "x"},
    ],
    ids=str,
)
def test_arguments_beyond_their_bounds_plan_nothing(tmp_path: Path, arguments: dict[str, object]) -> None:
    with pytest.raises(ToolFailed):
        Session(tmp_path).plan("ls", **arguments)

"""The supervisor as a program: however its agent ends, nothing is left, and its lock says so."""

from __future__ import annotations

import asyncio
import fcntl
import json
import os
import signal
import subprocess
import sys
import time
import uuid
from collections.abc import Generator
from contextlib import contextmanager, suppress
from pathlib import Path

import pytest

from holdfast.tools.process.command_end import stored_output
from holdfast.tools.process.environment import child_environment
from holdfast.tools.process.launch import PACKAGES, PROGRAM, SUPERVISOR_LOCK
from holdfast.tools.process.supervisor_locks import left_nothing, wait_for_exit
from polling import HANGS, eventually, expect_within
from process_leaks import alive, linux_only, peak_memory
from skips import needs
from stubborn_commands import NASTY

pytestmark = linux_only

# An agent that runs the commands of a file, all at once, and ends in the given way, or not at all.
AGENT = """
import asyncio, json, os, sys, threading, time
from pathlib import Path
from holdfast.tools.process.environment import child_environment
from holdfast.tools.process.supervisor_client import Supervisor

folder, ending = Path(sys.argv[1]), sys.argv[2]
commands = json.loads((folder / "commands.json").read_text())

async def main():
    supervisor = Supervisor(folder)
    stop = asyncio.Event()
    for call, command in commands.items():
        run = supervisor.run(command, call=call, cwd=folder, timeout=60, stop=stop, emit=lambda text: None,
                         spool=folder / f"{call}.out")
        commands[call] = asyncio.create_task(run)
    while not (folder / "end").exists():
        await asyncio.sleep(0.01)
    if ending == "returns":
        for task in commands.values():
            task.cancel()
        return
    if ending == "raises":
        raise RuntimeError
    if ending == "exits":
        os._exit(1)
    if ending == "is killed with a fork that holds its files":
        if os.fork() == 0:
            time.sleep(60)
            os._exit(0)
    (folder / "waits").touch()
    await asyncio.sleep(60)

asyncio.run(main())
"""


@contextmanager
def agent(folder: Path, commands: dict[str, str], ending: str = "") -> Generator[subprocess.Popen[bytes]]:
    """Start an agent in its own session, and wait until each of its commands said `ready`."""
    (folder / "commands.json").write_text(json.dumps(commands))
    argv = [sys.executable, "-c", AGENT, str(folder), ending]
    with subprocess.Popen(argv, start_new_session=True, stderr=subprocess.DEVNULL) as process:
        try:
            eventually(lambda: all("ready" in stored_output(folder / f"{call}.out") for call in commands))
            yield process
        finally:
            process.kill()
            process.wait()
            with suppress(ProcessLookupError):
                os.killpg(process.pid, signal.SIGKILL)  # its forks


def calls(commands: dict[str, str]) -> dict[str, str]:
    return {f"call-{uuid.uuid4().hex}": command for command in commands.values()}


def all_ended(folder: Path, seconds: float = 5.0) -> bool:
    return asyncio.run(wait_for_exit(folder, seconds))


@pytest.mark.parametrize(
    "ending", ["returns", "raises", "exits", "is killed", "is killed with a fork that holds its files"]
)
def test_nothing_outlives_an_agent_however_it_ends(tmp_path: Path, ending: str) -> None:
    commands = calls({name: NASTY[name] for name in ("has a daemon", "is deaf to SIGTERM")})
    with agent(tmp_path, commands, ending) as process:
        (tmp_path / "end").touch()
        if ending.startswith("is killed"):
            eventually((tmp_path / "waits").exists)
            process.kill()
        assert all_ended(tmp_path)
        assert [call for call in commands if alive(call)] == []  # at once: the lock was free
    assert all("ready" in stored_output(tmp_path / f"{call}.out") for call in commands)


def at_a_sign(harm: str) -> str:
    """Return a command that does harm once its `ready` was read: a frozen supervisor passes no words on."""
    return f"setsid sleep 300 & echo ready; until [ -e sign ]; do sleep 0.01; done; {harm}; touch done; sleep 300"


def give_the_sign(folder: Path) -> None:
    (folder / "sign").touch()
    eventually((folder / "done").exists)


@pytest.mark.parametrize("frozen", ["$PPID", "$PPID $(cut -d' ' -f4 /proc/$PPID/stat)"])
def test_a_command_that_freezes_its_supervisor_and_watchdog_does_not_outlive_the_agent(
    tmp_path: Path, frozen: str
) -> None:
    (call,) = commands = calls({"freezes": at_a_sign(f"kill -STOP {frozen}")})
    with agent(tmp_path, commands) as process:
        give_the_sign(tmp_path)
        process.kill()
        assert all_ended(tmp_path)
        assert alive(call) == []


GUARD = "$(cut -d' ' -f4 /proc/$PPID/stat)"


@pytest.mark.parametrize(
    "faults", [f"kill -STOP $PPID; kill -KILL {GUARD}", f"g={GUARD}; kill -KILL $g; kill -STOP $PPID"]
)
def test_a_supervisor_that_is_frozen_and_loses_its_watchdog_is_not_left(tmp_path: Path, faults: str) -> None:
    (call,) = commands = calls({"strikes": at_a_sign(faults)})
    with agent(tmp_path, commands) as process:
        (tmp_path / "sign").touch()
        assert all_ended(tmp_path), "also while the agent lives"
        assert alive(call) == []
        assert process.poll() is None


def test_a_frozen_supervisor_that_loses_its_watchdog_goes_on_without_an_agent(tmp_path: Path) -> None:
    with spoken(tmp_path) as speaker:
        call = f"call-{uuid.uuid4().hex}"
        speaker.ask(call, NASTY["has a daemon"])
        eventually(lambda: "ready" in stored_output(tmp_path / f"{call}.out"))
        supervisor = speaker.supervisor
        speaker.process.send_signal(signal.SIGSTOP)  # so that it thaws no process
        os.kill(supervisor, signal.SIGSTOP)
        speaker.process.kill()
        assert all_ended(tmp_path)
        assert alive(call) == []


def test_a_hangup_of_the_terminal_does_not_reach_the_supervisor(tmp_path: Path) -> None:
    """Ctrl+C goes to every process of the terminal's group: the agent decides what it means, not the supervisor."""
    (call,) = commands = calls({"waits": NASTY["waits"]})
    with agent(tmp_path, commands) as process:
        os.kill(process.pid, signal.SIGSTOP)
        for child in alive(call):
            assert os.getsid(child) != os.getsid(process.pid)
        supervisor = int(Path(f"/proc/{alive(call)[0]}/stat").read_text().rpartition(")")[2].split()[1])
        assert os.getsid(supervisor) != os.getsid(process.pid)


# The protocol, spoken by hand


class Spoken:
    """A supervisor whose requests and answers are written and read here."""

    def __init__(self, folder: Path, *within: str, program: str = PROGRAM) -> None:
        self.folder = folder
        self.process = subprocess.Popen(
            [*within, sys.executable, "-I", "-S", "-c", program, str(PACKAGES), str(folder / SUPERVISOR_LOCK)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            env=child_environment(os.environ),
        )

    @property
    def supervisor(self) -> int:
        """Return the process that speaks; the one that was started is its watchdog."""
        watchdog = self.process.pid
        return int(Path(f"/proc/{watchdog}/task/{watchdog}/children").read_text())

    def ask(self, call: str, command: str, **more: object) -> None:
        env = child_environment(os.environ, call=call)
        request = {"call": call, "command": command, "cwd": str(self.folder), "env": env, "timeout": 30.0, "seal": ""}
        assert self.process.stdin is not None
        self.process.stdin.write(
            json.dumps({**request, "spool": str(self.folder / f"{call}.out"), **more}).encode() + b"\n"
        )
        self.process.stdin.flush()

    def hear(self) -> tuple[dict[str, object], bytes]:
        assert self.process.stdout is not None
        report: dict[str, object] = json.loads(self.process.stdout.readline())
        size = report.get("size", 0)
        assert isinstance(size, int)
        return report, self.process.stdout.read(size)

    def hear_end(self) -> dict[str, object]:
        while (report := self.hear()[0])["kind"] != "ended":
            pass
        return report


@contextmanager
def spoken(folder: Path, *within: str, program: str = PROGRAM) -> Generator[Spoken]:
    speaker = Spoken(folder, *within, program=program)
    with speaker.process:
        try:
            yield speaker
        finally:
            speaker.process.kill()


def test_it_speaks_lines(tmp_path: Path) -> None:
    with spoken(tmp_path) as speaker:
        assert speaker.hear() == ({"kind": "ready", "pid": speaker.supervisor}, b"")
        go = tmp_path / "go"  # a command that has ended before it is looked at is not reported as started
        speaker.ask("c", f"echo ab; until [ -e {go} ]; do sleep 0.01; done")
        started, _ = speaker.hear()
        assert started.keys() == {"kind", "call", "pid", "start", "boot"}
        assert (started["kind"], started["call"]) == ("started", "c")
        assert speaker.hear() == ({"kind": "live", "call": "c", "size": 3, "dropped": 0}, b"ab\n")
        go.touch()
        report = speaker.hear_end()
        assert (report["call"], report["cause"], report["status"], report["seen"]) == ("c", "exit", 0, 3)


def test_it_needs_little_but_the_standard_library(tmp_path: Path) -> None:
    done = subprocess.run(
        [sys.executable, "-I", "-S", "-X", "importtime", "-c", PROGRAM, str(PACKAGES), str(tmp_path / SUPERVISOR_LOCK)],
        input=b"",
        capture_output=True,
        check=True,
        env={},
    )
    assert b'{"kind": "ready", ' in done.stdout
    imported = {line.rpartition("|")[2].strip() for line in done.stderr.decode().splitlines()}
    assert not imported & {"typing", "pathlib", "subprocess", "asyncio"}
    holdfast = {name for name in imported if name.startswith("holdfast")}
    names = ("supervisor", "end_record", "watchdog", "process_table", "supervised_command")
    process = {f"holdfast.tools.process.{name}" for name in names}
    assert holdfast == {"holdfast", "holdfast.tools", "holdfast.tools.process", *process}


@pytest.mark.parametrize(("killed", "code"), [("supervisor", 0), ("watchdog", -signal.SIGKILL)])
def test_supervisor_and_watchdog_each_end_what_the_other_kept(tmp_path: Path, killed: str, code: int) -> None:
    """All the others, and the agent beside them, are in `tests/faults/test_nasty_children.py`."""
    with spoken(tmp_path) as speaker:
        call = f"call-{uuid.uuid4().hex}"
        speaker.ask(call, NASTY["has a daemon"])
        eventually(lambda: "ready" in stored_output(tmp_path / f"{call}.out"))
        os.kill(speaker.supervisor if killed == "supervisor" else speaker.process.pid, signal.SIGKILL)
        assert speaker.process.wait(HANGS) == code
        assert all_ended(tmp_path)
        assert alive(call) == []
        assert left_nothing(tmp_path) is (killed == "supervisor"), (
            "who ends by its own death what is left, writes nothing"
        )


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT, signal.SIGHUP])
def test_a_signal_ends_it_and_everything_it_keeps(tmp_path: Path, number: signal.Signals) -> None:
    with spoken(tmp_path) as speaker:
        call = f"call-{uuid.uuid4().hex}"
        speaker.ask(call, NASTY["has a daemon"])
        eventually(lambda: "ready" in stored_output(tmp_path / f"{call}.out"))
        speaker.process.send_signal(number)
        assert speaker.process.wait(HANGS) == 0
        assert alive(call) == []


# Its first command is there, and it does not know it yet.
SIGNALLED_AT_A_START = """
import os, signal, sys
sys.path.append(sys.argv.pop(1))
from holdfast.tools.process import supervisor

class Signalled(supervisor.SupervisedCommand):
    def __init__(self, *arguments, **named):
        os.kill(os.getpid(), signal.SIGTERM)
        super().__init__(*arguments, **named)

supervisor.SupervisedCommand = Signalled
supervisor.main()
"""


def test_a_signal_while_a_command_is_being_started_ends_that_command(tmp_path: Path) -> None:
    with spoken(tmp_path, program=SIGNALLED_AT_A_START) as speaker:
        call = f"call-{uuid.uuid4().hex}"
        speaker.ask(call, "sleep 300", timeout=0)
        assert speaker.hear_end()["cause"] == "signalled"
        assert speaker.process.wait(HANGS) == 0
        assert alive(call) == []


def test_an_agent_that_does_not_listen_stops_nothing(tmp_path: Path) -> None:
    with spoken(tmp_path) as speaker:
        speaker.ask("c", "yes | head -c 50000000; sleep 0.2; yes no | head -c 50000000; touch finished")
        eventually((tmp_path / "finished").exists)
        assert peak_memory(speaker.supervisor) < 60_000
        shown = dropped = 0
        while (heard := speaker.hear())[0]["kind"] != "ended":
            if heard[0]["kind"] == "live":
                shown += len(heard[1])
                dropped += int(str(heard[0]["dropped"]))
        assert shown + dropped == heard[0]["seen"] == 100_000_000
        assert shown < 1_000_000


def test_a_second_supervisor_waits_until_the_first_is_gone(tmp_path: Path) -> None:
    with spoken(tmp_path) as first:
        first.hear()
        with spoken(tmp_path) as second:
            assert second.process.stdout is not None
            os.set_blocking(second.process.stdout.fileno(), False)
            time.sleep(0.2)  # it could speak now, and must not
            assert second.process.stdout.read() is None
            assert first.process.stdin is not None
            first.process.stdin.close()
            assert first.process.wait(HANGS) == 0
            os.set_blocking(second.process.stdout.fileno(), True)
            assert second.hear()[0]["kind"] == "ready"


def test_the_lock_is_not_inherited_by_commands(tmp_path: Path) -> None:
    with spoken(tmp_path) as speaker:
        speaker.ask("c", "echo ready; exec sleep 300")
        eventually(lambda: stored_output(tmp_path / "c.out"))
        os.kill(speaker.supervisor, signal.SIGKILL)
        speaker.process.wait(HANGS)
        with (tmp_path / SUPERVISOR_LOCK).open("rb") as lock:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)


def test_a_command_starts_with_the_default_signals_and_few_files(tmp_path: Path) -> None:
    with spoken(tmp_path) as speaker:
        speaker.ask("c", "grep -E 'Sig(Blk|Ign)' /proc/self/status; ls /proc/self/fd | wc -w")
        speaker.hear_end()
    blocked, ignored, files = stored_output(tmp_path / "c.out").splitlines()
    of_the_c_library = 1 << 31 | 1 << 32  # 32 and 33, which no program can set: however the tests were started
    assert int(blocked.split()[1], 16) == 0
    assert int(ignored.split()[1], 16) & ~of_the_c_library == 0
    assert int(files) == 4  # three, and the folder that ls looks at


def test_a_spool_that_cannot_be_written_is_reported_at_the_end(tmp_path: Path) -> None:
    with spoken(tmp_path) as speaker:
        speaker.ask("c", "echo lost", spool="/dev/full")
        report = speaker.hear_end()
        assert (report["status"], report["seen"]) == (0, 5)
        assert "space" in str(report["unkept"])


WITHOUT_CAP_KILL = ("setpriv", "--bounding-set=-kill", "--inh-caps=-all")
"""Root that may not signal another user's processes: what a setuid program is to everybody."""


@needs("root")
def test_what_cannot_be_ended_is_counted_once(tmp_path: Path) -> None:
    another = "setpriv --reuid=65534 --clear-groups sleep 300"
    commands = calls({"first": f"{another} & sleep 300 & sleep 0.3", "second": "true", "third": another})
    with spoken(tmp_path, *WITHOUT_CAP_KILL) as speaker:
        try:
            for call, command in commands.items():
                speaker.ask(call, command, timeout=0.7)
            ends = {str(end["call"]): end for end in (speaker.hear_end() for _ in commands)}
            counted = [(ends[call]["cause"], ends[call]["leftovers"], ends[call]["survivors"]) for call in commands]
            assert counted == [("exit", 1, 1), ("exit", 0, 0), ("timeout", 0, 1)]
            began = time.monotonic()
            speaker.ask("another", "sleep 300 & sleep 0.2")
            end = speaker.hear_end()
            assert (end["leftovers"], end["survivors"]) == (1, 0)
            expect_within(2, began)
            assert speaker.process.stdin is not None
            speaker.process.stdin.close()
            assert speaker.process.wait(HANGS) == 1
        finally:
            for pid in [pid for call in commands for pid in alive(call)]:
                os.kill(pid, signal.SIGKILL)


@pytest.mark.parametrize("name", ["keeper.lock", "keeper-2.lock", "supervisor.lock"])
def test_a_supervisor_of_before_its_lock_was_renamed_is_waited_for(tmp_path: Path, name: str) -> None:
    lock = os.open(tmp_path / name, os.O_RDWR | os.O_CREAT)
    try:
        fcntl.flock(lock, fcntl.LOCK_EX)
        assert not asyncio.run(wait_for_exit(tmp_path, 0.0))
    finally:
        os.close(lock)
    assert asyncio.run(wait_for_exit(tmp_path, 0.0))

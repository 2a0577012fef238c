"""Commands through a real supervisor: what is said about them, and that nothing of them is left."""

from __future__ import annotations

import asyncio
import os
import re
import signal
import sys
from pathlib import Path

import pytest

from command_bench import Bench, finished, new_call, on_bench
from hidden_programs import path_without
from holdfast.errors import ToolFailed
from holdfast.tool_calls import ProcessId
from holdfast.tools.process import command_end, launch, supervisor_client
from holdfast.tools.process import supervised_command as spooled
from holdfast.tools.process import supervisor as program
from holdfast.tools.process.command_end import stored_output
from holdfast.tools.process.environment import child_environment
from holdfast.tools.process.process_table import boot
from holdfast.tools.process.supervisor_locks import wait_for_exit
from polling import HANGS, eventually
from process_leaks import alive, linux_only, open_files, peak_memory
from skips import require
from stubborn_commands import NASTY

pytestmark = linux_only


@pytest.mark.parametrize(
    ("command", "text", "code", "number"),
    [
        ("echo out; echo err >&2", "out\nerr\n", 0, None),
        ("echo no; exit 7", "no\n", 7, None),
        ("kill -SEGV $$", "", None, signal.SIGSEGV),
        ("no-such-command-here 2>/dev/null", "", 127, None),
        ("cat; echo end of input", "end of input\n", 0, None),
        (r"printf 'a\377b\0c\303'", "a\ufffdb\ufffdc\ufffd", 0, None),
        ("yes | head -n 1", "y\n", 0, None),
        ("echo hello > >(cat)", "hello\n", 0, None),
        ("exec >&- 2>&-; exit 3", "", 3, None),
        ("[[ -n $BASH_VERSION ]] && echo bash", "bash\n", 0, None),
    ],
)
def test_what_a_command_did_is_reported(tmp_path: Path, command: str, text: str, code: int, number: int) -> None:
    got = finished(tmp_path, command)
    assert (got.cause, got.text, got.code, got.signal) == ("exit", text, code, number)
    assert (got.leftovers, got.survivors, got.unkept) == (0, 0, "")
    assert got.seconds < HANGS


def test_there_is_no_terminal_to_ask_on(tmp_path: Path) -> None:
    got = finished(tmp_path, "cat </dev/tty")
    assert got.code == 1
    assert "/dev/tty" in got.text


def test_a_folder_that_is_gone_is_named(tmp_path: Path) -> None:
    got = finished(tmp_path, "echo here", cwd=tmp_path / "gone")
    assert got.code == 126
    assert "could not be started" in got.text
    assert "gone" in got.text


def test_a_command_may_remove_its_own_folder(tmp_path: Path) -> None:
    (tmp_path / "gone").mkdir()
    assert finished(tmp_path, 'rmdir "$PWD"; echo still here', cwd=tmp_path / "gone").text == "still here\n"


def test_a_command_may_remove_its_own_spool(tmp_path: Path) -> None:
    got = finished(tmp_path, 'echo lost; rm -f -- "$HOLDFAST_CALL.out"')
    assert (got.code, got.text) == (0, "")
    assert "No such file" in got.unkept


def test_a_command_longer_than_the_system_takes_is_refused_in_words(tmp_path: Path) -> None:
    got = finished(tmp_path, f": {'x' * 300_000}")
    assert got.code == 126
    assert "too long" in got.text


def test_a_command_whose_output_cannot_be_kept_is_not_started(tmp_path: Path) -> None:
    async def act(bench: Bench) -> None:
        with pytest.raises(ToolFailed, match="Nothing was run"):
            await bench.supervisor.run(
                "touch started",
                call="c",
                cwd=tmp_path,
                timeout=5,
                stop=asyncio.Event(),
                emit=bench.emit,
                spool=tmp_path / "no" / "c.out",
            )
        assert (await bench.run("ls")).text.count("started") == 0

    on_bench(tmp_path, act)


# Output


def test_long_output_keeps_its_beginning_and_its_end(tmp_path: Path) -> None:
    got = finished(tmp_path, "echo first; head -c 10000000 /dev/zero | tr '\\0' x; echo; echo last")
    assert got.text.startswith("first\nxxx")
    assert got.text.endswith("xxx\nlast\n")
    assert "[... 9970012 bytes of output were cut here ...]" in got.text
    assert len(got.text) < 31_000
    (spool,) = tmp_path.glob("*.out")
    assert spool.stat().st_size <= spooled.SPOOL_HEAD + 2 * spooled.SPOOL_TAIL + program.OUTPUT_CHUNK
    stored = spool.read_bytes()
    assert stored[spooled.SPOOL_HEAD :].startswith(spooled.SPOOL_MARK)
    assert stored.endswith(b"xxx\nlast\n")
    assert {path.stat().st_mode & 0o777 for path in tmp_path.iterdir()} == {0o600}


def test_output_without_end_is_bounded_in_memory_file_and_time(tmp_path: Path) -> None:
    async def act(bench: Bench) -> None:
        pid = await bench.supervisor_pid()
        got = await bench.run("yes", call="endless", timeout=1)
        assert got.cause == "timeout"
        (cut,) = re.findall(r"(\d+) bytes of output were cut here", got.text)
        assert int(cut) > 10_000_000
        assert got.text.startswith("y\ny\n")
        assert (
            tmp_path / "endless.out"
        ).stat().st_size <= spooled.SPOOL_HEAD + 2 * spooled.SPOOL_TAIL + program.OUTPUT_CHUNK
        assert peak_memory(pid) < 60_000
        assert len(bench.shown) < 2_000_000
        assert "bytes are not shown here" in bench.shown

    on_bench(tmp_path, act)


def test_output_is_shown_while_the_command_runs(tmp_path: Path) -> None:
    async def act(bench: Bench) -> None:
        task = asyncio.create_task(
            bench.run("printf 'ready \\303'; until [ -e go ]; do sleep 0.02; done; printf '\\251'")
        )
        await bench.ready.wait()
        assert bench.shown == "ready "  # the second half of the character is not there yet
        (tmp_path / "go").touch()
        assert (await task).text == bench.shown == "ready é"

    on_bench(tmp_path, act)


def test_a_cut_goes_between_characters(tmp_path: Path) -> None:
    spool = tmp_path / "x.out"
    spool.write_text("a" + "é" * 40_000 + "b")
    text = stored_output(spool)
    assert "\ufffd" not in text
    assert text.startswith("aé")
    assert text.endswith("éb")
    assert f"{80_002 - command_end.HEAD - command_end.TAIL} bytes of output were cut" in text


def test_of_a_command_that_kept_nothing_nothing_is_read(tmp_path: Path) -> None:
    assert stored_output(tmp_path / "none.out") == ""


# The environment


def test_a_command_never_sees_a_key(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("OPENAI_API_KEY", "ANTHROPIC_API_KEY", "AWS_SECRET_ACCESS_KEY", "GITHUB_TOKEN", "BASH_ENV"):
        monkeypatch.setenv(name, "sk-secret")
    got = finished(tmp_path, "env; tr '\\0' '\\n' </proc/$PPID/environ")
    assert "GIT_TERMINAL_PROMPT=0\n" in got.text
    assert "HOLDFAST_CALL=call-" in got.text
    assert "sk-secret" not in got.text


def test_the_environment_is_an_allow_list() -> None:
    environ = {
        "PATH": "/p",
        "LC_ALL": "C.UTF-8",
        "XDG_CACHE_HOME": "/c",
        "TERM": "xterm",
        "X_API_KEY": "k",
        "PYTHONPATH": "x",
    }
    assert child_environment(environ) == {
        "PATH": "/p",
        "LC_ALL": "C.UTF-8",
        "XDG_CACHE_HOME": "/c",
        "TERM": "dumb",
        "NO_COLOR": "1",
        "PAGER": "cat",
        "GIT_PAGER": "cat",
        "GIT_EDITOR": "true",
        "GIT_TERMINAL_PROMPT": "0",
    }
    assert child_environment({})["PATH"] == os.defpath


# Ending


@pytest.mark.parametrize(
    "name", ["waits", "is deaf to SIGTERM", "writes for ever", "stops itself", "closes its output"]
)
def test_a_stop_ends_everything_and_keeps_what_there_was(tmp_path: Path, name: str) -> None:
    async def act(bench: Bench) -> None:
        task = asyncio.create_task(bench.run(NASTY[name]))
        await bench.ready.wait()
        bench.stop.set()
        got = await task  # Bench.run has looked for survivors
        assert (got.cause, got.survivors) == ("stop", 0)
        assert "ready\n" in got.text
        assert "after" not in got.text

    on_bench(tmp_path, act)


def is_frozen(pid: int) -> bool:
    return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] == "T"


@pytest.mark.parametrize("first", ["", "kill -STOP $$; "])
def test_a_stopped_command_may_end_in_its_own_words(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, first: str
) -> None:
    """It has a handler for SIGTERM, which runs to its end also if the command was frozen."""
    patient = "from holdfast.tools.process import supervisor; supervisor._GRACE = 15.0; supervisor.main()"
    monkeypatch.setattr(launch, "PROGRAM", f"import sys; sys.path.append(sys.argv.pop(1)); {patient}")
    handler = "trap 'sleep 0.1; echo cleaned; exit 3' TERM"

    async def act(bench: Bench) -> None:
        call = new_call()
        task = asyncio.create_task(bench.run(f"{handler}; echo ready; {first}while :; do sleep 0.02; done", call=call))
        await bench.ready.wait()
        if first:
            await asyncio.to_thread(eventually, lambda: [each for each in alive(call) if is_frozen(each)])
        bench.stop.set()
        got = await task
        assert (got.cause, got.code, got.survivors) == ("stop", 3, 0)
        assert got.text.endswith("cleaned\n")

    on_bench(tmp_path, act)


@pytest.mark.parametrize("command", ["sleep 300", "trap '' TERM; while :; do sleep 1; done", "setsid -w sleep 300"])
def test_a_deadline_ends_everything_and_keeps_what_there_was(tmp_path: Path, command: str) -> None:
    got = finished(tmp_path, f"echo begun; {command}", timeout=0.5)
    assert (got.cause, got.text) == ("timeout", "begun\n")
    assert 0.5 <= got.seconds < HANGS / 2


@pytest.mark.parametrize(
    "left",
    [
        "sleep 300 &",
        "sleep 300 >/dev/null 2>&1 &",
        "setsid sleep 300 &",
        "(setsid sleep 300 >/dev/null 2>&1 </dev/null &)",
        "(env -i setsid tail -f /dev/null $HOLDFAST_CALL 2>/dev/null &)",
        "nohup sleep 300 & disown",
    ],
)
def test_what_a_finished_command_leaves_behind_is_ended_and_counted(tmp_path: Path, left: str) -> None:
    got = finished(tmp_path, f"{left}\nsleep 0.05; echo finished; exit 4")
    assert (got.cause, got.code, got.leftovers) == ("exit", 4, 1)
    assert "finished\n" in got.text


def test_cancelling_the_wait_ends_the_command(tmp_path: Path) -> None:
    async def act(bench: Bench) -> None:
        call = new_call()
        task = asyncio.create_task(bench.run("echo ready; sleep 300", call=call))
        await bench.ready.wait()
        assert alive(call)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        await asyncio.to_thread(eventually, lambda: not alive(call))

    on_bench(tmp_path, act)


def test_closing_ends_what_runs_and_frees_the_lock(tmp_path: Path) -> None:
    async def act(bench: Bench) -> None:
        task = asyncio.create_task(bench.run(NASTY["is deaf to SIGTERM"]))
        await bench.ready.wait()
        assert not await wait_for_exit(tmp_path, 0.05)
        await bench.supervisor.close()
        assert (await task).cause == "stop"
        assert await wait_for_exit(tmp_path, 0)
        await bench.supervisor.close()
        assert (await bench.run("echo again")).text == "again\n"

    on_bench(tmp_path, act)


def test_a_supervisor_that_never_was_is_gone(tmp_path: Path) -> None:
    assert asyncio.run(wait_for_exit(tmp_path, 0))
    assert list(tmp_path.iterdir()) == []


# Several at once, many in a row


def test_commands_do_not_end_each_others_processes(tmp_path: Path) -> None:
    """While one command runs, and waits for an orphan in a separate session, others end, stop and time out."""
    waiting = "until [ -e go ]; do sleep 0.02; done"
    orphan = f"(setsid bash -c 'echo ready; {waiting}; echo late; touch went' &)"

    async def act(bench: Bench) -> None:
        task = asyncio.create_task(bench.run(f"{orphan}; until [ -e went ]; do sleep 0.02; done; echo end"))
        await bench.ready.wait()
        others = await asyncio.gather(
            bench.run("setsid sleep 300 & sleep 0.05; echo one"), bench.run("sleep 300", timeout=0.2), bench.run("true")
        )
        assert [(other.cause, other.leftovers) for other in others] == [("exit", 1), ("timeout", 0), ("exit", 0)]
        assert not task.done()
        (tmp_path / "go").touch()
        got = await task
        assert (got.text, got.leftovers) == ("ready\nlate\nend\n", 0)

    on_bench(tmp_path, act)


def test_an_orphan_without_a_mark_ends_with_the_last_that_could_be_its_parent(tmp_path: Path) -> None:
    marker = f"/no/{new_call()}"
    orphan = f"(env -i setsid tail -f /dev/null {marker} 2>/dev/null &)"

    async def act(bench: Bench) -> None:
        tasks = [asyncio.create_task(bench.run(f"{orphan}; sleep 300")) for _ in range(3)]
        await asyncio.to_thread(eventually, lambda: len(alive(marker)) == len(tasks))
        assert (await bench.run("true")).leftovers == 0
        assert len(alive(marker)) == len(tasks)
        bench.stop.set()
        await asyncio.gather(*tasks)
        assert alive(marker) == []

    on_bench(tmp_path, act)


def test_many_commands_leave_no_open_files(tmp_path: Path) -> None:
    async def act(bench: Bench) -> None:
        pid = await bench.supervisor_pid()
        before = [open_files(each) for each in (pid, os.getpid())]
        for number in range(50):
            assert (await bench.run(f"sleep 0 & echo {number}")).code == 0
        assert await bench.supervisor_pid() == pid
        assert [open_files(each) for each in (pid, os.getpid())] == before

    on_bench(tmp_path, act)


# A PID namespace

NAMESPACES = {
    "bubblewrap": "",
    # What bubblewrap does with the same arguments, as far as it matters here.
    "unshare": """#!/bin/sh
        while [ "$1" != -- ]; do shift; done; shift
        exec unshare --map-current-user --pid --fork --mount-proc --kill-child "$@"
        """,
}


@pytest.fixture(params=NAMESPACES)
def contained(request: pytest.FixtureRequest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Put `bwrap` on the path, or what stands in for it; skip what this machine does not have or allow."""
    script = NAMESPACES[request.param]
    require(request.param)
    if script:
        (tmp_path / "bwrap").write_text(script)
        (tmp_path / "bwrap").chmod(0o755)
        monkeypatch.setenv("PATH", f"{tmp_path}:{os.environ['PATH']}")
    return tmp_path


@pytest.mark.parametrize("killed", ["the supervisor", "supervisor and watchdog", "the supervisor of a frozen watchdog"])
def test_a_namespace_ends_with_its_supervisor(contained: Path, killed: str) -> None:
    async def act(bench: Bench) -> None:
        bench.supervisor.contained = True
        assert (await bench.run("ps -e -o pid= | wc -l")).text.strip() in "3456789"  # those in there, and no other
        call = new_call()
        hidden = '(env -i setsid tail -f /dev/null "/no/$HOLDFAST_CALL" >/dev/null 2>&1 </dev/null &)'
        watchdog = "$(cut -d' ' -f4 /proc/$PPID/stat)"
        strike = {
            "the supervisor": "kill -9 $PPID",
            # The supervisor first: it would report its watchdog's death.
            "supervisor and watchdog": f"kill -STOP $PPID {watchdog}; kill -9 $PPID {watchdog}",
            "the supervisor of a frozen watchdog": f"kill -STOP {watchdog}; kill -9 $PPID",
        }[killed]
        began: list[ProcessId] = []
        got = await bench.run(f"{hidden}; echo ready; sleep 0.1; {strike}; sleep 300", call=call, on_start=began.append)
        assert (got.cause, got.survivors) == ("lost", 0)
        assert got.seconds < 25, "only its time limit ended it"
        assert alive(call) == []
        assert began == []  # a pid in the namespace names no process out here

    on_bench(contained, act)


@pytest.mark.parametrize("bubblewrap", ["may not", "is not installed"])
def test_where_no_namespace_can_be_made_commands_still_run(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, bubblewrap: str
) -> None:
    monkeypatch.setenv("PATH", path_without(tmp_path / "bin", "bwrap"))
    if bubblewrap == "may not":
        program = tmp_path / "bin/bwrap"
        program.write_text("#!/bin/sh\necho 'No permissions to create a new namespace' >&2; exit 1\n")
        program.chmod(0o755)

    async def act(bench: Bench) -> None:
        bench.supervisor.contained = True
        began: list[ProcessId] = []

        def note(process: ProcessId) -> None:
            began.append(process)
            (tmp_path / "noted").touch()

        ran = await bench.run("echo ran; until [ -e noted ]; do sleep 0.01; done", on_start=note)
        assert ran.text == "ran\n"
        assert [process.boot for process in began] == [boot()]

    on_bench(tmp_path, act)


# Programs that only look


def test_a_program_is_captured_without_a_shell_in_between(tmp_path: Path) -> None:
    async def act(bench: Bench) -> None:
        argv = [sys.executable, "-c", "import sys; print(sys.argv[1:]); sys.exit(3)", "a b", "$HOME", "`id`", "'", "\n"]
        assert await bench.capture(*argv) == (3, b"['a b', '$HOME', '`id`', \"'\", '\\n']\n")
        assert (await bench.capture("no-such-program-here"))[0] == 127

    on_bench(tmp_path, act)
    assert list(tmp_path.glob("*.out")) == []


def test_a_captured_program_that_writes_too_much_is_ended(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(supervisor_client, "CAPTURE_MOST", 100_000)

    async def act(bench: Bench) -> None:
        code, output = await bench.capture("yes")
        assert code < 0
        assert output == b"y\n" * (supervisor_client.CAPTURE_MOST // 2)

    on_bench(tmp_path, act)


def test_a_cancelled_capture_leaves_nothing(tmp_path: Path) -> None:
    async def act(bench: Bench) -> None:
        marker = f"/{new_call()}"
        task = asyncio.create_task(bench.capture("tail", "-f", "/dev/null", marker))
        while not await asyncio.to_thread(alive, marker):
            pass
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        await asyncio.to_thread(eventually, lambda: not alive(marker))

    on_bench(tmp_path, act)
    assert list(tmp_path.glob("*.out")) == []


def test_the_model_reads_lines_and_the_file_and_the_screen_have_every_byte(tmp_path: Path) -> None:
    red, frames = r"printf '\033[31mred\033[0m\n'", r"for i in $(seq 1 2000); do printf '\rprogress %d' $i; done; echo"
    shown: list[str] = []

    async def act(bench: Bench) -> None:
        got = await bench.run(f"{red}; {frames}")
        assert got.text == "red\nprogress 2000\n"
        shown.append(bench.shown)

    on_bench(tmp_path, act)
    (spool,) = tmp_path.glob("*.out")
    stored = spool.read_bytes()
    assert stored.startswith(b"\x1b[31mred\x1b[0m\n\rprogress 1\rprogress 2")
    assert "".join(shown) == stored.decode()

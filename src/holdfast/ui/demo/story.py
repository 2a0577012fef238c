"""The demo's story: a small project, a scripted model, and real agents, one stopped and one killed.

Every agent is a separate `holdfast -p` process that prints for itself; only the disk connects one with the next.
"""

from __future__ import annotations

import asyncio
import os
import re
import subprocess
import sys
import time
from collections.abc import Callable, Mapping
from contextlib import ExitStack, suppress
from pathlib import Path
from signal import SIGINT, SIGKILL, Signals

from holdfast.errors import EXIT_INTERRUPTED, EXIT_OK
from holdfast.session.storage.sqlite_store import read_copy
from holdfast.system.interrupts import delayed_interrupts
from holdfast.system.user_directories import homes
from holdfast.testing.script import Call, ReceivedRequest, Reply, Say, Script
from holdfast.testing.scripted_provider import ScriptedProvider
from holdfast.tools.process.supervisor_locks import wait_for_exit
from holdfast.ui.demo.checks import AgentRun, DemoEvidence

_FILES = {
    "prices.py": '''\
def total(prices, discount=0):
    """Return the sum of `prices`, less `discount` percent."""
    return sum(prices) * discount / 100
''',
    "test_prices.py": """\
from prices import total

found = total([60, 30], discount=10)
assert found == 81, f"{found} != 81"
print("OK")
""",
    "release.py": '''\
"""Do the steps of a release: `release.py check|tag|upload ...`. Never tag or upload twice."""

import os
import sys
import time

for step in sys.argv[1:]:
    print(f"{step}: done", flush=True)
    with open("release.log", "a") as log:
        log.write(f"{step} {os.getpid()}\\n")
    if step != "upload":
        time.sleep(30)  # for the other checks, or for the build
''',
}
_CONFIG = 'model = "openai-chat:scripted"\npermission_mode = "yolo"\n'
_LONGEST = 60.0  # seconds until an agent is killed, so that the demo always ends
_PATIENCE = 5.0  # seconds to wait for a process to end


class Story:
    """Runs the story once, in the empty `folder`. The agents connect to `provider`; `show` prints a paragraph."""

    def __init__(
        self, folder: Path, show: Callable[[str], None], *, environ: Mapping[str, str], provider: ScriptedProvider
    ) -> None:
        self._project = folder / "project"
        self._home = folder / "home"
        self._scratch = folder / "temporary"
        self._show = show
        self._provider = provider
        self._environ = {
            **environ,
            **provider.environ(),
            "HOLDFAST_HOME": str(self._home),
            "TMPDIR": str(self._scratch),  # a killed agent leaves what it had there
            "PATH": f"{Path(sys.executable).parent}{os.pathsep}{environ.get('PATH', os.defpath)}",  # has a `python3`
            "NO_PROXY": "*",
            "no_proxy": "*",
        }
        self._runs: list[AgentRun] = []
        self._lifetimes: dict[str, float | None] = {}

    def run(self) -> DemoEvidence:
        """Run the agents and return the recorded evidence."""
        self._project.mkdir()
        self._home.mkdir()
        self._scratch.mkdir()
        for name, text in _FILES.items():
            (self._project / name).write_text(text, encoding="utf-8")
        homes(self._environ).config.write_text(_CONFIG, encoding="utf-8")
        test_before = self._test_passes()

        self._show(
            "\n1. You press Ctrl+C while three tools run: one has finished, one is running, one has not started."
        )
        self._agent("The test in test_prices.py fails. Fix it.", strike=("check", SIGINT), expected=EXIT_INTERRUPTED)
        self._show("\n2. You type a new message. The model knows what was interrupted, and every call has its result.")
        self._agent("Did all the checks pass?")
        self._show_history()
        self._show("\n3. You quit, resume, and type another.")
        self._agent("Then leave them. Fix the test.")
        self._show("\n4. The agent is killed in the middle of a release. The journal has the start of the call.")
        self._agent("Good. Now release it.", strike=("tag", SIGKILL), expected=-SIGKILL)
        self._show("\n5. You resume. The model looks first, then does only what is left.")
        self._agent("Go on.")

        with suppress(TimeoutError):  # a request that does not end makes a check fail
            self._provider.wait_idle()
        return DemoEvidence(
            entries=tuple(record.entry for record in read_copy(self._session()).records),
            requests=self._provider.requests,
            runs=tuple(self._runs),
            deeds=tuple(deed for deed, _ in self._deeds()),
            lifetimes=self._lifetimes,
            tools_ended=wait_for_tools(self._session()),
            test_before=test_before,
            test_after=self._test_passes(),
        )

    def _agent(self, prompt: str, *, strike: tuple[str, Signals] | None = None, expected: int = EXIT_OK) -> None:
        """Run one agent to its end. `strike` is a deed, and the signal to send to the agent once it is done."""
        go_on = "-c " if self._runs else ""
        self._show(f'$ holdfast {go_on}-p "{prompt}"')
        with ExitStack() as ended:
            with delayed_interrupts():
                process = subprocess.Popen(  # noqa: S603 - our own program, its arguments a list
                    [sys.executable, "-m", "holdfast", *go_on.split(), "-p", prompt],
                    cwd=self._project,
                    env=self._environ,
                    stdin=subprocess.DEVNULL,
                    stderr=subprocess.STDOUT,
                    start_new_session=True,  # a Ctrl+C at the terminal reaches the demo, which then ends the agent
                )
                ended.callback(process.wait)
                ended.callback(process.kill)
            worker = self._strike(process, *strike) if strike else None
            with suppress(subprocess.TimeoutExpired):
                process.wait(_LONGEST)
        self._runs.append(AgentRun(code=process.returncode, expected=expected))
        if worker and strike:
            self._lifetimes[strike[0]] = _lifetime_of(worker)

    def _strike(self, process: subprocess.Popen[bytes], deed: str, number: Signals) -> int | None:
        """Send the signal in the middle of the call. Return the ID of its process, None if it did nothing."""
        deadline = time.monotonic() + _LONGEST
        while deed not in dict(self._deeds()):
            if process.poll() is not None or time.monotonic() > deadline:
                return None
            time.sleep(0.02)
        self._show_history()
        self._show(f"{number.name} to the agent, process {process.pid}, now.")
        process.send_signal(number)
        return dict(self._deeds())[deed]

    def _show_history(self) -> None:
        """Print the messages as the model would read them now."""
        command = ["-m", "holdfast", "sessions", "show", "--history", self._session().name]
        self._show(f"$ {' '.join(command[1:])}")
        with delayed_interrupts():
            subprocess.run([sys.executable, *command], env=self._environ, stderr=subprocess.STDOUT, check=False)  # noqa: S603 - as above

    def _session(self) -> Path:
        return next((self._home / "sessions").iterdir())

    def _test_passes(self) -> bool:
        """Run the project's test, outside of every agent."""
        test, nowhere = [sys.executable, "-B", "test_prices.py"], subprocess.DEVNULL
        return subprocess.call(test, cwd=self._project, stdout=nowhere, stderr=nowhere, timeout=_LONGEST) == 0  # noqa: S603 - our own file

    def _deeds(self) -> list[tuple[str, int]]:
        """Return every deed that was logged, with the ID of the process that did it."""
        logged = log.read_text("utf-8") if (log := self._project / "release.log").exists() else ""
        return [(deed, int(pid)) for deed, pid in re.findall(r"(\w+) (\d+)\n", logged)]


def _lifetime_of(pid: int) -> float | None:
    """Return the seconds until the process `pid` has exited, None if it has not after `_PATIENCE`."""
    began = time.monotonic()
    while (waited := time.monotonic() - began) < _PATIENCE:
        try:
            os.kill(pid, 0)
        except ProcessLookupError:
            return waited
        time.sleep(0.005)
    return None


def wait_for_tools(session: Path) -> bool:
    """Return whether all processes that ran commands for the session in that folder exit within `_PATIENCE`."""
    return asyncio.run(wait_for_exit(session, _PATIENCE))


def script() -> Script:
    """Return the model's replies, in the order of the requests; where it matters, they depend on the conversation."""
    read_test, run_test = Call("read", {"path": "test_prices.py"}), _bash("python3 test_prices.py")
    look, upload = _bash("cat release.log"), _bash("python3 release.py upload")
    edit = Call("edit", {"path": "prices.py", "old": "* discount / 100", "new": "* (100 - discount) / 100"})
    return (
        [
            Say("I read the code and its test, and run every check there is."),
            Call("read", {"path": "prices.py"}),
            _bash("python3 release.py check"),
            read_test,
        ],
        _if_read(r"Interrupted: [^.]*", "I cannot know: “{}.”", otherwise="I assume that they did.", last=3),
        [Say("I read the test, which I had not read yet, and run only that."), read_test, run_test],
        _if_read(r"AssertionError: [^\n]*", "“{}”: wrong percentage.", edit, run_test, otherwise="I see no failure."),
        _if_read(r"\AOK\n", "Fixed: the test passes now.", otherwise="The test still fails, and I do not know why."),
        [Say("It tags, waits for the build, then uploads."), _bash("python3 release.py tag upload")],
        _if_read(
            r"Effect unknown|It (?:created|changed) ",
            "Its effect is unknown, so I look first.",
            look,
            otherwise="The release has ended.",
        ),
        _if_read(r"tag \d+\n(?!upload)", "Tagged, not uploaded.", upload, otherwise="I cannot tell what is left."),
        _if_read("upload: done", "Released: tagged once, uploaded once.", otherwise="The upload failed."),
    )


def _bash(command: str) -> Call:
    return Call("bash", {"command": command})


def _if_read(
    pattern: str, reply_text: str, *calls: Call, otherwise: str, last: int = 1
) -> Callable[[ReceivedRequest], Reply]:
    """Return a reply that depends on a pattern in the `last` results. `reply_text` may quote the match."""

    def reply(request: ReceivedRequest) -> Reply:
        results = [str(message.get("content")) for message in request.messages if message.get("role") == "tool"]
        found = re.search(pattern, "\n".join(results[-last:]))
        return [Say(otherwise)] if found is None else [Say(reply_text.format(found[0])), *calls]

    return reply

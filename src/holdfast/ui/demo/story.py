"""The two accidents: real agents in processes of their own, one stopped, one killed, and what was seen of it."""

from __future__ import annotations

import os
import sys
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from signal import SIGINT, SIGKILL, Signals

from holdfast.config import homes
from holdfast.errors import EXIT_INTERRUPTED, EXIT_OK
from holdfast.session.catalog import Catalog
from holdfast.session.conversation import Conversation
from holdfast.session.entries import CallPart, Entry, PromptAccepted
from holdfast.session.fold import fold
from holdfast.session.sqlite import read_copy
from holdfast.testing.provider import ScriptedProvider
from holdfast.ui.account import call_line
from holdfast.ui.demo.checks import Evidence, Run
from holdfast.ui.demo.processes import Line, gone_after, run_agent, run_test, tools_gone
from holdfast.ui.demo.project import CHECKING, RELEASING, deeds, lay_out
from holdfast.ui.demo.screen import Screen
from holdfast.ui.demo.script import PROMPTS

CONFIG = 'model = "openai-chat:scripted"\npermission_mode = "yolo"\n'


@dataclass(frozen=True, slots=True)
class Accident:
    """A signal that the agent gets once its command has printed `marker`."""

    marker: str
    number: Signals
    said: str


class Story:
    """Tell the story once, in `folder`, which is empty; the agents speak to `provider`."""

    def __init__(self, folder: Path, screen: Screen, *, environ: Mapping[str, str], provider: ScriptedProvider) -> None:
        self._project = folder / "project"
        self._home = folder / "home"
        self._log = folder / "agent.log"
        self._screen = screen
        self._provider = provider
        self._environ = {
            **environ,
            **provider.environ(),
            "HOLDFAST_HOME": str(self._home),
            "PATH": f"{Path(sys.executable).parent}{os.pathsep}{environ.get('PATH', os.defpath)}",  # has a `python3`
            "NO_PROXY": "*",
            "no_proxy": "*",
        }
        self._catalog = Catalog(homes(self._environ).sessions)
        self._session = ""
        self._lines: dict[str, str] = {}  # every call as one line, by its id
        self._since = 0  # the message list is shown from here on
        self._runs: list[Run] = []
        self._lived: dict[str, float | None] = {}

    def tell(self) -> Evidence:
        """Run the agents, showing what they do, and return what was seen."""
        lay_out(self._project)
        self._home.mkdir()
        homes(self._environ).config.write_text(CONFIG, encoding="utf-8")
        test_before, said = run_test(self._project)
        self._screen.say(f"One line of the project is wrong. Its test: {said}.")

        self._screen.heading(
            "1  You ask, and press Ctrl+C while the tools run",
            "Look at the three calls: one has finished, one runs, one has not begun.",
        )
        self._agent(
            PROMPTS[0],
            expected=EXIT_INTERRUPTED,
            accident=Accident(CHECKING, SIGINT, "Ctrl+C: SIGINT to the agent"),
        )
        self._wait_for("all_checks.py", "all-checks")

        self._screen.heading(
            "2  You type a new message", "Look at the answer: the model was told the truth about the stop."
        )
        self._agent(PROMPTS[1])

        self._screen.heading(
            "3  You quit, resume, and type another",
            "Look at the list: every call has its result, and all you typed is there.",
        )
        self._agent(PROMPTS[2], show=True)

        self._screen.heading(
            "4  The agent is killed in the middle of a release",
            "Look at the last row: the disk knew that the call had begun.",
        )
        self._agent(
            PROMPTS[3],
            expected=-SIGKILL,
            accident=Accident(RELEASING, SIGKILL, "kill -9: SIGKILL to the agent"),
        )
        self._wait_for("release.py", "tag")

        self._screen.heading("5  You resume", "Look at the order: it looks first, then does only what is left.")
        self._agent(PROMPTS[4], show=True)

        test_after, _ = run_test(self._project)
        with suppress(TimeoutError):  # a request that does not end is one of the things that are checked
            self._provider.wait_idle()
        return Evidence(
            entries=self._journal(),
            requests=self._provider.requests,
            runs=tuple(self._runs),
            deeds=tuple(deed for deed, _ in deeds(self._project)),
            lived=self._lived,
            tools_gone=tools_gone(self._catalog.folder(self._session)),
            test_before=test_before,
            test_after=test_after,
        )

    def _agent(
        self, prompt: str, *, expected: int = EXIT_OK, accident: Accident | None = None, show: bool = False
    ) -> None:
        """Run one agent to its end; `show` shows the message list its prompt completed."""
        words = ["-c", "-p", prompt] if self._session else ["-p", prompt]
        self._screen.command(" ".join(["holdfast", *words[:-1], f'"{prompt}"']))
        printed: dict[str, str] = {}
        struck = False

        def hear(line: Line, pid: int) -> Signals | None:
            nonlocal struck
            match line.type:
                case "init":
                    self._session = line.session_id
                case "message" if line.role == "user":
                    if show:
                        self._show_sent()
                case "message" if line.delta:
                    self._screen.stream(line.content)
                case "tool_use" if not line.delta:
                    self._lines[line.id] = call_line(CallPart(line.id, line.name, line.arguments))
                case "tool_output":
                    printed[line.id] = printed.get(line.id, "") + line.content
                    if accident is not None and not struck and accident.marker in printed[line.id]:
                        struck = True
                        self._screen.call(None, self._lines[line.id], _last_line(printed[line.id]))
                        self._screen.say(f"{accident.said}, process {pid}, now.", "yellow", indent="  ")
                        self._show_open()
                        return accident.number
                case "tool_result" if line.outcome is not None:
                    last = "" if line.outcome == "interrupted" else _last_line(printed.get(line.id, ""))
                    self._screen.call(line.outcome, self._lines[line.id], last)
                case "recovered":
                    self._screen.say(f"Found on resuming: {line.message.partition(' (')[0]}.", "yellow", indent="  ")
                case "error":
                    self._screen.say(line.message, "red", indent="  ")
                case _:
                    pass
            return None

        code = run_agent(words, cwd=self._project, environ=self._environ, log=self._log, hear=hear)
        self._screen.end_stream()
        self._runs.append(Run(code=code, expected=expected))
        if code != expected:
            self._screen.say(self._log.read_text("utf-8", "replace"), "red", indent="  ")

    def _show_open(self) -> None:
        """Show what an accident interrupts, from its prompt on."""
        conversation = fold(self._journal())
        self._since = max(0, len(conversation.messages) - 3)
        self._show(conversation, "The message list at that moment")

    def _show_sent(self) -> None:
        """Show the message list as the last prompt completed it: the agent has gone on meanwhile."""
        entries = self._journal()
        last = max(seq for seq, entry in enumerate(entries) if isinstance(entry, PromptAccepted))
        self._show(fold(entries[: last + 1]), "The message list as it is sent now")

    def _show(self, conversation: Conversation, said: str) -> None:
        count, waiting = len(conversation.messages), len(conversation.open_calls)
        which = f"the last {count - self._since} of {count} messages" if self._since else f"{count} messages"
        calls = "1 open call" if waiting == 1 else f"{waiting} open calls"
        self._screen.say(f"{said}: {which}, {calls}", "bold", indent="  ")
        self._screen.messages(conversation, since=self._since)

    def _journal(self) -> tuple[Entry, ...]:
        reading = read_copy(self._catalog.folder(self._session))
        return tuple(record.entry for record in reading.records)

    def _wait_for(self, program: str, deed: str) -> None:
        """Note how long the process that did `deed`, if one did, lives on now that its agent is gone."""
        pid = dict(deeds(self._project)).get(deed)
        if pid is not None:
            self._lived[program] = gone_after(pid)


def _last_line(text: str) -> str:
    return (text.strip().splitlines() or [""])[-1]

"""MCP servers, measured through the full screen: what three of them cost a start, and how long ESC takes in a call.

Two rules. What a start costs is compared with the same start without servers, in turns. The servers are programs of the
tests: three that answer, or two and one that never does; and one that hears neither a stop nor a signal.
"""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
import time
from collections.abc import Mapping, Sequence
from pathlib import Path

from holdfast.testing.script import Call, Hold
from holdfast.testing.scripted_provider import ScriptedProvider
from pairs import AtMost, Comparison, paired, percentile
from screen import ENTER, ESC, HOLDFAST, IDLE, MODEL, PROMPT, SOON, Terminal, screen_environ

SERVER = Path(__file__).resolve().parents[1] / "tests" / "mcp_server.py"

DELAYED = 1.1
"""How many times as long the prompt may take with three servers."""

LATER = 2.0
"""Seconds by which the first request may be later, at most, for servers that are new or do not answer."""

BACK = 1.2
"""Seconds after ESC in which the prompt is back though the server hears nothing: grace, wait, and drawing."""


def starting(scratch: Path, *, rounds: int) -> list[Comparison]:
    """Compare the prompt, and the time until the first request, with those of a start without servers."""
    homes = {
        what: _home(scratch, what, kinds)
        for what, kinds in (
            ("none", ()),
            ("new", ("plain",) * 3),
            ("known", ("plain",) * 3),
            ("mute", ("plain", "plain", "mute")),
        )
    }
    for name in ("one", "two", "three"):
        _test(name, homes["known"])
    ours, theirs = paired(lambda: _prompt(homes["new"]), lambda: _prompt(homes["none"]), rounds=rounds)
    rows = [
        Comparison(
            what="prompt with three new MCP servers, wall",
            against="without",
            ours=ours,
            theirs=theirs,
            aim=AtMost(ratio=DELAYED),
        )
    ]
    with ScriptedProvider(after=(Hold("for ever"),)) as provider:
        environ = provider.environ()
        for what, which in (
            ("three new MCP servers", "new"),
            ("three known MCP servers", "known"),
            ("three MCP servers, one of them mute", "mute"),
        ):
            with_, without = _requests(homes[which], homes["none"], provider, environ, rounds=rounds)
            rows.append(
                Comparison(
                    what=f"first request with {what}, later by",
                    against=f"{LATER:g} s",
                    ours=[max(0.0, one - other) for one, other in zip(with_, without, strict=True)],
                    theirs=[LATER] * rounds,
                    aim=AtMost(ratio=1),
                )
            )
    return rows


def stopping(scratch: Path, *, rounds: int) -> list[Comparison]:
    """Compare the time from ESC in a call of a server that hears nothing until the prompt is back with its limit."""
    home = _home(scratch, "deaf", ("stubborn",))
    _test("one", home)
    calls = home / "work" / "one.calls"
    seconds: list[float] = []
    with (
        ScriptedProvider(after=(Call("mcp__one__slow", {}),)) as provider,
        Terminal(
            (HOLDFAST, "-m", MODEL, "--yolo"), environ=screen_environ(home, provider.environ()), cwd=home / "work"
        ) as terminal,
    ):
        terminal.seen(PROMPT)
        for number in range(rounds + 1):
            terminal.send(b"ask it" + ENTER)
            _wait_for_call(calls, number + 1)
            place = terminal.now
            pressed = terminal.send(ESC)
            idle = terminal.seen(IDLE, since=place)
            if number:  # the first one pays for imports
                seconds.append(idle - pressed)
    return [
        Comparison(
            what=f"ESC in a call of a deaf MCP server, next prompt, p{percent} of {rounds}",
            against=f"{BACK:g} s",
            ours=[percentile(seconds, percent)],
            theirs=[BACK],
            aim=AtMost(ratio=1),
        )
        for percent in (50, 99)
    ]


def _home(scratch: Path, what: str, kinds: Sequence[str]) -> Path:
    """Make a home whose config has a server of each kind, and a folder to work in."""
    home = scratch / what
    (home / "work").mkdir(parents=True)
    servers = {
        name: {"command": sys.executable, "args": [str(SERVER), kind, str(home / "work" / name)]}
        for name, kind in zip(("one", "two", "three"), kinds, strict=False)
    }
    (home / "mcp.json").write_text(json.dumps({"mcpServers": servers}))
    return home


def _test(name: str, home: Path) -> None:
    """Have the list of a server's tools known."""
    command = (HOLDFAST, "mcp", "test", name)
    subprocess.run(command, env=screen_environ(home), cwd=home / "work", check=True, capture_output=True)


def _unlisted(home: Path) -> None:
    """Forget the lists, unless the home is one whose servers are known."""
    if home.name != "known":
        shutil.rmtree(home / "cache" / "mcp", ignore_errors=True)


def _prompt(home: Path) -> float:
    """Return the wall time until the prompt is seen."""
    _unlisted(home)
    with Terminal((HOLDFAST, "-m", MODEL), environ=screen_environ(home), cwd=home / "work") as terminal:
        return terminal.seen(PROMPT) - terminal.begun


def _requests(
    with_: Path, without: Path, provider: ScriptedProvider, environ: Mapping[str, str], *, rounds: int
) -> tuple[list[float], list[float]]:
    """Return the seconds until the first request of starts with a prompt, in two homes."""

    def arrived(home: Path) -> float:
        _unlisted(home)
        command = (HOLDFAST, "-m", MODEL, "--yolo", "What does this project do?")
        with Terminal(command, environ=screen_environ(home, environ), cwd=home / "work") as terminal:
            provider.wait_requests(len(provider.requests) + 1, timeout=SOON)
            return provider.requests[-1].at - terminal.begun

    return paired(lambda: arrived(with_), lambda: arrived(without), rounds=rounds)


def _wait_for_call(calls: Path, number: int) -> None:
    """Wait until the server has got so many calls."""
    until = time.monotonic() + SOON
    while not calls.exists() or calls.read_text().split().count("slow") < number:
        assert time.monotonic() < until, f"call {number} did not reach the server"
        time.sleep(0.005)

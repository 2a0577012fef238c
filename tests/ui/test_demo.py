"""The demo as the user runs it, and its claims on evidence that should make each of them fail."""

from __future__ import annotations

import dataclasses
import io
import json
import os
import re
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from msgspec.structs import replace

from holdfast.session.journal.entries import CallEnded, Entry, PromptAccepted, ResponseEnded
from holdfast.session.journal.parts import CallPart, Usage
from holdfast.testing.scripted_provider import CapturedRequest
from holdfast.tool_calls import Outcome
from holdfast.ui.demo import printer
from holdfast.ui.demo.checks import DEEDS, KEY, AgentRun, DemoEvidence, check_evidence
from polling import HANGS, eventually, expect_within
from process_leaks import linux_only

README = Path(__file__).resolve().parents[2] / "README.md"


def environment(temporary: Path) -> dict[str, str]:
    inherited = {name: value for name, value in os.environ.items() if not name.endswith("_API_KEY")}
    return {**inherited, "TMPDIR": str(temporary), "COLUMNS": "120"}


def living(temporary: Path) -> list[int]:
    """Return the processes that were given a session home beneath `temporary`."""
    found: list[int] = []
    for process in Path("/proc").iterdir():
        try:
            if process.name.isdigit() and f"HOLDFAST_HOME={temporary}/".encode() in (process / "environ").read_bytes():
                found.append(int(process.name))
        except OSError:  # it ended while it was looked at, or is another user's
            continue
    return found


def test_the_demo_holds_what_it_claims(tmp_path: Path) -> None:
    done = subprocess.run(
        [sys.executable, "-m", "holdfast", "demo"],
        env=environment(tmp_path),
        capture_output=True,
        text=True,
        stdin=subprocess.DEVNULL,
        timeout=HANGS,
        check=False,
    )
    assert (done.returncode, done.stderr) == (0, ""), done.stdout
    assert done.stdout.splitlines()[1].startswith("The model is scripted")
    open_calls = [line.split()[2:] for line in done.stdout.splitlines() if line.startswith("open calls:")]
    assert [len(calls) for calls in open_calls] == [2, 1, 1], "two, none and one"
    assert open_calls[1] == ["none"]
    assert done.stdout.count("(open)") == 3
    assert "5 of 5 prompts" in done.stdout
    assert "9 requests, 0 refused" in done.stdout
    assert "WRONG" not in done.stdout
    assert "\x1b" not in done.stdout
    assert "All checks passed" in done.stdout.splitlines()[-1]
    assert list(tmp_path.iterdir()) == []
    assert list(not_printed(readme_block(), done.stdout)) == []


def readme_block() -> str:
    """Return the demo's output as the README shows it."""
    section = README.read_text("utf-8").partition("## Kill it, resume it\n")[2].partition("\n## ")[0]
    return section.split("```")[1]


def not_printed(block: str, output: str) -> Iterator[str]:
    """Yield each part of the block, between line ends and "…", that the output does not have after the parts before it.

    Process IDs and durations, which are printed only for slow calls, differ from run to run; the line ends of a
    paragraph differ with the width of the terminal.
    """
    printed, at = _comparable(output), 0
    for part in filter(None, map(_comparable, re.split("[…\n]", block))):
        found = printed.find(part, at)
        if found < 0:
            yield part
        at = max(at, found + len(part))


def _comparable(text: str) -> str:
    without_durations = re.sub(r" \([^()\n]* (?:s|min)\)", "", text)
    return " ".join(re.sub(r"process \d+", "process N", without_durations).split())


@pytest.mark.parametrize(
    ("block", "missing"),
    [
        ("a long line\nprocess 7, now\n", []),
        ("a … line\n…\nnow", []),
        ("a short line\nnow\n", ["a short line"]),
        ("now\na long line\n", ["a long line"]),
        ("now\nnow\n", ["now"]),
        ("process 7, now (1.6 s)\n", []),
    ],
)
def test_a_line_that_the_demo_does_not_print_is_found(block: str, missing: list[str]) -> None:
    assert list(not_printed(block, "a long\nline\nprocess 12, now\n")) == missing


@linux_only
def test_ctrl_c_leaves_nothing_behind(tmp_path: Path) -> None:
    with subprocess.Popen(
        [sys.executable, "-m", "holdfast", "demo"],
        env=environment(tmp_path),
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    ) as demo:
        try:
            eventually(lambda: living(tmp_path))
            demo.send_signal(signal.SIGINT)
            output, complaint = demo.communicate(timeout=HANGS)
        finally:
            demo.kill()
    assert (demo.returncode, complaint) == (130, "")
    assert "Stopped" in output.splitlines()[-1]
    since = time.monotonic()
    eventually(lambda: not living(tmp_path))
    expect_within(1, since)  # as P5 has it
    assert list(tmp_path.iterdir()) == []


# --- the claims ------------------------------------------------------------------------------------------------------

RESULTS: dict[str, tuple[Outcome, str]] = {
    "aaaaaaaa1": ("ok", "one line"),
    "aaaaaaaa2": ("interrupted", "Interrupted: the user stopped the turn. Effect unknown: …"),
    "aaaaaaaa3": ("not_started", "Not started: the user stopped the turn. It had no effect."),
    "aaaaaaaa4": ("failed", "no such file"),
}
CALLS = tuple(CallPart(id=call, name="bash", arguments="{}") for call in RESULTS)
ENTRIES: tuple[Entry, ...] = (
    PromptAccepted(turn=1, text="Do it."),
    ResponseEnded(step=1, model="a:b", parts=CALLS, usage=Usage()),
    *(CallEnded(call=call, outcome=outcome, text=text) for call, (outcome, text) in RESULTS.items()),
)
Messages = list[dict[str, object]]
FIRST: Messages = [{"role": "system", "content": "You are holdfast."}, {"role": "user", "content": "Do it."}]
TURN_MESSAGES: Messages = [
    {
        "role": "assistant",
        "content": None,
        "tool_calls": [
            {"id": call.id, "type": "function", "function": {"name": "bash", "arguments": "{}"}} for call in CALLS
        ],
    },
    *({"role": "tool", "tool_call_id": call, "content": text} for call, (_, text) in RESULTS.items()),
]


def request(messages: Messages) -> CapturedRequest:
    body: dict[str, object] = {"model": "scripted", "stream": True, "messages": messages}
    return CapturedRequest(
        wire="openai-chat",
        method="POST",
        path="/v1/chat/completions",
        headers={"authorization": f"Bearer {KEY}", "content-type": "application/json"},
        raw=json.dumps(body).encode(),
        at=0.0,
        body=body,
        ended="completed",
    )


GOOD = DemoEvidence(
    entries=ENTRIES,
    requests=(request(FIRST), request([*FIRST, *TURN_MESSAGES])),
    runs=(AgentRun(code=0, expected=0), AgentRun(code=-9, expected=-9)),
    deeds=DEEDS,
    lifetimes={"release.py": 0.01},
    tools_ended=True,
    test_before=False,
    test_after=True,
)


def wrong(seen: DemoEvidence) -> list[str]:
    return [check.claim for check in check_evidence(seen) if not check.passed]


def last(messages: Messages) -> DemoEvidence:
    return replace(GOOD, requests=(GOOD.requests[0], request(messages)))


def test_good_evidence_is_green() -> None:
    assert wrong(GOOD) == []
    assert any("2 of 2 unfinished calls" in check.claim for check in check_evidence(GOOD))


SYSTEM, USER = FIRST
ASSISTANT, DONE, CUT, UNBEGUN, FAILED = TURN_MESSAGES


@pytest.mark.parametrize(
    ("seen", "claim"),
    [
        (last([SYSTEM, {"role": "user", "content": "Do."}, *TURN_MESSAGES]), "prompts are in the last request"),
        (last([*FIRST, ASSISTANT, CUT, UNBEGUN, FAILED]), "finished results are in it"),
        (last([*FIRST, ASSISTANT, DONE | {"content": "pruned"}, CUT, UNBEGUN, FAILED]), "finished results are in it"),
        (last([*FIRST, *TURN_MESSAGES, DONE]), "finished results are in it"),
        (
            last([*FIRST, ASSISTANT, DONE, CUT | {"content": "Aborted."}, UNBEGUN, FAILED]),
            "each with its known effect",
        ),
        (
            replace(
                GOOD, requests=(dataclasses.replace(GOOD.requests[0], refusal="No.", ended="refused"), GOOD.requests[1])
            ),
            "1 refused",
        ),
        (replace(GOOD, requests=(dataclasses.replace(GOOD.requests[0], ended=None), GOOD.requests[1])), "2 requests"),
        (replace(GOOD, requests=GOOD.requests[:1]), "without a result"),
        (
            replace(GOOD, requests=(GOOD.requests[0], dataclasses.replace(GOOD.requests[1], headers={}))),
            "without a result",
        ),
        (last([USER, *TURN_MESSAGES]), "one system prompt"),
        (last([SYSTEM, *FIRST, *TURN_MESSAGES]), "one system prompt"),
        (last([{"role": "system", "content": "You are another."}, USER, *TURN_MESSAGES]), "one system prompt"),
        (last([SYSTEM, *TURN_MESSAGES, USER]), "begin with the whole previous request"),
        (replace(GOOD, entries=ENTRIES[:-1]), "one for each call"),
        (replace(GOOD, entries=(*ENTRIES, ENTRIES[-1])), "one for each call"),
        (replace(GOOD, deeds=(*DEEDS, "tag")), "exactly once"),
        (replace(GOOD, deeds=DEEDS[:-1]), "exactly once"),
        (replace(GOOD, lifetimes={"release.py": None}), "LIVES ON"),
        (replace(GOOD, tools_ended=False), "no process is left"),
        (replace(GOOD, test_before=True), "the project's test"),
        (replace(GOOD, test_after=False), "the project's test"),
        (replace(GOOD, runs=(AgentRun(code=1, expected=0),)), "exit codes 1"),
    ],
)
def test_each_claim_can_fail(seen: DemoEvidence, claim: str) -> None:
    assert [fault for fault in wrong(seen) if claim in fault], wrong(seen)


def test_no_evidence_proves_nothing() -> None:
    nothing = replace(GOOD, entries=(), requests=(), runs=(), deeds=(), lifetimes={}, test_after=False)
    assert len(wrong(nothing)) == len(check_evidence(GOOD)) == 12


# --- what is shown ---------------------------------------------------------------------------------------------------


def test_nothing_is_wider_than_the_terminal(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "80")
    out = io.StringIO()
    printer(out, {})("word " * 40)
    lines = out.getvalue().splitlines()
    assert 70 < max(len(line) for line in lines) < 80


def test_a_command_stays_on_one_line() -> None:
    out = io.StringIO()
    printer(out, {})(command := f'$ holdfast -p "{"word " * 40}"')
    assert out.getvalue() == f"{command}\n"


class Terminal(io.StringIO):
    """A stream that says it is a terminal."""

    def isatty(self) -> bool:
        return True


@pytest.mark.parametrize(
    ("environ", "coloured"),
    [({}, True), ({"NO_COLOR": "1"}, False), ({"NO_COLOR": ""}, True), ({"TERM": "dumb"}, False)],
)
def test_colour_is_for_terminals_that_want_it(environ: dict[str, str], *, coloured: bool) -> None:
    out = Terminal()
    printer(out, environ)("$ look")
    assert ("\x1b[" in out.getvalue()) is coloured


def test_a_terminal_without_unicode_gets_question_marks() -> None:
    raw = io.BytesIO()
    out = io.TextIOWrapper(raw, encoding="ascii")
    printer(out, {})("✓ it holds")
    assert raw.getvalue() == b"? it holds\n"

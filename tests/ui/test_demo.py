"""The demo as a person runs it, and its claims on evidence that should make each of them fail."""

from __future__ import annotations

import io
import json
import os
import signal
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pytest

from holdfast.calls import Outcome
from holdfast.session.entries import CallEnded, CallPart, CallStarted, Entry, PromptAccepted, ResponseEnded, Usage
from holdfast.session.fold import fold
from holdfast.testing.provider import Captured
from holdfast.ui.demo.checks import KEY, Evidence, Run, checked, kept, told, unknown
from holdfast.ui.demo.listing import OPEN, rows
from holdfast.ui.demo.project import DEEDS
from holdfast.ui.demo.screen import Screen
from polling import eventually

linux_only = pytest.mark.skipif(not Path("/proc/self/environ").exists(), reason="processes are found through /proc")


def environment(temporary: Path) -> dict[str, str]:
    own = {name: value for name, value in os.environ.items() if not name.endswith("_API_KEY")}
    return {**own, "TMPDIR": str(temporary), "COLUMNS": "120"}


def living(temporary: Path) -> list[int]:
    """Return the processes that were given a session home beneath `temporary`."""
    found: list[int] = []
    for process in Path("/proc").iterdir():
        try:
            if process.name.isdigit() and f"HOLDFAST_HOME={temporary}/".encode() in (process / "environ").read_bytes():
                found.append(int(process.name))
        except OSError:  # it ended while it was looked at, or is none of ours
            continue
    return found


def test_the_demo_holds_what_it_claims(tmp_path: Path) -> None:
    done = subprocess.run(
        [sys.executable, "-m", "holdfast", "demo", "--fast"],
        env=environment(tmp_path),
        capture_output=True,
        text=True,
        stdin=subprocess.DEVNULL,
        timeout=55,
        check=False,
    )
    assert (done.returncode, done.stderr) == (0, ""), done.stdout
    assert done.stdout.splitlines()[1].startswith("The model is scripted")
    assert "3 messages, 2 open calls" in done.stdout
    assert "5 messages, 0 open calls" in done.stdout
    assert "5 of 5 prompts" in done.stdout
    assert "9 requests, 0 refused" in done.stdout
    assert "WRONG" not in done.stdout
    assert "\x1b" not in done.stdout
    assert "Everything held" in done.stdout.splitlines()[-1]
    assert list(tmp_path.iterdir()) == []


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
            eventually(lambda: living(tmp_path), 30)
            demo.send_signal(signal.SIGINT)
            said, complaint = demo.communicate(timeout=20)
        finally:
            demo.kill()
    assert (demo.returncode, complaint) == (130, "")
    assert "Stopped" in said.splitlines()[-1]
    eventually(lambda: not living(tmp_path), 1)  # as P5 has it
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
SAID: Messages = [
    {
        "role": "assistant",
        "content": None,
        "tool_calls": [
            {"id": call.id, "type": "function", "function": {"name": "bash", "arguments": "{}"}} for call in CALLS
        ],
    },
    *({"role": "tool", "tool_call_id": call, "content": text} for call, (_, text) in RESULTS.items()),
]


def request(messages: Messages) -> Captured:
    body: dict[str, object] = {"model": "scripted", "stream": True, "messages": messages}
    return Captured(
        wire="openai-chat",
        method="POST",
        path="/v1/chat/completions",
        headers={"authorization": f"Bearer {KEY}", "content-type": "application/json"},
        raw=json.dumps(body).encode(),
        at=0.0,
        body=body,
        ended="completed",
    )


GOOD = Evidence(
    entries=ENTRIES,
    requests=(request(FIRST), request([*FIRST, *SAID])),
    runs=(Run(code=0, expected=0), Run(code=-9, expected=-9)),
    deeds=DEEDS,
    lived={"release.py": 0.01},
    tools_gone=True,
    test_before=False,
    test_after=True,
)


def wrong(seen: Evidence) -> list[str]:
    return [check.said for check in (*kept(seen), *told(seen), *checked(seen)) if not check.passed]


def last(messages: Messages) -> Evidence:
    return replace(GOOD, requests=(GOOD.requests[0], request(messages)))


def test_good_evidence_is_green() -> None:
    assert wrong(GOOD) == []
    assert [entry.call for entry in unknown(GOOD)] == ["aaaaaaaa2", "aaaaaaaa3"]


SYSTEM, USER = FIRST
ASSISTANT, DONE, CUT, UNBEGUN, FAILED = SAID


@pytest.mark.parametrize(
    ("seen", "claim"),
    [
        (last([SYSTEM, {"role": "user", "content": "Do."}, *SAID]), "prompts are in the last request"),
        (last([*FIRST, ASSISTANT, CUT, UNBEGUN, FAILED]), "finished results are in it"),
        (last([*FIRST, ASSISTANT, DONE | {"content": "pruned"}, CUT, UNBEGUN, FAILED]), "finished results are in it"),
        (last([*FIRST, *SAID, DONE]), "finished results are in it"),
        (last([*FIRST, ASSISTANT, DONE, CUT | {"content": "Aborted."}, UNBEGUN, FAILED]), "in these words"),
        (
            replace(GOOD, requests=(replace(GOOD.requests[0], refusal="No.", ended="refused"), GOOD.requests[1])),
            "1 refused",
        ),
        (replace(GOOD, requests=(replace(GOOD.requests[0], ended=None), GOOD.requests[1])), "2 requests"),
        (replace(GOOD, requests=GOOD.requests[:1]), "without a result"),
        (replace(GOOD, requests=(GOOD.requests[0], replace(GOOD.requests[1], headers={}))), "without a result"),
        (last([USER, *SAID]), "one system prompt"),
        (last([SYSTEM, *FIRST, *SAID]), "one system prompt"),
        (last([{"role": "system", "content": "You are another."}, USER, *SAID]), "one system prompt"),
        (last([SYSTEM, *SAID, USER]), "begins with all of the one before"),
        (replace(GOOD, entries=ENTRIES[:-1]), "one each"),
        (replace(GOOD, entries=(*ENTRIES, ENTRIES[-1])), "one each"),
        (replace(GOOD, deeds=(*DEEDS, "tag")), "exactly once"),
        (replace(GOOD, deeds=DEEDS[:-1]), "exactly once"),
        (replace(GOOD, lived={"release.py": None}), "LIVES ON"),
        (replace(GOOD, tools_gone=False), "no process is left"),
        (replace(GOOD, test_before=True), "the project's test"),
        (replace(GOOD, test_after=False), "the project's test"),
        (replace(GOOD, runs=(Run(code=1, expected=0),)), "exit codes 1"),
    ],
)
def test_each_claim_can_fail(seen: Evidence, claim: str) -> None:
    assert [said for said in wrong(seen) if claim in said], wrong(seen)


def test_no_evidence_proves_nothing() -> None:
    nothing = replace(GOOD, entries=(), requests=(), runs=(), deeds=(), lived={}, test_after=False)
    assert len(wrong(nothing)) == len((*kept(GOOD), *told(GOOD), *checked(GOOD)))


# --- what is shown ---------------------------------------------------------------------------------------------------


def test_an_open_call_is_shown_as_open() -> None:
    started = CallStarted(call="aaaaaaaa1", effect="execute")
    shown = list(rows(fold([*ENTRIES[:2], started])))
    assert [(row.place, row.part, row.said) for row in shown if row.part == OPEN] == [
        (2, OPEN, "started, no result yet"),
        *[(2, OPEN, "not started yet")] * 3,
    ]
    assert not [row for row in rows(fold(ENTRIES)) if row.part == OPEN]


def test_nothing_is_wider_than_the_terminal(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "80")
    out = io.StringIO()
    screen = Screen(out, {})
    screen.say("word " * 40)
    for piece in ("words and wo", "rds " * 40):
        screen.stream(piece)
    screen.call("failed", "bash " + "x" * 200, "no")
    screen.messages(fold([*ENTRIES[:2], PromptAccepted(turn=2, text="x " * 200)]))
    screen.check("word " * 40, passed=False)
    lines = out.getvalue().splitlines()
    assert "  words and words rds rds" in out.getvalue()
    assert 70 < max(len(line) for line in lines) < 80


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
    Screen(out, environ).say("Look", "bold")
    assert ("\x1b[" in out.getvalue()) is coloured


def test_a_terminal_without_unicode_gets_question_marks() -> None:
    raw = io.BytesIO()
    out = io.TextIOWrapper(raw, encoding="ascii")
    Screen(out, {}).check("it holds", passed=True)
    assert raw.getvalue() == b"  ? it holds\n"

"""A session of a gigabyte: what its first request costs when it is resumed, with a checkpoint and without."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Iterable
from pathlib import Path

from holdfast.agent.sessions import create
from holdfast.session.catalog import Catalog
from holdfast.session.journal import entries as e
from holdfast.session.journal.parts import CallPart, TextPart, Usage
from holdfast.system.durable_files import FOLD
from holdfast.system.user_directories import homes
from holdfast.testing.script import Say
from holdfast.testing.scripted_provider import ScriptedProvider
from pairs import AtMost, Comparison
from startup import HOLDFAST, environ_of

MODEL = "openai-chat:m"
MOST_SECONDS = 0.5
"""CPU until the first request of a resumed session, at a gigabyte."""

_RESULT = 30_000  # a row of the database; with blobs, making it takes ten minutes
_CALLS = 10  # in a turn
_TURNS = 6  # before they are compacted
_TICKS = os.sysconf("SC_CLK_TCK")


def make_session(root: Path, size: int, *, cwd: Path, result: int = _RESULT) -> str:
    """Make a session with results of `size` bytes, of which all but the last turns are compacted; return its id."""
    session = create(Catalog(root), cwd=cwd, model=MODEL)
    try:
        for turn in range(1, max(2, size // (result * _CALLS)) + 1):
            session.store.append([*_turn(turn, result)], expected=session.store.length)
    finally:
        session.store.close()
    return session.id


def _turn(turn: int, result: int) -> Iterable[e.Entry]:
    line = "A line of a file with words. "
    yield e.PromptAccepted(turn=turn, text=f"Look at part {turn}.")
    for number in range(_CALLS):
        step = (turn - 1) * (_CALLS + 1) + number + 1
        call = CallPart(id=f"c{step}", name="read", arguments=f'{{"path":"part_{step}.txt"}}')
        yield e.RequestStarted(step=step, attempt=1, model=MODEL)
        usage = Usage(input_tokens=1000, output_tokens=20)
        yield e.ResponseEnded(step=step, model=MODEL, parts=(call,), usage=usage, finish="tool_calls")
        yield e.CallStarted(call=call.id, effect="read")
        yield e.CallEnded(call=call.id, outcome="ok", text=f"{step} {line * (result // len(line))}", seconds=0.1)
    step = turn * (_CALLS + 1)
    yield e.RequestStarted(step=step, attempt=1, model=MODEL)
    yield e.ResponseEnded(step=step, model=MODEL, parts=(TextPart(text="Done."),), usage=Usage(), finish="stop")
    yield e.TurnEnded(turn=turn, reason="end_turn", cause="finished")
    if turn % _TURNS == 0:
        yield e.Compacted(step=step - 2 * (_CALLS + 1), note="What was done before.", why="auto")


def resuming(scratch: Path, *, size: int, rounds: int) -> list[Comparison]:
    """Compare the CPU time until the first request with the aim, with a checkpoint and after it was deleted."""
    work = scratch / "work"
    work.mkdir()
    rows: list[Comparison] = []
    with ScriptedProvider(after=(Say("Done."),)) as provider:
        environ = environ_of(scratch, provider.environ())
        root = homes(environ).sessions
        root.mkdir(parents=True, exist_ok=True)
        session = make_session(root, size, cwd=work)

        def asked(*, checkpoint: bool) -> float:
            if not checkpoint:
                (root / session / FOLD).unlink(missing_ok=True)
            return _first_request(provider, session, environ, work)

        for what, checkpoint in (("without a checkpoint", False), ("with its checkpoint", True)):
            asked(checkpoint=checkpoint)
            taken = [asked(checkpoint=checkpoint) for _ in range(rounds)]
            rows.append(
                Comparison(
                    what=f"first request of a session of {size:,} bytes, {what}, CPU",
                    against=f"{MOST_SECONDS} s",
                    ours=taken,
                    theirs=[MOST_SECONDS] * rounds,
                    aim=AtMost(ratio=1),
                )
            )
    return rows


def _first_request(provider: ScriptedProvider, session: str, environ: dict[str, str], cwd: Path) -> float:
    """Return the CPU time of a run when its request arrives."""
    before = len(provider.requests)
    command = (HOLDFAST, "-p", "Go on.", "-r", session, "--yolo")
    with subprocess.Popen(command, cwd=cwd, env=environ, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE) as child:
        provider.wait_requests(before + 1, timeout=120)
        fields = Path(f"/proc/{child.pid}/stat").read_text().rpartition(")")[2].split()
        _, error = child.communicate(timeout=120)
        assert child.returncode == 0, error.decode()
    return (int(fields[11]) + int(fields[12])) / _TICKS

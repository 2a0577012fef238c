"""A program that uses a ledger: it forks a process for each thing to do, and prints what it saw."""

from __future__ import annotations

import json
import os
import signal
import sqlite3
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

from holdfast.errors import HoldfastError
from holdfast.ledger import Ledger


def kill_before(at: int) -> None:
    """Kill this process before a statement to SQLite, the one of this number."""
    left = at
    connect = sqlite3.connect

    def count(_: str) -> None:
        nonlocal left
        if left == 0:
            os.kill(os.getpid(), signal.SIGKILL)
        left -= 1

    def counted(*words: Any, **named: Any) -> sqlite3.Connection:
        connection: sqlite3.Connection = connect(*words, **named)
        connection.set_trace_callback(count)
        return connection

    sqlite3.connect = counted  # pyright: ignore[reportAttributeAccessIssue] - in a process that ends here


def act(ledger: Ledger, folder: Path, result: str) -> None:
    """Run the one call, whose effect is a line in a file."""
    with ledger.call("c1", "tool", {"a": 1}) as call:
        if not call.done:
            with (folder / "effects").open("a") as file:
                file.write("effect\n")
            call.result = result


def in_process(work: Callable[[], object]) -> int:
    """Return how a process that does this ended."""
    if (child := os.fork()) == 0:
        try:
            work()
        except HoldfastError as error:
            print(json.dumps({"error": f"{type(error).__name__}: {error}"}), flush=True)
            os._exit(1)
        os._exit(0)
    return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])


def effects(folder: Path) -> int:
    file = folder / "effects"
    return len(file.read_text().splitlines()) if file.exists() else 0


def killed_at(folder: Path, at: int, size: int) -> dict[str, object]:
    """Kill a process before that statement, look, run the call again, and look again."""
    folder.mkdir()

    def work() -> None:
        kill_before(at)
        act(Ledger(folder / "calls.db"), folder, "x" * size)

    ended = in_process(work)
    after_kill = effects(folder)
    known = Ledger(folder / "calls.db").outcomes(["c1"])
    again = in_process(lambda: act(Ledger(folder / "calls.db"), folder, "again"))
    last = Ledger(folder / "calls.db").outcomes(["c1"])
    return {
        "killed": ended == -signal.SIGKILL,
        "effects": after_kill,
        "outcome": known["c1"].outcome if known else "",
        "again": again,
        "effects_again": effects(folder),
        "outcome_again": last["c1"].outcome if last else "",
        "intact": not last or last["c1"].outcome != "ok" or last["c1"].result in ("x" * size, "again"),
    }


def kills(folder: Path, size: int) -> None:
    at = 0
    while True:
        seen = killed_at(folder / str(at), at, size)
        print(json.dumps(seen), flush=True)
        if not seen["killed"]:
            return
        at += 1


def race(folder: Path, workers: int, calls: int) -> None:
    """Let processes race for the same calls, each a line in a file."""

    def work() -> None:
        ledger = Ledger(folder / "calls.db")
        for number in range(calls):
            try:
                with ledger.call(f"c{number}", "tool", {"number": number}) as call:
                    if not call.done:
                        with (folder / "effects").open("a") as file:
                            file.write(f"{number}\n")
                        call.result = number
                    assert call.result == number
            except HoldfastError as error:
                if type(error).__name__ != "CallRepeated" or "still running" not in str(error):
                    raise

    children: list[int] = []
    for _ in range(workers):
        if (child := os.fork()) == 0:
            try:
                work()
            except BaseException as error:  # noqa: BLE001 - printed, and the process ends
                print(f"{type(error).__name__}: {error}", flush=True)
                os._exit(1)
            os._exit(0)
        children.append(child)
    codes = [os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) for child in children]
    known = Ledger(folder / "calls.db").outcomes(f"c{number}" for number in range(calls))
    print(
        json.dumps({"codes": codes, "outcomes": sorted({each.outcome for each in known.values()}), "known": len(known)})
    )


if __name__ == "__main__":
    match sys.argv[1:]:
        case ["kills", folder, size]:
            kills(Path(folder), int(size))
        case ["race", folder, workers, calls]:
            race(Path(folder), int(workers), int(calls))
        case words:
            sys.exit(f"unknown words {words}")

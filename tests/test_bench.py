"""The benchmark runs, compares what it says it compares, and fails for what is wrong but not for what is slow."""

from __future__ import annotations

import gc
import os
import sys
from collections.abc import Callable, Sequence
from pathlib import Path

import pytest

import history
import journal
import pairs
import run
import startup
import walls
from holdfast.session.conversation.fold import fold
from holdfast.session.journal.entries import Entry
from holdfast.session.journal.store import Store
from holdfast.session.storage.sqlite_store import SqliteStore
from skips import needs
from tiers import TIER, sampled


def comparison(aim: pairs.AtMost | pairs.Equal, ours: list[float], theirs: list[float]) -> pairs.Comparison:
    return pairs.Comparison(what="thing", against="other", ours=ours, theirs=theirs, aim=aim, unit="bytes")


ROWS = {
    "version": 2,
    "import": 2,
    "models": 1,
    "skills": 1,
    "list": 2,
    "sessions": 4,
    "append": 2,
    "open": 1,
    "fold": 1,
    "rules": 14,
    "memory": 1,
    "judging": 10,
    "guard": 5,
    "stop": 18,
    "block": 4,
    "tokens": 2,
    "debug": 1,
    "verify": 1,
    "request": 3,
    "bytes": 2 if journal.WRITTEN.exists() else 0,
    "prompt": 2,
    "escape": 8,
    "stream": 6,
}
"""What is cheap to measure, and how many rows of the table it is."""

DEAR = {"servers": 4, "server-stop": 2}
"""What starts many screens, or waits, likewise."""


@pytest.mark.parametrize("name", sampled(ROWS, 8))
def test_what_is_cheap_runs_and_is_in_the_table(capsys: pytest.CaptureFixture[str], name: str) -> None:
    expect_rows(capsys, name, ROWS[name])


def test_what_a_wall_costs_is_in_the_table(capsys: pytest.CaptureFixture[str]) -> None:
    if not walls.working():
        pytest.skip("no wall works here: see holdfast doctor sandbox")
    expect_rows(capsys, "confinement", 2 * len(walls.working()))


@pytest.mark.deep
@pytest.mark.skipif(TIER == "quick", reason="it takes long: in a deeper tier")
@pytest.mark.parametrize("name", DEAR)
def test_what_is_dear_runs_and_is_in_the_table(capsys: pytest.CaptureFixture[str], name: str) -> None:
    expect_rows(capsys, name, DEAR[name])


def expect_rows(capsys: pytest.CaptureFixture[str], name: str, many: int) -> None:
    gc.freeze()  # it collects garbage before each round: not through what other tests hold
    assert run.main(["--tiny", name]) == 0
    header, rule, *rows = capsys.readouterr().out.splitlines()
    assert [cell.strip() for cell in header.strip("|").split("|")] == list(pairs.HEADER)
    assert len({len(line) for line in (header, rule, *rows)}) == 1
    assert len(rows) == many


def test_an_unknown_measurement_is_refused() -> None:
    with pytest.raises(SystemExit):
        run.main(["coffee"])


def test_a_missed_aim_is_reported_and_is_no_error(capsys: pytest.CaptureFixture[str]) -> None:
    assert run.report([comparison(pairs.AtMost(ratio=1), [3, 2, 1], [1, 1, 1])]) == 0
    assert "thing" in capsys.readouterr().err


@pytest.mark.parametrize(("theirs", "code"), [([7, 7, 9], 0), ([8, 8, 7], 1)])
def test_an_equality_that_does_not_hold_is_an_error(theirs: list[float], code: int) -> None:
    compared = comparison(pairs.Equal(), [7, 7, 7], theirs)
    assert run.report([compared]) == code
    assert ("WRONG" in compared.row()) == bool(code)


def test_the_sides_take_turns_and_the_first_round_does_not_count() -> None:
    turns: list[str] = []
    results = pairs.paired(lambda: turns.append("a") or len(turns), lambda: turns.append("b") or len(turns), rounds=3)
    assert "".join(turns) == "baabbaab"
    assert results == ([3, 6, 7], [4, 5, 8])


@pytest.mark.parametrize(("percent", "value"), [(50, 5), (99, 10), (100, 10), (1, 1)])
def test_percentiles(percent: int, value: int) -> None:
    assert pairs.percentile(range(10, 0, -1), percent) == value


@pytest.mark.parametrize("messages", [2, 4, 10, 12])
def test_a_conversation_has_the_messages_it_says(messages: int) -> None:
    conversation = fold(history.conversation(messages))
    assert len(conversation.messages) == messages
    assert (conversation.turns, conversation.steps) == (-(-messages // 4), messages // 2)
    assert conversation.open_turn is None


@pytest.mark.parametrize("entries", [1, 11, 25])
def test_a_journal_has_the_entries_it_says(entries: int) -> None:
    assert len(history.journal_of(entries)) == entries


class Rewriting(SqliteStore):
    """Known-bad: writes the whole conversation again with every entry."""

    def append(self, entries: Sequence[Entry], *, expected: int) -> int:
        length = super().append(entries, expected=expected)
        copy = "".join(str(record.entry) for record in self.read().records)
        self._path.with_name("copy").write_text(copy, encoding="utf-8")
        return length


@needs("linux")
@pytest.mark.parametrize(("reopen", "code"), [(SqliteStore.open, 0), (Rewriting.open, 1)])
def test_a_store_that_writes_the_whole_conversation_again_is_found(
    tmp_path: Path, reopen: Callable[[Path], Store], code: int
) -> None:
    few, many = (
        journal.bytes_of_turns(tmp_path / str(messages), messages=messages, turns=3, reopen=reopen)
        for messages in (2, 40)
    )
    assert run.report([comparison(pairs.Equal(), many, few)]) == code


def test_a_process_is_killed_at_its_moment(tmp_path: Path) -> None:
    burn = "import time\nwhile time.process_time() < 0.2: pass\nprint('now', flush=True)\nwhile True: pass"
    times = startup.until(startup.first_line, (sys.executable, "-c", burn), environ=os.environ, cwd=tmp_path)
    assert times.wall > 0.15
    assert times.cpu > 0.15


@pytest.mark.parametrize(("size", "least"), [(0, 0), (50_000_000, 50_000_000)])
def test_the_memory_of_a_process_is_its_own(size: int, least: int, tmp_path: Path) -> None:
    ours = bytearray(200_000_000)
    takes = f"memory = bytearray({size})\nprint('now', flush=True)\nwhile True: pass"
    times = startup.until(startup.first_line, (sys.executable, "-c", takes), environ=os.environ, cwd=tmp_path)
    assert times.memory is not None
    assert least < times.memory < len(ours)


def test_a_process_that_fails_is_not_measured(tmp_path: Path) -> None:
    with pytest.raises(AssertionError, match="exit code 3"):
        startup.to_the_end((sys.executable, "-c", "raise SystemExit(3)"), environ=os.environ, cwd=tmp_path)

"""The laws of the file of calls: written ahead, ended once, one writer; across kills, processes and a full disk."""

from __future__ import annotations

import json
import os
import signal
import sqlite3
import subprocess
import sys
from contextlib import closing
from pathlib import Path

import msgspec
import pytest

from holdfast.errors import CallRepeated, DamageError, StateError, StorageFailed
from holdfast.ledger import Ledger
from holdfast.ledger.call_file import LONGEST_CALL_FIELD, CallFile
from holdfast.ledger.call_row import CallWriter
from holdfast.ledger.writer_process import lives, this_process
from holdfast.testing.store_faults import files_limited
from polling import HANGS

PROGRAM = Path(__file__).with_name("ledger_program.py")
LONG = "x" * (LONGEST_CALL_FIELD + 1)


def lines(*words: str) -> list[dict[str, object]]:
    done = subprocess.run(
        [sys.executable, str(PROGRAM), *words], capture_output=True, text=True, timeout=HANGS, check=False
    )
    assert done.returncode == 0, done.stderr
    return [json.loads(line) for line in done.stdout.splitlines()]


def run(ledger: Ledger, call: str, value: object) -> object:
    with ledger.call(call, "tool", {"a": 1}) as entered:
        if not entered.done:
            entered.result = value
    return entered.result


@pytest.mark.parametrize("size", [10, len(LONG)])
def test_a_kill_before_any_statement_leaves_the_truth(tmp_path: Path, size: int) -> None:
    """What ran is begun in the ledger, what has an end there ran, and no later process runs it again."""
    seen = [each for each in lines("kills", str(tmp_path), str(size)) if "error" not in each]
    killed = [each for each in seen if each["killed"]]
    assert len(killed) >= 15, "the table is made, the call begun and ended"
    assert {each["outcome"] for each in killed} == {"", "interrupted"}
    for each in seen:
        began = each["outcome"] != ""
        assert each["effects"] == 0 or began, f"it ran and is not in the ledger: {each}"
        assert each["outcome"] != "ok" or each["effects"] == 1, f"it is said to have ended and did not run: {each}"
        assert each["intact"]
        if each["outcome"] == "interrupted":
            assert each["again"] == 1, f"it ran again: {each}"
            assert each["outcome_again"] == "interrupted"
            assert each["effects_again"] == each["effects"]
        else:
            assert each["again"] == 0
            assert each["outcome_again"] == "ok"
            assert each["effects_again"] == 1
    assert any(each["effects"] == 1 and each["outcome"] == "interrupted" for each in seen)
    assert not seen[-1]["killed"]


def test_eight_processes_run_each_call_once(tmp_path: Path) -> None:
    (seen,) = lines("race", str(tmp_path), "8", "25")
    assert seen == {"codes": [0] * 8, "outcomes": ["ok"], "known": 25}
    assert sorted((tmp_path / "effects").read_text().split(), key=int) == [str(each) for each in range(25)]


def test_a_call_of_a_process_that_waits_forever_is_refused_after_the_bound(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("holdfast.ledger.call_file.BUSY_SECONDS", 0.2)
    ledger = Ledger(tmp_path / "calls.db")
    run(ledger, "c1", "done")
    ledger.close()
    ledger = Ledger(tmp_path / "calls.db")
    with closing(sqlite3.connect(tmp_path / "calls.db", isolation_level=None)) as other:
        other.execute("BEGIN IMMEDIATE")
        with pytest.raises(StorageFailed, match=r"busy: another process has been writing for 0\.2 seconds"):
            run(ledger, "c2", "done")
        other.execute("ROLLBACK")
    assert run(ledger, "c2", "done") == "done"


# --- whose call ------------------------------------------------------------------------------------------------------


def writer(**changes: object) -> str:
    return msgspec.json.encode({**msgspec.json.decode(this_process()), **changes}).decode()


def test_a_process_lives_by_number_start_and_boot() -> None:
    assert lives(this_process())
    assert not lives(writer(start=1)), "the number is that of a later process"
    assert not lives(writer(boot="00000000-0000-0000-0000-000000000000"))
    assert not lives(writer(pid=(1 << 22) + 1))
    assert lives(writer(namespace="pid:[1]")), "nothing is known of it here"
    assert lives("damaged"), "nothing is known of it"
    assert msgspec.json.decode(this_process(), type=CallWriter).pid == os.getpid()


def test_a_number_that_another_process_has_now_does_not_hold_a_call(tmp_path: Path) -> None:
    ledger = Ledger(tmp_path / "calls.db")
    with ledger.call("c1", "tool", {"a": 1}) as call:
        (row,) = CallFile(tmp_path / "calls.db").rows("", ["c1"]).values()
        assert row is not None
        file = CallFile(tmp_path / "calls.db")
        old = msgspec.structs.replace(row, begun_by=writer(start=1))
        assert file.begin(old, may_replace=lambda _: True) is None
        assert ledger.outcomes(["c1"])["c1"].outcome == "interrupted"
        call.result = "x"
        with pytest.raises(StateError, match="its beginning is not in the ledger any more"):
            call.__exit__(None, None, None)
        call.done = True  # the test has ended it


def test_a_fork_does_not_end_the_call_of_its_parent(tmp_path: Path) -> None:
    code = f"""
import os, sys
from holdfast.errors import StateError
from holdfast.ledger import Ledger
ledger = Ledger({str(tmp_path / "calls.db")!r})
with ledger.call("c1", "tool") as call:
    if (child := os.fork()) == 0:
        try:
            call.__exit__(None, None, None)
        except StateError as error:
            print(error, flush=True)
        call.__exit__(SystemExit, SystemExit(0), None)
        with ledger.call("c2", "tool") as own:
            own.result = "of the child"
        sys.exit(0)
    print(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]), ledger.outcomes(["c1"])["c1"].outcome, flush=True)
    call.result = "of the parent"
print([each.result for each in ledger.outcomes(["c1", "c2"]).values()], flush=True)
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=HANGS, check=False)
    assert done.returncode == 0, done.stderr
    refused, running, *_, results = done.stdout.splitlines()
    assert "of which this one is a fork" in refused
    assert running == "0 running"
    assert results == "['of the parent', 'of the child']"


# --- full disk -------------------------------------------------------------------------------------------------------


@pytest.fixture
def ignored_signal() -> None:
    assert signal.getsignal(signal.SIGXFSZ) is signal.SIG_IGN


@pytest.mark.usefixtures("ignored_signal")
def test_on_a_full_disk_nothing_begins(tmp_path: Path) -> None:
    ledger = Ledger(tmp_path / "calls.db")
    run(ledger, "c1", "done")
    size = (tmp_path / "calls.db-wal").stat().st_size
    with files_limited(size), pytest.raises(StorageFailed, match="cannot be used"), ledger.call("c2", "tool"):
        pytest.fail("it ran")
    assert set(ledger.outcomes(["c1", "c2"])) == {"c1"}
    assert run(ledger, "c2", "done") == "done"


@pytest.mark.usefixtures("ignored_signal")
@pytest.mark.parametrize("value", ["done", LONG])
def test_an_end_that_the_disk_refuses_is_written_before_the_next_call(tmp_path: Path, value: str) -> None:
    ledger = Ledger(tmp_path / "calls.db")
    run(ledger, "c0", "done")
    call = ledger.call("c1", "tool", {"a": 1})
    call.__enter__()
    call.result = value
    with files_limited((tmp_path / "calls.db-wal").stat().st_size):
        with pytest.raises(StorageFailed, match=r"The end of call 'c1' \(ok\) is not recorded yet"):
            call.__exit__(None, None, None)
        assert ledger.outcomes(["c1"])["c1"].result == value
        assert Ledger(tmp_path / "calls.db").outcomes(["c1"])["c1"].outcome == "running"
        with pytest.raises(StorageFailed):
            run(ledger, "c2", "done")
    assert run(ledger, "c2", "done") == "done"
    assert Ledger(tmp_path / "calls.db").outcomes(["c1"])["c1"].result == value


@pytest.mark.usefixtures("ignored_signal")
def test_the_exception_of_a_tool_is_not_hidden_by_a_full_disk(tmp_path: Path) -> None:
    ledger = Ledger(tmp_path / "calls.db")
    run(ledger, "c0", "done")
    call = ledger.call("c1", "tool")
    call.__enter__()
    error = ValueError("of the tool")
    with files_limited((tmp_path / "calls.db-wal").stat().st_size):
        call.__exit__(ValueError, error, None)
    assert "the end of call 'c1' is not recorded" in error.__notes__[0]
    ledger.close()
    assert Ledger(tmp_path / "calls.db").outcomes(["c1"])["c1"].text == "ValueError: of the tool"


# --- long results ----------------------------------------------------------------------------------------------------


def test_a_long_result_is_a_file_beside(tmp_path: Path) -> None:
    ledger = Ledger(tmp_path / "calls.db")
    run(ledger, "at the bound", LONG[:-1])
    assert not (tmp_path / "calls.db-results").exists()
    run(ledger, "text", LONG)
    run(ledger, "json", [LONG])
    again = Ledger(tmp_path / "calls.db")
    assert run(again, "at the bound", "again") == LONG[:-1]
    assert run(again, "text", "again") == LONG
    assert run(again, "json", "again") == [LONG]
    assert len(list((tmp_path / "calls.db-results").iterdir())) == 2
    assert all(each.stat().st_mode & 0o777 == 0o600 for each in (tmp_path / "calls.db-results").iterdir())


def test_a_result_beyond_every_bound_is_said_to_be_lost(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("holdfast.ledger.ledger.LARGEST_CALL_RESULT", LONGEST_CALL_FIELD)
    ledger = Ledger(tmp_path / "calls.db")
    run(ledger, "c1", LONG)
    assert "too long to be kept: 1,048,577 bytes" in str(run(ledger, "c1", "again"))


def test_the_files_of_pruned_results_go_later(tmp_path: Path) -> None:
    now = [1000.0]
    ledger = Ledger(tmp_path / "calls.db", now=lambda: now[0])
    run(ledger, "old", LONG)
    now[0] = 2000.0
    run(ledger, "new", LONG + "y")
    (old, _) = sorted((tmp_path / "calls.db-results").iterdir(), key=lambda each: each.stat().st_size)
    assert ledger.prune(500) == 1
    assert old.exists(), "a young file may wait for its row"
    for each in (tmp_path / "calls.db-results").iterdir():
        os.utime(each, (1, 1))
    assert ledger.prune(500) == 0
    assert not old.exists()
    assert run(ledger, "new", "again") == LONG + "y"


@pytest.mark.parametrize("damage", ["cut", "gone", "other"])
def test_a_damaged_long_result_is_said_to_be_lost(tmp_path: Path, damage: str) -> None:
    ledger = Ledger(tmp_path / "calls.db")
    run(ledger, "c1", LONG)
    (file,) = (tmp_path / "calls.db-results").iterdir()
    match damage:
        case "cut":
            os.truncate(file, 1000)
        case "gone":
            file.unlink()
        case _:
            file.write_text("y" * len(LONG))
    record = ledger.outcomes(["c1"])["c1"]
    assert record.outcome == "ok"
    assert record.text.startswith("It ended (ok), and its result is lost. Result ")


# --- damaged and foreign files ---------------------------------------------------------------------------------------


def test_a_row_that_is_not_as_it_was_written_is_lost_and_not_run(tmp_path: Path) -> None:
    ledger = Ledger(tmp_path / "calls.db")
    run(ledger, "c1", "done")
    run(ledger, "c2", "done")
    with closing(sqlite3.connect(tmp_path / "calls.db", isolation_level=None)) as other:
        other.execute("UPDATE call SET result = 'dome' WHERE id = 'c1'")
        other.execute("UPDATE call SET attempt = 'many' WHERE id = 'c2'")
    records = ledger.outcomes(["c1", "c2"])
    assert {each.outcome for each in records.values()} == {"lost"}
    assert "Outcome lost: the record of this call is damaged. Effect unknown" in records["c1"].text
    for each in ("c1", "c2"):
        with pytest.raises(DamageError, match=f"Call '{each}' in ledger .* is damaged"):
            run(ledger, each, "again")


@pytest.mark.parametrize("damage", ["no database", "pages"])
def test_a_damaged_file_is_said_to_be_so_and_left_alone(tmp_path: Path, damage: str) -> None:
    path = tmp_path / "calls.db"
    if damage == "no database":
        path.write_bytes(b"hello, I am a text. " * 300)
    else:
        ledger = Ledger(path)
        for number in range(200):
            run(ledger, f"c{number}", "x" * 100)
        ledger.close()
        data = bytearray(path.read_bytes())
        data[4096:] = b"\x55" * (len(data) - 4096)
        path.write_bytes(data)
    before = path.read_bytes()
    for act in (lambda: run(Ledger(path), "c1", "again"), lambda: Ledger(path).outcomes(["c1"])):
        with pytest.raises(DamageError, match=r"Ledger '.*calls\.db' is damaged: .*Nothing was changed"):
            act()
    assert path.read_bytes() == before


def test_a_file_of_another_program_is_refused_and_left_alone(tmp_path: Path) -> None:
    with closing(sqlite3.connect(tmp_path / "other.db")) as other:
        other.execute("CREATE TABLE checkpoints (id TEXT)")
    before = (tmp_path / "other.db").read_bytes()
    with pytest.raises(StateError, match="the database of another program"):
        run(Ledger(tmp_path / "other.db"), "c1", "done")
    assert (tmp_path / "other.db").read_bytes() == before


def test_a_newer_file_is_refused(tmp_path: Path) -> None:
    ledger = Ledger(tmp_path / "calls.db")
    run(ledger, "c1", "done")
    ledger.close()
    with closing(sqlite3.connect(tmp_path / "calls.db")) as other:
        other.execute("PRAGMA user_version=2")
    with pytest.raises(StateError, match="a newer holdfast wrote it"):
        run(Ledger(tmp_path / "calls.db"), "c1", "done")


def test_what_is_no_file_is_refused_at_once(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    for name in ("pipe", "."):
        with pytest.raises(StateError, match="is not a regular file"):
            run(Ledger(tmp_path / name), "c1", "done")
    with pytest.raises(StorageFailed, match="No such file or directory"):
        run(Ledger(tmp_path / "none" / "calls.db"), "c1", "done")


def test_a_file_that_is_too_large_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    ledger = Ledger(tmp_path / "calls.db")
    run(ledger, "c1", "done")
    ledger.close()
    monkeypatch.setattr("holdfast.ledger.call_file.LARGEST_LEDGER", 100)
    with pytest.raises(StorageFailed, match="larger than 100 bytes"):
        run(Ledger(tmp_path / "calls.db"), "c2", "done")


def test_a_call_that_another_process_repeats_after_a_look_is_begun_once(tmp_path: Path) -> None:
    ledger = Ledger(tmp_path / "calls.db")
    with pytest.raises(KeyboardInterrupt), ledger.call("c1", "tool", {"a": 1}):
        raise KeyboardInterrupt

    def look() -> bool:
        with Ledger(tmp_path / "calls.db").call("c1", "tool", {"a": 1}, replay="safe") as faster:
            faster.result = "by another"
        return False

    with pytest.raises(CallRepeated, match="by another"), ledger.call("c1", "tool", {"a": 1}, settle=look):
        pytest.fail("it ran twice")

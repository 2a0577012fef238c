from __future__ import annotations

import json
from pathlib import Path

import pytest

from holdfast.tools.shell import forget
from holdfast.tools.traces import traces_of

ENDED: dict[str, object] = {
    "kind": "ended",
    "call": "A",
    "cause": "exit",
    "status": 0,
    "seconds": 1.23456,
    "seen": 4,
    "unkept": "",
    "leftovers": 0,
    "survivors": 0,
}


def left(spool: Path, text: str | None, **ended: object) -> None:
    """Write what a command leaves."""
    if text is not None:
        spool.write_text(text)
    if ended:
        Path(f"{spool}.end").write_text(json.dumps(ENDED | ended))


@pytest.mark.parametrize(
    ("ended", "ok", "interrupted", "said"),
    [
        ({"status": 0}, True, False, "out\n(exit code 0, 1.2 s)"),
        ({"status": 2}, False, False, "out\n(exit code 2, 1.2 s)"),
        ({"status": -9}, False, False, "out\n(ended by signal 9 (Killed), 1.2 s)"),
        ({"cause": "timeout", "status": -15}, False, False, "out\n(timed out after 1.2 s, and everything it had"),
        ({"cause": "stop", "status": -15}, False, True, "out\n(stopped after 1.2 s, and everything it had started"),
        (
            {"cause": "stop", "status": None, "survivors": 2},
            False,
            True,
            "out\n(stopped after 1.2 s; 2 processes of it",
        ),
        ({"leftovers": 1}, True, False, "out\n(exit code 0, 1.2 s; 1 process it left behind was ended)"),
    ],
)
def test_the_keepers_word_is_told_as_if_it_had_been_heard(
    tmp_path: Path, ended: dict[str, object], *, ok: bool, interrupted: bool, said: str
) -> None:
    left(tmp_path / "A.out", "out\n", **ended)
    found = traces_of(tmp_path / "A.out", 0.0)
    assert found is not None
    assert (found.output.ok, found.output.interrupted, found.seconds) == (ok, interrupted, 1.235)
    assert found.output.text.startswith(said)


def test_without_it_only_what_was_printed_is_known(tmp_path: Path) -> None:
    spool = tmp_path / "A.out"
    assert traces_of(spool, 0.0) is None
    left(spool, "")
    assert traces_of(spool, 0.0) is None
    left(spool, "half\n")
    Path(f"{spool}.end").write_bytes(b'{"kind": "en\xb0"}')  # the power failed
    found = traces_of(spool, spool.stat().st_mtime - 2.5)
    assert found is not None
    assert found.output.interrupted
    assert found.seconds == 0
    assert found.output.text == "half\n(it last printed something after 2.5 s; when and how it ended is not known)"
    later = traces_of(spool, spool.stat().st_mtime + 60)  # the clock was set
    assert later is not None
    assert "after 0.0 s" in later.output.text


def test_a_command_that_printed_nothing_and_ended_says_how(tmp_path: Path) -> None:
    left(tmp_path / "A.out", "", status=1)
    found = traces_of(tmp_path / "A.out", 0.0)
    assert found is not None
    assert found.output.text == "(no output)\n(exit code 1, 1.2 s)"


def test_forgetting_takes_both_files_and_no_other(tmp_path: Path) -> None:
    left(tmp_path / "A.out", "out\n", status=0)
    left(tmp_path / "B.out", "out\n", status=0)
    forget(tmp_path / "A.out")
    forget(tmp_path / "A.out")
    assert sorted(path.name for path in tmp_path.iterdir()) == ["B.out", "B.out.end"]

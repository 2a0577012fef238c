from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from ends import left
from holdfast.tools.process.command_traces import traces_of
from holdfast.tools.process.supervisor_client import forget

ALONE = "to keep one running, start it with background: true"


@pytest.mark.parametrize(
    ("ended", "ok", "interrupted", "text"),
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
        (
            {"cause": "signalled", "status": -15},
            False,
            True,
            "out\n(ended after 1.2 s, and everything it had started was",
        ),
        (
            {"cause": "unguarded", "status": -15},
            False,
            True,
            "out\n(ended after 1.2 s, and everything it had started was",
        ),
        (
            {"leftovers": 1},
            True,
            False,
            f"out\n(exit code 0, 1.2 s; 1 process it left behind was ended; {ALONE})",
        ),
    ],
)
def test_the_supervisors_word_is_reported_as_if_it_had_been_heard(
    tmp_path: Path, ended: dict[str, Any], *, ok: bool, interrupted: bool, text: str
) -> None:
    found = traces_of(left(tmp_path, "out\n", **ended), 0.0)
    assert found is not None
    assert (found.output.ok, found.output.interrupted, found.seconds) == (ok, interrupted, 1.235)
    assert found.output.text.startswith(text)


def test_a_command_whose_wall_could_not_be_built_is_said_not_to_have_run(tmp_path: Path) -> None:
    found = traces_of(left(tmp_path, "bwrap: no\n", status=1, has_begun=False, wall="bwrap"), 0.0)
    assert found is not None
    assert found.output.text == "The command could not be confined: bwrap: no. Nothing was run."
    assert (found.output.ok, found.output.interrupted) == (False, False)
    killed = traces_of(left(tmp_path, "", status=-9, has_begun=False, wall="bwrap"), 0.0)
    assert killed is not None
    assert "its wall was ended by signal 9. Nothing was run." in killed.output.text
    stopped = traces_of(left(tmp_path, "", cause="stop", status=-9, has_begun=False, wall="bwrap"), 0.0)
    assert stopped is not None
    assert stopped.output.interrupted


def test_without_it_only_what_was_printed_is_known(tmp_path: Path) -> None:
    spool = tmp_path / "A.out"
    assert traces_of(spool, 0.0) is None
    spool.touch()
    assert traces_of(spool, 0.0) is None
    spool.write_text("half\n")
    Path(f"{spool}.end").write_bytes(b'{"kind": "en\xb0"}')  # the power failed
    found = traces_of(spool, spool.stat().st_mtime - 2.5)
    assert found is not None
    assert found.output.interrupted
    assert found.seconds == 0
    assert found.output.text == "half\n(its last output came after 2.5 s; when and how it ended is unknown)"
    later = traces_of(spool, spool.stat().st_mtime + 60)  # the clock was set
    assert later is not None
    assert "after 0.0 s" in later.output.text


def test_a_command_that_printed_nothing_and_ended_says_how(tmp_path: Path) -> None:
    found = traces_of(left(tmp_path, "", status=1), 0.0)
    assert found is not None
    assert found.output.text == "(no output)\n(exit code 1, 1.2 s)"


def test_forgetting_takes_both_files_and_no_other(tmp_path: Path) -> None:
    forgotten = left(tmp_path, "out\n", status=0)
    other = left(tmp_path, "out\n", status=0)
    forget(forgotten)
    forget(forgotten)
    assert sorted(path.name for path in tmp_path.iterdir()) == [other.name, f"{other.name}.end"]

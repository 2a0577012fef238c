"""A fault of holdfast is kept for the report, readable by its owner alone and without a key; or it says why not."""

from __future__ import annotations

import stat
from pathlib import Path

from holdfast.providers.credentials.provider_keys import KeyFile
from holdfast.ui.startup.crash_report import CRASH_LOG, keep_traceback

TRACE = "Traceback (most recent call last):\nValueError: {} \u2026 gone\n"
ENVIRONMENTS, FILES, RINGS = "the-environments-key", "the-key-of-the-file", "the-key-of-the-keyring"


def test_it_is_kept_without_any_key_there_is(tmp_path: Path) -> None:
    environ = {"HOLDFAST_HOME": str(tmp_path / "home"), "MISTRAL_API_KEY": ENVIRONMENTS}
    (tmp_path / "home").mkdir()
    KeyFile(tmp_path / "home" / "holdfast-keys.json").keep("OPENAI_API_KEY", FILES, place="file")
    trace = TRACE.format(f"{ENVIRONMENTS} {FILES} {RINGS}")
    keep_traceback(trace, environ=environ, secrets=(RINGS,))
    shown, where = keep_traceback(trace, environ=environ, secrets=(RINGS,))
    path = tmp_path / "home" / CRASH_LOG
    assert shown == TRACE.format("[hidden] [hidden] [hidden]")
    assert str(path) in where
    report = path.read_text()
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert report.count("ValueError: [hidden] [hidden] [hidden] \\u2026 gone") == 2
    assert not any(key in report for key in (ENVIRONMENTS, FILES, RINGS))


def test_what_cannot_be_kept_is_still_shown(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    shown, where = keep_traceback(TRACE.format("it"), environ={"HOLDFAST_HOME": str(tmp_path / "file" / "home")})
    assert shown == TRACE.format("it")
    assert "not stored" in where
    (tmp_path / "home").mkdir()
    (tmp_path / "home" / CRASH_LOG).symlink_to(tmp_path / "file")
    _, where = keep_traceback(TRACE.format("it"), environ={"HOLDFAST_HOME": str(tmp_path / "home")})
    assert "not stored" in where
    assert (tmp_path / "file").read_text() == ""

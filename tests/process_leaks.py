"""Finding what a command left alive: processes are marked by their call, in their environment or their arguments."""

from __future__ import annotations

import contextlib
from pathlib import Path

from skips import needs

linux_only = needs("linux")


def alive(call: str) -> list[int]:
    """Return the processes that carry `call`, seen through any of their threads: the first may have ended."""
    processes = [path for path in Path("/proc").iterdir() if path.name.isdigit()]
    return sorted(int(process.name) for process in processes if _marked(process, call))


def _marked(process: Path, call: str) -> bool:
    try:
        for thread in (process / "task").iterdir():
            state = (thread / "stat").read_text(errors="replace").rpartition(")")[2].split()[0]
            content = (thread / "environ").read_bytes() + (thread / "cmdline").read_bytes()
            if state not in "ZX" and call.encode() in content:
                return True
    except (FileNotFoundError, ProcessLookupError, PermissionError):
        pass  # it ended while it was looked at, or is another user's
    return False


def open_files(pid: int) -> int:
    """Return how many files the process has open."""
    return len(list(Path(f"/proc/{pid}/fd").iterdir()))


def peak_memory(pid: int) -> int:
    """Return the most memory the process ever held, in kB."""
    return int(Path(f"/proc/{pid}/status").read_text().partition("VmHWM:")[2].split()[0])


def below(pid: int) -> dict[int, str]:
    """Return the processes below one, with their command lines."""
    found: dict[int, str] = {}
    with contextlib.suppress(OSError):
        for task in Path(f"/proc/{pid}/task").iterdir():
            for child in map(int, (task / "children").read_text().split()):
                with contextlib.suppress(OSError):
                    found[child] = Path(f"/proc/{child}/cmdline").read_text().replace("\0", " ")
                    found |= below(child)
    return found

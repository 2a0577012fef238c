"""The keys in this process's own environment, taken out of it once they are read: commands run as the same user.

Two rules. What was read is in the mapping that is returned, and nowhere that another process can look: neither in
`/proc/PID/environ`, which shows what a process was started with whatever it removes since, nor in what is started from
here. Root can read every process's memory; against root there is nothing to be had.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path
from types import MappingProxyType

from holdfast.agent.secrets import is_secret
from holdfast.tools.processes import LINUX, MARK, keep_secrets

_ENV_START, _ENV_END = 47, 48
"""Fields of /proc/self/stat behind the name, which may have spaces: where the environment was put at the start."""


def taken() -> Mapping[str, str]:
    """Return the environment as it is now, the keys in it for the last time; call it while there is one thread."""
    environ = dict(os.environ)
    if LINUX:
        keep_secrets()
        _blank()
    for name in environ:
        if is_secret(name):
            del os.environ[name]
    return MappingProxyType(environ)


def _blank() -> None:
    """Overwrite what /proc/self/environ shows, but for the call that this process was started for, if it was."""
    import ctypes  # noqa: PLC0415 - only where there is a /proc

    for name, value in os.environ.items():
        os.putenv(name, value)  # a copy elsewhere, which the C library goes by from now on
    fields = Path("/proc/self/stat").read_bytes().rpartition(b")")[2].split()
    start, end = int(fields[_ENV_START]), int(fields[_ENV_END])
    place = start
    for variable in ctypes.string_at(start, end - start).split(b"\0"):
        if not variable.startswith(f"{MARK}=".encode()):
            ctypes.memset(place, 0, len(variable))
        place += len(variable) + 1

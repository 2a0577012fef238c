"""Takes API keys out of holdfast's own environment, because the commands it runs belong to the same user.

The keys stay in the returned mapping only. Other processes can find them neither in `/proc/PID/environ`, which
otherwise shows the environment a process started with, nor in inherited environments. Root can read any process's
memory; nothing here protects against root.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path
from types import MappingProxyType

from holdfast.providers.credentials.redaction import is_secret, key_variables
from holdfast.providers.registry import Providers
from holdfast.tools.process.environment import PASSED_ON
from holdfast.tools.process.process_table import CALL_VARIABLE, LINUX, keep_secrets

_ENV_START, _ENV_END = 47, 48
"""Fields of /proc/self/stat after the name (which may contain spaces): the address range of the environment."""


def take_environment() -> Mapping[str, str]:
    """Return the environment including its keys, and remove them from it. Call it while there is only one thread."""
    environ = dict(os.environ)
    if LINUX:
        keep_secrets()
        _blank()
    for name in environ:
        if is_secret(name):
            del os.environ[name]
    return MappingProxyType(environ)


def remove_keys(providers: Providers) -> None:
    """Remove from the environment the keys and headers of the configured providers, whatever their variables' names.

    `take_environment` runs before the config is read, so it knows only the built-in ones. Variables that every command
    needs stay: they are no secrets, even if one (say USER) is sent as a header.
    """
    for name in key_variables(providers) - PASSED_ON:
        os.environ.pop(name, None)


def _blank() -> None:
    """Overwrite what /proc/self/environ shows, except for the mark of the call that started this process."""
    import ctypes

    for name, value in os.environ.items():
        os.putenv(name, value)  # copies it elsewhere; the C library uses the copy from now on
    fields = Path("/proc/self/stat").read_bytes().rpartition(b")")[2].split()
    start, end = int(fields[_ENV_START]), int(fields[_ENV_END])
    place = start
    for variable in ctypes.string_at(start, end - start).split(b"\0"):
        if not variable.startswith(f"{CALL_VARIABLE}=".encode()):
            ctypes.memset(place, 0, len(variable))
        place += len(variable) + 1

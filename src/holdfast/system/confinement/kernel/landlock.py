"""Landlock: rules about files, ports and signals that a process puts on itself and all that it starts.

Only level `read` exists here. Rules cannot take `.git/hooks` out of a writable workspace, cannot see `chmod`, and know
ports, not addresses. The seccomp filter of the same name closes what level `read` needs closed.

The supervisor makes the rules before it forks, and the child enters: no new privileges, no capabilities, the rules, the
filter. Imported only where Landlock is used: it needs ctypes.
"""

from __future__ import annotations

import contextlib
import ctypes
import os
import stat
import struct
from collections.abc import Iterable

from holdfast.system.confinement.kernel.landlock_rights import ALL_FILES, OF_A_FILE

LEAST_ABI = 6
"""The first version that keeps signals and abstract sockets inside (Linux 6.12)."""

_CREATE, _ADD, _RESTRICT = 444, 445, 446  # the same on every architecture
_VERSION = 1
_PATH_BENEATH = 1

_ALL_PORTS, _ALL_SCOPES = 3, 3

_NO_NEW_PRIVS, _DROP_BOUND = 38, 24
_SECCOMP_FILTER = 1
_SET_FILTER = {"x86_64": 317, "aarch64": 277}
_CAPSET = {"x86_64": 126, "aarch64": 91}
_CAPABILITY_VERSION = 0x20080522
_FILE_CAPABILITIES = (1 << 1) | (1 << 2)  # CAP_DAC_OVERRIDE, CAP_DAC_READ_SEARCH
_MOST_CAPABILITIES = 64

_libc = ctypes.CDLL(None, use_errno=True)


def landlock_abi() -> int:
    """Return the version of Landlock, 0 if the kernel has none or it is turned off."""
    return max(0, _libc.syscall(_CREATE, None, ctypes.c_size_t(0), ctypes.c_uint32(_VERSION)))


def make_ruleset(rules: Iterable[tuple[str, int]]) -> int:
    """Return a descriptor of a ruleset that allows (path, rights) and nothing else; raises `OSError`.

    A path that has gone by now is left out: there is nothing to see.
    """
    attributes = struct.pack("=QQQ", ALL_FILES, _ALL_PORTS, _ALL_SCOPES)
    ruleset = _checked(
        _libc.syscall(_CREATE, attributes, ctypes.c_size_t(len(attributes)), ctypes.c_uint32(0)), "Landlock"
    )
    try:
        for path, rights in rules:
            _allow(ruleset, path, rights)
    except BaseException:
        os.close(ruleset)
        raise
    return ruleset


def _allow(ruleset: int, path: str, rights: int) -> None:
    with contextlib.suppress(FileNotFoundError, NotADirectoryError):
        descriptor = os.open(path, os.O_PATH | os.O_CLOEXEC)
        try:
            is_folder = stat.S_ISDIR(os.fstat(descriptor).st_mode)
            rule = struct.pack("=Qi", rights if is_folder else rights & OF_A_FILE, descriptor)
            _checked(
                _libc.syscall(_ADD, ctypes.c_int(ruleset), ctypes.c_int(_PATH_BENEATH), rule, ctypes.c_uint32(0)), path
            )
        finally:
            os.close(descriptor)


class _Program(ctypes.Structure):
    _fields_ = (("length", ctypes.c_ushort), ("steps", ctypes.c_char_p))


def enter_landlock(ruleset: int, program: bytes, *, keep_file_capabilities: bool) -> None:
    """Confine this process for good; raises `OSError` if a step fails, and then it must not go on.

    With `keep_file_capabilities` root still reads a workspace of another user; the rules bind it anyway.
    """
    _checked(_libc.prctl(_NO_NEW_PRIVS, 1, 0, 0, 0), "no_new_privs")
    machine = os.uname().machine
    if os.geteuid() == 0:
        _drop_capabilities(_FILE_CAPABILITIES if keep_file_capabilities else 0, machine)
    _checked(_libc.syscall(_RESTRICT, ctypes.c_int(ruleset), ctypes.c_uint32(0)), "Landlock")
    filters = _Program(len(program) // 8, program)
    call = ctypes.c_long(_SET_FILTER[machine])
    _checked(_libc.syscall(call, ctypes.c_uint(_SECCOMP_FILTER), ctypes.c_uint(0), ctypes.byref(filters)), "seccomp")


def _drop_capabilities(capabilities: int, machine: str) -> None:
    for each in range(_MOST_CAPABILITIES):
        if not capabilities >> each & 1 and _libc.prctl(_DROP_BOUND, each, 0, 0, 0) != 0:
            break  # the kernel has no more of them
    header = struct.pack("=Ii", _CAPABILITY_VERSION, 0)
    data = struct.pack("=IIIIII", capabilities, capabilities, 0, 0, 0, 0)
    _checked(_libc.syscall(ctypes.c_long(_CAPSET[machine]), header, data), "capset")


def _checked(result: int, what: str) -> int:
    if result < 0:
        number = ctypes.get_errno()
        raise OSError(number, os.strerror(number), what)
    return result

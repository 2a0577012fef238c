"""Becomes the program that its arguments name, with a filter that refuses Landlock, as a kernel without it does."""

from __future__ import annotations

import ctypes
import errno
import os
import struct
import sys

_CREATE_RULESET = 444  # on every architecture
_NO_NEW_PRIVS, _SET_SECCOMP, _FILTER = 38, 22, 2
_STEPS = (
    (0x20, 0, 0, 0),
    (0x15, 0, 1, _CREATE_RULESET),
    (0x06, 0, 0, 0x00050000 | errno.ENOSYS),
    (0x06, 0, 0, 0x7FFF0000),
)


class _Program(ctypes.Structure):
    _fields_ = (("length", ctypes.c_ushort), ("steps", ctypes.c_char_p))


def main() -> None:
    libc = ctypes.CDLL(None, use_errno=True)
    program = b"".join(struct.pack("=HBBI", *step) for step in _STEPS)
    assert libc.prctl(_NO_NEW_PRIVS, 1, 0, 0, 0) == 0
    assert libc.prctl(_SET_SECCOMP, _FILTER, ctypes.byref(_Program(len(_STEPS), program)), 0, 0) == 0
    os.execv(sys.argv[1], sys.argv[1:])


main()

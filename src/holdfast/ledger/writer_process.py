"""Which process began a call, and whether it lives: a number alone may be that of a later process."""

from __future__ import annotations

import os
from contextlib import suppress
from pathlib import Path

import msgspec

from holdfast.ledger.call_row import CallWriter
from holdfast.typed_data import decode_json


def this_process() -> str:
    """Return the identity of this process, as it is stored with a call."""
    from holdfast.tools.process.process_table import boot, running_process

    pid = os.getpid()
    process = running_process(pid)
    writer = CallWriter(pid, process.start if process is not None else 0, boot(), _namespace())
    return msgspec.json.encode(writer).decode()


def lives(identity: str) -> bool:
    """Return whether the process of a stored identity may live.

    It does not after another boot, or if its number is free or that of a process with another start. In another
    namespace of process ids its number means nothing here, so that it counts as alive until the next boot.
    So does one whose identity cannot be read.
    """
    from holdfast.tools.process.process_table import boot, running_process

    try:
        writer = decode_json(identity.encode(), CallWriter)
    except msgspec.DecodeError:  # damaged: nothing may be claimed of it
        return True
    if writer.boot != boot():
        return False
    if writer.namespace != _namespace():
        return True
    process = running_process(writer.pid)
    if process is None:
        return not writer.start and _answers(writer.pid)
    return process.start == writer.start


def pid_of(identity: str) -> int:
    """Return the number of the process of a stored identity, 0 if it cannot be read."""
    try:
        return decode_json(identity.encode(), CallWriter).pid
    except msgspec.DecodeError:
        return 0


def _answers(pid: int) -> bool:
    """Return whether a process has this number, on a system that does not say when it began."""
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    except PermissionError:
        return True
    return True


def _namespace() -> str:
    with suppress(OSError):  # a system without them
        return str(Path("/proc/self/ns/pid").readlink())
    return ""

"""Tells faults that pass by themselves from those that need a user: only the latter may put a session on hold."""

from __future__ import annotations

import errno

from holdfast.errors import StorageFailed
from holdfast.fleet.postgres.database import ServerAway

_PASSING = frozenset({errno.ENOSPC, errno.EDQUOT, errno.EMFILE, errno.ENFILE, errno.EAGAIN, errno.ENOMEM, errno.EINTR})


def is_passing(error: BaseException) -> bool:
    """Return whether the fault may be over soon without anyone's doing: the server is away, a disk or table is full."""
    match error:
        case ServerAway():
            return True
        case OSError():
            return error.errno in _PASSING
        case StorageFailed(__cause__=OSError() as cause):
            return cause.errno in _PASSING
        case _:
            return False

"""What an earlier process left running of the calls that it left open: waited for, ended, and told."""

from __future__ import annotations

from collections.abc import Sequence

from holdfast.session.fold import OpenCall
from holdfast.tools.tool import Toolbox

MAY_RUN = "processes that it had started may still be running"


async def remains(toolbox: Toolbox, calls: Sequence[OpenCall]) -> str:
    """Return what is to be told of the processes of open calls, "" if all are known to have gone by themselves."""
    begun = [(call.started, call.process) for call in calls if call.started is not None]
    quiet = await toolbox.quiet({started.spool: process for started, process in begun if started.spool is not None})
    found = await toolbox.reap({started.call: process for started, process in begun})
    return "; ".join(said for said in (found, "" if quiet else MAY_RUN) if said)

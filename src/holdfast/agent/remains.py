"""What an earlier process left running of what it left open, calls and own commands: waited for, ended, and told."""

from __future__ import annotations

from collections.abc import Sequence

from holdfast.session.conversation import OpenCall, OpenShell
from holdfast.tools.tool import Toolbox

MAY_RUN = "processes that it had started may still be running"


async def remains(toolbox: Toolbox, calls: Sequence[OpenCall], shells: Sequence[OpenShell] = ()) -> str:
    """Return what is to be told of processes that they had started, "" if all are known to have gone by themselves."""
    begun = [(call.started.call, call.started.spool, call.process) for call in calls if call.started is not None]
    begun += [(shell.started.id, shell.started.spool, shell.process) for shell in shells]
    quiet = await toolbox.quiet({spool: process for _, spool, process in begun if spool is not None})
    found = await toolbox.reap({own: process for own, _, process in begun})
    return "; ".join(said for said in (found, "" if quiet else MAY_RUN) if said)

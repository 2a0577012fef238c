"""What an earlier process left running of the calls that it left open: waited for, ended, and told."""

from __future__ import annotations

from collections.abc import Sequence

from holdfast.session.fold import OpenCall
from holdfast.tools.tool import Toolbox

MAY_RUN = "processes that it had started may still be running"


async def remains(toolbox: Toolbox, calls: Sequence[OpenCall]) -> str:
    """Return what is to be told of the processes of open calls, "" if all are known to have gone by themselves."""
    quiet = await toolbox.quiet()
    found = await toolbox.reap({call.part.id: call.process for call in calls if call.started is not None})
    return found or ("" if quiet else MAY_RUN)

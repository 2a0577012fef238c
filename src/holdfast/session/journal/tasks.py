"""The entries of background tasks: commands that the model started, and that keep running across turns.

A task is a call's command with a separate id. `task-started` comes before the command runs, or in one append with
the end of the call whose running command the user moved to the background. Then comes `task-ended`. If the agent died,
that entry is missing: the task's processes have ended too, and the next start writes it.
"""

from __future__ import annotations

import msgspec

from holdfast.tool_calls import Outcome


class _TaskFact(msgspec.Struct, frozen=True, tag_field="kind", omit_defaults=True):
    """The base of these entries; they are stored like all others."""


class TaskStarted(_TaskFact, frozen=True, tag="task-started"):
    """The `command` of `call` may run from now on as background task `id`; `spool` as for calls.

    `moved` is whether it ran already, and was moved to the background by the user.
    """

    id: str
    call: str
    command: str
    spool: str | None = None
    moved: bool = False


class TaskEnded(_TaskFact, frozen=True, tag="task-ended"):
    """How task `id` ended, with the end of its output. The model reads `note`, once on any branch.

    It joins the next request of the running turn (`TaskEndSent`), or opens the next user message.
    """

    id: str
    outcome: Outcome
    text: str
    seconds: float = 0.0
    note: str = ""


class TaskEndSent(_TaskFact, frozen=True, tag="task-told"):
    """The end of `task` joins the next request of the running turn."""

    task: str

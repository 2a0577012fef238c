"""The entries of what runs beside the calls: background tasks, and hooks.

A task is a command that the model started, and that keeps running across turns. It is a call's command with a separate
id. `task-started` comes before the command runs, or in one append with the end of the call whose running command the
user moved to the background. Then comes `task-ended`. If the agent died, that entry is missing: the task's processes
have ended too, and the next start writes it.

A hook is a command that the user has configured for an event. `hook-started` comes before it runs, `hook-ended` behind
it, in one append with what follows from it.
"""

from __future__ import annotations

from typing import Literal

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


HookDecision = Literal["", "allow", "ask", "deny", "block", "stop"]
"""What a hook decided: about a call (`allow`, `ask`, `deny`), about its event (`block`), to end the turn (`stop`)."""


class HookStarted(_TaskFact, frozen=True, tag="hook-started"):
    """The hook's `command` may run from now on as `id`, for the event `event` and, if it is about one, the `call`.

    `spool` as for calls.
    """

    id: str
    event: str
    command: str
    call: str = ""
    spool: str | None = None


class HookEnded(_TaskFact, frozen=True, tag="hook-ended"):
    """How hook `id` ended, and what it decided. `text` is its reason or context, `message` is for the user.

    `failed` says that it could not decide: it could not start, was ended, or wrote what cannot be read. `note`, if any,
    opens the next user message: the end of a hook that a crash left without one.
    """

    id: str
    outcome: Outcome
    decision: HookDecision = ""
    text: str = ""
    message: str = ""
    seconds: float = 0.0
    exit: int | None = None
    note: str = ""


class ResultAmended(_TaskFact, frozen=True, tag="result-amended"):
    """A hook added `text` to the result of `call`, or with `replaces` put it in the result's place.

    The result is what the next request has. If it was sent already, the text opens the next user message.
    """

    call: str
    text: str
    replaces: bool = False

"""The objects and options that all turns of a session share."""

from __future__ import annotations

from collections.abc import Callable

import msgspec

from holdfast.agent.background_tasks import BackgroundTasks
from holdfast.agent.cancellation import DetachedTasks
from holdfast.agent.context.compaction import Compactor
from holdfast.agent.conversation_checks import Checks
from holdfast.agent.debug_log.log import Log
from holdfast.agent.events import Event
from holdfast.agent.journal_writer import JournalWriter
from holdfast.agent.model_request.connection import Connection
from holdfast.agent.permissions import Permissions
from holdfast.agent.recovery.recovery import Recovery
from holdfast.agent.seam import Seam
from holdfast.agent.turn.approval_prompt import ApprovalPrompt
from holdfast.agent.turn.budget import Budget
from holdfast.config.settings import Limits
from holdfast.session.conversation.context_settings import ContextSettings
from holdfast.tool_calls import OnApproval
from holdfast.tools.tool import Toolbox


class TurnContext(msgspec.Struct, frozen=True, kw_only=True):
    """The objects and options that a session provides to each of its turns.

    `on_approval` decides about a call that needs approval if there is no `ask`. `fallback` is the model that replaces
    one that does not answer, "" if there is none.
    """

    journal: JournalWriter
    recovery: Recovery
    checks: Checks
    connection: Connection
    compactor: Compactor
    toolbox: Toolbox
    seam: Seam
    tasks: BackgroundTasks
    detached: DetachedTasks
    emit: Callable[[Event], None]
    permissions: Permissions
    ask: ApprovalPrompt | None
    on_approval: OnApproval
    limits: Limits
    budget: Budget
    settings: ContextSettings
    fallback: str
    log: Log | None

"""The inner seam: the steps of a turn at which a part of holdfast takes part without the turn knowing it.

For holdfast's own packages only. A plugin never gets one of these: the journal and the approval stay closed, and what a
step changes is planned, judged and journalled like anything else. The table of the steps, with their order, their time,
what a stop does and what a crash leaves, is in docs/explanation/architecture.md.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence
from typing import Protocol

import msgspec

from holdfast.session.conversation.conversation import Conversation, Noted
from holdfast.session.journal import entries as e
from holdfast.session.journal.parts import CallPart
from holdfast.tool_calls import Confined, Image, ProcessId
from holdfast.tools.approval.decision import Decision
from holdfast.tools.tool import Instruction, Plan


class LeftBehind(msgspec.Struct, frozen=True):
    """Work that an earlier process began, by the `id` that its processes carry: its live output, and its process."""

    id: str
    spool: str | None
    process: ProcessId | None


class RecoveryStep(Protocol):
    """`recovery`: something that runs beside the turns, and settles what an earlier process left of it."""

    @property
    def any_running(self) -> bool:
        """Return whether something of it runs in this process."""
        ...

    def orphans(self, conversation: Conversation) -> Sequence[LeftBehind]:
        """Return what an earlier process began of it and did not end."""
        ...

    def missing_ends(
        self, conversation: Conversation, running: str, *, began: Mapping[str, float]
    ) -> Sequence[e.Entry]:
        """Return the ends to journal for what is open and does not run in this process. Starts and ends nothing.

        `running` is a note about processes that were left running; `began` is when they started, in seconds since the
        epoch.
        """
        ...

    async def end(self, within: float) -> object:
        """End what runs in this process, in up to twice so many seconds."""
        ...


class PlannedCall(msgspec.Struct, frozen=True):
    """A call of the model with its plan. `tool` is the name that rules know, also if the model used another.

    `confined` is the wall around an allowed command.
    """

    call: CallPart
    plan: Plan
    tool: str
    confined: Confined = ""


class OtherArguments(msgspec.Struct, frozen=True):
    """The call shall run with these `arguments`, JSON, instead; `changed_by` names the part that says so."""

    arguments: str
    changed_by: str


CallJudgement = Decision | OtherArguments

BeforeCall = Callable[[PlannedCall], CallJudgement | Awaitable[CallJudgement]]
"""`before_call`: judges a planned call, and may write what must be durable before `call-started`.

With `OtherArguments` the call is planned again, and all steps are asked about that plan, the rules last again; what it
runs with is in its `call-started`.

`Allow` has no objection; the permission rules, which come last, say how the call is confined. The first `Deny` counts,
then the first `Ask`.
"""

BeforeStart = Callable[[PlannedCall], Awaitable[Sequence[e.SnapshotTaken | e.FilesMoved]] | None]
"""`before_start`: keeps what must be durable before an allowed call starts; its entries are in one append with that."""

AfterCall = Callable[[e.CallEnded], Awaitable[Sequence[Noted]] | None]
"""`after_call`: says something behind the durable outcome of a call, as own entries; None for most calls."""


Seen = e.FilesMoved | e.RestoreEnded | e.Rewound
"""What a `look` saw, or ended."""

EffectLook = Callable[[], Awaitable[Sequence[Seen]]]
"""`look`: looks, before recovery, at what calls without an outcome did, and ends what a kill left half done."""

InstructionSource = Callable[[], Sequence[Instruction]]
"""`instructions`: returns the files that apply now. Called on a thread; never raises. The first with a path counts."""


class NextPrompt(msgspec.Struct, frozen=True):
    """A prompt that no user has typed, with its `cause` (`PROMPT_CAUSES`)."""

    text: str
    cause: str


class AfterTurn(Protocol):
    """`after_turn`: begins one more turn once nothing runs, or leaves it at that. Nothing in it waits.

    `due` is whether it may have a prompt: it is asked when nothing runs, and behind a turn that has finished.
    """

    due: bool

    def hear(self, entry: e.Entry) -> bool:
        """Hear an entry, which is durable; return whether it makes this step due."""
        ...

    def next_prompt(self, conversation: Conversation) -> NextPrompt | None:
        """Return the prompt of the next turn, None if there is nothing to begin; it is not `due` any more."""
        ...


def prompt_after_turn(steps: Iterable[AfterTurn], conversation: Conversation) -> NextPrompt | None:
    """Return what the first of the steps behind a turn begins that is due and has something to begin."""
    prompts = (step.next_prompt(conversation) for step in steps if step.due)
    return next((prompt for prompt in prompts if prompt is not None), None)


class Expanded(msgspec.Struct, frozen=True):
    """What a prompt says in place of what was typed or sent: a text, images before it, and its cause."""

    text: str
    images: tuple[Image, ...] = ()
    cause: str = ""


ExpandPrompt = Callable[[str], Awaitable[Expanded] | None]
"""`expand_prompt`: makes the text of a prompt of what was typed or sent; None if it does not know the text.

It is the only thing that is awaited before a prompt is journalled. The first that answers counts. It raises a
`HoldfastError` if it cannot: then nothing is sent.
"""

EXPAND_PROMPT = 300.0
"""Seconds for `expand_prompt`: a server may be downloaded first; then the prompt is refused."""

BEFORE_CALL = 10.0
"""Seconds for one `before_call`; a call that it does not judge in that time is denied."""

MOST_CALL_CHANGES = 3
"""How often the steps may change one call; then it is denied."""

BEFORE_START = 10.0
"""Seconds for one `before_start`; then nothing is kept, and the call starts without it."""

AFTER_CALL = 2.5
"""Seconds for one `after_call`; then it says nothing."""

MOST_LOOK = 60.0
"""Seconds for one `look`: a restore of many files is finished in it."""


class Seam(msgspec.Struct, frozen=True, kw_only=True):
    """What takes part in the turns of a session, in this order. With nothing in it, no step costs anything."""

    before_call: tuple[BeforeCall, ...] = ()
    before_start: tuple[BeforeStart, ...] = ()
    after_call: tuple[AfterCall, ...] = ()
    instructions: tuple[InstructionSource, ...] = ()
    recovery: tuple[RecoveryStep, ...] = ()
    look: tuple[EffectLook, ...] = ()


NO_SEAM = Seam()

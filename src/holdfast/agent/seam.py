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


class Approved(msgspec.Struct, frozen=True):
    """What would be asked about the call need not be: `by` says so. It changes no `Deny`, and no question to the user.

    A call that waits for a wall which the user requires, and which cannot be had, is asked about nevertheless.
    """

    by: str


CallJudgement = Decision | OtherArguments | Approved

BeforeCall = Callable[[PlannedCall], CallJudgement | Awaitable[CallJudgement]]
"""`before_call`: judges a planned call, and may write what must be durable before `call-started`.

With `OtherArguments` the call is planned again, and all steps are asked about that plan, the rules last again; what it
runs with is in its `call-started`.

`Allow` has no objection; the permission rules, which come last, say how the call is confined. The first `Deny` counts,
then the first `Ask`, unless a step has `Approved` it. `before_question` steps judge in the same way what is about to be
asked.
"""

BeforeStart = Callable[[PlannedCall], Awaitable[Sequence[e.SnapshotTaken | e.FilesMoved]] | None]
"""`before_start`: keeps what must be durable before an allowed call starts; its entries are in one append with that."""

AfterCall = Callable[[e.CallEnded], Awaitable[Sequence[Noted | e.ResultAmended]] | None]
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


HOOK_CONTEXT = "\n\n[Context that a hook of the user adds]\n"
"""What stands between a prompt and what hooks add to it."""


def without_context(text: str) -> str:
    """Return a prompt without what hooks added to it."""
    return text.partition(HOOK_CONTEXT)[0]


SubmitPrompt = Callable[[str, Expanded], Awaitable[Expanded]]
"""`submit_prompt`: sees what was typed and what it was made to, behind `expand_prompt`, and may add to that.

It raises a `HoldfastError` if the prompt may not be sent: then what was typed returns to the user.
"""

BeforeEnd = Callable[[], Awaitable[bool] | None]
"""`before_end`: returns whether the turn that has finished goes on. Then it has journalled what the model reads."""

BeforeCompact = Callable[[e.Why, str], Awaitable[str] | None]
"""`before_compact`: returns why the conversation is not compacted, "" if it may be; gets why, and the user's wish."""

ExpandPrompt = Callable[[str], Awaitable[Expanded] | None]
"""`expand_prompt`: makes the text of a prompt of what was typed or sent; None if it does not know the text.

It is the only thing that is awaited before a prompt is journalled. The first that answers counts. It raises a
`HoldfastError` if it cannot: then nothing is sent.
"""

EXPAND_PROMPT = 300.0
"""Seconds for `expand_prompt`: a server may be downloaded first; then the prompt is refused."""

SUBMIT_PROMPT = 1200.0
"""Seconds for all `submit_prompt`, more than `EXPAND_PROMPT`: each hook has its own bound."""

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
    """What takes part in the turns of a session, in this order. With nothing in it, no step costs anything.

    `more_time` is how many seconds more than the others a step may take that runs commands, each with its own bound.
    """

    before_call: tuple[BeforeCall, ...] = ()
    before_question: tuple[BeforeCall, ...] = ()
    before_start: tuple[BeforeStart, ...] = ()
    after_call: tuple[AfterCall, ...] = ()
    instructions: tuple[InstructionSource, ...] = ()
    recovery: tuple[RecoveryStep, ...] = ()
    look: tuple[EffectLook, ...] = ()
    before_end: tuple[BeforeEnd, ...] = ()
    before_compact: tuple[BeforeCompact, ...] = ()
    more_time: float = 0.0

    def and_also(self, other: Seam) -> Seam:
        """Return both together, the steps of this one first."""
        return Seam(
            before_call=(*self.before_call, *other.before_call),
            before_question=(*self.before_question, *other.before_question),
            before_start=(*self.before_start, *other.before_start),
            after_call=(*self.after_call, *other.after_call),
            instructions=(*self.instructions, *other.instructions),
            recovery=(*self.recovery, *other.recovery),
            look=(*self.look, *other.look),
            before_end=(*self.before_end, *other.before_end),
            before_compact=(*self.before_compact, *other.before_compact),
            more_time=max(self.more_time, other.more_time),
        )


NO_SEAM = Seam()

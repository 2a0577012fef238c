"""The state of a fold as a value that can be written, without the large results of calls.

A result longer than `LARGE_TEXT` whose entry is known is written without its text. The journal has that: `TextSource`
reads it from there when a request needs it. Compactions are compared by identity, so each is written once, and named by
its place.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence

import msgspec

from holdfast.session import model_notices
from holdfast.session.conversation import conversation as c
from holdfast.session.journal import entries as e
from holdfast.session.journal.model_settings import ModelSettings
from holdfast.session.journal.parts import Usage
from holdfast.session.journal.store import Reading
from holdfast.session.journal.tasks import TaskEnded
from holdfast.tool_calls import FileSeen, Mode, Pattern

LARGE_TEXT = 2_000
"""Characters of a result from which on its text is left to the journal."""

NO_CUT = -1

TextSource = Callable[[Sequence[int]], Mapping[int, str]]
"""Returns the texts of the outcomes at these positions of the journal, without those that cannot be read."""


class CutState(msgspec.Struct, frozen=True, array_like=True):
    """A compaction; `previous` is the place of the one before it."""

    entry: e.Compacted
    messages: int
    texts: int
    previous: int


class ClosedState(msgspec.Struct, frozen=True, array_like=True):
    """Closed messages, which alternate."""

    users: tuple[c.UserMessage, ...] = ()
    answers: tuple[c.AssistantMessage, ...] = ()

    def messages(self) -> list[c.ConversationMessage]:
        """Return the messages in order."""
        return [each for pair in zip(self.users, self.answers, strict=True) for each in pair]


class BuilderState(msgspec.Struct, frozen=True, array_like=True):
    """The state of a `MessageBuilder`. `older` is the `ClosedState` of the first `hidden` messages, as JSON.

    Those are not sent, so they are decoded only when a decision changes them. `closed` are the others.
    `entries` are the positions of the outcomes with large texts, by call. `steps` has each response's step, and the
    place of the compaction in effect then. `sent` is whether the message in progress was sent.
    """

    hidden: int
    older: msgspec.Raw
    closed: ClosedState
    open: tuple[c.OpenCall, ...]
    results: tuple[c.Result, ...]
    content: tuple[c.UserContent, ...]
    calls: dict[str, str | None]
    entries: dict[str, int]
    cuts: tuple[CutState, ...]
    cut: int
    steps: tuple[tuple[int, int], ...]
    has_cuts: bool
    sent: bool = False


class PointState(msgspec.Struct, frozen=True, array_like=True):
    """A `RewindPoint`. `last` is None where the closed message before the prompt is the same."""

    prompt: c.PromptMark
    last: c.AssistantMessage | None
    results: tuple[c.Result, ...]
    content: tuple[c.UserContent, ...]
    notes: tuple[str, ...]
    lasting: int
    files: int
    last_end: e.TurnEnded | None
    counted: c.Counted | None
    cut: int


class TasksState(msgspec.Struct, frozen=True, array_like=True):
    """The state of a `TaskRecord`."""

    open: tuple[c.OpenTask, ...]
    ended: tuple[TaskEnded, ...]


class FoldState(msgspec.Struct, frozen=True, array_like=True):
    """The state of a `Fold`, but for why its open turn stopped.

    `older_points` are the `PointState`s of the `older_prompts`, as JSON: those of which the message is not sent.
    """

    opened: e.SessionOpened | None
    model: str
    title: str
    chosen: str
    settings: ModelSettings
    fell_back: bool
    builder: BuilderState
    counted: c.Counted | None
    notes: tuple[str, ...]
    lasting: tuple[tuple[str, str], ...]
    file_states: tuple[tuple[str, tuple[FileSeen, ...]], ...]
    counts: tuple[int, int, int]
    open_turn: int | None
    streaming: c.Streaming | None
    refused: c.RefusedContent
    last_end: e.TurnEnded | None
    shells: tuple[c.OpenShell, ...]
    tasks: TasksState
    allowed: tuple[Pattern, ...]
    mode: Mode | None
    queued: tuple[c.QueuedMessage, ...]
    older_prompts: tuple[c.PromptMark, ...]
    older_points: msgspec.Raw
    points: tuple[PointState, ...]
    rewound: tuple[int, ...]
    usage: Usage
    hooks: tuple[c.OpenHook, ...] = ()


class Checkpoint(msgspec.Struct, frozen=True, array_like=True):
    """What is known at the end of a turn. `turn_began` is the position of the last turn's prompt.

    `failed_servers` and `folder_gone` are those of `JournalWriter`. `began` says when open background tasks and
    commands of the user began, `reported` are the findings that the journal has.
    """

    fold: FoldState
    turn_began: int
    failed_servers: dict[str, str]
    folder_gone: str
    began: dict[str, float]
    reported: tuple[str, ...]


class ResumedReading(Reading, frozen=True, kw_only=True):
    """A journal read from its last turn on. `checkpoint` is of the entries up to `seq`; others follow in `records`.

    `texts` are the large results of the messages to send, `size` the bytes of the checkpoint. A verification of the
    entries before begins after `verified`.
    """

    checkpoint: Checkpoint
    seq: int
    texts: Mapping[int, str]
    size: int
    verified: int = 0

    @property
    def opened(self) -> e.SessionOpened | None:
        """Return the first entry, with the folder and the tools of today."""
        return self.checkpoint.fold.opened


class CutTable:
    """Compactions by their places, each once: what is the same one before is the same one after."""

    def __init__(self, cuts: Iterable[c.ActiveCompaction] = ()) -> None:
        """Create it with these compactions at the first places."""
        self._places: dict[int, int] = {}
        self._cuts: list[c.ActiveCompaction] = []
        self.states: list[CutState] = []
        for cut in cuts:
            self.place(cut)

    def place(self, cut: c.ActiveCompaction | None) -> int:
        """Return the place of a compaction, `NO_CUT` for none."""
        if cut is None:
            return NO_CUT
        if (known := self._places.get(id(cut))) is not None:
            return known
        chain = [cut]
        while chain[-1].previous is not None and id(chain[-1].previous) not in self._places:
            chain.append(chain[-1].previous)
        for each in reversed(chain):
            previous = NO_CUT if each.previous is None else self._places[id(each.previous)]
            self._places[id(each)] = len(self.states)
            self._cuts.append(each)  # while it is held, no other one has its id
            self.states.append(CutState(each.entry, each.messages, each.texts, previous))
        return self._places[id(cut)]


def restored_cuts(states: Sequence[CutState]) -> tuple[c.ActiveCompaction, ...]:
    """Return the compactions at their places."""
    cuts: list[c.ActiveCompaction] = []
    for each in states:
        previous = None if each.previous == NO_CUT else cuts[each.previous]
        cuts.append(c.ActiveCompaction(each.entry, each.messages, each.texts, previous))
    return tuple(cuts)


def closed_state(messages: Sequence[c.ConversationMessage], entries: Mapping[str, int]) -> ClosedState:
    """Return closed messages without the large texts that the journal has."""
    users = (message for message in messages if isinstance(message, c.UserMessage))
    return ClosedState(
        users=tuple(without_texts(message, entries) for message in users),
        answers=tuple(message for message in messages if isinstance(message, c.AssistantMessage)),
    )


def without_text(result: c.Result, entries: Mapping[str, int]) -> c.Result:
    """Return the result without its text if that is large and the journal has it."""
    if len(result.text) > LARGE_TEXT and result.call in entries:
        return msgspec.structs.replace(result, text="")
    return result


def without_texts(message: c.UserMessage, entries: Mapping[str, int]) -> c.UserMessage:
    """Return the message without the large texts of its results, if the journal has them."""
    if all(len(result.text) <= LARGE_TEXT for result in message.results):
        return message
    return c.UserMessage(tuple(without_text(result, entries) for result in message.results), message.content)


def left_out(results: Sequence[c.Result], entries: Mapping[str, int]) -> list[int]:
    """Return the positions of the outcomes whose texts these results are without."""
    return [entries[result.call] for result in results if not result.text and result.call in entries]


def with_texts(
    results: Sequence[c.Result], entries: Mapping[str, int], texts: Mapping[int, str]
) -> tuple[c.Result, ...]:
    """Return the results with the texts they are without. One that cannot be read has the result of a lost outcome."""
    return tuple(
        result
        if result.text or (seq := entries.get(result.call)) is None
        else msgspec.structs.replace(result, text=texts[seq])
        if seq in texts
        else c.Result(result.call, result.name, "interrupted", model_notices.lost())
        for result in results
    )

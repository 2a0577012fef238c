"""What a journal amounts to: the messages that would be sent, and where its turn is. Values; the fold makes them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace

from holdfast.calls import Image, Outcome, Pattern, ProcessId
from holdfast.session import words
from holdfast.session.entries import (
    ApprovalAnswered,
    ApprovalAsked,
    CallPart,
    CallStarted,
    Cause,
    Compacted,
    Part,
    Queued,
    SessionOpened,
    ShellStarted,
    TextPart,
    TurnEnded,
    Usage,
)


@dataclass(frozen=True, slots=True)
class Result:
    """The answer to one call, in the message right after it."""

    call: str
    name: str
    outcome: Outcome
    text: str
    images: tuple[Image, ...] = ()

    def replaced(self, texts: Mapping[str, str]) -> Result:
        """Return the result with the words that stand in its place by now, itself if there are none."""
        text = texts.get(self.call)
        return self if text is None or not text.strip() else replace(self, text=text, images=())


Said = str | Image
"""What a user message holds beside results."""


@dataclass(frozen=True, slots=True)
class UserMessage:
    """Results first, in the order of their calls, then what is said: prompts, notes of ours in brackets, images."""

    results: tuple[Result, ...]
    said: tuple[Said, ...]

    @property
    def texts(self) -> tuple[str, ...]:
        """Return the texts among what is said."""
        return tuple(one for one in self.said if isinstance(one, str))

    @property
    def images(self) -> tuple[Image, ...]:
        """Return its images: those of results first."""
        read = (image for result in self.results for image in result.images)
        return (*read, *(one for one in self.said if isinstance(one, Image)))


@dataclass(frozen=True, slots=True)
class AssistantMessage:
    """What `model` (PROVIDER:MODEL) wrote: at least one text that is not blank, or a call."""

    model: str
    parts: tuple[Part, ...]

    @property
    def calls(self) -> tuple[CallPart, ...]:
        """Return the calls among its parts."""
        return tuple(part for part in self.parts if isinstance(part, CallPart))


Message = UserMessage | AssistantMessage


@dataclass(frozen=True, slots=True)
class OpenCall:
    """A call without an outcome: `started` if its effect may have begun, `asked` if a person was asked about it.

    `process` is what it runs as, if that was journalled.
    """

    part: CallPart
    started: CallStarted | None = None
    asked: ApprovalAsked | None = None
    answered: ApprovalAnswered | None = None
    process: ProcessId | None = None

    def unsettled(self, left: Cause) -> Result:
        """Return the answer to this call while its outcome is not in the journal (yet)."""
        if self.started is None:
            return Result(self.part.id, self.part.name, "not_started", words.not_started(left))
        return Result(self.part.id, self.part.name, "interrupted", words.interrupted(left))

    def lost(self) -> Result:
        """Return the answer to this call in a journal that went on without its outcome: only a damaged one does."""
        return Result(self.part.id, self.part.name, "interrupted", words.lost())


@dataclass(frozen=True, slots=True)
class OpenShell:
    """A person's own command without an end; `process` is what it runs as, if that was journalled."""

    started: ShellStarted
    process: ProcessId | None = None


@dataclass(frozen=True, slots=True)
class Streaming:
    """A request that was sent and has no end: what arrived of it."""

    step: int
    model: str
    text: str = ""
    thinking: str = ""


@dataclass(frozen=True, slots=True)
class Waiting:
    """A message that is queued; one that is `held` is not sent by itself (any more): a person decides.

    It outlived a turn that did not end by itself, or was there before a prompt that a person gave.
    """

    message: Queued
    held: bool = False


@dataclass(frozen=True, slots=True)
class Asked:
    """A prompt that the conversation can be taken back to: the `text` that began `turn`, in the message at `at`.

    That is -1 for one that is summed up. `behind` is how much was said in that message before: in turns without an
    answer.
    """

    turn: int
    text: str
    at: int
    behind: int = 0


@dataclass(frozen=True, slots=True)
class Counted:
    """What the provider of `model` counted: `tokens` of a request that ended with the first `messages` messages."""

    model: str
    messages: int
    tokens: int


@dataclass(frozen=True, slots=True)
class Cut:
    """A compaction in force: its note stands for the first `messages` messages, and the first `said` texts of the next.

    `under` is the one before it.
    """

    entry: Compacted
    messages: int
    said: int
    under: Cut | None


@dataclass(frozen=True, slots=True)
class Before:
    """What a conversation was before a prompt: all that a rewind brings back. Messages before the last never change."""

    asked: Asked
    last: Message | None
    results: Mapping[str, Result]
    texts: tuple[Said, ...]
    notes: tuple[str, ...]
    lasting: int
    files: int
    last_end: TurnEnded | None
    counted: Counted | None
    cut: Cut | None


@dataclass(frozen=True, slots=True)
class Conversation:
    """A journal as of some entry.

    `messages` is what would be sent: open calls are answered in it with what is known. `open_turn` is the turn that has
    not ended, `streaming` its unfinished request, `open_calls` its calls without an outcome, in call order;
    `open_shells` are the person's own commands without an end. `allowed` is what needs no more asking. `queued` are the
    messages that are neither sent nor taken back, in the order they were given. `prompts` are those that it can be
    taken back to, `rewound` the turns it was taken back to before. `counted` is the last request that was counted.
    `compacted` is what stands in the first message for older ones. `blind` are the models that refused images,
    `refused` are images with the model that refused them.
    """

    opened: SessionOpened | None
    model: str
    title: str
    messages: tuple[Message, ...]
    turns: int
    steps: int
    turn_steps: int
    open_turn: int | None
    streaming: Streaming | None
    open_calls: tuple[OpenCall, ...]
    last_end: TurnEnded | None
    usage: Usage
    open_shells: tuple[OpenShell, ...]
    allowed: tuple[Pattern, ...]
    queued: tuple[Waiting, ...]
    prompts: tuple[Asked, ...]
    rewound: tuple[int, ...]
    counted: Counted | None
    compacted: Compacted | None
    blind: frozenset[str]
    refused: frozenset[tuple[str, Image]]

    @property
    def is_open(self) -> bool:
        """Return whether something has begun that has no end."""
        return self.open_turn is not None or self.streaming is not None or bool(self.open_calls)

    @property
    def system(self) -> str:
        """Return the journalled system prompt."""
        return self.opened.system if self.opened else ""

    @property
    def answer(self) -> str:
        """Return the text of the last message if the assistant wrote it, else ""."""
        last = self.messages[-1] if self.messages else None
        if not isinstance(last, AssistantMessage):
            return ""
        return "".join(part.text for part in last.parts if isinstance(part, TextPart))

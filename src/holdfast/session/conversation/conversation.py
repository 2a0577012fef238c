"""The values that the fold makes of a journal: the messages to send, and the state of the turn."""

from __future__ import annotations

from collections.abc import Mapping

import msgspec

from holdfast.session import model_notices
from holdfast.session.journal import entries as e
from holdfast.session.journal.model_settings import NO_SETTINGS, ModelSettings
from holdfast.session.journal.parts import CallPart, TextPart, Usage
from holdfast.session.journal.tasks import HookStarted, TaskStarted
from holdfast.tool_calls import Image, InputRequest, Mode, Outcome, Pattern, ProcessId


class Result(msgspec.Struct, frozen=True):
    """The result of one call, in the message after it."""

    call: str
    name: str
    outcome: Outcome
    text: str
    images: tuple[Image, ...] = ()

    def replaced(self, texts: Mapping[str, str]) -> Result:
        """Return the result with its replacement text, unchanged if there is none."""
        text = texts.get(self.call)
        return self if text is None or not text.strip() else msgspec.structs.replace(self, text=text, images=())


UserContent = str | Image
"""An item in a user message's content: a text or an image."""


class UserMessage(msgspec.Struct, frozen=True):
    """Results in call order, then content: prompts, bracketed notices from holdfast, images."""

    results: tuple[Result, ...]
    content: tuple[UserContent, ...]

    @property
    def texts(self) -> tuple[str, ...]:
        """Return the texts of the content."""
        return tuple(item for item in self.content if isinstance(item, str))

    @property
    def images(self) -> tuple[Image, ...]:
        """Return the images, those of results first."""
        of_results = (image for result in self.results for image in result.images)
        return (*of_results, *(item for item in self.content if isinstance(item, Image)))


class AssistantMessage(msgspec.Struct, frozen=True):
    """A response of `model` (PROVIDER:MODEL), with at least one non-blank text or one call."""

    model: str
    parts: tuple[e.Part, ...]

    @property
    def calls(self) -> tuple[CallPart, ...]:
        return tuple(part for part in self.parts if isinstance(part, CallPart))


ConversationMessage = UserMessage | AssistantMessage


SetUp = e.SessionOpened | e.ModelChanged | e.ModelSettingsChanged | e.ModeChanged | e.Titled | e.ToolsChanged
"""Entries about what every request of the session has."""

Noted = (
    e.FilesChanged
    | e.ShellEnded
    | e.Repaired
    | e.ServerFailed
    | e.Moved
    | e.FolderGone
    | e.RestoreEnded
    | e.FilesMoved
    | e.HookEnded
)
"""Entries whose note opens the next user message."""

CallProgress = e.ApprovalAsked | e.ApprovalAnswered | e.CallStarted | e.ProcessStarted | e.CallWaits | e.CallAnswered


class OpenCall(msgspec.Struct, frozen=True):
    """A call without an outcome. `started` is set if its effect may have begun.

    `approval_request` is set if the user was asked about it, `approval_answer` if the user answered. `process` is its
    process, if journalled. `input_request` is its server's question to the user that has no answer yet.
    """

    part: CallPart
    started: e.CallStarted | None = None
    approval_request: e.ApprovalAsked | None = None
    approval_answer: e.ApprovalAnswered | None = None
    process: ProcessId | None = None
    input_request: InputRequest | None = None

    @property
    def can_continue(self) -> bool:
        """Return whether its server has ended the request and waits for answers: nothing of the call is running."""
        return self.started is not None and self.input_request is not None and self.input_request.again

    def after(self, entry: CallProgress) -> OpenCall:
        """Return the call as it is after an entry about it."""
        match entry:
            case e.ApprovalAsked():
                return msgspec.structs.replace(self, approval_request=entry)
            case e.ApprovalAnswered():
                return msgspec.structs.replace(self, approval_answer=entry)
            case e.CallStarted(arguments=arguments, changed_by=changed_by):
                part = msgspec.structs.replace(self.part, arguments=arguments) if changed_by else self.part
                return msgspec.structs.replace(self, started=entry, part=part)
            case e.ProcessStarted():
                return msgspec.structs.replace(self, process=entry.process)
            case e.CallWaits():
                return msgspec.structs.replace(self, input_request=entry.request)
            case e.CallAnswered():
                return msgspec.structs.replace(self, input_request=None)

    def unsettled(self, cause: e.Cause, program: str) -> Result:
        """Return the result shown while the journal has no outcome for this call."""
        if self.started is None:
            return Result(
                self.part.id, self.part.name, "not_started", model_notices.not_started(cause, program=program)
            )
        text = model_notices.interrupted(
            cause, remote=self.started.remote, input_request=self.input_request, program=program
        )
        return Result(self.part.id, self.part.name, "interrupted", self.noted(text, program))

    def noted(self, text: str, program: str) -> str:
        """Return its result with a note if it ran with other arguments than the model's."""
        started = self.started
        if started is None or not started.changed_by:
            return text
        return model_notices.ran_changed(text, started.arguments, started.changed_by, program=program)

    def lost(self, program: str) -> Result:
        """Return the result of a call whose outcome is missing although the journal continues (damage)."""
        return Result(self.part.id, self.part.name, "interrupted", self.noted(model_notices.lost(), program))


class OpenShell(msgspec.Struct, frozen=True):
    """A user command without an end; `process` is its process, if journalled."""

    started: e.ShellStarted
    process: ProcessId | None = None


class OpenTask(msgspec.Struct, frozen=True):
    """A background task without an end, with its process if that is journalled."""

    started: TaskStarted
    process: ProcessId | None = None


class OpenHook(msgspec.Struct, frozen=True):
    """A hook without an end, with its process if that is journalled."""

    started: HookStarted
    process: ProcessId | None = None


class Streaming(msgspec.Struct, frozen=True):
    """A request without an end, and the part of its response that has arrived."""

    step: int
    model: str
    text: str = ""
    thinking: str = ""


class QueuedMessage(msgspec.Struct, frozen=True):
    """A queued message. One that is `on_hold` is not sent automatically: the user decides about it.

    A message goes on hold when its turn fails or is stopped, or when the user sends a prompt before it.
    """

    message: e.Queued
    on_hold: bool = False


class PromptMark(msgspec.Struct, frozen=True):
    """A prompt to which the conversation can be rewound: the `text` that began `turn`, in the message at index `at`.

    `at` is -1 for a compacted prompt. `texts_before` counts the texts before it in that message, from unanswered turns.
    """

    turn: int
    text: str
    at: int
    texts_before: int = 0

    def after(self, hidden: int) -> PromptMark:
        """Return the mark with its index among the sent messages, of which the first `hidden` are left out."""
        return msgspec.structs.replace(self, at=max(self.at - hidden, -1)) if hidden else self


class Counted(msgspec.Struct, frozen=True):
    """A provider's count: `tokens` for a request that ended with the first `messages` messages, for `model`."""

    model: str
    messages: int
    tokens: int


class ActiveCompaction(msgspec.Struct, frozen=True):
    """A compaction in effect: its note replaces the first `messages` messages and `texts` texts of the next one.

    `previous` is the compaction before it.
    """

    entry: e.Compacted
    messages: int
    texts: int
    previous: ActiveCompaction | None


class RefusedContent(msgspec.Struct, frozen=True):
    """Models that reject images, images with the model that rejected them, and the changes of later requests."""

    models_without_vision: frozenset[str] = frozenset()
    images: frozenset[tuple[str, Image]] = frozenset()
    changes: tuple[e.RequestsChanged, ...] = ()

    def after_failure(
        self, failed: e.RequestFailed, now: Streaming | None, images: tuple[Image, ...]
    ) -> RefusedContent:
        """Return it after a failed request, whose last message had these images."""
        if now is None or failed.fault not in (e.NO_IMAGES, e.BAD_IMAGES):
            return self
        if failed.fault == e.NO_IMAGES:
            return msgspec.structs.replace(self, models_without_vision=self.models_without_vision | {now.model})
        return msgspec.structs.replace(self, images=self.images | {(now.model, image) for image in images})

    def after_change(self, change: e.RequestsChanged) -> RefusedContent:
        """Return it after one more change; one that is in force already adds nothing."""
        same = any(
            (each.model, each.change, each.tools) == (change.model, change.change, change.tools)
            for each in self.changes
        )
        return self if same else msgspec.structs.replace(self, changes=(*self.changes, change))


class RewindPoint(msgspec.Struct, frozen=True):
    """The state before a prompt: all that a rewind restores. Messages before the last one never change."""

    prompt: PromptMark
    last: ConversationMessage | None
    results: Mapping[str, Result]
    content: tuple[UserContent, ...]
    notes: tuple[str, ...]
    lasting: int
    files: int
    last_end: e.TurnEnded | None
    counted: Counted | None
    cut: ActiveCompaction | None


class Conversation(msgspec.Struct, frozen=True):
    """A journal's conversation as of some entry.

    `model` gets the next request; it differs from the `chosen_model` of the user while a fallback model stands in for
    it. `fell_back` is whether the last turn used one. `messages` are the messages to send; open calls have provisional
    results in them. `open_turn` is the turn without an end, `streaming` its unfinished request, `open_calls` its calls
    without an outcome, in call order. `open_shells` are user commands without an end, `open_tasks` background tasks
    without one, `open_hooks` hooks without one, `unreported_tasks` those whose end the model has not read yet.
    `allowed` are patterns that need no approval. `queued` are messages neither sent nor recalled, in order. `prompts`
    are those to which the conversation can be rewound, `rewound` the turns that were rewound. `counted` is the last
    token count by a provider. `compacted` is the note that replaces older messages. `models_without_vision` are models
    that reject images, `refused` are rejected images with the model that rejected them, `request_changes` are what
    later requests leave out or write in another way because a provider refused one. `settings` are those of the next
    request. `mode` is the approval mode that the user or an answer set for it, None if none did.
    """

    opened: e.SessionOpened | None
    model: str
    chosen_model: str
    fell_back: bool
    title: str
    messages: tuple[ConversationMessage, ...]
    turns: int
    steps: int
    turn_steps: int
    open_turn: int | None
    streaming: Streaming | None
    open_calls: tuple[OpenCall, ...]
    last_end: e.TurnEnded | None
    usage: Usage
    open_shells: tuple[OpenShell, ...]
    allowed: tuple[Pattern, ...]
    queued: tuple[QueuedMessage, ...]
    prompts: tuple[PromptMark, ...]
    rewound: tuple[int, ...]
    counted: Counted | None
    compacted: e.Compacted | None
    models_without_vision: frozenset[str]
    refused: frozenset[tuple[str, Image]]
    settings: ModelSettings = NO_SETTINGS
    mode: Mode | None = None
    open_tasks: tuple[OpenTask, ...] = ()
    unreported_tasks: tuple[str, ...] = ()
    request_changes: tuple[e.RequestsChanged, ...] = ()
    open_hooks: tuple[OpenHook, ...] = ()

    @property
    def is_open(self) -> bool:
        """Return whether a turn, a request or a call has no end yet."""
        return self.open_turn is not None or self.streaming is not None or bool(self.open_calls)

    @property
    def program(self) -> str:
        """Return what notices to the model call the program that runs the session."""
        return self.opened.program if self.opened else model_notices.HOLDFAST

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

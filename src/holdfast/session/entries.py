"""The facts a journal holds: a tagged union of frozen structs, never changed once appended.

Two rules. A fact names what happened, never what should be done about it. Anything a model was shown is stored as the
words it was shown, so that a later version sends the same bytes (docs/journal.md describes every field).
"""

from __future__ import annotations

from typing import Literal

import msgspec

from holdfast.calls import Effect, FileChange, FileSeen, Image, Outcome, Pattern, ProcessId, Remember, ToolSchema
from holdfast.session import parts
from holdfast.text import valid_unicode

FORMAT = 1
"""The number of this journal format; a journal with a higher one is refused, never rewritten."""

StopReason = Literal["end_turn", "max_tokens", "max_steps", "refusal", "cancelled", "timeout", "error"]
"""Why a turn stopped, in the words of the Agent Client Protocol, plus `timeout` and `error`."""

Cause = Literal[
    "finished",  # the model ended its answer
    "max_tokens",  # the model's output limit
    "max_steps",  # our limit on requests in a turn
    "refusal",  # the model or its filter refused
    "user",  # ESC, Ctrl+C
    "signal",  # SIGTERM, SIGHUP
    "output",  # nobody reads what the run says, or it cannot be written
    "external",  # an asyncio cancellation from the embedding program
    "timeout",  # the turn's deadline
    "approval",  # a call needed approval and there was nobody to ask
    "provider",  # the provider refused, failed or fell silent
    "storage",  # the journal could not be written
    "crash",  # found at recovery: the process ended without saying why
    "bug",  # an exception of our own
    "fork",  # the session was copied in the middle of the turn; the original may have gone on
    "import",  # the document that the turn was imported from ends in the middle of it
]
"""What ended a turn or cut a response, from our own flags, never guessed from a library's exception."""


When = Literal["steer", "later"]
"""When words given while a turn runs are sent: with its next request, or as the prompt of the turn after it."""


CallPart = parts.CallPart
TextPart = parts.TextPart
ThinkingPart = parts.ThinkingPart
Usage = parts.Usage
Part = TextPart | ThinkingPart | CallPart
"""What a response is made of."""

Why = Literal["asked", "auto", "overflow"]
"""Why a conversation was compacted: a person asked, its window was nearly full, its provider says it is too long."""


class _Fact(msgspec.Struct, frozen=True, tag_field="kind", omit_defaults=True):
    """What all entries share: the tag is the field `kind`."""


class SessionOpened(_Fact, frozen=True, tag="session-opened"):
    """A session began; the system prompt and the tools are what every request of it carries.

    `instructions` are the files whose text is part of the prompt, as they were then.
    """

    session: str
    cwd: str
    model: str
    system: str
    tools: tuple[ToolSchema, ...]
    version: str
    format: int = msgspec.field(default_factory=lambda: FORMAT)  # a factory, so that it is always written
    forked_from: str | None = None
    imported_from: str | None = None
    instructions: tuple[FileSeen, ...] = ()


class ModelChanged(_Fact, frozen=True, tag="model-changed"):
    """Later requests go to `model` (PROVIDER:MODEL)."""

    model: str


class Titled(_Fact, frozen=True, tag="titled"):
    """The person calls the session `title` from here on; "" is the first line of its first prompt again."""

    title: str


class PromptAccepted(_Fact, frozen=True, tag="prompt-accepted"):
    """The person's words; they begin turn number `turn` (from 1). `queued` is the id of the message, if it waited.

    `images` are those that the words name, shown before them.
    """

    turn: int
    text: str
    queued: str = ""
    images: tuple[Image, ...] = ()


class Queued(_Fact, frozen=True, tag="queued"):
    """The person's words while a turn ran; `id` is unique over the session, `when` is when they are to be sent."""

    id: str
    text: str
    when: When
    images: tuple[Image, ...] = ()


class Recalled(_Fact, frozen=True, tag="recalled"):
    """The person took back the message `queued`."""

    queued: str


class Steered(_Fact, frozen=True, tag="steered"):
    """The message `queued` is part of the next request of the turn that runs."""

    queued: str
    text: str
    images: tuple[Image, ...] = ()


class Rewound(_Fact, frozen=True, tag="rewound"):
    """The conversation goes on from before the prompt of `turn`; what followed is kept here and no part of it any more.

    `note`, if any, opens the next user message: the model is told what of it cannot be undone.
    """

    turn: int
    note: str = ""


class Pruned(_Fact, frozen=True, tag="pruned"):
    """Results are not sent whole from here on: `outputs` has for each call the words that stand in the place of its.

    `saved` is about how many tokens that saves.
    """

    outputs: dict[str, str]
    saved: int = 0


class Compacted(_Fact, frozen=True, tag="compacted"):
    """From here on `note` is sent in place of all there was up to the results of the response to request `step`.

    Of what was said beside those results, the first `said` go too: of turns without an answer.
    `summary` is what of the note a model wrote; `model` did, "" if it is an earlier one or none, and the rest is left
    out. `messages` is how many the note stands for, `before` and `after` about how many tokens were and are sent.
    `usage` is what the summary took.
    """

    step: int
    note: str
    why: Why
    summary: str = ""
    model: str = ""
    messages: int = 0
    before: int = 0
    after: int = 0
    usage: Usage = msgspec.field(default_factory=lambda: Usage(cost="0"))
    said: int = 0


class Uncompacted(_Fact, frozen=True, tag="uncompacted"):
    """What the last compaction put in the place of older messages is sent no more: they are."""


class RequestStarted(_Fact, frozen=True, tag="request-started"):
    """A request is about to be sent; `step` counts over the session, `attempt` from 1."""

    step: int
    attempt: int
    model: str


NO_IMAGES = "no_images"
"""The fault of a request that was refused for its images: its model is shown none from then on."""
BAD_IMAGES = "bad_images"
"""The fault of one that was refused for an image of its last message: its model is shown those no more."""


class RequestFailed(_Fact, frozen=True, tag="request-failed"):
    """An attempt got no usable response; `retry_in` is the seconds until the next, None if there will be none.

    `attempts` is how many there may be of this response, None where it was not written down; `retry_whole` is whether
    the next asks for the answer in one piece, without streaming.
    """

    step: int
    attempt: int
    fault: str
    message: str
    status: int | None = None
    retry_in: float | None = None
    attempts: int | None = None
    retry_whole: bool = False


class ResponseCheckpoint(_Fact, frozen=True, tag="response-checkpoint"):
    """Streamed text since the last checkpoint of this step, kept in case the end never comes."""

    step: int
    text: str
    thinking: str = ""


class ResponseEnded(_Fact, frozen=True, tag="response-ended"):
    """What a request gave. `cut` is None for a complete response, else why it stopped early.

    Calls in a cut response were never started and never will be.
    """

    step: int
    model: str
    parts: tuple[Part, ...]
    usage: Usage
    finish: str | None = None
    cut: Cause | None = None


class ApprovalAsked(_Fact, frozen=True, tag="approval-asked"):
    """Call `call` waits for a person; `why` is what they are asked, `pattern` what they may remember of it."""

    call: str
    why: str
    pattern: Pattern | None = None


class ApprovalAnswered(_Fact, frozen=True, tag="approval-answered"):
    """A person answered; `words` go to the model when they refused.

    `pattern`, if they said so, is allowed from now on: in the session, or in every one of the project (`remember`).
    """

    call: str
    allowed: bool
    words: str = ""
    remember: Remember = ""
    pattern: Pattern | None = None


class CallStarted(_Fact, frozen=True, tag="call-started"):
    """The effect of `call` may begin now. `change` lets recovery look instead of guess; `spool` holds live output."""

    call: str
    effect: Effect
    change: FileChange | None = None
    spool: str | None = None


class ProcessStarted(_Fact, frozen=True, tag="process-started"):
    """Call `call`, or the own command of that id, runs as `process`: by that, what is left of it can be found."""

    call: str
    process: ProcessId


class CallEnded(_Fact, frozen=True, tag="call-ended"):
    """The one fate of `call`; `text` is the result the model reads, `seen` the file it knows the content of by now.

    `images` are shown behind the results.
    """

    call: str
    outcome: Outcome
    text: str
    seconds: float = 0.0
    seen: FileSeen | None = None
    images: tuple[Image, ...] = ()


class CallLate(_Fact, frozen=True, tag="call-late"):
    """An outcome that came after its call was settled; told in the next user message, the settled result stands."""

    call: str
    outcome: Outcome
    text: str


class ShellStarted(_Fact, frozen=True, tag="shell-started"):
    """The person runs a `command` of their own; its end is told the model if it is `shared`. `spool` as for calls."""

    id: str
    command: str
    shared: bool
    spool: str | None = None


class ShellEnded(_Fact, frozen=True, tag="shell-ended"):
    """How the person's own command `id` ended, with what it printed; `note`, if any, opens the next user message."""

    id: str
    outcome: Outcome
    text: str
    seconds: float = 0.0
    note: str = ""


class TurnEnded(_Fact, frozen=True, tag="turn-ended"):
    """Turn `turn` is over. `note`, if any, opens the next user message; `detail` is for the person."""

    turn: int
    reason: StopReason
    cause: Cause
    detail: str = ""
    note: str = ""


class FilesChanged(_Fact, frozen=True, tag="files-changed"):
    """Files that a model had seen, found to be different, or new instructions; `note` opens the next user message."""

    files: tuple[FileSeen, ...]
    note: str


class Repaired(_Fact, frozen=True, tag="repaired"):
    """Something in the record was mended or found damaged; `note`, if any, opens the next user message."""

    findings: tuple[str, ...]
    note: str = ""


Entry = (
    SessionOpened
    | ModelChanged
    | Titled
    | PromptAccepted
    | Queued
    | Recalled
    | Steered
    | Rewound
    | Pruned
    | Compacted
    | Uncompacted
    | RequestStarted
    | RequestFailed
    | ResponseCheckpoint
    | ResponseEnded
    | ApprovalAsked
    | ApprovalAnswered
    | CallStarted
    | ProcessStarted
    | CallEnded
    | CallLate
    | ShellStarted
    | ShellEnded
    | TurnEnded
    | FilesChanged
    | Repaired
)

_encoder = msgspec.json.Encoder()
_decoder: msgspec.json.Decoder[Entry] = msgspec.json.Decoder(Entry)


def encode(entry: Entry) -> bytes:
    """Return the entry as the JSON bytes a journal stores; the same entry always gives the same bytes."""
    return _encoder.encode(entry)


def decode(body: bytes) -> Entry:
    """Return the entry stored in `body`; raises `msgspec.DecodeError` or `UnicodeDecodeError` if it is not one."""
    return _decoder.decode(body)


def titled(title: str) -> Titled:
    """Return the entry that gives the session this title, on one line."""
    return Titled(title=valid_unicode(" ".join(title.split())))


def kind(entry: Entry) -> str:
    """Return the entry's tag, as stored in the `kind` column."""
    tag = entry.__struct_config__.tag
    assert isinstance(tag, str)
    return tag

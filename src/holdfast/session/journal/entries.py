"""The entries of a journal: a tagged union of frozen structs, never changed once appended.

An entry states what happened, never what should be done about it. Text that a model was shown is stored
exactly, so that a later version sends the same bytes (docs/reference/journal.md describes every field).
"""

from __future__ import annotations

from functools import cache
from typing import Literal

import msgspec

from holdfast.errors import EntryInvalid
from holdfast.session.journal.approvals import ApprovalAnswered as ApprovalAnswered  # noqa: PLC0414 - part of this module
from holdfast.session.journal.approvals import ApprovalAsked as ApprovalAsked  # noqa: PLC0414 - part of this module
from holdfast.session.journal.approvals import CallAnswered as CallAnswered  # noqa: PLC0414 - part of this module
from holdfast.session.journal.approvals import CallWaits as CallWaits  # noqa: PLC0414 - part of this module
from holdfast.session.journal.calls import CallEnded as CallEnded  # noqa: PLC0414 - part of this module
from holdfast.session.journal.calls import CallLate as CallLate  # noqa: PLC0414 - part of this module
from holdfast.session.journal.calls import CallStarted as CallStarted  # noqa: PLC0414 - part of this module
from holdfast.session.journal.calls import ProcessStarted as ProcessStarted  # noqa: PLC0414 - part of this module
from holdfast.session.journal.causes import PROMPT_CAUSES as PROMPT_CAUSES  # noqa: PLC0414 - part of this module
from holdfast.session.journal.causes import Cause as Cause  # noqa: PLC0414 - part of this module
from holdfast.session.journal.causes import StopReason as StopReason  # noqa: PLC0414 - part of this module
from holdfast.session.journal.mode_changes import ModeChanged as ModeChanged  # noqa: PLC0414 - part of this module
from holdfast.session.journal.model_settings import NO_SETTINGS, ModelSettings
from holdfast.session.journal.parts import AnswerRefusal, CallPart, RequestPrefix, TextPart, ThinkingPart, Usage
from holdfast.session.journal.request_changes import RequestChange as RequestChange  # noqa: PLC0414 - part of this module
from holdfast.session.journal.request_changes import RequestsChanged as RequestsChanged  # noqa: PLC0414 - part of this module
from holdfast.session.journal.restores import FilesMoved as FilesMoved  # noqa: PLC0414 - part of this module
from holdfast.session.journal.restores import PathChange as PathChange  # noqa: PLC0414 - part of this module
from holdfast.session.journal.restores import PathState as PathState  # noqa: PLC0414 - part of this module
from holdfast.session.journal.restores import RestoreEnded as RestoreEnded  # noqa: PLC0414 - part of this module
from holdfast.session.journal.restores import RestoreStarted as RestoreStarted  # noqa: PLC0414 - part of this module
from holdfast.session.journal.restores import RestoreStep as RestoreStep  # noqa: PLC0414 - part of this module
from holdfast.session.journal.restores import RewindScope as RewindScope  # noqa: PLC0414 - part of this module
from holdfast.session.journal.restores import SkippedPath as SkippedPath  # noqa: PLC0414 - part of this module
from holdfast.session.journal.restores import SnapshotTaken as SnapshotTaken  # noqa: PLC0414 - part of this module
from holdfast.session.journal.server_changes import ServerFailed as ServerFailed  # noqa: PLC0414 - part of this module
from holdfast.session.journal.server_changes import ToolsChanged as ToolsChanged  # noqa: PLC0414 - part of this module
from holdfast.session.journal.tasks import HookEnded as HookEnded  # noqa: PLC0414 - part of this module
from holdfast.session.journal.tasks import HookStarted as HookStarted  # noqa: PLC0414 - part of this module
from holdfast.session.journal.tasks import ResultAmended as ResultAmended  # noqa: PLC0414 - part of this module
from holdfast.session.journal.tasks import TaskEnded, TaskEndSent, TaskStarted
from holdfast.text import valid_unicode
from holdfast.tool_calls import (
    FileSeen,
    Image,
    Outcome,
    ToolSchema,
)
from holdfast.typed_data import json_decoder

FORMAT = 2
"""The version of this journal format. A journal with a higher one is refused, never rewritten."""

When = Literal["steer", "later"]
"""When a message sent during a turn is delivered: with its next request, or as the prompt of the next turn."""

Part = TextPart | ThinkingPart | CallPart
"""The parts of a response."""

Why = Literal["asked", "auto", "overflow"]
"""Why a conversation was compacted: the user asked, the window was nearly full, or the provider rejected it."""

ModelReason = Literal["", "fallback", "back"]
"""Why later requests go to another model; "" if the user chose it."""

MovedBy = Literal["resume", "picker", "command", "editor"]
"""Who said where the session continues: `-r ID -C DIR`, the list of sessions, `sessions move`, or an editor."""


class _Fact(msgspec.Struct, frozen=True, tag_field="kind", omit_defaults=True):
    """The base of all entries: the tag is the field `kind`."""


class SessionOpened(_Fact, frozen=True, tag="session-opened"):
    """A session began. Every request carries this system prompt and these tools.

    `facts`, if any, open the first user message of every request: the folder, the machine, the day and the text of the
    `instructions` files, as they were then. In older journals they are part of `system`.
    `repository` are names by which the folder's git repository can be recognized elsewhere. `program` is what notes to
    the model call the program that runs the session.
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
    facts: str = ""
    repository: tuple[str, ...] = ()
    program: str = "holdfast"


class ModelChanged(_Fact, frozen=True, tag="model-changed"):
    """Later requests go to `model` (PROVIDER:MODEL).

    `why` is "" if the user chose it; "fallback" if it stands in for the rest of the turn for a model that did not
    answer; "back" if the next prompt goes to the chosen model again.
    """

    model: str
    why: ModelReason = ""


class ModelSettingsChanged(_Fact, frozen=True, tag="model-settings-changed"):
    """Later requests are sent with these `settings`: all of them, not only those that changed.

    Valid anywhere, also in a turn: the request in flight stays as it is. They survive a rewind, as the model does.
    """

    settings: ModelSettings = NO_SETTINGS


class Titled(_Fact, frozen=True, tag="titled"):
    """The user, or `model` for `usage`, named the session `title`. With "" its title is its first prompt."""

    title: str
    model: str = ""
    usage: Usage = msgspec.field(default_factory=lambda: Usage(cost="0"))


class PromptAccepted(_Fact, frozen=True, tag="prompt-accepted"):
    """The prompt that begins turn `turn` (from 1). `queued` is its id if it was queued; its `images` come before it.

    `cause` is what sent it (`PROMPT_CAUSES`, or `session:` and an id), "" for the user: only then is it their word.
    `typed` is what they typed, if the text was made from it, "" if it is the text itself.
    """

    turn: int
    text: str
    queued: str = ""
    images: tuple[Image, ...] = ()
    cause: str = ""
    typed: str = ""


class Queued(_Fact, frozen=True, tag="queued"):
    """A message the user sent during a turn. `id` is unique in the session, `when` says when to deliver it.

    `typed` is what they typed, if the text was made from it, "" if it is the text itself.
    """

    id: str
    text: str
    when: When
    images: tuple[Image, ...] = ()
    typed: str = ""


class Recalled(_Fact, frozen=True, tag="recalled"):
    """The user took back the queued message `queued`."""

    queued: str


class Steered(_Fact, frozen=True, tag="steered"):
    """The queued message `queued` joins the next request of the running turn. `typed` as in `queued`.

    `cause` is what sent it (`PROMPT_CAUSES`), "" for the user; with a cause nothing was queued, and `queued` is "".
    """

    queued: str
    text: str
    images: tuple[Image, ...] = ()
    typed: str = ""
    cause: str = ""


class Rewound(_Fact, frozen=True, tag="rewound"):
    """The conversation continues from before the prompt of `turn`; later entries are no longer part of it.

    `note`, if any, opens the next user message and says which effects were not undone. `files` is the restore by which
    the files were restored with it, "" if they stay.
    """

    turn: int
    note: str = ""
    files: str = ""


class Pruned(_Fact, frozen=True, tag="pruned"):
    """Results are no longer sent in full: `outputs` maps each call to its replacement text.

    `saved` is the approximate number of tokens saved.
    """

    outputs: dict[str, str]
    saved: int = 0


class Compacted(_Fact, frozen=True, tag="compacted"):
    """`note` replaces everything up to the results of the response to request `step`.

    Of the user texts in the message of those results, the first `user_texts`, from unanswered turns, are replaced too.
    `summary` is the part of the note that `model` wrote; `model` is "" if there is none or an earlier one was kept, and
    the rest was left out. `messages` counts the replaced messages; `before` and `after` are approximate token counts.
    `usage` is what the summary cost.
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
    user_texts: int = 0


class Uncompacted(_Fact, frozen=True, tag="uncompacted"):
    """The last compaction is undone: the older messages are sent again."""


class RequestStarted(_Fact, frozen=True, tag="request-started"):
    """A request is about to be sent; `step` counts over the session, `attempt` from 1.

    `prefix` describes the beginning of its body, None if the model does not; holdfast's own protocols do.
    """

    step: int
    attempt: int
    model: str
    prefix: RequestPrefix | None = None


NO_IMAGES = "no_images"
"""The fault of a request rejected for its images in general: this model is sent none from then on."""
BAD_IMAGES = "bad_images"
"""The fault of a request rejected for an image of its last message: this model is not sent those again."""


class RequestFailed(_Fact, frozen=True, tag="request-failed"):
    """An attempt gave no usable response. `retry_in` is the delay until the next in seconds, None if there is none.

    `attempts` is the maximum for this response, None in older journals. `retry_unstreamed` is whether the next attempt
    asks for the answer without streaming. `model` and `usage` are of a complete response that was no answer: it is
    paid.
    """

    step: int
    attempt: int
    fault: str
    message: str
    status: int | None = None
    retry_in: float | None = None
    attempts: int | None = None
    retry_unstreamed: bool = False
    model: str = ""
    usage: Usage | None = None


class ResponseCheckpoint(_Fact, frozen=True, tag="response-checkpoint"):
    """Streamed text since the last checkpoint of this step, kept in case the response is never completed."""

    step: int
    text: str
    thinking: str = ""


class ResponseEnded(_Fact, frozen=True, tag="response-ended"):
    """The response to a request. `cut` is None if it is complete, else why it stopped early.

    Calls in a cut response were never started and never will be. `refusal` is set if the model refused to answer: the
    parts are shown, and are not sent back as the assistant's words. Older journals have none.
    `written` is the text from which its calls were read, if the model wrote them as text; it is not sent.
    """

    step: int
    model: str
    parts: tuple[Part, ...]
    usage: Usage
    finish: str | None = None
    cut: Cause | None = None
    refusal: AnswerRefusal | None = None
    written: str = ""


class ShellStarted(_Fact, frozen=True, tag="shell-started"):
    """The user runs a shell `command`. The model reads its end if it is `shared`. `spool` as for calls."""

    id: str
    command: str
    shared: bool
    spool: str | None = None


class ShellEnded(_Fact, frozen=True, tag="shell-ended"):
    """How the user command `id` ended, with its output. `note`, if any, opens the next user message."""

    id: str
    outcome: Outcome
    text: str
    seconds: float = 0.0
    note: str = ""


class TurnEnded(_Fact, frozen=True, tag="turn-ended"):
    """Turn `turn` is over. `note`, if any, opens the next user message; `detail` is for the user."""

    turn: int
    reason: StopReason
    cause: Cause
    detail: str = ""
    note: str = ""


class FilesChanged(_Fact, frozen=True, tag="files-changed"):
    """Files that changed since the model saw them, or new instructions; `note` opens the next user message."""

    files: tuple[FileSeen, ...]
    note: str


class Repaired(_Fact, frozen=True, tag="repaired"):
    """Something in the journal was repaired or found damaged; `note`, if any, opens the next user message."""

    findings: tuple[str, ...]
    note: str = ""


class Moved(_Fact, frozen=True, tag="moved"):
    """The session works in the folder `to` from here on, and no longer in `from`. `note` opens the next user message.

    Valid anywhere, also with an open turn, and it survives a rewind. What the user allowed in the session ends with it.
    """

    from_: str = msgspec.field(name="from")
    to: str
    by: MovedBy
    note: str = ""


class FolderGone(_Fact, frozen=True, tag="folder-gone"):
    """The session's `folder` does not exist any more. `note` opens the next user message."""

    folder: str
    note: str = ""


Entry = (
    SessionOpened
    | ModelChanged
    | ModelSettingsChanged
    | ModeChanged
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
    | CallWaits
    | CallAnswered
    | CallEnded
    | CallLate
    | ShellStarted
    | ShellEnded
    | TurnEnded
    | FilesChanged
    | Repaired
    | TaskStarted
    | TaskEnded
    | TaskEndSent
    | ToolsChanged
    | ServerFailed
    | RequestsChanged
    | Moved
    | FolderGone
    | SnapshotTaken
    | FilesMoved
    | RestoreStarted
    | RestoreEnded
    | HookStarted
    | HookEnded
    | ResultAmended
)

_encoder = msgspec.json.Encoder()
_decoder = cache(lambda: json_decoder(Entry))  # made for the first entry that is read: it takes 5 ms


def encode(entry: Entry) -> bytes:
    """Return the entry as the JSON bytes that a journal stores. The same entry always gives the same bytes.

    The bytes are read back first: what a journal could not read again is never written. Raises `EntryInvalid`.
    """
    try:
        body = _encoder.encode(entry)
        _decoder().decode(body)
    except (msgspec.MsgspecError, TypeError, ValueError, RecursionError) as error:
        raise EntryInvalid(
            f"Entry {kind(entry)!r} was not written: it could not be read again: {error}. Nothing was written. Report "
            "this as a bug."
        ) from error
    return body


def decode(body: bytes) -> Entry:
    """Return the entry stored in `body`; raises `msgspec.DecodeError` or `UnicodeDecodeError` if it is not one."""
    from holdfast.session.journal.older_fields import is_older, with_present_names

    try:
        if is_older(body):
            body = with_present_names(body)
        return _decoder().decode(body)
    except RecursionError as error:
        raise msgspec.DecodeError("It is nested too deeply") from error


def title_entry(title: str) -> Titled:
    """Return the entry that sets the session's title, on one line."""
    return Titled(title=valid_unicode(" ".join(title.split())))


def kind(entry: Entry) -> str:
    """Return the entry's tag, as stored in the `kind` column."""
    return str(entry.__struct_config__.tag)

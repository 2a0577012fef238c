"""The transcript: a journal as lines for a person, every fact at its place and named as what it is.

Two rules. Its text is as journalled: whoever shows it cleans it for a terminal. Nothing is passed over in silence:
damage stands where the lost entries were.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Literal

from holdfast.session import words
from holdfast.session.entries import (
    ApprovalAnswered,
    ApprovalAsked,
    CallEnded,
    CallLate,
    CallPart,
    CallStarted,
    Compacted,
    Entry,
    FilesChanged,
    ModelChanged,
    ProcessStarted,
    PromptAccepted,
    Pruned,
    Queued,
    Recalled,
    Repaired,
    RequestFailed,
    RequestStarted,
    ResponseCheckpoint,
    ResponseEnded,
    Rewound,
    SessionOpened,
    ShellEnded,
    ShellStarted,
    Steered,
    TextPart,
    ThinkingPart,
    Titled,
    TurnEnded,
    Uncompacted,
    When,
)
from holdfast.session.store import Finding, Record

LineKind = Literal["session", "prompt", "answer", "call", "result", "note", "finding"]
_OUTCOMES = {
    "ok": "ok",
    "failed": "failed",
    "denied": "denied",
    "not_started": "not started",
    "interrupted": "interrupted",
}
_WHEN: dict[When, str] = {"steer": "for the next request", "later": "for the next turn"}


@dataclass(frozen=True, slots=True)
class Line:
    """One thing to show: its text may have several lines. `at` is seconds since the epoch, `seq` the entry's place."""

    seq: int
    at: float
    kind: LineKind
    text: str


def transcript(records: Iterable[Record], findings: Iterable[Finding] = ()) -> Iterator[Line]:
    """Yield what happened, in the order of the journal, then what it left open."""
    lost = sorted(findings, key=lambda finding: finding.seq)
    of_the_file = any(finding.seq == 0 for finding in lost)  # then what came last may be lost
    writer = _Writer()
    seq, at = 0, 0.0
    for record in records:
        while lost and lost[0].seq <= record.seq:
            finding = lost.pop(0)
            yield Line(finding.seq, at, "finding", finding.what)
            writer.gap()
        seq, at = record.seq, record.at
        for kind, text in writer.lines(record.entry):
            yield Line(seq, at, kind, text)
    for finding in lost:
        yield Line(finding.seq, at, "finding", finding.what)
    if lost or of_the_file:
        writer.gap()
    for kind, text in writer.unfinished():
        yield Line(seq, at, kind, text)


class _Writer:
    """What must be remembered of earlier entries to put the next one into words."""

    def __init__(self) -> None:
        self._streamed = ""
        self._calls: dict[str, CallPart] = {}  # every call
        self._open: dict[str, str] = {}  # those without an outcome, and what is known of them
        self._queued: dict[str, str] = {}  # messages that wait
        self._shells: dict[str, str] = {}  # the person's own commands

    def lines(self, entry: Entry) -> Iterator[tuple[LineKind, str]]:
        """Yield what this entry adds."""
        match entry:
            case SessionOpened():
                yield from _opened(entry)
            case ModelChanged() | Titled():
                yield "note", words.from_here_on(entry)
            case PromptAccepted() | Queued() | Recalled() | Steered() | Rewound():
                yield from self._said(entry)
            case RequestStarted():
                self._streamed = ""
            case RequestFailed():
                yield from self._failed(entry)
            case ResponseCheckpoint(text=text):
                self._streamed += text
            case ResponseEnded():
                yield from self._response(entry)
            case ProcessStarted():
                pass  # it adds nothing to what the start of its call says
            case ShellStarted() | ShellEnded():
                yield from self._shell(entry)
            case ApprovalAsked() | ApprovalAnswered() | CallStarted() | CallEnded() | CallLate():
                yield from self._call(entry)
            case TurnEnded():
                yield from self.unfinished()
                if entry.cause != "finished":
                    yield "note", f"Turn ended: {words.what_happened(entry.cause, entry.detail)}."
            case Pruned(outputs=outputs, saved=saved):
                yield "note", words.pruned(len(outputs), saved)
            case Compacted() | Uncompacted():
                yield from _compacted(entry)
            case FilesChanged() | Repaired():
                yield from _found(entry)

    def gap(self) -> None:
        """Remember that something could not be read: the start of an open call may have been in it."""
        self._open = {call: known if known == "started" else "may have run" for call, known in self._open.items()}

    def unfinished(self) -> Iterator[tuple[LineKind, str]]:
        """Yield what has begun and has no end in the journal so far, and forget it."""
        if self._streamed.strip():
            yield "answer", self._streamed
            yield "note", "The response above has no end in the journal."
        self._streamed = ""
        for call, known in self._open.items():
            yield "call", f"{self._named(call)}: {known}, no outcome in the journal"
        self._open.clear()

    def _said(self, entry: PromptAccepted | Queued | Recalled | Steered | Rewound) -> Iterator[tuple[LineKind, str]]:
        match entry:
            case PromptAccepted(text=text):
                yield from self.unfinished()
                yield "prompt", text
            case Queued(id=message, text=text, when=when):
                self._queued[message] = text
                yield "note", f"Queued, {_WHEN[when]}: {text}"
            case Recalled(queued=message):
                yield "note", f"Taken back: {self._queued.get(message, message)}"
            case Steered(text=text):
                yield "prompt", text
            case Rewound(turn=turn):
                yield from self.unfinished()
                yield "note", words.went_back(turn)

    def _response(self, entry: ResponseEnded) -> Iterator[tuple[LineKind, str]]:
        self._streamed = ""
        for part in entry.parts:
            match part:
                case TextPart(text=text):
                    if text.strip():
                        yield "answer", text
                case ThinkingPart():
                    pass
                case CallPart():
                    self._calls[part.id] = part
                    if entry.cut is None:
                        self._open[part.id] = "not started"
                    else:
                        yield "call", f"{self._named(part.id)}: not started, its response was cut off"
        if entry.cut is not None:
            yield "note", f"The response was cut off: {words.what_happened(entry.cut)}."

    def _call(
        self, entry: ApprovalAsked | ApprovalAnswered | CallStarted | CallEnded | CallLate
    ) -> Iterator[tuple[LineKind, str]]:
        named = self._named(entry.call)
        match entry:
            case ApprovalAsked(call=call, why=why):
                self._open[call] = "waited for approval"
                yield "note", f"Approval asked for {named}: {why}"
            case ApprovalAnswered(allowed=allowed, words=said):
                yield "note", ("Allowed." if allowed else "Refused.") + (f" {said}" if said.strip() else "")
            case CallStarted(call=call):
                self._open[call] = "started"
            case CallEnded():
                self._open.pop(entry.call, None)
                took = f", {entry.seconds:.1f} s" if entry.seconds else ""
                yield "call", f"{named}: {_OUTCOMES[entry.outcome]}{took}"
                yield "result", entry.text
            case CallLate():
                yield "call", f"{named}: {_OUTCOMES[entry.outcome]}, after its turn had ended"
                yield "result", entry.text

    def _shell(self, entry: ShellStarted | ShellEnded) -> Iterator[tuple[LineKind, str]]:
        match entry:
            case ShellStarted(id=own, command=command):
                self._shells[own] = command
                yield "note", f"Your own command began: {command}"
            case ShellEnded(id=own, outcome=outcome, text=text, note=note):
                shared = ", shared with the model" if note else ""
                yield "call", f"! {self._shells.get(own, own)}: {_OUTCOMES[outcome]}{shared}"
                yield "result", text

    def _failed(self, entry: RequestFailed) -> Iterator[tuple[LineKind, str]]:
        if entry.retry_in is None:
            yield "note", f"Request failed ({entry.fault}): {entry.message}"
        else:
            self._streamed = ""
            how = ", without streaming" if entry.retry_whole else ""
            again = f"Tried again after {entry.retry_in:g} s{how}."
            yield "note", f"Attempt {entry.attempt} failed ({entry.fault}): {entry.message} {again}"

    def _named(self, call: str) -> str:
        part = self._calls.get(call)
        if part is None:
            return f"a call that is not in the journal ({call})"
        return f"{part.name} {' '.join(part.arguments.split())}".rstrip()


def _compacted(entry: Compacted | Uncompacted) -> Iterator[tuple[LineKind, str]]:
    match entry:
        case Compacted():
            yield "note", words.compacted(entry)
            yield "result", entry.note
        case Uncompacted():
            yield "note", words.UNCOMPACTED


def _found(entry: FilesChanged | Repaired) -> Iterator[tuple[LineKind, str]]:
    match entry:
        case FilesChanged(files=files):
            yield "note", words.files_changed(files)
        case Repaired():
            for found in entry.findings:
                yield "finding", found
            if entry.note:
                yield "note", entry.note


def _opened(entry: SessionOpened) -> Iterator[tuple[LineKind, str]]:
    model = f" with {entry.model}" if entry.model else ""
    yield "session", f"Session {entry.session} in {entry.cwd}{model}"
    if entry.forked_from is not None:
        yield "note", f"A copy of session {entry.forked_from}."
    if entry.imported_from is not None:
        yield "note", f"Imported from {entry.imported_from}."

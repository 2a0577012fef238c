"""The fold: entries in, the conversation out. Total and pure: every prefix of every journal gives a valid one.

Two rules. By construction messages alternate, the first is the user's, and every call has exactly one result in the
message after it. What an entry says is never rewritten: a request sent once is sent again the same, only its last user
message may gain texts.
"""

from __future__ import annotations

import copy
from collections.abc import Iterable, Mapping
from dataclasses import replace

from holdfast.calls import FileSeen, Pattern
from holdfast.session import words
from holdfast.session.conversation import (
    Asked,
    AssistantMessage,
    Before,
    Conversation,
    Message,
    OpenCall,
    Result,
    Streaming,
    UserMessage,
    Waiting,
)
from holdfast.session.entries import (
    ApprovalAnswered,
    ApprovalAsked,
    CallEnded,
    CallLate,
    CallPart,
    CallStarted,
    Cause,
    Entry,
    FilesChanged,
    ModelChanged,
    Part,
    ProcessStarted,
    PromptAccepted,
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
    Usage,
)

__all__ = [
    "AssistantMessage",
    "Conversation",
    "Fold",
    "Message",
    "OpenCall",
    "Result",
    "Streaming",
    "UserMessage",
    "Waiting",
    "fold",
]


class Fold:
    """Fold entries one at a time; `conversation()` may be taken after any of them.

    `left` is why a turn without an end was left, as far as is known: it is told of calls without an outcome.

    Laws (`tests/session/test_fold_laws.py`): any sequence of entries folds; the messages alternate and pair; folding a
    longer journal keeps every earlier message but the last, which may only gain texts, until a rewind: that gives the
    messages there were before the prompt.
    """

    def __init__(self, entries: Iterable[Entry] = (), *, left: Cause = "crash") -> None:
        self._left: Cause = left
        self._opened: SessionOpened | None = None
        self._model = ""
        self._title = ""
        self._messages: list[Message] = []  # closed ones
        self._open: dict[str, OpenCall] = {}  # of the last assistant message
        self._results: dict[str, Result] = {}  # of the last assistant message
        self._texts: list[str] = []  # of the user message in progress
        self._notes: list[str] = []  # for the next prompt
        self._lasting: list[tuple[str, str]] = []  # those to tell on any branch, and of which call
        self._calls: dict[str, str | None] = {}  # every call id of the session, to its name; None: it was taken back
        self._files: dict[str, tuple[FileSeen, ...]] = {}  # by path: as last seen, then as told that it changed
        self._looks: list[tuple[str, tuple[FileSeen, ...]]] = []  # what was put there, in order
        self._turns = 0
        self._steps = 0
        self._turn_steps = 0
        self._open_turn: int | None = None
        self._streaming: Streaming | None = None
        self._last_end: TurnEnded | None = None
        self._shells: dict[str, ShellStarted] = {}  # the person's own commands that have no end
        self._allowed: dict[Pattern, None] = {}  # in the order it was allowed
        self._queued: dict[str, Waiting] = {}  # by id
        self._prompts: dict[int, Before] = {}  # by turn
        self._rewound: list[int] = []
        self._usage = Usage(cost="0")
        for entry in entries:
            self.add(entry)

    def knows_call(self, call: str) -> bool:
        """Return whether the id was ever given to a call of this session."""
        return call in self._calls

    def is_open(self, call: str) -> bool:
        """Return whether the call still waits for its outcome."""
        return call in self._open

    @property
    def files(self) -> Mapping[str, tuple[FileSeen, ...]]:
        """Return the files the model has seen, by path: each as it saw it, then as it was told that it changed."""
        return self._files

    def add(self, entry: Entry) -> None:
        """Fold one more entry."""
        match entry:
            case SessionOpened() | ModelChanged() | Titled():
                self._named(entry)
            case PromptAccepted() | Queued() | Recalled() | Steered() | Rewound():
                self._said(entry)
            case RequestStarted() | RequestFailed() | ResponseCheckpoint() | ResponseEnded():
                self._request(entry)
            case ApprovalAsked() | ApprovalAnswered() | CallStarted() | ProcessStarted():
                self._progress(entry)
            case CallEnded():
                self._call_ended(entry)
            case CallLate():
                self._late(entry)
            case TurnEnded():
                self._leave_turn()
                self._last_end = entry
                self._note(entry.note)
                if entry.cause != "finished":
                    self._hold()
            case ShellStarted():
                self._shells[entry.id] = entry
            case FilesChanged() | ShellEnded() | Repaired():
                self._found(entry)

    def _named(self, entry: SessionOpened | ModelChanged | Titled) -> None:
        match entry:
            case SessionOpened():
                if self._opened is None:
                    self._opened = entry
                    self._model = entry.model
                    for file in entry.instructions:
                        self._look(file.path, (file,))
            case ModelChanged():
                self._model = entry.model
            case Titled():
                self._title = entry.title

    def _found(self, entry: FilesChanged | ShellEnded | Repaired) -> None:
        match entry:
            case FilesChanged():
                for file in entry.files:
                    known = self._files.get(file.path)
                    self._look(file.path, (known[0], file) if known else (file,))
                if self._open_turn is None:
                    self._note(entry.note)
                elif entry.note.strip():  # in a turn that is taken up: there is no prompt to wait for
                    self._texts.append(entry.note)
            case ShellEnded():
                self._shells.pop(entry.id, None)
                self._note(entry.note)
            case Repaired():
                self._note(entry.note, lasts=True)

    def after(self, entries: Iterable[Entry]) -> Conversation:
        """Return the conversation as it would be with more entries, which are not folded in."""
        ahead = copy.copy(self)
        for name, value in vars(self).items():
            if isinstance(value, list | dict):
                setattr(ahead, name, copy.copy(value))  # pyright: ignore[reportUnknownArgumentType] - whatever it holds
        for entry in entries:
            ahead.add(entry)
        return ahead.conversation()

    def conversation(self) -> Conversation:
        """Return the conversation as of the last entry."""
        messages = list(self._messages)
        results = self._complete_results()
        texts = list(self._texts)
        if results or texts:
            messages.append(UserMessage(results, tuple(texts)))
        return Conversation(
            opened=self._opened,
            model=self._model,
            title=self._title,
            messages=tuple(messages),
            turns=self._turns,
            steps=self._steps,
            turn_steps=self._turn_steps,
            open_turn=self._open_turn,
            streaming=self._streaming,
            open_calls=tuple(self._open.values()),
            last_end=self._last_end,
            usage=self._usage,
            open_shells=tuple(self._shells.values()),
            allowed=tuple(self._allowed),
            queued=tuple(self._queued.values()),
            prompts=tuple(before.asked for before in self._prompts.values()),
            rewound=tuple(self._rewound),
        )

    def _request(self, entry: RequestStarted | RequestFailed | ResponseCheckpoint | ResponseEnded) -> None:
        now = self._streaming
        match entry:
            case RequestStarted():
                self._steps = max(self._steps, entry.step)
                self._turn_steps += 1 if entry.attempt == 1 else 0
                self._streaming = Streaming(entry.step, entry.model)
            case RequestFailed():
                if entry.retry_in is not None:  # only what was not shown is sent again; else it is the turn's last word
                    self._streaming = None
            case ResponseCheckpoint():
                if now is not None and now.step == entry.step:
                    self._streaming = replace(now, text=now.text + entry.text, thinking=now.thinking + entry.thinking)
            case ResponseEnded():
                self._streaming = None
                self._usage += entry.usage
                self._response(entry.model, entry.parts, cut=entry.cut is not None)

    def _progress(self, entry: ApprovalAsked | ApprovalAnswered | CallStarted | ProcessStarted) -> None:
        call = self._open.get(entry.call)
        if call is None:
            return
        match entry:
            case ApprovalAsked():
                self._open[entry.call] = replace(call, asked=entry)
            case ApprovalAnswered():
                self._open[entry.call] = replace(call, answered=entry)
                if entry.allowed and entry.remember and entry.pattern is not None:
                    self._allowed[entry.pattern] = None
            case CallStarted():
                self._open[entry.call] = replace(call, started=entry)
            case ProcessStarted():
                self._open[entry.call] = replace(call, process=entry.process)

    def _prompt(self, entry: PromptAccepted) -> None:
        self._leave_turn()
        self._prompts.pop(entry.turn, None)  # only in a damaged journal: two prompts of one turn
        self._prompts[entry.turn] = Before(
            asked=Asked(entry.turn, entry.text),
            messages=len(self._messages),
            last=self._messages[-1] if self._messages else None,
            results=dict(self._results),
            texts=tuple(self._texts),
            notes=tuple(self._notes),
            lasting=len(self._lasting),
            files=len(self._looks),
            last_end=self._last_end,
        )
        self._texts.extend(self._notes)
        self._notes.clear()
        if entry.text.strip():
            self._texts.append(entry.text)
        if self._queued.pop(entry.queued, None) is None:  # a prompt of its own
            self._hold()
        self._turns = max(self._turns, entry.turn)
        self._open_turn = entry.turn
        self._turn_steps = 0

    def _rewind(self, entry: Rewound) -> None:
        """Bring back what was before the prompt; ids, counts, the model, the usage and what is queued stay."""
        if (before := self._prompts.get(entry.turn)) is None:  # only in a damaged journal
            return
        self._leave_turn()
        while entry.turn in self._prompts:
            self._prompts.popitem()
        del self._messages[before.messages :]
        if before.last is not None:
            self._messages[-1] = before.last
        self._results = dict(before.results)
        kept = {part.id for each in self._messages if isinstance(each, AssistantMessage) for part in each.calls}
        self._calls = {call: name if call in kept else None for call, name in self._calls.items()}
        self._texts, self._notes = list(before.texts), list(before.notes)
        self._notes.extend(note for call, note in self._lasting[before.lasting :] if not call or call in kept)
        del self._looks[before.files :]
        self._files = dict(self._looks)
        self._last_end = before.last_end
        self._turn_steps = 0
        self._rewound.append(entry.turn)
        self._note(entry.note)

    def _look(self, path: str, states: tuple[FileSeen, ...]) -> None:
        self._looks.append((path, states))
        self._files[path] = states

    def _said(self, entry: PromptAccepted | Queued | Recalled | Steered | Rewound) -> None:
        match entry:
            case PromptAccepted():
                self._prompt(entry)
            case Rewound():
                self._rewind(entry)
            case Queued():
                self._queued[entry.id] = Waiting(entry)
            case Recalled():
                self._queued.pop(entry.queued, None)
            case Steered():
                self._queued.pop(entry.queued, None)
                if entry.text.strip():
                    self._texts.append(entry.text)

    def _leave_turn(self) -> None:
        """Close what a journal left open that has gone on without saying how it ended."""
        if self._streaming is not None:
            streaming, self._streaming = self._streaming, None
            self._response(streaming.model, (TextPart(streaming.text),), cut=True)
        for call in list(self._open.values()):
            self._results[call.part.id] = call.unsettled(self._left)
        self._open.clear()
        self._open_turn = None

    def _response(self, model: str, parts: tuple[Part, ...], *, cut: bool) -> None:
        kept: list[Part] = []
        for part in parts:
            match part:
                case TextPart():
                    if part.text.strip():
                        kept.append(part)
                case ThinkingPart():
                    if not cut:
                        kept.append(part)
                case CallPart():
                    # A cut response's calls never started: the turn's note names them. An id seen before is damage.
                    if not cut and part.id not in self._calls:
                        kept.append(part)
                        self._calls[part.id] = part.name
        if all(isinstance(part, ThinkingPart) for part in kept):
            return
        self._close_user_message()
        last = self._messages[-1] if self._messages else None
        if isinstance(last, AssistantMessage):  # only in a damaged journal: two answers with no word between them
            merged = (
                part for part in (*last.parts, *kept) if not isinstance(part, ThinkingPart)
            )  # it was signed alone
            self._messages[-1] = AssistantMessage(last.model, tuple(merged))
        else:
            self._messages.append(AssistantMessage(model, tuple(kept)))
        self._open = {part.id: OpenCall(part) for part in kept if isinstance(part, CallPart)}

    def _close_user_message(self) -> None:
        results = self._complete_results()
        if not results and not self._texts and not self._messages:
            self._texts.append(words.MISSING_START)
        if results or self._texts:
            self._messages.append(UserMessage(results, tuple(self._texts)))
        self._texts.clear()
        self._results.clear()
        self._open.clear()

    def _complete_results(self) -> tuple[Result, ...]:
        last = self._messages[-1] if self._messages else None
        if not isinstance(last, AssistantMessage):
            return ()
        return tuple(self._results.get(part.id) or self._open[part.id].unsettled(self._left) for part in last.calls)

    def _call_ended(self, entry: CallEnded) -> None:
        call = self._open.pop(entry.call, None)
        if call is None:
            self._late(entry)
            return
        if entry.seen is not None:
            self._look(entry.seen.path, (entry.seen,))
        text = entry.text if entry.text.strip() else words.NO_OUTPUT
        self._results[entry.call] = Result(entry.call, call.part.name, entry.outcome, text)

    def _late(self, entry: CallEnded | CallLate) -> None:
        if (name := self._calls.get(entry.call)) is not None:
            self._note(words.late(name, entry.outcome, entry.text), lasts=True, call=entry.call)

    def _note(self, note: str, *, lasts: bool = False, call: str = "") -> None:
        if note.strip():
            self._notes.append(note)
            if lasts:
                self._lasting.append((call, note))

    def _hold(self) -> None:
        """From here on nothing that waits is sent by itself: what it was given to has ended, or is left alone."""
        self._queued = {each: replace(waiting, held=True) for each, waiting in self._queued.items()}


def fold(entries: Iterable[Entry], *, left: Cause = "crash") -> Conversation:
    """Return the conversation that `entries` amount to."""
    return Fold(entries, left=left).conversation()

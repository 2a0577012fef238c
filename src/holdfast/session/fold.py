"""The fold: entries in, the conversation out. Total and pure: every prefix of every journal gives a valid one.

Two rules. By construction messages alternate, the first is the user's, and every call has exactly one result in the
message after it. What an entry says is never rewritten: a request sent once is sent again the same, only its last user
message may gain texts, until a journalled decision changes what was sent.
"""

from __future__ import annotations

import copy
from collections.abc import Iterable, Mapping
from dataclasses import replace

from holdfast.calls import FileSeen, Image, Pattern
from holdfast.session import words
from holdfast.session.conversation import (
    Asked,
    Before,
    Conversation,
    Counted,
    OpenShell,
    Streaming,
    Waiting,
)
from holdfast.session.entries import (
    BAD_IMAGES,
    NO_IMAGES,
    ApprovalAnswered,
    ApprovalAsked,
    CallEnded,
    CallLate,
    CallStarted,
    Cause,
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
    Titled,
    TurnEnded,
    Uncompacted,
    Usage,
)
from holdfast.session.estimate import recounted, shortened
from holdfast.session.exchange import Exchange, unsigned, without


class Fold:
    """Fold entries one at a time; `conversation()` may be taken after any of them.

    `left` is why a turn without an end was left, as far as is known: it is told of calls without an outcome.

    Laws (`tests/session/test_fold_laws.py`): any sequence of entries folds; the messages alternate and pair; folding a
    longer journal keeps every earlier message but the last, which may only gain texts, until a rewind: that gives the
    messages there were before the prompt; or until results or images are left out: later thinking goes with them.
    """

    def __init__(self, entries: Iterable[Entry] = (), *, left: Cause = "crash") -> None:
        self._left: Cause = left
        self._opened: SessionOpened | None = None
        self._model = ""
        self._title = ""
        self._exchange = Exchange()
        self._counted: Counted | None = None
        self._notes: list[str] = []  # for the next prompt
        self._lasting: list[tuple[str, str]] = []  # those to tell on any branch, and of which call
        self._files: dict[str, tuple[FileSeen, ...]] = {}  # by path: as last seen, then as told that it changed
        self._looks: list[tuple[str, tuple[FileSeen, ...]]] = []  # what was put there, in order
        self._turns = 0
        self._steps = 0
        self._turn_steps = 0
        self._open_turn: int | None = None
        self._streaming: Streaming | None = None
        self._blind: frozenset[str] = frozenset()
        self._refused: frozenset[tuple[str, Image]] = frozenset()
        self._last_end: TurnEnded | None = None
        self._shells: dict[str, OpenShell] = {}  # the person's own commands that have no end
        self._allowed: dict[Pattern, None] = {}  # in the order it was allowed
        self._queued: dict[str, Waiting] = {}  # by id
        self._prompts: dict[int, Before] = {}  # by turn
        self._rewound: list[int] = []
        self._usage = Usage(cost="0")
        for entry in entries:
            self.add(entry)

    def knows_call(self, call: str) -> bool:
        """Return whether the id was ever given to a call of this session."""
        return call in self._exchange.calls

    def has_call(self, call: str) -> bool:
        """Return whether the call is part of the conversation, summed up or not."""
        return self._exchange.calls.get(call) is not None

    @property
    def steps(self) -> tuple[int, ...]:
        """Return the step of each answer that would be sent."""
        return self._exchange.steps

    def is_open(self, call: str) -> bool:
        """Return whether the call still waits for its outcome."""
        return call in self._exchange.open

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
            case Pruned():
                self._prune(entry)
            case Compacted() | Uncompacted():
                self._compact(entry)
            case RequestStarted() | RequestFailed() | ResponseCheckpoint() | ResponseEnded():
                self._request(entry)
            case ApprovalAsked() | ApprovalAnswered() | CallStarted() | ProcessStarted():
                self._progress(entry)
            case CallEnded() | CallLate():
                self._outcome(entry)
            case TurnEnded():
                self._leave_turn()
                self._last_end = entry
                self._note(entry.note)
                if entry.cause != "finished":
                    self._hold()
            case ShellStarted():
                self._shells[entry.id] = OpenShell(entry)
            case FilesChanged() | ShellEnded() | Repaired():
                self._found(entry)

    def _named(self, entry: SessionOpened | ModelChanged | Titled) -> None:
        match entry:
            case SessionOpened():
                if self._opened is None:
                    self._opened, self._model = entry, entry.model
                    self._unsign()
                    for file in entry.instructions:
                        self._look(file.path, (file,))
            case ModelChanged():
                self._model = entry.model
            case Titled():
                self._title = entry.title

    def _unsign(self) -> None:
        """Send nothing that was signed behind another system prompt: the first entry was lost, and is made again."""
        self._exchange.unsign()
        self._prompts = {turn: replace(b, last=b.last and without(b.last, {})) for turn, b in self._prompts.items()}

    def _found(self, entry: FilesChanged | ShellEnded | Repaired) -> None:
        match entry:
            case FilesChanged():
                for file in entry.files:
                    known = self._files.get(file.path)
                    self._look(file.path, (known[0], file) if known else (file,))
                if self._open_turn is None:
                    self._note(entry.note)
                elif entry.note.strip():  # in a turn that is taken up: there is no prompt to wait for
                    self._exchange.texts.append(entry.note)
            case ShellEnded():
                self._shells.pop(entry.id, None)
                self._note(entry.note, lasts=True)
            case Repaired():
                self._note(entry.note, lasts=True)

    def after(self, entries: Iterable[Entry]) -> Conversation:
        """Return the conversation as it would be with more entries, which are not folded in."""
        ahead = copy.copy(self)
        for name, value in vars(self).items():
            if isinstance(value, list | dict | Exchange):
                setattr(ahead, name, value.copy())  # pyright: ignore[reportUnknownArgumentType] - whatever it holds
        for entry in entries:
            ahead.add(entry)
        return ahead.conversation()

    def conversation(self) -> Conversation:
        """Return the conversation as of the last entry."""
        hidden, cut = self._exchange.hidden, self._exchange.cut
        prompts = (before.asked for before in self._prompts.values())
        return Conversation(
            opened=self._opened,
            model=self._model,
            title=self._title,
            messages=self._exchange.messages(self._left),
            turns=self._turns,
            steps=self._steps,
            turn_steps=self._turn_steps,
            open_turn=self._open_turn,
            streaming=self._streaming,
            open_calls=tuple(self._exchange.open.values()),
            last_end=self._last_end,
            usage=self._usage,
            open_shells=tuple(self._shells.values()),
            allowed=tuple(self._allowed),
            queued=tuple(self._queued.values()),
            prompts=tuple(replace(each, at=max(each.at - hidden, -1)) if hidden else each for each in prompts),
            rewound=tuple(self._rewound),
            counted=self._counted,
            compacted=cut.entry if cut else None,
            blind=self._blind,
            refused=self._refused,
        )

    def _request(self, entry: RequestStarted | RequestFailed | ResponseCheckpoint | ResponseEnded) -> None:
        now = self._streaming
        match entry:
            case RequestStarted():
                self._steps = max(self._steps, entry.step)
                self._turn_steps += 1 if entry.attempt == 1 else 0
                self._streaming = Streaming(entry.step, entry.model)
                self._exchange.settle()
            case RequestFailed():
                if entry.fault in (NO_IMAGES, BAD_IMAGES) and now is not None:
                    self._unshow(now.model, None if entry.fault == NO_IMAGES else self._exchange.images)
                if entry.retry_in is not None:  # only what was not shown is sent again; else it is the turn's last word
                    self._streaming = None
            case ResponseCheckpoint():
                if now is not None and now.step == entry.step:
                    self._streaming = replace(now, text=now.text + entry.text, thinking=now.thinking + entry.thinking)
            case ResponseEnded():
                self._response(entry)

    def _unshow(self, model: str, images: tuple[Image, ...] | None) -> None:
        """Show the model these images no more, or none at all; what it signed with them goes, on every branch."""
        if images is None:
            self._blind |= {model}
        else:
            self._refused |= {(model, image) for image in images}
        first = self._exchange.unshow(model, images)
        for turn, known in self._prompts.items():
            if known.last and known.asked.at > first:
                self._prompts[turn] = replace(known, last=unsigned(known.last, model))

    def _progress(self, entry: ApprovalAsked | ApprovalAnswered | CallStarted | ProcessStarted) -> None:
        calls = self._exchange.open
        call = calls.get(entry.call)
        if isinstance(entry, ProcessStarted) and (shell := self._shells.get(entry.call)):
            self._shells[entry.call] = replace(shell, process=entry.process)
        if call is None:
            return
        match entry:
            case ApprovalAsked():
                calls[entry.call] = replace(call, asked=entry)
            case ApprovalAnswered():
                calls[entry.call] = replace(call, answered=entry)
                if entry.allowed and entry.remember and entry.pattern is not None:
                    self._allowed[entry.pattern] = None
            case CallStarted():
                calls[entry.call] = replace(call, started=entry)
            case ProcessStarted():
                calls[entry.call] = replace(call, process=entry.process)

    def _prompt(self, entry: PromptAccepted) -> None:
        self._leave_turn()
        closed = self._exchange.closed
        self._prompts.pop(entry.turn, None)  # only in a damaged journal: two prompts of one turn
        self._prompts[entry.turn] = Before(
            asked=Asked(entry.turn, entry.text, len(closed), behind=len(self._exchange.texts)),
            last=closed[-1] if closed else None,
            results=dict(self._exchange.results),
            texts=tuple(self._exchange.texts),
            notes=tuple(self._notes),
            lasting=len(self._lasting),
            files=len(self._looks),
            last_end=self._last_end,
            counted=self._counted,
            cut=self._exchange.cut,
        )
        self._exchange.texts.extend(self._notes)
        self._notes.clear()
        self._say(entry)
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
        kept = self._exchange.rewind(before)
        self._notes, self._counted = list(before.notes), before.counted
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
                self._say(entry)

    def _say(self, entry: PromptAccepted | Steered) -> None:
        self._exchange.texts.extend(entry.images)
        if entry.text.strip():
            self._exchange.texts.append(entry.text)

    def _leave_turn(self) -> None:
        """Close what a journal left open that has gone on without saying how it ended."""
        if self._streaming is not None:
            streaming, self._streaming = self._streaming, None
            parts = (TextPart(streaming.text),)
            self._exchange.response(streaming.step, streaming.model, parts, cut=True)
        self._exchange.settle()
        self._open_turn = None

    def _response(self, entry: ResponseEnded) -> None:
        self._streaming = None
        self._usage += entry.usage
        is_cut = entry.cut is not None
        place = self._exchange.response(entry.step, entry.model, entry.parts, cut=is_cut)
        if place is not None and entry.usage.input_tokens:
            self._counted = Counted(entry.model, place, entry.usage.input_tokens)

    def _prune(self, entry: Pruned) -> None:
        """Leave results out on every branch: a rewind does not bring them back."""
        before = self._exchange.messages(self._left)
        first = self._exchange.leave_out(entry.outputs)
        self._counted = recounted(self._counted, self._opened, before, self._exchange.messages(self._left))
        for turn, known in self._prompts.items():
            counted, hidden = known.counted, known.cut.messages if known.cut else 0
            self._prompts[turn] = replace(
                known,
                last=without(known.last, entry.outputs) if known.last and known.asked.at > first else known.last,
                results={call: result.replaced(entry.outputs) for call, result in known.results.items()},
                counted=None if counted and counted.messages + hidden > first else counted,
            )

    def _compact(self, entry: Compacted | Uncompacted) -> None:
        """Send a note in place of what is older, or that again; a blank note, only in a damaged journal, is none."""
        before = self._exchange.messages(self._left)
        if isinstance(entry, Uncompacted):
            self._exchange.uncompact()
        else:
            self._usage += entry.usage
            if entry.note.strip():
                self._exchange.compact(entry)
        after = self._exchange.messages(self._left)[: len(self._exchange.closed) - self._exchange.hidden]
        self._counted = shortened(self._counted, self._opened, before, after)

    def _outcome(self, entry: CallEnded | CallLate) -> None:
        if isinstance(entry, CallLate) or not self._exchange.ended(entry):
            if (name := self._exchange.calls.get(entry.call)) is not None:
                self._note(words.late(name, entry.outcome, entry.text), lasts=True, call=entry.call)
        elif entry.seen is not None:
            self._look(entry.seen.path, (entry.seen,))

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

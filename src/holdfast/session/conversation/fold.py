"""Folds journal entries into the conversation. Total and pure: every prefix of every journal gives a valid one.

How it works. `Fold.add` takes one entry and updates the messages (`MessageBuilder`), the notes for the next prompt, the
open calls and the queue. `conversation()` works after any entry. Its only other input is `left`: no clock, no files.

Why not store the messages themselves? A crash between two writes would leave a list that no provider accepts. Entries
only state what happened, so no sequence of them is invalid. A call without an outcome gets a provisional result that
says what is known. What only damage can cause (a repeated call id, a missing beginning) is absorbed, not raised.

By construction messages alternate, the first is the user's, and every call has one result in the next message. What was
sent once is sent again byte for byte, for the provider's cache. Only the last user message may gain texts. Earlier ones
change only by rewind, prune, compact; rejected images, changed tools or a replaced first entry drop signed thinking.

Example: a prompt, a response with call A, `call-started`, then a kill. Call A has the result "Interrupted: …" for now.
"""

from __future__ import annotations

import copy
from collections.abc import Iterable, Mapping

import msgspec

from holdfast.session import model_notices
from holdfast.session.conversation import conversation as c
from holdfast.session.conversation.fold_state import (
    NO_CUT,
    CutTable,
    FoldState,
    PointState,
    TextSource,
    restored_cuts,
    without_text,
)
from holdfast.session.conversation.message_builder import MessageBuilder, replace_results, unsigned_point
from holdfast.session.conversation.task_record import TaskRecord
from holdfast.session.conversation.token_estimate import recounted
from holdfast.session.journal import entries as e
from holdfast.session.journal.model_settings import NO_SETTINGS
from holdfast.session.journal.parts import TextPart, Usage
from holdfast.session.journal.tasks import TaskEnded, TaskEndSent, TaskStarted
from holdfast.tool_calls import FileSeen, Image, Mode, Pattern
from holdfast.typed_data import decode_json

_FOR_NEXT_PROMPT = e.ShellEnded | e.Repaired | e.ServerFailed | e.HookEnded
"""Findings that the model reads with the next prompt, also in a turn."""


class Fold:
    """Folds entries one at a time. `left` is why the open turn stopped, if known: provisional results name it.

    Laws (`tests/session/conversation/test_fold_laws.py`): any sequence of entries folds; the messages alternate and
    pair; folding a longer journal keeps every message but the last, which may only gain texts. Exceptions: a rewind
    restores the messages before its prompt, and later thinking is dropped when results or images are left out.
    """

    def __init__(self, entries: Iterable[e.Entry] = (), *, left: e.Cause = "crash") -> None:
        self._left: e.Cause = left
        self._opened: e.SessionOpened | None = None
        self._model = self._title = self._chosen = ""  # chosen by the user; a fallback model may stand in for it
        self._settings = NO_SETTINGS
        self._fell_back = False  # in the last turn
        self._builder = MessageBuilder()
        self._counted: c.Counted | None = None
        self._notes: list[str] = []  # for the next prompt
        self._lasting: list[tuple[str, str]] = []  # those that survive a rewind, with their call
        self._files: dict[str, tuple[FileSeen, ...]] = {}  # by path: as last seen, then as reported changed
        self._file_states: list[tuple[str, tuple[FileSeen, ...]]] = []  # every addition to it, in order
        self._turns = self._steps = self._turn_steps = 0
        self._open_turn: int | None = None
        self._streaming: c.Streaming | None = None
        self._refused = c.RefusedContent()
        self._last_end: e.TurnEnded | None = None
        self._shells: dict[str, c.OpenShell] = {}  # user commands without an end
        self.tasks = TaskRecord()
        self._hooks: dict[str, c.OpenHook] = {}  # hooks without an end
        self._allowed: dict[Pattern, None] = {}
        self._mode: Mode | None = None  # as an answer or the user set it
        self._queued: dict[str, c.QueuedMessage] = {}  # by id
        self._prompts: dict[int, c.RewindPoint] = {}  # by turn
        self._rewound: list[int] = []
        self._usage = Usage(cost="0")
        self._cuts: tuple[c.ActiveCompaction, ...] = ()  # those that were restored, at their places
        self._older_points: msgspec.Raw | None = None  # the first rewind points, not decoded yet, None if all are
        self._older_turns: frozenset[int] = frozenset()  # those of which the point is not decoded yet
        self._marks: tuple[int, tuple[c.PromptMark, ...]] | None = None  # as last returned, after so many hidden ones
        self._seq = 0  # of the entry that is added, 0 if unknown
        for entry in entries:
            self.add(entry)

    def knows_call(self, call: str) -> bool:
        """Return whether any call of this session has ever had this id."""
        return call in self._builder.calls

    def has_call(self, call: str) -> bool:
        """Return whether the call belongs to the conversation, compacted or not."""
        return self._builder.calls.get(call) is not None

    @property
    def program(self) -> str:
        """Return what notices to the model call the program that runs the session."""
        return self._builder.program

    @property
    def steps(self) -> tuple[int, ...]:
        return self._builder.steps

    def is_open(self, call: str) -> bool:
        """Return whether the call has no outcome yet."""
        return call in self._builder.open

    @property
    def files(self) -> Mapping[str, tuple[FileSeen, ...]]:
        """Return the files the model has seen: the version it read, and the one it was notified of."""
        return self._files

    def add(self, entry: e.Entry, *, seq: int = 0) -> None:
        """Fold one more entry, which is at `seq` in the journal if that is known."""
        self._seq = seq
        match entry:
            case e.SessionOpened() | e.ModelChanged() | e.ModelSettingsChanged() | e.ModeChanged() | e.Titled():
                self._set_up(entry)
            case e.PromptAccepted() | e.Queued() | e.Recalled() | e.Steered() | e.Rewound():
                self._message(entry)
            case e.Pruned():
                self._prune(entry)
            case e.Compacted() | e.Uncompacted():
                self._compact(entry)
            case e.RequestStarted() | e.RequestFailed() | e.ResponseCheckpoint() | e.ResponseEnded():
                self._request(entry)
            case (
                e.ApprovalAsked()
                | e.ApprovalAnswered()
                | e.CallWaits()
                | e.CallAnswered()
                | e.CallStarted()
                | e.ProcessStarted()
            ):
                self._progress(entry)
            case e.ToolsChanged():
                self._set_up(entry)
            case e.CallEnded() | e.CallLate():
                self._outcome(entry)
            case e.TurnEnded():
                self._leave_turn()
                self._last_end = entry
                self._note(entry.note)
                if entry.cause != "finished":
                    self._put_queue_on_hold()
            case e.ShellStarted():
                self._shells[entry.id] = c.OpenShell(entry)
            case (
                e.FilesChanged()
                | e.ShellEnded()
                | e.Repaired()
                | e.ServerFailed()
                | e.FolderGone()
                | e.Moved()
                | e.RestoreEnded()
                | e.FilesMoved()
                | e.HookEnded()
            ):
                self._finding(entry)
            case TaskStarted() | TaskEnded() | TaskEndSent() | e.HookStarted() | e.ResultAmended():
                self._task_or_hook(entry)
            case e.RequestsChanged():
                self._refused = self._refused.after_change(entry)
                self._unsign(entry.model)
            case e.SnapshotTaken() | e.RestoreStarted():
                pass  # of files, not of the conversation

    def _set_up(self, entry: c.SetUp) -> None:
        match entry:
            case e.ModeChanged():
                self._mode = entry.mode
            case e.ToolsChanged():
                self._opened = self._opened and msgspec.structs.replace(self._opened, tools=entry.tools)
                self._note(entry.note, lasts=True)
                if not entry.added:
                    self._unsign()
            case e.SessionOpened():
                if self._opened is None:
                    self._opened, self._model, self._chosen = entry, entry.model, entry.model
                    self._builder.program = entry.program
                    self._unsign()
                    for file in entry.instructions:
                        self._see_file(file.path, (file,))
            case e.ModelChanged(why="fallback"):
                self._model, self._fell_back = entry.model, True
            case e.ModelChanged():
                self._model = self._chosen = entry.model
            case e.ModelSettingsChanged():
                self._settings = entry.settings
            case e.Titled():
                self._title = entry.title
                self._usage += entry.usage

    def _unsign(self, model: str = "") -> None:
        """Drop everything signed, or only by this model: what was sent before it is not sent so any more."""
        self._complete()
        self._builder.unsign(model)
        self._prompts = {turn: unsigned_point(point, model) for turn, point in self._prompts.items()}

    def _finding(self, entry: c.Noted) -> None:
        lasts = not isinstance(entry, e.FilesChanged)
        if isinstance(entry, e.ShellEnded):
            self._shells.pop(entry.id, None)
        if isinstance(entry, e.HookEnded):
            self._hooks.pop(entry.id, None)
        if isinstance(entry, e.Moved):
            self._opened = self._opened and msgspec.structs.replace(self._opened, cwd=entry.to)
            self._allowed.clear()  # it was allowed in the other folder
        for file in entry.files if isinstance(entry, e.FilesChanged) else ():
            known = self._files.get(file.path)
            self._see_file(file.path, (known[0], file) if known else (file,))
        if self._open_turn is None or isinstance(entry, _FOR_NEXT_PROMPT):
            self._note(entry.note, lasts=lasts)
        elif entry.note.strip():  # in a resumed turn: no prompt follows
            self._builder.content.append(entry.note)

    def state(self) -> FoldState:
        """Return the state, without large results that the journal has. It is whole: `restored` continues from it."""
        cuts, builder = CutTable(self._cuts), self._builder
        hidden, is_older = builder.hidden, True
        older: list[c.RewindPoint] = []
        for point in self._prompts.values():
            is_older = is_older and point.prompt.at < hidden
            if is_older:
                older.append(point)
        if (points := self._older_points) is None or len(older) != len(self._older_turns):
            self._complete()
            older = list(self._prompts.values())[: len(older)]
            points = msgspec.Raw(msgspec.json.encode([self._point_state(point, cuts) for point in older]))
        built = builder.state(cuts)
        later = list(self._prompts.values())[len(older) :]
        return FoldState(
            opened=self._opened,
            model=self._model,
            title=self._title,
            chosen=self._chosen,
            settings=self._settings,
            fell_back=self._fell_back,
            builder=msgspec.structs.replace(built, cuts=tuple(cuts.states)),
            counted=self._counted,
            notes=tuple(self._notes),
            lasting=tuple(self._lasting),
            file_states=tuple(self._file_states),
            counts=(self._turns, self._steps, self._turn_steps),
            open_turn=self._open_turn,
            streaming=self._streaming,
            refused=self._refused,
            last_end=self._last_end,
            shells=tuple(self._shells.values()),
            tasks=self.tasks.state(),
            allowed=tuple(self._allowed),
            mode=self._mode,
            queued=tuple(self._queued.values()),
            older_prompts=tuple(point.prompt for point in older),
            older_points=points,
            points=tuple(self._point_state(point, cuts) for point in later),
            rewound=tuple(self._rewound),
            usage=self._usage,
            hooks=tuple(self._hooks.values()),
        )

    def _point_state(self, point: c.RewindPoint, cuts: CutTable) -> PointState:
        closed, at, hidden = self._builder.closed, point.prompt.at, self._builder.hidden
        is_known = 0 < at <= len(closed) and closed[at - 1] is point.last
        is_known = is_known and (at - 1 >= hidden or at < hidden)  # both are decoded at the same time
        assert not isinstance(point.last, c.UserMessage)  # closed messages end with a response
        return PointState(
            prompt=point.prompt,
            last=None if is_known else point.last,
            results=tuple(without_text(result, self._builder.entries) for result in point.results.values()),
            content=point.content,
            notes=point.notes,
            lasting=point.lasting,
            files=point.files,
            last_end=point.last_end,
            counted=point.counted,
            cut=cuts.place(point.cut),
        )

    @classmethod
    def restored(cls, saved: FoldState, *, texts: TextSource, left: e.Cause = "crash") -> Fold:
        """Return the fold of this state; `texts` reads the results that are not in it."""
        cuts = restored_cuts(saved.builder.cuts)
        fold_ = cls(left=left)
        fold_._opened, fold_._model, fold_._title = saved.opened, saved.model, saved.title
        fold_._chosen, fold_._settings, fold_._fell_back = saved.chosen, saved.settings, saved.fell_back
        fold_._builder = MessageBuilder.restored(saved.builder, cuts, texts)
        fold_._counted, fold_._notes, fold_._lasting = saved.counted, list(saved.notes), list(saved.lasting)
        fold_._file_states, fold_._files = list(saved.file_states), dict(saved.file_states)
        fold_._turns, fold_._steps, fold_._turn_steps = saved.counts
        fold_._open_turn, fold_._streaming, fold_._refused = saved.open_turn, saved.streaming, saved.refused
        fold_._last_end, fold_.tasks = saved.last_end, TaskRecord.restored(saved.tasks)
        fold_._shells = {shell.started.id: shell for shell in saved.shells}
        fold_._allowed, fold_._mode = dict.fromkeys(saved.allowed), saved.mode
        fold_._hooks = {hook.started.id: hook for hook in saved.hooks}
        fold_._queued = {each.message.id: each for each in saved.queued}
        fold_._rewound, fold_._usage = list(saved.rewound), saved.usage
        fold_._cuts = cuts
        for mark in saved.older_prompts:
            fold_._prompts[mark.turn] = c.RewindPoint(mark, None, {}, (), (), 0, 0, None, None, None)
        fold_._older_points = saved.older_points if saved.older_prompts else None
        fold_._older_turns = frozenset(mark.turn for mark in saved.older_prompts)
        for each in saved.points:
            fold_._prompts[each.prompt.turn] = fold_._restored_point(each)
        return fold_

    def _restored_point(self, saved: PointState) -> c.RewindPoint:
        closed, at = self._builder.closed, saved.prompt.at
        return c.RewindPoint(
            prompt=saved.prompt,
            last=closed[at - 1] if saved.last is None and at > 0 else saved.last,
            results={result.call: result for result in saved.results},
            content=saved.content,
            notes=saved.notes,
            lasting=saved.lasting,
            files=saved.files,
            last_end=saved.last_end,
            counted=saved.counted,
            cut=None if saved.cut == NO_CUT else self._cuts[saved.cut],
        )

    def _complete(self) -> None:
        """Decode what only decisions about earlier messages need, before one of them."""
        self._builder.complete()
        if self._older_points is not None:
            older, self._older_points, self._older_turns = self._older_points, None, frozenset()
            points = decode_json(bytes(older), tuple[PointState, ...])
            self._prompts |= {point.prompt.turn: self._restored_point(point) for point in points}

    def release(self, texts: TextSource) -> None:
        """Hold no large results of messages that are not sent; `texts` reads them again."""
        self._builder.release(texts)

    def after(self, entries: Iterable[e.Entry]) -> c.Conversation:
        """Return the conversation as it would be after more entries, without folding them in."""
        copied = copy.copy(self)
        for name, value in vars(self).items():
            if isinstance(value, list | dict | MessageBuilder | TaskRecord):
                setattr(copied, name, value.copy())  # pyright: ignore[reportUnknownArgumentType] - any of these types
        for entry in entries:
            copied.add(entry)
        return copied.conversation()

    def conversation(self) -> c.Conversation:
        """Return the conversation as of the last entry."""
        hidden, cut = self._builder.hidden, self._builder.cut
        return c.Conversation(
            opened=self._opened,
            model=self._model,
            settings=self._settings,
            chosen_model=self._chosen,
            fell_back=self._fell_back,
            title=self._title,
            messages=self._builder.messages(self._left),
            turns=self._turns,
            steps=self._steps,
            turn_steps=self._turn_steps,
            open_turn=self._open_turn,
            streaming=self._streaming,
            open_calls=tuple(self._builder.open.values()),
            last_end=self._last_end,
            usage=self._usage,
            open_shells=tuple(self._shells.values()),
            open_tasks=self.tasks.open,
            unreported_tasks=self.tasks.unreported(self._notes),
            allowed=tuple(self._allowed),
            mode=self._mode,
            queued=tuple(self._queued.values()),
            prompts=self._prompt_marks(hidden),
            rewound=tuple(self._rewound),
            counted=self._counted,
            compacted=cut.entry if cut else None,
            models_without_vision=self._refused.models_without_vision,
            refused=self._refused.images,
            request_changes=self._refused.changes,
            open_hooks=tuple(self._hooks.values()),
        )

    def _prompt_marks(self, hidden: int) -> tuple[c.PromptMark, ...]:
        """Return the prompts that the conversation can be rewound to, the same value until one is added or removed."""
        if self._marks is None or self._marks[0] != hidden:
            self._marks = hidden, tuple(point.prompt.after(hidden) for point in self._prompts.values())
        return self._marks[1]

    def _request(self, entry: e.RequestStarted | e.RequestFailed | e.ResponseCheckpoint | e.ResponseEnded) -> None:
        now = self._streaming
        match entry:
            case e.RequestStarted():
                self._steps = max(self._steps, entry.step)
                self._turn_steps += 1 if entry.attempt == 1 else 0
                self._streaming = c.Streaming(entry.step, entry.model)
                self._builder.settle()
                self._builder.sent = True
            case e.RequestFailed():
                self._usage += entry.usage or Usage(cost="0")
                refused = self._refused.after_failure(entry, now, self._builder.images)
                if refused is not self._refused and now is not None:
                    self._refused = refused
                    self._forget(now.model, None if entry.fault == e.NO_IMAGES else self._builder.images)
                if entry.retry_in is not None:  # a failure after shown output ends the turn
                    self._streaming = None
            case e.ResponseCheckpoint():
                if now is not None and now.step == entry.step:
                    text, thinking = now.text + entry.text, now.thinking + entry.thinking
                    self._streaming = msgspec.structs.replace(now, text=text, thinking=thinking)
            case e.ResponseEnded():
                self._response(entry)

    def _forget(self, model: str, images: tuple[Image, ...] | None) -> None:
        """Drop thinking that the model signed after these images, or after any, on every branch."""
        self._complete()
        first = self._builder.forget_images(model, images)
        later = {turn: point for turn, point in self._prompts.items() if point.prompt.at > first}
        self._prompts |= {turn: unsigned_point(point, model) for turn, point in later.items()}

    def _progress(self, entry: c.CallProgress) -> None:
        calls = self._builder.open
        call = calls.get(entry.call)
        if isinstance(entry, e.ProcessStarted):
            self.tasks.process(entry)
            if shell := self._shells.get(entry.call):
                self._shells[entry.call] = msgspec.structs.replace(shell, process=entry.process)
            if hook := self._hooks.get(entry.call):
                self._hooks[entry.call] = msgspec.structs.replace(hook, process=entry.process)
        if call is None:
            return
        calls[entry.call] = call.after(entry)
        if isinstance(entry, e.ApprovalAnswered):
            self._allowed |= dict.fromkeys(entry.remembered)
            self._mode = entry.mode or self._mode

    def _prompt(self, entry: e.PromptAccepted) -> None:
        self._leave_turn()
        closed = self._builder.closed
        self._marks = None
        if entry.turn in self._older_turns:
            self._complete()
        self._prompts.pop(entry.turn, None)  # two prompts of one turn: a damaged journal
        self._prompts[entry.turn] = c.RewindPoint(
            prompt=c.PromptMark(entry.turn, entry.text, len(closed), texts_before=len(self._builder.content)),
            last=closed[-1] if closed else None,
            results=dict(self._builder.results),
            content=tuple(self._builder.content),
            notes=tuple(self._notes),
            lasting=len(self._lasting),
            files=len(self._file_states),
            last_end=self._last_end,
            counted=self._counted,
            cut=self._builder.cut,
        )
        self._builder.content.extend(self._notes)
        self._notes.clear()
        self._add_content(entry)
        if self._queued.pop(entry.queued, None) is None:  # it was not a queued message
            self._put_queue_on_hold()
        self._turns, self._open_turn = max(self._turns, entry.turn), entry.turn
        self._turn_steps, self._fell_back = 0, False

    def _rewind(self, entry: e.Rewound) -> None:
        """Restore the state before the prompt. Ids, token usage, the model, its settings and the queue stay."""
        self._complete()
        self._marks = None
        if (before := self._prompts.get(entry.turn)) is None:  # a damaged journal
            return
        self._leave_turn()
        while entry.turn in self._prompts:
            self._prompts.popitem()
        calls = self._builder.rewind(before)
        self._notes, self._counted = list(before.notes), before.counted
        self._notes.extend(note for call, note in self._lasting[before.lasting :] if not call or call in calls)
        del self._file_states[before.files :]
        self._files, self._last_end, self._turn_steps = dict(self._file_states), before.last_end, 0
        self._rewound.append(entry.turn)
        self._note(entry.note)

    def _see_file(self, path: str, states: tuple[FileSeen, ...]) -> None:
        self._file_states.append((path, states))
        self._files[path] = states

    def _message(self, entry: e.PromptAccepted | e.Queued | e.Recalled | e.Steered | e.Rewound) -> None:
        match entry:
            case e.PromptAccepted():
                self._prompt(entry)
            case e.Rewound():
                self._rewind(entry)
            case e.Queued():
                self._queued[entry.id] = c.QueuedMessage(entry)
            case e.Recalled():
                self._queued.pop(entry.queued, None)
            case e.Steered():
                self._queued.pop(entry.queued, None)
                self._add_content(entry)

    def _add_content(self, entry: e.PromptAccepted | e.Steered) -> None:
        self._builder.content.extend(entry.images)
        if entry.text.strip():
            self._builder.content.append(entry.text)

    def _leave_turn(self) -> None:
        """Close the unfinished response and the open calls of the turn."""
        if self._streaming is not None:
            streaming, self._streaming = self._streaming, None
            self._builder.response(streaming.step, streaming.model, (TextPart(streaming.text),), cut=True)
        self._builder.settle()
        self._open_turn = None

    def _response(self, entry: e.ResponseEnded) -> None:
        self._streaming = None
        self._usage += entry.usage
        parts = () if entry.refusal else entry.parts  # a refused answer is not sent back as the model's words
        place = self._builder.response(entry.step, entry.model, parts, cut=entry.cut is not None)
        if place is not None and entry.usage.input_tokens:
            self._counted = c.Counted(entry.model, place, entry.usage.input_tokens)

    def _prune(self, entry: e.Pruned) -> None:
        """Leave results out on every branch: a rewind does not restore them."""
        if not self._builder.are_sent(entry.outputs):
            self._complete()
        before = self._builder.messages(self._left)
        first = self._builder.leave_out(entry.outputs)
        if self._counted is not None:
            after = self._builder.messages(self._left)[: self._counted.messages]
            self._counted = recounted(self._counted, self._opened, before, after)
        for turn, point in self._prompts.items():
            if turn in self._older_turns:  # it has none of these results
                continue
            last, counted, hidden = point.last, point.counted, point.cut.messages if point.cut else 0
            self._prompts[turn] = msgspec.structs.replace(
                point,
                last=replace_results(last, entry.outputs) if last and point.prompt.at > first else last,
                results={call: result.replaced(entry.outputs) for call, result in point.results.items()},
                counted=None if counted and counted.messages + hidden > first else counted,
            )

    def _compact(self, entry: e.Compacted | e.Uncompacted) -> None:
        """Replace older messages by a note, or undo that. A blank note means damage and is ignored."""
        before = self._builder.messages(self._left)
        if isinstance(entry, e.Uncompacted):
            self._complete()
            self._builder.uncompact()
        else:
            self._usage += entry.usage
            if entry.note.strip():
                self._builder.compact(entry)
        after = self._builder.messages(self._left)[: len(self._builder.closed) - self._builder.hidden]
        self._counted = recounted(self._counted, self._opened, before, after)

    def _outcome(self, entry: e.CallEnded | e.CallLate) -> None:
        if isinstance(entry, e.CallLate) or not self._builder.ended(entry, seq=self._seq):
            if (name := self._builder.calls.get(entry.call)) is not None:
                self._note(
                    model_notices.late(name, entry.outcome, entry.text, program=self.program),
                    lasts=True,
                    call=entry.call,
                )
        else:
            for seen in entry.snapshots:
                self._see_file(seen.path, (seen,))

    def _amend(self, entry: e.ResultAmended) -> None:
        name = self._builder.calls.get(entry.call)
        if name is not None and not self._builder.amend(entry.call, entry.text, replaces=entry.replaces):
            note = model_notices.amended(name, entry.text, program=self.program) if entry.text.strip() else ""
            self._note(note, lasts=True, call=entry.call)

    def _task_or_hook(self, entry: TaskStarted | TaskEnded | TaskEndSent | e.HookStarted | e.ResultAmended) -> None:
        match entry:
            case e.HookStarted():
                self._hooks[entry.id] = c.OpenHook(entry)
            case e.ResultAmended():
                self._amend(entry)
            case TaskStarted():
                self.tasks.begin(entry, self._builder.open.get(entry.call))
            case TaskEnded():
                self._note(entry.note if self.tasks.end(entry) else "", lasts=True)
            case TaskEndSent():
                if note := self.tasks.note(entry.task, self._notes):
                    self._builder.content.append(self._notes.pop(self._notes.index(note)))

    def _note(self, note: str, *, lasts: bool = False, call: str = "") -> None:
        if note.strip():
            self._notes.append(note)
            if lasts:
                self._lasting.append((call, note))

    def _put_queue_on_hold(self) -> None:
        """Put all queued messages on hold: their turn has ended, so they are no longer sent automatically."""
        self._queued = {name: msgspec.structs.replace(each, on_hold=True) for name, each in self._queued.items()}


def fold(entries: Iterable[e.Entry], *, left: e.Cause = "crash") -> c.Conversation:
    """Return the conversation of these entries."""
    return Fold(entries, left=left).conversation()

"""The view: events folded into the blocks of a transcript, in order.

A session read from its journal gives the same blocks as it gave live, by the same code.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Literal, assert_never

import msgspec

from holdfast.agent.events import (
    CheckFinding,
    Event,
    Fact,
    LiveCall,
    LiveOutput,
    LivePrompt,
    LiveText,
    LiveThinking,
    NotRecorded,
    Shortening,
    TurnFailed,
)
from holdfast.session.journal import entries as e
from holdfast.session.journal.parts import CallPart, TextPart, ThinkingPart
from holdfast.session.journal.tasks import TaskEnded, TaskEndSent, TaskStarted
from holdfast.ui.view.block_list import BlockList
from holdfast.ui.view.blocks import (
    IN_PROGRESS,
    AnswerBlock,
    Block,
    BlockKey,
    CallBlock,
    Note,
    Thinking,
    TodoLine,
    TurnEnd,
    UserBlock,
    call_block,
    user_command,
    with_outcome,
)
from holdfast.ui.view.sentences import Narrator, Sentence


class _Request(msgspec.Struct):
    """The request whose response is arriving: the keys of its blocks in order, and whether it streams."""

    origin: str
    step: int
    keys: list[BlockKey] = msgspec.field(default_factory=list[BlockKey])
    calls: dict[int, BlockKey] = msgspec.field(default_factory=dict[int, BlockKey])
    live: bool = False


class View:
    """The blocks of one session, from the events so far.

    Laws (`tests/ui/view/test_view_laws.py`): facts alone give the same blocks as facts and live events, except for
    times and incompletely written calls, which are not journalled; any prefix of any journal gives blocks.
    """

    def __init__(
        self, collapse: Callable[[str], str] = str, *, own_tests: Sequence[str] = (), receipts: bool = True
    ) -> None:
        """Create it empty; `collapse` returns the text to show for a prompt, e.g. with marks for long pastes.

        `own_tests` are commands that the user calls test runs; with `receipts`, each turn ends with what happened.
        """
        self._collapse = collapse
        self._blocks = BlockList()
        self._calls: dict[str, BlockKey] = {}
        self._open: dict[BlockKey, None] = {}  # blocks that have not ended
        self._request: _Request | None = None
        self._live_count = 0
        self._boundary = 0  # number of blocks when a turn last began or ended
        self._narrator = Narrator(own_tests, receipts=receipts)
        self._turn = 0
        self._todos: list[tuple[int, tuple[TodoLine, ...]]] = []  # each with its turn

    has_above = False
    """Whether there are blocks above the first one, shown elsewhere."""

    @property
    def keys(self) -> Sequence[BlockKey]:
        """Return the keys of all blocks, in order; the sequence changes with the view."""
        return self._blocks.keys

    @property
    def todo(self) -> tuple[TodoLine, ...]:
        """Return the to-do list that the model wrote last, on this branch of the conversation."""
        return self._todos[-1][1] if self._todos else ()

    def block(self, key: BlockKey) -> Block | None:
        """Return the current block, None if there is none; the cost is that of its text, so call it once per frame."""
        return self._blocks.block(key)

    def blocks(self) -> tuple[Block, ...]:
        """Return all blocks, in order."""
        return tuple(block for key in self.keys if (block := self.block(key)) is not None)

    def settled(self, begin: int = 0) -> int:
        """Return how many blocks from the top will never change again; the first `begin` are known to be among them."""
        streaming = () if self._request is None else self._request.keys
        for at in range(begin, len(self.keys)):
            key = self.keys[at]
            block = self._blocks.peek(key)
            running = isinstance(block, CallBlock) and block.state in IN_PROGRESS
            lost = isinstance(block, CallBlock) and block.state == "lost" and at >= self._boundary
            if key in self._open or key in streaming or running or lost:
                return at
        return len(self.keys)

    def take(self, event: Event, *, at: float | None = None) -> frozenset[BlockKey]:
        """Fold in an event that arrived at time `at` of any clock, and return the keys of changed blocks.

        Without `at`, no elapsed times are shown. New keys are in `keys`; keys of removed blocks are not.
        """
        match event:
            case Fact(seq=seq, entry=entry):
                self._fact(str(seq), entry, at)
            case LiveText(step=step, text=text):
                self._end_thinking(at)
                self._stream(self._response(step, live=True), "answer", text, at)
            case LiveThinking(step=step, text=text):
                self._stream(self._response(step, live=True), "thinking", text, at)
            case LiveCall():
                self._end_thinking(at)
                self._write(event)
            case LiveOutput(call=call, text=text):
                self._blocks.output(self._calls.get(call, ""), text)
            case NotRecorded(message=message) | CheckFinding(message=message) | Shortening(message=message):
                self._live_count += 1
                kind = "context" if isinstance(event, Shortening) else "trouble"
                self._notes(f"live{self._live_count}", [Sentence(kind, message)])
            case TurnFailed() | LivePrompt():
                pass  # the end of its turn shows it, and the status line the other
        return self._blocks.changes()

    def load(self, facts: Iterable[Event]) -> None:
        """Fold in the journal of a session that is not running: blocks without an end are `cut` or `lost`.

        A call that waits for approval keeps waiting: the user is asked when the session is resumed.
        """
        for fact in facts:
            self.take(fact)
        request = self._request
        self._end_all(keep_approvals=True)
        self._request = request  # if the session is resumed, its entries end the same blocks
        for key in self._blocks.with_output:
            self._end(key)
        self._blocks.changes()

    def _fact(self, seq: str, entry: e.Entry, at: float | None) -> None:
        sentences = self._narrator.sentences(entry)
        match entry:
            case e.ShellStarted():  # it is independent of turns: the end of a turn does not end it
                key = self._calls[entry.id] = f"{seq}.shell"
                self._blocks.add(user_command(key, entry, since=at))
                self._blocks.begin_output(key)
            case e.ShellEnded():
                self._end_call(self._block_of(entry.id, seq), entry)
            case e.PromptAccepted() | e.Queued() | e.Recalled() | e.Steered() | e.Rewound():
                self._message(seq, entry)
            case e.RequestStarted(step=step):
                self._cut_response()
                self._request = _Request(seq, step)
            case e.RequestFailed():
                self._cut_response()
            case e.ResponseCheckpoint(step=step, text=text, thinking=thinking):
                response = self._response(step, seq)
                if not response.live:  # else it has been streamed already
                    self._stream(response, "thinking", thinking, at)
                    if text:
                        self._end_thinking(at)
                    self._stream(response, "answer", text, at)
            case e.ResponseEnded():
                self._end_thinking(at)
                self._end_response(entry, seq)
            case e.ApprovalAsked() | e.ApprovalAnswered() | e.CallStarted() | e.CallEnded() | e.CallLate():
                self._call(entry, seq, at)
            case e.TurnEnded():
                self._end_all()
                text = "".join(sentence.text for sentence in sentences if sentence.kind == "end")
                end = TurnEnd(key=f"{seq}.end", turn=entry.turn, reason=entry.reason, cause=entry.cause, text=text)
                self._blocks.add(end)
                self._boundary = len(self.keys)
            case (
                e.SessionOpened()
                | e.ModelChanged()
                | e.ModelSettingsChanged()
                | e.ModeChanged()
                | e.Titled()
                | e.Pruned()
                | e.Compacted()
                | e.Uncompacted()
                | e.FilesChanged()
                | e.Repaired()
                | e.ProcessStarted()
                | e.CallWaits()
                | e.CallAnswered()
                | e.ToolsChanged()
                | e.ServerFailed()
                | e.RequestsChanged()
                | e.Moved()
                | e.FolderGone()
                | e.SnapshotTaken()
                | e.FilesMoved()
                | e.RestoreStarted()
                | e.RestoreEnded()
                | TaskStarted()
                | TaskEnded()
                | TaskEndSent()
                | e.HookStarted()
                | e.HookEnded()
                | e.ResultAmended()
            ):
                pass  # these are only notes
            case _:
                assert_never(entry)
        self._notes(seq, sentences)

    # The user's messages.

    def _message(self, seq: str, entry: e.PromptAccepted | e.Queued | e.Recalled | e.Steered | e.Rewound) -> None:
        match entry:
            case e.PromptAccepted():
                self._end_all()
                self._turn = entry.turn
                self._boundary = len(self.keys)
                self._blocks.add(self._prompt(f"{seq}.prompt", entry.text, turn=entry.turn))
            case e.Steered():
                self._blocks.add(self._prompt(f"{seq}.steered", entry.text))
            case e.Queued() | e.Recalled():
                pass  # queued messages are in `Conversation.queued`
            case e.Rewound(turn=back):
                self._end_all()
                self._todos = [each for each in self._todos if each[0] < back]

    def _prompt(self, key: BlockKey, text: str, *, turn: int = 0) -> UserBlock:
        return UserBlock(key=key, turn=turn, text=text, shown=self._collapse(text))

    # The model's messages.

    def _response(self, step: int, seq: str = "", *, live: bool = False) -> _Request:
        """Return the request that this response belongs to; a response to another request starts a new one."""
        if self._request is None or self._request.step != step:
            self._cut_response()
            self._live_count += 1
            self._request = _Request(seq or f"live{self._live_count}", step)
        self._request.live = self._request.live or live
        return self._request

    def _stream(self, response: _Request, kind: Literal["thinking", "answer"], text: str, at: float | None) -> None:
        """Add text to the response's streaming thinking or answer; its complete parts replace it at the end."""
        key = f"{response.origin}.{kind}0"
        self._blocks.grow(key, text)
        if self._blocks.peek(key) is None and text.strip():  # whitespace alone is not an answer
            block = (
                Thinking(key=key, text="", live=True, since=at)
                if kind == "thinking"
                else AnswerBlock(key=key, text="", state="live")
            )
            at_top = kind == "thinking" and response.keys
            self._blocks.add(block, before=response.keys[0] if at_top else None)
            response.keys.insert(0 if at_top else len(response.keys), key)
            self._open[key] = None

    def _write(self, event: LiveCall) -> None:
        response = self._response(event.step, live=True)
        key = response.calls.get(event.index)
        if key is None:
            key = response.calls[event.index] = f"{response.origin}.call{len(response.calls)}"
            response.keys.append(key)
            self._blocks.add(CallBlock(key=key, call="", name="", title="", arguments="", state="writing"))
            self._open[key] = None
        block = self._blocks.peek(key)
        if isinstance(block, CallBlock) and event.name:
            self._blocks.set(msgspec.structs.replace(block, name=block.name + event.name))
        self._blocks.grow(key, event.arguments)

    def _end_thinking(self, at: float | None) -> None:
        """Note that the model has finished thinking."""
        block = self._blocks.peek(f"{self._request.origin}.thinking0") if self._request is not None else None
        if isinstance(block, Thinking) and block.live:
            seconds = None if at is None or block.since is None else at - block.since
            self._blocks.set(msgspec.structs.replace(block, live=False, since=None, seconds=seconds))

    def _end_response(self, entry: e.ResponseEnded, seq: str) -> None:
        """Replace the streamed blocks by the parts of the complete response."""
        response = self._response(entry.step, seq)
        thought = self._blocks.peek(f"{response.origin}.thinking0")
        seconds = thought.seconds if isinstance(thought, Thinking) else None
        blocks: list[AnswerBlock | Thinking | CallBlock] = []
        counts = {"answer": 0, "thinking": 0, "call": 0}
        for part in entry.parts:
            kind = "answer" if isinstance(part, TextPart) else "thinking" if isinstance(part, ThinkingPart) else "call"
            key = f"{response.origin}.{kind}{counts[kind]}"
            counts[kind] += 1
            match part:
                case TextPart(text=text):
                    if text.strip():
                        blocks.append(AnswerBlock(key=key, text=text, state="done" if entry.cut is None else "cut"))
                case ThinkingPart(text=text):
                    if text.strip():
                        blocks.append(Thinking(key=key, text=text, seconds=seconds))
                        seconds = None
                case CallPart():
                    blocks.append(call_block(part, key, cut=entry.cut is not None))
                    self._calls[part.id] = key
        for key in response.keys:
            self._open.pop(key, None)
        self._blocks.replace(response.keys, blocks)
        for block in blocks:
            if isinstance(block, CallBlock) and block.state == "ready":
                self._open[block.key] = None
        self._request = None

    def _cut_response(self) -> None:
        """End the blocks of the response: no more of it will come."""
        response, self._request = self._request, None
        for key in response.keys if response is not None else ():
            self._end(key)

    # Calls.

    def _call(
        self,
        entry: e.ApprovalAsked | e.ApprovalAnswered | e.CallStarted | e.CallEnded | e.CallLate,
        seq: str,
        at: float | None,
    ) -> None:
        call = self._block_of(entry.call, seq)
        match entry:
            case e.CallEnded() if call.seconds is None:  # the first outcome counts
                self._end_call(call, entry)
            case e.ApprovalAsked(question=question) if call.seconds is None:
                self._blocks.set(msgspec.structs.replace(call, state="waiting", question=question.reason))
                self._open[call.key] = None
            case e.ApprovalAnswered() if call.state in ("waiting", "lost"):
                self._blocks.set(msgspec.structs.replace(call, state="ready"))
                self._open[call.key] = None
            case e.CallStarted(effect=effect, confined=confined) if call.seconds is None:
                started = msgspec.structs.replace(call, state="running", effect=effect, confined=confined, since=at)
                self._blocks.set(started)
                self._blocks.begin_output(call.key)
                self._open[call.key] = None
            case _:
                pass

    def _end_call(self, call: CallBlock, entry: e.CallEnded | e.ShellEnded) -> None:
        self._blocks.set(with_outcome(call, entry, self._blocks.end_output(call.key)))
        if call.todo and entry.outcome == "ok":
            self._todos.append((self._turn, call.todo))
        self._open.pop(call.key, None)

    def _block_of(self, call: str, seq: str) -> CallBlock:
        """Return the block of a call; a call that is not in the journal gets one here."""
        block = self._blocks.peek(self._calls.get(call, ""))
        if isinstance(block, CallBlock):
            return block
        title = self._narrator.title(call)
        missing = CallBlock(key=f"{seq}.call", call=call, name="", title=title, arguments="", state="lost")
        self._calls[call] = missing.key
        self._blocks.add(missing)
        return missing

    # Blocks without an end.

    def _end_all(self, *, keep_approvals: bool = False) -> None:
        """End all open blocks, except waiting calls if `keep_approvals`."""
        self._cut_response()
        for key in tuple(self._open):
            block = self._blocks.peek(key)
            if not (keep_approvals and isinstance(block, CallBlock) and block.state == "waiting"):
                self._end(key)

    def _end(self, key: BlockKey) -> None:
        """End a block that had no end event."""
        self._open.pop(key, None)
        match self.block(key):
            case AnswerBlock(state="live") as answer:
                self._blocks.set(msgspec.structs.replace(answer, state="cut"))
            case Thinking(live=True) as thinking:
                self._blocks.set(msgspec.structs.replace(thinking, live=False, since=None))
            case CallBlock(state="writing") as call:
                self._blocks.set(msgspec.structs.replace(call, state="not_started"))
            case CallBlock(state="ready" | "waiting" | "running") as call:
                self._blocks.set(msgspec.structs.replace(call, state="lost", since=None))
            case _:
                pass

    def _notes(self, seq: str, sentences: Sequence[Sentence]) -> None:
        """Add notes for the sentences that no other block shows."""
        cut_answer = any(sentence.kind == "answer" for sentence in sentences)
        for number, sentence in enumerate(sentences):
            match sentence.kind:
                case "prompt" | "answer" | "queue" | "approval" | "started" | "call" | "unapproved" | "end":
                    pass
                case "cut" if cut_answer:
                    pass  # the answer shows that
                case kind:
                    key = f"{seq}.{kind}{number or ''}"
                    self._blocks.add(Note(key=key, kind=kind, text=sentence.text, detail=sentence.detail))

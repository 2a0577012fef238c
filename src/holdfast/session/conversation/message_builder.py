"""Builds the messages of a conversation: closed ones, and the user message in progress.

How it works. `closed` has the finished messages and ends with the last response of the assistant. The user message
after it is in progress: the results of that response (`results`), its calls without an outcome (`open`), and the texts
that arrived since (`content`). The next request or the end of the turn settles it: a call that is still open gets a
result which says that its outcome is lost. The next response closes it: the user message and the response are appended
together, after a `settle` that finds an open call only in a damaged journal. So messages alternate, the first is the
user's, and every call has exactly one result in the next message, in the order of the calls. Positions follow from
that: user messages have even indexes, the response to each has the next one, and a compaction hides an even number.

Why not append a message for each entry, and repair the list before it is sent? Outcomes of parallel calls arrive in any
order, with the user's messages between them. A list in the order of arrival is what providers reject, and a repair at
each request could change a message that was sent already, which would cost the provider's cache. Here a message gets
its form once, when it is closed; later only a journalled decision changes it. Every prefix of the journal gives a list
that can be sent.

Example: a response has calls A and B. Then come the outcome of B, the user's "also update the docs", and the outcome of
A. The message in progress has the results of A and B, in this order, then the text. If the process dies before the
outcome of A, `messages` puts a provisional result in its place.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence

import msgspec

from holdfast.session import model_notices
from holdfast.session.conversation import conversation as c
from holdfast.session.conversation import fold_state as state
from holdfast.session.journal.entries import CallEnded, Cause, Compacted, Part
from holdfast.session.journal.parts import CallPart, TextPart, ThinkingPart
from holdfast.session.model_notices import HOLDFAST
from holdfast.tool_calls import Image
from holdfast.typed_data import decode_json

_NOT_DECODED = c.UserMessage((), ())
"""Stands in the place of each closed message that is not decoded yet."""


class MessageBuilder:
    """The messages so far. `closed` messages change only by a journalled decision."""

    def __init__(self) -> None:
        self.closed: list[c.ConversationMessage] = []
        self.open: dict[str, c.OpenCall] = {}  # of the last assistant message
        self.results: dict[str, c.Result] = {}  # of the last assistant message
        self.content: list[c.UserContent] = []  # of the user message in progress
        self.calls: dict[str, str | None] = {}  # every call id of the session, to its name; None after a rewind
        self.cut: c.ActiveCompaction | None = None
        # The step of each response, and the compaction in effect then.
        self._answers: list[tuple[int, c.ActiveCompaction | None]] = []
        self.program = HOLDFAST  # its name in provisional results
        self._cuts = False  # whether there ever was a compaction
        self.entries: dict[str, int] = {}
        """Where the journal has the outcomes of calls with large texts, by call, as far as that is known."""
        self._texts: state.TextSource | None = None  # reads the texts that are not held, None if all are
        self._older: msgspec.Raw | None = None  # the first closed messages, not decoded yet, None if all are
        self._older_count = 0
        self.sent = False
        """Whether a request had the message in progress: its results do not change any more."""
        self._held_from = 0  # index of the first closed message from which on all texts are held

    def state(self, cuts: state.CutTable) -> state.BuilderState:
        """Return the state, without the large texts that the journal has."""
        older, hidden = self._older, self._older_count
        if older is None or hidden != self.hidden:
            self.complete()
            hidden = self.hidden
            older = msgspec.Raw(msgspec.json.encode(state.closed_state(self.closed[:hidden], self.entries)))
        return state.BuilderState(
            hidden=hidden,
            older=older,
            closed=state.closed_state(self.closed[hidden:], self.entries),
            open=tuple(self.open.values()),
            results=tuple(state.without_text(result, self.entries) for result in self.results.values()),
            content=tuple(self.content),
            calls=self.calls,
            entries=self.entries,
            steps=tuple((step, cuts.place(cut)) for step, cut in self._answers),
            cut=cuts.place(self.cut),
            cuts=(),
            has_cuts=self._cuts,
            sent=self.sent,
        )

    @classmethod
    def restored(
        cls, saved: state.BuilderState, cuts: Sequence[c.ActiveCompaction], texts: state.TextSource
    ) -> MessageBuilder:
        """Return the builder of this state; `texts` reads what is not in it."""
        builder = cls()
        builder.closed = [_NOT_DECODED] * saved.hidden + saved.closed.messages()
        builder._older, builder._older_count = (saved.older if saved.hidden else None), saved.hidden
        builder.open = {call.part.id: call for call in saved.open}
        builder.results = {result.call: result for result in saved.results}
        builder.content, builder.calls, builder.entries = list(saved.content), dict(saved.calls), dict(saved.entries)
        places: tuple[c.ActiveCompaction | None, ...] = (*cuts, None)  # the last one is that of `NO_CUT`
        builder.cut, builder._cuts = places[saved.cut], saved.has_cuts
        builder._answers = [(step, places[place]) for step, place in saved.steps]
        builder._texts, builder._held_from, builder.sent = texts, len(builder.closed), saved.sent
        return builder

    def complete(self) -> None:
        """Decode the messages that are not sent, before a decision about them."""
        if self._older is not None:
            older, self._older = self._older, None
            self.closed[: self._older_count] = decode_json(bytes(older), state.ClosedState).messages()

    def release(self, texts: state.TextSource) -> None:
        """Hold no large texts of messages that are not sent; `texts` reads them again."""
        self._texts = texts
        for place, message in enumerate(self.closed[: self.hidden]):
            if isinstance(message, c.UserMessage):
                self.closed[place] = state.without_texts(message, self.entries)
        self._held_from = max(self._held_from, self.hidden)

    def _read_texts(self) -> None:
        """Read the texts of the messages to send that are not held."""
        if self._texts is None:
            return
        absent = [
            place
            for place in range(self.hidden, min(self._held_from, len(self.closed)))
            if isinstance(message := self.closed[place], c.UserMessage)
            and state.left_out(message.results, self.entries)
        ]
        messages = [message for place in absent if isinstance(message := self.closed[place], c.UserMessage)]
        results = [*self.results.values(), *(result for message in messages for result in message.results)]
        if seqs := state.left_out(results, self.entries):
            texts = self._texts(seqs)
            for place, message in zip(absent, messages, strict=True):
                self.closed[place] = c.UserMessage(
                    state.with_texts(message.results, self.entries, texts), message.content
                )
            self.results = {
                result.call: result for result in state.with_texts([*self.results.values()], self.entries, texts)
            }
        self._held_from = min(self._held_from, self.hidden)

    def copy(self) -> MessageBuilder:
        """Return an independent copy."""
        other = MessageBuilder()
        other.closed, other.content = self.closed.copy(), self.content.copy()
        other.open, other.results, other.calls = self.open.copy(), self.results.copy(), self.calls.copy()
        other.program, other.sent = self.program, self.sent
        other.cut, other._answers, other._cuts = self.cut, self._answers.copy(), self._cuts
        other.entries, other._texts, other._held_from = self.entries.copy(), self._texts, self._held_from
        other._older, other._older_count = self._older, self._older_count
        return other

    @property
    def images(self) -> tuple[Image, ...]:
        of_results = (image for result in self.results.values() for image in result.images)
        return (*of_results, *(item for item in self.content if isinstance(item, Image)))

    @property
    def hidden(self) -> int:
        """Return how many messages a compaction hides."""
        return self.cut.messages if self.cut else 0

    @property
    def steps(self) -> tuple[int, ...]:
        """Return the step of each response that would be sent."""
        return tuple(step for step, _ in self._answers[self.hidden // 2 :])

    def messages(self, cause: Cause) -> tuple[c.ConversationMessage, ...]:
        """Return the messages to send. Calls without an outcome get a provisional result that `cause` explains."""
        self._read_texts()
        results = self._complete(cause)
        last = (c.UserMessage(results, tuple(self.content)),) if results or self.content else ()
        sent = (*self.closed[self.hidden :], *last)
        return self._presented(sent) if self._cuts else sent

    def compact(self, entry: Compacted) -> None:
        """Replace older messages by the entry's note. Nothing else changes, so it can be undone."""
        cut = max((place for place, (step, _) in enumerate(self._answers, start=1) if step <= entry.step), default=0)
        if 2 * cut < self.hidden:
            self.complete()
        after = self.closed[2 * cut] if 2 * cut < len(self.closed) else c.UserMessage((), tuple(self.content))
        present = len(after.content) if isinstance(after, c.UserMessage) else 0  # later texts are not covered
        self.cut, self._cuts = c.ActiveCompaction(entry, 2 * cut, min(entry.user_texts, present), self.cut), True

    def uncompact(self) -> None:
        """Undo the last compaction."""
        self.complete()
        self.cut = self.cut.previous if self.cut else None

    def _presented(self, messages: Sequence[c.ConversationMessage]) -> tuple[c.ConversationMessage, ...]:
        """Return these messages after the compaction, without thinking that was signed under another one."""
        sent = [
            message
            if isinstance(message, c.UserMessage) or self._answers[place // 2][1] is self.cut
            else replace_results(message, {})
            for place, message in enumerate(messages, start=self.hidden)
        ]
        if self.cut is not None:
            content = sent[0].content if sent and isinstance(sent[0], c.UserMessage) else ()
            sent[:1] = [c.UserMessage((), (self.cut.entry.note, *content[self.cut.texts :]))]
        return tuple(sent)

    def settle(self) -> None:
        """Give every open call a result: the journal continues without its outcome, so the outcome is lost."""
        for call in self.open.values():
            self.results[call.part.id] = call.lost(self.program)
        self.open.clear()

    def ended(self, entry: CallEnded, *, seq: int = 0) -> bool:
        """Record a call's outcome, at `seq` in the journal if known, and return whether the call was open."""
        call = self.open.pop(entry.call, None)
        if call is None:
            return False
        text = entry.text if entry.text.strip() else model_notices.NO_OUTPUT
        text = call.noted(text, self.program)
        self.results[entry.call] = c.Result(entry.call, call.part.name, entry.outcome, text, entry.images)
        if seq and len(text) > state.LARGE_TEXT:
            self.entries[entry.call] = seq
        return True

    def amend(self, call: str, text: str, *, replaces: bool) -> bool:
        """Add a text to a result of the message in progress, or replace it; return False if it was sent already."""
        result = self.results.get(call)
        if result is None or self.sent or not text.strip():
            return False
        self._read_texts()
        result = self.results[call]
        amended = text if replaces else f"{result.text}\n{text}"
        images = () if replaces else result.images
        self.results[call] = c.Result(call, result.name, result.outcome, amended, images)
        self.entries.pop(call, None)  # the journal's entry of the outcome has another text
        return True

    def response(self, step: int, model: str, parts: tuple[Part, ...], *, cut: bool) -> int | None:
        """Add the response to request `step`. Return its index among the sent messages, None if it is empty."""
        sent: list[Part] = []
        for part in parts:
            match part:
                case TextPart():
                    if part.text.strip():
                        sent.append(part)
                case ThinkingPart():
                    if not cut:
                        sent.append(part)
                case CallPart():
                    # Calls of a cut response never started; the turn's note names them. A repeated id means damage.
                    if not cut and part.id not in self.calls:
                        sent.append(part)
                        self.calls[part.id] = part.name
        if all(isinstance(part, ThinkingPart) for part in sent):
            return None
        self._close()
        last = self.closed[-1] if self.closed else None
        if isinstance(last, c.AssistantMessage):  # only in a damaged journal: two responses in a row
            # Without thinking: each response was signed without the other.
            merged = (part for part in (*last.parts, *sent) if not isinstance(part, ThinkingPart))
            self.closed[-1] = c.AssistantMessage(last.model, tuple(merged))
            self._answers[-1] = step, self.cut
        else:
            self.closed.append(c.AssistantMessage(model, tuple(sent)))
            self._answers.append((step, self.cut))
        self.open = {part.id: c.OpenCall(part) for part in sent if isinstance(part, CallPart)}
        return len(self.closed) - 1 - self.hidden

    def rewind(self, before: c.RewindPoint) -> set[str]:
        """Restore the state before a prompt; return the ids of the remaining calls."""
        self.complete()
        del self.closed[before.prompt.at :]
        del self._answers[before.prompt.at // 2 :]
        self.cut = before.cut
        if before.last is not None:
            self.closed[-1] = before.last
        self.results, self.content, self.sent = dict(before.results), list(before.content), True
        calls = {part.id for each in self.closed if isinstance(each, c.AssistantMessage) for part in each.calls}
        self.calls = {call: name if call in calls else None for call, name in self.calls.items()}
        return calls

    def are_sent(self, calls: Collection[str]) -> bool:
        """Return whether the results of all these calls are among the messages to send."""
        sent = {
            result.call
            for message in self.closed[self.hidden :]
            if isinstance(message, c.UserMessage)
            for result in message.results
        }
        return all(call in sent or call in self.results for call in calls)

    def leave_out(self, outputs: Mapping[str, str]) -> int:
        """Replace results by these texts and drop thinking signed after them. Return the index of the first change."""
        begin = self.hidden if self.are_sent(outputs) else 0
        if not begin:
            self.complete()
        touched = (
            place
            for place, message in enumerate(self.closed[begin:], start=begin)
            if isinstance(message, c.UserMessage) and any(result.call in outputs for result in message.results)
        )
        first = next(touched, len(self.closed))
        for place in range(first, len(self.closed)):
            self.closed[place] = replace_results(self.closed[place], outputs)
        self.results = {call: result.replaced(outputs) for call, result in self.results.items()}
        for call, text in outputs.items():
            if text.strip():
                self.entries.pop(call, None)
        return first

    def forget_images(self, model: str, images: Collection[Image] | None) -> int:
        """Drop thinking the model signed after these images, or after any. Return the index of the first change."""
        self.complete()
        hidden = (
            place
            for place, message in enumerate(self.closed)
            if isinstance(message, c.UserMessage) and any(images is None or image in images for image in message.images)
        )
        first = next(hidden, len(self.closed))
        for place in range(first, len(self.closed)):
            self.closed[place] = drop_signed_thinking(self.closed[place], model)
        return first

    def unsign(self, model: str = "") -> None:
        """Drop all signed thinking, or only that of a model."""
        self.complete()
        self.closed = [drop_signed_thinking(message, model) for message in self.closed]

    def _close(self) -> None:
        self.settle()
        self._read_texts()
        results = self._complete("crash")  # the cause does not matter: no call is open
        if not results and not self.content and len(self.closed) == self.hidden:  # else it would join a hidden message
            self.content.append(model_notices.MISSING_START)
        if results or self.content:
            self.closed.append(c.UserMessage(results, tuple(self.content)))
        self.content.clear()
        self.results.clear()
        self.sent = False

    def _complete(self, cause: Cause) -> tuple[c.Result, ...]:
        last = self.closed[-1] if self.closed else None
        if not isinstance(last, c.AssistantMessage):
            return ()
        return tuple(
            self.results.get(part.id) or self.open[part.id].unsettled(cause, self.program) for part in last.calls
        )


def replace_results(message: c.ConversationMessage, outputs: Mapping[str, str]) -> c.ConversationMessage:
    """Return the message with these replacement results, and without thinking signed after the originals.

    A signature may cover every byte before it. In a finished turn, thinking without one is not needed either.
    """
    match message:
        case c.UserMessage():
            if not any(result.call in outputs for result in message.results):
                return message
            return c.UserMessage(tuple(result.replaced(outputs) for result in message.results), message.content)
        case c.AssistantMessage():
            parts = tuple(part for part in message.parts if not (isinstance(part, ThinkingPart) and part.signature))
            return message if len(parts) == len(message.parts) else c.AssistantMessage(message.model, parts)


def drop_signed_thinking(message: c.ConversationMessage, model: str) -> c.ConversationMessage:
    """Return the message without the thinking that this model signed; "" for any model."""
    is_signed = isinstance(message, c.AssistantMessage) and model in ("", message.model)
    return replace_results(message, {}) if is_signed else message


def unsigned_point(point: c.RewindPoint, model: str) -> c.RewindPoint:
    """Return the point without the thinking that this model signed in its last message; "" for any model."""
    return msgspec.structs.replace(point, last=point.last and drop_signed_thinking(point.last, model))

"""The messages of a conversation as they grow: closed ones, then what is collected for the next.

One rule: by construction they alternate, the first is the user's, and every call has one result in the message after.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence

from holdfast.calls import Image
from holdfast.session import words
from holdfast.session.conversation import (
    AssistantMessage,
    Before,
    Cut,
    Message,
    OpenCall,
    Result,
    Said,
    UserMessage,
)
from holdfast.session.entries import CallEnded, CallPart, Cause, Compacted, Part, TextPart, ThinkingPart


class Exchange:
    """What the user's side and the model have said; `closed` messages change by a journalled decision only."""

    def __init__(self) -> None:
        self.closed: list[Message] = []
        self.open: dict[str, OpenCall] = {}  # of the last assistant message
        self.results: dict[str, Result] = {}  # of the last assistant message
        self.texts: list[Said] = []  # of the user message in progress
        self.calls: dict[str, str | None] = {}  # every call id of the session, to its name; None: it was taken back
        self.cut: Cut | None = None
        self._answers: list[tuple[int, Cut | None]] = []  # the step of each, and what was cut when it was written
        self._cuts = False  # whether there ever were any

    def copy(self) -> Exchange:
        """Return one that grows on its own."""
        other = Exchange()
        other.closed, other.texts = self.closed.copy(), self.texts.copy()
        other.open, other.results, other.calls = self.open.copy(), self.results.copy(), self.calls.copy()
        other.cut, other._answers, other._cuts = self.cut, self._answers.copy(), self._cuts
        return other

    @property
    def images(self) -> tuple[Image, ...]:
        """Return the images of the user message in progress."""
        shown = (image for result in self.results.values() for image in result.images)
        return (*shown, *(said for said in self.texts if isinstance(said, Image)))

    @property
    def hidden(self) -> int:
        """Return how many messages something else stands for."""
        return self.cut.messages if self.cut else 0

    @property
    def steps(self) -> tuple[int, ...]:
        """Return the step of each answer that would be sent."""
        return tuple(step for step, _ in self._answers[self.hidden // 2 :])

    def messages(self, left: Cause) -> tuple[Message, ...]:
        """Return what would be sent; calls without an outcome are answered as `left` has it."""
        results = self._complete(left)
        last = (UserMessage(results, tuple(self.texts)),) if results or self.texts else ()
        return self._presented((*self.closed, *last)) if self._cuts else (*self.closed, *last)

    def compact(self, entry: Compacted) -> None:
        """Let the note of the entry stand for what is older; nothing else changes, so that it can be taken back."""
        gone = max((place for place, (step, _) in enumerate(self._answers, start=1) if step <= entry.step), default=0)
        after = self.closed[2 * gone] if 2 * gone < len(self.closed) else UserMessage((), tuple(self.texts))
        there = len(after.said) if isinstance(after, UserMessage) else 0  # what is said later is none of it
        self.cut, self._cuts = Cut(entry, 2 * gone, min(entry.said, there), self.cut), True

    def uncompact(self) -> None:
        """Let the last note stand for nothing any more."""
        self.cut = self.cut.under if self.cut else None

    def _presented(self, whole: Sequence[Message]) -> tuple[Message, ...]:
        """Return what is sent of all messages: those that the cut leaves, without thinking signed under another."""
        sent = [
            message
            if isinstance(message, UserMessage) or self._answers[place // 2][1] is self.cut
            else without(message, {})
            for place, message in enumerate(whole[self.hidden :], start=self.hidden)
        ]
        if self.cut is not None:
            texts = sent[0].said if sent and isinstance(sent[0], UserMessage) else ()
            sent[:1] = [UserMessage((), (self.cut.entry.note, *texts[self.cut.said :]))]
        return tuple(sent)

    def settle(self) -> None:
        """Answer every open call: the journal goes on without its outcome, so that was lost."""
        for call in self.open.values():
            self.results[call.part.id] = call.lost()
        self.open.clear()

    def ended(self, entry: CallEnded) -> bool:
        """Return whether the call was open, and has its result now."""
        call = self.open.pop(entry.call, None)
        if call is None:
            return False
        text = entry.text if entry.text.strip() else words.NO_OUTPUT
        self.results[entry.call] = Result(entry.call, call.part.name, entry.outcome, text, entry.images)
        return True

    def response(self, step: int, model: str, parts: tuple[Part, ...], *, cut: bool) -> int | None:
        """Add the answer to request `step`; return its place among what is sent, None if there was nothing to keep."""
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
                    if not cut and part.id not in self.calls:
                        kept.append(part)
                        self.calls[part.id] = part.name
        if all(isinstance(part, ThinkingPart) for part in kept):
            return None
        self._close()
        last = self.closed[-1] if self.closed else None
        if isinstance(last, AssistantMessage):  # only in a damaged journal: two answers with no word between them
            merged = (
                part for part in (*last.parts, *kept) if not isinstance(part, ThinkingPart)
            )  # it was signed alone
            self.closed[-1] = AssistantMessage(last.model, tuple(merged))
            self._answers[-1] = step, self.cut
        else:
            self.closed.append(AssistantMessage(model, tuple(kept)))
            self._answers.append((step, self.cut))
        self.open = {part.id: OpenCall(part) for part in kept if isinstance(part, CallPart)}
        return len(self.closed) - 1 - self.hidden

    def rewind(self, before: Before) -> set[str]:
        """Bring back what there was; return the calls that are still part of it."""
        del self.closed[before.asked.at :]
        del self._answers[before.asked.at // 2 :]
        self.cut = before.cut
        if before.last is not None:
            self.closed[-1] = before.last
        self.results, self.texts = dict(before.results), list(before.texts)
        kept = {part.id for each in self.closed if isinstance(each, AssistantMessage) for part in each.calls}
        self.calls = {call: name if call in kept else None for call, name in self.calls.items()}
        return kept

    def leave_out(self, outputs: Mapping[str, str]) -> int:
        """Put these words in the place of results, and drop thinking signed with them; return where that begins."""
        touched = (
            place
            for place, message in enumerate(self.closed)
            if isinstance(message, UserMessage) and any(result.call in outputs for result in message.results)
        )
        first = next(touched, len(self.closed))
        for place in range(first, len(self.closed)):
            self.closed[place] = without(self.closed[place], outputs)
        self.results = {call: result.replaced(outputs) for call, result in self.results.items()}
        return first

    def unshow(self, model: str, images: Collection[Image] | None) -> int:
        """Drop what the model signed behind the first of these images, or of any; return where that begins."""
        hidden = (
            place
            for place, message in enumerate(self.closed)
            if isinstance(message, UserMessage) and any(images is None or image in images for image in message.images)
        )
        first = next(hidden, len(self.closed))
        for place in range(first, len(self.closed)):
            self.closed[place] = unsigned(self.closed[place], model)
        return first

    def unsign(self) -> None:
        """Drop all that a model signed."""
        self.closed = [without(message, {}) for message in self.closed]

    def _close(self) -> None:
        self.settle()
        results = self._complete("crash")  # which it is plays no part: nothing is open
        if not results and not self.texts and len(self.closed) == self.hidden:  # or else it would join what is hidden
            self.texts.append(words.MISSING_START)
        if results or self.texts:
            self.closed.append(UserMessage(results, tuple(self.texts)))
        self.texts.clear()
        self.results.clear()

    def _complete(self, left: Cause) -> tuple[Result, ...]:
        last = self.closed[-1] if self.closed else None
        if not isinstance(last, AssistantMessage):
            return ()
        return tuple(self.results.get(part.id) or self.open[part.id].unsettled(left) for part in last.calls)


def without(message: Message, outputs: Mapping[str, str]) -> Message:
    """Return the message with these words in the place of results, and without thinking signed for what stood before.

    A signature may cover every byte before it; one that does not is not missed in a turn that is over.
    """
    match message:
        case UserMessage():
            if not any(result.call in outputs for result in message.results):
                return message
            return UserMessage(tuple(result.replaced(outputs) for result in message.results), message.said)
        case AssistantMessage():
            kept = tuple(part for part in message.parts if not (isinstance(part, ThinkingPart) and part.signature))
            return message if len(kept) == len(message.parts) else AssistantMessage(message.model, kept)


def unsigned(message: Message, model: str) -> Message:
    """Return the message without what the model signed, if it is the model's."""
    return without(message, {}) if isinstance(message, AssistantMessage) and message.model == model else message

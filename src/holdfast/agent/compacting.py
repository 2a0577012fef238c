"""Compacting a conversation: its older part is summed up, and one entry puts the summary in its place.

Two rules. Until that entry is in the journal nothing has changed; from then on all of it has. What cannot be summed up
is left out only where nothing could be sent otherwise, and that is said.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Protocol

import msgspec

from holdfast.agent.carried import LEAST, Older, capped, note, older, work
from holdfast.agent.drift import drift
from holdfast.agent.stop import Stop
from holdfast.agent.summarize import Summarizer, Summary
from holdfast.config import Context
from holdfast.errors import ProviderFailed, UsageError
from holdfast.session.conversation import Conversation
from holdfast.session.entries import Compacted, Entry, FilesChanged, Usage, Why
from holdfast.session.estimate import beside, context_tokens, estimate
from holdfast.tools.thread import in_daemon
from holdfast.tools.tool import Toolbox

ANSWER = 8_000
"""Tokens of a window that are left to the answer, and as many to what is carried over; of a small one a quarter."""

LOOK = 2.5
"""Seconds that it may take to look up a window, or to read instructions anew."""


class Session(Protocol):
    """What compacting needs of the session whose conversation it shortens."""

    @property
    def conversation(self) -> Conversation:
        """Return the conversation as of now."""
        ...

    @property
    def steps(self) -> tuple[int, ...]:
        """Return the step of each answer that is sent."""
        ...

    def entries(self) -> Iterable[Entry]:
        """Return the journal."""
        ...

    def has_call(self, call: str) -> bool:
        """Return whether the call is part of the conversation, summed up or not."""
        ...

    def after(self, *entries: Entry) -> Conversation:
        """Return the conversation as it would be with these entries."""
        ...

    def append(self, *entries: Entry) -> None:
        """Append durably, fold, then tell."""
        ...


@dataclass(frozen=True, slots=True)
class _Bounds:
    """What may be sent in all, and of that what stays of the messages, at most and if one step needs it.

    In tokens as we estimate them: providers count others.
    """

    total: int
    keep: int
    most: int


class Compacting:
    """Compacts the conversation of one session; `window` tells how much a model reads, 0 if that is not known.

    `window` may take its time, and is asked on a thread. `tell` is told what a person waits for.
    """

    def __init__(
        self,
        session: Session,
        *,
        summarizer: Summarizer,
        toolbox: Toolbox,
        context: Context,
        window: Callable[[str], int] | None,
        tell: Callable[[str], None],
    ) -> None:
        self._session = session
        self._summarizer = summarizer
        self._toolbox = toolbox
        self._context = context
        self._window = window
        self._tell = tell
        self._windows: dict[str, int] = {}
        self._gave_up_in = 0  # the turn in which a summary failed that was not urgent, or had what was not answered yet

    async def is_due(self, stop: Stop) -> bool:
        """Return whether the window is nearly full, and something is to be done about it; raises `Left` on a stop."""
        conversation = self._session.conversation
        if self._context.compact == "off" or self._gave_up_in == conversation.turns:
            return False
        window = await self._size(conversation.model, stop)
        return bool(window) and context_tokens(conversation) > self._context.compact_at * (window - _share(window))

    async def shorten(self, stop: Stop, why: Why) -> bool:
        """Compact, cut new results that have no room beside it, return whether any of it was done; `Left` on a stop.

        A model that does not sum up what still fits is not asked again in the turn.
        """
        conversation = self._session.conversation
        bounds = self._bounds(conversation, await self._size(conversation.model, stop), why)
        compacted = None
        try:
            compacted = await self.compact(stop, why)
        except (ProviderFailed, UsageError) as failed:
            self._gave_up_in = conversation.turns
            self._tell(f"The conversation could not be summed up, and goes on as it is while it fits: {failed}")
        cut = capped(self._session.conversation, total=bounds.total)
        if cut is not None:
            self._session.append(cut)
        return compacted is not None or cut is not None

    def is_possible(self) -> bool:
        """Return whether something can be sent no more when the provider says that all of it is too long."""
        conversation = self._session.conversation
        bounds = self._bounds(conversation, self._windows.get(conversation.model, 0), "overflow")
        part = self._older(conversation, bounds, "overflow")
        return part is not None or capped(conversation, total=bounds.total) is not None

    async def compact(self, stop: Stop, why: Why, wish: str = "") -> Compacted | None:
        """Sum up what is older and return the entry, None if there is nothing worth it; `wish` is what to keep of it.

        Raises `ProviderFailed` if the model cannot and what there is can still be sent, `Left` on a stop: then nothing
        has changed.
        """
        conversation = self._session.conversation
        before = context_tokens(conversation)
        window = await self._size(conversation.model, stop)
        bounds = self._bounds(conversation, window, why)
        part = self._older(conversation, bounds, why)
        if part is None:
            return None

        def entry(summary: Summary, *news: FilesChanged) -> Compacted:
            return self._entry(conversation, part, summary, news, why=why, longest=bounds.total // 2)

        earlier = conversation.compacted
        without = Summary(earlier.summary if earlier else "", "", Usage(cost="0"))
        if self._saved(entry(without)) < LEAST:
            return None
        self._tell(f"Summing up {len(part.messages)} older messages, about {before:,} tokens are in use.")
        news = await self._instructions(conversation, stop)
        try:
            summary = await self._summarizer.summary(conversation, part.messages, stop, room=bounds.total, wish=wish)
            compacted = self._saving(entry(summary, *news), news)
        except ProviderFailed as failed:
            if why != "overflow" and not (window and before > window - _share(window)):
                raise
            self._tell(f"The older part could not be summed up, and is left out: {failed}")
            compacted = entry(without, *news)
        self._session.append(compacted, *news)
        if part.unseen:  # they may be looked at again, and must not go unseen again
            self._gave_up_in = conversation.turns
        return compacted

    def _older(self, conversation: Conversation, bounds: _Bounds, why: Why) -> Older | None:
        steps, unsent = self._session.steps, why == "overflow"
        return older(conversation, steps, keep=bounds.keep, most=bounds.most, unsent=unsent)

    def _entry(
        self,
        conversation: Conversation,
        part: Older,
        summary: Summary,
        news: tuple[FilesChanged, ...],
        *,
        why: Why,
        longest: int,
    ) -> Compacted:
        done = work(self._session.entries(), self._session.has_call)
        entry = Compacted(
            step=part.step,
            note=note(conversation, part, done, summary=summary.text, model=summary.model, longest=longest),
            why=why,
            summary=summary.text,
            model=summary.model,
            messages=len(part.messages),
            before=context_tokens(conversation),
            usage=summary.usage,
            said=part.said,
        )
        return msgspec.structs.replace(entry, after=context_tokens(self._session.after(entry, *news)))

    def _saving(self, entry: Compacted, news: tuple[FilesChanged, ...]) -> Compacted:
        """Return the entry if that is worth it; raises `ProviderFailed`."""
        if self._saved(entry, *news) < LEAST:
            raise ProviderFailed(
                f"Model {entry.model!r} wrote a summary that saves nothing, a shorter one was expected. Try again, or "
                "choose another model with /model.",
                fault="malformed",
            )
        return entry

    def _saved(self, *entries: Entry) -> int:
        """Return how many tokens fewer would be sent with these entries, as we estimate them."""
        now, then = self._session.conversation, self._session.after(*entries)
        return estimate(now.messages, now.model) - estimate(then.messages, then.model)

    def _bounds(self, conversation: Conversation, window: int, why: Why) -> _Bounds:
        before = context_tokens(conversation)
        total = window - _share(window) if window else before
        if why == "overflow":  # whatever was counted and is known of the window: it was too much
            total = min(total, before) // 2
        keep = min(self._context.compact_keep, total // 4, before // 4 if why == "asked" else total)
        fixed = beside(conversation.opened)
        share = (fixed + estimate(conversation.messages, conversation.model)) / max(before, 1)
        return _Bounds(
            total=int(share * total), keep=int(share * keep), most=int(share * (total - _share(total))) - fixed
        )

    async def _size(self, model: str, stop: Stop) -> int:
        """Return the model's window, 0 if it is not known."""
        look = self._window
        if look is not None and model not in self._windows:
            try:
                self._windows[model] = await stop.race(in_daemon(lambda: look(model)), LOOK)
            except TimeoutError:
                return self._context.window
        return self._windows.get(model, 0) or self._context.window

    async def _instructions(self, conversation: Conversation, stop: Stop) -> tuple[FilesChanged, ...]:
        """Return what is to be told of instructions that are not as the system prompt has them: what told it may go."""
        prompt = {file.path: (file,) for file in conversation.opened.instructions} if conversation.opened else {}
        try:
            return await stop.race(in_daemon(lambda: drift(prompt, self._toolbox)), LOOK)
        except TimeoutError:
            raise UsageError(
                f"Instructions were not read anew within {LOOK:g} s, as was expected. Nothing was summed up. Try again."
            ) from None


def _share(window: int) -> int:
    return min(ANSWER, window // 4)

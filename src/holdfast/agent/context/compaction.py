"""Compacts a conversation: a model summarizes its older part, and one journal entry puts the summary in its place.

The compaction takes effect with that entry: before it, nothing has changed. If no summary is available, the older part
is dropped only when nothing could be sent otherwise, and both the user and the model read that it was dropped.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import suppress

import msgspec

from holdfast.agent.cancellation import StopSignal
from holdfast.agent.context.changed_files import changed_files
from holdfast.agent.context.compaction_note import compaction_note, work
from holdfast.agent.context.compaction_plan import LEAST, CompactionPlan, plan_compaction, truncate_results
from holdfast.agent.context.summary_request import Summarizer, WrittenSummary
from holdfast.agent.journal_writer import JournalWriter
from holdfast.agent.seam import BEFORE_CALL, BeforeCompact, InstructionSource
from holdfast.errors import ProviderFailed, UsageError
from holdfast.session.conversation.context_settings import ContextSettings
from holdfast.session.conversation.conversation import Conversation
from holdfast.session.conversation.token_estimate import context_tokens, estimate, overhead_tokens
from holdfast.session.journal.entries import Compacted, Entry, FilesChanged, Why
from holdfast.session.journal.parts import Usage
from holdfast.system.threads import in_daemon
from holdfast.tools.tool import Toolbox

ANSWER = 8_000
"""Tokens of the context window reserved for the answer, and as many for the note; at most a quarter of the window."""

LOOK = 2.5
"""Seconds allowed for looking up a context window or reading instruction files."""


class _Bounds(msgspec.Struct, frozen=True):
    """Token limits: for the whole request, for the messages that stay, and for a single step that needs more.

    Counted by holdfast's own estimate, which differs from the provider's count.
    """

    total: int
    keep: int
    most: int


class Compactor:
    """Compacts the conversation of one session. `window` returns a model's context window, 0 if it is unknown.

    `window` may block, so it runs on a thread. `notify` gets progress messages for the user.
    """

    def __init__(  # noqa: PLR0913 - what a summary is made of
        self,
        journal: JournalWriter,
        *,
        summarizer: Summarizer,
        toolbox: Toolbox,
        instructions: Sequence[InstructionSource],
        context: ContextSettings,
        window: Callable[[str], int] | None,
        notify: Callable[[str], None],
        before_compact: tuple[tuple[BeforeCompact, ...], float] = ((), 0.0),
    ) -> None:
        self._journal = journal
        self._summarizer = summarizer
        self._toolbox = toolbox
        self._sources = instructions
        self._context = context
        self._window = window
        self._notify = notify
        self._before, self._more_time = before_compact
        self._windows: dict[str, int] = {}
        self._unseen_in = 0  # the turn in which a summary replaced unanswered results
        self._failed = (0, "")  # the turn in which a summary failed, and the model

    async def is_due(self, stop: StopSignal) -> bool:
        """Return whether the context window is nearly full and can be relieved; raises `TurnStopped` on a stop."""
        conversation = self._journal.conversation
        turn, model = conversation.turns, conversation.model
        if self._context.compact == "off" or self._unseen_in == turn or self._failed == (turn, model):
            return False
        window = await self._size(model, stop)
        return bool(window) and context_tokens(conversation) > self._context.compact_at * (window - _share(window))

    async def shorten(self, stop: StopSignal, why: Why) -> bool:
        """Compact, then truncate new results that still do not fit. Return whether anything changed.

        Raises `TurnStopped` on a stop. If a summary fails while everything still fits, the model is not asked again in
        the same turn.
        """
        conversation = self._journal.conversation
        bounds = self._bounds(conversation, await self._size(conversation.model, stop), why)
        compacted = None
        try:
            compacted = await self.compact(stop, why)
        except (ProviderFailed, UsageError) as failed:
            self._failed = conversation.turns, conversation.model
            self._notify(f"The conversation was not compacted and stays as it is while it fits: {failed}")
        cut = truncate_results(self._journal.conversation, total=bounds.total)
        if cut is not None:
            self._journal.append(cut)
        return compacted is not None or cut is not None

    def is_possible(self) -> bool:
        """Return whether anything is left to remove when the provider rejects the request as too long."""
        conversation = self._journal.conversation
        bounds = self._bounds(conversation, self._windows.get(conversation.model, 0), "overflow")
        part = self._older(conversation, bounds, "overflow")
        return part is not None or truncate_results(conversation, total=bounds.total) is not None

    async def compact(self, stop: StopSignal, why: Why, wish: str = "") -> Compacted | None:
        """Summarize the older part and return the entry, None if there is too little. `wish` names what to keep.

        Raises `ProviderFailed` if the model fails and the conversation can still be sent, `TurnStopped` on a stop. In
        both cases nothing has changed.
        """
        conversation = self._journal.conversation
        before = context_tokens(conversation)
        window = await self._size(conversation.model, stop)
        bounds = self._bounds(conversation, window, why)
        part = self._older(conversation, bounds, why)
        if part is None:
            return None

        def entry(summary: WrittenSummary, *news: FilesChanged) -> Compacted:
            return self._entry(conversation, part, summary, news, why=why, longest=bounds.total // 2)

        earlier = conversation.compacted
        without = WrittenSummary(earlier.summary if earlier else "", "", Usage(cost="0"))
        if self._saved(entry(without)) < LEAST:
            return None
        await self._may_compact(stop, why, wish)
        self._notify(f"Summarizing {len(part.messages)} older messages (context: about {before:,} tokens).")
        news = await self._instructions(conversation, stop)
        try:
            summary = await self._summarizer.summary(conversation, part.messages, stop, room=bounds.total, wish=wish)
            compacted = self._saving(entry(summary, *news), news)
        except ProviderFailed as failed:
            if why != "overflow" and not (window and before > window - _share(window)):
                raise
            self._notify(f"The older messages could not be summarized and are left out: {failed}")
            compacted = entry(without, *news)
        self._journal.append(compacted, *news)
        if part.unseen:  # the model may run the calls again, and must get the chance to answer their results
            self._unseen_in = conversation.turns
        return compacted

    async def _may_compact(self, stop: StopSignal, why: Why, wish: str) -> None:
        """Ask the steps before a compaction; raises `UsageError` if one forbids it. One that is late says nothing."""
        for step in self._before:
            if (wait := step(why, wish)) is not None:
                with suppress(TimeoutError):
                    if refusal := await stop.race(wait, BEFORE_CALL + self._more_time):
                        raise UsageError(f"Nothing was compacted. {refusal} Change that hook, or continue without.")

    def _older(self, conversation: Conversation, bounds: _Bounds, why: Why) -> CompactionPlan | None:
        steps, unsent = self._journal.fold.steps, why == "overflow"
        return plan_compaction(conversation, steps, keep=bounds.keep, most=bounds.most, unsent=unsent)

    def _entry(
        self,
        conversation: Conversation,
        part: CompactionPlan,
        summary: WrittenSummary,
        news: tuple[FilesChanged, ...],
        *,
        why: Why,
        longest: int,
    ) -> Compacted:
        done = work(self._journal.entries(), self._journal.fold.has_call)
        entry = Compacted(
            step=part.step,
            note=compaction_note(conversation, part, done, summary=summary.text, model=summary.model, longest=longest),
            why=why,
            summary=summary.text,
            model=summary.model,
            messages=len(part.messages),
            before=context_tokens(conversation),
            usage=summary.usage,
            user_texts=part.text_count,
        )
        return msgspec.structs.replace(entry, after=context_tokens(self._journal.fold.after((entry, *news))))

    def _saving(self, entry: Compacted, news: tuple[FilesChanged, ...]) -> Compacted:
        """Return the entry if it saves tokens; raises `ProviderFailed` if not."""
        if self._saved(entry, *news) < LEAST:
            raise ProviderFailed(
                f"Model {entry.model!r} wrote a summary that saves no tokens. Nothing was compacted.",
                fault="malformed",
            )
        return entry

    def _saved(self, *entries: Entry) -> int:
        """Return how many tokens these entries would save, by holdfast's estimate."""
        now, then = self._journal.conversation, self._journal.fold.after(entries)
        return estimate(now.messages, now.model) - estimate(then.messages, then.model)

    def _bounds(self, conversation: Conversation, window: int, why: Why) -> _Bounds:
        before = context_tokens(conversation)
        total = window - _share(window) if window else before
        if why == "overflow":  # the provider said it was too much, whatever holdfast counted
            total = min(total, before) // 2
        keep = min(self._context.compact_keep, total // 4, before // 4 if why == "asked" else total)
        fixed = overhead_tokens(conversation.opened)
        share = (fixed + estimate(conversation.messages, conversation.model)) / max(before, 1)
        return _Bounds(
            total=int(share * total), keep=int(share * keep), most=int(share * (total - _share(total))) - fixed
        )

    async def window_of(self, model: str, stop: StopSignal) -> int:
        """Return the model's context window in tokens, 0 if it is unknown."""
        return await self._size(model, stop)

    async def _size(self, model: str, stop: StopSignal) -> int:
        """Return the model's context window in tokens, 0 if it is unknown."""
        window = self._window
        if window is not None and not self._windows.get(model):  # a server may tell it in a refusal
            try:
                self._windows[model] = await stop.race(in_daemon(lambda: window(model)), LOOK)
            except TimeoutError:
                return self._context.window
        return self._windows.get(model, 0) or self._context.window

    async def _instructions(self, conversation: Conversation, stop: StopSignal) -> tuple[FilesChanged, ...]:
        """Return an entry for instruction files that differ from the system prompt.

        Earlier notes about them may be among the messages that are compacted away.
        """
        prompt = {file.path: (file,) for file in conversation.opened.instructions} if conversation.opened else {}
        try:
            return await stop.race(in_daemon(lambda: changed_files(prompt, self._toolbox, self._sources)), LOOK)
        except TimeoutError:
            raise UsageError(
                f"Reading the instruction files took longer than {LOOK:g} s. Nothing was compacted. Try again."
            ) from None


def _share(window: int) -> int:
    return min(ANSWER, window // 4)

"""The prompts that ↑ and ↓ recall: of earlier sessions, of this one, and those sent from here. Pure."""

from __future__ import annotations

from collections.abc import Sequence


class PromptHistory:
    """A list of prompts, oldest first, and the place in it; after the last one comes the draft."""

    def __init__(self) -> None:
        self._earlier: tuple[str, ...] = ()
        self._sent: list[str] = []
        self._at: int | None = None  # None: at the draft
        self._draft = ""

    @property
    def prompts(self) -> tuple[str, ...]:
        """Return all prompts; one of an earlier session that was sent again is at its last place only."""
        known = frozenset(self._sent)
        earlier = dict.fromkeys(reversed([text for text in self._earlier if text not in known]))
        return (*reversed(earlier), *self._sent)

    def begin(self, prompts: Sequence[str]) -> None:
        """Set the prompts of the open session; those sent in this run come after them."""
        known = frozenset(prompts)
        self._sent = [*prompts, *(text for text in self._sent if text not in known)]
        self.leave()

    def add_earlier(self, prompts: Sequence[str]) -> None:
        """Put the prompts of earlier sessions before all others."""
        self._earlier = tuple(prompts)
        self.leave()

    def add(self, prompt: str) -> None:
        """Add a prompt that was sent, or cleared."""
        if not self._sent or self._sent[-1] != prompt:
            self._sent.append(prompt)
        self.leave()

    def leave(self) -> None:
        """Go to the draft, which is empty."""
        self._at, self._draft = None, ""

    def step(self, by: int, *, current: str) -> str | None:
        """Return the next prompt (with -1 the previous one), or the draft after the last; None if there is none.

        `current` is the text in the composer; it becomes the draft if no prompt is recalled.
        """
        prompts = self.prompts
        now = len(prompts) if self._at is None else self._at
        to = now + by
        if not 0 <= to <= len(prompts) or (by > 0 and self._at is None):
            return None
        if self._at is None:
            self._draft = current
        self._at = to if to < len(prompts) else None
        return self._draft if self._at is None else prompts[to]

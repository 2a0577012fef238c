"""Long pastes, shown as marks: `[Pasted text #1 +10000 lines] explain this`. Pure.

A mark stands for its text wherever the user sees the prompt: in the composer, the history, the transcript. The full
text is sent. Marks belong to one run; a prompt of an earlier run is shown by its first and last lines.
"""

from __future__ import annotations

import re

from holdfast.ui.tui.prompt.dropped_paths import mention

FOLD_LINES = 8
FOLD_CHARACTERS = 1_000
"""A paste above either limit is shown as a mark."""

_MOST = 50  # pastes that are remembered
_MARK = re.compile(r"\[(?:Pasted text #\d+ \+\d+ (?:lines|characters)|Image #\d+)\]")


class Pastes:
    """The pastes of a run.

    Laws (`tests/ui/tui/prompt/test_pastes_laws.py`): `expand(mark(text)) == text`; `expand(collapse(text)) == text` for
    any text that contains no mark.
    """

    def __init__(self) -> None:
        self._texts: dict[str, str] = {}
        self._count = 0

    @property
    def marks(self) -> tuple[str, ...]:
        """Return all marks."""
        return tuple(self._texts)

    def mark(self, text: str) -> str:
        """Return the text to show for a paste: a new mark if it is long, else the paste itself."""
        lines = text.count("\n") + 1
        if lines <= FOLD_LINES and len(text) <= FOLD_CHARACTERS:
            return text
        self._count += 1
        size = f"{lines} lines" if lines > 1 else f"{len(text)} characters"
        return self._keep(f"[Pasted text #{self._count} +{size}]", text)

    def image_mark(self, path: str) -> str:
        """Return a new mark for the mention of an image's file."""
        self._count += 1
        return self._keep(f"[Image #{self._count}]", mention(path))

    def _keep(self, mark: str, text: str) -> str:
        self._texts[mark] = text
        if len(self._texts) > _MOST:
            del self._texts[next(iter(self._texts))]
        return mark

    def expand(self, shown: str) -> str:
        """Return the text with each mark replaced by its paste."""
        return _MARK.sub(lambda found: self._texts.get(found[0], found[0]), shown)

    def collapse(self, text: str) -> str:
        """Return the text with each paste replaced by its mark."""
        for mark, pasted in sorted(self._texts.items(), key=lambda item: len(item[1]), reverse=True):
            text = text.replace(pasted, mark)
        return text

"""Results that the caller knows, in the place of those that a repair invents."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence

import msgspec

from holdfast.history.edits import AddResult, Edit
from holdfast.history.shape import Shape
from holdfast.text import valid_unicode

Results = Mapping[str, str] | Callable[[Sequence[str]], Mapping[str, str]]
"""The texts of results by the ids of their calls, or what returns those for a list of ids."""

NO_TEXT = "(no output)"
"""The text of a result that has none: some providers refuse an empty one."""


def with_results(edits: Sequence[Edit], shape: Shape, results: Results) -> tuple[Edit, ...]:
    """Return the edits with the known texts in added results.

    An id that several calls have is not looked up: whose result it would be is unknown.
    """
    calls = [item for message in shape.messages for item in message.items if item.kind == "call" and item.id]
    counts = Counter(item.id for item in calls)
    ids = {item.path: item.id for item in calls if item.id is not None and counts[item.id] == 1}
    missing = [ids[edit.call] for edit in edits if isinstance(edit, AddResult) and edit.call in ids]
    if not missing:
        return tuple(edits)
    known = results(missing) if callable(results) else results
    return tuple(
        _with_result(edit, known.get(ids.get(edit.call, ""))) if isinstance(edit, AddResult) else edit for edit in edits
    )


def _with_result(edit: AddResult, text: str | None) -> AddResult:
    if text is None:
        return edit
    return msgspec.structs.replace(edit, text=valid_unicode(text) if text.strip() else NO_TEXT)

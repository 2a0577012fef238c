"""OpenRouter's `reasoning_details` of one response: readable ones come in pieces, encrypted ones come whole."""

from __future__ import annotations

from holdfast.history.formats.format import Json
from holdfast.providers.protocols.answer_bounds import check_parts

_TEXT_FIELDS = {"reasoning.text": "text", "reasoning.summary": "summary"}


def text_field(detail: Json) -> str:
    """Return the field of a detail with readable text, "" for an encrypted one."""
    return _TEXT_FIELDS.get(str(detail.get("type")), "")


class ReasoningDetails:
    """The details so far. Pieces are joined at the end: a copy for each would take quadratic time."""

    def __init__(self) -> None:
        """Create it for one response."""
        self._details: list[Json] = []
        self._pieces: list[str] = []  # of the last one's text

    def add(self, new: Json) -> None:
        """Add a detail, or what continues the last one. Raise `Flood` if there are too many."""
        field, last = text_field(new), self._details[-1] if self._details else {}
        if not field or any(last.get(name) != new.get(name) for name in ("type", "index")):
            self._join()
            self._details.append(dict(new))
            check_parts(len(self._details))
            self._pieces = [str(new.get(field) or "")] if field else []
        else:
            self._pieces.append(str(new.get(field) or ""))
            last.update({name: value for name, value in new.items() if value is not None and name != field})

    def all(self) -> list[Json]:
        """Return all of them, each with its whole text."""
        self._join()
        return self._details

    def _join(self) -> None:
        if len(self._pieces) > 1:
            last = self._details[-1]
            text = "".join(self._pieces)
            last[text_field(last)] = text
            self._pieces = [text]

"""Which items of the last event of a Responses stream earlier events have brought, if their IDs do not say.

Gateways send some items only in the last event, and others again under another ID. What was brought is found by what it
says: a call by its provider's ID, or its name and arguments; a message by its text; reasoning by its order. Each item
that was brought is the same as one item of the last event, so two equal calls stay two.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable

from holdfast.providers.protocols.call_arguments import whole_arguments
from holdfast.providers.protocols.response_parts import CallDraft, PartDraft, TextDraft, ThinkingDraft

_MOST_PREFIXES = 16
"""Texts that are compared by their beginnings; more are compared as a whole."""


class BroughtItems:
    """The items that the parts so far belong to, by number."""

    def __init__(self, parts: Iterable[tuple[Hashable, PartDraft]], known: Iterable[int | None]) -> None:
        """Create it without the items whose numbers are `known`."""
        left_out = {number for number in known if number is not None}
        self._texts: dict[int, str] = {}
        self._reasoning: dict[int, None] = {}
        self._by_call_id: dict[str, int] = {}
        self._by_call: dict[tuple[str, str], list[int]] = {}
        for key, draft in parts:
            match key, draft:
                case ("text", int(number), int()), TextDraft() if number not in left_out:
                    self._texts[number] = self._texts.get(number, "") + "".join(draft.text)
                case ("thinking", int(number), int()), ThinkingDraft() if number not in left_out:
                    self._reasoning[number] = None
                case ("call", int(number)), CallDraft() if number not in left_out:
                    if draft.wire_id:
                        self._by_call_id[draft.wire_id] = number
                    written = "".join(draft.name), whole_arguments(draft.arguments, draft.statements)
                    self._by_call.setdefault(written, []).append(number)
                case _:
                    pass
        self._matched: set[int] = set()

    def take_call(self, call_id: str, name: str, arguments: str) -> int | None:
        """Return the number of the item that is this call, None if there is none."""
        number = self._by_call_id.get(call_id)
        if number is None or number in self._matched:
            alike = self._by_call.get((name, whole_arguments((arguments,))), [])
            while alike and alike[0] in self._matched:
                alike.pop(0)
            number = alike.pop(0) if alike else None
        return self._take(number)

    def take_message(self, text: str) -> int | None:
        """Return the number of the item that is the message with this text, or its beginning, None if there is none."""
        texts = self._texts.items() if len(self._texts) <= _MOST_PREFIXES else ()
        number = next((number for number, found in texts if text.startswith(found) or found.startswith(text)), None)
        if number is not None:
            del self._texts[number]
        return number

    def take_reasoning(self) -> int | None:
        """Return the number of the next item of reasoning, None if there is none."""
        number = next(iter(self._reasoning), None)
        if number is not None:
            del self._reasoning[number]
        return number

    def _take(self, number: int | None) -> int | None:
        if number is not None:
            self._matched.add(number)
        return number

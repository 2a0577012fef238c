"""What a session has cost, by model and by turn, from its journal."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable
from typing import TypeVar

import msgspec

from holdfast.session.journal import entries as e
from holdfast.session.journal.parts import Usage

By = TypeVar("By", bound=Hashable)


class ResponseCost(msgspec.Struct, frozen=True):
    """The usage of one response, or of one summary or title: `turn` is 0 before the first prompt."""

    turn: int
    model: str
    usage: Usage


class Spending:
    """Collects the cost of each response; rewound and compacted ones count too, because they were paid."""

    def __init__(self, entries: Iterable[e.Entry] = ()) -> None:
        self.all: list[ResponseCost] = []
        self.prompts: dict[int, str] = {}
        """The first prompt of each turn."""
        self._turn = 0
        for entry in entries:
            self.take(entry)

    def take(self, entry: e.Entry) -> None:
        """Take one entry of the journal."""
        match entry:
            case e.PromptAccepted(turn=turn, text=text):
                self._turn = turn
                self.prompts[turn] = text
            case (
                e.ResponseEnded(model=model, usage=usage)
                | e.Compacted(model=model, usage=usage)
                | e.Titled(model=model, usage=usage)
            ):
                if usage != Usage(cost="0"):
                    self.all.append(ResponseCost(self._turn, model, usage))
            case e.RequestFailed(model=model, usage=Usage() as usage):
                self.all.append(ResponseCost(self._turn, model, usage))
            case _:
                pass

    def by_model(self) -> dict[str, tuple[int, Usage]]:
        """Return the number of responses and the usage of each model, in the order of their first use."""
        return self._sums(lambda each: each.model)

    def by_turn(self) -> dict[int, tuple[int, Usage]]:
        """Return the same for each turn."""
        return self._sums(lambda each: each.turn)

    def total(self) -> Usage:
        """Return the total usage."""
        found = self._sums(lambda _: 0)
        return found[0][1] if found else Usage(cost="0")

    def _sums(self, key: Callable[[ResponseCost], By]) -> dict[By, tuple[int, Usage]]:
        found: dict[By, tuple[int, Usage]] = {}
        for each in self.all:
            number, usage = found.get(key(each), (0, Usage(cost="0")))
            found[key(each)] = number + 1, usage + each.usage
        return found

"""Histories of pydantic-ai's messages, of the kinds that interruptions leave, and of every kind there is.

Two rules. The same seed gives the same histories. Each text in the histories of a kind is a unique word, so that
none can be lost unseen.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Iterator
from importlib import import_module
from pathlib import Path
from random import Random
from typing import TypeVar

from hypothesis import HealthCheck, Phase, given, seed, settings
from hypothesis import strategies as st
from pydantic import ValidationError
from pydantic_ai.messages import ModelMessagesTypeAdapter

sys.path += [str(Path(__file__).parents[1]), str(Path(__file__).parents[1] / "history")]

from holdfast.history.formats.format import Json
from holdfast.history.profiles import PROFILES
from holdfast.providers.pydantic_ai.messages import to_messages
from holdfast.session.conversation.fold import Fold
from holdfast.session.journal.entries import Entry
from holdfast.session.request.normalize import normalize
from journals import journals

T = TypeVar("T")
Histories = Callable[[int, int], Iterator[list[object]]]
"""So many histories of a seed."""


class History:
    """A history that is being written."""

    def __init__(self, random: Random) -> None:
        self.random = random
        self.messages: list[Json] = []
        self._word_count = 0

    def word(self, of: str) -> str:
        """Return a word that was not used before."""
        self._word_count += 1
        return f"{of}{self._word_count}."

    def request(self, *parts: Json) -> None:
        self.messages.append({"kind": "request", "parts": list(parts)})

    def response(self, *parts: Json) -> None:
        self.messages.append({"kind": "response", "parts": list(parts), "model_name": "m"})

    def prompt(self) -> None:
        self.request({"part_kind": "user-prompt", "content": self.word("prompt")})

    def answer(self) -> None:
        self.response({"part_kind": "text", "content": self.word("text")})

    def calls(self, number: int, *, with_text: bool | None = None) -> list[str]:
        """Add a response of so many calls, some with a text before them; return their ids."""
        ids = [self.word("call") for _ in range(number)]
        with_text = self.random.random() < 0.5 if with_text is None else with_text
        text: list[Json] = [{"part_kind": "text", "content": self.word("text")}] if with_text else []
        self.response(*text, *map(called, ids))
        return ids

    def result(self, call: str, *, retry: bool = False) -> Json:
        kind = "retry-prompt" if retry else "tool-return"
        return {"part_kind": kind, "tool_name": "read", "content": self.word("result"), "tool_call_id": call}

    def results(self, calls: list[str], *, retry: bool = False) -> None:
        self.request(*(self.result(call, retry=retry) for call in calls))

    def rounds(self, number: int) -> None:
        for _ in range(number):
            self.results(self.calls(self.random.randint(1, 3)))

    def turns(self) -> None:
        """Add some turns as they should be."""
        for _ in range(self.random.randint(0, 3)):
            self.prompt()
            self.rounds(self.random.randint(0, 2))
            self.answer()

    def begun(self) -> None:
        """Add some turns as they should be, and the beginning of one."""
        self.turns()
        self.prompt()
        self.rounds(self.random.randint(0, 2))


def called(call: str) -> Json:
    return {"part_kind": "tool-call", "tool_name": "read", "args": "{}", "tool_call_id": call}


# --- one kind after the other ----------------------------------------------------------------------------------------


def _valid(history: History) -> None:
    history.begun()
    history.answer()


def _retried(history: History) -> None:
    history.begun()
    history.results(history.calls(history.random.randint(1, 2)), retry=True)
    history.answer()


def _paused(history: History) -> None:
    history.turns()
    history.prompt()
    history.rounds(history.random.randint(1, 3))


def _open_at_the_end(history: History) -> None:
    history.begun()
    history.calls(history.random.randint(1, 3))


def _open_in_the_middle(history: History) -> None:
    _open_at_the_end(history)
    history.prompt()
    history.answer()


def _answered_in_part(history: History) -> None:
    history.begun()
    history.results(history.calls(3)[:2])
    history.answer()


def _answered_in_part_then_a_prompt(history: History) -> None:
    history.begun()
    history.results(history.calls(3)[:2])
    history.prompt()
    history.answer()


def _denied(history: History) -> None:
    _paused(history)
    history.calls(1, with_text=False)
    history.prompt()


def _result_twice(history: History) -> None:
    history.begun()
    (call,) = history.calls(1)
    history.results([call, call])
    history.answer()


def _result_without_its_call(history: History) -> None:
    history.turns()
    history.prompt()
    history.results(["call0."])
    history.answer()


def _prompts_in_a_row(history: History) -> None:
    history.turns()
    for _ in range(history.random.randint(2, 4)):
        history.prompt()
    history.answer()


def _empty_response(history: History) -> None:
    _valid(history)
    history.messages.insert(history.random.randint(1, len(history.messages)), {"kind": "response", "parts": []})


def _id_used_again(history: History) -> None:
    history.begun()
    (call,) = history.calls(1)
    history.results([call])
    history.answer()
    history.prompt()
    history.response(called(call))


def _result_before_its_call(history: History) -> None:
    history.begun()
    (call,) = history.calls(1)
    response = history.messages.pop()
    history.results([call])
    history.messages.append(response)
    history.prompt()
    history.answer()


def _late_result(history: History) -> None:
    history.begun()
    calls = history.calls(1)
    history.prompt()
    history.answer()
    history.results(calls)
    history.prompt()
    history.answer()


def _system_prompt_on_the_way(history: History) -> None:
    _valid(history)
    system_prompt: Json = {"kind": "request", "parts": [{"part_kind": "system-prompt", "content": "be brief"}]}
    history.messages.insert(history.random.randint(1, len(history.messages)), system_prompt)


def _thought_before_an_open_call(history: History) -> None:
    history.turns()
    history.prompt()
    history.response({"part_kind": "thinking", "content": "hm"}, called(history.word("call")))
    history.prompt()


KINDS: dict[str, Callable[[History], None]] = {
    "valid": _valid,
    "valid, a call was answered by a retry-prompt": _retried,
    "valid so far: ends in finished results": _paused,
    "calls open at the end": _open_at_the_end,
    "calls open in the middle": _open_in_the_middle,
    "one of three calls open": _answered_in_part,
    "one of three calls open, then a prompt": _answered_in_part_then_a_prompt,
    "one call denied after finished rounds": _denied,
    "a result twice": _result_twice,
    "a result without its call": _result_without_its_call,
    "prompts in a row": _prompts_in_a_row,
    "an empty response": _empty_response,
    "a call's id used again": _id_used_again,
    "a result before its call": _result_before_its_call,
    "a result after the next prompt": _late_result,
    "a system prompt on the way": _system_prompt_on_the_way,
    "thinking before an open call, then a prompt": _thought_before_an_open_call,
}


def of_kind(write: Callable[[History], None]) -> Histories:
    """Return where histories of one kind come from."""

    def histories(number: int, of_seed: int) -> Iterator[list[object]]:
        for each in range(number):
            history = History(Random(f"{of_seed} {each}"))
            write(history)
            yield [*history.messages]

    return histories


# --- histories with a name -------------------------------------------------------------------------------------------


def rounds_then_a_stop(rounds: int) -> list[object]:
    """Return a turn that was stopped after so many rounds, each of one call without a text."""
    return [*_in_rounds(rounds).messages]


def rounds_then_a_denial(rounds: int) -> list[object]:
    """Return a turn whose next call after so many rounds was denied, which a prompt tells."""
    history = _in_rounds(rounds)
    history.calls(1, with_text=False)
    history.prompt()
    return [*history.messages]


def _in_rounds(rounds: int) -> History:
    history = History(Random(0))
    history.prompt()
    for _ in range(rounds):
        history.results(history.calls(1, with_text=False))
    return history


# --- of every kind ---------------------------------------------------------------------------------------------------

conversations: Callable[[], st.SearchStrategy[object]] = import_module("conversations").conversations
rendered: Callable[[object], list[object]] = import_module("renderings").RENDERINGS["pydantic-ai"]


def any_conversation(number: int, of_seed: int) -> Iterator[list[object]]:
    """Yield conversations on which the laws of repair are tried, of ten times as many those that pydantic-ai loads."""
    for pieces in drawn(conversations(), 10 * number, of_seed):
        try:
            loaded = ModelMessagesTypeAdapter.validate_json(json.dumps(rendered(pieces)))
        except ValidationError:
            continue
        yield list(ModelMessagesTypeAdapter.dump_python(loaded, mode="json"))


def any_journal(number: int, of_seed: int) -> Iterator[list[object]]:
    """Yield what would be sent of journals on which the laws of the fold are tried, five times as many."""
    for entries in drawn(journals, 5 * number, of_seed):
        journal: list[Entry] = entries
        sent = normalize(Fold(journal).conversation(), PROFILES["openai-chat"])
        yield list(ModelMessagesTypeAdapter.dump_python(to_messages(sent), mode="json"))


def drawn(strategy: st.SearchStrategy[T], number: int, of_seed: int) -> list[T]:
    """Return so many examples, the same for the same seed."""
    examples: list[T] = []

    @seed(of_seed)
    @settings(
        max_examples=number,
        database=None,
        phases=[Phase.generate],
        deadline=None,
        suppress_health_check=[HealthCheck.too_slow, HealthCheck.large_base_example],
    )
    @given(strategy)
    def draw(example: T) -> None:
        examples.append(example)

    draw()
    return examples


HISTORIES: dict[str, Histories] = {
    **{name: of_kind(write) for name, write in KINDS.items()},
    "any, most often damaged": any_conversation,
    "any holdfast journal, as sent": any_journal,
}

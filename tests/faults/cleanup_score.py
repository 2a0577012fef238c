"""What becomes of the same histories by a clean-up (`cleanup`) and by `holdfast.history.repair`, counted.

    python tests/faults/cleanup_score.py

It writes the part of docs/explanation/guarantees.md that is written from the count. To each history a prompt is
added, as a user would continue; what would be sent then is looked at.
"""

from __future__ import annotations

import asyncio
import json
import sys
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from cleanup import clean
from cleanup_histories import HISTORIES, rounds_then_a_denial, rounds_then_a_stop
from pydantic_ai.messages import ModelMessagesTypeAdapter
from pydantic_ai.models import ModelRequestParameters
from pydantic_ai.models.openai import OpenAIChatModel
from pydantic_ai.providers.openai import OpenAIProvider
from table import replaced

from conversations import NO_RESULT
from holdfast.history import check, repair
from holdfast.history.formats.format import Json, as_array, as_object, is_array
from holdfast.text import valid_unicode
from json_strings import strings_in
from judges import deepseek_refusal

PAGE = Path(__file__).parents[2] / "docs/explanation/guarantees.md"
SEED = 1
EACH = 100
FAULTS = {
    "invalid": "breaks a rule",
    "refused": "refused by a judge",
    "results": "lost a finished result",
    "prompts": "lost a prompt",
    "texts": "lost a text of the model",
    "again": "a second time changes it again",
}
"""What can be wrong with a repaired history; the rules are those of Chat Completions, the judge is DeepSeek's."""

Repairer = Callable[[list[object]], list[object]]
"""From a history to one that a prompt can be added to."""


def repaired(history: list[object]) -> list[object]:
    return repair(history, format="pydantic-ai").messages


BESIDE = {"null-content"}  # pydantic-ai decides what stands beside calls without a text: no mending does

REPAIRERS: dict[str, Repairer] = {"the clean-up": clean, "repair": repaired}


# --- one history -----------------------------------------------------------------------------------------------------


def faults(history: list[object], repairer: Repairer, bench: Bench) -> Iterator[str]:
    """Yield each of `FAULTS` that the repaired history has."""
    repaired = repairer(history)
    sent = [*repaired, _prompt("and now?")]
    wire = bench.written(sent)
    if breaks_a_rule(wire):
        yield "invalid"
    if deepseek_refusal("openai-chat", wire):
        yield "refused"
    left = "\n".join(strings_in(sent))
    for what, words in _words_of(history).items():
        if any(word not in left and valid_unicode(word) not in left for word in words):
            yield what
    if repairer(repaired) != repaired:
        yield "again"


def breaks_a_rule(wire: list[object]) -> bool:
    return any(each.rule not in BESIDE for each in check(wire, format="openai-chat"))


class Bench:
    """pydantic-ai, which writes the request: what it does to a history before that is done for everybody."""

    def __init__(self) -> None:
        self._runner = asyncio.Runner()
        self._model = OpenAIChatModel("m", provider=OpenAIProvider(api_key="none", base_url="http://127.0.0.1:9"))
        self._parameters = ModelRequestParameters()

    def written(self, messages: list[object]) -> list[object]:
        """Return the messages as they would be sent in Chat Completions."""
        loaded = ModelMessagesTypeAdapter.validate_json(json.dumps(messages))
        prepared = self._model.prepare_messages(loaded, self._parameters)
        wire = self._runner.run(self._model._map_messages(prepared, self._parameters))
        return json.loads(json.dumps(wire))

    def close(self) -> None:
        self._runner.close()


_WHAT = {"tool-return": "results", "retry-prompt": "results", "user-prompt": "prompts", "text": "texts"}


def _words_of(history: list[object]) -> dict[str, list[str]]:
    """Return the words of finished results, of prompts and of the assistant; what repair writes for none is not one."""
    words: dict[str, list[str]] = {"results": [], "prompts": [], "texts": []}
    for message in history:
        for part in map(as_object, as_array(as_object(message)["parts"])):
            if what := _WHAT.get(str(part["part_kind"])):
                content = part.get("content")
                contents = content if is_array(content) else [content]
                words[what] += [
                    each for each in contents if isinstance(each, str) and each.strip() and each != NO_RESULT
                ]
    return words


def _prompt(text: str) -> Json:
    return {"kind": "request", "parts": [{"part_kind": "user-prompt", "content": text}]}


# --- the user goes on ------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Outcome:
    """How it went with prompts one after the other: how many failed, and how many results were left after each."""

    failed: int
    left: tuple[int, ...]


def goes_on(history: list[object], repairer: Repairer, prompts: int, bench: Bench) -> Outcome:
    """Return what becomes of a history with each prompt; one that is refused leaves what the repairer had kept."""
    results = _words_of(history)["results"]
    failed = 0
    left: list[int] = []
    for number in range(prompts):
        history = repairer(history)
        sent = [*history, _prompt(f"prompt {number}")]
        left.append(sum(any(result in each for each in strings_in(sent)) for result in results))
        if deepseek_refusal("openai-chat", bench.written(sent)):
            failed += 1
        else:
            history = [*sent, {"kind": "response", "parts": [{"part_kind": "text", "content": "well"}]}]
    return Outcome(failed, tuple(left))


CASES: dict[str, tuple[list[object], int]] = {
    "#258: stopped after 6 finished rounds": (rounds_then_a_stop(6), 6),
    "a call denied after 5 finished rounds": (rounds_then_a_denial(5), 1),
    "a call denied after 15 finished rounds": (rounds_then_a_denial(15), 6),
}
"""Histories that are known by name, and how many prompts follow each."""


# --- the page --------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Score:
    """How many histories were tried, how many broke a rule before, and how often each of `FAULTS` was found after."""

    tried: int
    broken: int
    found: Counter[str]


def score(name: str, repairer: Repairer, bench: Bench, *, each: int) -> Score:
    """Return the score of a repairer on histories of a name."""
    tried, broken, found = 0, 0, Counter[str]()
    for history in HISTORIES[name](each, SEED):
        tried += 1
        broken += breaks_a_rule(bench.written([*history, _prompt("and now?")]))
        found.update(faults(history, repairer, bench))
    return Score(tried, broken, found)


def kinds(bench: Bench, *, each: int) -> Iterator[str]:
    """Yield the table of the kinds of histories: in each cell the clean-up's count, then that of repair."""
    yield f"| of these histories | tried | broke a rule before | {' | '.join(FAULTS.values())} |"
    yield f"|---|---|---|{'---|' * len(FAULTS)}"
    for name in HISTORIES:
        yield row(name, [score(name, repairer, bench, each=each) for repairer in REPAIRERS.values()])


def row(name: str, scores: Sequence[Score]) -> str:
    """Return the line on histories of a name: the scores of every repairer."""
    cells = (" · ".join(f"{of.found[fault]:,}" for of in scores) for fault in FAULTS)
    return f"| {name} | {scores[0].tried:,} | {scores[0].broken:,} | {' | '.join(cells)} |"


def cases(bench: Bench) -> Iterator[str]:
    """Yield the table of the cases: what became of their results, prompt by prompt."""
    yield "| | prompts | failed | finished results left after each prompt |"
    yield "|---|---|---|---|"
    for name, (history, prompts) in CASES.items():
        for repairer, mend in REPAIRERS.items():
            outcome = goes_on(history, mend, prompts, bench)
            yield f"| {name}: {repairer} | {prompts} | {outcome.failed} | {', '.join(map(str, outcome.left))} |"


def main() -> None:
    bench = Bench()
    try:
        text = replaced(PAGE.read_text(), "clean-up", [*kinds(bench, each=EACH), "", *cases(bench)])
    finally:
        bench.close()
    PAGE.write_text(text)
    sys.stdout.write(f"{PAGE.name} is written anew\n")


if __name__ == "__main__":
    main()

"""A slash command of a plug-in is answered in its time by plain values, or refused by a sentence that names it."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import cast

import pytest

from agent_harness import Rig, opened
from holdfast.errors import UsageError
from holdfast.host.commands import Compact, Prompt, Rename, Stop
from holdfast.host.hosted_session import HostedSession
from holdfast.host.plugins.contributions import PluginSlashCommand, Said, SlashFacts
from holdfast.host.plugins.slash_reply import LONGEST_SAID, MOST_SAID, said_by
from holdfast.session.journal.store import MemoryStore
from holdfast.testing.scripted_model import ScriptedModel
from host_harness import FakeServers


class SilentError(Exception):
    """An exception that cannot be told."""

    def __str__(self) -> str:
        raise RuntimeError("no words")


def endless() -> Iterator[str]:
    while True:
        yield "more"


def failing() -> Said:
    raise SilentError


class EndlessLines(tuple[str, ...]):
    """Lines that never end, whatever their count."""

    __slots__ = ()

    def __iter__(self) -> Iterator[str]:
        return endless()


async def answered(run: Callable[[], object], *, within: float = 30) -> Said:
    """Return what a command says that runs this."""
    store = MemoryStore()
    store.append([opened()], expected=0)
    agent = Rig(ScriptedModel(), store=store).agent
    session = HostedSession(id="rig", cwd=Path("/"), toolbox=FakeServers(), reading=store.read())

    def command(facts: SlashFacts, rest: str) -> Said:
        assert (facts.session, rest) == ("rig", "the rest")
        return cast("Said", run())

    return await said_by(PluginSlashCommand("odd", "is odd", command), agent, session, "the rest", within=within)


@pytest.mark.parametrize(
    ("run", "why"),
    [
        (lambda: 5, "it returned int (expected Said)"),
        (lambda: Said(cast("tuple[str, ...]", 5)), "its lines are int (expected a tuple of texts)"),
        (lambda: Said(cast("tuple[str, ...]", None)), "its lines are NoneType (expected a tuple of texts)"),
        (lambda: Said(cast("tuple[str, ...]", endless())), "its lines are generator (expected a tuple of texts)"),
        (lambda: Said(cast("tuple[str, ...]", ("a", None))), "a line of its answer is NoneType (expected a text)"),
        (lambda: Said((), cast("Prompt", Stop())), "it wants Stop (expected Prompt, Rename or Compact)"),
        (lambda: Said((), Prompt(cast("str", 5))), "it wants Prompt with a wrong value"),
        (lambda: Said((), Prompt("x", images=cast("tuple[()]", 5))), "it wants Prompt with a wrong value"),
        (lambda: Said((), Rename(cast("str", object()))), "it wants Rename with a wrong value"),
        (failing, "SilentError (its text cannot be read)"),
    ],
)
async def test_a_wrong_answer_is_refused_by_the_name_of_its_command(run: Callable[[], object], why: str) -> None:
    with pytest.raises(UsageError) as refused:
        await answered(run)
    assert str(refused.value).startswith("Command '/odd' of a plug-in failed: ")
    assert why in str(refused.value)


@pytest.mark.parametrize("wanted", [Prompt("do it"), Rename("title"), Compact("the names"), None])
async def test_what_it_wants_is_handed_on(wanted: Prompt | Rename | Compact | None) -> None:
    assert await answered(lambda: Said(("one", "two"), wanted)) == Said(("one", "two"), wanted)


async def test_its_lines_are_bounded_in_count_and_length() -> None:
    said = await answered(lambda: Said(cast("tuple[str, ...]", EndlessLines())))
    assert said.lines == ("more",) * MOST_SAID
    said = await answered(lambda: Said(("x" * (LONGEST_SAID + 1),)))
    assert said.lines == ("x" * LONGEST_SAID,)


async def test_the_time_to_answer_is_bounded_and_the_loop_goes_on() -> None:
    turns = 0

    async def count() -> None:
        nonlocal turns
        while True:
            turns += 1
            await asyncio.sleep(0)

    counting = asyncio.create_task(count())
    with pytest.raises(UsageError, match=r"it did not end within 0\.2 s"):
        await answered(lambda: threading.Event().wait(600), within=0.2)
    counting.cancel()
    assert turns > 10

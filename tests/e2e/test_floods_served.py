"""A flood in a session of the server: its page and a client of AG-UI read what was cut off, and it goes on."""

from __future__ import annotations

import re
import time
from pathlib import Path
from threading import Thread

import pytest
from browser import Browser
from launching import World
from page_server import Served
from test_ag_ui import judge, run, texts
from test_floods import FLOODS, FOR_EVER, MIB, PIECE, calls
from test_floods_shown import most_memory
from test_live_page import enter, sign_in

from holdfast.session.journal.entries import CallStarted, TurnEnded
from holdfast.testing.script import Ping, Say
from polling import HANGS, eventually, expect_within
from skips import needs

SERVER_ROOM = 300 * 1024
"""KB of memory that a server may have had at most: an agent's, and the copies that a watcher is sent."""


def flooded(world: World, kind: str) -> str:
    """Have the model flood, then answer; return the sentence that tells of it."""
    flood, bound = FLOODS[kind]
    world.script(flood or calls(world.wire, 4_200), (Say("Whole again."),))
    return f"Model '{world.model}' sent more than {bound}. It was cut off there"


def expect_cut(world: World, sentence: str) -> None:
    """Expect one turn that the flood ended, and nothing of it done."""
    first, second = (each for each in world.entries() if isinstance(each, TurnEnded))
    assert (first.cause, first.reason, sentence in first.detail, second.cause) == ("flood", "error", True, "finished")
    assert not any(isinstance(each, CallStarted) for each in world.entries())
    assert not (world.folder / "ran").exists()


@needs("browser")
@pytest.mark.parametrize("kind", ["text", "calls"])
def test_the_page_tells_what_was_cut_off(one_world: World, tmp_path: Path, kind: str) -> None:
    sentence = flooded(one_world, kind)
    served = Served(one_world, ("--allow-yolo",))
    with Browser(tmp_path / "profile") as browser:
        browser.do("Emulation.setFocusEmulationEnabled", enabled=True)
        sign_in(browser, served)
        enter(browser, "go")
        log = "document.getElementById('log').textContent"
        browser.until(f"/It was cut off there/.test({log})")
        assert sentence in re.sub(r"\s+", " ", str(browser.value(log)))
        assert most_memory(served.pid) < SERVER_ROOM
        browser.until("document.getElementById('send').textContent === 'Send'")
        enter(browser, "again")
        browser.until(f"/Whole again/.test({log})")
    assert served.stop().code == 0
    expect_cut(one_world, sentence)


@pytest.mark.parametrize("kind", ["text", "calls"])
def test_a_client_of_ag_ui_reads_what_was_cut_off(one_world: World, kind: str) -> None:
    sentence = flooded(one_world, kind)
    served = Served(one_world)
    user = {"id": "1", "role": "user", "content": "go"}
    first = run(served, threadId="thread-1", runId="r1", messages=[user])
    judge(first, thread="thread-1", run_id="r1")
    assert (first[-1]["type"], first[-1]["code"], sentence in first[-1]["message"]) == ("RUN_ERROR", "flood", True)
    cuts = [each["value"]["cause"] for each in first if each.get("name") == "holdfast.cut"]
    assert cuts == (["flood"] if kind == "text" else [])  # of calls alone nothing is kept
    assert not any(each["type"].startswith("TOOL_CALL") for each in first)  # a call of a cut answer never starts
    assert sum(map(len, texts(first, "assistant"))) < 70_000
    assert most_memory(served.pid) < SERVER_ROOM
    second = run(served, threadId="thread-1", runId="r2", messages=[user, {**user, "id": "2", "content": "again"}])
    judge(second, thread="thread-1", run_id="r2")
    assert texts(second, "assistant") == ["Whole again."]
    assert served.stop().code == 0
    expect_cut(one_world, sentence)


def test_a_stop_takes_effect_at_once_while_a_page_is_shown_a_flood(one_world: World) -> None:
    """Markdown that takes half a minute to parse: the page is sent the end of it, and the server stays free."""
    world = one_world
    lines = "".join(f"* **bold {number}** and `code {number}` with _some_ text\n" for number in range(140_000))
    world.script((Say(lines[: 7 * MIB], chunk=PIECE), Ping(FOR_EVER, every=0.05)), (Say("Whole again."),))
    served = Served(world)
    session = served.begin("go")
    shown: list[str] = []

    def watch() -> None:
        for each in served.events(session, query={"as": "page"}):
            shown.append(str(each.data))
            if any("you stopped the turn" in each for each in shown[-3:]):
                return

    watcher = Thread(target=watch)
    watcher.start()
    eventually(lambda: "characters before these" in "".join(shown[-10:]))
    eventually(lambda: len(world.checkpointed()) > 5 * MIB)
    since = time.monotonic()
    served.get("/me")
    expect_within(0.5, since)
    since = time.monotonic()
    served.ask(session, "stop")
    served.finished(session)
    expect_within(1, since)
    watcher.join(HANGS)
    assert not watcher.is_alive()
    assert most_memory(served.pid) < SERVER_ROOM
    served.ask(session, "prompt", text="again")
    eventually(lambda: len(world.provider.requests) == 2)
    served.finished(session)
    assert served.stop().code == 0

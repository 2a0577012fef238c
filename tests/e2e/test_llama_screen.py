"""llama.cpp's own server on a screen: its window, how much of the prompt it has read, and Esc while it reads."""

from __future__ import annotations

import re
import time
from collections.abc import Iterator

import pytest
from launching import World
from llama_program import WINDOW, write_model
from terminal import Key
from test_terminal import screen

from holdfast.session.journal.entries import TurnEnded
from llama_server import llama_server
from polling import expect_within
from skips import needs

pytestmark = needs("llama")

BATCH = 64
"""Tokens read at once: the first prompt, of some 10,000 (this model's are bytes), takes seconds, told of often."""
SHARE = r"reading the prompt (\d+) %"


@pytest.fixture(scope="module")
def slow_reader(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """Serve the model of scripts, which reads few tokens at once."""
    model = write_model(tmp_path_factory.mktemp("llama") / "model.gguf")
    with llama_server(model, window=WINDOW, batch=BATCH) as address:
        yield address


def test_its_window_is_learned(one_world: World, slow_reader: str) -> None:
    environ = one_world.environ(LLAMACPP_BASE_URL=f"{slow_reader}/v1")
    listed = one_world.run("models", "llamacpp", environ=environ)
    assert WINDOW == 65_536
    assert listed.out.rstrip().endswith(" 65k")


def test_what_it_has_read_is_shown_and_esc_is_heard_at_once(one_world: World, slow_reader: str) -> None:
    with screen(one_world, "-m", "llamacpp:small", LLAMACPP_BASE_URL=f"{slow_reader}/v1") as terminal:
        terminal.wait_text("Ask holdfast to do something")
        terminal.line("hello")
        first = int(terminal.wait_text(SHARE)[1])
        terminal.wait_text(rf"reading the prompt (?!{first} )\d+ %")
        since = time.monotonic()
        terminal.send(Key.ESC)
        terminal.wait_absent("reading the prompt")
        expect_within(0.15, since)
        terminal.wait_text("Turn ended")
        expect_within(1.0, since)
        assert re.search(SHARE, terminal.text()) is None
        terminal.line("hello again")
        terminal.wait_text(r"Hello from a small server\.")
        terminal.wait_absent("esc to interrupt")
        terminal.send(Key.CTRL_D)
        assert terminal.wait() == 0
    ends = [entry.cause for entry in one_world.entries() if isinstance(entry, TurnEnded)]
    assert ends == ["user", "finished"]

"""llama.cpp's own server, which is not ours: its stream, its calls, and its chat template's rules about roles."""

from __future__ import annotations

import json
import signal
import urllib.error
import urllib.request
from collections.abc import Generator, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from launching import Ran, World
from llama_program import WINDOW, write_model

from holdfast.session.journal.entries import ResponseEnded
from holdfast.session.journal.parts import TextPart
from holdfast.session.model_notices import CLAUSES
from llama_server import UNLIMITED, llama_server
from polling import eventually
from skips import needs

pytestmark = needs("llama")

HELLO = "Hello from a small server."
ALTERNATE = "roles must alternate user/assistant"


@contextmanager
def serving(folder: Path, longest: int) -> Generator[str]:
    """Serve the program's model, which says at most `longest` tokens at once."""
    with llama_server(write_model(folder / "model.gguf"), window=WINDOW, longest=longest) as address:
        yield address


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    with serving(tmp_path_factory.mktemp("llama"), UNLIMITED) as address:
        yield address


@pytest.fixture
def llama(one_world: World, server: str) -> World:
    return configured(one_world, server)


def configured(world: World, address: str) -> World:
    config = world.home / "config.toml"
    config.write_text(f'{config.read_text()}[providers.llama]\nkind = "openai-chat"\nbase_url = "{address}/v1"\n')
    world.model = "llama:small"
    return world


def works(world: World) -> Ran:
    """Run one more turn, which must give the whole answer, and hold the session to the rules of every profile."""
    ran = world.go_on()
    assert ran.out == f"{HELLO}\n"
    assert "valid for all" in world.run("sessions", "verify").out
    return ran


def first(world: World) -> ResponseEnded:
    return next(entry for entry in world.entries() if isinstance(entry, ResponseEnded))


def text(response: ResponseEnded) -> str:
    return "".join(part.text for part in response.parts if isinstance(part, TextPart))


def refusal(address: str, messages: list[Any]) -> str:
    """Return the server's words about a conversation, none if it answers."""
    body = json.dumps({"messages": messages}).encode()
    try:
        urllib.request.urlopen(f"{address}/v1/chat/completions", body, timeout=30).close()
    except urllib.error.HTTPError as error:
        with error:
            return error.read().decode()
    return ""


def test_an_answer_ends_with_its_reason_and_its_count(llama: World) -> None:
    ran = llama.ask("hello")
    assert (ran.code, ran.out) == (0, f"{HELLO}\n"), ran.err
    response = first(llama)
    assert (response.finish, response.cut) == ("stop", None)
    assert response.usage.output_tokens == 7  # six of words, and the end
    assert response.usage.input_tokens > 1000  # the system prompt and the tools went through its template
    works(llama)


def test_a_call_is_run_and_its_result_is_taken(llama: World) -> None:
    (llama.folder / "needle.txt").write_text("here")
    ran = llama.ask("script glob", "--output-format", "stream-json")
    assert ran.code == 0, ran.err
    assert [(line["outcome"], line["content"]) for line in ran.of("tool_result")] == [("ok", "needle.txt")]
    (end,) = ran.of("result")
    assert (end["result"], end["steps"]) == (HELLO, 2)
    assert (text(first(llama)), first(llama).finish) == ("I look\n", "calls")
    works(llama)


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGKILL], ids=["stop", "kill"])
def test_cut_off_while_it_streams(llama: World, number: signal.Signals) -> None:
    agent = llama.start("-m", llama.model, "-p", "script forever")
    eventually(lambda: llama.sessions and " on and on" in llama.checkpointed())
    agent.send(number)
    ran = agent.wait()
    assert ran.code == (130 if number is signal.SIGINT else -signal.SIGKILL)
    assert (CLAUSES["crash"] in works(llama).err) is (number is signal.SIGKILL)
    assert " on and on" in text(first(llama))
    assert first(llama).cut == ("user" if number is signal.SIGINT else "crash")


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGKILL], ids=["stop", "kill"])
def test_cut_off_in_the_first_of_two_commands(llama: World, server: str, number: signal.Signals) -> None:
    agent = llama.start("-m", llama.model, "--yolo", "-p", "script bash", "--output-format", "stream-json")
    eventually(lambda: "begun" in "".join(line["content"] for line in agent.so_far.of("tool_output")))
    agent.send(number)
    agent.wait()
    works(llama)
    # What OpenAI takes, words of the user straight behind results, this template refuses: it was sent something else.
    exported = json.loads(llama.run("sessions", "export", llama.session.name, "--format", "openai-chat").out)
    roles = [message["role"] for message in exported["messages"]]
    assert roles == ["system", "user", "assistant", "tool", "tool", "user", "assistant"]
    assert ALTERNATE in refusal(server, exported["messages"][:-1])


def test_the_limit_of_its_output_is_reported(one_world: World, tmp_path: Path) -> None:
    with serving(tmp_path, 20) as address:
        world = configured(one_world, address)
        ran = world.ask("script forever")
        assert (ran.code, ran.out.strip()) == (1, ("on and " * 10).strip())
        assert CLAUSES["max_tokens"] in ran.err
        assert (first(world).finish, first(world).usage.output_tokens) == ("max_tokens", 20)
        works(world)


def test_bytes_that_are_no_text(one_world: World, tmp_path: Path) -> None:
    with serving(tmp_path, 300) as address:
        world = configured(one_world, address)
        assert CLAUSES["max_tokens"] in world.ask("script noise").err
        noise = text(first(world))
        assert "\N{REPLACEMENT CHARACTER}" in noise
        assert "\x1b" in noise
        works(world)


def test_what_breaks_its_rule_is_refused(server: str) -> None:
    user, assistant = {"role": "user", "content": "hello"}, {"role": "assistant", "content": "well"}
    assert refusal(server, [user, assistant, user]) == ""
    assert ALTERNATE in refusal(server, [user, user])
    assert ALTERNATE in refusal(server, [user, assistant, assistant, user])

"""Whatever a model does, a run ends by itself, within few requests, and says why; doing nothing is no success."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from launching import World

from bad_model import CHANT, HABITS, BadModel, bad_model
from tiers import sampled

FINISHED = ("finished", 0)
LOOP = ("loop", 1)
EMPTY = ("empty", 1)

ENDS: dict[str, tuple[str, int, int]] = {
    "samecall": (*LOOP, 9),
    "samefail": (*LOOP, 9),
    "sameerr": (*LOOP, 9),
    "pingpong": (*LOOP, 18),
    "textcall": (*FINISHED, 2),
    "fencecall": (*LOOP, 9),
    "xmlcall": (*LOOP, 9),
    "badjson": (*FINISHED, 4),
    "badjsonforever": (*LOOP, 9),
    "argstring": (*FINISHED, 2),
    "noargs": (*FINISHED, 2),
    "unknown": (*FINISHED, 2),
    "unknownforever": (*LOOP, 9),
    "wrongtypes": (*FINISHED, 2),
    "lenstop": ("max_tokens", 1, 1),
    "lenempty": ("max_tokens", 1, 1),
    "callstop": (*FINISHED, 2),
    "chant": ("periodic", 1, 1),
    "chantcalls": (*LOOP, 9),
    "gitcall": (*FINISHED, 2),
    "announce": (*EMPTY, 2),
    "userecho": ("provider", 75, 1),
    "empty": (*EMPTY, 2),
    "emptyonce": (*EMPTY, 3),
    "space": (*EMPTY, 2),
    "thinkonly": (*EMPTY, 2),
    "thinkopen": (*EMPTY, 2),
    "reasononly": (*EMPTY, 2),
    "callsnone": (*EMPTY, 2),
}
"""The cause, the exit code and the requests of each habit."""


@pytest.fixture
def model(one_world: World) -> Iterator[BadModel]:
    with bad_model() as model:
        config = one_world.home / "config.toml"
        own = f'[providers.bad]\nkind = "openai-chat"\nbase_url = "{model.address}"\n'
        config.write_text(f"{config.read_text()}{own}")
        one_world.model = "bad:bad"
        (one_world.folder / "README.md").write_text("# Fruit\nA basket.\n")
        (one_world.folder / "basket.py").write_text("def count_fruit(basket):\n    return len(basket)\n")
        yield model


@pytest.mark.parametrize("habit", sampled(ENDS, 12))
def test_a_habit_ends_with_its_cause(one_world: World, model: BadModel, habit: str) -> None:
    cause, code, requests = ENDS[habit]
    ran = one_world.ask(habit, "--output-format", "stream-json")
    (result,) = ran.of("result")
    assert (result["cause"], ran.code, model.requests) == (cause, code, requests), ran.err
    assert result["is_error"] is (code != 0)
    assert "valid for all" in one_world.run("sessions", "verify").out


@pytest.mark.parametrize("habit", sampled(sorted(HABITS), 10))
def test_any_habit_ends_by_itself_and_the_session_goes_on(one_world: World, model: BadModel, habit: str) -> None:
    ran = one_world.ask(habit, "--output-format", "stream-json")
    (result,) = ran.of("result")
    assert result["stop_reason"] in ("end_turn", "max_tokens", "error")
    assert model.requests <= 18
    before = model.requests
    assert one_world.run("-c", "--yolo", "-p", "once more: argstring").code == 0
    assert model.requests == before + 2


def test_a_text_that_repeats_itself_is_not_sent_again(one_world: World, model: BadModel) -> None:
    ran = one_world.ask("chant", "--output-format", "stream-json")
    (result,) = ran.of("result")
    assert result["result"].startswith(CHANT.rstrip())
    assert "[repeated 1" in result["result"]
    assert len(result["result"]) < 200
    assert model.requests == 1

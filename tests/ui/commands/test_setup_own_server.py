"""The setup of a local server: each answer is checked where it is given, and its models are offered."""

from __future__ import annotations

from pathlib import Path

import pytest
from test_setup_wizard import Person, person, run_setup

from holdfast.testing.script import Say
from holdfast.testing.scripted_provider import ScriptedProvider

__all__ = ("person",)


def test_its_models_are_offered_by_number(person: Person, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    with ScriptedProvider([(Say("ready"),)], key=None, models=("qwen3-coder", "llama3")) as server:
        answers = ("other", f"{server.url}/v1", "openai-chat", "home", "n", "2")
        _, chosen = run_setup(person, tmp_path, *answers, OPENAI_API_KEY="")
    assert chosen is not None
    assert chosen.name == "home:llama3"
    shown = capsys.readouterr().out
    assert f"Models at {server.url}/v1:" in shown
    assert "   1  qwen3-coder\n   2  llama3\n" in shown


def test_the_only_model_is_the_default(person: Person, tmp_path: Path) -> None:
    with ScriptedProvider([(Say("ready"),)], key=None, models=("only.gguf",)) as server:
        _, chosen = run_setup(person, tmp_path, "other", f"{server.url}/v1", "openai-chat", "home", "n", "")
    assert chosen is not None
    assert chosen.name == "home:only.gguf"


def test_a_wrong_answer_is_asked_for_again_and_nothing_else_is(
    person: Person, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    with ScriptedProvider([(Say("ready"),)], key=None) as server:
        run_setup(
            *(person, tmp_path, "other", "localhost:8080", "http://a b/v1", f"{server.url}/v1", "9", "openai-chat"),
            *("my server", "openai", "home", "n", "", "a b", "qwen"),
        )
    shown = capsys.readouterr().out
    assert shown.count("Not a valid URL") == 2
    assert shown.count("Invalid choice '9'") == 1
    assert "A name may have letters, digits, '.', '_' and '-'." in shown
    assert "A provider 'openai' already exists." in shown
    assert "Type a model's name, for example qwen3-coder." in shown
    assert "A model name has no spaces." in shown
    assert person.questions == [
        *("Number or name", *["Base URL, e.g. http://localhost:8080/v1"] * 3, *["Number or name"] * 2),
        *(*["Name (used as PREFIX:model)"] * 3, "Does it need an API key?", *["Model of home"] * 3),
    ]


def test_a_server_without_a_list_is_said_and_asked_for_by_name(
    person: Person, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    with ScriptedProvider([(Say("ready"),)], key=None) as server:
        _, chosen = run_setup(person, tmp_path, "other", f"{server.url}/v1", "openai-chat", "home", "n", "qwen")
    assert chosen is not None
    assert chosen.name == "home:qwen"
    assert (
        "The models of home could not be listed: the provider has no such list (status 404)." in capsys.readouterr().out
    )

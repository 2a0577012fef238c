"""The set-up in a real terminal: from nothing to a model that answers, and back out of it with nothing changed."""

from __future__ import annotations

import os
import stat
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from terminal import Key, Terminal

from holdfast.testing.script import Call, Say
from holdfast.testing.scripted_provider import ScriptedProvider
from polling import HANGS

GOOD, WRONG = "sk-test-of-the-set-up-0001", "sk-test-that-is-wrong-0002"
ANSWER = "The answer after the set-up."


@pytest.fixture
def provider() -> Iterator[ScriptedProvider]:
    with ScriptedProvider(key=GOOD) as provider:
        yield provider


class Fresh:
    """A machine on which holdfast was never used."""

    def __init__(self, folder: Path, provider: ScriptedProvider) -> None:
        self.home = folder / "home"
        self.work = folder / "work"
        self.home.mkdir()
        self.work.mkdir()
        self.environ = {
            **{name: os.environ[name] for name in ("PATH", "LANG", "PYTHONPATH") if name in os.environ},
            "HOME": str(self.home),
            "OPENAI_BASE_URL": f"{provider.url}/v1",
        }

    @property
    def files(self) -> list[str]:
        return sorted(str(path.relative_to(self.home)) for path in self.home.rglob("*") if path.is_file())

    def terminal(self, *arguments: str) -> Terminal:
        return Terminal(arguments, env=self.environ, cwd=self.work, columns=120, warm=True)

    def run(self, *arguments: str, **more: str) -> subprocess.CompletedProcess[str]:
        command = [sys.executable, "-m", "holdfast", *arguments]
        return subprocess.run(
            command,
            cwd=self.work,
            env={**self.environ, **more},
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=HANGS,
            check=False,
        )


@pytest.fixture
def fresh(tmp_path: Path, provider: ScriptedProvider) -> Fresh:
    return Fresh(tmp_path, provider)


def answer(terminal: Terminal, question: str, typed: str) -> None:
    terminal.wait_text(question)
    terminal.settle()
    terminal.send(f"{typed}\r")


def test_from_a_wrong_key_to_a_session_whose_commands_do_not_have_it(fresh: Fresh, provider: ScriptedProvider) -> None:
    provider.extend([Say("ready")])
    with fresh.terminal("setup") as terminal:
        answer(terminal, "Number or name", "openai-chat")
        answer(terminal, "API key .hidden", WRONG)
        answer(terminal, r"Model of openai-chat \[", "")
        terminal.wait_text("The key is wrong")
        assert f"at {provider.url}/v1 (OPENAI_BASE_URL)" in terminal.text()
        answer(terminal, r"Number or name \[key\]", "")
        answer(terminal, r"(?s)\[key\].*API key .hidden", GOOD)
        terminal.wait_text(r"OK \(")
        assert terminal.wait() == 0
        assert "Done. Run: holdfast" in terminal.text()
        for secret in (GOOD, WRONG):
            assert secret.encode() not in terminal.raw
    config, keys = ".config/holdfast/config.toml", ".local/state/holdfast/holdfast-keys.json"
    assert fresh.files == [config, keys]
    assert (fresh.home / config).read_text().strip() == 'model = "openai-chat:gpt-5.5"'
    assert stat.S_IMODE((fresh.home / keys).stat().st_mode) == 0o600

    look = "env; cat /proc/$PPID/environ | tr '\\0' '\\n'"
    provider.extend([Call("bash", {"command": look})], [Say(ANSWER)])
    ran = fresh.run("--yolo", "--debug", "--output-format", "stream-json", "-p", "look")
    assert ran.returncode == 0, ran.stderr
    assert ANSWER in ran.stdout
    assert "PATH=" in ran.stdout
    assert GOOD not in ran.stdout + ran.stderr
    holding = [name for name in fresh.files if GOOD.encode() in (fresh.home / name).read_bytes()]
    assert holding == [keys]
    assert "OPENAI_API_KEY is deleted" in fresh.run("setup", "--forget", "openai-chat").stdout
    assert "No API key for openai-chat" in fresh.run("-p", "again").stderr


@pytest.mark.parametrize("how", [Key.CTRL_C, Key.CTRL_D])
@pytest.mark.parametrize("at", ["provider", "key", "model"])
def test_leaving_changes_nothing_and_gives_the_terminal_back(fresh: Fresh, at: str, how: bytes) -> None:
    with fresh.terminal("setup") as terminal:
        if at != "provider":
            answer(terminal, "Number or name", "anthropic")
            if at == "model":
                answer(terminal, "API key .hidden", GOOD)
        terminal.wait_text({"provider": "Number or name", "key": "hidden", "model": "Model of"}[at])
        terminal.settle()
        terminal.send(how)
        assert terminal.wait() == 130
        assert "Nothing was changed." in terminal.text()
    assert fresh.files == []


def test_without_a_terminal_it_says_what_to_set_instead(fresh: Fresh) -> None:
    ran = fresh.run("setup")
    assert (ran.returncode, ran.stdout) == (2, "")
    assert "export ANTHROPIC_API_KEY" in ran.stderr
    assert "~/.config/holdfast/config.toml" in ran.stderr
    assert fresh.files == []


def test_a_server_of_ones_own_beside_what_the_config_says(fresh: Fresh) -> None:
    config = fresh.home / ".config/holdfast/config.toml"
    config.parent.mkdir(parents=True)
    config.write_text("# mine\n[limits]\nmax_steps = 7\n")
    with ScriptedProvider([[Say("ready")], [Say(ANSWER)]], key=None) as server:
        with fresh.terminal("setup") as terminal:
            answer(terminal, "Number or name", "other")
            answer(terminal, "Base URL", f"{server.url}/v1")
            answer(terminal, r"Number or name \[openai-chat\]", "")
            answer(terminal, "Name .used as PREFIX:model", "home")
            answer(terminal, "Does it need an API key", "n")
            answer(terminal, "Model of home", "small")
            terminal.wait_text(r"OK \(")
            assert terminal.wait() == 0
        text = config.read_text()
        assert 'model = "home:small"\n\n# mine\n[limits]\nmax_steps = 7\n' in text
        assert fresh.run("-p", "hello").stdout == f"{ANSWER}\n"
    assert fresh.files.count(".local/state/holdfast/holdfast-keys.json") == 0


def test_an_unreachable_server_is_reported_and_can_be_saved_anyway(fresh: Fresh) -> None:
    fresh.environ["OLLAMA_BASE_URL"] = "http://127.0.0.1:9/v1"
    with fresh.terminal("setup") as terminal:
        answer(terminal, "Number or name", "ollama")
        answer(terminal, "Model of ollama", "tiny")
        terminal.wait_text(r"Connection refused at 127\.0\.0\.1:9\. Is the server running")
        answer(terminal, r"Number or name \[again\]", "keep")
        assert terminal.wait() == 0
    assert (fresh.home / ".config/holdfast/config.toml").read_text().strip() == 'model = "ollama:tiny"'


def test_the_screen_of_a_fresh_machine_offers_it_and_comes_back(fresh: Fresh, provider: ScriptedProvider) -> None:
    provider.extend([Say("ready")], [Say(ANSWER)])
    with fresh.terminal() as terminal:
        terminal.wait_text("Set up a provider")
        assert "Use openai" not in terminal.text()
        terminal.send(Key.ENTER)
        answer(terminal, "Number or name", "openai-chat")
        answer(terminal, "API key .hidden", GOOD)
        answer(terminal, "Model of openai-chat", "")
        terminal.wait_text(r"OK \(")
        terminal.wait_absent(r"OK \(")  # the screen is drawn over it
        terminal.wait_text("Ask holdfast to do something")
        terminal.line("hello")
        terminal.wait_text("The answer after")
        terminal.wait_absent("esc to interrupt")
        terminal.line("/setup")
        terminal.wait_text("Number or name")
        terminal.settle()
        terminal.send(Key.CTRL_C)
        terminal.wait_text("Nothing was changed")
        terminal.wait_absent("Nothing was changed")
        terminal.wait_text("Ask holdfast to do something")
        terminal.wait_text("The answer after")
        terminal.send(Key.CTRL_D)
        assert terminal.wait() == 0
        assert GOOD.encode() not in terminal.raw


def test_the_screen_offers_what_the_environment_has_a_key_for(fresh: Fresh, provider: ScriptedProvider) -> None:
    fresh.environ["OPENAI_API_KEY"] = GOOD
    provider.extend([Say(ANSWER)])
    with fresh.terminal() as terminal:
        terminal.wait_text("Use openai-chat:gpt-5.5")
        terminal.send("openai-chat")
        terminal.wait_absent("demo model")
        terminal.send(Key.ENTER)
        terminal.wait_absent("Choose a model to start")
        terminal.line("hello")
        terminal.wait_text("The answer after")
        terminal.wait_absent("esc to interrupt")
        terminal.send(Key.CTRL_D)
        assert terminal.wait() == 0


def test_the_screen_shows_what_the_doctor_finds_and_every_setting(fresh: Fresh) -> None:
    fresh.environ["OPENAI_API_KEY"] = GOOD
    with fresh.terminal("-m", "openai-chat:small") as terminal:
        terminal.wait_text("Ask holdfast to do something")
        terminal.line("/doctor")
        terminal.wait_text("Setup check")
        terminal.wait_text(r"OPENAI_API_KEY \(environment\)")
        terminal.send(Key.ESC)
        terminal.wait_absent("Setup check")
        terminal.line("/config")
        terminal.wait_text(r'model +"openai-chat:small" +option')
        terminal.send(Key.ESC)
        terminal.wait_absent("option")
        terminal.send(Key.CTRL_D)
        assert terminal.wait() == 0
        assert GOOD.encode() not in terminal.raw

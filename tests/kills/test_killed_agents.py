"""Agents of other frameworks, killed in the second of two parallel calls and asked to continue.

With a ledger everything is known, the model reads what happened, and nothing runs twice. Without one, what is written
here is what these versions do: it is the reason for the ledger, and a change of it is news.
"""

from __future__ import annotations

import json
import os
import sqlite3
import subprocess
import sys
from collections.abc import Generator
from contextlib import closing, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from holdfast.testing import Call, Say, ScriptedProvider
from needs import KILLS
from polling import HANGS, eventually
from skips import require

HERE = Path(__file__).parent
SOURCE = HERE.parents[1] / "src"
SCRIPT = (
    (Call("deploy", {"step": "tag"}),),
    (Call("deploy", {"step": "upload"}), Call("deploy", {"step": "notify", "seconds": 3600})),
)
INTERRUPTED = "Interrupted: the process ended while this call was running. Effect unknown"


@dataclass(frozen=True)
class Seen:
    """What was seen after the kill: the effects, the result of each call that the model read, and its refusals."""

    effects: list[str]
    results: dict[str, str]
    prompts: list[str]
    refusals: tuple[str, ...]


@contextmanager
def agent(program: str, folder: Path, url: str, *words: str) -> Generator[subprocess.Popen[str]]:
    own = KILLS / program / "bin/python"
    python = sys.executable if program == "pydantic_ai" else str(own)
    environ = {"PATH": os.environ["PATH"], "HOME": str(folder), "PROVIDER": url, "PYTHONPATH": str(SOURCE)}
    with subprocess.Popen(
        [python, str(HERE / f"{program}_program.py"), *words],
        cwd=folder,
        env=environ,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    ) as process:
        try:
            yield process
        finally:
            process.kill()


def begun(effects: Path) -> set[str]:
    return set(effects.read_text().split()) if effects.exists() else set()


def ended(folder: Path) -> int:
    """Return how many calls have an end in the ledger: `tag` and `upload` will."""
    with closing(sqlite3.connect(f"file:{folder / 'calls.db'}?mode=ro", uri=True)) as ledger:
        found: int = ledger.execute("SELECT count(*) FROM call WHERE outcome = 'ok'").fetchone()[0]
    return found


def killed(program: str, folder: Path, again: str, *words: str, ends: bool = True) -> Seen:
    """Kill the agent while `notify` runs, start it with the prompt `again`, and return what was seen."""
    effects = folder / "effects"
    with ScriptedProvider(SCRIPT, after=(Say("ok"),), one_system=False) as provider:
        with agent(program, folder, provider.url, "Go", *words) as first:
            eventually(lambda: begun(effects) == {"tag", "upload", "notify"} or first.poll() is not None)
            eventually(lambda: "--plain" in words or ended(folder) == 2 or first.poll() is not None)
            assert first.poll() is None, first.communicate()[0]
        with agent(program, folder, provider.url, again, *words) as second:
            if ends:
                output = second.communicate(timeout=HANGS)[0]
                assert provider.refusals or second.returncode == 0, output
            else:
                eventually(lambda: effects.read_text().split().count("notify") > 1 or second.poll() is not None)
        body: dict[str, Any] = json.loads(provider.requests[-1].raw)
        results, prompts = from_gemini(body["contents"]) if "contents" in body else from_chat(body["messages"])
        return Seen(effects.read_text().split(), results, prompts, provider.refusals)


def from_chat(messages: list[dict[str, Any]]) -> tuple[dict[str, str], list[str]]:
    return (
        {each["tool_call_id"]: each["content"] for each in messages if each["role"] == "tool"},
        [each["content"] for each in messages if each["role"] == "user"],
    )


def from_gemini(contents: list[dict[str, Any]]) -> tuple[dict[str, str], list[str]]:
    parts = [part for each in contents if each["role"] == "user" for part in each["parts"]]
    returned = [part["functionResponse"] for part in parts if "functionResponse" in part]
    results = {f"{at}": each["response"]["result"] for at, each in enumerate(returned)}
    return results, [part["text"] for part in parts if "text" in part]


def expect_the_truth(seen: Seen) -> None:
    assert sorted(seen.effects) == ["notify", "tag", "upload"], "something ran twice"
    assert list(seen.results.values())[:2] == ["tag done", "upload done"]
    assert list(seen.results.values())[2].startswith(INTERRUPTED)
    assert seen.refusals == ()


def test_pydantic_ai_with_a_ledger(tmp_path: Path) -> None:
    require("kills")
    seen = killed("pydantic_ai", tmp_path, "Go on")
    expect_the_truth(seen)
    assert seen.prompts == ["Go", "Go on"]


def test_pydantic_ai_alone_forgets_the_turn_and_its_prompt(tmp_path: Path) -> None:
    require("kills")
    seen = killed("pydantic_ai", tmp_path, "Go on", "--plain")
    assert (seen.prompts, seen.results) == (["Go on"], {})


@pytest.mark.parametrize(("again", "prompts"), [("Go on", ["Go", "Go on"]), ("RESUME", ["Go"])])
def test_langgraph_with_a_ledger(tmp_path: Path, again: str, prompts: list[str]) -> None:
    require("kills")
    seen = killed("langgraph", tmp_path, again)
    expect_the_truth(seen)
    assert seen.prompts == prompts


def test_langgraph_alone_is_refused(tmp_path: Path) -> None:
    require("kills")
    seen = killed("langgraph", tmp_path, "Go on", "--plain")
    assert "tool_call" in seen.refusals[-1]


def test_langgraph_alone_runs_a_call_twice_when_it_is_resumed(tmp_path: Path) -> None:
    require("kills")
    seen = killed("langgraph", tmp_path, "RESUME", "--plain", ends=False)
    assert seen.effects.count("notify") == 2


def test_openai_agents_with_a_ledger(tmp_path: Path) -> None:
    require("kills")
    seen = killed("openai_agents", tmp_path, "Go on")
    expect_the_truth(seen)
    assert seen.prompts == ["Go", "Go on"]


def test_openai_agents_alone_forget_the_calls_of_the_open_step(tmp_path: Path) -> None:
    require("kills")
    seen = killed("openai_agents", tmp_path, "Go on", "--plain")
    assert (seen.prompts, list(seen.results.values())) == (["Go", "Go on"], ["tag done"])


def test_google_adk_with_a_ledger(tmp_path: Path) -> None:
    require("kills")
    seen = killed("google_adk", tmp_path, "Go on")
    expect_the_truth(seen)
    assert seen.prompts == ["Go", "Go on"]


def test_google_adk_alone_leaves_the_calls_of_the_open_step_out(tmp_path: Path) -> None:
    require("kills")
    seen = killed("google_adk", tmp_path, "Go on", "--plain")
    assert (seen.prompts, list(seen.results.values())) == (["Go", "Go on"], ["tag done"])

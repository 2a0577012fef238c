"""The commands `check` and `repair`, told what only the caller knows of a request: each option, and whole requests."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import pytest

from judges import judge
from launcher import launcher

USER: dict[str, Any] = {"role": "user", "content": "Look."}
IMAGE: dict[str, Any] = {"type": "image", "source": {"type": "url", "url": "https://example.org/x.png"}}
THOUGHT: dict[str, Any] = {"type": "thinking", "thinking": "hm", "signature": "s"}
USE: dict[str, Any] = {"type": "tool_use", "id": "toolu_1", "name": "read", "input": {}}
RESULT: dict[str, Any] = {"type": "tool_result", "tool_use_id": "toolu_1", "content": "x"}
CALLED: list[dict[str, Any]] = [
    USER,
    {"role": "assistant", "content": [THOUGHT, USE]},
    {"role": "user", "content": [RESULT]},
]
BARE: list[dict[str, Any]] = [USER, {"role": "assistant", "content": [USE]}, {"role": "user", "content": [RESULT]}]
ITEMS: list[dict[str, Any]] = [
    USER,
    {"type": "reasoning", "id": "rs_1", "summary": []},
    {"role": "assistant", "content": "so"},
    USER,
]
SEEN: list[dict[str, Any]] = [{"role": "user", "content": [IMAGE]}]
TOOLS: list[dict[str, Any]] = [{"name": "ls", "input_schema": {"type": "object"}}]
WRITTEN: dict[str, Any] = {
    "tools.json": TOOLS,
    "names.json": ["ls"],
    "body.json": {"tools": TOOLS},
    "none.json": [],
    "odd.json": [{}],
}


def run(folder: Path, *argv: str, document: object = None) -> tuple[int, str, str]:
    for name, content in {**WRITTEN, "a.json": document}.items():
        (folder / name).write_text(json.dumps(content))
    done = launcher().run(argv, cwd=folder, environ=os.environ)
    return done.returncode, done.stdout.decode(), done.stderr.decode()


@pytest.mark.parametrize(
    ("form", "document", "options", "rule"),
    [
        ("anthropic", SEEN, ("--text-only",), "media-unseen"),
        ("anthropic", CALLED, ("--signed-by", "another"), "thinking-foreign"),
        ("anthropic", CALLED, ("--signed-by", "openai"), "thinking-foreign"),
        ("anthropic", CALLED, ("--signed-by", "claude-b", "--model", "claude-a"), "thinking-foreign"),
        ("anthropic", CALLED, ("--tools", "none.json"), "tools-not-declared"),
        ("anthropic", BARE, ("--thinking", "on"), "thinking-not-first"),
        ("openai-responses", ITEMS, ("--store", "off"), "item-not-stored"),
    ],
)
def test_an_option_says_what_only_the_caller_knows(
    tmp_path: Path, form: str, document: object, options: tuple[str, ...], rule: str
) -> None:
    assert run(tmp_path, "check", "a.json", "--format", form, document=document)[0] == 0
    code, output, _ = run(tmp_path, "check", "a.json", "--format", form, "--json", *options, document=document)
    assert code == 4
    assert [each["rule"] for each in json.loads(output)["violations"]] == [rule]
    code, repaired, report = run(tmp_path, "repair", "a.json", "--format", form, *options, document=document)
    assert code == (4 if rule in ("thinking-not-first", "tools-not-declared") else 0), report
    if code == 0:
        code, *_ = run(tmp_path, "check", "a.json", "--format", form, *options, document=json.loads(repaired))
        assert code == 0


@pytest.mark.parametrize(
    "options", [("--thinking", "off"), ("--store", "on"), ("--model", "m"), ("--tools", "names.json")]
)
def test_what_changes_nothing_leaves_the_document_as_it_was(tmp_path: Path, options: tuple[str, ...]) -> None:
    code, written, _ = run(tmp_path, "repair", "a.json", "--format", "anthropic", *options, document=CALLED)
    assert code == 0
    assert written == json.dumps(CALLED)


@pytest.mark.parametrize("file", ["tools.json", "names.json", "body.json"])
def test_tools_are_names_or_as_a_request_has_them(tmp_path: Path, file: str) -> None:
    result: dict[str, Any] = {**RESULT, "content": [{"type": "tool_reference", "tool_name": "ls"}]}
    document: list[Any] = [*CALLED[:2], {"role": "user", "content": [result]}]
    assert run(tmp_path, "check", "a.json", "--format", "anthropic", document=document)[0] == 4
    assert run(tmp_path, "check", "a.json", "--format", "anthropic", "--tools", file, document=document)[0] == 0


def test_what_cannot_be_told_is_refused(tmp_path: Path) -> None:
    code, _, message = run(tmp_path, "check", "a.json", "--format", "anthropic", "--signed-by", "m", document=CALLED)
    assert code == 2
    assert "Name the model of the request too." in message
    code, _, message = run(tmp_path, "check", "a.json", "--format", "anthropic", "--tools", "odd.json", document=CALLED)
    assert code == 2
    assert "No tools in" in message


def test_a_stored_request_is_repaired_as_a_whole(tmp_path: Path) -> None:
    stored: dict[str, Any] = {
        "id": "msg_1",
        "role": "assistant",
        "model": "m",
        "content": [USE],
        "usage": {"input_tokens": 1},
    }
    body: dict[str, Any] = {
        "model": "m",
        "max_tokens": 2000,
        "thinking": {"type": "enabled", "budget_tokens": 1024},
        "messages": [USER, stored, {"role": "user", "content": [RESULT]}],
    }
    code, _, _ = run(tmp_path, "check", "a.json", document=body)
    assert code == 4
    code, written, report = run(tmp_path, "repair", "a.json", document=body)
    assert code == 0, report
    repaired = json.loads(written)
    judge("anthropic", repaired)
    assert repaired["messages"] == BARE
    assert repaired["thinking"] == {"type": "disabled"}
    assert [tool["name"] for tool in repaired["tools"]] == ["read"]
    assert "Thinking is off for this request" in report
    assert "those that were called are added: read" in report
    assert run(tmp_path, "repair", "a.json", document=repaired)[1] == json.dumps(repaired)


def test_the_options_are_in_the_help(tmp_path: Path) -> None:
    for command in ("check", "repair"):
        _, help_text, _ = run(tmp_path, command, "--help")
        for option in ("--model", "--thinking", "--text-only", "--tools", "--signed-by", "--store"):
            assert option in help_text

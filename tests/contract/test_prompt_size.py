"""What every first request carries stays small: system prompt, tools and facts, with all that is on by default."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

from holdfast.agent.context.system_prompt import folder_facts, system_prompt
from holdfast.tool_calls import ToolSchema
from holdfast.tools.builtin.declarations import DECLARATIONS, SCHEMAS
from holdfast.tools.tool_choice import SMALL_WINDOW, chosen_tools

MOST = 2_000
"""Tokens of a first request. Who adds a tool says how many it costs, and raises this."""
NEVER_MORE = 2_200
SMALL = 1_500
"""Tokens of a first request for a small context window."""

_PIECES = re.compile(r" ?[A-Za-z]+| ?\d{1,3}| ?[^\sA-Za-z\d]+|\s+")
_LONG_WORD, _LONG_MARKS = 11, 4


def tokens(text: str) -> int:
    """Return about how many tokens a text has, without a tokenizer, which would need the network.

    It is cut as the tokenizer o200k_base cuts first: into words with the blank before them, up to three digits, and
    runs of other characters. Each piece is one token, and one more if it is a long word, or for every four marks. For
    the prompt and the tools this is within 4 % of o200k_base (of 1,874 tokens it counts 1,857).
    """
    return sum(1 + _more(piece[0].strip(" ")) for piece in _PIECES.finditer(text))


def _more(piece: str) -> int:
    if piece[:1].isalpha():
        return int(len(piece) > _LONG_WORD)
    return max(0, (len(piece) - 1) // _LONG_MARKS)


def first_request(folder: Path, model: str, *, window: int = 0) -> str:
    """Return the text of a first request, as Chat Completions has it."""
    names = chosen_tools(model, window=window)
    tools = [
        {
            "type": "function",
            "function": {"name": each.name, "description": each.description, "parameters": each.parameters},
        }
        for each in DECLARATIONS
        if each.name in names
    ]
    said = [system_prompt(), folder_facts(folder, today="2026-11-28"), "hi"]
    return "\n".join([*said, json.dumps(tools, separators=(",", ":"), ensure_ascii=False)])


@pytest.mark.parametrize("model", ["openai:gpt-5.5", "anthropic:claude-sonnet-5-5"])
def test_a_first_request_is_small(tmp_path: Path, model: str) -> None:
    assert MOST <= NEVER_MORE
    assert tokens(first_request(tmp_path, model)) <= MOST


def test_a_small_window_gets_less(tmp_path: Path) -> None:
    assert tokens(first_request(tmp_path, "ollama:m", window=SMALL_WINDOW - 1)) <= SMALL


def test_the_count_sees_what_is_added() -> None:
    assert tokens("Read a text file, or look at an image.") == 11
    assert tokens('{"type":"object"}') == 5
    assert tokens("1234567") == 3
    assert tokens("uncharacteristically") == 2


_WORDS = {"type", "description", "properties", "required", "items", "enum"}


@pytest.mark.parametrize("schema", DECLARATIONS, ids=lambda schema: schema.name)
def test_a_declaration_has_only_words_that_a_model_needs(schema: ToolSchema) -> None:
    written = json.dumps(schema.parameters)
    arguments = set(re.findall(r'"(\w+)":', json.dumps(schema.parameters["properties"])))
    names = {
        name
        for each in SCHEMAS
        if each.name == schema.name
        for name in re.findall(r'"(\w+)": \{', json.dumps(each.parameters))
    }
    assert set(re.findall(r'"([a-zA-Z$]+)":', written)) <= _WORDS | names
    assert arguments

"""Prompts of servers as commands: their names, and what is typed behind them."""

from __future__ import annotations

import pytest

from holdfast.errors import UsageError
from holdfast.tools.mcp.prompt_commands import (
    ServerPrompt,
    chosen_prompt,
    known_commands,
    prompt_arguments,
    prompt_commands,
    typed_command,
)
from holdfast.tools.mcp.stored_tools import ListedPrompt, PromptArgument, ToolList

GREET = ListedPrompt(
    name="greet me",
    description="Greets.\nAt length.",
    arguments=(PromptArgument(name="who", required=True), PromptArgument(name="how")),
)
ASK = ListedPrompt(name="ask", arguments=(PromptArgument(name="what"),))
LISTED = ToolList(prompts=(GREET, ASK, ListedPrompt(name="bare")))


def command(name: str) -> ServerPrompt:
    return chosen_prompt(typed_command(f"/mcp__srv__{name}", ["srv", "other"]), LISTED)


def test_each_prompt_of_a_known_server_is_a_command() -> None:
    found = known_commands({"srv": LISTED, "new": None})
    assert [each.usage for each in found] == [
        "/mcp__srv__ask [WHAT]",
        "/mcp__srv__bare",
        "/mcp__srv__greet_me WHO [HOW]",
    ]
    assert [each.does for each in found] == ["prompt ask of srv", "prompt bare of srv", "Greets."]
    twice = (ListedPrompt(name="a b"), ListedPrompt(name="a_b"))
    assert [each.prompt.name for each in prompt_commands("srv", twice)] == ["a b"]


@pytest.mark.parametrize(
    ("words", "expected"),
    [
        ("ann", {"who": "ann"}),
        ("ann very nicely", {"who": "ann", "how": "very nicely"}),
        ("'ann lee' it's fine", {"who": "ann lee", "how": "it's fine"}),
        ('how="with care" ann', {"who": "ann", "how": "with care"}),
        ("who=ann", {"who": "ann"}),
        ("a=b c=d", {"who": "a=b", "how": "c=d"}),
        ("ann 'as ever'", {"who": "ann", "how": "as ever"}),
        ("ann one\ntwo", {"who": "ann", "how": "one\ntwo"}),
        ('"" x', {"who": "", "how": "x"}),
    ],
)
def test_arguments_are_words_and_the_last_takes_the_rest(words: str, expected: dict[str, str]) -> None:
    assert prompt_arguments(command("greet_me"), words) == expected


def test_what_does_not_fit_is_said() -> None:
    with pytest.raises(UsageError, match=r"Argument 'who' is missing. Usage: /mcp__srv__greet_me WHO \[HOW\]"):
        prompt_arguments(command("greet_me"), "")
    with pytest.raises(UsageError, match="Too many arguments"):
        prompt_arguments(command("greet_me"), "who=a how=b c")
    with pytest.raises(UsageError, match="takes no arguments"):
        prompt_arguments(command("bare"), "x")
    with pytest.raises(UsageError, match="offers /mcp__srv__ask, /mcp__srv__bare"):
        command("nothing")
    with pytest.raises(UsageError, match="no MCP server is called so \\(configured: a, b\\)"):
        typed_command("/mcp__c__x", ["b", "a"])

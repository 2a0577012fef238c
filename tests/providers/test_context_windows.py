"""Windows of models: known ones, and those nobody knows."""

from __future__ import annotations

import pytest

from holdfast.providers.context_windows import window_of


@pytest.mark.parametrize("name", ["anthropic:claude-sonnet-4-5", "openai-chat:gpt-5"])
def test_a_known_window(name: str) -> None:
    assert window_of(name) >= 100_000


@pytest.mark.parametrize("name", ["demo", "nobody:nothing", "anthropic:no-such-model", ""])
def test_an_unknown_window_is_none(name: str) -> None:
    assert window_of(name) == 0

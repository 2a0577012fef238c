"""The scripted Anthropic counts images and documents, those of results too."""

from __future__ import annotations

import pytest

from holdfast.testing.protocols.anthropic.messages_rules import check
from holdfast.testing.protocols.protocol import Refusal

IMAGE: dict[str, object] = {"type": "image", "source": {"type": "url", "url": "https://example.org/x.png"}}
FILE: dict[str, object] = {"type": "document", "source": {"type": "url", "url": "https://example.org/x.pdf"}}


def body(*blocks: dict[str, object]) -> dict[str, object]:
    return {"model": "m", "max_tokens": 1, "messages": [{"role": "user", "content": list(blocks)}]}


def test_a_hundred_are_taken_and_one_more_is_not() -> None:
    check(body(*(100 * [IMAGE])))
    with pytest.raises(Refusal, match="too many images and documents: 100 \\+ 1 > 100"):
        check(body(*(100 * [IMAGE]), FILE))

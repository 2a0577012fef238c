"""Whether a complete response is no answer: a model that ends its turn without a word has not done its work. Pure.

A response is an answer if it has a text that can be seen, or a call. One that ends with the reason for calls and has
none is broken, whatever its text says: the call that it announces was lost on the way. What stopped for another reason
(the output limit, a refusal) says so itself.
"""

from __future__ import annotations

import re

from holdfast.errors import ProviderFailed
from holdfast.providers.model import StreamFinished
from holdfast.session.journal.parts import CallPart, TextPart, ThinkingPart, Usage

_THOUGHTS = re.compile(r"<think(?:ing)?>.*?(?:</think(?:ing)?>|\Z)", re.DOTALL)
"""Thinking that a server left in the text."""


class EmptyAnswer(ProviderFailed):
    """A complete response of `model` that is no answer; its `usage` is None if the provider did not count it."""

    def __init__(self, model: str, why: str, usage: Usage) -> None:
        super().__init__(f"Model {model!r} gave no answer: {why}.", fault="empty")
        self.model = model
        self.usage = None if usage == Usage() else usage


def expect_answer(model: str, finished: StreamFinished) -> StreamFinished:
    """Return the response. Raise `EmptyAnswer` if it is no answer."""
    if why := why_empty(finished):
        raise EmptyAnswer(model, why, finished.usage)
    return finished


def why_empty(finished: StreamFinished) -> str:
    """Return why the response is no answer, "" if it is one."""
    if finished.finish not in ("stop", "calls") or any(isinstance(part, CallPart) for part in finished.parts):
        return ""
    if finished.finish == "calls":
        return "its response announces a tool call, and has none"
    if any(_is_visible(part.text) for part in finished.parts if isinstance(part, TextPart)):
        return ""
    thought = any(isinstance(part, ThinkingPart) for part in finished.parts) or bool(
        "".join(part.text for part in finished.parts if isinstance(part, TextPart)).strip()
    )
    return "its response has nothing but thinking" if thought else "its response is empty"


def _is_visible(text: str) -> bool:
    if any(each.isprintable() and not each.isspace() for each in text[:1]) and not text.startswith("<"):
        return True  # nearly every answer: nothing has to be searched
    return any(each.isprintable() and not each.isspace() for each in _THOUGHTS.sub("", text))

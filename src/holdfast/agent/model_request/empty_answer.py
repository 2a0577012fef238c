"""Whether a complete response is no answer: a model that ends its turn without a word has not done its work. Pure.

A response is an answer if it has a text that can be seen, or a call. One that ends with the reason for calls and has
none is broken, whatever its text says: the call that it announces was lost on the way. What stopped for another reason
(the output limit, a refusal) says so itself.

A text that ends with an announcement, "I will now read README.md:", is no answer either: behind the colon stands what
it announces, and there is nothing. Both marks are needed, the first person that is about to act and the colon (or dots)
at the very end. A colon alone may end code, a heading or a salutation. An intention with a full stop, "I'll now edit
the file.", may be the honest answer: to "what will you do?", or to "use tabs from now on". So it stays an answer, and a
run that ends with it a success; the user only reads a note (`step_not_done`), which is true in both cases. And what
repeats the user's words may be what they asked for.
"""

from __future__ import annotations

import re

from holdfast.errors import ProviderFailed
from holdfast.providers.model import StreamFinished
from holdfast.session.journal.parts import CallPart, TextPart, ThinkingPart, Usage

_THOUGHTS = re.compile(r"<think(?:ing)?>.*?(?:</think(?:ing)?>|\Z)", re.DOTALL)
"""Thinking that a server left in the text."""

_LAST_LINE = 400
"""Characters of the end of an answer to look at."""

_ANNOUNCES = re.compile(
    r"(?:\A|[.!?\u3002\uff01\uff1f]\s+|[,\uff0c]\s*)"
    r"(?:(?:okay|ok|sure|alright|now|next|first|then|so|and|but|finally|also)[,.!]?\s+){0,3}"
    r"(?:(?:(?:i|we) will|(?:i|we)['\u2019]ll|i(?: am|['\u2019]m) (?:going|about) to|let me|let us|let['\u2019]s)\s+"
    r"(?!(?:know|have|need|wait|await|be|not|never|see you)\b)\w"
    r"|ich werde\s|ich \w+e\s+(?:\w+\s+){0,3}?(?:jetzt|nun|zuerst)\b"
    r"|je vais\s|voy a\s|vamos a\s|vou\s|adesso\s+\w+o\s"
    r"|(?:\u73b0\u5728|\u63a5\u4e0b\u6765|\u9996\u5148)?[\uff0c,]?(?:\u8ba9\u6211|\u6211(?:\u5c06|\u4f1a|\u6765|\u5148|\u73b0\u5728|\u8981)))"
    r"[^.!?\u3002\uff01\uff1f]*(?:[.](?=\w)[^.!?\u3002\uff01\uff1f]*)*(?::|\uff1a|\.\.\.|\u2026)[*_\s]*\Z",
    re.IGNORECASE,
)
"""A last sentence in which the writer is about to act, up to the colon or the dots that end it."""


_STEP = re.compile(
    r"(?:\A|[.!?]\s+)(?:(?:okay|ok|sure|alright|great|so|then|next|first),?\s+)?"
    r"(?:let me|let['\u2019]s|(?:i|we)(?:['\u2019]ll| will| am going to|['\u2019]m going to|['\u2019]re going to)"
    r" (?:now|first|next|start|begin|go ahead|proceed))\s+"
    r"(?!(?:know|wait|await|be|not|never|stop|leave|have|need)\b)\w[^.!?]*(?:[.](?=\w)[^.!?]*)*[.!]\Z",
    re.IGNORECASE,
)
"""A last sentence with a step that the writer takes now."""

STEP_NOT_DONE = (
    "The answer ends with what the model is about to do, and it called no tool after that: this step is not done."
    ' Say "go on" to let it continue.'
)


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
    texts = [part.text for part in finished.parts if isinstance(part, TextPart)]
    text = "".join(texts)
    if any(map(_is_visible, texts)):
        return "it ends with what it is about to do, and does not do it" if _announces(text) else ""
    thought = any(isinstance(part, ThinkingPart) for part in finished.parts) or bool(text.strip())
    return "its response has nothing but thinking" if thought else "its response is empty"


def step_not_done(finished: StreamFinished) -> bool:
    """Return whether an answer without calls ends with a step that the model is about to take."""
    if finished.finish != "stop" or any(isinstance(part, CallPart) for part in finished.parts):
        return False
    text = "".join(part.text for part in finished.parts if isinstance(part, TextPart)).rstrip()
    line = text[-_LAST_LINE:].rpartition("\n")[2].strip(" >#*_-")
    return _STEP.search(line) is not None


def _is_visible(text: str) -> bool:
    if any(each.isprintable() and not each.isspace() for each in text[:1]) and not text.startswith("<"):
        return True  # nearly every answer: nothing has to be searched
    return any(each.isprintable() and not each.isspace() for each in _THOUGHTS.sub("", text))


def _announces(text: str) -> bool:
    """Return whether the last sentence announces what is not there."""
    end = text.rstrip().rstrip("*_")
    if not end.endswith((":", "\uff1a", "...", "\u2026")):
        return False  # nearly every answer
    line = text.rstrip()[-_LAST_LINE:].rpartition("\n")[2].lstrip(" >#*_-")
    return _ANNOUNCES.search(line) is not None

"""Rules on the length of texts and of the arguments of calls."""

from __future__ import annotations

from collections.abc import Iterator

from holdfast.history.rules.profile import Profile
from holdfast.history.rules.rule import Rule, RuleFinding
from holdfast.history.shape import Shape

_TOO_LONG = "string too long. Expected a string with maximum length"

RULES = (
    Rule(
        "text-too-long",
        "No text has more characters than the provider accepts.",
        {
            "openai-chat": f"Invalid 'messages[{{message}}].content': {_TOO_LONG} 10485760, but got a string with"
            " length {length} instead.",
            "openai-responses": f"Invalid 'input[{{message}}].content': {_TOO_LONG} 10485760, but got a string with"
            " length {length} instead.",
            "openai-compatible/Qwen": "String value length ({length}) exceeds the maximum allowed (20000000, from"
            " `StreamReadConstraints.getMaxStringLength()`)",
        },
    ),
    Rule(
        "arguments-too-long",
        "Arguments have no more characters than the provider accepts.",
        {
            "openai-responses": f"Invalid 'input[{{message}}].arguments': {_TOO_LONG} 1048576, but got a string with"
            " length {length} instead.",
        },
    ),
    Rule(
        "arguments-too-deep",
        "Arguments are not nested deeper than the provider accepts.",
        {},
    ),
)

_RULE = {"text": "text-too-long", "arguments": "arguments-too-long", "depth": "arguments-too-deep"}


def find(shape: Shape, profile: Profile) -> Iterator[RuleFinding]:
    """Yield every text, and the arguments of every call, that is too long."""
    limits = profile.texts
    sentences = {
        "text": f"The text has {{}} characters, at most {limits.text} are accepted",
        "arguments": f"The arguments have {{}} characters, at most {limits.arguments} are accepted",
        "depth": f"The arguments are nested {{}} levels deep, at most {limits.depth} are accepted",
    }
    for message in shape.messages:
        for long in message.long_texts:
            yield RuleFinding(_RULE[long.limit], long.path, sentences[long.limit].format(long.size), size=long.size)

"""Where a judge and `check` are known to disagree, in both directions, each with the reason and an example.

Two rules. Nothing is listed that a conversation may really have: that is a rule. A test asserts that each still holds.
"""

from __future__ import annotations

from dataclasses import dataclass

from judges import JUDGES

Json = dict[str, object]

USER: Json = {"role": "user", "content": "x"}
ASSISTANT: Json = {"role": "assistant", "content": "x"}
IMAGE = "https://example.org/x.png"
SOUND: Json = {"type": "input_audio", "input_audio": {"data": "eA==", "format": "wav"}}


def called(call: str, **fields: object) -> Json:
    function = {"name": "read", "arguments": "{}"}
    listed = [{"id": call, "type": "function", "function": function}]
    return {"role": "assistant", "content": None, "tool_calls": listed, **fields}


def returned(call: str, **fields: object) -> Json:
    return {"role": "tool", "tool_call_id": call, "content": "x", **fields}


def said_in(role: str, *content: Json) -> Json:
    return {"role": role, "content": list(content)}


def used(**fields: object) -> list[object]:
    """Return a call with thinking, and its result, as Anthropic has them, with further fields in the result."""
    thinking: Json = {"type": "thinking", "thinking": "x", "signature": "x"}
    call: Json = {"type": "tool_use", "id": "a", "name": "read", "input": {}}
    result: Json = {"type": "tool_result", "tool_use_id": "a", **fields}
    return [USER, said_in("assistant", thinking, call), said_in("user", result)]


@dataclass(frozen=True, slots=True)
class Refused:
    """What a judge refuses in these words though we let it pass: why, and an example that shows it.

    `general` tells that the words are said of other things too, so that they excuse nothing else.
    """

    judges: tuple[str, ...]
    words: str
    why: str
    form: str
    example: list[object]
    general: bool = False


THOUGHT: Json = {"type": "thinking", "thinking": [{"type": "text", "text": "x"}]}
REFUSED = (
    Refused(
        ("mistral-v3", "mistral-v7"),
        "Unexpected content chunk types in assistant message: ['ThinkChunk']",
        "Models of these versions do not think; those of Mistral's that think get their thinking back.",
        "openai-chat",
        [USER, said_in("assistant", THOUGHT, {"type": "text", "text": "x"}), USER],
    ),
    Refused(
        ("mistral-v3",),
        "either content or tool_calls, but not both",
        "Models of the third version take no text beside calls. Those that Mistral serves today are of later versions"
        " and do, and to part a response in two would change what the model did.",
        "openai-chat",
        [USER, called("abcdefgh1", content="x"), returned("abcdefgh1")],
    ),
    Refused(
        ("mistral-v3",),
        "Unexpected content chunk types in user message: ['AudioChunk']",
        "It is of the model: those that hear take sound, and the conversation does not say which is asked.",
        "openai-chat",
        [said_in("user", SOUND)],
    ),
    Refused(
        ("mistral-v7",),
        "audio chunks in messages at indexes",
        "The same: models that hear take a system message since the eighth version.",
        "openai-chat",
        [{"role": "system", "content": "x"}, said_in("user", SOUND)],
    ),
    Refused(
        ("template-mistral-v3",),
        "Assistant message cannot have both content and tool calls.",
        "The same of the template that those models are served with.",
        "openai-chat",
        [USER, called("abcdefgh1", content="x"), returned("abcdefgh1")],
    ),
    Refused(
        ("template-mistral-v3", "template-mistral-v7", "template-mistral-v11", "template-mistral-v13"),
        "Only text, image and image_url chunks are supported in user message content.",
        "Sound, once more: the templates of models that hear take it.",
        "openai-chat",
        [said_in("user", SOUND)],
    ),
    Refused(
        ("anthropic",),
        "('BetaToolResultBlockParam', 'is_error') Input should be a valid boolean",
        "Null for a flag that may be left out: programs write it of a result that did not fail, and no refusal of it is"
        " known.",
        "anthropic",
        used(is_error=None),
    ),
    Refused(
        ("deepseek", "deepseek-thinking"),
        "prefix set true with message which is not final message",
        "It asks something of the last message when it is sent, and no part of what was said.",
        "openai-chat",
        [USER, {**ASSISTANT, "prefix": True}, USER],
    ),
    Refused(
        ("deepseek", "deepseek-thinking"),
        "invalid type: null, expected variant identifier",
        "Responses let a message leave its kind out, and nobody was seen to write null for it.",
        "openai-responses",
        [{"type": None, **USER}],
    ),
    Refused(
        ("openai-responses",),
        "'ItemReference', 'id') Field required",
        "The same: null for the kind of a message.",
        "openai-responses",
        [{"type": None, **USER}],
    ),
    Refused(
        ("deepseek", "deepseek-thinking"),
        "No tool call found for tool output with call_id a",
        "A result of another kind than the call whose id it has: the ids say that they belong together.",
        "openai-responses",
        [
            USER,
            {"type": "reasoning", "summary": [], "content": [{"type": "reasoning_text", "text": "x"}]},
            {"type": "local_shell_call", "call_id": "a", "action": {"type": "exec", "command": ["ls"], "env": {}}},
            {"type": "function_call_output", "call_id": "a", "output": "x"},
        ],
        general=True,
    ),
)
"""What a judge refuses and `check` does not tell."""


@dataclass(frozen=True, slots=True)
class Taken:
    """What a judge accepts though we report it for its provider: by which rule, why, and an example that shows it."""

    judge: str
    rule: str
    why: str
    form: str
    example: list[object]


_NO_MEANING = "The format has no meaning for it, and the judge does not look there."

TAKEN = (
    Taken("deepseek", "consecutive-roles", "DeepSeek's reasoning model refused it.", "openai-chat", [USER, USER]),
    Taken(
        "deepseek",
        "unknown-role",
        "A role of DeepSeek's own, of which no document tells: what it means there is not known.",
        "openai-chat",
        [{"role": "latest_reminder", "content": "x"}, ASSISTANT, USER],
    ),
    Taken(
        "deepseek",
        "unknown-role",
        "In Messages the system prompt stands beside them; that it may stand inside is only the judge's word.",
        "anthropic",
        [USER, {"role": "system", "content": "x"}, ASSISTANT, USER],
    ),
    Taken("deepseek", "unknown-role", _NO_MEANING, "openai-responses", [{"type": "x"}, ASSISTANT, USER]),
    Taken(
        "deepseek",
        "call-without-result",
        "It leaves out kinds of calls that it does not know, and what it leaves out is lost.",
        "openai-responses",
        [USER, {"type": "shell_call", "call_id": "a", "action": {"commands": ["ls"]}}],
    ),
    Taken(
        "deepseek",
        "thinking-foreign",
        "It leaves out what only OpenAI can read.",
        "openai-responses",
        [USER, {"type": "reasoning", "summary": [], "encrypted_content": "x"}, ASSISTANT, USER],
    ),
    Taken("deepseek", "empty-content", _NO_MEANING, "openai-responses", [{"role": "user", "content": []}]),
    Taken(
        "deepseek",
        "block-misplaced",
        _NO_MEANING,
        "openai-chat",
        [USER, said_in("assistant", {"type": "image_url", "image_url": {"url": IMAGE}}), USER],
    ),
    Taken(
        "deepseek",
        "tool-name-illegal",
        "A call without a name is refused, and an empty one names no tool either.",
        "anthropic",
        [
            USER,
            said_in("assistant", {"type": "tool_use", "id": "a", "name": "", "input": {}}),
            said_in("user", {"type": "tool_result", "tool_use_id": "a"}),
        ],
    ),
    Taken(
        "mistral-v13",
        "call-id-length",
        "Models before the thirteenth version want nine letters.",
        "openai-chat",
        [USER, called("a"), returned("a")],
    ),
    Taken(
        "mistral-v13",
        "user-after-result",
        "Mistral's servers refuse it, of all versions, in the words that an older judge had for it.",
        "openai-chat",
        [USER, called("abcdefgh1"), returned("abcdefgh1"), USER],
    ),
    Taken("cohere", "call-without-result", _NO_MEANING, "openai-chat", [USER, called("a"), USER]),
    Taken(
        "cohere",
        "developer-role",
        "The judge's reader translates it; Cohere has no such role.",
        "openai-chat",
        [{"role": "developer", "content": "x"}, USER],
    ),
)
"""What a judge accepts and `check` reports for its provider."""


def refusal(name: str, form: str, messages: list[object]) -> str:
    """Return the words the judge refuses with, "" if it accepts or is known to disagree."""
    words = JUDGES[name].refusal(form, messages)
    known = any(name in each.judges and each.words in words for each in REFUSED if not each.general)
    return "" if known else words

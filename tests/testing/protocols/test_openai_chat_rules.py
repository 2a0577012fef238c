"""What OpenAI's Chat Completions refuses, each rule by its smallest bad body, and what it accepts."""

from __future__ import annotations

import pytest

from holdfast.testing.script import Say
from holdfast.testing.scripted_provider import ScriptedProvider
from http_calls import CHAT, ask
from judges import judge
from request_bodies import GOOD_CHAT, SYSTEM, USER, Json, called, chat, function_tool, returned

DEVELOPER = "developer in place of system"  # DeepSeek knows no such role

UNANSWERED = (
    "An assistant message with 'tool_calls' must be followed by tool messages responding to each 'tool_call_id'."
    " The following tool_call_ids did not have response messages: "
)
ORPHAN = "Invalid parameter: messages with role 'tool' must be a response to a preceeding message with 'tool_calls'."
NO_CONTENT = "Invalid value for 'content': expected a string, got null."
EMPTY = "empty array. Expected an array with minimum length 1, but got an empty array instead."
AN_OBJECT = "but got an object instead."
LONG = "string too long. Expected a string with maximum length"
NAME = "'^[a-zA-Z0-9_-]+$'."
PATTERN = f"string does not match pattern. Expected a string that matches the pattern {NAME}"
SPEAKER = r"'^[^\s<|\\/>]+$'."
EMPTY_TEXT = "empty string. Expected a string with minimum length 1, but got an empty string instead."
ROLES = "Supported values are: 'system', 'assistant', 'user', 'function', 'tool', and 'developer'."
NOT_JSON = (
    "We could not parse the JSON body of your request. (HINT: This likely means you aren't using your HTTP library"
    " correctly. The OpenAI API expects a JSON payload, but what was sent was not valid JSON. If you have trouble"
    " figuring out how to fix this, please contact us through our help center at help.openai.com.)"
)
TOO_MANY = "array too long. Expected an array with maximum length 128, but got an array with length 129 instead."

A_41 = "i" * 41
NOTHING: Json = {"role": "assistant", "content": None}

REFUSED: list[tuple[str, object, str, str | None, str | None]] = [
    ("no model", {"messages": [USER]}, "you must provide a model parameter", None, None),
    (
        "no messages",
        {"model": "m"},
        "Missing required parameter: 'messages'.",
        "messages",
        "missing_required_parameter",
    ),
    ("unknown parameter", chat(USER, foo=1), "Unknown parameter: 'foo'.", "foo", "unknown_parameter"),
    (
        "unknown field",
        chat(USER | {"state": 1}),
        "Unknown parameter: 'messages[0].state'.",
        "messages[0].state",
        "unknown_parameter",
    ),
    (
        "a field of another role",
        chat(USER | {"tool_call_id": "a"}),
        "Unknown parameter: 'messages[0].tool_call_id'.",
        "messages[0].tool_call_id",
        "unknown_parameter",
    ),
    (
        "an image without its address",
        chat({"role": "user", "content": [{"type": "image_url", "image_url": {"detail": "low"}}]}),
        "Missing required parameter: 'messages[0].content[0].image_url.url'.",
        "messages[0].content[0].image_url.url",
        "missing_required_parameter",
    ),
    (
        "an image as seen by nobody",
        chat({"role": "user", "content": [{"type": "image_url", "image_url": {"url": "x", "detail": "best"}}]}),
        "Invalid value: 'best'. Supported values are: 'auto', 'low', 'high', and 'original'.",
        "messages[0].content[0].image_url.detail",
        "invalid_value",
    ),
    ("no message", chat(), f"Invalid 'messages': {EMPTY}", "messages", "empty_array"),
    (
        "unknown role",
        chat({"role": "bogus", "content": "x"}),
        f"Invalid value: 'bogus'. {ROLES}",
        "messages[0].role",
        "invalid_value",
    ),
    (
        "no role",
        chat({"content": "x"}),
        "Missing required parameter: 'messages[0].role'.",
        "messages[0].role",
        "missing_required_parameter",
    ),
    (
        "content of a wrong type",
        chat({"role": "user", "content": {"text": "x"}}),
        f"Invalid type for 'messages[0].content': expected one of a string or array of objects, {AN_OBJECT}",
        "messages[0].content",
        "invalid_type",
    ),
    (
        "arguments as an object",
        chat(USER, called("a", arguments={}), returned("a")),
        f"Invalid type for 'messages[1].tool_calls[0].function.arguments': expected a string, {AN_OBJECT}",
        "messages[1].tool_calls[0].function.arguments",
        "invalid_type",
    ),
    ("an unanswered call", chat(USER, called("a")), f"{UNANSWERED}a", "messages", None),
    (
        "a call answered by the user",
        chat(USER, called("a", "b", "c"), returned("b"), USER),
        f"{UNANSWERED}a, c",
        "messages.[3].role",
        None,
    ),
    (
        "a result after something else",
        chat(USER, called("a"), USER, returned("a")),
        f"{UNANSWERED}a",
        "messages.[2].role",
        None,
    ),
    ("a result without a call", chat(USER, returned("a")), ORPHAN, "messages.[1].role", None),
    (
        "a result after the answer",
        chat(USER, called("a"), returned("a"), {"role": "assistant", "content": "x"}, returned("a")),
        ORPHAN,
        "messages.[4].role",
        None,
    ),
    (
        "a result of another call",
        chat(USER, called("a"), returned("b")),
        "Invalid parameter: 'tool_call_id' of 'b' not found in 'tool_calls' of previous message.",
        "messages.[2].tool_call_id",
        None,
    ),
    (
        "an id twice in a turn",
        chat(USER, called("a", "a"), returned("a")),
        "Duplicate value for 'tool_call_id' of a in message[1]",
        None,
        None,
    ),
    (
        "a second result",
        chat(USER, called("a"), returned("a"), returned("a")),
        "Duplicate value for 'tool_call_id' of a in message[3]",
        None,
        None,
    ),
    (
        "an id of 41",
        chat(USER, called(A_41), returned(A_41)),
        f"Invalid 'messages[1].tool_calls[0].id': {LONG} 40, but got a string with length 41 instead.",
        "messages[1].tool_calls[0].id",
        "string_above_max_length",
    ),
    (
        "a result's id of 41",
        chat(USER, called("a"), returned(A_41)),
        f"Invalid 'messages[2].tool_call_id': {LONG} 40, but got a string with length 41 instead.",
        "messages[2].tool_call_id",
        "string_above_max_length",
    ),
    (
        "no calls in the array",
        chat(USER, called()),
        f"Invalid 'messages[1].tool_calls': {EMPTY}",
        "messages[1].tool_calls",
        "empty_array",
    ),
    (
        "129 calls",
        chat(USER, called(*(f"c{i}" for i in range(129)))),
        f"Invalid 'messages[1].tool_calls': {TOO_MANY}",
        "messages[1].tool_calls",
        "array_above_max_length",
    ),
    (
        "129 tools",
        chat(USER, tools=[function_tool(f"t{i}") for i in range(129)]),
        f"Invalid 'tools': {TOO_MANY}",
        "tools",
        "array_above_max_length",
    ),
    (
        "a tool name with a dot",
        chat(USER, tools=[function_tool("a.b")]),
        f"Invalid 'tools[0].function.name': {PATTERN}",
        "tools[0].function.name",
        "invalid_value",
    ),
    (
        "a tool name of 65",
        chat(USER, tools=[function_tool("n" * 65)]),
        f"Invalid 'tools[0].function.name': {LONG} 64, but got a string with length 65 instead.",
        "tools[0].function.name",
        "string_above_max_length",
    ),
    (
        "an empty tool name",
        chat(USER, tools=[function_tool("")]),
        f"Invalid 'tools[0].function.name': {EMPTY_TEXT}",
        "tools[0].function.name",
        "empty_string",
    ),
    (
        "a speaker of two words",
        chat(USER | {"name": "a b"}),
        f"Invalid 'messages[0].name': {PATTERN.removesuffix(NAME)}{SPEAKER}",
        "messages[0].name",
        "invalid_value",
    ),
    (
        "a speaker without a name",
        chat(USER | {"name": ""}),
        f"Invalid 'messages[0].name': {EMPTY_TEXT}",
        "messages[0].name",
        "empty_string",
    ),
    (
        "a speaker of 65",
        chat(USER | {"name": "n" * 65}),
        f"Invalid 'messages[0].name': {LONG} 64, but got a string with length 65 instead.",
        "messages[0].name",
        "string_above_max_length",
    ),
    (
        "a bad name in the history",
        chat(USER, called("a", name="a b"), returned("a")),
        f"Invalid 'messages[1].tool_calls[0].function.name': {PATTERN}",
        "messages[1].tool_calls[0].function.name",
        "invalid_value",
    ),
    ("an assistant that says nothing", chat(USER, NOTHING, USER), NO_CONTENT, "messages.[1].content", None),
    ("no content at all", chat({"role": "user"}), NO_CONTENT, "messages.[0].content", None),
    (
        "a null in place of content",
        chat(USER, NOTHING | {"tool_calls": None}),
        NO_CONTENT,
        "messages.[1].content",
        None,
    ),
    ("a result of null", chat(USER, called("a"), returned("a", None)), NO_CONTENT, "messages.[2].content", None),
    (
        "a developer that says nothing",
        chat(USER, {"role": "developer", "content": None}),
        "Missing required parameter: 'messages[1].content'.",
        "messages[1].content",
        "missing_required_parameter",
    ),
    (
        "a result with sound",
        chat(USER, called("a"), returned("a", [{"type": "input_audio"}])),
        "Invalid 'messages[2]'. Content blocks are expected to be either text or image_url type.",
        "messages[2]",
        "invalid_value",
    ),
    (
        "usage without a stream",
        chat(USER, stream_options={"include_usage": True}),
        "The 'stream_options' parameter is only allowed when 'stream' is enabled.",
        "stream_options",
        None,
    ),
    ("a cut body", b'{"model": "m", "messages": [', NOT_JSON, None, None),
    (
        "raw surrogates",
        b'{"model": "m", "messages": [{"role": "user", "content": "\xed\xa0\xbd"}]}',
        NOT_JSON,
        None,
        None,
    ),
    (
        "an escaped lone surrogate",
        rb'{"model": "m", "messages": [{"role": "user", "content": "\ud83d"}]}',
        NOT_JSON,
        None,
        None,
    ),
    ("a key twice", b'{"model": "m", "model": "m", "messages": []}', NOT_JSON, None, None),
    ("no number", b'{"model": "m", "messages": [], "temperature": NaN}', NOT_JSON, None, None),
    (
        "of two faults the earlier check",
        chat(NOTHING, {"role": "bogus"}),
        f"Invalid value: 'bogus'. {ROLES}",
        "messages[1].role",
        "invalid_value",
    ),
    ("missing content last", chat(NOTHING, called("a")), f"{UNANSWERED}a", "messages", None),
]


@pytest.mark.parametrize(
    ("body", "message", "param", "code"), [case[1:] for case in REFUSED], ids=[case[0] for case in REFUSED]
)
def test_refuses(body: object, message: str, param: str | None, code: str | None) -> None:
    provider = ScriptedProvider([(Say("never said"),)])
    response = ask(provider, CHAT, body)
    error = {"message": message, "type": "invalid_request_error", "param": param, "code": code}
    assert (response.status_code, response.json()) == (400, {"error": error})
    assert provider.refusals == (message,)
    assert [request.ended for request in provider.requests] == ["refused"]
    assert ask(provider, CHAT, chat(SYSTEM, USER)).json()["choices"][0]["message"]["content"] == "never said"


@pytest.mark.parametrize("body", GOOD_CHAT.values(), ids=GOOD_CHAT)
def test_accepts(body: Json) -> None:
    provider = ScriptedProvider([(Say("ok"),)])
    assert ask(provider, CHAT, body).status_code == 200
    assert provider.refusals == ()


def test_asks_for_the_key() -> None:
    missing = ask(ScriptedProvider(), CHAT, chat(USER), headers={})
    assert missing.status_code == 401
    assert missing.json()["error"]["message"].startswith("You didn't provide an API key. You need to provide")
    wrong = ask(ScriptedProvider(), CHAT, chat(USER), headers={"authorization": "Bearer your_api_key_here"})
    assert wrong.status_code == 401
    assert wrong.json()["error"] == {
        "message": "Incorrect API key provided: your_api*****here."
        " You can find your API key at https://platform.openai.com/account/api-keys.",
        "type": "invalid_request_error",
        "param": None,
        "code": "invalid_api_key",
    }


@pytest.mark.parametrize("body", [body for name, body in GOOD_CHAT.items() if name != DEVELOPER])
def test_the_judge_accepts_too(body: Json) -> None:
    judge("openai-chat", body)

"""What Anthropic's Messages refuses, each rule by its smallest bad body, and what it accepts."""

from __future__ import annotations

import pytest

from holdfast.testing.script import Call, Say, Think
from holdfast.testing.scripted_provider import ScriptedProvider
from http_calls import MESSAGES, ask
from judges import judge
from request_bodies import GOOD_ANTHROPIC, SCHEMA, USER, Json, anthropic, assistant, result, text, thinking, use, user

UNANSWERED = (
    "messages.1: `tool_use` ids were found without `tool_result` blocks immediately after: {}. Each `tool_use` block"
    " must have a corresponding `tool_result` block in the next message."
)
ORPHAN = (
    "messages.{}: unexpected `tool_use_id` found in `tool_result` blocks: {}. Each `tool_result` block must have a"
    " corresponding `tool_use` block in the previous message."
)
EMPTY = "messages.{}: all messages must have non-empty content except for the optional final assistant message"
NON_EMPTY = "messages: text content blocks must be non-empty"
NON_BLANK = "messages: text content blocks must contain non-whitespace text"
PREFILL = "This model does not support assistant message prefill. The conversation must end with a user message."
FOREIGN = "messages.1.content.0: Invalid `signature` in `thinking` block"
MODIFIED = (
    "messages.1.content.{}: `thinking` or `redacted_thinking` blocks in the latest assistant message cannot be"
    " modified. These blocks must remain as they were in the original response."
)
MUST_THINK = (
    "messages.1.content.0.type: Expected `thinking` or `redacted_thinking`, but found `{}`. When `thinking` is enabled,"
    " a final `assistant` message must start with a thinking block (preceeding the lastmost set of `tool_use` and"
    " `tool_result` blocks). We recommend you include thinking blocks from previous turns. To avoid this requirement,"
    " disable `thinking`. Please consult our documentation at"
    " https://docs.claude.com/en/docs/build-with-claude/extended-thinking"
)
NOT_ENABLED = (
    "messages.1.content.0: When thinking is disabled, an `assistant` message in the final position cannot contain"
    " `thinking`. To use thinking blocks, enable `thinking` in your request."
)
ADVICE = (
    "messages.1.content.0: unexpected `tool_use_id` found in `advisor_tool_result` blocks: s1. Each"
    " `advisor_tool_result` block must have a corresponding `server_tool_use` block before it."
)
ID = "String should match pattern '^[a-zA-Z0-9_-]+$'"
NAME = "String should match pattern '^[a-zA-Z0-9_-]{1,128}$'"
BAD_JSON = "The request body is not valid JSON: "
CACHED = {"cache_control": {"type": "ephemeral"}}
AN_HOUR: Json = {"type": "ephemeral", "ttl": "1h"}
SHORTER_FIRST = (
    "a ttl='1h' cache_control block must not come after a ttl='5m' cache_control block. Note that blocks are processed"
    " in the following order: `tools`, `system`, `messages`."
)
PICTURE: Json = {"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": "QQ=="}}
ON: Json = {"type": "enabled", "budget_tokens": 1024}
ADVICE_RESULT: Json = {"type": "advisor_result", "text": "x"}
ADVISED: Json = {"type": "advisor_tool_result", "tool_use_id": "s1", "content": ADVICE_RESULT}

TAGS = (
    "'text', 'image', 'document', 'search_result', 'thinking', 'redacted_thinking', 'tool_use', 'tool_result',"
    " 'server_tool_use', 'web_search_tool_result', 'web_fetch_tool_result', 'advisor_tool_result',"
    " 'code_execution_tool_result', 'bash_code_execution_tool_result', 'text_editor_code_execution_tool_result',"
    " 'tool_search_tool_result'"
)


def _minted() -> list[Json]:
    """Return two thinking blocks as the provider itself signs them."""
    provider = ScriptedProvider([(Think("first"), Think("second"), Call("read", {}))])
    content = ask(provider, MESSAGES, anthropic(USER, thinking=ON)).json()["content"]
    assert [block["type"] for block in content] == ["thinking", "thinking", "tool_use"]
    return content


FIRST, SECOND, _ = _minted()

REFUSED: list[tuple[str, object, str]] = [
    ("no model", {"max_tokens": 1, "messages": [USER]}, "model: Field required"),
    ("no limit", {"model": "m", "messages": [USER]}, "max_tokens: Field required"),
    ("no messages", {"model": "m", "max_tokens": 1}, "messages: Field required"),
    ("unknown parameter", anthropic(USER, foo=1), "foo: Extra inputs are not permitted"),
    ("unknown field of a message", anthropic(USER | {"id": "x"}), "messages.0.id: Extra inputs are not permitted"),
    (
        "unknown field of a block",
        anthropic(user(text("x", id="y"))),
        "messages.0.content.0.text.id: Extra inputs are not permitted",
    ),
    (
        "unknown block",
        anthropic(user({"type": "sound"})),
        f"messages.0.content.0: Input tag 'sound' found using 'type' does not match any of the expected tags: {TAGS}",
    ),
    (
        "an image without its type",
        anthropic(user({"type": "image", "source": {"type": "base64", "data": "QQ=="}})),
        "messages.0.content.0.image.source.base64.media_type: Field required",
    ),
    (
        "a mark that is none",
        anthropic(user(text("x", cache_control={"type": "forever"}))),
        "messages.0.content.0.text.cache_control.type: Input should be 'ephemeral'",
    ),
    (
        "a result that may be an error",
        anthropic(USER, assistant(use("a")), user(result("a") | {"is_error": "no"})),
        "messages.2.content.0.tool_result.is_error: Input should be a valid boolean",
    ),
    (
        "an error with an image",
        anthropic(USER, assistant(use("a")), user(result("a", [text("no"), PICTURE]) | {"is_error": True})),
        "messages.2.content.0.tool_result: all content must be type `text` if `is_error` is true",
    ),
    (
        "an error without words",
        anthropic(USER, assistant(use("a")), user(result("a", "") | {"is_error": True})),
        "messages.2.content.0.tool_result: content cannot be empty if `is_error` is true",
    ),
    (
        "an hour behind five minutes, inside a result",
        anthropic(
            user(text("x", **CACHED)), assistant(use("a")), user(result("a", [text("x", cache_control=AN_HOUR)]))
        ),
        f"messages.2.content.0.tool_result.content.0.cache_control.ttl: {SHORTER_FIRST}",
    ),
    (
        "an hour in the system prompt behind five minutes of a tool",
        anthropic(
            USER, tools=[{"name": "read", "input_schema": SCHEMA} | CACHED], system=[text("x", cache_control=AN_HOUR)]
        ),
        f"system.0.cache_control.ttl: {SHORTER_FIRST}",
    ),
    (
        "thinking behind the words",
        anthropic(USER, assistant(FIRST, text("so"), SECOND), USER, thinking=ON),
        "messages.1: The final block in an assistant message cannot be `thinking`.",
    ),
    ("a number of tokens as text", anthropic(USER, max_tokens="1"), "max_tokens: Input should be a valid integer"),
    ("no message", anthropic(), "messages: at least one message is required"),
    ("no content", anthropic({"role": "user"}), "messages.0.content: Field required"),
    ("unknown role", anthropic(USER | {"role": "tool"}), "messages.0.role: Input should be 'user' or 'assistant'"),
    ("an unanswered call", anthropic(USER, assistant(use("a"))), UNANSWERED.format("a")),
    (
        "one of two answered",
        anthropic(USER, assistant(use("a"), use("b")), user(result("b"))),
        UNANSWERED.format("a"),
    ),
    ("a call answered by the user", anthropic(USER, assistant(use("a")), USER), UNANSWERED.format("a")),
    (
        "text before the result",
        anthropic(USER, assistant(use("a")), user(text("x"), result("a"))),
        UNANSWERED.format("a"),
    ),
    ("a result too late", anthropic(USER, assistant(use("a")), USER, user(result("a"))), UNANSWERED.format("a")),
    (
        "results in two messages",
        anthropic(USER, assistant(use("a"), use("b")), user(result("a")), user(result("b"))),
        UNANSWERED.format("b"),
    ),
    ("a result first", anthropic(user(result("a"))), ORPHAN.format("0.content.0", "a")),
    (
        "a result of another call",
        anthropic(USER, assistant(use("a")), user(result("a"), result("b"))),
        ORPHAN.format("2.content.1", "b"),
    ),
    (
        "a second result",
        anthropic(USER, assistant(use("a")), user(result("a"), result("a"))),
        "messages.2.content.1: each tool_use must have a single result. Found multiple `tool_result` blocks with id: a",
    ),
    (
        "an id twice in a turn",
        anthropic(USER, assistant(use("a"), use("a")), user(result("a"))),
        "messages.1.content.1: `tool_use` ids must be unique",
    ),
    (
        "an id twice in a conversation",
        anthropic(USER, assistant(use("a")), user(result("a")), assistant(use("a")), user(result("a"))),
        "messages.3.content.0: `tool_use` ids must be unique",
    ),
    (
        "an id of another vendor",
        anthropic(USER, assistant(use("functions.bash:0")), user(result("functions.bash:0"))),
        f"messages.1.content.0.tool_use.id: {ID}",
    ),
    (
        "a result's id of another vendor",
        anthropic(USER, assistant(use("a")), user(result("a|b"))),
        f"messages.2.content.0.tool_result.tool_use_id: {ID}",
    ),
    (
        "a name in the history",
        anthropic(USER, assistant(use("a", name="a b")), user(result("a"))),
        f"messages.1.content.0.tool_use.name: {NAME}",
    ),
    ("a tool's name", anthropic(USER, tools=[{"name": "a.b", "input_schema": SCHEMA}]), f"tools.0.custom.name: {NAME}"),
    ("empty text", anthropic(user(text(""))), NON_EMPTY),
    ("blank text", anthropic(user(text(" \n"))), NON_BLANK),
    ("blank text as a string", anthropic({"role": "user", "content": " "}), NON_BLANK),
    ("empty text in a result", anthropic(USER, assistant(use("a")), user(result("a", [text("")]))), NON_EMPTY),
    ("an empty message", anthropic({"role": "user", "content": ""}), EMPTY.format(0)),
    ("a message of no blocks", anthropic(USER, assistant(), USER), EMPTY.format(1)),
    (
        "a cache marker on nothing",
        anthropic(user(text("x"), text("", **CACHED))),
        "messages.0.content.1.text: cache_control cannot be set for empty text blocks",
    ),
    (
        "a cache marker on no system prompt",
        anthropic(USER, system=[text("", **CACHED)]),
        "system.0: cache_control cannot be set for empty text blocks",
    ),
    (
        "trailing whitespace",
        anthropic(USER, assistant(text("so "))),
        "final assistant content cannot end with trailing whitespace",
    ),
    ("a trailing assistant", anthropic(USER, assistant(text("so"))), PREFILL),
    ("an empty trailing assistant", anthropic(USER, assistant()), PREFILL),
    ("the assistant first", anthropic(assistant(text("x")), USER), 'messages: first message must use the "user" role'),
    (
        "a result by the assistant",
        anthropic(USER, assistant(result("a")), USER),
        "messages.1: `tool_result` blocks can only be in `user` messages",
    ),
    (
        "a call by the user",
        anthropic(user(use("a"))),
        "messages.0: `tool_use` blocks can only be in `assistant` messages",
    ),
    (
        "input of no object",
        anthropic(USER, assistant(use("a", "{}")), user(result("a"))),
        "messages.1.content.0.tool_use.input: Input should be a valid dictionary",
    ),
    ("a foreign signature", anthropic(USER, assistant(thinking("x", "Zm9yZWlnbg==")), USER), FOREIGN),
    ("a signature that is none", anthropic(USER, assistant(thinking("x", "?")), USER), FOREIGN),
    (
        "no signature",
        anthropic(USER, assistant({"type": "thinking", "thinking": "x"}), USER),
        "messages.1.content.0.thinking.signature: Field required",
    ),
    (
        "altered thinking",
        anthropic(USER, assistant(FIRST | {"thinking": "worst"}), USER, assistant(text("x")), USER),
        FOREIGN,
    ),
    ("altered latest thinking", anthropic(USER, assistant(FIRST | {"thinking": "worst"}), USER), MODIFIED.format(0)),
    ("emptied latest thinking", anthropic(USER, assistant(FIRST | {"thinking": ""}), USER), MODIFIED.format(0)),
    ("latest thinking in another order", anthropic(USER, assistant(SECOND, FIRST), USER), MODIFIED.format(0)),
    ("latest thinking without its first", anthropic(USER, assistant(SECOND), USER), MODIFIED.format(0)),
    ("thinking of two responses in one", anthropic(USER, assistant(FIRST, FIRST), USER), MODIFIED.format(1)),
    (
        "redacted thinking",
        anthropic(USER, assistant({"type": "redacted_thinking", "data": "x"}), USER),
        "messages.1.content.0: Invalid `data` in `redacted_thinking` block",
    ),
    (
        "an open turn without thinking",
        anthropic(USER, assistant(use("a")), user(result("a")), thinking=ON),
        MUST_THINK.format("tool_use"),
    ),
    (
        "an open turn with text before thinking",
        anthropic(USER, assistant(text("x"), FIRST, use("a")), user(result("a")), thinking=ON),
        MUST_THINK.format("text"),
    ),
    ("thinking last though it is off", anthropic(USER, assistant(FIRST)), NOT_ENABLED),
    (
        "a system message first",
        anthropic({"role": "system", "content": "x"}, USER),
        "messages.0: use the top-level 'system' parameter for the initial system prompt",
    ),
    (
        "a system message",
        anthropic(USER, {"role": "system", "content": "x"}),
        "role 'system' is not supported on this model",
    ),
    ("advice nobody asked for", anthropic(USER, assistant(ADVISED), USER), ADVICE),
    (
        "a result of no blocks",
        anthropic(USER, assistant(use("a")), user(result("a", []))),
        "messages.2.content.0.tool_result.content: List should have at least 1 item after validation, not 0",
    ),
    ("a lone surrogate", rb'{"model": "\ud83d"}', f"{BAD_JSON}no low surrogate in string: line 1 column 18 (char 17)"),
    (
        "half a pair and more",
        rb'{"m": "\ud83d\n"}',
        f"{BAD_JSON}no low surrogate in string: line 1 column 14 (char 13)",
    ),
    ("a second half", rb'{"m": "\udc00"}', f"{BAD_JSON}invalid high surrogate in string: line 1 column 8 (char 7)"),
    (
        "two first halves",
        rb'{"m": "\ud83d\ud83d"}',
        f"{BAD_JSON}invalid low surrogate in string: line 1 column 14 (char 13)",
    ),
    ("a cut body", b'{"model": "m', f"{BAD_JSON}unexpected end of data: line 1 column 13 (char 12)"),
    ("no body", b"", f"{BAD_JSON}unexpected end of data: line 1 column 1 (char 0)"),
    ("no JSON", b'{"model": m}', f"{BAD_JSON}unexpected character: line 1 column 11 (char 10)"),
    ("a key twice", b'{"model": "m", "model": "n"}', f"{BAD_JSON}duplicate key 'model' in object"),
]


@pytest.mark.parametrize(("body", "message"), [case[1:] for case in REFUSED], ids=[case[0] for case in REFUSED])
def test_refuses(body: object, message: str) -> None:
    provider = ScriptedProvider([(Say("never said"),)])
    response = ask(provider, MESSAGES, body)
    assert (response.status_code, response.json()) == (
        400,
        {
            "type": "error",
            "error": {"type": "invalid_request_error", "message": message},
            "request_id": response.headers["request-id"],
        },
    )
    assert provider.refusals == (message,)
    assert ask(provider, MESSAGES, anthropic(USER)).json()["content"] == [{"type": "text", "text": "never said"}]


GOOD = GOOD_ANTHROPIC | {
    "signed thinking": anthropic(USER, assistant(FIRST, SECOND, use("a")), user(result("a")), thinking=ON),
    "thinking though it is off": anthropic(USER, assistant(FIRST, use("a")), user(result("a"))),
    "earlier thinking removed": anthropic(
        USER, assistant(text("x")), USER, assistant(FIRST, use("a")), user(result("a")), thinking=ON
    ),
    "earlier thinking in another order": anthropic(
        USER, assistant(SECOND, FIRST, text("x")), USER, assistant(text("x")), USER
    ),
    "thinking that the next message goes on from": anthropic(
        USER, assistant(text("x"), FIRST), assistant(text("y")), USER, thinking=ON
    ),
    "an hour before five minutes": anthropic(user(text("x", cache_control=AN_HOUR), text("y", **CACHED))),
    "a second step that does not think": anthropic(
        USER, assistant(FIRST, use("a")), user(result("a")), assistant(use("b")), user(result("b")), thinking=ON
    ),
    "adaptive thinking may not think": anthropic(
        USER, assistant(use("a")), user(result("a")), thinking={"type": "adaptive"}
    ),
    "a pair of surrogates": anthropic({"role": "user", "content": "\U0001f600 \\ud83d"}),
}


@pytest.mark.parametrize("body", GOOD.values(), ids=GOOD)
def test_accepts(body: Json) -> None:
    provider = ScriptedProvider([(Say("ok"),)])
    assert ask(provider, MESSAGES, body).status_code == 200
    assert provider.refusals == ()


@pytest.mark.parametrize("body", GOOD.values(), ids=GOOD)
def test_the_judge_accepts_too(body: Json) -> None:
    judge("anthropic", body)


@pytest.mark.parametrize(
    ("headers", "status", "kind", "message"),
    [
        ({}, 401, "authentication_error", "x-api-key header is required"),
        ({"x-api-key": "other"}, 401, "authentication_error", "invalid x-api-key"),
        ({"authorization": "Bearer other"}, 401, "authentication_error", "Invalid bearer token"),
        ({"x-api-key": "test-key"}, 400, "invalid_request_error", "anthropic-version: header is required"),
    ],
)
def test_asks_for_the_key_and_the_version(headers: dict[str, str], status: int, kind: str, message: str) -> None:
    response = ask(ScriptedProvider(), MESSAGES, anthropic(USER), headers=headers)
    assert response.status_code == status
    assert response.json()["error"] == {"type": kind, "message": message}


def test_takes_the_key_as_a_bearer_token() -> None:
    provider = ScriptedProvider([(Say("ok"),)])
    headers = {"authorization": "Bearer test-key", "anthropic-version": "2026-10-21"}
    assert ask(provider, MESSAGES, anthropic(USER), headers=headers).status_code == 200


@pytest.mark.parametrize(
    ("betas", "status"),
    [
        (None, 400),
        ("compact-2026-01-12", 400),
        ("compact-2026-01-12, thinking-binding-controls-2026-08-01", 200),
    ],
)
def test_takes_the_controls_of_bound_thinking_only_with_their_beta(betas: str | None, status: int) -> None:
    binding: Json = {"type": "adaptive", "block_binding": {"prefix_mismatch_behavior": "drop_block"}}
    headers = {"x-api-key": "test-key", "anthropic-version": "2023-06-01"} | (
        {"anthropic-beta": betas} if betas else {}
    )
    provider = ScriptedProvider([(Say("ok"),)])
    response = ask(provider, MESSAGES, anthropic(USER, thinking=binding), headers=headers)
    assert response.status_code == status
    refused = "thinking.adaptive.block_binding: Extra inputs are not permitted"
    assert provider.refusals == (() if status == 200 else (refused,)), provider.refusals

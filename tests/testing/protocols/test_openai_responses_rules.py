"""What OpenAI's Responses refuses, each rule by its smallest bad body, what it accepts, and how it streams."""

from __future__ import annotations

import json

import pytest

from holdfast.testing.protocols.signatures import sign
from holdfast.testing.script import Call, Finish, Say, Think
from holdfast.testing.scripted_provider import ScriptedProvider
from http_calls import RESPONSES, ask
from judges import judge
from request_bodies import SCHEMA, Json

USER: Json = {"role": "user", "content": "hi"}
SAID: Json = {"role": "assistant", "content": "ok"}
EMPTY_TEXT = "empty string. Expected a string with minimum length 1, but got an empty string instead."
PATTERN = "string does not match pattern. Expected a string that matches the pattern '^[a-zA-Z0-9_-]+$'."
LONG = "string too long. Expected a string with maximum length"
NOT_STORED = (
    "not found. Items are not persisted when `store` is set to false. Try again with `store` set to true, or remove"
    " this item from your input."
)
UNREADABLE = "could not be verified. Reason: Encrypted content could not be decrypted or parsed."
LED = "was provided without its required following item."


def request(*items: Json, **more: object) -> Json:
    return {"model": "gpt-test", "input": list(items), **more}


def call(identifier: str, *, name: str = "read", **more: object) -> Json:
    return {"type": "function_call", "call_id": identifier, "name": name, "arguments": "{}", **more}


def output(identifier: str, content: object = "ok") -> Json:
    return {"type": "function_call_output", "call_id": identifier, "output": content}


def thought(text: str = "hm", *, seal: str | None = None, **more: object) -> Json:
    sealed = sign(text, place=0) if seal is None else seal
    return {
        "type": "reasoning",
        "summary": [{"type": "summary_text", "text": text}],
        "encrypted_content": sealed,
        **more,
    }


def tool(**more: object) -> Json:
    return {"type": "function", "name": "read", "parameters": SCHEMA, **more}


GOOD: dict[str, Json] = {
    "one question": request(USER),
    "a text": {"model": "m", "input": "hi"},
    "with a system prompt": request({"role": "system", "content": "be brief"}, USER, tools=[tool()]),
    "a call and its result": request(USER, call("a"), output("a")),
    "calls answered in another order": request(USER, call("a"), call("b"), output("b"), output("a"), USER),
    "a result in parts": request(USER, call("a"), output("a", [{"type": "input_text", "text": "ok"}])),
    "reasoning and what it led to": request(USER, thought(), SAID, USER),
    "reasoning and a call": request(USER, thought(), thought("and"), call("a"), output("a")),
    "reasoning with all ids": request(USER, thought(id="rs_1_0"), call("a", id="fc_1_1_rs0"), output("a")),
    "parts of messages": request(
        {"type": "message", "role": "user", "content": [{"type": "input_text", "text": "hi"}]},
        {"role": "assistant", "content": [{"type": "output_text", "text": "ok"}]},
        USER,
    ),
    "the seal asked for": request(USER, include=["reasoning.encrypted_content"], store=False),
}

REFUSED: list[tuple[str, Json, str, str | None, str | None]] = [
    ("no model", {"input": "hi"}, "Missing required parameter: 'model'.", "model", "missing_required_parameter"),
    (
        "no input",
        {"model": "m"},
        "One of \"input\" or \"previous_response_id\" or 'prompt' or 'conversation' must be provided.",
        None,
        None,
    ),
    (
        "an empty input",
        request(),
        "Invalid 'input': empty array. Expected an array with minimum length 1, but got an empty array instead.",
        "input",
        "empty_array",
    ),
    (
        "unknown parameter",
        request(USER, messages=[]),
        "Unknown parameter: 'messages'.",
        "messages",
        "unknown_parameter",
    ),
    (
        "unknown field",
        request(USER | {"name": "x"}),
        "Unknown parameter: 'input[0].name'.",
        "input[0].name",
        "unknown_parameter",
    ),
    (
        "a status that there is not",
        request(USER, call("a", status="done"), output("a")),
        "Invalid value: 'done'. Supported values are: 'in_progress', 'completed', and 'incomplete'.",
        "input[1].status",
        "invalid_value",
    ),
    (
        "a summary's part without its kind",
        request(USER, {**thought(), "summary": [{"text": "hm"}]}, SAID),
        "Missing required parameter: 'input[1].summary[0].type'.",
        "input[1].summary[0].type",
        "missing_required_parameter",
    ),
    (
        "unknown role",
        request({"role": "tool", "content": "x"}),
        "Invalid value: 'tool'. Supported values are: 'assistant', 'system', 'developer', and 'user'.",
        "input[0]",
        "invalid_value",
    ),
    (
        "a part of another protocol",
        request({"role": "user", "content": [{"type": "text", "text": "hi"}]}),
        "Invalid value: 'text'. Supported values are: 'input_text', 'input_image', and 'input_file'.",
        "input[0].content[0]",
        "invalid_value",
    ),
    (
        "no content",
        request({"role": "user"}),
        "Missing required parameter: 'input[0].content'.",
        "input[0].content",
        "missing_required_parameter",
    ),
    (
        "a tool of the other protocol",
        request(USER, tools=[{"type": "function", "function": {"name": "read"}}]),
        "Missing required parameter: 'tools[0].name'.",
        "tools[0].name",
        "missing_required_parameter",
    ),
    ("an unanswered call", request(USER, call("a")), "No tool output found for function call a.", "input", None),
    (
        "a result without a call",
        request(USER, output("a")),
        "No tool call found for function call output with call_id a.",
        "input",
        None,
    ),
    (
        "a result before its call",
        request(USER, output("a"), call("a")),
        "No tool call found for function call output with call_id a.",
        "input",
        None,
    ),
    (
        "a second result",
        request(USER, call("a"), output("a"), output("a")),
        "Duplicate tool output for call_id: a.",
        "input",
        None,
    ),
    (
        "an id in a later turn again",
        request(USER, call("a"), output("a"), USER, call("a"), output("a")),
        "Duplicate 'call_id': a.",
        "input",
        None,
    ),
    (
        "an id of 65",
        request(USER, call("i" * 65), output("i" * 65)),
        f"Invalid 'input[1].call_id': {LONG} 64, but got a string with length 65 instead.",
        "input[1].call_id",
        "string_above_max_length",
    ),
    (
        "an empty id",
        request(USER, call(""), output("")),
        f"Invalid 'input[1].call_id': {EMPTY_TEXT}",
        "input[1].call_id",
        "empty_string",
    ),
    (
        "a bad name in the history",
        request(USER, call("a", name="a b"), output("a")),
        f"Invalid 'input[1].name': {PATTERN}",
        "input[1].name",
        "invalid_value",
    ),
    (
        "arguments as an object",
        request(USER, call("a", arguments={}), output("a")),
        "Invalid type for 'input[1].arguments': expected a string, but got an object instead.",
        "input[1].arguments",
        "invalid_type",
    ),
    (
        "an item's id without its prefix",
        request(USER, call("a", id="call_a"), output("a")),
        "Invalid 'input[1].id': 'call_a'. Expected an ID that begins with 'fc'.",
        "input[1].id",
        "invalid_value",
    ),
    (
        "an item twice",
        request(USER, call("a", id="fc_1"), output("a"), call("b", id="fc_1"), output("b")),
        "Duplicate item found with id fc_1. Remove duplicate items from your input and try again.",
        "input",
        None,
    ),
    (
        "reasoning without a summary",
        request(USER, {"type": "reasoning", "encrypted_content": "x"}, SAID),
        "Missing required parameter: 'input[1].summary'.",
        "input[1].summary",
        "missing_required_parameter",
    ),
    (
        "reasoning that is sealed elsewhere",
        request(USER, thought(seal="Zm9yZWlnbg==", id="rs_1_0"), SAID),
        f"The encrypted content for item rs_1_0 {UNREADABLE}",
        None,
        "invalid_encrypted_content",
    ),
    (
        "reasoning that was altered",
        request(USER, thought(seal=sign("other", place=0)), SAID),
        f"The encrypted content for item None {UNREADABLE}",
        None,
        "invalid_encrypted_content",
    ),
    (
        "reasoning that led to nothing",
        request(USER, thought(), USER),
        f"Item 'None' of type 'reasoning' {LED}",
        "input",
        None,
    ),
    ("reasoning last", request(USER, thought(id="rs_1_0")), f"Item 'rs_1_0' of type 'reasoning' {LED}", "input", None),
    (
        "reasoning with an id before an answer without one",
        request(USER, thought(id="rs_1_0"), SAID),
        f"Item 'rs_1_0' of type 'reasoning' {LED}",
        "input",
        None,
    ),
    (
        "a call under its id without the reasoning",
        request(USER, call("a", id="fc_1_1_rs0"), output("a")),
        "Item 'fc_1_1_rs0' of type 'function_call' was provided without its required 'reasoning' item: 'rs_1_0'.",
        "input",
        None,
    ),
    (
        "the seal of a model that never reasons",
        request(USER, include=["reasoning.encrypted_content"]) | {"model": "gpt-4o"},
        "Encrypted content is not supported with this model.",
        "include",
        None,
    ),
    (
        "going on from what is not kept",
        request(USER, previous_response_id="resp_1"),
        "Previous response with id 'resp_1' not found.",
        "previous_response_id",
        "previous_response_not_found",
    ),
]


@pytest.mark.parametrize(
    ("body", "message", "param", "code"), [case[1:] for case in REFUSED], ids=[case[0] for case in REFUSED]
)
def test_refuses(body: Json, message: str, param: str | None, code: str | None) -> None:
    provider = ScriptedProvider([(Say("never said"),)])
    response = ask(provider, RESPONSES, body)
    error = {"message": message, "type": "invalid_request_error", "param": param, "code": code}
    assert (response.status_code, response.json()) == (400, {"error": error})
    assert provider.refusals == (message,)
    items = ask(provider, RESPONSES, request(USER)).json()["output"]
    assert [item["content"][0]["text"] for item in items] == ["never said"]


@pytest.mark.parametrize(
    "item", [thought(seal="", id="rs_1_0") | {"encrypted_content": None}, {"type": "item_reference", "id": "rs_1_0"}]
)
def test_an_id_alone_is_not_found(item: Json) -> None:
    response = ask(ScriptedProvider(), RESPONSES, request(USER, item, SAID))
    assert (response.status_code, response.json()["error"]["message"]) == (404, f"Item with id 'rs_1_0' {NOT_STORED}")


@pytest.mark.parametrize("body", GOOD.values(), ids=GOOD)
def test_accepts(body: Json) -> None:
    provider = ScriptedProvider([(Say("ok"),)])
    assert ask(provider, RESPONSES, body).status_code == 200
    assert provider.refusals == ()


@pytest.mark.parametrize("body", [body for body in GOOD.values() if not isinstance(body["input"], str)])
def test_the_judge_accepts_too(body: Json) -> None:
    judge("openai-responses", body)


def test_asks_for_the_key() -> None:
    assert ask(ScriptedProvider(), RESPONSES, request(USER), headers={}).status_code == 401


def test_streams_items_as_the_service_does() -> None:
    script = [(Think("hm"), Say("Let me "), Say("look."), Call("read", {"path": "a"}, chunk=5, id="mine"))]
    body = request(USER, stream=True, include=["reasoning.encrypted_content"])
    provider = ScriptedProvider([*script, *script])
    events = [
        json.loads(line.removeprefix("data: "))
        for line in ask(provider, RESPONSES, body).text.splitlines()
        if line.startswith("data: ")
    ]
    assert [event["sequence_number"] for event in events] == list(range(len(events)))
    kinds = [event["type"].removeprefix("response.") for event in events]
    assert [kind for at, kind in enumerate(kinds) if kind != kinds[at - 1]] == [
        "created",
        "in_progress",
        *("output_item.added", "reasoning_summary_part.added"),
        *("reasoning_summary_text.delta", "reasoning_summary_text.done"),
        *("reasoning_summary_part.done", "output_item.done"),
        *("output_item.added", "content_part.added", "output_text.delta", "output_text.done"),
        *("content_part.done", "output_item.done"),
        *("output_item.added", "function_call_arguments.delta", "function_call_arguments.done", "output_item.done"),
        "completed",
    ]
    final = events[-1]["response"]
    done = [event["item"] for event in events if event["type"] == "response.output_item.done"]
    assert final["output"] == done
    assert [item["id"] for item in done] == ["rs_1_0", "msg_1_1_rs0", "fc_1_2"]
    assert done[0]["encrypted_content"] == sign("hm", place=0)
    assert done[1]["content"][0]["text"] == "Let me look."
    assert (done[2]["call_id"], done[2]["arguments"]) == ("mine", '{"path": "a"}')
    assert final["usage"]["output_tokens"] > 0
    answer = ask(provider, RESPONSES, request(USER)).json()  # which does not ask for the seal
    assert [item["type"] for item in answer["output"]] == ["reasoning", "message", "function_call"]
    assert answer["output"][0]["encrypted_content"] is None


@pytest.mark.parametrize(("reason", "why"), [("length", "max_output_tokens"), ("refusal", "content_filter")])
def test_says_why_it_is_not_complete(reason: str, why: str) -> None:
    provider = ScriptedProvider([(Say("half"), Finish(reason))])  # pyright: ignore[reportArgumentType] - one of the reasons
    response = ask(provider, RESPONSES, request(USER)).json()
    assert (response["status"], response["incomplete_details"]) == ("incomplete", {"reason": why})

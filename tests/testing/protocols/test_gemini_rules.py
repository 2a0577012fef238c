"""What Google's Gemini refuses, each rule by its smallest bad body, what it accepts, and how it speaks."""

from __future__ import annotations

import json
from typing import Any

import pytest

from holdfast.testing.script import Call, Fail, Finish, FinishReason, Ping, Reply, Say, Think
from holdfast.testing.scripted_provider import ScriptedProvider
from http_calls import GEMINI, GEMINI_OLD, GEMINI_STREAM, ask
from judges import judge
from request_bodies import (
    GOOD_GEMINI,
    HI,
    SCHEMA,
    SKIPPED,
    USER,
    Json,
    chat,
    function_call,
    function_response,
    gemini,
    model,
    turn,
)

CALLS_AFTER = (
    "Please ensure that function call turn comes immediately after a user turn or after a function response turn."
)
RESPONSES_AFTER = "Please ensure that function response turn comes immediately after a function call turn."
AS_MANY = (
    "Please ensure that the number of function response parts is equal to the number of function call parts of the"
    " function call turn."
)
UNSIGNED = (
    "Function call is missing a thought_signature in functionCall parts. This is required for tools to work correctly,"
    " and missing thought_signature may lead to degraded model performance. Additional data, function call"
    " `default_api:{}` , position {}. Please refer to https://ai.google.dev/gemini-api/docs/thought-signatures for more"
    " details."
)
NO_DATA = "* GenerateContentRequest.{}.data: required oneof field 'data' must have one initialized field"
NO_NAME = "* GenerateContentRequest.{}.name: Name cannot be empty."
BAD_NAME = (
    "* GenerateContentRequest.tools[0].function_declarations[0].name: Invalid function name. Must start with a letter"
    " or an underscore. Must be alphameric (a-z, A-Z, 0-9), underscores (_), dots (.), colons (:), or dashes (-), with"
    " a maximum length of 64."
)
NOTHING: list[Json] = []
ROLE = "Please use a valid role: user, model."


def declared(*names: str) -> list[Json]:
    return [{"functionDeclarations": [{"name": name, "parametersJsonSchema": SCHEMA}]} for name in names]


REFUSED: list[tuple[str, object, str]] = [
    ("no contents", {}, "* GenerateContentRequest.contents: contents is not specified"),
    ("empty contents", gemini(), "* GenerateContentRequest.contents: contents is not specified"),
    (
        "a field of another protocol",
        {"messages": [USER]},
        'Invalid JSON payload received. Unknown name "messages": Cannot find field.',
    ),
    (
        "unknown field of a content",
        gemini(HI | {"id": "x"}),
        "Invalid JSON payload received. Unknown name \"id\" at 'contents[0]': Cannot find field.",
    ),
    (
        "unknown field of a part",
        gemini(turn({"text": "hi", "type": "text"})),
        "Invalid JSON payload received. Unknown name \"type\" at 'contents[0].parts[0]': Cannot find field.",
    ),
    (
        "unknown field of a call",
        gemini(HI, model(function_call(arguments="{}")), turn(function_response())),
        (
            'Invalid JSON payload received. Unknown name "arguments" at'
            " 'contents[1].parts[0].function_call': Cannot find field."
        ),
    ),
    ("a text that is none", gemini(turn({"text": 5})), "Invalid value at 'contents[0].parts[0].text' (TYPE_STRING), 5"),
    (
        "arguments that are text",
        gemini(HI, model(function_call(args="{}")), turn(function_response())),
        (
            "Invalid value at 'contents[1].parts[0].function_call.args' (type.googleapis.com/google.protobuf.Struct),"
            ' "{}"'
        ),
    ),
    (
        "a response that is text",
        gemini(HI, model(function_call()), turn(function_response(response="ok"))),
        (
            "Invalid value at 'contents[2].parts[0].function_response.response'"
            ' (type.googleapis.com/google.protobuf.Struct), "ok"'
        ),
    ),
    (
        "bytes that are none",
        gemini(turn({"inlineData": {"mimeType": "image/png", "data": "?"}})),
        ("Invalid value at 'contents[0].parts[0].inline_data.data' (TYPE_BYTES), Base64 decoding failed for \"?\""),
    ),
    (
        "what only Google's other service knows",
        gemini(HI, model(function_call(partialArgs=[])), turn(function_response())),
        (
            'Invalid JSON payload received. Unknown name "partialArgs" at'
            " 'contents[1].parts[0].function_call': Cannot find field."
        ),
    ),
    (
        "two kinds in a part",
        gemini(turn({"text": "hi", "functionCall": {"name": "read"}})),
        "Invalid value at 'contents[0].parts[0]' (oneof), oneof field 'data' is already set. Cannot set 'functionCall'",
    ),
    ("unknown role", gemini(turn({"text": "hi"}, role="assistant")), ROLE),
    ("a role that is gone", gemini(HI, model(function_call()), turn(function_response(), role="function")), ROLE),
    ("no parts", gemini(turn()), "* GenerateContentRequest.contents[0].parts: contents.parts must not be empty."),
    ("an empty part", gemini(turn({"text": "a"}, {})), NO_DATA.format("contents[0].parts[1]")),
    (
        "nothing but a signature",
        gemini(HI, model({"thoughtSignature": SKIPPED})),
        NO_DATA.format("contents[1].parts[0]"),
    ),
    ("a text that is null", gemini(turn({"text": None})), NO_DATA.format("contents[0].parts[0]")),
    (
        "a response without a name",
        gemini(HI, model(function_call()), turn(function_response(name=""))),
        NO_NAME.format("contents[2].parts[0].function_response"),
    ),
    (
        "a call without a name",
        gemini(HI, model(function_call(name=""))),
        NO_NAME.format("contents[1].parts[0].function_call"),
    ),
    ("a call first", gemini(model(function_call()), turn(function_response())), CALLS_AFTER),
    (
        "a call behind the model's own words",
        gemini(HI, model({"text": "so"}), model(function_call()), turn(function_response())),
        CALLS_AFTER,
    ),
    ("a call by the user", gemini(HI, turn(function_call()), turn(function_response())), CALLS_AFTER),
    ("a result first", gemini(turn(function_response())), RESPONSES_AFTER),
    ("a result of no call", gemini(HI, model({"text": "so"}), turn(function_response())), RESPONSES_AFTER),
    (
        "results in two contents",
        gemini(HI, model(function_call(), function_call()), turn(function_response()), turn(function_response())),
        AS_MANY,
    ),
    (
        "a result too late",
        gemini(HI, model(function_call()), HI, turn(function_response())),
        AS_MANY,
    ),
    ("an unanswered call", gemini(HI, model(function_call()), HI), AS_MANY),
    ("a call at the end", gemini(HI, model(function_call())), AS_MANY),
    (
        "one of two answered",
        gemini(HI, model(function_call(), function_call()), turn(function_response())),
        AS_MANY,
    ),
    (
        "a second result",
        gemini(HI, model(function_call()), turn(function_response(), function_response())),
        AS_MANY,
    ),
    (
        "a call of this turn, unsigned",
        gemini(HI, model(function_call(signature=None)), turn(function_response())),
        UNSIGNED.format("read", 2),
    ),
    (
        "a later step's call, unsigned",
        gemini(
            HI,
            model(function_call()),
            turn(function_response()),
            model(function_call("list", signature=None)),
            turn(function_response("list")),
        ),
        UNSIGNED.format("list", 4),
    ),
    (
        "a signature of another maker",
        gemini(HI, model(function_call(signature="Zm9yZWlnbg==")), turn(function_response())),
        "Corrupted thought signature.",
    ),
    (
        "a signature that is no base64",
        gemini(HI, model(function_call(signature="a*b=")), turn(function_response())),
        "Invalid value at 'contents[1].parts[0].thought_signature' (TYPE_BYTES), Base64 decoding failed for \"a*b=\"",
    ),
    ("a name that is none", gemini(HI, tools=declared("1st")), BAD_NAME),
    ("a name too long", gemini(HI, tools=declared("n" * 65)), BAD_NAME),
    ("a tool twice", gemini(HI, tools=declared("a", "a")), "Duplicate function declaration found: a"),
    (
        "a tool that is none",
        gemini(HI, tools=[{"functionDeclarations": NOTHING}]),
        "* GenerateContentRequest.tools[0].tool_type: required one_of 'tool_type' must have one initialized field",
    ),
    (
        "calling without tools",
        gemini(HI, toolConfig={"functionCallingConfig": {"mode": "AUTO"}}),
        "Function calling config is set without function_declarations.",
    ),
    (
        "a cut body",
        b'{"contents": [',
        "Invalid JSON payload received. unexpected end of data: line 1 column 15 (char 14)",
    ),
    (
        "a lone surrogate",
        rb'{"contents": [{"parts": [{"text": "\ud83d"}]}]}',
        "Invalid JSON payload received. no low surrogate in string: line 1 column 42 (char 41)",
    ),
]


@pytest.mark.parametrize(("body", "message"), [case[1:] for case in REFUSED], ids=[case[0] for case in REFUSED])
def test_refuses(body: object, message: str) -> None:
    provider = ScriptedProvider([(Say("never said"),)])
    response = ask(provider, GEMINI, body)
    error = response.json()["error"]
    assert (response.status_code, error["code"], error["status"]) == (400, 400, "INVALID_ARGUMENT")
    assert error["message"] == message
    assert provider.refusals == (message,)
    assert contents_of(ask(provider, GEMINI, gemini(HI)).json()) == [("text", "never said")]


@pytest.mark.parametrize("body", GOOD_GEMINI.values(), ids=GOOD_GEMINI)
def test_accepts(body: Json) -> None:
    provider = ScriptedProvider([(Say("ok"),)])
    assert ask(provider, GEMINI, body).status_code == 200
    assert provider.refusals == ()


def test_the_older_generation_wants_no_signature() -> None:
    body = gemini(HI, model(function_call(signature=None)), turn(function_response()))
    assert ask(ScriptedProvider([(Say("ok"),)]), GEMINI_OLD, body).status_code == 200


def test_asks_for_the_key() -> None:
    missing = ask(ScriptedProvider(), GEMINI, gemini(HI), headers={})
    assert (missing.status_code, missing.json()["error"]["status"]) == (403, "PERMISSION_DENIED")
    wrong = ask(ScriptedProvider(), GEMINI, gemini(HI), headers={"x-goog-api-key": "no"})
    assert wrong.json()["error"] == {
        "code": 400,
        "message": "API key not valid. Please pass a valid API key.",
        "status": "INVALID_ARGUMENT",
        "details": [
            {
                "@type": "type.googleapis.com/google.rpc.ErrorInfo",
                "reason": "API_KEY_INVALID",
                "domain": "googleapis.com",
            }
        ],
    }


@pytest.mark.parametrize(
    ("status", "name"),
    [
        (400, "INVALID_ARGUMENT"),
        (403, "PERMISSION_DENIED"),
        (404, "NOT_FOUND"),
        (429, "RESOURCE_EXHAUSTED"),
        (500, "INTERNAL"),
        (503, "UNAVAILABLE"),
        (504, "DEADLINE_EXCEEDED"),
    ],
)
def test_fails_as_google_does(status: int, name: str) -> None:
    response = ask(ScriptedProvider([(Fail(status),)]), GEMINI, gemini(HI))
    error = response.json()["error"]
    assert (response.status_code, error["code"], error["status"]) == (status, status, name)
    assert error["message"]


def test_tells_in_the_body_when_to_ask_again() -> None:
    response = ask(ScriptedProvider([(Fail(429, retry_after=34),)]), GEMINI, gemini(HI))
    assert "retry-after" not in response.headers
    (detail,) = response.json()["error"]["details"]
    assert detail == {"@type": "type.googleapis.com/google.rpc.RetryInfo", "retryDelay": "34s"}


@pytest.mark.parametrize("path", ["/v1beta/models", "/v1beta/models/gemini-3-test:countTokens"])
def test_what_it_does_not_have(path: str) -> None:
    response = ask(ScriptedProvider(), path, gemini(HI), headers={"x-goog-api-key": "test-key"})
    assert (response.status_code, response.json()["error"]["status"]) == (404, "NOT_FOUND")


# --- how it speaks ---------------------------------------------------------------------------------------------------


def chunks(reply: Reply, path: str = GEMINI_STREAM) -> list[dict[str, Any]]:
    text = ask(ScriptedProvider([reply]), path, gemini(HI)).text
    return [json.loads(line[6:]) for line in text.splitlines() if line.startswith("data: ")]


def parts_of(answer: dict[str, Any]) -> list[dict[str, Any]]:
    return answer["candidates"][0]["content"]["parts"]


def contents_of(answer: dict[str, Any]) -> list[tuple[str, Any]]:
    """Return what an answer says, without its signatures."""
    contents: list[tuple[str, Any]] = []
    for part in parts_of(answer):
        if "functionCall" in part:
            contents.append((part["functionCall"]["name"], part["functionCall"]["args"]))
        else:
            contents.append(("thought" if part.get("thought") else "text", part["text"]))
    return contents


def test_a_stream_is_whole_answers_the_last_with_the_reason() -> None:
    came = chunks((Say("a b", chunk=2), Ping(), Call("read", {"path": "x"}), Call("list", {}, id="mine")))
    assert [contents_of(chunk) for chunk in came] == [
        [("text", "a ")],
        [("text", "b")],
        [("read", {"path": "x"})],
        [("list", {})],
        [("text", "")],
    ]
    assert [chunk["candidates"][0].get("finishReason") for chunk in came] == [None, None, None, None, "STOP"]
    assert {chunk["responseId"] for chunk in came} == {"resp_1"}
    assert came[-1]["usageMetadata"]["promptTokenCount"] > 0
    calls = [part["functionCall"] for chunk in came for part in parts_of(chunk) if "functionCall" in part]
    assert [call["id"] for call in calls] == ["fc_1_0", "mine"]


def test_the_first_call_is_signed_and_goes_back_as_it_came() -> None:
    answer = ask(ScriptedProvider([(Call("read", {"path": "x"}), Call("list", {}))]), GEMINI, gemini(HI)).json()
    first, second = parts_of(answer)
    assert "thoughtSignature" in first
    assert "thoughtSignature" not in second
    results = turn(function_response("read"), function_response("list"))
    provider = ScriptedProvider(after=(Say("ok"),))
    assert ask(provider, GEMINI, gemini(HI, model(first, second), results)).status_code == 200
    moved = second | {"thoughtSignature": first["thoughtSignature"]}
    assert ask(provider, GEMINI, gemini(HI, model(first, moved), results)).status_code == 400
    other = first | {"functionCall": first["functionCall"] | {"args": {"path": "y"}}}
    assert ask(provider, GEMINI, gemini(HI, model(other, second), results)).status_code == 400
    assert provider.refusals == ("Corrupted thought signature.",) * 2


def test_the_older_generation_signs_only_what_it_thought_about_and_gives_no_ids() -> None:
    plain = ask(ScriptedProvider([(Call("read", {}),)]), GEMINI_OLD, gemini(HI)).json()
    assert parts_of(plain) == [{"functionCall": {"name": "read", "args": {}}}]
    thought, call = parts_of(ask(ScriptedProvider([(Think("hm"), Call("read", {}))]), GEMINI_OLD, gemini(HI)).json())
    assert thought == {"text": "hm", "thought": True}
    assert "thoughtSignature" in call


def test_words_that_were_thought_about_are_signed_at_the_end() -> None:
    answer = ask(ScriptedProvider([(Think("hm"), Say("so "), Say("be it"))]), GEMINI, gemini(HI)).json()
    thought, text = parts_of(answer)
    assert (thought["text"], text["text"]) == ("hm", "so be it")
    *_, last = chunks((Think("hm"), Say("so "), Say("be it")))
    assert parts_of(last) == [{"text": "", "thoughtSignature": text["thoughtSignature"]}]
    provider = ScriptedProvider(after=(Say("ok"),))
    assert ask(provider, GEMINI, gemini(HI, model(thought, text), HI)).status_code == 200
    text["text"] = "so"
    assert ask(provider, GEMINI, gemini(HI, model(text), HI)).status_code == 400


def test_a_foreign_signature_is_sent_as_written() -> None:
    answer = ask(ScriptedProvider([(Think("hm", signature="Zm9yZWlnbg=="), Say("so"))]), GEMINI, gemini(HI)).json()
    assert parts_of(answer)[-1] == {"text": "so", "thoughtSignature": "Zm9yZWlnbg=="}


@pytest.mark.parametrize("arguments", ['{"path": "x', "[]", '"x"'])
def test_arguments_that_cannot_be_sent_end_the_response(arguments: str) -> None:
    (last,) = chunks((Call("read", arguments), Call("list", {}), Say("and so on")))
    candidate = last["candidates"][0]
    assert candidate["finishReason"] == "MALFORMED_FUNCTION_CALL"
    assert candidate["finishMessage"] == f"Malformed function call: read({arguments})"


@pytest.mark.parametrize(
    ("reason", "word"), [("stop", "STOP"), ("tool_calls", "STOP"), ("length", "MAX_TOKENS"), ("refusal", "SAFETY")]
)
def test_reasons_to_finish(reason: FinishReason, word: str) -> None:
    assert chunks((Say("so"), Finish(reason)))[-1]["candidates"][0]["finishReason"] == word


def test_a_body_of_another_wire_is_refused() -> None:
    assert ask(ScriptedProvider(), GEMINI, chat(USER)).status_code == 400


# --- the judge -------------------------------------------------------------------------------------------------------

TYPES = ("unknown field of a part", "a text that is none", "arguments that are text", "a response that is text")


@pytest.mark.parametrize("body", GOOD_GEMINI.values(), ids=GOOD_GEMINI)
def test_the_judge_accepts_too(body: Json) -> None:
    judge("gemini", {("systemInstruction" if key == "system_instruction" else key): body[key] for key in body})


@pytest.mark.parametrize("body", [case[1] for case in REFUSED if case[0] in TYPES], ids=TYPES)
def test_the_judge_refuses_what_its_types_do_not_have(body: Json) -> None:
    with pytest.raises(AssertionError, match="Judge refused the gemini body"):
        judge("gemini", body)

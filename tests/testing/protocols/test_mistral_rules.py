"""What Mistral refuses, each rule by its smallest bad body, what it accepts, and how it answers."""

from __future__ import annotations

import json

import msgspec
import pytest

from holdfast.testing.script import Call, Fail, Say, Think
from holdfast.testing.scripted_provider import ScriptedProvider
from http_calls import MISTRAL, ask
from judges import JUDGES
from request_bodies import SYSTEM, USER, Json, called, chat, function_tool, returned

ID, OTHER = "abcdefgh1", "abcdefgh2"
EXTRA = "Extra inputs are not permitted"

GOOD: dict[str, Json] = {
    "one question": chat(SYSTEM, USER),
    "a call with text and its result": chat(USER, called(ID, content="so"), returned(ID)),
    "calls answered in another order": chat(USER, called(ID, OTHER), returned(OTHER), returned(ID)),
    "an answer between results and words": chat(
        USER, called(ID, content=""), returned(ID), {"role": "assistant", "content": "ok"}, USER
    ),
    "tools": chat(USER, tools=[function_tool("read")]),
}
REFUSED: list[tuple[str, Json, int, str]] = [
    ("options of a stream", chat(USER, stream=True, stream_options={"include_usage": True}), 422, EXTRA),
    ("a limit of another name", chat(USER, max_completion_tokens=1), 422, EXTRA),
    ("a field of another", chat(USER, {"role": "assistant", "content": "x", "refusal": None}, USER), 422, EXTRA),
    (
        "a prefix that is none",
        chat(USER, {"role": "assistant", "content": "x", "prefix": "yes"}),
        422,
        "Input should be a valid boolean",
    ),
    ("an unknown role", chat({"role": "developer", "content": "x"}), 422, "does not match any of the expected tags"),
    ("a result of null", chat(USER, called(ID), returned(ID, None)), 422, "Input should be a valid string"),
    ("no message", chat(), 400, "Conversation must have at least one message"),
    ("an id of ten", chat(USER, called(f"{ID}0"), returned(f"{ID}0")), 400, "with a length of 9."),
    ("a bad name", chat(USER, called(ID, name="a.b"), returned(ID)), 400, "with a maximum length of 64."),
    ("an unanswered call", chat(USER, called(ID), USER), 400, "Not the same number of function calls and responses"),
    (
        "a result of another call",
        chat(USER, called(ID), returned(OTHER)),
        400,
        f"Unexpected tool call id {OTHER} in tool results",
    ),
    ("an id twice", chat(USER, called(ID, ID), returned(ID)), 400, f"Duplicate tool call id {ID} in assistant message"),
    ("a result first", chat(USER, returned(ID)), 400, "Unexpected role 'tool' after role 'user'"),
    ("words right behind a result", chat(USER, called(ID), returned(ID), USER), 400, "role 'user' after role 'tool'"),
    ("a late system prompt", chat(USER, {"role": "assistant", "content": "x"}, SYSTEM, USER), 400, "'system' after"),
    ("the assistant last", chat(USER, {"role": "assistant", "content": "x"}), 400, "for serving but got assistant"),
    ("an answer of nothing", chat(USER, {"role": "assistant", "content": ""}, USER), 400, "but not none"),
]


@pytest.mark.parametrize(
    ("body", "status", "message"), [case[1:] for case in REFUSED], ids=[case[0] for case in REFUSED]
)
def test_refuses(body: Json, status: int, message: str) -> None:
    provider = ScriptedProvider([(Say("never said"),)])
    response = ask(provider, MISTRAL, body)
    assert response.status_code == status
    assert response.json()["object"] == "error"
    assert message in response.text
    assert message in provider.refusals[0]


@pytest.mark.parametrize("body", GOOD.values(), ids=GOOD)
def test_accepts_and_so_does_the_vendors_own_library(body: Json) -> None:
    provider = ScriptedProvider([(Say("ok"),)])
    assert ask(provider, MISTRAL, body).status_code == 200
    assert provider.refusals == ()
    messages = msgspec.convert(body["messages"], list[object])
    for judge in ("mistral-v7", "mistral-v13"):
        assert JUDGES[judge].refusal("openai-chat", messages) == ""


def test_counts_unasked_and_thinks_in_its_content() -> None:
    script = [(Think("hm"), Say("so"), Call("read", {}, id=ID))]
    provider = ScriptedProvider([*script, *script, (Fail(429),)])
    lines = ask(provider, MISTRAL, chat(USER, stream=True)).text.split("\n\n")
    assert lines[-2:] == ["data: [DONE]", ""]
    chunks = [json.loads(line.removeprefix("data: ")) for line in lines[:-2]]
    assert [chunk["choices"][0]["finish_reason"] for chunk in chunks if "usage" in chunk] == ["tool_calls"]
    thought = {"type": "thinking", "thinking": [{"type": "text", "text": "hm"}]}
    assert chunks[1]["choices"][0]["delta"] == {"content": [thought]}
    answer = ask(provider, MISTRAL, chat(USER)).json()["choices"][0]
    assert answer["message"]["content"] == [thought, {"type": "text", "text": "so"}]
    assert ask(provider, MISTRAL, chat(USER)).json()["message"] == "Rate limit exceeded"

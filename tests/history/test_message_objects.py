"""Message objects of the SDKs and of pydantic-ai go in, and such objects come out; the libraries are the real ones."""

from __future__ import annotations

import copy
import subprocess
import sys
from typing import Any

import pytest
from anthropic.types import Message, TextBlock, ToolUseBlock, Usage
from google.genai import types as genai
from openai.types.chat import ChatCompletionMessage
from openai.types.responses import ResponseFunctionToolCall, ResponseOutputMessage, ResponseOutputText
from pydantic_ai.messages import (
    ModelMessage,
    ModelRequest,
    ModelResponse,
    TextPart,
    ToolCallPart,
    ToolReturnPart,
    UserPromptPart,
)

from holdfast.errors import DamageError, UsageError
from holdfast.history import NO_RESULT, check, repair
from polling import HANGS


def pydantic_ai() -> list[ModelMessage]:
    return [
        ModelRequest(parts=[UserPromptPart("Go")]),
        ModelResponse(parts=[TextPart("Now."), ToolCallPart("deploy", {"step": "tag"}, "c1")]),
        ModelRequest(parts=[UserPromptPart("Go on")]),
    ]


def openai_chat() -> list[Any]:
    call = {"id": "c1", "type": "function", "function": {"name": "deploy", "arguments": "{}"}}
    return [
        {"role": "user", "content": "Go"},
        ChatCompletionMessage.model_validate({"role": "assistant", "content": None, "tool_calls": [call]}),
        {"role": "user", "content": "Go on"},
    ]


def openai_responses() -> list[Any]:
    text = ResponseOutputText(annotations=[], text="Now.", type="output_text")
    return [
        {"role": "user", "content": "Go"},
        ResponseOutputMessage(id="msg_1", content=[text], role="assistant", status="completed", type="message"),
        ResponseFunctionToolCall(arguments="{}", call_id="c1", name="deploy", type="function_call", id="fc_1"),
        {"role": "user", "content": "Go on"},
    ]


def anthropic() -> list[Any]:
    return [
        {"role": "user", "content": "Go"},
        Message(
            id="msg_1",
            content=[
                TextBlock(text="Now.", type="text"),
                ToolUseBlock(id="c1", input={"step": "tag"}, name="deploy", type="tool_use"),
            ],
            model="claude-sonnet-4-5",
            role="assistant",
            type="message",
            usage=Usage(input_tokens=1, output_tokens=1),
        ),
        {"role": "user", "content": "Go on"},
    ]


def gemini() -> list[Any]:
    call = genai.Part(function_call=genai.FunctionCall(name="deploy", args={"step": "tag"}))
    return [
        genai.Content(role="user", parts=[genai.Part(text="Go")]),
        genai.Content(role="model", parts=[genai.Part(text="Now."), call]),
        genai.Content(role="user", parts=[genai.Part(text="Go on")]),
    ]


KINDS = [pydantic_ai, openai_chat, openai_responses, anthropic, gemini]


@pytest.mark.parametrize("make", KINDS)
def test_objects_that_need_no_repair_come_back_as_they_are(make: Any) -> None:
    messages = make()[:1]
    repaired = repair(messages)
    assert repaired.edits == ()
    assert all(one is other for one, other in zip(repaired.messages, messages, strict=True))


@pytest.mark.parametrize("make", KINDS)
def test_a_call_without_a_result_gets_one_and_the_rest_stays(make: Any) -> None:
    messages = make()
    before = copy.deepcopy(messages)
    repaired = repair(messages, results={"c1": "tag done"})
    assert messages == before
    assert repaired.edits
    assert repaired.remaining == ()
    untouched = [each for each in repaired.messages if any(each is one for one in messages)]
    assert untouched[0] is messages[0]
    assert len(untouched) >= 2
    text = repr(repaired.messages)
    assert ("tag done" if make is not gemini else NO_RESULT) in text, "Gemini's calls have no ids"
    assert repair(repaired.messages).edits == ()


def test_pydantic_ai_gets_objects_of_its_classes() -> None:
    repaired = repair(pydantic_ai(), results={"c1": "tag done"})
    request = repaired.messages[2]
    assert isinstance(request, ModelRequest)
    result = request.parts[0]
    assert isinstance(result, ToolReturnPart)
    assert (result.tool_call_id, result.content) == ("c1", "tag done")


def test_gemini_gets_objects_of_its_class() -> None:
    assert all(isinstance(each, genai.Content) for each in repair(gemini()).messages)


def test_a_list_of_an_sdk_that_is_changed_is_a_request_that_its_sdk_takes() -> None:
    chat = repair(openai_chat()).messages
    assert chat[2] == {"role": "tool", "tool_call_id": "c1", "content": NO_RESULT}
    assert isinstance(chat[1], ChatCompletionMessage)


def test_check_takes_objects_too() -> None:
    assert [each.rule for each in check(openai_chat())] == ["call-without-result"]
    assert check(pydantic_ai()[:1]) == []


def test_another_format_is_refused_for_objects() -> None:
    with pytest.raises(UsageError, match="objects of pydantic-ai are read as pydantic-ai, not as anthropic"):
        repair(pydantic_ai(), format="anthropic")


def test_objects_of_two_libraries_are_refused() -> None:
    with pytest.raises(UsageError, match=r"objects of pydantic-ai and of OpenAI's SDK \(Chat\)"):
        repair([*pydantic_ai(), *openai_chat()])


def test_objects_that_are_not_known_are_refused_by_name() -> None:
    with pytest.raises(UsageError, match="an object of the class 'object'"):
        repair([object()])


@pytest.mark.parametrize("form", ["openai-chat", "anthropic", "openai-responses", "gemini", "pydantic-ai"])
def test_the_format_of_data_is_detected(form: str) -> None:
    documents: dict[str, list[Any]] = {
        "openai-chat": [{"role": "user", "content": "Go"}, openai_chat()[1].model_dump(exclude_none=True)],
        "anthropic": [
            {"role": "user", "content": "Go"},
            {"role": "assistant", "content": [{"type": "tool_use", "id": "c1", "name": "deploy", "input": {}}]},
        ],
        "openai-responses": [
            {"role": "user", "content": "Go"},
            {"type": "function_call", "call_id": "c1", "name": "deploy", "arguments": "{}"},
        ],
        "gemini": [
            {"role": "user", "parts": [{"text": "Go"}]},
            {"role": "model", "parts": [{"functionCall": {"name": "deploy", "args": {}}}]},
        ],
        "pydantic-ai": [
            {"kind": "request", "parts": [{"part_kind": "user-prompt", "content": "Go"}]},
            {
                "kind": "response",
                "parts": [{"part_kind": "tool-call", "tool_name": "deploy", "args": {}, "tool_call_id": "c1"}],
            },
        ],
    }
    assert repair(documents[form]).document == repair(documents[form], format=form).document
    assert "c1" in repr(repair(documents[form]).messages) or form == "gemini"
    assert repair(documents[form]).edits


@pytest.mark.parametrize(
    ("document", "name"),
    [
        ([{"id": "1", "role": "user", "parts": [{"type": "text", "text": "Go"}]}], "Vercel's AI SDK"),
        ([{"type": "user", "message": {"role": "user", "content": "Go"}}], "Claude Code"),
        ([{"type": "human", "data": {"content": "Go"}}], "LangChain"),
        ([{"author": "user", "invocation_id": "i", "content": {"parts": [{"text": "Go"}]}}], "Google's ADK"),
        ([{"hello": "world"}], "not a conversation"),
    ],
)
def test_a_foreign_shape_is_refused_by_name_and_never_quoted(document: list[Any], name: str) -> None:
    for act in (check, repair):
        with pytest.raises(DamageError, match=name):
            act(document)


def test_no_library_is_imported_for_its_objects() -> None:
    code = (
        "import sys\nfrom holdfast.history import objects, repair\n"
        "repair([{'role': 'user', 'content': 'Go'}], format='openai-chat')\n"
        "class Content: pass\nContent.__module__ = 'google.genai.typesy'\n"
        "print({'pydantic_ai', 'openai', 'anthropic', 'google', 'langchain_core'} & set(sys.modules))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=HANGS, check=True)
    assert done.stdout.strip() == "set()"

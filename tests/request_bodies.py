"""Request bodies, good and bad, for the tests of the scripted provider."""

from __future__ import annotations

Json = dict[str, object]

USER: Json = {"role": "user", "content": "hi"}
REPLY: Json = {"role": "assistant", "content": "ok"}
SYSTEM: Json = {"role": "system", "content": "be brief"}


def chat(*messages: Json, **more: object) -> Json:
    return {"model": "gpt-test", "messages": list(messages), **more}


def called(*ids: str, content: str | None = None, arguments: object = "{}", name: str = "read") -> Json:
    function = {"name": name, "arguments": arguments}
    calls = [{"id": each, "type": "function", "function": function} for each in ids]
    return {"role": "assistant", "content": content, "tool_calls": calls}


def returned(identifier: str, content: object = "ok") -> Json:
    return {"role": "tool", "tool_call_id": identifier, "content": content}


SCHEMA: Json = {"type": "object", "properties": {}}


def function_tool(name: str) -> Json:
    return {"type": "function", "function": {"name": name, "parameters": SCHEMA}}


def anthropic(*messages: Json, **more: object) -> Json:
    return {"model": "claude-test", "max_tokens": 4096, "messages": list(messages), **more}


def user(*blocks: Json) -> Json:
    return {"role": "user", "content": list(blocks)}


def assistant(*blocks: Json) -> Json:
    return {"role": "assistant", "content": list(blocks)}


def text(words: str, **more: object) -> Json:
    return {"type": "text", "text": words, **more}


def thinking(words: str, signature: str) -> Json:
    return {"type": "thinking", "thinking": words, "signature": signature}


def use(identifier: str, arguments: object = None, *, name: str = "read") -> Json:
    return {"type": "tool_use", "id": identifier, "name": name, "input": {} if arguments is None else arguments}


def result(identifier: str, content: object = "ok") -> Json:
    return {"type": "tool_result", "tool_use_id": identifier, "content": content}


GOOD_CHAT: dict[str, Json] = {
    "one question": chat(SYSTEM, USER),
    "no system prompt": chat(USER),
    "developer in place of system": chat({"role": "developer", "content": "be brief"}, USER),
    "parts": chat({"role": "user", "content": [{"type": "text", "text": "hi"}]}),
    "a call and its result": chat(SYSTEM, USER, called("a"), returned("a")),
    "calls answered in another order": chat(USER, called("a", "b"), returned("b"), returned("a")),
    "a call with text": chat(
        USER, called("a", content="looking"), returned("a"), {"role": "assistant", "content": "ok"}
    ),
    "a call without content": chat(
        USER, {key: value for key, value in called("a").items() if key != "content"}, returned("a")
    ),
    "the same id in a later turn": chat(USER, called("a"), returned("a"), USER, called("a"), returned("a")),
    "arguments that are no JSON": chat(USER, called("a", arguments='{"path": "x'), returned("a")),
    "reasoning given back": chat(USER, called("a") | {"reasoning_content": "hm"}, returned("a"), USER),
    "equal roles in a row": chat(
        USER, USER, {"role": "assistant", "content": "1"}, {"role": "assistant", "content": "2"}
    ),
    "user after tool": chat(USER, called("a"), returned("a"), USER),
    "a trailing assistant": chat(USER, REPLY),
    "empty text": chat(USER, {"role": "assistant", "content": ""}, USER),
    "an id of 40": chat(USER, called("i" * 40), returned("i" * 40)),
    "128 calls": chat(USER, called(*(f"c{i}" for i in range(128))), *(returned(f"c{i}") for i in range(128))),
    "128 tools": chat(USER, tools=[function_tool(f"t{i}") for i in range(128)]),
    "a name of 64": chat(USER, tools=[function_tool("n" * 64)]),
    "streamed with usage": chat(USER, stream=True, stream_options={"include_usage": True}),
}

GOOD_ANTHROPIC: dict[str, Json] = {
    "one question": anthropic(USER, system="be brief"),
    "no system prompt": anthropic(USER),
    "system as blocks": anthropic(USER, system=[text("be brief", cache_control={"type": "ephemeral"})]),
    "a call and its result": anthropic(USER, assistant(use("a")), user(result("a"))),
    "results then text": anthropic(USER, assistant(use("a"), use("b")), user(result("b"), result("a"), text("go on"))),
    "text then a call": anthropic(USER, assistant(text("looking"), use("a", {"path": "x"})), user(result("a"))),
    "a result of blocks": anthropic(USER, assistant(use("a")), user(result("a", [text("ok")]))),
    "an empty result": anthropic(USER, assistant(use("a")), user(result("a", ""))),
    "a result without content": anthropic(USER, assistant(use("a")), user({"type": "tool_result", "tool_use_id": "a"})),
    "equal roles in a row": anthropic(USER, USER, assistant(text("1")), assistant(text("2")), USER),
    "tools": anthropic(USER, tools=[{"name": "read", "input_schema": SCHEMA}]),
}


SKIPPED = "skip_thought_signature_validator"


def gemini(*contents: Json, **more: object) -> Json:
    return {"contents": list(contents), **more}


def turn(*parts: Json, role: str = "user") -> Json:
    return {"role": role, "parts": list(parts)}


def model(*parts: Json) -> Json:
    return turn(*parts, role="model")


def function_call(name: str = "read", args: object = None, *, signature: str | None = SKIPPED, **more: object) -> Json:
    signed: Json = {} if signature is None else {"thoughtSignature": signature}
    return {"functionCall": {"name": name, "args": {} if args is None else args, **more}, **signed}


def function_response(name: str = "read", response: object = None, **more: object) -> Json:
    return {"functionResponse": {"name": name, "response": {"output": "ok"} if response is None else response, **more}}


HI = turn({"text": "hi"})

GOOD_GEMINI: dict[str, Json] = {
    "one question": gemini(HI, systemInstruction=turn({"text": "be brief"})),
    "no system prompt": gemini(HI),
    "names in snake case": gemini(HI, system_instruction=turn({"text": "be brief"})),
    "no role": gemini({"parts": [{"text": "hi"}]}),
    "a call and its result": gemini(HI, model(function_call()), turn(function_response())),
    "the same with ids": gemini(HI, model(function_call(id="a")), turn(function_response(id="a"))),
    "results then text": gemini(
        HI, model(function_call(), function_call()), turn(function_response(), function_response()), HI
    ),
    "only the first call of a step is signed": gemini(
        HI, model(function_call(), function_call(signature=None)), turn(function_response(), function_response())
    ),
    "a call of a turn that is over, unsigned": gemini(
        HI, model(function_call(signature=None)), turn(function_response()), model({"text": "so"}), HI
    ),
    "text then a call": gemini(HI, model({"text": "looking"}, function_call()), turn(function_response())),
    "thoughts": gemini(HI, model({"text": "hm", "thought": True}, {"text": "so"}), HI),
    "equal roles in a row": gemini(HI, HI, model({"text": "1"}), model({"text": "2"}), HI),
    "empty text": gemini(turn({"text": ""}), model({"text": "so"}), HI),
    "ends with the model": gemini(HI, model({"text": "so"})),
    "tools": gemini(
        HI,
        tools=[
            {"functionDeclarations": [{"name": "read", "parametersJsonSchema": SCHEMA}]},
            {"functionDeclarations": [{"name": "ns.list:all", "description": "d"}]},
        ],
        toolConfig={"functionCallingConfig": {"mode": "AUTO"}},
        generationConfig={"responseModalities": ["TEXT"]},
    ),
}

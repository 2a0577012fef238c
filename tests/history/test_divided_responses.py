"""Answers in several records are one response: nothing of it is lost, and its calls stay parallel."""

from __future__ import annotations

import json
import re

import pytest

from holdfast.history import check, repair
from holdfast.history.edits import AddResult, Merge
from holdfast.history.formats.format import Json, as_object
from holdfast.history.profiles import PAIRS, PROFILES
from wire_documents import DOCUMENTS, in_records

USER: Json = {"role": "user", "content": "x"}
THINKING: Json = {"type": "thinking", "thinking": "hm …", "signature": "c2ln+/=="}
EVERY_PAIR = [(form, profile) for form in DOCUMENTS if form != "openai-responses" for profile in PAIRS[form]]


def assistant(*blocks: Json) -> Json:
    return {"role": "assistant", "content": list(blocks)}


def use(call: str) -> Json:
    return {"type": "tool_use", "id": call, "name": "f", "input": {}}


def results(*calls: str) -> Json:
    return {
        "role": "user",
        "content": [{"type": "tool_result", "tool_use_id": call, "content": call} for call in calls],
    }


def chat(*calls: str, **more: object) -> Json:
    listed = [{"id": call, "type": "function", "function": {"name": "f", "arguments": "{}"}} for call in calls]
    return {"role": "assistant", "content": None, "tool_calls": listed, **more}


def tool(call: str) -> Json:
    return {"role": "tool", "tool_call_id": call, "content": call}


LOG = [USER, assistant(THINKING), assistant(use("a")), assistant(use("b")), results("a"), results("b")]


@pytest.mark.parametrize("thinking", [None, True])
def test_what_anthropic_joins_by_itself_is_left_as_it_is(*, thinking: bool | None) -> None:
    assert check(LOG, format="anthropic", thinking=thinking) == []
    assert repair(LOG, format="anthropic", thinking=thinking).messages is LOG


@pytest.mark.parametrize("profile", ["bedrock", "deepseek"])
@pytest.mark.parametrize("thinking", [None, True])
def test_who_does_not_join_gets_one_message(profile: str, *, thinking: bool | None) -> None:
    done = repair(LOG, format="anthropic", profile=profile, thinking=thinking)
    assert done.remaining == ()
    assert done.messages == [USER, assistant(THINKING, use("a"), use("b")), results("a", "b")]


def test_a_response_is_judged_as_a_whole() -> None:
    begun = [USER, assistant({"type": "text", "text": "so"}), assistant(THINKING, use("a")), results("a")]
    assert [each.rule for each in check(begun, format="anthropic", thinking=True)] == ["thinking-not-first"]
    assert check(LOG, format="anthropic", thinking=True) == []
    last = [USER, assistant({"type": "text", "text": "so"}), assistant(THINKING, {"type": "text", "text": "so"})]
    assert "thinking-forbidden" in {each.rule for each in check(last, format="anthropic", thinking=False)}
    log = [USER, chat("a"), chat("b"), tool("a"), tool("b")]
    assert repair(log, format="openai-chat", frozen=2).messages == [*log[:2], log[3], log[2], log[4]]


def test_one_edit_joins_thinking_to_its_call() -> None:
    log = [USER, assistant(THINKING), assistant(use("a")), results("a")]
    done = repair(log, format="anthropic", profile="bedrock")
    assert done.edits == (Merge(2, "assistant"),)
    assert as_object(done.messages[1])["content"] == [THINKING, use("a")]


def test_a_call_that_was_never_answered_ends_its_response() -> None:
    log = [USER, assistant(use("a")), assistant({"type": "text", "text": "so"}), USER]
    done = repair(log, format="anthropic")
    assert isinstance(done.edits[0], AddResult)
    assert done.messages[1] is log[1]
    assert done.messages[3] is log[2]


def test_thinking_that_led_to_nothing_goes_as_before() -> None:
    assert repair([USER, assistant(THINKING), USER], format="anthropic").messages == [USER, USER]


@pytest.mark.parametrize("profile", ["openai-chat", "mistral", "cohere", "deepseek"])
def test_calls_of_chat_in_several_messages_are_those_of_one(profile: str) -> None:
    log = [USER, chat("aaaaaaaa1"), chat("aaaaaaaa2"), tool("aaaaaaaa1"), tool("aaaaaaaa2")]
    assert "result-not-adjacent" in {each.rule for each in check(log, format="openai-chat", profile=profile)}
    done = repair(log, format="openai-chat", profile=profile)
    assert done.edits == (Merge(2, "assistant"),)
    assert done.messages == [USER, chat("aaaaaaaa1", "aaaaaaaa2"), *log[3:]]


def test_reasoning_of_chat_goes_to_the_calls_it_led_to() -> None:
    log = [USER, {"role": "assistant", "content": None, "reasoning_content": "hm"}, chat("a"), tool("a")]
    done = repair(log, format="openai-chat", profile="deepseek", thinking=True)
    assert done.messages == [USER, chat("a", reasoning_content="hm"), tool("a")]
    assert repair(log, format="openai-chat").messages == done.messages


def test_a_blank_text_between_thinking_and_its_call_does_not_part_them() -> None:
    thought: Json = {"role": "assistant", "content": None, "reasoning_content": "hm"}
    log = [USER, thought, {"role": "assistant", "content": ""}, chat("a"), tool("a")]
    done = repair(log, format="openai-chat")
    assert done.remaining == ()
    assert done.messages == [USER, chat("a", reasoning_content="hm"), tool("a")]


def test_a_text_before_a_call_may_stand_alone_where_that_is_taken() -> None:
    log = [USER, {"role": "assistant", "content": "so"}, chat("a"), tool("a")]
    assert repair(log, format="openai-chat").messages is log


def test_calls_and_responses_of_gemini_are_joined() -> None:
    call: list[Json] = [{"functionCall": {"name": name, "args": {}}, "thoughtSignature": "AAAA"} for name in "fg"]
    results = [{"functionResponse": {"name": name, "response": {"output": name}}} for name in "fg"]
    thought: Json = {"text": "hm", "thought": True, "thoughtSignature": "AAAA"}
    question = {"role": "user", "parts": [{"text": "x"}]}
    log: list[object] = [question, *({"role": "model", "parts": [each]} for each in (thought, *call))]
    log += [{"role": "user", "parts": [each]} for each in results]
    done = repair(log, format="gemini")
    assert done.remaining == ()
    assert done.messages == [question, {"role": "model", "parts": [thought, *call]}, {"role": "user", "parts": results}]


def test_who_begins_with_thinking_and_its_call_gets_a_user_before_both() -> None:
    thought: Json = {"text": "hm", "thought": True}
    call: Json = {"functionCall": {"name": "f", "args": {}}, "thoughtSignature": "AAAA"}
    result: Json = {"functionResponse": {"name": "f", "response": {"output": "ok"}}}
    log: list[object] = [{"role": "model", "parts": [thought]}, {"role": "model", "parts": [call]}]
    done = repair([*log, {"role": "user", "parts": [result]}], format="gemini")
    assert done.remaining == ()
    assert done.messages[1] == {"role": "model", "parts": [thought, call]}


def test_what_was_sent_is_not_gone_on_with_but_where_the_provider_does_it() -> None:
    sent = [USER, assistant({"type": "text", "text": "so"})]
    log = [*sent, assistant(use("a")), results("a")]
    assert repair(log, format="anthropic", frozen=2).messages is log
    done = repair(log, format="anthropic", profile="bedrock", frozen=2)
    assert done.messages[:2] == sent
    assert done.remaining == ()


@pytest.mark.parametrize(("form", "profile"), EVERY_PAIR)
def test_a_conversation_in_records_is_repaired_to_what_it_was(form: str, profile: str) -> None:
    messages = DOCUMENTS[form]
    log = [record for each in messages for record in (in_records(each) if _is_answer(each) else [each])]
    assert len(log) > len(messages)
    tools = ["f", "g", "h"]
    before, after = (repair(each, format=form, profile=profile, tools=tools) for each in (messages, log))
    assert after.remaining == ()
    assert _words(after.messages) == _words(before.messages)
    made_up = [[each for each in done.edits if isinstance(each, AddResult)] for done in (before, after)]
    assert len(made_up[0]) == len(made_up[1])
    assert _thoughts(after.messages) == _thoughts(before.messages)
    if PROFILES[profile].joins and form == "anthropic":
        assert after.messages is log


def _is_answer(message: object) -> bool:
    return bool({"assistant", "model", "response"} & {as_object(message).get("role"), as_object(message).get("kind")})


def _words(messages: list[object]) -> list[str]:
    return re.findall(r"w[A-Z]+\d\.", json.dumps(messages))


def _thoughts(messages: list[object]) -> list[str]:
    return re.findall(r'"(?:signature|thoughtSignature|reasoning_content|data)": "[^"]{1,9}"', json.dumps(messages))

"""No answer ends in thinking where a provider refuses that: it is said before anything is sent, and it goes."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from holdfast.history import check, repair
from holdfast.history.edits import Drop
from holdfast.history.formats.format import Json, as_array, as_object
from holdfast.history.profiles import PROFILES
from laws import law

USER: Json = {"role": "user", "content": "x"}
SIGNED: Json = {"type": "thinking", "thinking": "hm", "signature": "c2ln"}
SEALED: Json = {"type": "redacted_thinking", "data": "QUJD"}
WORDS: Json = {"type": "text", "text": "so"}
BLANK: Json = {"type": "text", "text": " \n"}
CALL: Json = {"type": "tool_use", "id": "a", "name": "f", "input": {}}
ANSWER: Json = {"role": "user", "content": [{"type": "tool_result", "tool_use_id": "a", "content": "done"}]}
WHERE = [name for name, profile in PROFILES.items() if "thinking-last" in profile.rules and name != "any"]

ENDS: dict[str, tuple[list[Json], list[Json]]] = {
    "thinking": ([WORDS, SIGNED], [WORDS]),
    "sealed thinking": ([WORDS, SEALED], [WORDS]),
    "several": ([SIGNED, WORDS, SIGNED, SEALED], [SIGNED, WORDS]),
    "a blank text behind it": ([WORDS, SIGNED, BLANK], [WORDS]),
    "a call before it": ([SIGNED, CALL, SIGNED], [SIGNED, CALL]),
}


def assistant(*blocks: Json) -> Json:
    return {"role": "assistant", "content": list(blocks)}


def rules(messages: list[Json], profile: str) -> set[str]:
    return {each.rule for each in check(messages, format="anthropic", profile=profile)}


def test_claude_refuses_it_wherever_it_runs() -> None:
    assert WHERE == ["anthropic", "bedrock"]


@pytest.mark.parametrize("profile", WHERE)
@pytest.mark.parametrize("end", ENDS)
def test_thinking_at_the_end_goes_and_all_else_stays(profile: str, end: str) -> None:
    blocks, left = ENDS[end]
    behind = [ANSWER] if CALL in blocks else [USER]
    messages = [USER, assistant(*blocks), *behind]
    assert "thinking-last" in rules(messages, profile)
    done = repair(messages, format="anthropic", profile=profile)
    assert done.messages == [USER, assistant(*left), *behind]
    assert done.remaining == ()
    assert all("it led to is missing" in each.sentence or "blank" in each.sentence for each in done.edits)


@pytest.mark.parametrize("profile", WHERE)
def test_it_is_said_with_the_rule_its_place_and_the_words_of_the_provider(profile: str) -> None:
    (found,) = check([USER, assistant(WORDS, SIGNED), USER], format="anthropic", profile=profile)
    assert (found.rule, found.position) == ("thinking-last", "messages[1].content[1]")
    assert found.error == "messages.1: The final block in an assistant message cannot be `thinking`."


def test_thinking_that_the_next_record_goes_on_from_stays() -> None:
    log = [USER, assistant(WORDS, SIGNED), assistant(CALL), ANSWER]
    assert check(log, format="anthropic") == []
    assert repair(log, format="anthropic").messages is log
    cut = [USER, assistant(WORDS, SIGNED), assistant(WORDS, BLANK), USER]  # beside something to repair
    assert repair(cut, format="anthropic").messages == [*cut[:2], assistant(WORDS), USER]
    joined = repair(log, format="anthropic", profile="bedrock")
    assert joined.messages == [USER, assistant(WORDS, SIGNED, CALL), ANSWER]


def test_thinking_behind_which_a_part_is_taken_away_goes_too() -> None:
    stray: Json = {"type": "tool_result", "tool_use_id": "gone", "content": "late"}
    done = repair([USER, assistant(WORDS, SIGNED, stray), USER], format="anthropic")
    assert done.remaining == ()
    assert done.messages[1] == assistant(WORDS)
    assert repair(done.messages, format="anthropic").edits == ()


def test_what_was_sent_keeps_its_thinking() -> None:
    messages = [USER, assistant(WORDS, SIGNED), USER, assistant(WORDS, SIGNED), USER]
    done = repair(messages, format="anthropic", frozen=3)
    assert [each.path for each in done.edits if isinstance(each, Drop)] == [(3, "content", 1)]
    assert len(done.edits) == 1
    assert done.messages[1] is messages[1]


def test_who_accepts_it_gets_it() -> None:
    messages = [USER, assistant(WORDS, SIGNED), USER]
    assert check(messages, format="anthropic", profile="deepseek") == []


def test_the_parts_of_pydantic_ai_have_the_same_rule() -> None:
    thought = {"part_kind": "thinking", "content": "hm", "signature": "c2ln", "provider_name": "anthropic"}
    messages = [
        {"kind": "request", "parts": [{"part_kind": "user-prompt", "content": "x"}]},
        {"kind": "response", "parts": [{"part_kind": "text", "content": "so"}, thought]},
        {"kind": "request", "parts": [{"part_kind": "user-prompt", "content": "y"}]},
    ]
    assert {each.rule for each in check(messages, format="pydantic-ai", profile="anthropic")} == {"thinking-last"}
    done = repair(messages, format="pydantic-ai", profile="anthropic")
    assert done.remaining == ()
    parts = as_array(as_object(done.messages[1])["parts"])
    assert [as_object(part)["part_kind"] for part in parts] == ["text"]


BLOCKS = st.lists(st.sampled_from([SIGNED, SEALED, WORDS, BLANK, CALL]), min_size=1, max_size=5)
ANSWERS = st.lists(st.tuples(BLOCKS, st.booleans()), min_size=1, max_size=4)


@law()
@given(ANSWERS, st.sampled_from(WHERE))
def test_no_answer_ends_in_thinking_after_a_repair(answers: list[tuple[list[Json], bool]], profile: str) -> None:
    messages: list[Json] = [USER]
    for at, (blocks, parted) in enumerate(answers):
        messages.append(assistant(*({**each, "id": f"c{at}"} if each is CALL else each for each in blocks)))
        messages += [USER] if parted else []
    done = repair([*messages, USER], format="anthropic", profile=profile)
    assert done.remaining == ()
    assert repair(done.messages, format="anthropic", profile=profile).edits == ()
    roles = [as_object(message)["role"] for message in done.messages]
    for at, message in enumerate(done.messages):
        content = as_array(as_object(message)["content"])
        if roles[at] == "assistant" and roles[at + 1] != "assistant" and content:
            assert as_object(content[-1])["type"] not in ("thinking", "redacted_thinking")

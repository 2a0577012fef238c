"""The laws of `holdfast.hooks.answer`: any output gives an answer of bounded size, and no failure allows anything."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from holdfast.hooks.answer import MOST_HOOK_TEXT, HookAnswer, answer_of
from holdfast.hooks.definition import EVENTS
from holdfast.tools.process.command_end import CommandFinished
from laws import law

json_values = st.recursive(
    st.one_of(st.none(), st.booleans(), st.integers(-3, 700), st.text(max_size=5)),
    lambda inner: st.one_of(st.lists(inner, max_size=2), st.dictionaries(st.text(max_size=5), inner, max_size=2)),
    max_leaves=4,
)

causes = st.sampled_from(["exit", "timeout", "stop", "signalled", "unguarded", "lost"])
specific = st.fixed_dictionaries(
    {},
    optional={
        "permissionDecision": st.sampled_from(["allow", "deny", "ask", "defer", "yes", 1]),
        "decision": st.one_of(json_values, st.just({"behavior": "allow"})),
        "updatedInput": json_values,
        "updatedToolOutput": json_values,
        "additionalContext": json_values,
    },
)
outputs = st.one_of(
    st.binary(max_size=300),
    st.fixed_dictionaries(
        {"hookSpecificOutput": specific},
        optional={
            "continue": json_values,
            "decision": st.sampled_from(["block", "approve", "x"]),
            "reason": json_values,
        },
    ).map(lambda found: json.dumps(found).encode()),
)


def ended(code: int | None = 0, *, cause: str = "exit", signal: int | None = None) -> CommandFinished:
    return CommandFinished(cause=cause, code=code, signal=signal, seconds=0.5, text="")  # pyright: ignore[reportArgumentType] - one of the causes


@law()
@given(
    event=st.sampled_from(EVENTS),
    cause=causes,
    code=st.one_of(st.none(), st.sampled_from([0, 1, 2, 126, 127, 255])),
    stdout=outputs,
    stderr=st.binary(max_size=100),
)
def test_any_output_gives_a_bounded_answer_and_no_failure_allows(
    event: str, cause: str, code: int | None, stdout: bytes, stderr: bytes
) -> None:
    answer = answer_of(event, ended(code, cause=cause, signal=9 if code is None else None), stdout, stderr)
    texts = (answer.reason, answer.context, answer.message, answer.output or "")
    assert all(len(text) <= MOST_HOOK_TEXT + 50 for text in texts)
    if cause != "exit" or code != 0:
        assert answer.decision in ("", "deny", "block")
        assert answer.updated is None
    if cause != "exit" or code is None or code in (126, 127):
        assert answer.failed
        assert answer.decision == ""


def said(event: str, **output: object) -> HookAnswer:
    return answer_of(event, ended(), json.dumps(output).encode(), b"")


@pytest.mark.parametrize(("code", "decision"), [(0, "allow"), (1, ""), (2, "deny")])
def test_no_json_overrides_the_code_2(code: int, decision: str) -> None:
    allow = json.dumps({"hookSpecificOutput": {"permissionDecision": "allow"}}).encode()
    assert answer_of("PreToolUse", ended(code), allow, b"no").decision == decision


def test_each_event_reads_its_own_words() -> None:
    assert said("PreToolUse", decision="approve").decision == "allow"
    assert said("PreToolUse", decision="block", reason="r").decision == "deny"
    assert said("PreToolUse", hookSpecificOutput={"permissionDecision": "defer"}).decision == "ask"
    assert said("PostToolUse", decision="block", reason="r").decision == "block"
    assert said("PostToolUse", hookSpecificOutput={"permissionDecision": "allow"}).decision == ""
    assert said("Stop", decision="approve").decision == ""
    assert said("PermissionRequest", hookSpecificOutput={"decision": {"behavior": "allow"}}).decision == "allow"
    assert said("PostToolUse", hookSpecificOutput={"updatedToolOutput": {"a": 1}}).output == '{"a":1}'
    assert said("Stop", **{"continue": False, "stopReason": "Enough."}).ends
    assert said("Stop", systemMessage="For you.").message == "For you."


def test_text_counts_where_a_prompt_is_made() -> None:
    for event in EVENTS:
        context = answer_of(event, ended(), b"hello\n", b"").context
        assert context == ("hello" if event in ("SessionStart", "UserPromptSubmit") else "")

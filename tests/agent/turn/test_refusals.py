"""What is decided after a refusal: which tools an error names, what counts as a change, what is never sent again."""

from __future__ import annotations

import json
from collections.abc import AsyncGenerator, AsyncIterator
from contextlib import asynccontextmanager

import pytest

from agent_harness import Rig, says
from holdfast.agent.context import summary_request
from holdfast.agent.generated_title import title_request
from holdfast.agent.turn.refusals import change_after, makes_another_request, refusal_of
from holdfast.errors import ProviderFailed
from holdfast.history.profiles import PROFILES
from holdfast.providers.error_mapping import http_failure
from holdfast.providers.model import StreamEvent
from holdfast.session.conversation.conversation import AssistantMessage, Conversation
from holdfast.session.conversation.fold import fold
from holdfast.session.journal.entries import (
    CallEnded,
    Compacted,
    Entry,
    PromptAccepted,
    RequestChange,
    RequestFailed,
    RequestsChanged,
    ResponseEnded,
    Rewound,
    SessionOpened,
    ToolsChanged,
)
from holdfast.session.journal.model_settings import NO_SETTINGS
from holdfast.session.journal.parts import REQUIRED_THINKING, CallPart, TextPart, ThinkingPart, Usage
from holdfast.session.request.normalize import normalize
from holdfast.testing.script import Call, Fail, Say
from holdfast.testing.scripted_model import ScriptedModel
from holdfast.tool_calls import ToolSchema
from holdfast.ui.view.sentences import Narrator

GET, ALL, PUT = "mcp__a__get", "mcp__a__get_all", "mcp__b__put"
MODEL = "anthropic:claude-opus-4-7"
TOOLS = tuple(
    ToolSchema(name=name, description="It has <|call|> in it.", parameters={"type": "object", "title": "<|end|>"})
    for name in ("read", "write", "mcp__a__get", "mcp__a__get_all", "mcp__b__put")
)
JOURNAL: list[Entry] = [
    SessionOpened(session="s", cwd="/", model=MODEL, system="SYSTEM <|start|>", tools=TOOLS, version="0"),
    PromptAccepted(turn=1, text="go <|channel|>"),
    ResponseEnded(
        step=1,
        model=MODEL,
        parts=(
            ThinkingPart("hm <|end|>", signature="c2ln", provider="anthropic"),
            TextPart("I look at <|assistant to=functions.read|>"),
            CallPart("a", "read", '{"path": "\\u003c|call|>"}', item_id="fc_1", provider="openai", details={"x": 1}),
            CallPart("b", "read", '{"path": "<|x|>"}'),
        ),
        usage=Usage(),
    ),
    CallEnded(call="a", outcome="ok", text="a <|channel|>analysis |> f <| g"),
    CallEnded(call="b", outcome="ok", text="b"),
]
PROFILE = PROFILES["anthropic"]


def changed(change: RequestChange, *tools: str, model: str = MODEL) -> RequestsChanged:
    return RequestsChanged(model=model, change=change, refusal="r", reason="", tools=tools)


def sent(*entries: Entry) -> Conversation:
    return normalize(fold([*JOURNAL, *entries]), PROFILE)


def failed(message: str, *, param: str = "", status: int | None = 400) -> ProviderFailed:
    return ProviderFailed(f"Model {MODEL!r} failed: {message}", fault="rejected", status=status, param=param)


@pytest.mark.parametrize(
    ("message", "param", "names"),
    [
        ("Invalid schema for function 'mcp__a__get': In context=(), object schema missing properties.", "", [GET]),
        ("Invalid schema for function 'mcp__a__get_all': array schema missing items.", "", [ALL]),
        ("tools.3.custom.input_schema: JSON schema is invalid. It must match JSON Schema draft 2020-12", "", [ALL]),
        ("Invalid schema: object schema missing properties.", "tools[4].function.parameters", [PUT]),
        (
            "* GenerateContentRequest.tools[0].function_declarations[2].parameters.properties: should be non-empty",
            "",
            [GET],
        ),
        ("[{'type': 'extra_forbidden', 'loc': ['body', 'tools', 4, 'function']}]", "", [PUT]),
        ("Invalid schema for function 'write': it is odd.", "", ["write"]),
        ("JSON schema conversion failed: Unrecognized schema", "", [GET, ALL, PUT]),
        ("Invalid 'tools': array too long. Expected an array with maximum length 3, but got 5.", "", [ALL, PUT]),
        ("tools.77.custom.name: too long", "", [GET, ALL, PUT]),
    ],
)
def test_the_tool_that_an_error_names_goes(message: str, param: str, names: list[str]) -> None:
    error, conversation = failed(message, param=param), fold(JOURNAL)
    change = change_after(refusal_of(error, conversation), error, conversation)
    assert change is not None
    assert list(change.tools) == names
    opened = sent(change).opened
    assert opened is not None
    assert [tool.name for tool in opened.tools] == [tool.name for tool in TOOLS if tool.name not in names]


def test_after_a_second_refused_tool_those_of_servers_go() -> None:
    error, conversation = (
        failed("Invalid schema for function 'mcp__b__put'."),
        fold([*JOURNAL, changed("tools", "read")]),
    )
    change = change_after(refusal_of(error, conversation), error, conversation)
    assert change is not None
    assert change.tools == ("mcp__a__get", "mcp__a__get_all", "mcp__b__put")


def test_a_session_without_tools_of_servers_loses_none_for_an_error_that_names_none() -> None:
    opened = SessionOpened(session="s", cwd="/", model=MODEL, system="", tools=TOOLS[:2], version="0")
    error, conversation = failed("JSON schema conversion failed: Unrecognized schema"), fold([opened])
    assert change_after(refusal_of(error, conversation), error, conversation) is None


def test_thinking_and_what_came_with_it_is_left_out_also_later() -> None:
    later: list[Entry] = [
        PromptAccepted(turn=2, text="on"),
        ResponseEnded(
            step=2,
            model=MODEL,
            parts=(ThinkingPart("later", signature="c2ln", provider="anthropic"), TextPart("fine")),
            usage=Usage(),
        ),
    ]
    assert "c2ln" in str(sent(*later).messages)
    without = str(sent(changed("thinking"), *later).messages)
    assert "c2ln" not in without
    assert "fc_1" not in without
    assert "fine" in without
    assert "c2ln" in str(sent(changed("thinking", model="openai:gpt-5.5"), *later).messages), "it is another model's"


def test_control_tokens_are_broken_everywhere() -> None:
    conversation = sent(changed("markers"))
    assert conversation.opened is not None
    everything = f"{conversation.messages} {conversation.opened.system} {conversation.opened.tools}"
    calls = [call for each in conversation.messages if isinstance(each, AssistantMessage) for call in each.calls]
    everything += str([json.loads(call.arguments) for call in calls])
    assert "<|" not in everything.replace("<| g", "")
    assert "< |channel| >analysis |> f <| g" in everything, "what is no control token stays"
    assert "< |assistant to=functions.read| >" in everything


def test_a_summary_and_a_title_are_asked_for_without_control_tokens() -> None:
    for change, marked in ((changed("thinking"), True), (changed("markers"), False)):
        conversation = fold([*JOURNAL, change])
        summary = summary_request.request(conversation, conversation.messages, room=9_000)
        title = title_request(conversation, MODEL, NO_SETTINGS)
        assert [("<|channel|>" in str(each.messages)) for each in (summary, title)] == [marked, marked]


def test_calls_of_one_answer_are_sent_one_after_the_other() -> None:
    answers = [each for each in sent(changed("one_call")).messages if isinstance(each, AssistantMessage)]
    assert [[call.arguments for call in each.calls] for each in answers] == [
        ['{"path": "\\u003c|call|>"}'],
        ['{"path": "<|x|>"}'],
    ]


def test_each_message_with_calls_gets_a_field_for_its_reasoning() -> None:
    journal = [
        SessionOpened(session="s", cwd="/", model="openrouter:m", system="", tools=TOOLS, version="0"),
        *JOURNAL[1:],
        changed("reasoning", model="openrouter:m"),
    ]
    (answer,) = [
        each
        for each in normalize(fold(journal), PROFILES["openai-compatible"]).messages
        if isinstance(each, AssistantMessage)
    ]
    first = answer.parts[0]
    assert isinstance(first, ThinkingPart)
    assert (first.text, first.id, first == REQUIRED_THINKING) == ("", "reasoning_content", True)
    assert answer.model == "openrouter:m"


@pytest.mark.parametrize("change", ["thinking", "markers", "one_call"])
def test_a_change_counts_only_if_it_changes_the_request(change: RequestChange) -> None:
    before, after = fold(JOURNAL), fold([*JOURNAL, changed(change)])
    assert makes_another_request(before, after, PROFILE)
    again = fold([*JOURNAL, changed(change), changed(change)])
    assert not makes_another_request(after, again, PROFILE)
    assert again.request_changes == after.request_changes, "it is in force once"
    plain = [JOURNAL[0], PromptAccepted(turn=1, text="go"), ToolsChanged(tools=())]
    assert change == "markers" or not makes_another_request(fold(plain), fold([*plain, changed(change)]), PROFILE)


def test_a_change_stays_after_a_rewind() -> None:
    conversation = fold([*JOURNAL, changed("markers"), Rewound(turn=1)])
    assert [each.change for each in conversation.request_changes] == ["markers"]


async def test_two_refusals_of_one_request_cost_one_further_and_both_are_decided() -> None:
    """The second decision is journalled without a request: the turn ends, and the next one works."""
    marked = says("read", "before <|channel|> after")
    script = [
        [Call("read", {})],
        [Fail(400, "Request blocked.")],
        [Fail(400, "Invalid schema for function 'read': it is odd.")],
        [Say("fine")],
    ]
    rig = Rig(ScriptedModel(script), [marked])
    rig.store.append([ToolsChanged(tools=(marked.schema,))], expected=1)
    rig.agent = rig.new_agent()
    assert (await rig.agent.run("go")).cause == "provider"
    failures = [each for each in rig.entries if isinstance(each, RequestFailed)]
    assert [each.retry_in for each in failures] == [0.0, None]
    assert [each.change for each in rig.entries if isinstance(each, RequestsChanged)] == ["markers", "tools"]
    assert (await rig.new_agent().run("next")).cause == "finished"
    assert len(rig.model.requests) == 4


async def test_a_refusal_that_the_decision_does_not_help_is_not_sent_again() -> None:
    script = [[Call("read", {})], [Fail(500, "Request blocked.")], [Fail(500, "Request blocked.")], [Say("unasked")]]
    rig = Rig(ScriptedModel(script), [says("read", "<|channel|>")])
    assert (await rig.agent.run("go")).cause == "provider"
    assert len(rig.model.requests) == 3, "also with a status that is asked again as a rule"


def test_the_sentence_says_what_is_left_out() -> None:
    (one,) = Narrator().sentences(changed("tools", "mcp__a__get"))
    assert one.text == f"From here on mcp__a__get is not declared to the model any more: {MODEL}'s provider refuses it."


class Silent(ScriptedModel):
    """A model whose provider refuses the third request without a word."""

    status = 400

    @asynccontextmanager
    async def stream(
        self, conversation: Conversation, *, non_streaming: bool = False
    ) -> AsyncGenerator[AsyncIterator[StreamEvent]]:
        if len(self.requests) == 2:
            self.requests.append(conversation)
            raise http_failure("m", self.status, {}, b"")
        async with super().stream(conversation, non_streaming=non_streaming) as events:
            yield events


async def test_an_error_without_a_reason_does_not_shorten_a_short_conversation() -> None:
    rig = Rig(Silent([[Say("one " * 2_000)], [Say("two " * 2_000)], [Say("unasked")]]))
    for _ in range(2):
        assert (await rig.agent.run("go " * 500)).cause == "finished"
    assert (await rig.agent.run("more")).cause == "provider"
    assert not [each for each in rig.entries if isinstance(each, Compacted)]


@pytest.mark.parametrize(
    ("status", "window", "shortened"), [(400, 0, 1), (400, 119_000, 1), (400, 125_000, 0), (413, 125_000, 1)]
)
async def test_status_400_without_a_reason_shortens_what_fills_half_of_the_window(
    status: int, window: int, shortened: int
) -> None:
    """Gateways answer 400 without a body for faults of their own too, far below the window."""
    script = [[Say("one")], [Say("two")], [Say("a summary")], [Say("done")]]
    model = Silent(script, usage=Usage(input_tokens=60_000))
    model.status = status
    rig = Rig(model, window=lambda _: window)
    for _ in range(2):
        assert (await rig.agent.run("word " * 8_000)).cause == "finished"
    assert (await rig.agent.run("more")).cause == ("finished" if shortened else "provider")
    assert len([each for each in rig.entries if isinstance(each, Compacted)]) == shortened

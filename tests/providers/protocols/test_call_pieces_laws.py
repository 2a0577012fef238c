"""Any legal way to send a call gives the same call, and a call whose pieces do not fit is never run.

Each protocol has its own ways: arguments in any pieces, calls side by side where the protocol has places for them, the
whole call once more at its end. The servers in use add their own: `DEVIATIONS` has them.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from typing import Any

import pytest
from hypothesis import assume, example, given
from hypothesis import strategies as st

from holdfast.errors import ProviderFailed
from holdfast.history.formats.format import is_arguments
from holdfast.providers.protocols import protocol_of
from holdfast.providers.protocols.call_arguments import tool_name, whole_arguments
from holdfast.providers.protocols.response_parts import ResponseParts
from holdfast.providers.registry import resolve_endpoint
from holdfast.session.journal.parts import CallPart
from laws import law

Json = dict[str, Any]
Written = tuple[str, str]
"""The name of a call and its arguments, as the model wrote them."""

MODELS = {
    "openai-chat": "openrouter:x/y",
    "anthropic": "anthropic:claude-opus-4-7",
    "openai-responses": "openai:gpt-5.5",
}
KEYS: dict[str, str] = dict.fromkeys(("OPENROUTER_API_KEY", "ANTHROPIC_API_KEY", "OPENAI_API_KEY"), "k")

_values = st.recursive(
    st.none() | st.booleans() | st.integers(-9, 9) | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=2) | st.dictionaries(st.text(max_size=3), inner, max_size=2),
    max_leaves=4,
)
objects = st.dictionaries(st.text(max_size=4), _values, min_size=1, max_size=3).map(
    lambda value: json.dumps(value, ensure_ascii=False)
)
calls = st.lists(st.tuples(st.sampled_from(["read", "bash", "edit"]), objects), min_size=1, max_size=4)
cuts = st.lists(st.integers(0, 200), max_size=5)


def pieces_of(text: str, places: Sequence[int]) -> list[str]:
    """Return the text in pieces, cut at these places."""
    at = sorted({place % (len(text) + 1) for place in places})
    return [text[start:end] for start, end in zip([0, *at], [*at, len(text)], strict=True)]


def read(wire: str, events: Sequence[Json]) -> list[Written]:
    """Return the calls that are read from the events."""
    endpoint = resolve_endpoint(MODELS[wire], KEYS)
    reader = protocol_of(endpoint.provider.kind).reader(endpoint)
    for event in events:
        list(reader.event("", json.dumps(event).encode()))
    return [(part.name, part.arguments) for part in reader.finished().parts if isinstance(part, CallPart)]


def runnable(wire: str, events: Sequence[Json]) -> list[Written]:
    """Return the calls that would run: those with arguments that are an object, or that have none."""
    try:
        found = read(wire, events)
    except ProviderFailed as failed:
        return [] if failed.fault == "malformed" else [("", failed.fault)]
    return [(name, text) for name, text in found if not text.strip() or is_arguments(text)]


def interleaved(data: st.DataObject, queues: list[list[Json]], *, side_by_side: bool) -> list[Json]:
    """Return the events of the queues: one after the other, or mixed, each in its own order."""
    if not side_by_side:
        return [event for queue in queues for event in queue]
    events = [queue.pop(0) for queue in queues]  # the calls begin in their order
    while left := [queue for queue in queues if queue]:
        events.append(data.draw(st.sampled_from(left)).pop(0))
    return events


# --- Chat -------------------------------------------------------------------------------------------------------------


def chat(delta: Json, finish: str | None = None) -> Json:
    return {"choices": [{"index": 0, "delta": delta, "finish_reason": finish}]}


def piece(arguments: str, *, name: str | None = None, **more: object) -> Json:
    function = {"arguments": arguments} if name is None else {"name": name, "arguments": arguments}
    return chat({"tool_calls": [{"function": function, **more}]})


@law()
@given(
    calls=calls,
    data=st.data(),
    has_index=st.booleans(),
    has_id=st.booleans(),
    repeats_id=st.booleans(),
    head_is_alone=st.booleans(),
)
def test_any_legal_stream_of_chat_completions_gives_the_same_calls(
    calls: list[Written], data: st.DataObject, *, has_index: bool, has_id: bool, repeats_id: bool, head_is_alone: bool
) -> None:
    queues: list[list[Json]] = []
    for number, (name, arguments) in enumerate(calls):
        index: Json = {"index": number} if has_index else {}
        own: Json = {"id": f"call_{number}"} if has_id else {}
        first, *rest = pieces_of(arguments, data.draw(cuts))
        head = [piece("", name=name, **index, **own), piece(first, **index)]
        if not head_is_alone:
            head = [piece(first, name=name, **index, **own)]
        further = index | (own if repeats_id else {})
        queues.append([*head, *(piece(each, **further) for each in rest)])
    mixed = has_index or (has_id and repeats_id and not head_is_alone)
    events = interleaved(data, queues, side_by_side=mixed and data.draw(st.booleans()))
    assert read("openai-chat", [*events, chat({}, "tool_calls")]) == calls


def _whole_again(name: str, arguments: str) -> list[Json]:
    return [piece(arguments, name=name, index=0, id="call_1")] * 2


def _other_index(name: str, arguments: str) -> list[Json]:
    rest = pieces_of(arguments, [3, 7, 9])
    return [piece("", name=name, index=0, id="c"), *(piece(each, index=at) for at, each in enumerate(rest, 1))]


def _cumulative(name: str, arguments: str) -> list[Json]:
    so_far = [arguments[:end] for end in (2, 5, len(arguments))]
    return [piece(each, name=name, index=0, id="c") for each in so_far]


DEVIATIONS: dict[str, Callable[[str, str], list[Json]]] = {
    "the whole call comes twice": _whole_again,
    "pieces have indices of their own": _other_index,
    "each piece repeats those before it": _cumulative,
    "an empty object comes first": lambda name, text: [piece("{}", name=name, index=0, id="c"), piece(text, index=0)],
    "an empty object comes last": lambda name, text: [piece(text, name=name, index=0, id="c"), piece("{}", index=0)],
    "the arguments are encoded as a string": lambda name, text: [piece(json.dumps(text), name=name, index=0, id="c")],
    "the arguments are encoded twice": lambda name, text: [
        piece(json.dumps(json.dumps(text)), name=name, index=0, id="c")
    ],
    "a control token ends the name": lambda name, text: [piece(text, name=f"{name}<|channel|>commentary", index=0)],
    "it is the older field": lambda name, text: [chat({"function_call": {"name": name, "arguments": text}})],
    "the message comes whole": lambda name, text: [
        {"choices": [{"message": {"tool_calls": [{"id": "c", "function": {"name": name, "arguments": text}}]}}]}
    ],
    "the call is in a second choice": lambda name, text: [
        {
            "choices": [
                {"index": 0, "delta": {"content": "so"}},
                {"index": 1, "delta": {"tool_calls": [{"id": "c", "function": {"name": name, "arguments": text}}]}},
            ]
        }
    ],
}


@law()
@pytest.mark.parametrize("way", DEVIATIONS)
@given(arguments=objects)
def test_what_servers_do_otherwise_gives_the_same_call(way: str, arguments: str) -> None:
    events = DEVIATIONS[way]("read", arguments)
    assert read("openai-chat", [*events, chat({}, "tool_calls")]) == [("read", arguments)]


def test_a_new_id_begins_a_call_and_its_pieces_follow_it_whatever_their_index() -> None:
    events = [
        piece("", name="read", index=0, id="call_1"),
        piece('{"path": "a"}', index=0),
        piece("", name="read", index=0, id="call_2"),
        piece('{"path": "b"}', index=1),
        chat({}, "tool_calls"),
    ]
    assert read("openai-chat", events) == [("read", '{"path": "a"}'), ("read", '{"path": "b"}')]


@law()
@given(first=objects, second=objects, indices=st.lists(st.integers(0, 3), min_size=2, max_size=6), data=st.data())
@example(first='{"a": 1}', second='{"b": 1}', indices=[1, 2], data=None)
@example(first='{"a": 1}', second='{"b": 1}', indices=[0, 0], data=None)
@example(first='{"a": 1}', second='{"b": 1}', indices=[2, 3], data=None)
def test_pieces_on_wrong_indices_never_run_a_call_with_arguments_it_was_not_given(
    first: str, second: str, indices: list[int], data: st.DataObject | None
) -> None:
    """Two calls begin at 0 and 1, and their pieces come on any index."""
    assume(json.loads(first) != json.loads(second))
    cut = 0 if data is None else data.draw(st.integers(0, len(first)))
    texts = [first[:cut], first[cut:], second]
    texts = [each for each in texts if each]
    heads = [piece("", name="bash", index=0, id="1"), piece("", name="edit", index=1, id="2")]
    placed = [*indices, *[indices[-1]] * len(texts)]
    events = [*heads, *(piece(text, index=at) for at, text in zip(placed, texts, strict=False)), chat({}, "tool_calls")]
    # Nothing tells pieces that were exchanged from calls that were written so.
    swapped = placed[: len(texts)] == [1] * (len(texts) - 1) + [0]
    found = runnable("openai-chat", events)
    assert found in ([], [("bash", second), ("edit", first)] if swapped else [("bash", first), ("edit", second)])


def test_what_looks_repeated_is_not_put_together_beside_pieces_that_do_not_fit() -> None:
    heads = [piece("", name="bash", index=0, id="1"), piece("", name="edit", index=1, id="2")]
    placed = [piece("{", index=0), piece('"a": 1}', index=1), piece('{"b": 1}', index=0)]
    assert runnable("openai-chat", [*heads, *placed, chat({}, "tool_calls")]) == []


# --- Messages ---------------------------------------------------------------------------------------------------------


def block(
    index: int, name: str, arguments: Sequence[str], *, at: int | None = None, given: Json | None = None
) -> list[Json]:
    """Return the events of a call; `at` is the index of its pieces, `given` the input of its first event."""
    begun = {"type": "tool_use", "id": f"toolu_{index}", "name": name, "input": given or {}}
    where = index if at is None else at
    return [
        {"type": "content_block_start", "index": index, "content_block": begun},
        *(
            {"type": "content_block_delta", "index": where, "delta": {"type": "input_json_delta", "partial_json": each}}
            for each in arguments
        ),
        {"type": "content_block_stop", "index": index},
    ]


ENDED = {"type": "message_delta", "delta": {"stop_reason": "tool_use"}}


@law()
@given(calls=calls, data=st.data(), numbered=st.sampled_from(["each", "all 0", "pieces 0", "pieces elsewhere"]))
def test_any_stream_of_messages_gives_the_same_calls(calls: list[Written], data: st.DataObject, numbered: str) -> None:
    events: list[Json] = []
    for number, (name, arguments) in enumerate(calls):
        index = 0 if numbered == "all 0" else number
        at = {"pieces 0": 0, "pieces elsewhere": number + 7}.get(numbered)
        events += block(index, name, pieces_of(arguments, data.draw(cuts)), at=at)
    assert read("anthropic", [*events, ENDED]) == calls


@law()
@given(arguments=objects, other=objects)
def test_an_input_that_comes_at_once_and_in_pieces_is_one_if_both_are_the_same(arguments: str, other: str) -> None:
    given = json.loads(arguments)
    assert [
        json.loads(text) for _, text in read("anthropic", [*block(0, "read", [arguments], given=given), ENDED])
    ] == [given]
    assume(json.loads(other) != given)
    assert runnable("anthropic", [*block(0, "read", [other], given=given), ENDED]) == []


# --- Responses --------------------------------------------------------------------------------------------------------


def item(number: int, name: str, arguments: str, *, own: str = "fc") -> Json:
    ids = {"id": f"{own}_{number}", "call_id": f"call_{number}"}
    return {"type": "function_call", **ids, "name": name, "arguments": arguments}


def completed(*items: Json) -> Json:
    return {"type": "response.completed", "response": {"status": "completed", "output": list(items)}}


@law()
@given(calls=calls, data=st.data(), changes_ids=st.booleans())
def test_any_events_of_responses_give_the_same_calls(
    calls: list[Written], data: st.DataObject, *, changes_ids: bool
) -> None:
    """Each call is brought by any of its events: the beginning with pieces, the end, the whole item, the last event."""
    queues: list[list[Json]] = []
    for number, (name, arguments) in enumerate(calls):
        where = {"item_id": f"fc_{number}", "output_index": number}
        added = {"type": "response.output_item.added", "output_index": number, "item": item(number, name, "")}
        pieces = [
            {"type": "response.function_call_arguments.delta", **where, "delta": each}
            for each in pieces_of(arguments, data.draw(cuts))
        ]
        done = {"type": "response.function_call_arguments.done", **where, "arguments": arguments}
        whole = {"type": "response.output_item.done", "output_index": number, "item": item(number, name, arguments)}
        ways = [[added, *pieces], [added, *pieces, done], [added, done], [added, *pieces, done, whole], [whole], []]
        queues.append(data.draw(st.sampled_from(ways[:-1] if changes_ids else ways)))
    events = [event for queue in queues for event in queue]
    own = "other" if changes_ids else "fc"
    last = completed(*(item(number, *call, own=own) for number, call in enumerate(calls)))
    assert sorted(read("openai-responses", [*events, last])) == sorted(calls)


@law()
@given(arguments=objects, other=objects)
def test_events_that_state_different_arguments_run_nothing(arguments: str, other: str) -> None:
    assume(json.loads(other) != json.loads(arguments))
    added = {"type": "response.output_item.added", "output_index": 0, "item": item(0, "read", "")}
    pieces = {
        "type": "response.function_call_arguments.delta",
        "item_id": "fc_0",
        "output_index": 0,
        "delta": arguments,
    }
    assert runnable("openai-responses", [added, pieces, completed(item(0, "read", other))]) == []


def test_few_of_the_texts_that_state_all_arguments_are_kept() -> None:
    parts = ResponseParts("openai")
    for number in range(100):
        parts.state_arguments("call", f'{{"n": {number}}}')
    assert len(parts.call("call").statements) < 10
    assert [is_arguments(part.arguments) for part in parts.parts() if isinstance(part, CallPart)] == [False]


@pytest.mark.parametrize("has_deltas", [True, False])
def test_a_text_and_a_call_that_only_the_last_event_has_are_read(*, has_deltas: bool) -> None:
    message = {"type": "message", "id": "m", "content": [{"type": "output_text", "text": "let me look"}]}
    delta = {"type": "response.output_text.delta", "item_id": "m", "output_index": 0, "content_index": 0}
    before = [{**delta, "delta": "let me"}] if has_deltas else []
    endpoint = resolve_endpoint(MODELS["openai-responses"], KEYS)
    reader = protocol_of(endpoint.provider.kind).reader(endpoint)
    for event in [*before, completed(message, item(0, "read", "{}"))]:
        list(reader.event("", json.dumps(event).encode()))
    text, called = reader.finished().parts
    assert (getattr(text, "text", ""), isinstance(called, CallPart)) == ("let me look", True)


# --- the pieces themselves --------------------------------------------------------------------------------------------


@law()
@given(text=objects, places=cuts)
def test_pieces_that_follow_each_other_are_kept_byte_for_byte(text: str, places: list[int]) -> None:
    assert whole_arguments(pieces_of(text, places)) == text


@law()
@given(text=objects, other=objects)
def test_two_objects_that_differ_are_none(text: str, other: str) -> None:
    assume(json.loads(text) != json.loads(other))
    assert not is_arguments(whole_arguments([text, other]))
    assert not is_arguments(whole_arguments([text], [other]))


@pytest.mark.parametrize(
    "text", ["", "  ", "null", "[1]", '{"a": ', '{"a": 1} and', "[" * 100_000, '{"a": true}{"a": 1}']
)
def test_what_is_no_object_stays_as_it_was_written(text: str) -> None:
    assert whole_arguments([text]) == text


@pytest.mark.parametrize(
    ("written", "name"), [("read", "read"), ("read<|channel|>json", "read"), ("<|x|>", "<|x|>"), ("a < b", "a < b")]
)
def test_a_name_ends_at_a_control_token(written: str, name: str) -> None:
    assert tool_name(written) == name

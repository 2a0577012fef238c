"""What most messages are written like is read and written in a short way: it agrees with the long one."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from itertools import product

import pytest

from holdfast.history.apply_edits import apply
from holdfast.history.edit_places import EditPlace
from holdfast.history.edits import AddResult, SetId
from holdfast.history.field_types import all_known, unfamiliar_messages
from holdfast.history.fields import Kinds, unknown_fields
from holdfast.history.formats.format import as_array, as_object, project_messages
from holdfast.history.formats.openai_chat import FORMAT, plain_message
from holdfast.history.profiles import PAIRS, PROFILES
from holdfast.history.shape import NO_RESULT, Path

_LEFT_OUT = object()
NONE: list[object] = []
NOTHING: dict[str, object] = {}
TEXTS: tuple[object, ...] = (_LEFT_OUT, None, "", " \n", "a", "\x1f", "\u00a0", "\ud800", NO_RESULT, 5, NONE, ["a"])
PARTS: tuple[object, ...] = (*TEXTS, [{"type": "text", "text": "a"}], {"text": "a"}, ("a",))


def messages() -> Iterator[dict[str, object]]:
    """Yield messages of Chat of every role, with fields that are right, wrong, missing and unknown."""
    call: dict[str, object] = {"id": "a", "type": "function", "function": {"name": "f", "arguments": "{}"}}
    function: dict[str, object] = {"name": "f", "arguments": "{}"}
    calls: list[object] = [
        *(_LEFT_OUT, None, [], [None], ["a"], "a", (call,), [call], [call, {**call, "id": "b"}], [call, 5]),
        *([{**call, "id": value}] for value in TEXTS if value is not _LEFT_OUT),
        *([{**call, "type": value}] for value in ("custom", None, "", 5)),
        *([{**call, "function": value}] for value in (None, NONE, "f", NOTHING, {"name": "f"})),
        *([{**call, "function": {**function, "name": value}}] for value in ("", None, 5, "a b")),
        *(
            [{**call, "function": {**function, "arguments": value}}]
            for value in (None, "", "{", "[]", "null", NOTHING, "{} ")
        ),
        *([{**call, extra: value}] for extra, value in (("index", 0), ("custom", {}), ("custom", {"input": "a"}))),
        [{**call, "function": {**function, "strict": True}}],
        [{key: value for key, value in call.items() if key != "id"}],
    ]
    besides: tuple[Mapping[str, object], ...] = (
        *({}, {"name": "a"}, {"name": ""}, {"name": "a b"}, {"name": 5}, {"refusal": None}, {"refusal": "a"}),
        *({"function_call": None}, {"function_call": function}, {"reasoning_content": "a"}, {"tool_call_id": "a"}),
    )
    for role, content, extra in product(("system", "user", "assistant", "tool", "developer"), PARTS, besides):
        yield without_left_out({"role": role, "content": content, **extra})
    for content, each in product(PARTS, calls):
        yield without_left_out({"role": "assistant", "content": content, "tool_calls": each})
    for content, each, extra in product((_LEFT_OUT, None, "a"), calls, besides[1:]):
        yield without_left_out({"role": "assistant", "content": content, "tool_calls": each, **extra})
    for content, each, role in product(PARTS, TEXTS, ("tool", "function", "user")):
        yield without_left_out({"role": role, "content": content, "tool_call_id": each})
    for role in (5, None, NONE, "Tool", _LEFT_OUT):
        yield without_left_out({"role": role, "content": "a"})


def without_left_out(message: Mapping[str, object]) -> dict[str, object]:
    return {key: value for key, value in message.items() if value is not _LEFT_OUT}


def test_a_message_of_chat_is_read_as_the_long_way_reads_it() -> None:
    every = list(messages())
    short = [(raw, plain_message(3, raw)) for raw in every]
    assert [(raw, read) for raw, read in short if read is not None and read != FORMAT.any_message(3, raw)] == []
    assert sum(read is not None for _, read in short) > 20


class _Long:
    """Chat without `with_ids`: for a new id, it writes the whole message again."""

    name, grammar, profile, keys = FORMAT.name, FORMAT.grammar, FORMAT.profile, FORMAT.keys
    request_facts, message, build = FORMAT.request_facts, FORMAT.message, FORMAT.build


@pytest.mark.parametrize("profile", ["mistral", "openai-chat"])
def test_a_message_with_new_ids_is_written_as_the_long_way_writes_it(profile: str) -> None:
    known = PROFILES[profile].known_fields("openai-chat", thinking=False)
    written = derived = 0
    for raw in messages():
        shape = project_messages(FORMAT, [raw, {"role": "user", "content": "a"}], known=known)
        paths = [item.path for item in shape.messages[0].items if item.kind in ("call", "result")]
        for some in (paths, paths[1:]):
            edits = [SetId((path,), None, f"new{number}") for number, path in enumerate(some)]
            short, long = (apply(form, [raw, 5], shape, edits, known=known) for form in (FORMAT, _Long()))
            assert short.messages == long.messages, raw
            written += short.messages != [raw, 5]
            known_projection = short.known_projections(shape)[0]
            if known_projection is not None:
                assert known_projection == project_messages(FORMAT, short.messages[:1], known=known).messages[0], raw
            derived += 0 in short.new_ids.messages
    assert written > 100
    assert derived > 20


@pytest.mark.parametrize("place", [0, 1])
def test_a_message_that_something_else_changes_gets_its_ids_with_it(place: int) -> None:
    call = {"id": "a", "type": "function", "function": {"name": "f", "arguments": "{}"}}
    calls: object = {"role": "assistant", "content": None, "tool_calls": [call, {**call, "id": "b"}]}
    sent = [calls, {"role": "assistant", "content": "and"}]
    paths: list[Path] = [(0, "tool_calls", 0), (0, "tool_calls", 1)]
    edits = [AddResult(path, EditPlace(place), "?") for path in paths]
    ids = [SetId((path,), None, new) for path, new in zip(paths, ("x", "y"), strict=True)]
    repaired = apply(FORMAT, sent, project_messages(FORMAT, sent), [*edits, *ids]).messages
    assert [as_object(each)["id"] for each in as_array(as_object(repaired[0])["tool_calls"])] == ["x", "y"]
    results = repaired[place + 1 : place + 3]
    assert [as_object(each)["tool_call_id"] for each in results] == ["x", "y"]


# --- fields ----------------------------------------------------------------------------------------------------------


def tables() -> Iterator[Kinds]:
    """Yield the fields that each provider knows, and those of what they hold."""
    for form, profiles in PAIRS.items():
        for name in profiles:
            known = PROFILES[name].known_fields(form, thinking=True)
            yield from within(known) if known is not None else ()


def within(kinds: Kinds) -> Iterator[Kinds]:
    yield kinds
    for fields in kinds.fields.values():
        for _, inner in fields.within:
            yield from within(inner)


def objects(kinds: Kinds) -> Iterator[object]:
    """Yield objects of each kind with known fields, unknown ones, and other objects in them."""
    yield from (None, "a", 5, [], {}, {"unknown": 1}, {kinds.by: "unknown", "a": 1}, {kinds.by: 5}, {kinds.by: None})
    for kind, fields in kinds.fields.items():
        named: dict[str, object] = {kinds.by: kind} if kind else {}
        full: dict[str, object] = {**dict.fromkeys(fields.names), **named}
        yield from (named, full, {**full, "unknown": 1}, *({**named, name: "a"} for name in fields.judged))
        for name, inner in fields.within:
            for each in ({"unknown": 1}, *({inner.by: one, "unknown": 1} for one in inner.fields), {}):
                yield from ({**named, name: value} for value in (each, [each], (each,), [{}, each], [[each]]))


def test_what_is_known_at_a_glance_has_no_unknown_fields() -> None:
    known = 0
    for kinds in {id(each): each for each in tables()}.values():
        every = list(objects(kinds))
        suspected = set(unfamiliar_messages(every, kinds))
        assert suspected == {at for at, raw in enumerate(every) if not all_known(raw, kinds)}
        unknown = {at for at, raw in enumerate(every) if list(unknown_fields(raw, kinds, (at,)))}
        assert unknown <= suspected
        known += len(every) - len(suspected)
        assert all(
            all_known(dict.fromkeys(fields.names) | ({kinds.by: kind} if kind else {}), kinds)
            for kind, fields in kinds.fields.items()
        )
    assert known > 100

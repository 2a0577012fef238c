"""The types of fields that `check` knows are those of the vendors' own types: each field of each kind of object."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, cast

import pytest
from anthropic.types import beta as anthropic
from disagreements import refusal
from google.genai import types as google
from openai.types import chat, responses

from holdfast.history import Violation, check
from holdfast.history.formats.format import Json, is_array, is_object
from sdk_schemas import Schema, declared, tags
from wire_documents import DOCUMENTS

Check = Callable[[list[object], str], list[Violation]]
Gap = tuple[str, str, str]
TYPES: dict[str, Any] = {
    "anthropic": anthropic.BetaMessageParam,
    "openai-chat": chat.ChatCompletionMessageParam,
    "openai-responses": responses.ResponseInputItemParam,
    "gemini": google.Content,
}
JUDGE = {"gemini": "google"}
ABSENT = "absent"
WRONG: tuple[object, ...] = (5, "zebra", [5], {"zebra": 5}, None, ABSENT)


def camel(name: str) -> str:
    first, *rest = name.split("_")
    return first + "".join(word.title() for word in rest)


def lets_pass(wire: str, options: Sequence[Schema], value: object) -> bool:
    """Return whether a type of the SDK says less than its service takes, or looks where no table does."""
    if any("enum" in each or "const" in each for each in options):
        return value == "zebra" or (wire == "gemini" and value == 5)  # new names come; Google's have numbers
    return wire == "gemini" and is_object(value)  # every object has fields that may be left out, and no table of them


def gaps(wire: str, looks: Check) -> Iterator[Gap]:
    """Yield definition, field and value that the SDK's type refuses, and of which `looks` finds nothing."""
    document = cast("list[object]", json.loads(json.dumps(DOCUMENTS[wire])))
    known = declared({"Root": TYPES[wire]})
    before = {(each.position, each.rule) for each in looks(document, wire)}
    seen: set[tuple[str, str]] = set()
    for block, name, definition in _objects(wire, document, {"items": known["Root"]}, known):
        for field, schema in definition["properties"].items():
            key = camel(field) if wire == "gemini" else field
            if (name, field) in seen:
                continue
            seen.add((name, field))
            was = block.copy()
            for value in WRONG:
                if value is None and field not in definition.get("required", []):
                    continue  # programs write null for what may be left out, and no refusal of it is known
                if lets_pass(wire, [each for _, each in _alternatives(schema, known)], value) or (
                    value == ABSENT and key not in was
                ):
                    continue
                block[key] = value
                if value == ABSENT:
                    del block[key]
                found = {(each.position, each.rule) for each in looks(document, wire)}
                if found <= before and refusal(JUDGE.get(wire, wire), wire, document):
                    yield name, field, json.dumps(value)
                block.clear()
                block.update(was)


def _alternatives(schema: Schema, known: Mapping[str, Schema], name: str = "") -> Iterator[tuple[str, Schema]]:
    """Yield each alternative of a place with its name, but for types of answers, which take unknown fields."""
    if "$ref" in schema:
        yield from _alternatives(known[schema["$ref"]], known, schema["$ref"])
    elif "anyOf" in schema:
        for each in schema["anyOf"]:
            yield from _alternatives(each, known)
    elif not ("properties" in schema and schema.get("additionalProperties") is True):
        yield name, schema


def _objects(
    wire: str, value: object, schema: Schema, known: Mapping[str, Schema]
) -> Iterator[tuple[Json, str, Schema]]:
    """Yield each object in the value with each of its definitions, and its name."""
    options = list(_alternatives(schema, known))
    if is_array(value):
        items = [each["items"] for _, each in options if "items" in each]
        for each in value:
            yield from _objects(wire, each, items[0] if items else {}, known)
    if not is_object(value):
        return
    kinds = [(name, each) for name, each in options if "properties" in each]
    by = "type" if any("type" in each["properties"] for _, each in kinds) else "role"
    if len(kinds) > 1 and by in value:
        kinds = [(name, each) for name, each in kinds if value[by] in tags(each)]
    elif len(kinds) > 1:
        kinds = [(name, each) for name, each in kinds if by not in each.get("required", [])]
    for name, definition in kinds:
        yield value, name or wire, definition
        for field, inner in definition["properties"].items():
            key = camel(field) if wire == "gemini" else field
            if key in value:
                yield from _objects(wire, value[key], inner, known)


def _check(messages: list[object], wire: str) -> list[Violation]:
    return check(messages, format=wire)


@pytest.mark.filterwarnings("ignore:.* is not a valid")  # Google's types warn of names that they take
@pytest.mark.parametrize("wire", TYPES)
def test_what_an_sdk_says_of_a_field_is_known(wire: str) -> None:
    assert not list(gaps(wire, _check))


@pytest.mark.filterwarnings("ignore:.* is not a valid")
@pytest.mark.parametrize(
    ("wire", "gap"),
    [("gemini", ("Part", "thought", "[5]")), ("openai-chat", ("FileFile", "filename", "5"))],
)
def test_a_type_that_is_not_known_is_noticed(wire: str, gap: Gap) -> None:
    def blind(messages: list[object], wire: str) -> list[Violation]:
        return [each for each in _check(messages, wire) if each.rule != "field-mistyped"]

    assert gap in set(gaps(wire, blind))

"""The schemas of the scripted providers: those that the vendors' SDKs declare, and checked as the SDKs' types check."""

from __future__ import annotations

import copy
import json
from collections.abc import Iterator, Mapping, Sequence
from types import ModuleType
from typing import Any, Literal, NotRequired, cast

import pydantic
import pytest
from anthropic.types import beta as anthropic
from google.genai import types as google
from mistral_common.protocol.instruct import messages as mistral
from openai.types import chat, responses
from typing_extensions import TypedDict, is_typeddict

from holdfast.testing.protocols.vendor_schema import VendorSchema
from sdk_schemas import SCHEMAS, SOURCES, Schema, bare_schemas, declared, schemas, written
from sdk_types import eager

TYPES: dict[str, ModuleType] = {
    "anthropic": anthropic,
    "openai-chat": chat,
    "openai-responses": responses,
    "gemini": google,
    "mistral": mistral,
}
WRONG: tuple[object, ...] = (None, 5, 2.5, True, "zebra", [], [5], ["zebra"], {}, {"zebra": 5}, {"type": "zebra"})


def differences(found: Mapping[str, Schema], expected: Mapping[str, Schema]) -> list[str]:
    """Return where two sets of definitions differ: a definition, or a field of one."""
    different = sorted(found.keys() ^ expected.keys())
    for name in found.keys() & expected.keys():
        ours, theirs = (each.get("properties", {}) for each in (found[name], expected[name]))
        fields = [f"{name}.{key}" for key in sorted({*ours, *theirs}) if ours.get(key) != theirs.get(key)]
        different += fields or ([name] if found[name] != expected[name] else [])
    return different


@pytest.mark.parametrize("wire", SOURCES)
def test_the_schemas_are_those_of_the_sdks(wire: str) -> None:
    """Where it fails, an SDK has changed: read the change, and run `tests/sdk_schemas.py`."""
    text = (SCHEMAS / f"{wire}.json").read_text("utf-8")
    assert differences(json.loads(text), schemas(wire)) == []
    assert text == written(wire)


def test_a_wrong_schema_is_noticed() -> None:
    generated = schemas("anthropic")
    wrong = cast("Any", copy.deepcopy(generated))
    del wrong["BetaURLPDFSourceParam"]
    del wrong["BetaImageBlockParam"]["properties"]["transformations"]
    wrong["BetaThinkingBlockParam"]["required"].remove("signature")
    wrong["BetaToolUseBlockParam"]["properties"]["input"] = {"type": "string"}
    wrong["BetaTextBlockParam"]["properties"]["parsed"] = {}
    assert sorted(differences(wrong, generated)) == [
        "BetaImageBlockParam.transformations",
        "BetaTextBlockParam.parsed",
        "BetaThinkingBlockParam",
        "BetaToolUseBlockParam.input",
        "BetaURLPDFSourceParam",
    ]


class _Part(TypedDict):
    type: Literal["part"]


class _Held(TypedDict):
    parts: list[_Part] | None
    size: NotRequired[float]
    state: NotRequired[Literal["on", "off"]]


def test_what_is_declared_of_a_type() -> None:
    assert declared({"Held": _Held}) == {
        "Held": {
            "type": "object",
            "properties": {
                "parts": {"anyOf": [{"items": {"$ref": "_Part"}, "type": "array"}, {"type": "null"}]},
                "size": {"type": "number"},
                "state": {"enum": ["on", "off"], "type": "string"},
            },
            "required": ["parts"],
        },
        "_Held": declared({"Held": _Held})["Held"],
        "_Part": {
            "type": "object",
            "properties": {"type": {"const": "part", "type": "string"}},
            "required": ["type"],
        },
    }


@pytest.mark.parametrize("wire", SOURCES)
def test_every_exception_is_one(wire: str) -> None:
    """One that the SDK has caught up with goes."""
    exceptions, types = SOURCES[wire].exceptions, bare_schemas(wire)
    for name, fields in exceptions.taken.items():  # may be empty: this SDK declares all that the provider takes
        assert all(types[name]["properties"].get(key) != schema for key, (schema, _) in fields.items()), name
    for name, reasons in exceptions.optional.items():  # may be empty: it demands what the provider demands
        assert reasons.keys() <= {*types[name]["required"]}, name
    for name, reasons in exceptions.refused.items():  # may be empty: the provider takes all that it declares
        assert reasons.keys() <= types[name]["properties"].keys(), name


def test_google_s_own_sdk_says_what_the_gemini_api_has_not() -> None:
    generated = schemas("gemini")
    assert not {"partial_args", "will_continue"} & generated["FunctionCall"]["properties"].keys()
    assert "will_continue" in generated["FunctionResponse"]["properties"]
    assert not {"retrieval", "enterprise_web_search"} & generated["Tool"]["properties"].keys()


# --- the check -------------------------------------------------------------------------------------------------------


def sample(schema: Any, known: Mapping[str, Schema]) -> object:
    """Return a value with every field that the schema has, of the first of its alternatives."""
    if "$ref" in schema:
        return sample(known[schema["$ref"]], known)
    if "anyOf" in schema:
        return sample(schema["anyOf"][0], known)
    if "const" in schema or "enum" in schema:
        return schema.get("const", schema.get("enum", [None])[0])
    if schema.get("type") == "array":
        return [sample(schema.get("items", {}), known)]
    if schema.get("type") == "object":
        return {key: sample(each, known) for key, each in schema.get("properties", {}).items()}
    first = schema["type"][0] if isinstance(schema.get("type"), list) else schema.get("type")
    return {"string": "QQ==", "integer": 1, "number": 1.5, "boolean": True}.get(first)


def changed(value: object, wrong: Sequence[object]) -> Iterator[object]:
    """Yield the value without one of its fields, and with a wrong value in the place of each in it."""
    if isinstance(value, dict):
        fields = cast("dict[str, object]", value)
        for key, each in fields.items():
            yield {name: one for name, one in fields.items() if name != key}
            yield from ({**fields, key: other} for other in (*wrong, *changed(each, wrong)))
    elif isinstance(value, list):
        for each in cast("list[object]", value):
            yield from ([other] for other in (*wrong, *changed(each, wrong)))


def judged(wire: str) -> list[str]:
    """Return the definitions that are types of the SDK, with all that they hold."""
    source, known = SOURCES[wire], schemas(wire)
    other = {*source.flat, *source.exceptions.taken, *source.exceptions.optional, *source.exceptions.refused}
    named = [name for name, each in known.items() if "properties" in each and name in vars(TYPES[wire])]
    return [name for name in named if not other & _within(known[name], known, {name})]


def _within(raw: object, known: Mapping[str, Schema], seen: set[str]) -> set[str]:
    if isinstance(raw, dict):
        schema = cast("Schema", raw)
        if isinstance(name := schema.get("$ref"), str) and name not in seen:
            seen.add(name)
            _within(known[name], known, seen)
        for each in schema.values():
            _within(each, known, seen)
    elif isinstance(raw, list):
        for each in cast("list[object]", raw):
            _within(each, known, seen)
    return seen


@pytest.mark.parametrize("wire", SOURCES)
def test_what_the_type_of_an_sdk_refuses_is_refused(wire: str) -> None:
    schema, known = VendorSchema(wire), schemas(wire)
    strict = wire != "gemini"  # strict types take no bytes, others take a boolean as a number
    wrong = [each for each in WRONG if strict or each is not True]
    tried = 0
    for name in judged(wire):
        adapter = pydantic.TypeAdapter(vars(TYPES[wire])[name])
        judge = eager(adapter) if is_typeddict(vars(TYPES[wire])[name]) else adapter
        complete = sample(known[name], known)
        for value in (complete, *changed(complete, wrong)):
            fault = schema.fault(value, name)
            if fault and (fault.problem == "unknown" or (wire == "gemini" and fault.problem == "value")):
                continue  # most types let unknown fields pass, and Google's unknown names of an enumeration
            try:
                judge.validate_json(json.dumps(value), strict=strict, by_name=True)
            except (pydantic.ValidationError, AttributeError):  # Google's enumerations read only texts
                assert fault is not None, (name, value)
            else:
                assert fault is None, (name, value)
            tried += 1
    assert tried > 50

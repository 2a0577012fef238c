"""What OpenAI's Responses refuses about a body, in its words if known.

An item with an ID is one that was streamed: `rs_1_0` is the first item of response 1, and `msg_1_1_rs0` the one after
that reasoning. The service stores nothing, so an ID alone refers to nothing. OpenAI's words for a call that is
answered twice or repeated are unknown; those of DeepSeek, which speaks this protocol, are used.
"""

from __future__ import annotations

import re

from holdfast.testing.protocols import signatures
from holdfast.testing.protocols.openai.fields import (
    an_object,
    array,
    check_declared,
    check_length,
    function_name,
    missing,
    not_one_of,
    text,
)
from holdfast.testing.protocols.openai.settings_rules import check_responses_settings
from holdfast.testing.protocols.protocol import Refusal
from holdfast.testing.protocols.strict_json import is_json_array, is_json_object
from holdfast.testing.protocols.vendor_schema import VendorSchema

_SCHEMA = VendorSchema("openai-responses", nulls=True)
_ROLES = ("assistant", "system", "developer", "user")
_TYPES = ("message", "function_call", "function_call_output", "reasoning", "item_reference")
_PREFIX = {"message": "msg", "function_call": "fc", "function_call_output": "fc", "reasoning": "rs"}
_PARTS = ("input_text", "input_image", "output_text", "refusal", "input_file", "computer_screenshot", "summary_text")
_CONTENT_TYPES = {  # content types allowed in a message of a role, or in a result
    "assistant": frozenset({"output_text", "refusal"}),
    **dict.fromkeys(("user", "system", "developer", ""), frozenset({"input_text", "input_image", "input_file"})),
}
_NEVER_REASON = ("gpt-3.5", "gpt-4", "chatgpt-4o")
_ITEM_ID = re.compile(r"[a-z]+_(?P<response>\d+)_\d+(?:_rs(?P<reasoning>\d+))?\Z")
_MOST_ID = 64


def check(body: object) -> dict[str, object]:
    """Return the body. Raise `Refusal` for the first broken rule."""
    if not is_json_object(body) or body.get("model") in {None, ""}:
        raise missing("model")
    check_declared(_SCHEMA, body, "Body")
    if body.get("reasoning") is not None:
        check_declared(_SCHEMA, body["reasoning"], "Reasoning", "reasoning")
    check_responses_settings(body)
    if body.get("input") is None:
        raise Refusal("One of \"input\" or \"previous_response_id\" or 'prompt' or 'conversation' must be provided.")
    if body.get("previous_response_id") is not None:
        what = f"Previous response with id '{body['previous_response_id']}' not found."
        raise Refusal(what, param="previous_response_id", code="previous_response_not_found")
    _check_include(body, str(body["model"]))
    _tools(body)
    if not isinstance(body["input"], str):
        items = [_item(item, f"input[{i}]") for i, item in enumerate(array(body["input"], "input", least=1))]
        _unique_ids(items)
        _pairs(items)
        _reasoning(items)
    return body


def _check_include(body: dict[str, object], model: str) -> None:
    if body.get("include") is None:
        return
    check_declared(_SCHEMA, body["include"], "Include", "include")
    if (
        model.startswith(_NEVER_REASON)
        and is_json_array(body["include"])
        and "reasoning.encrypted_content" in body["include"]
    ):
        raise Refusal("Encrypted content is not supported with this model.", param="include")


def _tools(body: dict[str, object]) -> None:
    if body.get("tools") is None:
        return
    for i, item in enumerate(array(body["tools"], "tools")):
        tool = an_object(item, f"tools[{i}]")
        if "type" not in tool:
            raise missing(f"tools[{i}].type")
        if tool["type"] == "function":
            function_name(tool, f"tools[{i}]")
            check_declared(_SCHEMA, tool, "Tool", f"tools[{i}]")


# --- one item --------------------------------------------------------------------------------------------------------


def _item(raw: object, at: str) -> dict[str, object]:
    """Return the item with its type, which a message may omit."""
    item = an_object(raw, at)
    kind = item.get("type", "message")
    if kind not in _TYPES:
        raise not_one_of(at, kind, _TYPES)
    if kind == "item_reference":
        raise _item_not_found(item.get("id"))
    if item.get("id") is not None:
        item_id = check_length(text(item["id"], f"{at}.id"), f"{at}.id", most=_MOST_ID)
        if not item_id.startswith(_PREFIX[kind]):
            what = f"Invalid '{at}.id': '{item_id}'. Expected an ID that begins with '{_PREFIX[kind]}'."
            raise Refusal(what, param=f"{at}.id", code="invalid_value")
    match kind:
        case "message":
            _message(item, at)
        case "function_call":
            _call_id(item, at)
            function_name(item, at)
        case "function_call_output":
            _call_id(item, at)
            _content(item, "output", at, role="")
        case _:
            _array(item, "summary", at)
    check_declared(_SCHEMA, item, "Item", at)
    if kind == "reasoning":
        _reasoning_item(item, at)
    return {**item, "type": kind}


def _message(item: dict[str, object], at: str) -> None:
    if "role" not in item:
        raise missing(f"{at}.role")
    role = item["role"]
    if role not in _ROLES:
        raise not_one_of(f"{at}.role" if "type" in item else at, role, _ROLES)
    _content(item, "content", at, role=role)


def _content(item: dict[str, object], key: str, at: str, *, role: str) -> None:
    if isinstance(item.get(key), str):
        return
    for i, raw in enumerate(_array(item, key, at)):
        place = f"{at}.{key}[{i}]"
        part = an_object(raw, place)
        kind = part.get("type")
        if kind is None:
            raise missing(f"{place}.type")
        if kind not in _CONTENT_TYPES[role]:
            raise not_one_of(place, kind, tuple(each for each in _PARTS if each in _CONTENT_TYPES[role]))


def _array(item: dict[str, object], key: str, at: str) -> list[object]:
    if item.get(key) is None:
        raise missing(f"{at}.{key}")
    return array(item[key], f"{at}.{key}")


def _call_id(item: dict[str, object], at: str) -> None:
    if "call_id" not in item:
        raise missing(f"{at}.call_id")
    check_length(text(item["call_id"], f"{at}.call_id"), f"{at}.call_id", most=_MOST_ID)


def _reasoning_item(item: dict[str, object], at: str) -> None:
    summary = _array(item, "summary", at)
    texts = [
        text(an_object(part, f"{at}.summary[{i}]").get("text"), f"{at}.summary[{i}].text")
        for i, part in enumerate(summary)
    ]
    sealed = item.get("encrypted_content")
    if sealed is None:
        raise _item_not_found(item.get("id"))
    signature = signatures.read_signature(text(sealed, f"{at}.encrypted_content"))
    if signature is None or not signature.fits("".join(texts)):
        what = (
            f"The encrypted content for item {item.get('id')} could not be verified. Reason: Encrypted content could"
            " not be decrypted or parsed."
        )
        raise Refusal(what, code="invalid_encrypted_content")


# --- across items ----------------------------------------------------------------------------------------------------


def _unique_ids(items: list[dict[str, object]]) -> None:
    seen: set[object] = set()
    for item in items:
        item_id = item.get("id")
        if item_id is not None and item_id in seen:
            what = f"Duplicate item found with id {item_id}. Remove duplicate items from your input and try again."
            raise Refusal(what, param="input")
        seen.add(item_id)


def _pairs(items: list[dict[str, object]]) -> None:
    waiting: dict[object, None] = {}
    called: set[object] = set()
    for item in items:
        call = item.get("call_id")
        if item["type"] == "function_call":
            if call in called:
                raise Refusal(f"Duplicate 'call_id': {call}.", param="input")
            called.add(call)
            waiting[call] = None
        elif item["type"] == "function_call_output":
            if call not in called:
                raise Refusal(f"No tool call found for function call output with call_id {call}.", param="input")
            if call not in waiting:
                raise Refusal(f"Duplicate tool output for call_id: {call}.", param="input")
            del waiting[call]
    for call in waiting:
        raise Refusal(f"No tool output found for function call {call}.", param="input")


def _reasoning(items: list[dict[str, object]]) -> None:
    """Refuse reasoning without the item after it, and that item without its reasoning."""
    for place, item in enumerate(items):
        before = items[place - 1] if place else None
        after = items[place + 1] if place + 1 < len(items) else None
        item_id = _ITEM_ID.match(str(item.get("id")))
        if item["type"] == "reasoning":
            follows = after is not None and (
                after["type"] in {"reasoning", "function_call"} or after.get("role") == "assistant"
            )
            if follows and item_id and after is not None:  # an item with an ID is followed by one with an ID
                next_id = _ITEM_ID.match(str(after.get("id")))
                follows = next_id is not None and next_id["response"] == item_id["response"]
            if not follows:
                what = f"Item '{item.get('id')}' of type 'reasoning' was provided without its required following item."
                raise Refusal(what, param="input")
        elif item_id and item_id["reasoning"] is not None:
            expected = f"rs_{item_id['response']}_{item_id['reasoning']}"
            if before is None or before.get("id") != expected:
                what = (
                    f"Item '{item['id']}' of type '{item['type']}' was provided without its required 'reasoning' item:"
                    f" '{expected}'."
                )
                raise Refusal(what, param="input")


def _item_not_found(item_id: object) -> Refusal:
    what = (
        f"Item with id '{item_id}' not found. Items are not persisted when `store` is set to false. Try again with"
        " `store` set to true, or remove this item from your input."
    )
    return Refusal(what, status=404, param="input")

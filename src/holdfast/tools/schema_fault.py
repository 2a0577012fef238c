"""What is wrong with the declaration of a tool that others wrote: a closed list of good things, with bounds."""

from __future__ import annotations

import re
from typing import cast

import msgspec

from holdfast.tool_calls import ToolSchema

LONGEST_SUMMARY = 4_000
"""Characters of a description or a summary."""
LARGEST_SCHEMA = 32_768
"""Bytes of the JSON schema of one tool."""

TOOL_NAME = re.compile(r"[a-z][a-z0-9_-]{0,63}")
"""A name that every model and every shell accepts."""


def schema_fault(schema: ToolSchema) -> str:
    """Return what is wrong with the declaration of a tool, "" if nothing is."""
    if not TOOL_NAME.fullmatch(schema.name):
        return "has a name that not every model accepts (expected a-z, 0-9, '_' and '-', at most 64)"
    if not schema.description.strip() or len(schema.description) > LONGEST_SUMMARY:
        return f"has no usable description (expected 1 to {LONGEST_SUMMARY:,} characters)"
    return _parameters_fault(schema)


def _parameters_fault(schema: ToolSchema) -> str:
    parameters = cast("object", schema.parameters)
    if not isinstance(parameters, dict) or schema.parameters.get("type") != "object":
        return "has a schema that is none of an object (expected 'type': 'object')"
    try:
        size = len(msgspec.json.encode(schema.parameters))
    except (TypeError, ValueError, RecursionError) as error:
        return f"has a schema that is not JSON: {error}"
    if size > LARGEST_SCHEMA:
        return f"has a schema of {size:,} bytes (expected {LARGEST_SCHEMA:,} at most)"
    found, required = schema.parameters.get("properties", {}), schema.parameters.get("required", [])
    fields = cast("dict[str, object]", found) if isinstance(found, dict) else {"": None}
    if not all(isinstance(each, dict) for each in fields.values()):
        return "has properties that are no schemas (expected an object of objects)"
    if not isinstance(required, list) or not all(each in fields for each in cast("list[str]", required)):
        return "requires arguments that its schema does not have"
    return ""

"""The arguments of a call as its tool reads them, for display."""

from __future__ import annotations

from holdfast.errors import ToolFailed
from holdfast.session.journal.parts import CallPart


def declared_name(part: CallPart) -> str:
    """Return the declared name of the called tool, also if the model used another name for it."""
    from holdfast.tools.builtin.declarations import SCHEMAS

    if any(schema.name == part.name for schema in SCHEMAS):
        return part.name
    from holdfast.tools.arguments.tolerant_tool import canonical_name

    name = canonical_name(part.name)
    return name if any(schema.name == name for schema in SCHEMAS) else part.name


def declared_arguments(part: CallPart) -> str:
    """Return the JSON that the tool of the call takes, with the declared names; unchanged for other tools."""
    from holdfast.tools.arguments.tolerant_reader import read_arguments
    from holdfast.tools.builtin.declarations import SCHEMAS

    name = declared_name(part)
    for schema in SCHEMAS:
        if schema.name == name:
            try:
                return read_arguments(part.arguments, schema).raw
            except ToolFailed:
                return part.arguments
    return part.arguments

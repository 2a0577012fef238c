"""The names that models were trained on, and holdfast's names for the same things: `name_aliases.json`, and its form.

Sources: the tools of Claude Code, Codex, Gemini CLI, Qwen Code, Kimi CLI, opencode and pi, and what weaker models make
of them. A name is written in lower case with underscores; `folded_name` brings the model's spelling to that form. In
the file, holdfast's name has those of the models after it, in one text.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import msgspec

from holdfast.typed_data import decode_json

_FILE = Path(__file__).with_name("name_aliases.json")


class AliasTable(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The form of the file."""

    tools: dict[str, str]
    namespaces: str
    field_defaults: dict[str, dict[str, str]]
    replacement_hints: dict[str, str]
    fields: dict[str, dict[str, str]]
    values: dict[str, str]
    milliseconds: str
    opposites: str
    labels: str
    meaningful_fields: dict[str, str]
    harmless: dict[str, tuple[str, ...]]


def _by_alias(aliases: Mapping[str, str]) -> Mapping[str, str]:
    return {alias: name for name, several in aliases.items() for alias in several.split()}


_TABLE = decode_json(_FILE.read_bytes(), AliasTable)

TOOL_NAMES: Mapping[str, str] = _by_alias(_TABLE.tools)
"""Names of tools, folded, and the tool that does the same."""

NAMESPACES = frozenset(_TABLE.namespaces.split())
"""Prefixes that models write before the name of a tool, with a dot in between."""

FIELD_DEFAULTS: Mapping[str, Mapping[str, str]] = _TABLE.field_defaults
"""Values for fields that a tool of another name does not have, by that name, folded."""

REPLACEMENT_HINTS: Mapping[str, str] = _by_alias(_TABLE.replacement_hints)
"""What to do instead of calling a tool that has no counterpart here, by its folded name."""

FIELD_NAMES: Mapping[str, Mapping[str, str]] = {tool: _by_alias(fields) for tool, fields in _TABLE.fields.items()}
"""The fields of a tool, and of the objects in its lists (`edit.edits`), by the folded names that models use."""

VALUES: Mapping[str, str] = _by_alias(_TABLE.values)
"""The values of fields with fixed choices, by the folded values that models use."""

MILLISECONDS = frozenset(_TABLE.milliseconds.split())
"""Names that say the value is in milliseconds."""

OPPOSITES = frozenset(_TABLE.opposites.split())
"""Names whose value means the opposite of the field they stand for."""

LABELS = frozenset(_TABLE.labels.split())
"""Unknown fields that only describe the call. They are left out without a word: every call would repeat it."""

MEANINGFUL_FIELDS: Mapping[str, frozenset[str]] = {
    tool: frozenset(names.split()) for tool, names in _TABLE.meaningful_fields.items()
}
"""Unknown fields that would make the call do something else: without them it must not run."""

HARMLESS: Mapping[str, frozenset[object]] = {field: frozenset(values) for field, values in _TABLE.harmless.items()}
"""Values with which a field of `MEANINGFUL_FIELDS` changes nothing; false, null and empty ones never do."""


def folded_name(name: str) -> str:
    """Return a name in lower case with underscores: `filePath`, `file-path` and ` FilePath` are `file_path`."""
    text = name.strip().replace("-", "_").replace(" ", "_").replace(".", "_")
    pieces = [
        f"_{c.lower()}" if c.isupper() and i and not text[i - 1].isupper() else c.lower() for i, c in enumerate(text)
    ]
    return "_".join(piece for piece in "".join(pieces).split("_") if piece)

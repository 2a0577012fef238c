"""Reads SEARCH and REPLACE blocks, which some models write into one field, as edits."""

from __future__ import annotations

import re

from holdfast.tools.arguments.name_aliases import folded_name

_FIELDS = frozenset({"diff", "content", "edits", "changes", "blocks", "patch", "search_replace", "code_edit"})
_BLOCK = re.compile(
    r"^[<-]{5,9} ?SEARCH>?[ \t]*\n(.*?)^={5,9}[ \t]*\n(.*?)^[>+]{5,9} ?REPLACE[ \t]*$\n?", re.DOTALL | re.MULTILINE
)


def with_edits(value: dict[str, object]) -> tuple[dict[str, object], str]:
    """Return the arguments of `edit` with the blocks as `edits`, and the field that had them, "" if none had."""
    for name, text in value.items():
        if folded_name(name) not in _FIELDS or not isinstance(text, str) or "SEARCH" not in text:
            continue
        blocks = _BLOCK.findall(text)
        if not blocks or _BLOCK.sub("", text).strip(" \t\n`"):
            continue  # there is other text too
        rest = {other: each for other, each in value.items() if other != name and folded_name(other) != "edits"}
        return {**rest, "edits": [_edit(old, new) for old, new in blocks]}, name
    return value, ""


def _edit(old: str, new: str) -> dict[str, str]:
    """Return the edit of a block, without its last line ends unless the block deletes its text."""
    return {"old": old.removesuffix("\n"), "new": new.removesuffix("\n")} if new else {"old": old, "new": ""}

"""Blocks of text to search and to put in its place, which some models write in one field, read as edits."""

from __future__ import annotations

import re

from holdfast.tools.arguments.name_aliases import folded_name

_FIELDS = frozenset({"diff", "content", "edits", "changes", "blocks", "patch", "search_replace", "code_edit"})
_BLOCK = re.compile(
    r"^[<-]{5,9} ?SEARCH>?[ \t]*\n(.*?)^={5,9}[ \t]*\n(.*?)^[>+]{5,9} ?REPLACE[ \t]*$\n?", re.DOTALL | re.MULTILINE
)


def with_edits(value: dict[str, object]) -> tuple[dict[str, object], str]:
    """Return the arguments of `edit` with the blocks in one of them as `edits`, and which had them, "" if none."""
    for name, given in value.items():
        if folded_name(name) not in _FIELDS or not isinstance(given, str) or "SEARCH" not in given:
            continue
        blocks = _BLOCK.findall(given)
        if not blocks or _BLOCK.sub("", given).strip(" \t\n`"):
            continue  # more than blocks stands there
        rest = {other: each for other, each in value.items() if other != name and folded_name(other) != "edits"}
        return {**rest, "edits": [_edit(old, new) for old, new in blocks]}, name
    return value, ""


def _edit(old: str, new: str) -> dict[str, str]:
    """Return the edit of a block; without its last line ends, unless all lines of the text go."""
    return {"old": old.removesuffix("\n"), "new": new.removesuffix("\n")} if new else {"old": old, "new": ""}

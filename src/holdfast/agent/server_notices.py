"""Entries about the MCP servers of a session: that one failed, and that one can be reached again.

Pure. Each failure is reported once: again only for another reason, or after the server had worked in between.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from holdfast.session.journal import entries as e
from holdfast.session.model_notices import HOLDFAST
from holdfast.tool_calls import ToolSchema


def failures(
    reported: Mapping[str, str],
    now: Mapping[str, str],
    declared: Sequence[ToolSchema],
    *,
    noted: bool,
    program: str = HOLDFAST,
) -> Iterator[e.ServerFailed]:
    """Yield an entry for each failed server that was not `reported` yet, `noted` for the model.

    `reported` and `now` have the reasons by the servers' names; `now` has "" for a server that works.
    """
    from holdfast.tools.mcp.tool_names import server_of

    for server, reason in sorted(now.items()):
        if reason and _cause(reported.get(server, "")) != _cause(reason):
            tools = tuple(each.name for each in declared if server_of(each.name, now) == server)
            yield e.ServerFailed(
                server=server, reason=reason, tools=tools, note=_note(server, reason, tools, program) if noted else ""
            )


def _cause(reason: str) -> str:
    """Return a reason without what the server wrote on stderr, which may differ each time."""
    return next(iter(reason.splitlines()), "")


def recovered(reported: Mapping[str, str], now: Mapping[str, str]) -> tuple[str, ...]:
    """Return the servers that work again after their failure was reported."""
    return tuple(sorted(each for each in reported if now.get(each) == ""))


def recovery_note(servers: Sequence[str], *, program: str = HOLDFAST) -> str:
    """Return the note for the model about servers that can be reached again."""
    return f"[Note from {program}: MCP servers that failed can be reached again: {', '.join(servers)}.]"


def _note(server: str, reason: str, tools: Sequence[str], program: str) -> str:
    why = " ".join(reason.split()).rstrip(".")
    lost = f"Its tools cannot be called now: {', '.join(tools)}." if tools else "Its tools are not available."
    return f"[Note from {program}: MCP server {server!r} failed: {why}. {lost}]"


def change_note(before: Sequence[ToolSchema], after: Sequence[ToolSchema], *, program: str = HOLDFAST) -> str:
    """Return the note for the model about new, changed and removed tools, "" if there are none."""
    old, new = {each.name: each for each in before}, {each.name: each for each in after}
    parts = (
        ("new", [name for name in new if name not in old]),
        ("changed", [name for name in new if name in old and new[name] != old[name]]),
        ("not offered any more", [name for name in old if name not in new]),
    )
    changes = "; ".join(f"{what}: {', '.join(names)}" for what, names in parts if names)
    whose = "tools of MCP servers" if "mcp_" in changes else "tools"
    return f"[Note from {program}: the {whose} have changed. {changes[:1].upper()}{changes[1:]}.]" if changes else ""

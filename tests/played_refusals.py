"""The rows of the table of refusals as servers that keep refusing, with what each refuses and a session that has it."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass
from typing import get_args

from holdfast.providers.refusals import ROWS, RefusalRecovery, RefusalRow
from holdfast.session.journal.entries import SessionOpened
from holdfast.testing.toolbox import FunctionTool, FunctionToolbox
from holdfast.tools.tool import ToolContext, ToolOutput
from refusing_server import (
    Answer,
    Json,
    Refused,
    RefusingServer,
    Wire,
    calls_at_once,
    declares,
    has_image,
    has_markers,
    has_thinking,
    history,
    lacks_reasoning,
)
from shown_images import picture

WIRES: tuple[Wire, ...] = get_args(Wire)
MARKED = "before <|channel|>analysis after"
MCP = "mcp__trip__book"


@dataclass(frozen=True)
class Said:
    """A row, said by its words, or by a code alone."""

    row: RefusalRow
    code: str = ""

    @property
    def refused(self) -> Refused:
        status = next((each for each in (400, 500, 429, 413) if each in self.row.statuses), min(self.row.statuses))
        if self.row.bare:
            return Refused("", status, body="")
        return Refused("It fell over." if self.code else self.row.example, status, self.code)


SAID = [said for row in ROWS for said in (Said(row), *(Said(row, code) for code in sorted(row.codes)))]


def with_recovery(*recoveries: RefusalRecovery) -> list[Said]:
    return [said for said in SAID if said.row.recovery in recoveries]


DONE = Answer("done")


async def read(arguments: dict[str, object], context: ToolContext) -> ToolOutput:
    del arguments, context
    return ToolOutput(text=MARKED)


async def look(arguments: dict[str, object], context: ToolContext) -> ToolOutput:
    del arguments, context
    return ToolOutput(text="an image", images=(picture("found.png"),))


TOOLS = FunctionToolbox(
    (FunctionTool("read", "read", read), FunctionTool("look", "read", look), FunctionTool(MCP, "read", read))
)


def name(value: object) -> str:
    return f"{value.row.id} {value.code}".strip() if isinstance(value, Said) else str(value)


NEEDED: dict[RefusalRecovery, Callable[[Json], bool]] = {
    "thinking": has_thinking,
    "markers": has_markers,
    "tools": declares(MCP),
    "one_call": lambda body: calls_at_once(body) > 1,
    "no_images": has_image,
    "bad_images": has_image,
    "reasoning": lacks_reasoning,
    "shorten": lambda body: len(json.dumps(history(body))) > 150_000,
    "wait": lambda _: True,
    "none": lambda _: True,
}
"""What a row with each recovery refuses of a request."""

CALL = Answer("I look.", "hm, hm", (("read", {"path": "a"}),))
ANSWERS: dict[RefusalRecovery, list[Answer]] = {
    "thinking": [CALL, CALL, CALL, DONE],  # it thinks before every call, so that whatever is sent back is refused
    "markers": [CALL, DONE],
    "tools": [CALL, DONE],
    "one_call": [Answer("Both.", "", (("read", {"path": "a"}), ("read", {"path": "b"}))), DONE],
    "no_images": [Answer("", "", (("look", {}),)), DONE],
    "bad_images": [Answer("", "", (("look", {}),)), DONE],
    "reasoning": [Answer("I look.", "", (("read", {"path": "a"}),)), DONE],
    "shorten": [DONE],
    "wait": [DONE],
    "none": [DONE],
}


def played(said: Said, wire: Wire) -> RefusingServer:
    """Return a server that refuses by this row as long as a request has what the row is about."""
    recovery = said.row.recovery
    return RefusingServer(wire, said.refused, NEEDED[recovery], list(ANSWERS[recovery]))


def opened_for(server: RefusingServer) -> SessionOpened:
    """Return the first entry of a session with this server's model and the tools above."""
    tools = tuple(tool.schema for tool in TOOLS.tool_list)
    return SessionOpened(session="s", cwd="/", model=server.model, system=f"SYSTEM {MARKED}", tools=tools, version="0")

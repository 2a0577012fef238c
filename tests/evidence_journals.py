"""What several test modules share of `test_looking`."""

from __future__ import annotations

from agent_harness import Rig
from holdfast.session.conversation.conversation import UserMessage
from holdfast.testing.toolbox import FunctionTool
from holdfast.tool_calls import FileChange, FileSeen
from holdfast.tools.tool import ToolContext, ToolOutput

SEEN = FileSeen(path="a.py", size=3, modified=1, sha256="a" * 64)


def reads(seen: FileSeen) -> FunctionTool:
    """Return a tool after which the model knows a file."""

    async def run(arguments: dict[str, object], context: ToolContext) -> ToolOutput:
        del arguments, context
        return ToolOutput(text="1\tone", snapshots=(seen,))

    return FunctionTool("reads", "read", run)


def edits(change: FileChange) -> FunctionTool:
    """Return a tool that plans a change of a file."""

    async def run(arguments: dict[str, object], context: ToolContext) -> ToolOutput:
        del arguments, context
        return ToolOutput(text="Edited.", snapshots=(FileSeen(path=change.path, size=1, sha256=change.after or ""),))

    return FunctionTool("edits", "write", run, change=change)


def notes(rig: Rig) -> list[str]:
    """Return what the model was told of files, in all its messages."""
    messages = rig.agent.conversation.messages
    texts = [text for message in messages if isinstance(message, UserMessage) for text in message.texts]
    return [text for text in texts if "changed since" in text or "were deleted" in text]

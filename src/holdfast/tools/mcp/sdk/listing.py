"""Lists what a server offers: tools, prompts, resources."""

from __future__ import annotations

from mcp.client.client import Client
from mcp.shared.exceptions import MCPError

from holdfast.tools.mcp.sdk.traffic import MOST_TOOLS, Traffic
from holdfast.tools.mcp.stored_tools import ListedPrompt, PromptArgument, ToolList
from holdfast.tools.mcp.tool_names import ListedTool

_MOST_PAGES = 100


async def list_offered(client: Client, traffic: Traffic) -> ToolList:
    """Return what the server offers now, sorted by name; `traffic` has the tools that cannot be used."""
    offered = client.server_capabilities
    info = client.server_info
    prompts = () if offered.prompts is None else await _prompts(client)
    tools = () if offered.tools is None else await _tools(client)
    return ToolList(
        tools=tools,
        unusable=tuple(traffic.unusable[:_MOST_UNUSABLE]),
        prompts=prompts,
        resources=offered.resources is not None,
        version="" if info is None else f"{info.name} {info.version}",
        protocol=client.protocol_version,
        instructions=(client.instructions or "")[:_MOST_INSTRUCTIONS],
    )


_MOST_INSTRUCTIONS = 2_000
_MOST_UNUSABLE = 100


async def _tools(client: Client) -> tuple[ListedTool, ...]:
    tools: list[ListedTool] = []
    cursor: str | None = None
    for _ in range(_MOST_PAGES):
        page = await client.list_tools(cursor=cursor)
        tools += (
            ListedTool(
                name=each.name,
                description=each.description or "",
                parameters=dict(each.input_schema),
                reads=each.annotations is not None and each.annotations.read_only_hint is True,
            )
            for each in page.tools
        )
        cursor = page.next_cursor
        if cursor is None or len(tools) >= MOST_TOOLS:
            break
    return tuple(sorted(tools, key=lambda each: each.name))


async def _prompts(client: Client) -> tuple[ListedPrompt, ...]:
    prompts: list[ListedPrompt] = []
    cursor: str | None = None
    try:
        for _ in range(_MOST_PAGES):
            page = await client.list_prompts(cursor=cursor)
            prompts += (
                ListedPrompt(
                    name=each.name,
                    description=each.description or "",
                    arguments=tuple(
                        PromptArgument(name=one.name, required=bool(one.required)) for one in each.arguments or ()
                    ),
                )
                for each in page.prompts
            )
            cursor = page.next_cursor
            if cursor is None:
                break
    except MCPError:  # it offers them and cannot list them: its tools work anyway
        return ()
    return tuple(sorted(prompts, key=lambda each: each.name))

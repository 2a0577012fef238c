"""What a server lists: tools, prompts and resources, page by page."""

from __future__ import annotations

from mcp.client.client import Client
from mcp.shared.exceptions import MCPError
from mcp_types import EmbeddedResource, ResourceLink, TextContent, TextResourceContents

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


# --- Resources and prompts of a server, in the form of the result of a tool, or as text ---

MOST_RESOURCES = 200
"""Resources and templates that are listed."""


async def resource(client: Client, uri: str) -> dict[str, object]:
    """Return the contents of a resource."""
    found = await client.read_resource(uri)
    content = [EmbeddedResource(type="resource", resource=each) for each in found.contents]
    return _result([each.model_dump(by_alias=True, mode="json") for each in content])


async def resource_list(client: Client) -> dict[str, object]:
    """Return one line for each resource, and for each pattern of them."""
    lines: list[str] = []
    if client.server_capabilities.resources is None:
        return _result([{"type": "text", "text": "This server has no resources."}])
    cursor: str | None = None
    while len(lines) < MOST_RESOURCES:
        page = await client.list_resources(cursor=cursor)
        lines += [f"{each.uri}  {each.title or each.name}" for each in page.resources]
        cursor = page.next_cursor
        if cursor is None:
            break
    templates = await client.list_resource_templates()
    lines += [f"{each.uri_template}  {each.title or each.name} (a pattern)" for each in templates.resource_templates]
    return _result([{"type": "text", "text": "\n".join(lines[:MOST_RESOURCES]) or "This server lists no resources."}])


async def prompt_text(client: Client, name: str, arguments: dict[str, str]) -> str:
    """Return a prompt as one text. Other content is named in its place."""
    found = await client.get_prompt(name, arguments)
    texts: list[str] = []
    for message in found.messages:
        content = message.content
        speaker = "" if message.role == "user" else "[The assistant is to have said:]\n"
        match content:
            case TextContent(text=text):
                texts.append(f"{speaker}{text}")
            case EmbeddedResource(resource=TextResourceContents(uri=uri, text=text)):
                texts.append(f"{speaker}[{uri}]\n{text}")
            case ResourceLink(uri=uri):
                texts.append(f"{speaker}[{uri}]")
            case _:
                texts.append(f"{speaker}[{content.type} left out]")
    return "\n\n".join(texts)


def _result(content: list[dict[str, object]]) -> dict[str, object]:
    return {"content": content}

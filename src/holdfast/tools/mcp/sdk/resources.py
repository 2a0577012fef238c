"""Resources and prompts of a server, in the form of the result of a tool, or as text."""

from __future__ import annotations

from mcp.client.client import Client
from mcp_types import EmbeddedResource, ResourceLink, TextContent, TextResourceContents

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

"""What Anthropic's Messages refuses about a conversation, in its words: roles, calls and results, signatures.

Consecutive messages of one role are accepted, as the service merges them. Results must be in the next message as
written, not as merged: services that copy this protocol require it, and a request that satisfies them satisfies all.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import pairwise, takewhile

from holdfast.testing.protocols import signatures
from holdfast.testing.protocols.anthropic.messages_schema import (
    AnthropicBlock,
    AnthropicBody,
    AnthropicMessage,
    cache_ttl,
    parse_anthropic_body,
)
from holdfast.testing.protocols.protocol import Refusal
from holdfast.testing.protocols.strict_json import is_json_array

_THINKING = ("thinking", "redacted_thinking")
_MEDIA = 100
_ONLY_IN = {"tool_result": "user", "tool_use": "assistant", "thinking": "assistant", "redacted_thinking": "assistant"}
_MUST_THINK = (
    "When `thinking` is enabled, a final `assistant` message must start with a thinking block (preceeding the lastmost"
    " set of `tool_use` and `tool_result` blocks). We recommend you include thinking blocks from previous turns. To"
    " avoid this requirement, disable `thinking`. Please consult our documentation at"
    " https://docs.claude.com/en/docs/build-with-claude/extended-thinking"
)


def check(body: object) -> AnthropicBody:
    """Return the conversation. Raise `Refusal` for the first broken rule."""
    conversation = parse_anthropic_body(body)
    messages = conversation.messages
    if messages[0].role != "user":
        raise Refusal('messages: first message must use the "user" role')
    _placement(messages)
    _contents(conversation)
    _cache_order(conversation)
    _error_results(messages)
    _unique_ids(messages)
    _results(messages)
    _server_results(messages)
    _signatures(messages)
    if conversation.thinking == "enabled":
        _starts_thinking(messages)
    elif conversation.thinking == "disabled":
        _ends_without_thinking(messages[-1])
    _closes_thinking(messages)
    _ending(messages[-1])
    _media(messages)
    return conversation


def _placement(messages: tuple[AnthropicMessage, ...]) -> None:
    for message in messages:
        for block in message.blocks:
            owner = _ONLY_IN.get(block.kind, message.role)
            if message.role != owner:
                raise Refusal(f"{message.at}: `{block.kind}` blocks can only be in `{owner}` messages")


def _contents(conversation: AnthropicBody) -> None:
    *earlier, last = conversation.messages
    for message in (*earlier, last) if last.role == "user" else earlier:
        if not message.blocks:
            what = "all messages must have non-empty content except for the optional final assistant message"
            raise Refusal(f"{message.at}: {what}")
    for block in conversation.system:
        _not_blank(block, block.at, "system")
    for block in _blocks(conversation.messages):
        for each in (block, *block.inner):
            _not_blank(each, f"{each.at}.text", "messages")


def _not_blank(block: AnthropicBlock, at: str, owner: str) -> None:
    if block.kind != "text" or block.text.strip():
        return
    if block.cached and not block.text:
        raise Refusal(f"{at}: cache_control cannot be set for empty text blocks")
    if not block.text:
        raise Refusal(f"{owner}: text content blocks must be non-empty")
    raise Refusal(f"{owner}: text content blocks must contain non-whitespace text")


def _cache_order(conversation: AnthropicBody) -> None:
    """Refuse a mark of an hour behind one of five minutes."""
    tools = conversation.body.get("tools")
    marks = [(f"tools.{at}", cache_ttl(tool)) for at, tool in enumerate(tools if is_json_array(tools) else ())]
    for block in (*conversation.system, *_blocks(conversation.messages)):
        marks += [(each.at, each.ttl) for each in (*block.inner, block)]
    short = False
    for at, ttl in marks:
        if ttl == "1h" and short:
            what = (
                "a ttl='1h' cache_control block must not come after a ttl='5m' cache_control block. Note that blocks"
                " are processed in the following order: `tools`, `system`, `messages`."
            )
            raise Refusal(f"{at}.cache_control.ttl: {what}")
        short = short or ttl == "5m"


def _error_results(messages: tuple[AnthropicMessage, ...]) -> None:
    for block in _blocks(messages):
        if not block.failed:
            continue
        if any(each.kind != "text" for each in block.inner):
            raise Refusal(f"{block.at}.tool_result: all content must be type `text` if `is_error` is true")
        if not any(each.text for each in block.inner):
            raise Refusal(f"{block.at}.tool_result: content cannot be empty if `is_error` is true")


def _unique_ids(messages: tuple[AnthropicMessage, ...]) -> None:
    seen: set[str] = set()
    for block in _blocks(messages):
        if block.kind == "tool_use":
            if block.id in seen:
                raise Refusal(f"{block.at}: `tool_use` ids must be unique")
            seen.add(block.id)


def _results(messages: tuple[AnthropicMessage, ...]) -> None:
    for before, message in pairwise((None, *messages, None)):
        calls = [block.id for block in before.blocks if block.kind == "tool_use"] if before else []
        blocks = message.blocks if message else ()
        answered: set[str] = set()
        for block in blocks:
            if block.kind != "tool_result":
                continue
            if block.id not in calls:
                what = (
                    f"unexpected `tool_use_id` found in `tool_result` blocks: {block.id}. Each `tool_result` block must"
                    " have a corresponding `tool_use` block in the previous message."
                )
                raise Refusal(f"{block.at}: {what}")
            if block.id in answered:
                what = "each tool_use must have a single result. Found multiple `tool_result` blocks with id"
                raise Refusal(f"{block.at}: {what}: {block.id}")
            answered.add(block.id)
        # Only results before any other block count.
        first = {block.id for block in takewhile(lambda block: block.kind == "tool_result", blocks)}
        if before and (missing := [call for call in calls if call not in first]):
            what = (
                f"`tool_use` ids were found without `tool_result` blocks immediately after: {', '.join(missing)}. Each"
                " `tool_use` block must have a corresponding `tool_result` block in the next message."
            )
            raise Refusal(f"{before.at}: {what}")


def _server_results(messages: tuple[AnthropicMessage, ...]) -> None:
    used: set[str] = set()
    for block in _blocks(messages):
        if block.kind == "server_tool_use":
            used.add(block.id)
        elif block.kind.endswith("_tool_result") and block.id not in used:
            what = (
                f"unexpected `tool_use_id` found in `{block.kind}` blocks: {block.id}. Each `{block.kind}` block must"
                " have a corresponding `server_tool_use` block before it."
            )
            raise Refusal(f"{block.at}: {what}")


def _signatures(messages: tuple[AnthropicMessage, ...]) -> None:
    latest = next((message for message in reversed(messages) if message.role == "assistant"), None)
    for message in messages:
        thoughts = [block for block in message.blocks if block.kind in _THINKING]
        for place, block in enumerate(thoughts):
            if block.kind == "redacted_thinking":  # a script cannot send one
                raise Refusal(f"{block.at}: Invalid `data` in `redacted_thinking` block")
            signature = signatures.read_signature(block.signature)
            fits = signature is not None and signature.fits(block.text)
            if message is latest and signature is not None and not (fits and signature.place == place):
                what = (
                    "`thinking` or `redacted_thinking` blocks in the latest assistant message cannot be modified. These"
                    " blocks must remain as they were in the original response."
                )
                raise Refusal(f"{block.at}: {what}")
            if not fits:
                raise Refusal(f"{block.at}: Invalid `signature` in `thinking` block")


def _closes_thinking(messages: tuple[AnthropicMessage, ...]) -> None:
    for message, following in zip(messages, (*messages[1:], None), strict=True):
        goes_on = following is not None and following.role == "assistant"  # the service merges them
        if message.blocks and message.blocks[-1].kind in _THINKING and not goes_on:
            raise Refusal(f"{message.at}: The final block in an assistant message cannot be `thinking`.")


def _starts_thinking(messages: tuple[AnthropicMessage, ...]) -> None:
    """Refuse an open tool turn whose first assistant message does not begin with thinking."""
    if not _has_results(messages[-1]):
        return
    start = max(i for i, message in enumerate(messages) if message.role == "user" and not _has_results(message)) + 1
    first = messages[start].blocks[0]
    if first.kind not in _THINKING:
        what = f"Expected `thinking` or `redacted_thinking`, but found `{first.kind}`. {_MUST_THINK}"
        raise Refusal(f"{first.at}.type: {what}")


def _ends_without_thinking(last: AnthropicMessage) -> None:
    for block in last.blocks:
        if block.kind in _THINKING:
            what = (
                "When thinking is disabled, an `assistant` message in the final position cannot contain `thinking`. To"
                " use thinking blocks, enable `thinking` in your request."
            )
            raise Refusal(f"{block.at}: {what}")


def _ending(last: AnthropicMessage) -> None:
    if last.role != "assistant":
        return
    if last.blocks and last.blocks[-1].text != last.blocks[-1].text.rstrip():
        raise Refusal("final assistant content cannot end with trailing whitespace")
    what = "This model does not support assistant message prefill. The conversation must end with a user message."
    raise Refusal(what)


def _media(messages: tuple[AnthropicMessage, ...]) -> None:
    kinds = [each.kind for block in _blocks(messages) for each in (block, *block.inner)]
    images, documents = kinds.count("image"), kinds.count("document")
    if images + documents > _MEDIA:
        raise Refusal(f"too many images and documents: {images} + {documents} > {_MEDIA}")


def _has_results(message: AnthropicMessage) -> bool:
    return any(block.kind == "tool_result" for block in message.blocks)


def _blocks(messages: tuple[AnthropicMessage, ...]) -> Iterator[AnthropicBlock]:
    return (block for message in messages for block in message.blocks)

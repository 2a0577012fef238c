"""Rules on the calls that the provider runs itself: results, ids and names, and what its programs call."""

from __future__ import annotations

from collections.abc import Container, Iterator, Mapping, Sequence
from collections.abc import Set as AbstractSet
from itertools import islice

import msgspec

from holdfast.history.pairing import Pairing
from holdfast.history.rules.rule import Rule, RuleFinding, item_finding, quoted_name
from holdfast.history.shape import SERVED, Item, Message, Path, Shape

RULES = (
    Rule(
        "server-call-without-result",
        "The result of a call that the provider runs itself comes before the next user message.",
        {
            "anthropic": "messages.{message}: `{name}` tool use with id `{id}` was found without a corresponding"
            " `{name}_tool_result` block",
        },
    ),
    Rule(
        "server-result-without-call",
        "A result of a tool that the provider runs itself comes after its call.",
        {
            "anthropic": "messages.{message}.content.{part}: unexpected `tool_use_id` found in `{name}` blocks: {id}."
            " Each `{name}` block must have a corresponding `server_tool_use` block before it.",
        },
    ),
    Rule(
        "server-call-foreign",
        "Calls that a provider ran itself are sent only to providers that support such calls.",
        {"deepseek/anthropic": "Unsupported content block: server tools are not supported"},
    ),
    Rule(
        "server-call-id",
        "A call that the provider runs itself has an id that the provider gave.",
        {
            "anthropic": "messages.{message}.content.{part}.server_tool_use.id: String should match pattern"
            " '^srvtoolu_[a-zA-Z0-9_]+$'"
        },
    ),
    Rule(
        "server-tool-unknown",
        "A call that the provider runs itself is of one of the provider's own tools.",
        {},
    ),
    Rule(
        "text-beside-program",
        "Until a program of the provider ends, a message with results of its calls contains nothing else.",
        {},
    ),
    Rule(
        "caller-unknown",
        "The program that made a call is part of the conversation.",
        {},
    ),
)

_UNANSWERED = "server-call-without-result"
_GONE = (_UNANSWERED, "server-call-foreign", "server-call-id", "server-tool-unknown")
"""The rules for which a repair quotes a call, so that nothing can refer to it any more."""


def find(shape: Shape, pairing: Pairing, enforced: Container[str]) -> Iterator[RuleFinding]:
    """Yield every place where the provider's own calls break a rule.

    With calls of the client, or after a pause, the documented place of a result is a later response.
    """
    items = [item for message in shape.messages for item in message.items if item.kind in SERVED or item.caller]
    if any(item.kind in SERVED for item in items):
        walk = _Walk(pairing)
        found = list(walk.findings(shape.messages))
        yield from found
        refused = (each for each in found if each.rule in _GONE and each.rule in enforced)
        quoted_ids = {each.item.id for each in refused if each.item is not None}
    else:
        quoted_ids = set[str | None]()
    yield from _callers(items, quoted_ids)


def _callers(items: Sequence[Item], quoted_ids: AbstractSet[str | None]) -> Iterator[RuleFinding]:
    """Yield what a program made that is not here, or that becomes text."""
    known: set[str] = set()
    for item in items:
        if item.caller is not None and item.caller not in known:
            what = f"names a program that made it ({quoted_name(item.caller)}), which is not in the conversation"
            yield item_finding("caller-unknown", item, what)
        if item.kind == "server-call" and item.id is not None and item.id not in quoted_ids:
            known.add(item.id)


class _Walk:
    """The provider's calls that wait for their result, and what the user said beside results in the meantime."""

    def __init__(self, pairing: Pairing) -> None:
        self._answers: Mapping[Path, str | None] = {
            answer.item.path: None if call is None else call.item.caller
            for answer, call in pairing.answers
            if answer.verdict == "ok"
        }
        self._calls: dict[str | None, Item] = {}
        self._programs: set[str | None] = set()  # whose calls the user's last messages answer
        self._texts: dict[str | None, list[Item]] = {}

    def findings(self, messages: Sequence[Message]) -> Iterator[RuleFinding]:
        """Yield the findings about calls, their results, and content that is beside results."""
        for message in messages:
            if message.role == "assistant":
                self._programs = set()
            else:
                yield from self._of_user(message)
            for item in message.items:
                yield from self._of_item(item)
            if message.role == "assistant" and any(
                item.kind == "result" and item.path not in self._answers for item in message.items
            ):
                yield from self._end("has no result before the user's content in its response")
        for call in [call for call in self._texts if call in self._calls]:
            yield item_finding(_UNANSWERED, self._calls.pop(call), "has no result before another role's message")
        nonempty = (message for message in reversed(messages) if message.items)  # empty messages are dropped
        if any(_goes_on(message) for message in islice(nonempty, 1)):
            yield from self._end("has no result, but the response continued")

    def _end(self, what: str, waiting: AbstractSet[str | None] = frozenset()) -> Iterator[RuleFinding]:
        """Yield the calls that have no result, except those `waiting` for one."""
        for call in [call for call in self._calls if call not in waiting]:
            yield item_finding(_UNANSWERED, self._calls.pop(call), what)
            self._texts.pop(call, None)

    def _of_user(self, message: Message) -> Iterator[RuleFinding]:
        other = [item for item in message.items if item.path not in self._answers]
        self._programs |= {self._answers.get(item.path) for item in message.items} & self._calls.keys() - {None}
        if not other:
            return
        yield from self._end("has no result before another role's message", self._programs)
        for call in self._programs:
            self._texts.setdefault(call, []).extend(item for item in other if not item.flags & {"blank", "null"})

    def _of_item(self, item: Item) -> Iterator[RuleFinding]:
        if item.kind in SERVED:
            yield item_finding("server-call-foreign", item, "is of a tool that a provider ran itself")
            if "server-id" in item.flags:
                yield item_finding("server-call-id", item, "has an id that the provider did not give")
        if item.kind == "server-call":
            if "server-name" in item.flags:
                yield item_finding("server-tool-unknown", item, "is of a tool that the provider does not have")
            if (earlier := self._calls.get(item.id)) is not None:
                yield item_finding(_UNANSWERED, earlier, "has no result before its id occurs again")
                self._texts.pop(item.id, None)
            self._calls[item.id] = item
        elif item.kind == "server-result":
            call = self._calls.pop(item.id, None)
            if call is None:
                yield item_finding("server-result-without-call", item, "has no unanswered call before it")
            else:
                yield from self._answered(call, item)

    def _answered(self, call: Item, result: Item) -> Iterator[RuleFinding]:
        if "server-name" in call.flags:
            yield item_finding("server-tool-unknown", result, "is of a tool that the provider does not have")
        elif not _fits(call, result):
            yield item_finding(_UNANSWERED, call, "has a result of another tool")
            yield item_finding("server-result-without-call", result, "is of another tool than its call")
        for item in self._texts.pop(call.id, ()):
            found = item_finding("text-beside-program", item, "is beside the results of a program that was not done")
            yield msgspec.structs.replace(found, after=result.message)


def _fits(call: Item, result: Item) -> bool:
    """Return whether the kind of the result is that of its call; the tools of MCP servers have any name."""
    kind, name = result.name or "", call.name or ""
    if not kind.endswith("_tool_result") or kind == "mcp_tool_result":
        return True
    return kind == ("tool_search_tool_result" if name.startswith("tool_search_tool_") else f"{name}_tool_result")


def _goes_on(message: Message) -> bool:
    """Return whether the last message with content ends neither in a pause of the provider nor in calls."""
    kinds = [item.kind for item in message.items if "blank" not in item.flags]
    return message.role == "assistant" and bool(kinds) and kinds[-1] not in SERVED and "call" not in kinds

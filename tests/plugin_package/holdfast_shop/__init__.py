"""A plug-in that adds one of everything: a shop."""

from __future__ import annotations

import asyncio
import sys
from collections.abc import AsyncGenerator, Mapping, Sequence
from contextlib import asynccontextmanager

import msgspec

from holdfast import Conversation, StreamEvent, StreamFinished, TextDelta, TextPart, ToolSchema, Usage, UserMessage
from holdfast.history.draft_messages import DraftMessage
from holdfast.history.formats import find_format
from holdfast.history.formats.format import RequestFacts
from holdfast.history.shape import Grammar, Message
from holdfast.host.commands import Prompt, Rename
from holdfast.host.plugins.contributions import (
    PluginCommand,
    PluginSlashCommand,
    PluginSurface,
    Said,
    SlashFacts,
    SurfaceHosts,
    own_provider,
)
from holdfast.providers.registry import ModelEndpoint
from holdfast.tool_calls import Effect
from holdfast.tools.schema import parse_arguments, schema_of
from holdfast.tools.tool import Plan, ToolContext, ToolOutput

holdfast_plugin = 1


class StockArguments(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """What the tool is asked for."""

    article: str


class Stock:
    """Tells how many pieces of an article there are."""

    schema: ToolSchema = schema_of("shop_stock", "How many pieces of an article the shop has.", StockArguments)
    effect: Effect = "read"

    def plan(self, call: str, arguments: str) -> Plan:
        """Return a plan that looks the article up."""
        del call
        article = parse_arguments(arguments, StockArguments, tool="shop_stock").article

        async def run(context: ToolContext) -> ToolOutput:
            del context
            return ToolOutput(text=f"{article}: 7 pieces")

        return Plan(effect="read", title=f"stock of {article}", run=run)


def opening_hours(facts: SlashFacts, rest: str) -> Said:
    """Tell the hours, and name the session after the day."""
    return Said((f"Open on {rest or 'Monday'} from 9 to 17. {facts.turns} turns so far.",), Rename(f"Shop on {rest}"))


def count(words: list[str], environ: Mapping[str, str]) -> int:
    """Print how many words there are."""
    del environ
    sys.stdout.write(f"{len(words)} words\n")
    return 0


def kiosk(words: list[str], hosts: SurfaceHosts) -> int:
    """Send the words as one prompt in a session of the user's, and print each event's name and the answer."""

    async def serve() -> str:
        async with hosts.open(asks_user=False) as host:
            heard: set[str] = set()
            host.listen(lambda event: heard.add(type(event).__name__))
            await host.submit(Prompt(" ".join(words))).ended
            sys.stdout.write(f"{' '.join(sorted(heard & {'Opened', 'Busy', 'Idle'}))}\n")
            return host.opened().conversation.answer

    sys.stdout.write(f"{asyncio.run(serve())}\n")
    return 0


class EchoModel:
    """A model that says the last prompt backwards."""

    def __init__(self, name: str) -> None:
        self.name = name

    @asynccontextmanager
    async def stream(
        self, conversation: Conversation, *, non_streaming: bool = False
    ) -> AsyncGenerator[AsyncGenerator[StreamEvent]]:
        """Yield the events of one answer."""
        del non_streaming

        async def events() -> AsyncGenerator[StreamEvent]:
            (*_, message) = conversation.messages
            last = message.texts[-1][::-1] if isinstance(message, UserMessage) else "nothing"
            yield TextDelta(last)
            yield StreamFinished(parts=(TextPart(last),), finish="stop", usage=Usage(input_tokens=1, output_tokens=1))

        yield events()

    async def aclose(self) -> None:
        """Close nothing."""


class TurnsFormat:
    """Chat Completions whose messages are under `turns`."""

    name = "shop-turns"
    keys = ("turns",)

    def __init__(self) -> None:
        self._chat = find_format("openai-chat")
        self.profile = self._chat.profile
        self.grammar: Grammar = self._chat.grammar

    def request_facts(self, body: Mapping[str, object]) -> RequestFacts:
        return self._chat.request_facts(body)

    def message(self, index: int, raw: object) -> Message:
        return self._chat.message(index, raw)

    def build(self, row: DraftMessage, messages: Sequence[object]) -> object:
        return self._chat.build(row, messages)


def open_model(target: ModelEndpoint) -> EchoModel:
    return EchoModel(target.name)


tools = [Stock()]
slash_commands = [PluginSlashCommand("hours", "when the shop is open", opening_hours)]
commands = [PluginCommand("shopcount", "count words", count)]
providers = [own_provider("echo", open_model)]
formats = [TurnsFormat()]
surfaces = [PluginSurface("kiosk", "a surface of one line", kiosk)]

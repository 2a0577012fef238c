"""What each judge says of a request: the strict scripted provider, the independent judges, every profile's rules.

Two rules. The bytes are those of the real client, and no socket carries them. No judge is asked twice about the same
conversation: most points of a turn leave one of few.
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from dataclasses import dataclass

import httpx2
import msgspec
from msgspec.structs import replace

from holdfast.errors import ProviderFailed
from holdfast.history.profiles import PROFILES
from holdfast.providers.connect import open_model
from holdfast.providers.model import Model
from holdfast.providers.registry import profile_of, resolve_endpoint
from holdfast.session.conversation.conversation import Conversation
from holdfast.session.request.normalize import normalize
from holdfast.session.request.validate import violation_sentence, violations
from holdfast.testing.http_transport import ScriptedTransport
from holdfast.testing.script import Say
from holdfast.testing.scripted_provider import ScriptedProvider
from judges import judge

KEYS = {"OPENAI_API_KEY": "test-key", "ANTHROPIC_API_KEY": "test-key", "GEMINI_API_KEY": "test-key"}
WIRES = {
    "openai-responses": "openai:gpt-5.5",
    "openai-chat": "openai-chat:m",
    "anthropic": "anthropic:m",
    "gemini": "google:gemini-3-m",
}


@dataclass(frozen=True, slots=True)
class _Line:
    provider: ScriptedProvider
    model: Model


class Court:
    """The providers of both wires, each with one client that lasts."""

    def __init__(self) -> None:
        self._runner = asyncio.Runner()
        self._lines: dict[str, _Line] = {}
        self._known: dict[bytes, tuple[str, ...]] = {}

    def verdict(self, conversation: Conversation) -> tuple[str, ...]:
        """Return what is wrong with a conversation that is about to be sent."""
        key = msgspec.json.encode([msgspec.to_builtins(message) for message in conversation.messages])
        if key not in self._known:
            self._known[key] = tuple(self._complaints(conversation))
        return self._known[key]

    def _complaints(self, conversation: Conversation) -> Iterator[str]:
        for profile in PROFILES.values():
            for violation in violations(conversation, profile):
                yield f"{profile.name}: {violation_sentence(violation)}"
        for wire, name in WIRES.items():
            yield from self._runner.run(self._sent(wire, replace(conversation, model=name)))

    async def _sent(self, wire: str, conversation: Conversation) -> list[str]:
        if wire not in self._lines:
            provider = ScriptedProvider(after=[Say("accepted")])
            client = httpx2.AsyncClient(transport=ScriptedTransport(provider), timeout=5)
            self._lines[wire] = _Line(provider, open_model(resolve_endpoint(WIRES[wire], KEYS), http=lambda: client))
        line = self._lines[wire]
        before = len(line.provider.complaints)
        try:
            async with line.model.stream(normalize(conversation, profile_of(conversation.model))) as events:
                async for _ in events:
                    pass
        except ProviderFailed as failed:
            return [f"{wire}: {failed}"]
        try:
            judge(wire, line.provider.requests[-1].raw)
        except AssertionError as refused:
            return [str(refused)]
        return [*line.provider.complaints[before:]]

    def close(self) -> None:
        """Close the clients."""

        async def close() -> None:
            for line in self._lines.values():
                await line.model.aclose()

        self._runner.run(close())
        self._runner.close()


_courts: list[Court] = []


def verdict(conversation: Conversation) -> tuple[str, ...]:
    """Return what is wrong with a conversation that is about to be sent."""
    if not _courts:
        _courts.append(Court())
    return _courts[0].verdict(conversation)


def close() -> None:
    """Close what verdicts were got with."""
    while _courts:
        _courts.pop().close()

"""What is read of a response: all of it up to its terminal event, however it is cut into chunks, and nothing after."""

from __future__ import annotations

import socket

import httpx2
import pytest

from holdfast.config.settings import Limits
from holdfast.errors import ProviderFailed
from holdfast.providers.connect import open_model
from holdfast.providers.http_client import new_client
from holdfast.providers.registry import PROVIDERS, resolve_endpoint
from holdfast.session.conversation.conversation import Conversation
from holdfast.session.conversation.fold import fold
from holdfast.session.journal.entries import PromptAccepted, SessionOpened
from model_failures import failure_of

KINDS = ("openai", "openai-chat", "anthropic", "google")


def test_the_limits_are_those_of_the_client() -> None:
    assert new_client(Limits(), "http://127.0.0.1:1").timeout == httpx2.Timeout(None, connect=10, write=30, pool=5)
    assert new_client(Limits(connect=1, write=2, pool=3), "http://127.0.0.1:1").timeout == httpx2.Timeout(
        None, connect=1, write=2, pool=3
    )


def _prompt(text: str) -> Conversation:
    opened = SessionOpened(session="s", cwd="/", model="openai-chat:m", system="SYSTEM", tools=(), version="0")
    return fold([opened, PromptAccepted(turn=1, text=text)])


@pytest.mark.parametrize("kind", KINDS)
async def test_a_provider_that_does_not_read_is_given_up(kind: str) -> None:
    with socket.create_server(("127.0.0.1", 0)) as server:
        failed = await _failure(kind, server, _prompt("word " * 4_000_000))
    assert failed.fault == "unreachable", str(failed)


@pytest.mark.parametrize("kind", KINDS)
async def test_a_provider_that_does_not_accept_is_given_up(kind: str) -> None:
    with socket.create_server(("127.0.0.1", 0), backlog=0) as server:
        waiting = [socket.socket() for _ in range(4)]
        for each in waiting:  # until the queue is full, and the server lets no other client in
            each.settimeout(0)
            each.connect_ex(server.getsockname())
        try:
            failed = await _failure(kind, server, _prompt("hello"))
        finally:
            for each in waiting:
                each.close()
    assert failed.fault == "unreachable", str(failed)


async def _failure(kind: str, server: socket.socket, conversation: Conversation) -> ProviderFailed:
    host, port = server.getsockname()
    known, at = PROVIDERS[kind], f"http://{host}:{port}"
    environ = {str(known.key_variable): "key", str(known.address_variable): at}
    model = open_model(resolve_endpoint(f"{kind}:m", environ), limits=Limits(connect=0.2, write=0.2))
    return await failure_of(model, conversation)

"""What only the caller knows about the request for a conversation."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import TypedDict

import msgspec

from holdfast.errors import UsageError
from holdfast.history.formats.format import Declared

_PROVIDERS = frozenset({"anthropic", "bedrock", "openai", "google", "mistral", "deepseek", "cohere"})
"""The makers of signed or encrypted content, as `signed_by` names them."""

_ANOTHER = "another"
"""The maker of content from another account or organization than the request's."""


class Request(TypedDict, total=False):
    """What a request says, where its body does not: nothing of it has to be said.

    `model` is which it asks, `tools` are the names of those it declares, `thinking` whether the model thinks,
    `text_only` that it takes no images and no files, `store` whether the provider keeps what is sent. `signed_by` is
    who made what is signed or encrypted: a provider, a model, `provider:model`, or `another` for one of another
    account; what cannot be read where it goes is dropped. `signed` are texts of thinking as they were signed, by their
    signatures, where those are known.
    """

    model: str | None
    tools: Iterable[str] | None
    thinking: bool | None
    text_only: bool
    store: bool | None
    signed_by: str | None
    signed: Mapping[str, str] | None


def with_request(said: Declared, request: Request, *, makers: frozenset[str]) -> Declared:
    """Return the body's facts combined with the caller's; `makers` are those whose signatures are accepted."""
    tools, thinking, store = request.get("tools"), request.get("thinking"), request.get("store")
    model = said.model or request.get("model")
    return msgspec.structs.replace(
        said,
        tools=frozenset(tools) if tools is not None and not said.tools else said.tools,
        thinking=said.thinking if said.thinking is not None else thinking,
        store=said.store if said.store is not None else store,
        model=model,
        text_only=request.get("text_only", False),
        foreign=_is_foreign(request.get("signed_by"), model, makers),
        signed=request.get("signed"),
    )


def _is_foreign(signed_by: str | None, model: str | None, makers: frozenset[str]) -> bool:
    """Return whether the receiver cannot read the signatures; raises `UsageError` if that is unknown."""
    if signed_by is None:
        return False
    provider, _, made_by = signed_by.rpartition(":")
    if not provider and made_by in _PROVIDERS | {_ANOTHER}:
        provider, made_by = made_by, ""
    if provider and provider not in makers:
        return True
    if not made_by:
        return False
    if model is None:
        raise UsageError(
            f"Cannot compare the signing model {signed_by!r} with the request's model: the request names none."
            " Name the model of the request too."
        )
    return made_by != model.rpartition(":")[2]

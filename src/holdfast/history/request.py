"""What only the caller knows about the request for a conversation."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import TypedDict

import msgspec

from holdfast.errors import UsageError
from holdfast.history.formats.format import RequestFacts

_PROVIDERS = frozenset({"anthropic", "bedrock", "openai", "google", "mistral", "deepseek", "cohere"})
"""The makers of signed or encrypted content, as `signed_by` names them."""

_ANOTHER = "another"
"""The maker of content from another account or organization than the request's."""


class Request(TypedDict, total=False):
    """Facts about a request that its body lacks. All are optional.

    `model`: the model's name. `tools`: the names of the declared tools. `thinking`: whether the model thinks.
    `text_only`: the model takes no images and no files. `store`: whether the provider stores what is sent. `signed_by`:
    the maker of signed or encrypted content: a provider, a model, `provider:model`, or `another` for another account;
    content that the receiver cannot read is dropped. `signed`: known texts of signed thinking, by their signatures.
    """

    model: str | None
    tools: Iterable[str] | None
    thinking: bool | None
    text_only: bool
    store: bool | None
    signed_by: str | None
    signed: Mapping[str, str] | None


def checked_request(request: Request, names_in: Callable[[list[object]], frozenset[str] | None]) -> Request:
    """Return the facts with the names of the tools; `names_in` returns those of declarations as in a request.

    Raises `UsageError` for a fact that is none, and for tools that have no names.
    """
    known = Request.__annotations__
    if (unknown := next((name for name in request if name not in known), None)) is not None:
        raise UsageError(f"Unknown fact {unknown!r} about the request (expected some of {', '.join(known)}).")
    tools = request.get("tools")
    if tools is None:
        return request
    listed: list[object] = list(tools)
    if all(isinstance(each, str) for each in listed):
        return {**request, "tools": tuple(str(each) for each in listed)}
    if not (names := names_in(listed)):
        raise UsageError("Fact 'tools' has no names (expected names, or declarations as in a request of this format).")
    return {**request, "tools": names}


def with_request(facts: RequestFacts, request: Request, *, makers: frozenset[str]) -> RequestFacts:
    """Return the body's facts combined with the caller's; `makers` are those whose signatures are accepted."""
    tools, thinking, store = request.get("tools"), request.get("thinking"), request.get("store")
    model = facts.model or request.get("model")
    return msgspec.structs.replace(
        facts,
        tools=frozenset(tools) if tools is not None and not facts.tools else facts.tools,
        thinking=facts.thinking if facts.thinking is not None else thinking,
        store=facts.store if facts.store is not None else store,
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

"""The parameters of the protocol's methods, without the fields that holdfast does not use."""

from __future__ import annotations

from typing import TypeVar

import msgspec

from holdfast.typed_data import convert_value
from holdfast.ui.acp.prompt_content import PromptBlock
from holdfast.ui.json_rpc.messages import INVALID_PARAMS, RpcError


class InitializeParams(msgspec.Struct, frozen=True, rename="camel"):
    """Of `initialize`."""

    protocol_version: int
    client_capabilities: dict[str, object] | None = None


class NewParams(msgspec.Struct, frozen=True, rename="camel"):
    """Of `session/new`."""

    cwd: str
    mcp_servers: list[object] | None = None
    additional_directories: list[str] | None = None


class ExistingParams(msgspec.Struct, frozen=True, rename="camel"):
    """Of `session/load` and `session/resume`."""

    session_id: str
    cwd: str
    mcp_servers: list[object] | None = None
    additional_directories: list[str] | None = None


class ListParams(msgspec.Struct, frozen=True):
    """Of `session/list`."""

    cwd: str | None = None
    cursor: str | None = None


class SessionParams(msgspec.Struct, frozen=True, rename="camel"):
    """Of `session/cancel`, `session/close` and `session/delete`."""

    session_id: str


class PromptParams(msgspec.Struct, frozen=True, rename="camel"):
    """Of `session/prompt`."""

    session_id: str
    prompt: tuple[PromptBlock, ...]


class ModeParams(msgspec.Struct, frozen=True, rename="camel"):
    """Of `session/set_mode`."""

    session_id: str
    mode_id: str


class OptionParams(msgspec.Struct, frozen=True, rename="camel"):
    """Of `session/set_config_option`."""

    session_id: str
    config_id: str
    value: object


class CancelParams(msgspec.Struct, frozen=True, rename="camel"):
    """Of `$/cancel_request`."""

    request_id: str | int | None


T = TypeVar("T")


def method_params(params: object, kind: type[T]) -> T:
    """Return the parameters of a method. Raise `RpcError` if they are invalid."""
    try:
        return convert_value(params, kind)
    except (msgspec.ValidationError, RecursionError) as error:
        raise RpcError(INVALID_PARAMS, f"The parameters are invalid: {error}.") from error

"""The answer to a prompt whose turn has ended. Pure."""

from __future__ import annotations

from holdfast.errors import RETRYABLE, Fault, HoldfastError, ModelUnusable, ProviderFault, SessionBusy, SessionUnknown
from holdfast.session.journal.entries import TurnEnded
from holdfast.session.model_notices import clause_for_user
from holdfast.text import printable
from holdfast.ui.advice import EDITOR, with_advice
from holdfast.ui.json_rpc.messages import AUTH_REQUIRED, INTERNAL_ERROR, NOT_FOUND, RpcError


def stop_reason(ended: TurnEnded, fault: ProviderFault | None = None) -> str:
    """Return the stop reason of a turn, or raise `RpcError` if it failed. `fault` is the provider's failure.

    A refusal is `end_turn`: with `refusal` a client would remove the prompt from the conversation; holdfast keeps it.
    """
    match ended.reason:
        case "end_turn" | "refusal":
            return "end_turn"
        case "max_tokens" | "cancelled":
            return ended.reason
        case "max_steps":
            return "max_turn_requests"
        case "max_cost" | "timeout" | "error":
            message = clause_for_user(ended.cause, ended.detail)
            message = printable(f"{message[:1].upper()}{message[1:]}".rstrip("."))
            more = "" if fault is None else f" {EDITOR[fault]}"
            data: dict[str, object] = {"cause": ended.cause, "retryable": fault in RETRYABLE}
            raise RpcError(INTERNAL_ERROR, f"{message}.{more}", data=data)


def rpc_error(error: HoldfastError) -> RpcError:
    """Return the protocol's error for one of holdfast's."""
    message = printable(with_advice(error, EDITOR))
    needs_key: tuple[Fault, ...] = ("no_key", "credentials")
    match error:
        case SessionBusy(holder=holder):
            return RpcError(INTERNAL_ERROR, message, data={"busy": True, "holder": holder})
        case SessionUnknown():
            return RpcError(NOT_FOUND, message)
        case ModelUnusable() if error.fault in needs_key:
            return RpcError(AUTH_REQUIRED, message)
        case _:
            return RpcError(INTERNAL_ERROR, message)

"""What a prompt is answered with when its turn has ended. Pure."""

from __future__ import annotations

from holdfast.errors import RETRYABLE, Fault, HoldfastError, ModelUnusable, ProviderFault, SessionBusy, SessionUnknown
from holdfast.session.journal.entries import TurnEnded
from holdfast.session.model_notices import clause_for_user
from holdfast.text import printable
from holdfast.ui.acp.protocol.json_rpc import AUTH_REQUIRED, INTERNAL_ERROR, NOT_FOUND, RpcError
from holdfast.ui.advice import EDITOR, advised


def stop_reason(ended: TurnEnded, fault: ProviderFault | None = None) -> str:
    """Return the stop reason of a turn; `fault` is its provider's. Raise `RpcError` for an end that has none.

    A refusal is `end_turn`: with `refusal` a client takes the prompt out of the conversation, and holdfast does not.
    """
    match ended.reason:
        case "end_turn" | "refusal":
            return "end_turn"
        case "max_tokens" | "cancelled":
            return ended.reason
        case "max_steps":
            return "max_turn_requests"
        case "max_cost" | "timeout" | "error":
            said = clause_for_user(ended.cause, ended.detail)
            said = printable(f"{said[:1].upper()}{said[1:]}".rstrip("."))
            more = "" if fault is None else f" {EDITOR[fault]}"
            data: dict[str, object] = {"cause": ended.cause, "retryable": fault in RETRYABLE}
            raise RpcError(INTERNAL_ERROR, f"{said}.{more}", data=data)


def rpc_error(error: HoldfastError) -> RpcError:
    """Return the error of the protocol for one of holdfast's."""
    said = printable(advised(error, EDITOR))
    needs_key: tuple[Fault, ...] = ("no_key", "credentials")
    match error:
        case SessionBusy(holder=holder):
            return RpcError(INTERNAL_ERROR, said, data={"busy": True, "holder": holder})
        case SessionUnknown():
            return RpcError(NOT_FOUND, said)
        case ModelUnusable() if error.fault in needs_key:
            return RpcError(AUTH_REQUIRED, said)
        case _:
            return RpcError(INTERNAL_ERROR, said)

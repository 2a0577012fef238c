"""Each end of a turn is one answer, and each error says what to do."""

from __future__ import annotations

from typing import get_args

import pytest

from holdfast.errors import HoldfastError, ModelUnusable, SessionBusy, SessionUnknown, StorageFailed
from holdfast.session.journal.entries import Cause, TurnEnded
from holdfast.session.model_notices import REASONS
from holdfast.ui.acp.turn_answer import rpc_error, stop_reason
from holdfast.ui.json_rpc.messages import RpcError

REASON = {
    "end_turn": "end_turn",
    "refusal": "end_turn",
    "max_tokens": "max_tokens",
    "cancelled": "cancelled",
    "max_steps": "max_turn_requests",
}


@pytest.mark.parametrize("cause", get_args(Cause))
def test_every_cause_has_an_answer(cause: Cause) -> None:
    ended = TurnEnded(turn=1, reason=REASONS[cause], cause=cause)
    if ended.reason in REASON:
        assert stop_reason(ended) == REASON[ended.reason]
        return
    with pytest.raises(RpcError) as refused:
        stop_reason(ended, "overloaded" if cause == "provider" else None)
    assert refused.value.code == -32603
    assert refused.value.data == {"cause": cause, "retryable": cause == "provider"}
    assert str(refused.value).endswith(".")


@pytest.mark.parametrize(
    ("error", "code"),
    [
        (ModelUnusable("No key.", fault="no_key"), -32000),
        (ModelUnusable("Unknown model."), -32603),
        (SessionUnknown("No session.", fault="no_session"), -32002),
        (SessionBusy("Busy.", session="s", holder="pid 1"), -32603),
        (StorageFailed("Disk full."), -32603),
    ],
)
def test_every_error_has_a_code(error: HoldfastError, code: int) -> None:
    assert rpc_error(error).code == code

"""Calls of any agent loop, written ahead: what ran is known after a crash, and nothing runs twice.

from holdfast.ledger import Ledger

ledger = Ledger("calls.db")
async with ledger.call(call_id, "deploy", arguments, effect="execute") as call:
    if not call.done:
        call.result = await deploy(**arguments)

docs/reference/ledger.md has the rules: what is durable before an effect, and what is known after a kill at each point.
"""

from __future__ import annotations

from holdfast.errors import CallRepeated
from holdfast.ledger.call import RecordedCall
from holdfast.ledger.call_row import CallRecord, Look, Replay
from holdfast.ledger.call_store import CallStore
from holdfast.ledger.ledger import Ledger

__all__ = ["CallRecord", "CallRepeated", "CallStore", "Ledger", "Look", "RecordedCall", "Replay"]

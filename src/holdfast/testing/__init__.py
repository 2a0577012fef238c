"""Public fakes and conformance checks, for holdfast's tests and for yours.

Nothing here imports `holdfast.history`: a scripted provider that shared holdfast's rules would share its mistakes.
`holdfast.testing.http_transport` has to be imported separately, because its HTTP library is slow to import.
"""

from holdfast.testing.script import (
    SCRIPT_OVER,
    Action,
    Call,
    Cut,
    End,
    Fail,
    Finish,
    FinishReason,
    Headers,
    Hold,
    Ping,
    Raw,
    ReceivedRequest,
    Reply,
    Reset,
    Say,
    Script,
    ScriptStep,
    Think,
    Wait,
    WireName,
)
from holdfast.testing.scripted_model import ScriptedModel
from holdfast.testing.scripted_provider import Captured, Ending, ScriptedProvider
from holdfast.testing.store_checks import check_store
from holdfast.testing.toolbox import FunctionTool, FunctionToolbox

__all__ = [
    "SCRIPT_OVER",
    "Action",
    "Call",
    "Captured",
    "Cut",
    "End",
    "Ending",
    "Fail",
    "Finish",
    "FinishReason",
    "FunctionTool",
    "FunctionToolbox",
    "Headers",
    "Hold",
    "Ping",
    "Raw",
    "ReceivedRequest",
    "Reply",
    "Reset",
    "Say",
    "Script",
    "ScriptStep",
    "ScriptedModel",
    "ScriptedProvider",
    "Think",
    "Wait",
    "WireName",
    "check_store",
]

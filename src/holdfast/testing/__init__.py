"""Public fakes and checks, for our tests and for everyone else's.

Nothing here comes from `holdfast.history`: a scripted provider that shared our rules would share our mistakes.
`holdfast.testing.memory` is imported by itself, for its HTTP library is not light.
"""

from holdfast.testing.model import ScriptedModel
from holdfast.testing.provider import Captured, Ending, ScriptedProvider
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
    Reply,
    Request,
    Reset,
    Say,
    Script,
    Step,
    Think,
    Wait,
    WireName,
)
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
    "Reply",
    "Request",
    "Reset",
    "Say",
    "Script",
    "ScriptedModel",
    "ScriptedProvider",
    "Step",
    "Think",
    "Wait",
    "WireName",
    "check_store",
]

"""Public fakes and conformance checks, for holdfast's tests and for yours.

Nothing here imports `holdfast.history`: a scripted provider that shared holdfast's rules would share its mistakes.
`holdfast.testing.http_transport` has to be imported separately, because its HTTP library is slow to import.
"""

from holdfast.testing.model_checks import MODEL_LAWS, ModelHarness, ProviderHarness, check_model
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
from holdfast.testing.scripted_provider import CapturedRequest, Ending, ScriptedProvider
from holdfast.testing.store_checks import check_store
from holdfast.testing.tool_checks import TOOL_LAWS, check_tool
from holdfast.testing.toolbox import FunctionTool, FunctionToolbox

__all__ = [
    "MODEL_LAWS",
    "SCRIPT_OVER",
    "TOOL_LAWS",
    "Action",
    "Call",
    "CapturedRequest",
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
    "ModelHarness",
    "Ping",
    "ProviderHarness",
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
    "check_model",
    "check_store",
    "check_tool",
]

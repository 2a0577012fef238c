"""The choices of a session in an editor: mode, model and effort, as the protocol lists them. Pure."""

from __future__ import annotations

from collections.abc import Sequence
from typing import get_args

import msgspec

from holdfast.session.journal.model_settings import EFFORTS, Effort
from holdfast.tool_calls import Mode
from holdfast.ui.acp.display.call_cards import AcpFields
from holdfast.ui.json_rpc.messages import INVALID_PARAMS, RpcError

PROVIDER_DEFAULT = "default"
"""The effort of a session that sets none."""

_MODES: dict[Mode, tuple[str, str]] = {
    "ask": ("Ask", "Asks before commands and edits"),
    "accept-edits": ("Accept edits", "Edits in the folder run without asking"),
    "plan": ("Plan", "Only reads, and presents a plan"),
    "yolo": ("Yolo", "Runs everything without asking"),
}


class SessionChoices(msgspec.Struct, frozen=True, kw_only=True):
    """The current values, and the offered ones. `models` are PROVIDER:MODEL; `yolo` is whether that mode is offered."""

    mode: Mode
    model: str
    effort: Effort | None
    models: Sequence[str]
    yolo: bool

    @property
    def modes(self) -> list[Mode]:
        """Return the offered modes, always with the current one."""
        return [each for each in _MODES if each != "yolo" or self.yolo or self.mode == "yolo"]

    def mode_of(self, value: object) -> Mode:
        """Return the mode of this name. Raise `RpcError` if it is not offered."""
        for each in self.modes:
            if each == value:
                return each
        more = " Start holdfast with --allow-yolo to offer it." if value in get_args(Mode) else ""
        raise RpcError(INVALID_PARAMS, f"Unknown mode {value!r} (expected one of {', '.join(self.modes)}).{more}")

    def effort_of(self, value: object) -> Effort | None:
        """Return the effort of this name. Raise `RpcError` if there is none."""
        if value == PROVIDER_DEFAULT:
            return None
        for each in EFFORTS:
            if each == value:
                return each
        names = ", ".join((PROVIDER_DEFAULT, *EFFORTS))
        raise RpcError(INVALID_PARAMS, f"Unknown effort {value!r} (expected one of {names}).")

    def config_options(self) -> list[AcpFields]:
        """Return every option."""
        models = list(dict.fromkeys((self.model, *self.models)))
        efforts = (PROVIDER_DEFAULT, *EFFORTS)
        return [
            _select("mode", "Mode", "mode", self.mode, [(each, *_MODES[each]) for each in self.modes]),
            _select("model", "Model", "model", self.model, [(each, each, "") for each in models]),
            _select(
                "thinking",
                "Effort",
                "thought_level",
                self.effort or PROVIDER_DEFAULT,
                [(each, each.capitalize(), "") for each in efforts],
            ),
        ]

    def mode_state(self) -> AcpFields:
        """Return the modes, for clients without options."""
        offered = [{"id": each, "name": _MODES[each][0], "description": _MODES[each][1]} for each in self.modes]
        return {"currentModeId": self.mode, "availableModes": offered}


def _select(option_id: str, name: str, category: str, value: str, offered: list[tuple[str, str, str]]) -> AcpFields:
    options: list[AcpFields] = [
        {"value": each, "name": label, "description": more} if more else {"value": each, "name": label}
        for each, label, more in offered
    ]
    kind: AcpFields = {"id": option_id, "name": name, "category": category, "type": "select"}
    return {**kind, "currentValue": value, "options": options}

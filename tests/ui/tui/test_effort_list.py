"""The list of efforts: what holds for several is said once."""

from __future__ import annotations

from holdfast.session.journal.model_settings import EFFORTS
from holdfast.ui.tui.settings.setting_commands import effort_choices

UNKNOWN = "holdfast does not know whether home:m reasons: no effort is sent."


def test_a_note_of_several_efforts_stands_once_above_the_list() -> None:
    title, choices = effort_choices("low", lambda effort: "" if effort == "off" else UNKNOWN)
    assert title.splitlines() == ["Effort: how much the model reasons", UNKNOWN]
    details = {choice.value: choice.detail for choice in choices}
    assert details == {"default": "the provider decides"} | dict.fromkeys(EFFORTS, "") | {"low": "in use"}


def test_a_note_of_one_effort_stands_beside_it() -> None:
    title, choices = effort_choices(None, lambda effort: "'high' is sent." if effort == "max" else "")
    assert title == "Effort: how much the model reasons"
    assert [(choice.value, choice.detail) for choice in choices if choice.detail] == [
        ("default", "in use"),
        ("max", "'high' is sent."),
    ]

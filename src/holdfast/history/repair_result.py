"""What a repair returns."""

from __future__ import annotations

from typing import TYPE_CHECKING

import msgspec

if TYPE_CHECKING:  # a repair that finds nothing imports neither
    from holdfast.history.edits import Edit
    from holdfast.history.rules import Violation


class Repair(msgspec.Struct, frozen=True):
    """A repaired conversation. Without edits, `messages` and `document` are the very objects of the input.

    `document` is the list of messages or the request body, like the input. `remaining` are the violations that no edit
    repairs.
    """

    messages: list[object]
    document: object
    edits: tuple[Edit, ...]
    remaining: tuple[Violation, ...]

"""Edits of blocks that stay as they are, but for their place, their form or one setting."""

from __future__ import annotations

import msgspec

from holdfast.history.edit_places import EditPlace, EditRecord, all_of
from holdfast.history.shape import Path, position
from holdfast.text import valid_unicode


class MoveContent(EditRecord, frozen=True, gc=False, tag="move-content"):
    """Moves an item, or some `parts` of a result, to a place in the user's messages.

    A note stays where an image or a file was. `lead` is a text before what moved, "" for none. `reply` is a text of the
    assistant before the user's message, where the provider requires one.
    """

    path: Path
    place: EditPlace
    why: str
    parts: tuple[Path, ...] = ()
    lead: str = ""
    reply: str = ""

    def __post_init__(self) -> None:
        msgspec.structs.force_setattr(self, "lead", valid_unicode(self.lead))  # it may contain the name of a tool

    @property
    def sentence(self) -> str:
        """Return what the edit does, in one sentence."""
        moved = self.parts or (self.path,)
        verb = "move" if len(moved) > 1 else "moves"
        return f"{all_of(moved)} {verb} to the user's message behind: {self.why}."


class ConvertMedia(EditRecord, frozen=True, gc=False, tag="convert-media"):
    """Writes the images of an item in the form of this format."""

    path: Path

    @property
    def sentence(self) -> str:
        """Return what the edit does, in one sentence."""
        return f"The image at {position(self.path)} is written in the form that the provider knows."


class SetCitations(EditRecord, frozen=True, gc=False, tag="set-citations"):
    """Turns the citations of the documents of one `kind` in an item on or off."""

    path: Path
    kind: str
    enabled: bool

    @property
    def sentence(self) -> str:
        """Return what the edit does, in one sentence."""
        state = "on" if self.enabled else "off"
        kind = self.kind.replace("_", " ")
        return (
            f"The citations of the {kind} at {position(self.path)} are turned {state}, as those of the first one are."
        )

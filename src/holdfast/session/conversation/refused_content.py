"""What providers refused in this session: it is not sent to that model again, on any branch."""

from __future__ import annotations

import msgspec

from holdfast.session.conversation.conversation import Streaming
from holdfast.session.journal import entries as e
from holdfast.tool_calls import Image


class RefusedContent(msgspec.Struct, frozen=True):
    """Models that reject images, images with the model that rejected them, and the changes of later requests."""

    models_without_vision: frozenset[str] = frozenset()
    images: frozenset[tuple[str, Image]] = frozenset()
    changes: tuple[e.RequestsChanged, ...] = ()

    def after_failure(
        self, failed: e.RequestFailed, now: Streaming | None, images: tuple[Image, ...]
    ) -> RefusedContent:
        """Return it after a failed request, whose last message had these images."""
        if now is None or failed.fault not in (e.NO_IMAGES, e.BAD_IMAGES):
            return self
        if failed.fault == e.NO_IMAGES:
            return msgspec.structs.replace(self, models_without_vision=self.models_without_vision | {now.model})
        return msgspec.structs.replace(self, images=self.images | {(now.model, image) for image in images})

    def after_change(self, change: e.RequestsChanged) -> RefusedContent:
        """Return it after one more change; one that is in force already adds nothing."""
        same = any(
            (each.model, each.change, each.tools) == (change.model, change.change, change.tools)
            for each in self.changes
        )
        return self if same else msgspec.structs.replace(self, changes=(*self.changes, change))

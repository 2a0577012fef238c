"""The images and files of a conversation, against what a provider takes of them."""

from __future__ import annotations

from collections.abc import Iterator

from holdfast.history.media import NO_TYPE
from holdfast.history.profile import Profile
from holdfast.history.rules.rule import Found
from holdfast.history.shape import Item, Media, Shape


class Album:
    """The images and files of a conversation: where there are too many, or too many for large ones, the first go."""

    def __init__(self, shape: Shape, profile: Profile) -> None:
        self._profile = profile
        self._many = sum(len(item.media) for message in shape.messages for item in message.items if item.media)
        self._spare = self._many - profile.media.crowded
        self._surplus = 0 if profile.media.count is None else self._many - profile.media.count

    def of(self, item: Item) -> Iterator[Found]:
        """Yield what is wrong with those of one item."""
        for which in range(len(item.media)):
            found = _media(item, which, self._profile, crowd=self._many if self._spare > 0 else 0)
            if self._surplus > 0 and (found is None or found.fit):
                what = f"An image or file is one of {self._many}, at most {self._profile.media.count} are accepted"
                found = Found("too-much-media", item.path, what, item, which)
            if found is not None:
                self._spare -= not found.fit
                self._surplus -= not found.fit
                yield found


def _media(item: Item, which: int, profile: Profile, *, crowd: int) -> Found | None:
    """Return what is wrong with an image; `crowd` is how many there are, if they are too many for large ones."""
    media = item.media[which]
    excess = _excess(media, profile, crowd)
    if reason := _fault(media, profile):
        named = f" {media.name!r}" if media.name else ""
        fit = media.found in profile.media.types or (media.declared == NO_TYPE and media.found == "application/pdf")
        return Found("media-invalid", item.path, f"An image or file{named} {reason}", item, which, fit and not excess)
    return Found("media-too-large", item.path, f"An image {excess}", item, which) if excess else None


def _fault(media: Media, profile: Profile) -> str:
    if media.declared and media.declared not in profile.media.types:
        return f"is declared as {media.declared}"
    if media.declared and media.found and media.declared != media.found:
        return f"is declared as {media.declared} and is {media.found}"
    return ""


def _excess(media: Media, profile: Profile, crowd: int) -> str:
    limits = profile.media
    side, among = (limits.crowded_side, f" among {crowd}") if crowd else (limits.side, "")
    if media.size > limits.size:
        return f"has {media.size} bytes, at most {limits.size} are accepted"
    if max(media.width, media.height) > side:
        return f"is {media.width} x {media.height} pixels, at most {side} a side are accepted{among}"
    return ""

"""Checks the images and files of a conversation against a provider's limits."""

from __future__ import annotations

from collections.abc import Iterator

from holdfast.history.media.images import AUDIO, DATA_URL, NO_ADDRESS, NO_TYPE
from holdfast.history.media.pdf import ENCRYPTED, NO_PDF, PAPER
from holdfast.history.media.pdf import TYPE as PDF
from holdfast.history.rules.profile import MediaLimits, Profile
from holdfast.history.rules.rule import RuleFinding
from holdfast.history.shape import Item, Media, Shape

_NOT_READ = {NO_PDF: "has bytes that are not a PDF", "empty": "is empty", "broken": "is not valid base64"}


class MediaCounter:
    """The images and files of a conversation; if too many, or too many for large ones, the first are reported."""

    def __init__(self, shape: Shape, profile: Profile) -> None:
        self._profile = profile
        media = [each for message in shape.messages for item in message.items for each in item.media]
        self._many = sum(each.declared != PAPER for each in media)
        self._spare = self._many - profile.media.crowded
        self._all = sum(_weight(each) for each in media if not _alone(each, profile.media))
        self._surplus = 0 if profile.media.count is None else self._all - profile.media.count

    def of(self, item: Item) -> Iterator[RuleFinding]:
        """Yield the faults of the images and files of one item."""
        for which in range(len(item.media)):
            media = item.media[which]
            is_pdf = media.declared == PAPER
            if is_pdf:
                found = _pdf(item, which, self._profile.media)
            else:
                found = _media(item, which, self._profile, crowd=self._many if self._spare > 0 else 0)
            if self._surplus > 0 and (found is None or found.rewritable):
                what = f"An image or file is one of {self._all}, at most {self._profile.media.count} are accepted"
                what = f"{what}, counting each page of a PDF" if is_pdf else what
                found = RuleFinding("too-much-media", item.path, what, item, which)
            if found is not None:
                self._spare -= not found.rewritable and not is_pdf
                self._surplus -= 0 if found.rewritable or _alone(media, self._profile.media) else _weight(media)
                yield found


def _weight(media: Media) -> int:
    """Return how many images it counts as; a PDF counts as its pages."""
    return max(media.pages, 1)


def _alone(media: Media, limits: MediaLimits) -> bool:
    """Return whether its own number of pages is too large."""
    return limits.pages is not None and media.pages > limits.pages


def _pdf(item: Item, which: int, limits: MediaLimits) -> RuleFinding | None:
    """Return the faults of a PDF."""
    media = item.media[which]
    called = f"A PDF {media.name!r}" if media.name else "A PDF"
    if limits.pdf is None:
        return None
    if media.found in _NOT_READ or (media.found == ENCRYPTED and not limits.encrypted):
        return RuleFinding(
            "pdf-unreadable", item.path, f"{called} {_NOT_READ.get(media.found, 'is encrypted')}", item, which
        )
    if media.size > limits.pdf:
        what = f"{called} has {media.size} bytes, at most {limits.pdf} are accepted"
        return RuleFinding("pdf-too-large", item.path, what, item, which)
    if _alone(media, limits):
        what = f"{called} has {media.pages} pages, at most {limits.pages} are accepted"
        return RuleFinding("pdf-too-large", item.path, what, item, which)
    return None


def _media(item: Item, which: int, profile: Profile, *, crowd: int) -> RuleFinding | None:
    """Return the faults of an image; `crowd` is the number of images, if too many for large ones."""
    media = item.media[which]
    excess = _excess(media, profile, crowd)
    if reason := _fault(media, profile):
        named = f" {media.name!r}" if media.name else ""
        is_bare = media.declared in (NO_TYPE, DATA_URL) and media.found in (PDF, AUDIO)
        fit = media.found in profile.media.types or is_bare
        return RuleFinding(
            "media-invalid", item.path, f"An image or file{named} {reason}", item, which, fit and not excess
        )
    return RuleFinding("media-too-large", item.path, f"An image {excess}", item, which) if excess else None


def _fault(media: Media, profile: Profile) -> str:
    if media.declared == NO_ADDRESS:
        return "has no address that a provider can read (https:// or data:)"
    if media.declared and media.declared not in profile.media.types:
        return f"is declared as {media.declared}"
    if media.declared and media.found and media.declared != media.found:
        return f"is declared as {media.declared}, but its bytes are {media.found}"
    return ""


def _excess(media: Media, profile: Profile, crowd: int) -> str:
    limits = profile.media
    side, among = (limits.crowded_side, f" among {crowd}") if crowd else (limits.side, "")
    if media.size > limits.size:
        return f"has {media.size} bytes, at most {limits.size} are accepted"
    if max(media.width, media.height) > side:
        return f"is {media.width} x {media.height} pixels, at most {side} a side are accepted{among}"
    return ""

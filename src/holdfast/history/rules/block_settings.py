"""Rules on the settings of blocks that must agree in a whole request: cache markers and citations."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from holdfast.history.rules.profile import Profile
from holdfast.history.rules.rule import Rule, RuleFinding, item_finding
from holdfast.history.shape import LONG_LIVED, SHORT_LIVED, Item, Shape

RULES = (
    Rule(
        "too-many-cache-marks",
        "There are no more cache markers than the provider accepts, including the system prompt and the tools.",
        {"anthropic": "A maximum of 4 blocks with cache_control may be provided. Found"},
    ),
    Rule(
        "cache-mark-order",
        "No cache marker that holds for an hour comes after one that holds for five minutes. The tools come first, then"
        " the system prompt, then the messages.",
        {
            "anthropic": "messages.{message}.content.{part}.cache_control.ttl: a ttl='1h' cache_control block must not"
            " come after a ttl='5m' cache_control block. Note that blocks are processed in the following order:"
            " `tools`, `system`, `messages`."
        },
    ),
    Rule(
        "citations-mixed",
        "Citations are on for all documents of a request, or for none; the same for its search results.",
        {},
    ),
)


def find(shape: Shape, profile: Profile) -> Iterator[RuleFinding]:
    """Yield every block whose settings do not fit those of the others."""
    set_items = [item for message in shape.messages for item in message.items if item.marks or item.citing]
    marked = [item for item in set_items if item.marks]
    if profile.marks is not None:
        yield from _surplus_marks(shape, marked, profile.marks)
    outside = [[item for item in shape.blocks if (len(item.path) > 1) is inner] for inner in (True, False)]
    yield from _late_hours([*outside[0], *marked, *outside[1]])  # the request's own marker is on its last block
    yield from _mixed(item for item in set_items if item.citing)


def _surplus_marks(shape: Shape, marked: Sequence[Item], limit: int) -> Iterator[RuleFinding]:
    """Yield the items with surplus cache markers; the last ones keep theirs, because the cache is read there."""
    left = shape.marks + sum(item.marks for item in marked)
    outside = shape.marks
    for item in shape.blocks:
        if item.marks and outside > limit:
            outside -= item.marks
            yield item_finding(
                "too-many-cache-marks", item, f"has one of {shape.marks} cache markers outside the messages"
            )
    for item in marked:
        if left > limit:
            left -= item.marks
            yield item_finding("too-many-cache-marks", item, f"has a cache marker, but only {limit} are accepted")


def _late_hours(items: Sequence[Item]) -> Iterator[RuleFinding]:
    """Yield the items with a marker of an hour after one of five minutes."""
    short = False
    for item in items:
        late = False
        for lifetime in item.lifetimes:
            late = late or (short and lifetime == LONG_LIVED)
            short = short or lifetime == SHORT_LIVED
        if late:
            yield item_finding("cache-mark-order", item, "has a cache marker of an hour after one of five minutes")


def _mixed(items: Iterable[Item]) -> Iterator[RuleFinding]:
    """Yield the items with documents whose citations are not as those of the first one of its kind."""
    firsts: dict[str, bool] = {}
    for item in items:
        differs = {kind for kind, cited in item.citing if firsts.setdefault(kind, cited) != cited}
        for kind in sorted(differs):
            now, then = ("off", "on") if firsts[kind] else ("on", "off")
            what = f"Citations of a {kind.replace('_', ' ')} are {now}, but those of the first one are {then}"
            yield RuleFinding("citations-mixed", item.path, what, item, setting=(kind, firsts[kind]))

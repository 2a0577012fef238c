"""What is known of a provider: which rules it enforces, known how, and with which limits."""

from __future__ import annotations

import re
from collections.abc import Mapping
from types import MappingProxyType
from typing import Literal

import msgspec

from holdfast.history.fields import Kinds
from holdfast.history.shape import Grammar, Item

Evidence = Literal["verified", "recorded", "documented", "quoted", "inherent", "hearsay"]
"""How a rule is known, the best first.

Verified: the provider's own code was run. Recorded: the provider's answer was kept. Documented: its documents say so.
Quoted: users quote its error. Inherent: nobody was seen to refuse it, but the format has no meaning for it. Hearsay:
other programs take care of it, or somebody remembers.
"""


class MediaLimits(msgspec.Struct, frozen=True):
    """What images may be: bytes, and pixels of a side when more than `crowded` images are in one request.

    `most` and `total` are how many a request may hold, and how many bytes of them: what is sent keeps them, no rule
    judges them; a request with more than `count` is known to be refused. A request's limit is on base64, a third more,
    beside everything else. They are hearsay but where it is said; of those who say nothing, 20 images and 20 MB a
    request, which many take.
    """

    types: frozenset[str] = frozenset({"image/png", "image/jpeg", "image/gif", "image/webp"})
    size: int = 20_000_000
    side: int = 8_000
    crowded: int = 100
    crowded_side: int = 8_000
    most: int = 20
    count: int | None = None
    total: int = 14_000_000


NO_MEDIA = MediaLimits(types=frozenset())
"""Of a model that cannot see."""

_NOTHING: frozenset[str] = frozenset()


class Profile(msgspec.Struct, frozen=True, kw_only=True):
    """One provider: the rules it enforces and their limits.

    `in_items` are rules that it enforces only where a message is one item. `makers` are those whose signed thinking it
    accepts. `unknown` is what it does not know of each format, as items say it (`written`). `keeps` tells whether it
    keeps what was sent before, to be referred to; `joins` whether it joins messages of one role by itself. `fields` are
    those it knows in a format, where it refuses others.
    """

    name: str
    rules: Mapping[str, Evidence]
    in_items: frozenset[str] = frozenset()
    id_length: int | None = None
    id_exact: bool = False
    id_pattern: re.Pattern[str] | None = None
    name_pattern: re.Pattern[str] = re.compile(r"[a-zA-Z0-9_-]{1,64}")
    makers: frozenset[str] = frozenset()
    calls: int | None = None
    marks: int | None = None
    media: MediaLimits = MediaLimits()
    unknown: Mapping[str, frozenset[str]] = MappingProxyType({})
    keeps: bool = False
    joins: bool = False
    fields: Mapping[str, Kinds] = MappingProxyType({})

    def enforced(self, grammar: Grammar) -> frozenset[str]:
        """Return the rules whose breaking is a violation."""
        known = frozenset(rule for rule, evidence in self.rules.items() if evidence != "hearsay")
        return known | self.in_items if grammar.atomic else known

    def knows(self, item: Item, form: str) -> bool:
        """Return whether the provider knows what the item, and what it holds, is called in the format."""
        return not item.written or self.unknown.get(form, _NOTHING).isdisjoint(item.written)

    def id_fits(self, call: str) -> bool:
        """Return whether a call id has an accepted length."""
        return self.id_length is None or (len(call) == self.id_length if self.id_exact else len(call) <= self.id_length)

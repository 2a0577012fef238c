"""What is known about a provider: which rules it enforces, how that is known, and its limits."""

from __future__ import annotations

import re
from collections.abc import Mapping
from types import MappingProxyType
from typing import Literal

import msgspec

from holdfast.history.fields import Kinds
from holdfast.history.shape import Grammar, Item

RuleEvidence = Literal["verified", "recorded", "documented", "quoted", "inherent", "hearsay"]
"""How a rule is known, the best first.

Verified: the provider's own code was run. Recorded: the provider's answer was kept. Documented: its documents say so.
Quoted: users quote its error. Inherent: no provider was seen to refuse it, but the format has no meaning for it.
Hearsay: other programs avoid it, or a user remembers it.
"""


class MediaLimits(msgspec.Struct, frozen=True):
    """What images may be: bytes, and pixels of a side when more than `crowded` images are in one request.

    `pdf` is how many bytes a PDF may have, None if none is judged, `pages` how many pages, `encrypted` whether such are
    read. `most` and `total` are how many a request may hold, and how many bytes of them: what is sent keeps them, no
    rule judges them; a request with more than `count` is known to be refused. A request's limit is on base64, a third
    more, beside everything else. They are hearsay but where it is said; of those who say nothing, 20 images and 20 MB a
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
    pdf: int | None = None
    pages: int | None = None
    encrypted: bool = True


class TextLimits(msgspec.Struct, frozen=True):
    """How many characters a text and the arguments of a call may have, and how deep these may be nested; None: any."""

    text: int | None = None
    arguments: int | None = None
    depth: int | None = None

    @property
    def least(self) -> int | None:
        """Return how many characters a message may have without being inspected, None for any number."""
        return min((each for each in (self.text, self.arguments) if each is not None), default=None)


NO_MEDIA = MediaLimits(types=frozenset())
"""For a model that takes no images."""

_NOTHING: frozenset[str] = frozenset()
_OF_IDS = frozenset({"call-id-missing", "result-id-missing"})


class Profile(msgspec.Struct, frozen=True, kw_only=True):
    """One provider: the rules it enforces and their limits.

    `in_items` are rules that it enforces only where a message is one item. `makers` are those whose signed thinking it
    accepts. `unknown` is what it does not know of each format, as items say it (`written`). `keeps` tells whether it
    keeps what was sent before, to be referred to; `joins` whether it joins messages of one role by itself. `fields` are
    those it knows in a format, where it refuses others, `thinking_fields` the same where thinking is on, if others are.
    """

    name: str
    rules: Mapping[str, RuleEvidence]
    in_items: frozenset[str] = frozenset()
    id_length: int | None = None
    id_exact: bool = False
    id_pattern: re.Pattern[str] | None = None
    name_pattern: re.Pattern[str] = re.compile(r"[a-zA-Z0-9_-]{1,64}")
    makers: frozenset[str] = frozenset()
    calls: int | None = None
    marks: int | None = None
    media: MediaLimits = MediaLimits()
    texts: TextLimits = TextLimits()
    unknown: Mapping[str, frozenset[str]] = MappingProxyType({})
    keeps: bool = False
    joins: bool = False
    fields: Mapping[str, Kinds] = MappingProxyType({})
    thinking_fields: Mapping[str, Kinds] = MappingProxyType({})

    def known_fields(self, form: str, *, thinking: bool) -> Kinds | None:
        """Return the fields it knows in the format, None if it does not refuse others."""
        return (self.thinking_fields.get(form) if thinking else None) or self.fields.get(form)

    def looked_at(self, *, hearsay: bool) -> TextLimits:
        """Return the text limits to check, without the nesting of calls if that limit is only hearsay: it is slow."""
        deep = hearsay or self.rules.get("arguments-too-deep", "hearsay") != "hearsay"
        return self.texts if deep else msgspec.structs.replace(self.texts, depth=None)

    def enforced(self, grammar: Grammar) -> frozenset[str]:
        """Return the rules whose breaking is a violation."""
        known = frozenset(rule for rule, evidence in self.rules.items() if evidence != "hearsay")
        if grammar.ids:
            known |= _OF_IDS
        return known | self.in_items if grammar.atomic else known

    def knows(self, item: Item, form: str) -> bool:
        """Return whether the provider knows the item's kind, and the kinds in it, in this format."""
        return not item.written or self.unknown.get(form, _NOTHING).isdisjoint(item.written)

    def takes_id(self, call: str) -> bool:
        """Return whether a call id has an accepted length, and accepted characters."""
        return self.id_fits(call) and (self.id_pattern is None or self.id_pattern.fullmatch(call) is not None)

    def id_fits(self, call: str) -> bool:
        """Return whether a call id has an accepted length."""
        return self.id_length is None or (len(call) == self.id_length if self.id_exact else len(call) <= self.id_length)

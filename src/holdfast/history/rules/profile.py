"""The facts about a provider: the rules it enforces, the evidence for them, and its limits."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from types import MappingProxyType
from typing import Literal

import msgspec

from holdfast.history.fields import Kinds
from holdfast.history.shape import Grammar, Item

RuleEvidence = Literal["verified", "recorded", "documented", "quoted", "inherent", "hearsay"]
"""The evidence for a rule, the best first.

Verified: the provider's own code was run. Recorded: the provider's answer was recorded. Documented: its documents say
so. Quoted: users quote its error. Inherent: no refusal was seen, but the format gives no meaning to the content.
Hearsay: other programs avoid it, or a user remembers it.
"""


class MediaLimits(msgspec.Struct, frozen=True):
    """The limits of images and PDFs: `size` in bytes, `side` in pixels, `crowded_side` with over `crowded` images.

    `pdf` and `pages` limit the bytes and pages of a PDF, None if they are not checked; `encrypted` tells whether
    encrypted PDFs are read. `most` and `total` limit the number and bytes of files in a request: holdfast obeys them
    when sending, no rule checks them. Requests with more than `count` are known to be refused. A provider's limit
    counts base64, a third more, and everything else in the request. The values are hearsay unless noted. Where nothing
    is known they are 20 images and 20 MB a request, which many providers accept.
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
    """The most characters of a text and of arguments, and the deepest nesting of arguments; None for no limit."""

    text: int | None = None
    arguments: int | None = None
    depth: int | None = None

    @property
    def least(self) -> int | None:
        """Return the most characters of a message that needs no inspection, None for any number."""
        return min((each for each in (self.text, self.arguments) if each is not None), default=None)


NO_MEDIA = MediaLimits(types=frozenset())
"""For a model that takes no images."""

_NOTHING: frozenset[str] = frozenset()
_OF_IDS = frozenset({"call-id-missing", "result-id-missing"})
_OF_EVERY_PROVIDER = frozenset({"malformed-message", "unknown-role", "field-mistyped"})
"""The rules about what is no message of a format, which no provider accepts."""


class Profile(msgspec.Struct, frozen=True, kw_only=True):
    """One provider: the rules it enforces and their limits.

    It also enforces `malformed-message`, `unknown-role` and `field-mistyped`, without listing them.

    `in_items` are rules that it enforces only where a message is one item. `makers` are the makers whose signed
    thinking it accepts. `unknown` are the kinds it does not know, by format (`Item.kind_names`). `keeps`: it stores
    sent items, so that a request can refer to them. `joins`: it joins messages of one role by itself. `fields` are the
    known fields by format, if it refuses others; `thinking_fields` those with thinking on, if they differ.
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

    def limits_to_check(self, *, hearsay: bool) -> TextLimits:
        """Return the text limits to check; a hearsay limit on nesting is left out, because that check is slow."""
        deep = hearsay or self.rules.get("arguments-too-deep", "hearsay") != "hearsay"
        return self.texts if deep else msgspec.structs.replace(self.texts, depth=None)

    def enforced(self, grammar: Grammar) -> frozenset[str]:
        """Return the rules that the provider enforces in a format with this grammar."""
        known = _OF_EVERY_PROVIDER.union(rule for rule, evidence in self.rules.items() if evidence != "hearsay")
        if grammar.ids:
            known |= _OF_IDS
        return known | self.in_items if grammar.atomic else known

    def knows(self, item: Item, form: str) -> bool:
        """Return whether the provider knows the item's kind, and the kinds in it, in this format."""
        return not item.kind_names or self.unknown.get(form, _NOTHING).isdisjoint(item.kind_names)

    def unknown_kinds(self, item: Item, form: str) -> frozenset[str]:
        """Return the item's kind, and the kinds in it, that the provider does not know in this format."""
        return self.unknown.get(form, _NOTHING).intersection(item.kind_names)

    def broken_id_rules(self, call: str) -> tuple[str, ...]:
        """Return the rules about length and characters that a call id breaks."""
        most = self.id_length
        fits = most is None or len(call) == most or (len(call) < most and not self.id_exact)
        is_spelled = self.id_pattern is None or self.id_pattern.fullmatch(call) is not None
        if fits:
            return () if is_spelled else ("call-id-charset",)
        return ("call-id-length",) if is_spelled else ("call-id-length", "call-id-charset")


# --- The kinds of content that some providers do not know, by name (`Item.kind_names`) ---

LEGACY = (
    "assistant/function_call tool/function assistant/custom assistant/refusal assistant/audio tool/file user/video_url"
)
"""Kinds of Chat that only OpenAI knows, some of them no more, and one that no provider knows: a file in a result."""

UNKNOWN_TO_MISTRAL = f"{LEGACY} user/file tool/image_url tool/bare-image assistant/mistyped"
CALL_FIELDS = "assistant/tool_calls assistant/function_call user/tool_calls user/function_call"
"""The calls of Chat beside the content of Anthropic's messages."""

OPENAIS_OWN = (
    "assistant/additional_tools assistant/code_interpreter_call assistant/compaction assistant/compaction_summary"
    " assistant/compaction_trigger assistant/configuration_update assistant/context_compaction"
    " assistant/file_search_call assistant/image_generation_call assistant/mcp_approval_request"
    " assistant/mcp_approval_response assistant/mcp_call assistant/mcp_list_tools assistant/program"
    " assistant/program_output assistant/tool_search_call assistant/tool_search_output assistant/web_search_call"
)
"""Items of Responses that OpenAI runs or stores. Others refuse them ("Invalid input", command-code#893) or, as
llama.cpp says, "cannot determine" their type."""


def unknown_kinds(**by_format: str) -> Mapping[str, frozenset[str]]:
    """Return the unknown names of each format; the format's name has an underscore."""
    return MappingProxyType({form.replace("_", "-"): frozenset(words.split()) for form, words in by_format.items()})


def unknown_to_any(profiles: Iterable[Mapping[str, frozenset[str]]], **more: str) -> Mapping[str, frozenset[str]]:
    """Return the names that one of the profiles does not know, and `more` by format."""
    every = [*profiles, unknown_kinds(**more)]
    forms = dict.fromkeys(form for unknown in every for form in unknown)
    return MappingProxyType(
        {form: frozenset[str]().union(*(unknown.get(form, frozenset()) for unknown in every)) for form in forms}
    )

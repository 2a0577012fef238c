"""What each provider enforces, as data: which rules, known how, with which limits; and which formats it can be sent.

Two rules. A rule that is known only from other programs or from memory (`hearsay`) warns and is not a violation. The
rules themselves are in `holdfast.history.rules`.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from types import MappingProxyType
from typing import Literal

import msgspec

from holdfast.errors import UsageError
from holdfast.history.shape import Grammar

Evidence = Literal["verified", "recorded", "documented", "quoted", "hearsay"]
"""How a rule is known: run here, seen in a recorded answer, documented, quoted by users, or only said by others."""


class MediaLimits(msgspec.Struct, frozen=True):
    """What images may be: bytes, and pixels of a side when more than `crowded` images are in one request."""

    types: frozenset[str] = frozenset({"image/png", "image/jpeg", "image/gif", "image/webp"})
    size: int = 20_000_000
    side: int = 8_000
    crowded: int = 100
    crowded_side: int = 8_000


class Profile(msgspec.Struct, frozen=True, kw_only=True):
    """One provider: the rules it enforces and their limits.

    `in_items` are rules that it enforces only where a message is one item. `makers` are those whose signed thinking it
    accepts.
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
    media: MediaLimits = MediaLimits()

    def enforced(self, grammar: Grammar) -> frozenset[str]:
        """Return the rules whose breaking is a violation."""
        known = frozenset(rule for rule, evidence in self.rules.items() if evidence != "hearsay")
        return known | self.in_items if grammar.atomic else known

    def id_fits(self, call: str) -> bool:
        """Return whether a call id has an accepted length."""
        return self.id_length is None or (len(call) == self.id_length if self.id_exact else len(call) <= self.id_length)


def _known(
    *, verified: str = "", recorded: str = "", documented: str = "", quoted: str = "", hearsay: str = ""
) -> Mapping[str, Evidence]:
    known: dict[str, Evidence] = dict.fromkeys(hearsay.split(), "hearsay")
    known.update(dict.fromkeys(quoted.split(), "quoted"))
    known.update(dict.fromkeys(documented.split(), "documented"))
    known.update(dict.fromkeys(recorded.split(), "recorded"))
    known.update(dict.fromkeys(verified.split(), "verified"))
    return MappingProxyType(known)


# What no provider lets through: no messages, no JSON, calls and results that are not in pairs.
_ALL = """
no-messages malformed-message unknown-role lone-surrogate nul call-without-result result-without-call duplicate-result
result-not-adjacent block-misplaced arguments-type empty-content foreign-content media-invalid
"""
_IDS = "duplicate-call-id call-id-missing result-id-missing"
_BLOCKS = "results-split result-not-first field-missing server-call-without-result server-result-without-call"
_THINKING = "thinking-unsigned thinking-foreign thinking-altered thinking-not-first thinking-forbidden"
_RUMOURS = "tool-not-declared media-too-large"
_WORD = re.compile(r"[a-zA-Z0-9_-]+")

OPENAI_CHAT = Profile(
    name="openai-chat",
    rules=_known(
        quoted=f"{_ALL} {_IDS} call-id-length tool-name-illegal empty-calls too-many-calls",
        hearsay=f"{_RUMOURS} arguments-not-object",
    ),
    id_length=40,
    makers=frozenset({"openai"}),
    calls=128,
)
OPENAI_RESPONSES = Profile(
    name="openai-responses",
    rules=MappingProxyType(
        {
            rule: evidence
            for rule, evidence in _known(
                quoted=f"{_ALL} {_IDS} reused-call-id call-id-length tool-name-illegal field-missing"
                " thinking-foreign item-without-thinking duplicate-item item-id-illegal",
                recorded="thinking-unbound",
                hearsay=f"{_RUMOURS} arguments-not-object",
            ).items()
            if rule != "result-not-adjacent"  # calls and outputs are paired wherever they stand
        }
    ),
    id_length=64,
    makers=frozenset({"openai"}),
)
ANTHROPIC = Profile(
    name="anthropic",
    rules=_known(
        quoted=f"{_ALL} {_IDS} {_BLOCKS} {_THINKING} reused-call-id call-id-charset blank-text"
        " blank-block first-not-user last-not-user late-system arguments-not-object tool-name-illegal media-too-large"
        " too-many-cache-marks",
        hearsay="call-id-length tool-not-declared blank-result consecutive-roles",
    ),
    id_length=64,
    id_pattern=_WORD,
    name_pattern=re.compile(r"[a-zA-Z0-9_-]{1,128}"),
    makers=frozenset({"anthropic"}),
    media=MediaLimits(size=5_000_000, crowded=20, crowded_side=2_000),
)
GEMINI = Profile(
    name="gemini",
    rules=_known(
        quoted=f"{_ALL} results-split result-not-first call-not-after-user tool-name-illegal result-name-missing"
        " arguments-not-object signature-required thinking-foreign thinking-altered",
        hearsay=f"{_RUMOURS} first-not-user blank-text",
    ),
    name_pattern=re.compile(r"[a-zA-Z_][a-zA-Z0-9_.:-]{0,63}"),
    makers=frozenset({"google"}),
    media=MediaLimits(types=frozenset({"image/png", "image/jpeg", "image/webp", "image/heic", "image/heif"})),
)
MISTRAL = Profile(
    name="mistral",
    rules=_known(
        verified=f"{_ALL} {_IDS} call-id-length call-id-charset tool-name-illegal system-after-answer last-not-user"
        " call-first",
        quoted="blank-answer thinking-beside",
        hearsay=f"{_RUMOURS} user-after-result arguments-not-object",
    ),
    id_length=9,
    id_exact=True,
    id_pattern=re.compile(r"[a-zA-Z0-9]+"),
    makers=frozenset({"mistral"}),
)
BEDROCK = Profile(
    name="bedrock",
    rules=_known(
        quoted=f"{_ALL} {_IDS} {_BLOCKS} {_THINKING} consecutive-roles first-not-user last-not-user late-system"
        " blank-text blank-block tools-not-declared arguments-not-object",
        verified="call-id-length call-id-charset tool-name-illegal",
        hearsay=f"{_RUMOURS} reused-call-id blank-result",
    ),
    id_length=64,
    id_pattern=_WORD,
    makers=frozenset({"anthropic", "bedrock"}),
    media=MediaLimits(size=3_750_000),
)
DEEPSEEK = Profile(
    name="deepseek",
    rules=_known(
        verified=f"{_ALL} {_IDS} results-split result-not-first field-missing empty-calls thinking-required"
        " server-call-foreign developer-role",
        quoted="consecutive-roles",
        hearsay=f"{_RUMOURS} arguments-not-object tool-name-illegal",
    ),
    in_items=frozenset({"reused-call-id"}),
    makers=frozenset({"deepseek"}),
)
COHERE = Profile(
    name="cohere",
    rules=_known(
        verified=f"{_ALL} {_IDS} reused-call-id arguments-not-object",
        hearsay=f"{_RUMOURS} tool-name-illegal blank-answer",
    ),
    makers=frozenset({"cohere"}),
)
OPENAI_COMPATIBLE = Profile(
    name="openai-compatible",
    rules=_known(
        verified=f"{_ALL} {_IDS} reused-call-id consecutive-roles first-not-user last-not-user late-system"
        " several-systems user-after-result arguments-not-object null-content empty-calls",
        quoted="blank-answer blank-text blank-result call-id-length tool-name-illegal",
        hearsay=f"{_RUMOURS} developer-role",
    ),
    id_length=40,
    calls=128,
)

SERIALISER_ONLY = frozenset(
    {
        "null-content",  # beside calls some hosts want null, some "" and some no content: no value pleases all
        "thinking-required",  # with thinking off nobody wants any
        "tools-not-declared",  # a question of the request, not of the conversation
        "thinking-not-first",  # the same
        "too-many-calls",  # OpenAI's own limit
    }
)
"""The rules that `any` leaves out: they are kept where a request is written, not in the conversation."""


def _strictest(profiles: tuple[Profile, ...]) -> Mapping[str, Evidence]:
    strength: tuple[Evidence, ...] = ("hearsay", "quoted", "documented", "recorded", "verified")
    known: dict[str, Evidence] = {}
    for profile in profiles:
        for rule, evidence in profile.rules.items():
            if rule not in SERIALISER_ONLY and strength.index(evidence) >= strength.index(known.get(rule, "hearsay")):
                known[rule] = evidence
    return MappingProxyType({**known, "thinking-off": "verified"})


_PROVIDERS = (
    OPENAI_CHAT,
    OPENAI_RESPONSES,
    ANTHROPIC,
    GEMINI,
    MISTRAL,
    BEDROCK,
    DEEPSEEK,
    COHERE,
    OPENAI_COMPATIBLE,
)
ANY = Profile(
    name="any",
    rules=_strictest(_PROVIDERS),
    id_length=9,
    id_exact=True,
    id_pattern=MISTRAL.id_pattern,
    name_pattern=re.compile(r"[a-zA-Z_][a-zA-Z0-9_-]{0,63}"),
    media=MediaLimits(types=MediaLimits().types & GEMINI.media.types, size=3_750_000, crowded=20, crowded_side=2_000),
)

PROFILES: Mapping[str, Profile] = MappingProxyType({profile.name: profile for profile in (*_PROVIDERS, ANY)})

PAIRS: Mapping[str, tuple[str, ...]] = MappingProxyType(
    {
        "openai-chat": ("openai-chat", "mistral", "deepseek", "cohere", "openai-compatible", "any"),
        "openai-responses": ("openai-responses", "deepseek", "any"),
        "anthropic": ("anthropic", "bedrock", "deepseek", "any"),
        "gemini": ("gemini", "any"),
        "pydantic-ai": tuple(PROFILES),
    }
)
"""The profiles that a document of each format can be sent to; the first is its own provider's."""


def find_profile(name: str, format: str) -> Profile:  # noqa: A002 - the word of the glossary
    """Return the profile; raises `UsageError` if there is none, or if it cannot be sent documents of that format."""
    allowed = PAIRS[format]
    if name not in allowed:
        is_there = "takes no such documents" if name in PROFILES else "is unknown"
        raise UsageError(
            f"Profile {name!r} {is_there}, one of {', '.join(allowed)} was expected for the format {format}. Name one."
        )
    return PROFILES[name]

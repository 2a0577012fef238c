"""What each provider enforces, as data: rules, evidence, limits, and accepted formats.

A rule that is known only from other programs or from memory (`hearsay`) warns and is not a violation. The rules
themselves are in `holdfast.history.rules`.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from types import MappingProxyType
from typing import TypedDict

import msgspec

from holdfast.errors import UsageError
from holdfast.history.fields import ANTHROPIC_FIELDS as _ANTHROPIC_FIELDS
from holdfast.history.fields import COMPATIBLE, COMPATIBLE_THINKING, EVERYWHERE, RESPONSES_COMPATIBLE
from holdfast.history.fields import GEMINI_FIELDS as _GEMINI_FIELDS
from holdfast.history.fields import MISTRAL_FIELDS as _MISTRAL_FIELDS
from holdfast.history.fields import OPENAI_CHAT_FIELDS as _CHAT_FIELDS
from holdfast.history.fields import OPENAI_RESPONSES_FIELDS as _RESPONSES_FIELDS
from holdfast.history.rules.profile import (
    CALL_FIELDS,
    LEGACY,
    OPENAIS_OWN,
    UNKNOWN_TO_MISTRAL,
    MediaLimits,
    Profile,
    RuleEvidence,
    TextLimits,
    unknown_kinds,
    unknown_to_any,
)
from holdfast.history.shape import GEMINI_FILE

_OF_THE_FORMAT = "field-mistyped"
"""The rule that every provider enforces: the format itself does not allow such fields."""


def _known(
    *,
    verified: str = "",
    recorded: str = "",
    documented: str = "",
    quoted: str = "",
    inherent: str = "",
    hearsay: str = "",
) -> Mapping[str, RuleEvidence]:
    by_evidence: dict[RuleEvidence, str] = {
        "verified": verified,
        "recorded": recorded,
        "documented": documented,
        "quoted": quoted,
        "inherent": f"{inherent} {_OF_THE_FORMAT}",
        "hearsay": hearsay,
    }
    return MappingProxyType({rule: evidence for evidence, rules in by_evidence.items() for rule in rules.split()})


_PAIRING = "call-without-result result-without-call duplicate-result result-not-adjacent"
_IDS = "duplicate-call-id call-id-missing result-id-missing"
_RUMOURS = "tool-not-declared media-too-large nul"
_WORD = re.compile(r"[a-zA-Z0-9_-]+")
_ANY_NAME = re.compile(r".+", re.DOTALL)


# Rules that Claude enforces wherever it runs, so they apply to Bedrock too.
_CLAUDE = """
unknown-role late-system last-not-user block-misplaced arguments-not-object media-invalid server-call-without-result
server-result-without-call thinking-unsigned thinking-foreign thinking-altered thinking-not-first thinking-forbidden
thinking-last pdf-unreadable pdf-too-large server-call-id error-result-not-text error-result-empty
"""

_CLAUDES_PAGES = "citations-mixed server-tool-unknown text-beside-program"
"""Rules of Anthropic's pages on citations and search results, on its own tools, and on programmatic tool calling."""


class _Pdf(TypedDict):
    pdf: int
    pages: int
    encrypted: bool


_CLAUDES_PDF: _Pdf = {"pdf": 25_000_000, "pages": 100, "encrypted": False}
"""A request may have 32 MB, including a third for base64; "no passwords/encryption" is documented."""

_OPENAI_TEXTS = TextLimits(text=10_485_760, arguments=1_048_576)
"""The texts: Shopify/roast#52, VectorlyApp/bluebox#31. The arguments, in Responses: inspect_ai#4682."""

_OPENAI_MEDIA = MediaLimits(most=500, total=36_000_000)  # 500, and 50 MB a request

OPENAI_CHAT = Profile(
    name="openai-chat",
    rules=_known(
        recorded="foreign-content",
        quoted=f"no-messages unknown-role empty-content {_PAIRING} duplicate-call-id result-id-missing call-id-length"
        " tool-name-illegal empty-calls too-many-calls arguments-type media-invalid lone-surrogate unknown-field"
        " media-unseen text-too-long result-name-missing speaker-name-illegal",
        inherent="malformed-message block-misplaced call-id-missing",
        hearsay=f"{_RUMOURS} arguments-too-long arguments-too-deep",
    ),
    id_length=40,
    makers=frozenset({"openai"}),
    calls=128,
    texts=msgspec.structs.replace(_OPENAI_TEXTS, depth=125),
    media=_OPENAI_MEDIA,
    fields=MappingProxyType({"openai-chat": _CHAT_FIELDS}),
    unknown=unknown_kinds(
        openai_chat="assistant/untyped assistant/mistyped assistant/thinking user/bare-image tool/image_url"
        " tool/bare-image tool/file user/video_url"
    ),
)
OPENAI_RESPONSES = Profile(  # it pairs calls and outputs anywhere: adjacency is not required
    name="openai-responses",
    rules=_known(
        recorded="thinking-unbound media-invalid",
        quoted="call-without-result result-without-call call-id-length tool-name-illegal empty-content lone-surrogate"
        " field-missing thinking-foreign item-without-thinking duplicate-item item-id-illegal unknown-field"
        " item-not-stored thinking-in-content text-too-long arguments-too-long",
        inherent=f"no-messages malformed-message unknown-role duplicate-result {_IDS} reused-call-id arguments-type"
        " block-misplaced foreign-content media-unseen",
        hearsay=_RUMOURS,
    ),
    id_length=64,
    makers=frozenset({"openai"}),
    texts=_OPENAI_TEXTS,
    unknown=unknown_kinds(
        openai_responses="user/text user/output_text system/text system/output_text assistant/text assistant/input_text"
        " tool/text tool/output_text assistant/compaction_summary"
    ),
    media=_OPENAI_MEDIA,
    keeps=True,
    fields=MappingProxyType({"openai-responses": _RESPONSES_FIELDS}),
)
ANTHROPIC = Profile(
    name="anthropic",
    rules=_known(
        documented=f"{_CLAUDES_PAGES} result-not-first reference-not-declared",
        quoted=f"{_CLAUDE} cache-mark-order no-messages empty-content {_PAIRING} duplicate-call-id reused-call-id"
        " call-id-missing call-id-charset blank-text blank-block first-not-user tool-name-illegal media-too-large"
        " too-much-media lone-surrogate nul too-many-cache-marks unknown-field tools-not-declared",
        inherent="malformed-message arguments-type foreign-content result-id-missing media-unseen caller-unknown",
        hearsay="call-id-length tool-not-declared consecutive-roles results-split",  # joined today, refused once
    ),
    id_length=64,
    id_pattern=_WORD,
    name_pattern=re.compile(r"[a-zA-Z0-9_-]{1,128}"),
    makers=frozenset({"anthropic"}),
    joins=True,
    marks=4,
    fields=MappingProxyType({"anthropic": _ANTHROPIC_FIELDS}),
    unknown=unknown_kinds(anthropic=CALL_FIELDS),
    media=MediaLimits(  # 100; and 32 MB a request, documented
        size=5_000_000, crowded=20, crowded_side=2_000, most=100, count=100, total=22_000_000, **_CLAUDES_PDF
    ),
)
GEMINI = Profile(
    name="gemini",
    rules=_known(
        documented="signature-required",
        quoted=f"{_PAIRING} results-split call-not-after-user empty-content result-name-missing tool-name-illegal"
        " thinking-foreign thinking-altered unknown-role media-invalid unknown-field pdf-unreadable second-kind",
        inherent="no-messages malformed-message lone-surrogate block-misplaced arguments-type arguments-not-object"
        " foreign-content result-name-wrong media-unseen",
        hearsay=f"{_RUMOURS} result-not-first result-not-alone first-not-user blank-text",
    ),
    fields=MappingProxyType({"gemini": _GEMINI_FIELDS}),
    name_pattern=re.compile(r"[a-zA-Z_][a-zA-Z0-9_.:-]{0,63}"),
    makers=frozenset({"google"}),
    media=MediaLimits(  # 3,000, documented; and 20 MB a request
        types=frozenset({"image/png", "image/jpeg", "image/webp", "image/heic", "image/heif"}),
        most=3_000,
        pdf=52_428_800,
    ),
)
MISTRAL = Profile(
    name="mistral",
    rules=_known(
        verified=f"no-messages malformed-message unknown-role developer-role {_PAIRING} {_IDS} call-id-length"
        " call-id-charset tool-name-illegal arguments-type empty-content foreign-content system-after-answer"
        " last-not-user call-first result-name-missing result-name-wrong",
        quoted="blank-answer thinking-beside user-after-result unknown-field",  # 2025-05 to 2026-06: invariants.md
        inherent="lone-surrogate block-misplaced media-unseen",
        hearsay=f"{_RUMOURS} media-invalid",
    ),
    id_length=9,
    id_exact=True,
    id_pattern=re.compile(r"[a-zA-Z0-9]+"),
    makers=frozenset({"mistral"}),
    fields=MappingProxyType({"openai-chat": _MISTRAL_FIELDS}),
    media=MediaLimits(most=8),
    unknown=unknown_kinds(openai_chat=UNKNOWN_TO_MISTRAL),
)
MISTRAL_TEMPLATES = Profile(  # Mistral's models with chat templates, as vLLM and llama.cpp run them; they read thinking
    name="mistral-templates",
    rules=_known(
        verified="consecutive-roles first-not-user user-after-result late-system several-systems unknown-role"
        " developer-role call-id-missing result-id-missing call-id-length call-id-charset empty-content"
        " foreign-content last-not-user lone-surrogate arguments-not-object blank-answer",
        inherent=f"no-messages malformed-message {_PAIRING} duplicate-call-id block-misplaced arguments-type"
        " tool-name-illegal result-name-missing result-name-wrong media-unseen",
        hearsay=f"{_RUMOURS} media-invalid",
    ),
    id_length=9,
    id_exact=True,
    id_pattern=MISTRAL.id_pattern,
    makers=frozenset({"mistral"}),
    unknown=unknown_kinds(
        openai_chat=f"{UNKNOWN_TO_MISTRAL} assistant/thinking"
    ),  # its older templates take texts only
)
BEDROCK = Profile(
    name="bedrock",
    rules=_known(
        verified="call-id-length call-id-charset tool-name-illegal call-id-missing result-id-missing",
        recorded="media-unseen",
        documented=f"{_CLAUDES_PAGES} cache-mark-order result-not-first reference-not-declared",
        quoted=f"{_CLAUDE} {_PAIRING} results-split duplicate-call-id consecutive-roles first-not-user blank-text"
        " blank-block empty-content tools-not-declared unknown-field",
        inherent="no-messages malformed-message lone-surrogate arguments-type foreign-content caller-unknown",
        hearsay=f"{_RUMOURS} reused-call-id blank-result",
    ),
    id_length=64,
    id_pattern=_WORD,
    makers=frozenset({"anthropic", "bedrock"}),
    fields=MappingProxyType({"anthropic": _ANTHROPIC_FIELDS}),
    unknown=unknown_kinds(anthropic=CALL_FIELDS),
    media=MediaLimits(size=3_750_000, crowded=20, crowded_side=2_000, **_CLAUDES_PDF),  # Claude's
)
DEEPSEEK = Profile(
    name="deepseek",
    rules=_known(
        verified=f"no-messages malformed-message unknown-role developer-role lone-surrogate {_PAIRING} {_IDS}"
        " results-split"
        " result-not-first call-not-last block-misplaced arguments-type empty-content empty-calls foreign-content"
        " reference-not-declared media-invalid thinking-required thinking-foreign server-call-foreign"
        " tool-name-illegal",
        quoted="consecutive-roles media-unseen",
        inherent="caller-unknown",
        hearsay="tool-not-declared media-too-large",
    ),
    in_items=frozenset({"reused-call-id"}),
    name_pattern=_ANY_NAME,
    makers=frozenset({"deepseek"}),
    unknown=unknown_kinds(
        openai_chat=f"{LEGACY} user/input_audio user/bare-image tool/bare-image assistant/untyped"
        " assistant/mistyped assistant/reasoning assistant/thinking",
        anthropic="user/container_upload user/search_result user/tool_addition user/tool_removal assistant/compaction"
        " assistant/fallback assistant/mcp_tool_listing tool/search_result tool/browser_state",
        openai_responses="user/text system/text assistant/text tool/text tool/output_text assistant/refusal"
        " assistant/untyped-reference assistant/tool-search-without-id",
    ),
)
COHERE = Profile(
    name="cohere",
    rules=_known(
        verified=f"malformed-message unknown-role developer-role lone-surrogate {_IDS} reused-call-id"
        " arguments-not-object arguments-type empty-content foreign-content tool-name-illegal",
        inherent=f"no-messages {_PAIRING} block-misplaced media-unseen",
        hearsay=f"{_RUMOURS} media-invalid blank-answer",
    ),
    name_pattern=_ANY_NAME,
    makers=frozenset({"cohere"}),
    unknown=unknown_kinds(openai_chat=f"{LEGACY} user/file user/input_audio assistant/thinking"),
)


OPENAI_COMPATIBLE = Profile(  # the rules of all such services, including DeepSeek, Mistral and Cohere
    name="openai-compatible",
    rules=_known(
        verified=f"no-messages malformed-message unknown-role developer-role lone-surrogate {_PAIRING} {_IDS}"
        " reused-call-id arguments-type arguments-not-object empty-content foreign-content"
        " consecutive-roles first-not-user last-not-user late-system several-systems user-after-result null-content"
        " empty-calls tool-name-illegal",
        quoted="blank-answer blank-text blank-result call-id-length too-many-calls media-invalid unknown-field"
        " media-unseen text-too-long speaker-name-illegal",
        inherent="block-misplaced",
        hearsay=f"{_RUMOURS} arguments-too-long",
    ),
    in_items=frozenset({"call-not-last"}),
    id_length=40,
    calls=128,
    texts=_OPENAI_TEXTS,
    unknown=unknown_to_any(
        (each.unknown for each in (OPENAI_CHAT, OPENAI_RESPONSES, MISTRAL, DEEPSEEK, COHERE)),
        openai_responses=OPENAIS_OWN,
    ),
    fields=MappingProxyType({"openai-chat": COMPATIBLE, "openai-responses": RESPONSES_COMPATIBLE}),
    thinking_fields=MappingProxyType({"openai-chat": COMPATIBLE_THINKING}),
)

SERIALISER_ONLY: Mapping[str, str] = MappingProxyType(
    {
        "null-content": 'next to calls, providers require null, "" or no content: no value works for all',
        "thinking-required": "with thinking off, no provider requires thinking",
        "tools-not-declared": "it depends on the request, not on the conversation",
        "thinking-not-first": "with thinking off, no provider requires thinking",
    }
)
"""The rules that `any` leaves out, each with the reason; the writer of a request obeys them."""


def _strictest(profiles: tuple[Profile, ...]) -> Mapping[str, RuleEvidence]:
    strength: tuple[RuleEvidence, ...] = ("hearsay", "inherent", "quoted", "documented", "recorded", "verified")
    known: dict[str, RuleEvidence] = {}
    for profile in profiles:
        for rule, evidence in profile.rules.items():
            if rule not in SERIALISER_ONLY and strength.index(evidence) >= strength.index(known.get(rule, "hearsay")):
                known[rule] = evidence
    return MappingProxyType({**known, "thinking-off": "quoted"})


_PROVIDERS = (
    OPENAI_CHAT,
    OPENAI_RESPONSES,
    ANTHROPIC,
    GEMINI,
    MISTRAL,
    MISTRAL_TEMPLATES,
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
    calls=128,
    marks=4,
    texts=OPENAI_CHAT.texts,
    fields=MappingProxyType(
        {
            "openai-chat": EVERYWHERE,
            "openai-responses": RESPONSES_COMPATIBLE,
            "anthropic": _ANTHROPIC_FIELDS,
            "gemini": _GEMINI_FIELDS,
        }
    ),
    unknown=unknown_to_any(each.unknown for each in _PROVIDERS),
    media=MediaLimits(
        types=MediaLimits().types & GEMINI.media.types,
        size=3_750_000,
        crowded=20,
        crowded_side=2_000,
        most=8,
        count=100,
        **_CLAUDES_PDF,
    ),
)

PROFILES: Mapping[str, Profile] = MappingProxyType({profile.name: profile for profile in (*_PROVIDERS, ANY)})

PAIRS: Mapping[str, tuple[str, ...]] = MappingProxyType(
    {
        "openai-chat": (
            "openai-chat",
            "mistral",
            "mistral-templates",
            "deepseek",
            "cohere",
            "openai-compatible",
            "any",
        ),
        "openai-responses": ("openai-responses", "deepseek", "openai-compatible", "any"),
        "anthropic": ("anthropic", "bedrock", "deepseek", "any"),
        "gemini": ("gemini", "any"),
        "pydantic-ai": tuple(PROFILES),
    }
)
"""The profiles that a document of each format can be sent to; the first is its own provider's."""


def profiles_of(format: str, default: str) -> tuple[str, ...]:  # noqa: A002 - the word of the glossary
    """Return the profiles that a document of the format can be sent to; `default` is that of the format's provider."""
    return PAIRS[format] if format in PAIRS else tuple(dict.fromkeys((default, "any")))


def find_profile(name: str | Profile, format: str, *, default: str = "any") -> Profile:  # noqa: A002 - the word of the glossary
    """Return the profile of that name, or the given profile itself.

    Raises `UsageError` if there is none of that name, or if it cannot be sent documents of that format.
    """
    if isinstance(name, Profile):
        return name
    allowed = profiles_of(format, default)
    if name not in allowed:
        what = f"Profile {name!r} does not apply to" if name in PROFILES else f"Unknown profile {name!r} for"
        raise UsageError(f"{what} the format {format} (expected one of {', '.join(allowed)}). Name one of them.")
    return PROFILES[name]


_BEFORE_GEMINI_3 = re.compile(r"gemini-[12](?:\D|$)")
_RULES_OF_LATER_MODELS: Mapping[str, re.Pattern[str]] = MappingProxyType(
    {
        "signature-required": _BEFORE_GEMINI_3,  # calls are signed from Gemini 3 on
        "last-not-user": re.compile(  # prefill is refused from Claude 4.6 on
            r"claude-(?:instant|v?[123](?:\D|$)|(?:opus|sonnet|haiku)-4(?:-[0-5](?:\D|$)|-20\d{6}|@|$))"
        ),
    }
)
"""Rules that came with a later model, with the names of those that do not have them."""


def profile_of_model(profile: Profile, model: str | None) -> Profile:
    """Return the profile as this model has it: without rules of later ones. Before Gemini 3, results have no files."""
    if model is None:
        return profile
    free = {rule for rule, earlier in _RULES_OF_LATER_MODELS.items() if rule in profile.rules and earlier.search(model)}
    if not free:
        return profile
    rules = {name: evidence for name, evidence in profile.rules.items() if name not in free}
    unknown = dict(profile.unknown)
    if _BEFORE_GEMINI_3.search(model):
        unknown["gemini"] = profile.unknown.get("gemini", frozenset()) | {GEMINI_FILE}
    return msgspec.structs.replace(profile, rules=MappingProxyType(rules), unknown=MappingProxyType(unknown))

"""What models accept, for the table of models: pydantic-ai's profiles, as rules on names.

A profile is a function of a name that looks at prefixes. Each prefix in its source is asked once alone and once with an
ending; a longer prefix goes before a shorter one, and rules that change nothing are left out.
"""

from __future__ import annotations

import ast
import functools
import importlib.util
import itertools
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import cast

from pydantic_ai.profiles import ModelProfile
from pydantic_ai.profiles.google import GOOGLE_THINKING_LEVELS
from pydantic_ai.profiles.grok import grok_model_profile
from pydantic_ai.profiles.groq import groq_model_profile
from pydantic_ai.profiles.mistral import mistral_model_profile
from pydantic_ai.providers.anthropic import AnthropicProvider
from pydantic_ai.providers.azure import AzureProvider
from pydantic_ai.providers.deepseek import DeepSeekProvider
from pydantic_ai.providers.google import GoogleProvider
from pydantic_ai.providers.openai import OpenAIProvider
from pydantic_ai.providers.openrouter import OpenRouterProvider

from holdfast.providers.model_table import FamilyRule, NamePattern, Reasoning, Temperature, Traits

NO_BUDGETS_BEFORE = ("claude-2", "claude-3-haiku", "claude-3-opus", "claude-3-sonnet", "claude-3-5", "claude-instant")
"""Claudes that do not reason, though pydantic-ai's profile does not say so: thinking came with Claude 3.7."""

_NAME = re.compile(r"~?[a-z][\w.@/:-]*[\w.@:-]")
_ENDING = "+"
"""What no name ends with: a rule that holds with it holds for every name of that prefix."""


def anthropic_traits(name: str) -> Traits:
    """Return what pydantic-ai says of a Claude."""
    profile: Mapping[str, object] = AnthropicProvider.model_profile(name) or {}
    most = profile.get("anthropic_max_output_tokens")
    most = most if isinstance(most, int) else None
    old = bool(profile.get("anthropic_rejects_max_tokens_beyond_context_window"))
    levels = ("low", "medium", "high") if profile.get("anthropic_supports_effort") else ()
    levels += ("xhigh",) if levels and profile.get("anthropic_supports_xhigh_effort") else ()
    levels += ("max",) if levels and profile.get("anthropic_supports_max_effort", True) else ()
    between = profile.get("anthropic_disables_thinking_with_between_tools")
    reasoning = Reasoning(
        kind="adaptive" if profile.get("anthropic_supports_adaptive_thinking") else "budget",
        levels=levels,
        off="" if profile.get("thinking_always_enabled") else "between_tools" if between else "disabled",
        by_default=bool(profile.get("thinking_enabled_by_default")),
    )
    return Traits(
        reasoning=Reasoning() if name.startswith(NO_BUDGETS_BEFORE) else reasoning,
        max_tokens=4096 if old else most or 16384,
        max_output=most,
        temperature="refused" if profile.get("anthropic_disallows_sampling_settings") else "any",
    )


def openai_traits(name: str) -> Traits:
    """Return what pydantic-ai says of a model of OpenAI in its Responses API."""
    return _openai(OpenAIProvider.model_profile(name) or {}, "openai_responses_supports_max_reasoning_effort")


def openai_chat_traits(name: str) -> Traits:
    """Return what pydantic-ai says of a model of OpenAI in Chat Completions."""
    return _openai(OpenAIProvider.model_profile(name) or {}, "openai_chat_supports_max_reasoning_effort")


def azure_traits(name: str) -> Traits:
    """Return what pydantic-ai says of a model at Azure."""
    return _openai(AzureProvider.model_profile(name) or {}, "openai_responses_supports_max_reasoning_effort")


def deepseek_traits(name: str) -> Traits:
    """Return what pydantic-ai says of a model of DeepSeek, whose levels are its own."""
    profile: Mapping[str, object] = DeepSeekProvider.model_profile(name) or {}
    if not profile.get("supports_thinking"):
        return Traits()
    if profile.get("thinking_always_enabled"):
        return Traits(reasoning=Reasoning(kind="always", by_default=True))
    default = bool(profile.get("thinking_enabled_by_default"))
    return Traits(reasoning=Reasoning(kind="effort", levels=("low", "high", "max"), off="none", by_default=default))


def _openai(profile: ModelProfile, most: str) -> Traits:
    fields: Mapping[str, object] = profile
    if not fields.get("supports_thinking"):
        return Traits()
    if "openai_supports_reasoning" not in fields:  # another vendor's model
        return Traits(reasoning=Reasoning(kind="effort", levels=("low", "medium", "high"), checked=False))
    pinned = _texts(fields.get("openai_reasoning_efforts"))
    levels = pinned or {"low", "medium", "high", "xhigh", "max"}
    if not pinned and fields.get("openai_supports_minimal_reasoning_effort"):
        levels.add("minimal")
    if not fields.get(most):
        levels.discard("max")
    off = "none" if fields.get("openai_supports_reasoning_effort_none") else ""
    temperature: Temperature = "while-not-reasoning" if off else "refused"
    return Traits(
        reasoning=Reasoning(
            kind="effort",
            levels=_ordered(levels),
            off=off,
            checked=bool(pinned),
            by_default=bool(fields.get("thinking_enabled_by_default")),
        ),
        temperature=temperature,
        sealed_reasoning=bool(fields.get("openai_supports_encrypted_reasoning_content")),
        all_turns=bool(fields.get("openai_responses_supports_reasoning_context")),
    )


def _texts(value: object) -> set[str]:
    """Return the texts of a frozen set, none of anything else."""
    return {str(each) for each in cast("frozenset[object]", value)} if isinstance(value, frozenset) else set()


def _ordered(levels: set[str]) -> tuple[str, ...]:
    return tuple(each for each in ("minimal", "low", "medium", "high", "xhigh", "max") if each in levels)


def google_traits(name: str) -> Traits:
    """Return what pydantic-ai says of a model of Google."""
    profile: Mapping[str, object] = GoogleProvider.model_profile(name) or {}
    if not profile.get("supports_thinking"):
        return Traits()
    if not profile.get("google_supports_thinking_level"):
        return Traits(reasoning=Reasoning(kind="budget", off="" if profile.get("thinking_always_enabled") else "0"))
    pinned = _texts(profile.get("google_thinking_levels"))
    named = _ordered({each.lower() for each in pinned or GOOGLE_THINKING_LEVELS})
    return Traits(reasoning=Reasoning(kind="level", levels=named, checked=bool(pinned), by_default=True))


def mistral_traits(name: str) -> Traits:
    """Return what pydantic-ai says of a model of Mistral."""
    if name in adjustable_mistrals():
        return Traits(reasoning=Reasoning(kind="effort", levels=("high",), off="none"))
    always = mistral_model_profile(name).get("thinking_always_enabled")
    return Traits(reasoning=Reasoning(kind="always", by_default=True)) if always else Traits()


@functools.cache
def adjustable_mistrals() -> frozenset[str]:
    """Return the models of Mistral with an effort, from the source: their module needs Mistral's SDK."""
    for node in ast.walk(ast.parse(_source("pydantic_ai.providers.mistral"))):
        if isinstance(node, ast.Assign) and ast.unparse(node.targets[0]) == "_ADJUSTABLE_REASONING_MODELS":
            texts = (each.value for each in ast.walk(node) if isinstance(each, ast.Constant))
            return frozenset(each for each in texts if isinstance(each, str))
    raise LookupError("pydantic-ai has no _ADJUSTABLE_REASONING_MODELS any more.")


def groq_traits(name: str) -> Traits:
    """Return what pydantic-ai says of a model at Groq."""
    profile: Mapping[str, object] = groq_model_profile(name.lower())
    if not profile.get("supports_thinking"):
        return Traits()
    if profile.get("groq_supports_graded_reasoning_effort"):
        return Traits(reasoning=Reasoning(kind="effort", levels=("low", "medium", "high"), by_default=True))
    if profile.get("groq_supports_reasoning_disable"):
        return Traits(reasoning=Reasoning(kind="effort", levels=("default",), off="none", by_default=True))
    return Traits(reasoning=Reasoning(kind="always", by_default=True))


def xai_traits(name: str) -> Traits:
    """Return what pydantic-ai says of a Grok."""
    profile: Mapping[str, object] = grok_model_profile(name) or {}
    efforts = _texts(profile.get("grok_reasoning_efforts"))
    off = "none" if "none" in efforts else ""
    return Traits(reasoning=Reasoning(kind="effort", levels=_ordered(efforts), off=off)) if efforts else Traits()


def openrouter_traits(name: str) -> Traits:
    """Return what pydantic-ai says of a model at OpenRouter, which takes an effort for every model."""
    profile: Mapping[str, object] = OpenRouterProvider.model_profile(name) or {} if "/" in name else {}
    off = "" if profile.get("thinking_always_enabled") else "none"
    return Traits(reasoning=Reasoning(kind="effort", levels=("low", "medium", "high"), off=off, checked=False))


FAMILIES: Mapping[str, tuple[Callable[[str], Traits], tuple[str, ...]]] = {
    "openai": (openai_traits, ("profiles.openai", "providers.openai")),
    "openai-chat": (openai_chat_traits, ("profiles.openai", "providers.openai")),
    "anthropic": (anthropic_traits, ("profiles.anthropic", "providers.anthropic")),
    "google": (google_traits, ("profiles.google",)),
    "mistral": (mistral_traits, ("profiles.mistral", "providers.mistral")),
    "deepseek": (deepseek_traits, ("profiles.deepseek", "providers.deepseek")),
    "groq": (groq_traits, ("profiles.groq",)),
    "xai": (xai_traits, ("profiles.grok",)),
    "azure": (azure_traits, ("profiles.openai", "profiles.deepseek", "profiles.grok", "providers.azure")),
    "openrouter": (openrouter_traits, ()),
}
"""What is said of a family, and the modules that have its prefixes."""


def family_rules(family: str) -> list[FamilyRule]:
    """Return the rules that say of every name what the function of the family says."""
    traits_of, modules = FAMILIES[family]
    atoms = openrouter_prefixes() if family == "openrouter" else prefixes(modules)
    atoms += NO_BUDGETS_BEFORE if family == "anthropic" else ()
    rules = [
        (NamePattern(equals=each), traits_of(each)) for each in atoms if traits_of(each) != traits_of(each + _ENDING)
    ]
    rules += _rules_of_gemini() if family == "google" else ()
    for kind in ("flash", "pro") if family == "openrouter" else ():  # inside the name of a Gemini
        geminis = [each for each in atoms if each.startswith("google/")]
        for prefix, traits in _by_prefix([*geminis, "google/"], _ENDING + kind, traits_of):
            within = (NamePattern(starts_with=prefix), NamePattern(contains=kind))
            rules.append((NamePattern(all_of=within), traits))
    rules += [(NamePattern(starts_with=each), traits) for each, traits in _by_prefix([*atoms, ""], _ENDING, traits_of)]
    return [FamilyRule(name=name, traits=traits) for name, traits in rules]


def _by_prefix(atoms: Sequence[str], ending: str, traits_of: Callable[[str], Traits]) -> Iterator[tuple[str, Traits]]:
    """Yield what is said of names with each prefix, the longest first, without those that a shorter one covers."""
    longest = sorted(set(atoms), key=lambda each: (-len(each), each))
    for at, prefix in enumerate(longest):
        traits = traits_of(prefix + ending)
        shorter = next((each for each in longest[at + 1 :] if prefix.startswith(each)), None)
        if shorter is None or traits_of(shorter + ending) != traits:
            yield prefix, traits


def _rules_of_gemini() -> Iterator[tuple[NamePattern, Traits]]:
    """Yield rules on what the profile of a Gemini looks for inside a name, wherever it is; the first counts."""
    for part in ("gemma", "gemini-2.5-flash-image", "gemini-1"):
        yield NamePattern(contains=part), google_traits(part + _ENDING)
    for kind in ("flash", "pro"):
        within = (NamePattern(contains="gemini-2.5"), NamePattern(contains=kind))
        yield NamePattern(all_of=within), google_traits(f"gemini-2.5{_ENDING}{kind}")
    for part in ("gemini-2.5", "gemini-2."):
        yield NamePattern(contains=part), google_traits(part + _ENDING)


def prefixes(modules: Sequence[str]) -> list[str]:
    """Return every text in the source of these modules of pydantic-ai that could be a name or begin one."""
    found: set[str] = set()
    for module in modules:
        for node in ast.walk(ast.parse(_source(f"pydantic_ai.{module}"))):
            if isinstance(node, ast.Constant) and isinstance(node.value, str) and _NAME.fullmatch(node.value):
                found.add(node.value)
    return sorted(found)


def openrouter_prefixes() -> list[str]:
    """Return the names at OpenRouter that its own list of prefixes or the profile of a vendor could treat apart."""
    text = _source("pydantic_ai.providers.openrouter")
    lists = [node.value for node in ast.walk(ast.parse(text)) if isinstance(node, ast.AnnAssign)]
    pairs = itertools.chain.from_iterable(
        zip(each.keys, each.values, strict=True) for each in lists if isinstance(each, ast.Dict)
    )
    found = {
        f"{key.value}/{name.value}"
        for key, value in pairs
        if isinstance(key, ast.Constant)
        for name in ast.walk(value)
        if isinstance(name, ast.Constant)
    }
    vendors = {
        "anthropic": "anthropic",
        "openai": "openai",
        "google": "google",
        "mistralai": "mistral",
        "x-ai": "grok",
        "deepseek": "deepseek",
        "moonshotai": "moonshotai",
        "qwen": "qwen",
    }
    for vendor, module in vendors.items():
        found |= {f"{vendor}/{each}" for each in prefixes([f"profiles.{module}"])}
    dotted = {re.sub(r"(\d)-(\d)", r"\1.\2", each) for each in found if each.startswith("anthropic/")}
    return sorted(found | dotted)


def _source(module: str) -> str:
    found = importlib.util.find_spec(module)
    if found is None or found.origin is None:
        raise LookupError(f"{module} is not installed.")
    return Path(found.origin).read_text("utf-8")

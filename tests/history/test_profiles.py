"""Rules and profiles name each other, and what they say can be read."""

from __future__ import annotations

import re

import pytest

from holdfast.errors import UsageError
from holdfast.history import repair
from holdfast.history.profiles import ANY, PAIRS, PROFILES, SERIALISER_ONLY, find_profile
from holdfast.history.repair import NOT_REPAIRABLE
from holdfast.history.rules import RULES
from holdfast.history.rules.profile import Profile
from holdfast.history.shape import Grammar

FLAT = Grammar(results="own")


def test_profiles_enforce_rules_that_there_are() -> None:
    named = {rule for profile in PROFILES.values() for rule in (*profile.rules, *profile.in_items)}
    assert named - RULES.keys() == set()
    assert RULES.keys() - named == set(), "a rule that no profile knows"


def test_words_are_said_by_profiles_that_there_are() -> None:
    speakers = {by.partition("/")[0] for rule in RULES.values() for by in rule.errors}
    assert speakers <= PROFILES.keys() - {"any"}


def test_words_are_the_providers_own_or_it_is_said_whose_they_are() -> None:
    rule = RULES["call-without-result"]
    assert rule.refusal("deepseek", "anthropic")[0] == "deepseek/anthropic"
    assert rule.refusal("deepseek", "openai-chat")[0] == "deepseek"
    assert rule.refusal("openai-compatible", "openai-chat")[0] == "openai-compatible/Moonshot"
    assert rule.refusal("cohere", "openai-chat")[0] == "openai-chat"
    assert rule.refusal("any", "anthropic")[0] == "anthropic"
    assert RULES["tool-not-declared"].refusal("anthropic", "anthropic") == ("", "")


QUOTED_OF_ANOTHER = {
    ("openai-responses", "tool-name-illegal"): "the same company",
    ("openai-compatible", "too-many-calls"): "Azure answers in OpenAI's words",
    ("openai-compatible", "call-id-length"): "Azure answers in OpenAI's words",
    ("openai-compatible", "speaker-name-illegal"): "Azure answers in OpenAI's words",
    ("openai-compatible", "media-invalid"): "Azure answers in OpenAI's words",
}


PAGES_WITHOUT_WORDS = {"citations-mixed", "server-tool-unknown", "text-beside-program"}
"""What a page or a type of the vendor says, but not with which words a request is refused."""


def test_a_rule_that_is_quoted_has_its_quotation() -> None:
    for profile in PROFILES.values():
        if profile is ANY:
            continue
        for rule, evidence in profile.rules.items():
            providers = {by.partition("/")[0] for by in RULES[rule].errors}
            claude = profile.name == "bedrock" and "anthropic" in providers  # which answers in its own words there
            if evidence == "documented" and rule in PAGES_WITHOUT_WORDS:
                assert not RULES[rule].errors
            elif evidence in ("quoted", "recorded", "documented") and not claude:
                assert profile.name in providers or (profile.name, rule) in QUOTED_OF_ANOTHER, (profile.name, rule)


REFUSED_ONCE = {("anthropic", "consecutive-roles"), ("anthropic", "results-split")}


def test_hearsay_has_no_quotation() -> None:
    for profile in PROFILES.values():
        for rule, evidence in profile.rules.items():
            if evidence in ("hearsay", "inherent"):
                providers = {by.partition("/")[0] for by in RULES[rule].errors}
                assert profile.name not in providers or (profile.name, rule) in REFUSED_ONCE, (profile.name, rule)


@pytest.mark.parametrize("rule", RULES.values(), ids=RULES)
def test_a_rule_is_a_name_and_a_sentence(rule: object) -> None:
    known = next(each for each in RULES.values() if each is rule)
    assert re.fullmatch("[a-z]+(-[a-z]+)+|nul", known.id)
    assert re.fullmatch(r"[A-Z].*\.", known.requirement)
    for words in known.errors.values():  # may be empty: a rule of which no refusal is known
        assert "{}" not in words.format(id="x", length=1, name="x", role="x", media="x", message=0, next=1, part=0)
        assert words.strip() == words


def test_any_enforces_what_all_enforce_but_what_a_serialiser_decides() -> None:
    each = {rule for profile in PROFILES.values() if profile is not ANY for rule in profile.enforced(FLAT)}
    assert each - ANY.enforced(FLAT) == SERIALISER_ONLY.keys() & each


def test_the_table_names_profiles_that_there_are() -> None:
    assert {profile for profiles in PAIRS.values() for profile in profiles} == set(PROFILES)
    assert all("any" in profiles for profiles in PAIRS.values())


def test_what_cannot_be_repaired_are_rules() -> None:
    assert NOT_REPAIRABLE.keys() <= RULES.keys()


@pytest.mark.parametrize(("name", "form"), [("nobody", "openai-chat"), ("gemini", "openai-chat")])
def test_a_profile_that_cannot_be_used_is_refused(name: str, form: str) -> None:
    with pytest.raises(UsageError, match=name):
        find_profile(name, form)


def test_a_caller_may_bring_its_own_profile() -> None:
    profile = Profile(name="own", rules={"blank-text": "inherent"})
    blank, filled = ({"part_kind": "text", "content": text} for text in (" ", "yes"))
    repaired = repair([{"kind": "response", "parts": [blank, filled]}], format="pydantic-ai", profile=profile)
    assert repaired.messages == [{"kind": "response", "parts": [filled]}]
    assert len(repaired.edits) == 1
    assert repaired.remaining == ()

"""The document on what providers accept says what the rules and the profiles say.

Two rules. What is between two comments of the document is written from the data; everything else is prose. To
update it: `python tests/contract/test_invariants.py`.
"""

from __future__ import annotations

import json
import re
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import get_args

import pytest
from source_tree import expect_none, read

from holdfast.history import check, repair
from holdfast.history.profiles import ANY, PAIRS, PROFILES, SERIALISER_ONLY
from holdfast.history.repair import NOT_REPAIRABLE
from holdfast.history.rules import RULES, Rule
from holdfast.history.rules.profile import Profile, RuleEvidence
from holdfast.history.shape import Grammar

DOCUMENT = "docs/reference/invariants.md"
EVIDENCE: tuple[RuleEvidence, ...] = get_args(RuleEvidence)
FACTS = dict.fromkeys(("id", "name", "role", "media"), "…") | dict.fromkeys(("message", "next", "part", "length"), "N")
PART = re.compile(r"(?<=<!-- data: )(?P<name>\S+)(?P<head> -->\n).*?(?=<!-- end -->)", re.DOTALL)


# --- what is written from the data -----------------------------------------------------------------------------------


def of_rule(rule: Rule) -> Iterator[str]:
    """Yield the lines on a rule: what it demands, who enforces it and how that is known, and the words of refusals."""
    yield rule.requirement
    yield ""
    yield "| known | for |"
    yield "|---|---|"
    for evidence in EVIDENCE:
        known = [_titled(name) for name, profile in PROFILES.items() if _is_own(rule, profile, evidence)]
        if known:
            yield f"| {evidence}{', only warns' if evidence == 'hearsay' else ''} | {', '.join(known)} |"
    for name, profile in PROFILES.items():
        if rule.id in profile.in_items:
            yield f"| verified, in `openai-responses` | {_titled(name)} |"
    by_words: dict[str, list[str]] = {}
    for speaker, words in rule.errors.items():
        by_words.setdefault(words.format(**FACTS), []).append(speaker.replace("/", ", "))
    if by_words:
        yield ""
        yield "```text"
        for words, speakers in by_words.items():
            yield f"{'; '.join(speakers)}:"
            yield f"    {words}"
        yield "```"


def of_profile(profile: Profile) -> Iterator[str]:
    """Yield the lines on a provider: its rules by the way they are known, and its limits."""
    yield "| known | rules |"
    yield "|---|---|"
    for evidence in EVIDENCE:
        known = [_linked(rule) for rule in RULES if profile.rules.get(rule) == evidence]
        if known:
            yield f"| {evidence} | {', '.join(known)} |"
    if profile.in_items:
        yield f"| verified, in `openai-responses` | {', '.join(map(_linked, sorted(profile.in_items)))} |"
    yield ""
    yield "| limit | |"
    yield "|---|---|"
    yield from (f"| {what} | {limit} |" for what, limit in _limits(profile))


def _limits(profile: Profile) -> Iterator[tuple[str, str]]:
    if profile.id_length is not None or profile.id_pattern is not None:
        length = f"{'exactly' if profile.id_exact else 'at most'} {profile.id_length} characters"
        yield "call id", length + (f" of `{profile.id_pattern.pattern}`" if profile.id_pattern else "")
    if "tool-name-illegal" in profile.rules:
        yield "tool name", f"`{profile.name_pattern.pattern}`"
    if profile.calls is not None:
        yield "calls in a response", str(profile.calls)
    if profile.marks is not None:
        yield "cache markers", str(profile.marks)
    yield from _text_limits(profile)
    for form, words in profile.unknown.items():
        yield f"not known of `{form}`", ", ".join(f"`{word}`" for word in sorted(words))
    media = profile.media
    if "media-invalid" in profile.rules:
        yield "images", ", ".join(sorted(kind.removeprefix("image/") for kind in media.types))
    hearsay = ", by hearsay" if profile.rules.get("media-too-large") == "hearsay" else ""
    yield f"an image{hearsay}", f"{media.size / 1_000_000:g} MB, {media.side} pixels a side"
    if media.crowded_side != media.side:
        yield f"an image among more than {media.crowded}", f"{media.crowded_side} pixels a side"
    if media.pages is not None and media.pdf is not None:
        yield "a PDF", f"{media.pages} pages, {media.pdf / 1_000_000:g} MB"


def _text_limits(profile: Profile) -> Iterator[tuple[str, str]]:
    for rule, what, limit in (
        ("text-too-long", "a text", profile.texts.text),
        ("arguments-too-long", "arguments", profile.texts.arguments),
        ("arguments-too-deep", "arguments, nested", profile.texts.depth),
    ):
        if rule in profile.rules:
            hearsay = ", by hearsay" if profile.rules[rule] == "hearsay" else ""
            yield f"{what}{hearsay}", f"{limit:,} {'levels' if rule == 'arguments-too-deep' else 'characters'}"


def of_pairs() -> Iterator[str]:
    """Yield the table of the profiles that a document of each format can be checked for."""
    yield "| format | profiles; the first is its own |"
    yield "|---|---|"
    for form, profiles in PAIRS.items():
        yield f"| `{form}` | {', '.join(map(_titled, profiles))} |"


def of_reasons(rules: dict[str, str]) -> Iterator[str]:
    """Yield a list of rules, each with its reason."""
    yield from (f"- {_linked(rule)}: {reason}" for rule, reason in rules.items())


def updated(text: str) -> str:
    """Return the document with everything that is written from the data up to date."""
    return PART.sub(lambda found: f"{found['name']}{found['head']}{_block(found['name'])}\n", text)


def _block(name: str) -> str:
    kind, _, of = name.partition(":")
    match kind:
        case "rule":
            lines = of_rule(RULES[of])
        case "profile":
            lines = of_profile(PROFILES[of])
        case "formats":
            lines = of_pairs()
        case "serialiser-only":
            lines = of_reasons(dict(SERIALISER_ONLY))
        case _:
            lines = of_reasons(dict(NOT_REPAIRABLE))
    return "\n".join(lines)


def _is_own(rule: Rule, profile: Profile, evidence: RuleEvidence) -> bool:
    """Return whether the profile itself says so; `any` says what the others say, but for its own rules."""
    others = any(rule.id in each.rules for each in PROFILES.values() if each is not ANY)
    return profile.rules.get(rule.id) == evidence and not (profile is ANY and others)


def _titled(profile: str) -> str:
    return f"[{profile}](#{profile})"


def _linked(rule: str) -> str:
    return f"[{rule}](#{rule})"


# --- tests -----------------------------------------------------------------------------------------------------------


def headings(text: str, level: int) -> list[str]:
    """Return the headings of a level, but for what is in examples."""
    prose = re.sub(r"^```.*?^```", "", text, flags=re.MULTILINE | re.DOTALL)
    return re.findall(rf"^{'#' * level} (.*)$", prose, flags=re.MULTILINE)


def test_every_rule_has_its_heading_and_nothing_else_has_one_like_it() -> None:
    assert headings(read(DOCUMENT), 3) == list(RULES)


def test_every_provider_has_its_heading() -> None:
    assert [each for each in headings(read(DOCUMENT), 2) if each in PROFILES] == list(PROFILES)


def test_the_facts_are_those_of_the_data() -> None:
    text = read(DOCUMENT)
    assert text == updated(text), "run `python tests/contract/test_invariants.py`"


def test_every_fact_has_its_place() -> None:
    places = [found["name"] for found in PART.finditer(read(DOCUMENT))]
    expected = ["formats", *(f"profile:{name}" for name in PROFILES), "serialiser-only", "not-repairable"]
    assert sorted(places) == sorted([*expected, *(f"rule:{rule}" for rule in RULES)])


@pytest.mark.parametrize("kind", [2, 3])
def test_a_place_stands_below_its_heading(kind: int) -> None:
    text = read(DOCUMENT)
    names = PROFILES if kind == 2 else RULES
    word = "profile" if kind == 2 else "rule"
    for name in names:
        section = re.search(rf"^{'#' * kind} {name}$(.*?)(?=^#|\Z)", text, flags=re.MULTILINE | re.DOTALL)
        assert section, name
        assert f"<!-- data: {word}:{name} -->" in section[1], name


def test_every_rule_says_why_it_is_there_and_what_is_done_about_it() -> None:
    text = PART.sub("", read(DOCUMENT))
    expect_none(
        f"{rule}: {len(prose.split())} words of prose (expected at least 20)"
        for rule in RULES
        for prose in re.findall(rf"^### {rule}$(.*?)(?=^##|\Z)", text, flags=re.MULTILINE | re.DOTALL)
        if len(prose.split()) < 20
    )


def test_links_to_headings_lead_there() -> None:
    text = read(DOCUMENT)
    there = {
        re.sub(r"[^a-z0-9 -]", "", each.lower()).replace(" ", "-")
        for level in (1, 2, 3)
        for each in headings(text, level)
    }
    targets = set(re.findall(r"\]\(#([^)]*)\)", text))
    expect_none(f"#{target} leads nowhere" for target in targets if target not in there)


EXAMPLE = re.compile(r"^```json\n((?:(?!```).)*?)^```\n\nbecomes\n\n```json\n(.*?)^```", re.MULTILINE | re.DOTALL)


def test_an_example_is_repaired_as_the_document_says() -> None:
    sections = re.split(r"^### ", read(DOCUMENT), flags=re.MULTILINE)[1:]
    tried = 0
    for section in sections:
        rule = section.partition("\n")[0]
        for before, after in EXAMPLE.findall(section):
            tried += 1
            assert _messages(after) in [fixed for fixed, broken in _repaired(_messages(before)) if rule in broken], rule
    assert tried >= 4


def _messages(lines: str) -> list[object]:
    return [json.loads(line) for line in lines.splitlines()]


def _repaired(messages: list[object]) -> Iterator[tuple[list[object], set[str]]]:
    """Yield what becomes of the messages for each provider, and the rules that they break."""
    for form in ("openai-chat", "anthropic"):
        for profile in PAIRS[form]:
            broken = {each.rule for each in check(messages, format=form, profile=profile)}
            yield repair(messages, format=form, profile=profile).messages, broken


def test_every_way_of_knowing_is_explained() -> None:
    text = read(DOCUMENT)
    expect_none(f"{word} is not explained" for word in EVIDENCE if f"| **{word}** |" not in text)


def test_any_is_what_the_document_says_it_is() -> None:
    flat = Grammar(results="own")
    others = {rule for each in PROFILES.values() if each is not ANY for rule in each.enforced(flat)}
    assert ANY.enforced(flat) == others - SERIALISER_ONLY.keys() | {"thinking-off"}


if __name__ == "__main__":
    path = Path(__file__).parents[2] / DOCUMENT
    path.write_text(updated(path.read_text()))
    sys.stdout.write(f"{DOCUMENT} is written anew\n")

"""Every conversation of the corpus, made from public bug reports: its faults are reported and repaired without loss."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TypedDict

import pytest

from holdfast.history import NO_RESULT, check, repair
from holdfast.history.edits import AddResult, Fill, Insert
from holdfast.history.formats import FORMATS
from holdfast.history.formats.format import is_array, is_object
from holdfast.history.profiles import PAIRS
from holdfast.history.repairs.content import EMPTY_TEXT
from holdfast.history.shape import NO_RESPONSE, NO_USER
from json_strings import strings_in


class Case(TypedDict):
    """A file of the corpus, as far as these tests read it."""

    id: str
    provider_format: str
    messages: list[object]
    violations: list[str]
    must_preserve: list[str]
    must_not: list[str]
    context: dict[str, object]


HERE = Path(__file__).parent

pytestmark = pytest.mark.whole  # what has failed before, and cheap

# What a file calls its fault, and the rules that tell of it. None: not a fault of the conversation.
RULES: dict[str, tuple[str, ...] | None] = {
    "A_CONSECUTIVE_USER": ("consecutive-roles",),
    "A_DANGLING_TOOL_USE": ("call-without-result",),
    "A_DUP_TOOL_RESULT": ("duplicate-result",),
    "A_DUP_TOOL_USE_ID": ("duplicate-call-id",),
    "A_EMPTY_TEXT": ("blank-text", "blank-block"),
    "A_ENDS_ASSISTANT": ("last-not-user",),
    "A_FOREIGN_BLOCK": ("reference-not-declared",),
    "A_IMAGE_INVALID": ("media-invalid",),
    "A_IMAGE_TOO_WIDE": ("media-too-large",),
    "A_ORPHAN_TOOL_RESULT": ("result-without-call",),
    "A_RESULT_NOT_FIRST": ("result-not-first", "result-not-adjacent", "result-without-call"),
    "A_SERVER_TOOL_PAIR": ("server-call-without-result",),
    "A_SURROGATE": ("lone-surrogate",),
    "A_THINKING_MODIFIED": ("thinking-altered",),
    "A_UNDECLARED_TOOL": ("tool-not-declared",),
    "A_UNSIGNED_THINKING": ("thinking-unsigned",),
    "G_CALL_AFTER": ("call-not-after-user",),
    "G_COUNT": ("call-without-result", "results-split", "result-not-adjacent", "result-without-call"),
    "G_EMPTY_PARTS": ("empty-content",),
    "G_NO_SIGNATURE": ("signature-required",),
    "O_BAD_ARGS": ("arguments-not-object",),
    "O_CONSECUTIVE_USER": ("consecutive-roles",),
    "O_DANGLING": ("call-without-result", "result-not-adjacent"),
    "O_EMPTY_ASSISTANT": ("blank-answer", "empty-content"),
    "O_ID_MISTRAL": ("call-id-length",),
    "O_ID_REUSED": ("reused-call-id",),
    "O_NULL_CONTENT_WITH_CALLS": ("null-content",),
    "O_ORPHAN_TOOL": ("result-without-call", "result-not-adjacent"),
    "O_REASONING_CONTENT_MISSING": ("thinking-required",),
    "O_SYSTEM_NOT_FIRST": ("late-system",),
    "P_BAD_TOOL_NAME": ("tool-name-illegal",),
    "P_DANGLING": ("call-without-result",),
    "P_EMPTY_SIGNATURE": ("thinking-unsigned",),
    "P_ORPHAN": ("result-without-call",),
    "LOG_BAD_LINE": None,
    "LOG_DANGLING_PARENT": None,
    "LOG_FORK": None,
    "LOG_TORN_TAIL": None,
    "R_CALL_ID_LEN": ("call-id-length",),
    "R_DUP_ID": ("duplicate-item",),
    "R_EMPTY_CONTENT": ("empty-content",),
    "R_FOREIGN_ENCRYPTED": None,  # only the provider can tell whose it is
    "R_NULL_CALL_ID": ("result-id-missing",),
    "R_ORPHAN": ("result-without-call",),
    "R_REASONING_NO_FOLLOW": ("thinking-unbound",),
    "R_REASONING_NO_SUMMARY": ("field-missing",),
    "SEM_ERROR_TEXT_IN_HISTORY": None,
    "SEM_NO_TURN_CLOSE": None,
}


# What a file forbids in words for its reader, not as a string of its document, and where that is checked.
FOR_A_PERSON = {
    "drop either result": "both stand in must_preserve",
    "assert that the call was not executed": "what is made up is one of the texts that claim nothing",
    "claim the call was not executed": "what is made up is one of the texts that claim nothing",
    "execute git_sync": "the library calls no tool: tests/contract holds it to be pure",
    "execute send_email again without asking": "the library calls no tool: tests/contract holds it to be pure",
}


def _cases(folder: Path) -> list[Case]:
    cases: list[Case] = [json.loads(path.read_text()) for path in sorted(folder.glob("*.json"))]
    return [case for case in cases if case["provider_format"] in FORMATS]


BROKEN = _cases(HERE)
VALID = _cases(HERE / "valid")
EVERY_PAIR = [(case, profile) for case in BROKEN for profile in PAIRS[case["provider_format"]]]
every_pair = pytest.mark.parametrize(
    ("case", "profile"), EVERY_PAIR, ids=[f"{case['id']}-{profile}" for case, profile in EVERY_PAIR]
)


def thinking(case: Case) -> bool | None:
    return True if case.get("context", {}).get("thinking_enabled") is True else None


def signed(case: Case) -> dict[str, str] | None:
    """Return the texts that signatures were given for, where the case knows them."""
    known = case.get("context", {}).get("original_blocks")
    return {signature: str(text) for signature, text in known.items()} if is_object(known) else None


def declared_tools(case: Case) -> list[str] | None:
    declared = case.get("context", {}).get("declared_tools")
    return [str(name) for name in declared] if is_array(declared) else None


@every_pair
def test_it_is_repaired_without_losing_a_word(case: Case, profile: str) -> None:
    form = case["provider_format"]
    mended = repair(case["messages"], format=form, profile=profile, thinking=thinking(case), signed=signed(case))
    assert mended.remaining == ()
    assert check(mended.messages, format=form, profile=profile, thinking=thinking(case), signed=signed(case)) == []
    strings = list(strings_in(mended.messages))
    assert [text for text in case["must_preserve"] if not any(text in each for each in strings)] == []
    assert (
        repair(mended.messages, format=form, profile=profile, thinking=thinking(case), signed=signed(case)).edits == ()
    )


@every_pair
def test_nothing_is_claimed_that_is_not_known(case: Case, profile: str) -> None:
    mended = repair(
        case["messages"], format=case["provider_format"], profile=profile, thinking=thinking(case), signed=signed(case)
    )
    texts = {edit.text for edit in mended.edits if isinstance(edit, AddResult | Insert | Fill)}
    assert texts <= {NO_RESULT, NO_USER, NO_RESPONSE, EMPTY_TEXT, ""}


@every_pair
def test_what_must_not_be_is_not(case: Case, profile: str) -> None:
    mended = repair(
        case["messages"], format=case["provider_format"], profile=profile, thinking=thinking(case), signed=signed(case)
    )
    strings = list(strings_in(mended.messages))
    for text in case["must_not"]:  # may be empty: most cases forbid no text
        assert not any(text in each for each in strings)
        assert text in FOR_A_PERSON or any(text in each for each in strings_in(case["messages"]))


@pytest.mark.parametrize("case", BROKEN, ids=lambda case: case["id"])
def test_its_faults_are_reported(case: Case) -> None:
    form = case["provider_format"]
    tools = declared_tools(case)
    reported = {
        violation.rule
        for profile in PAIRS[form]
        for violation in check(
            case["messages"],
            format=form,
            profile=profile,
            tools=tools,
            thinking=thinking(case),
            signed=signed(case),
            hearsay=tools is not None,  # that calls have to be of declared tools is known by hearsay only
        )
    }
    for fault in case["violations"]:
        rules = RULES[fault]
        assert rules is None or reported & set(rules), fault


@pytest.mark.parametrize("case", VALID, ids=lambda case: case["id"])
def test_a_valid_one_is_left_alone(case: Case) -> None:
    form = case["provider_format"]
    assert check(case["messages"], format=form) == []
    mended = repair(case["messages"], format=form)
    assert mended.edits == ()
    assert mended.messages is case["messages"]


def test_every_fault_has_a_name_here() -> None:
    assert {fault for case in BROKEN for fault in case["violations"]} - RULES.keys() == set()

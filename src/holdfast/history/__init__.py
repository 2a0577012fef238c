"""Checks a conversation against a provider's rules, and repairs it without losing any text.

from holdfast.history import check, repair

for violation in check(messages, format="openai-chat", profile="mistral"):
    print(violation.position, violation.sentence)
repaired = repair(messages, format="openai-chat", profile="mistral").messages
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Unpack

from holdfast.errors import UsageError
from holdfast.history import repair as _repair  # first: importing it later would put the module over the function
from holdfast.history.repair_result import Repair
from holdfast.history.shape import NO_RESULT

del _repair

if TYPE_CHECKING:  # the rules and all that reads documents are imported with the first document
    from holdfast.history.edits import Edit
    from holdfast.history.repairs.known_results import Results
    from holdfast.history.request import Request
    from holdfast.history.rules import Violation
    from holdfast.history.rules.profile import Profile

__all__ = [
    "NO_RESULT",
    "Edit",
    "Repair",
    "Request",
    "Violation",
    "check",
    "find_dangling_tool_call_ids",
    "repair",
    "validate_message_invariants",
]

_MODULES = {
    "Edit": "holdfast.history.edits",
    "Request": "holdfast.history.request",
    "Violation": "holdfast.history.rules",
}


def __getattr__(name: str) -> object:
    """Return a value whose module is imported when it is asked for."""
    if name in _MODULES:
        from importlib import import_module

        return vars(import_module(_MODULES[name]))[name]
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def check(
    messages: object,
    *,
    format: str | None = None,  # noqa: A002 - the word of the glossary
    profile: str | None = None,
    hearsay: bool = False,
    **request: Unpack[Request],
) -> list[Violation]:
    """Return the violations that make the provider refuse the conversation, in order.

    `messages` is a list of messages or a whole request body, or the message objects of an SDK or a framework; without
    `format`, the format is detected. Facts about the request that it lacks are passed as
    keywords (`Request`). With `hearsay`, rules known only by hearsay are included, as warnings. Raises `DamageError`
    for a conversation of another program or format, which would be taken for damaged messages.
    """
    from holdfast.history.judged_document import violations_of

    return violations_of(messages, format, profile, request, hearsay=hearsay)


def repair(
    messages: object,
    *,
    format: str | None = None,  # noqa: A002 - the word of the glossary
    profile: str | Profile | None = None,
    frozen: int = 0,
    results: Results | None = None,
    **request: Unpack[Request],
) -> Repair:
    """Return the conversation as the provider accepts it, and the edits that make it so.

    The first `frozen` messages were sent before and are never edited. Messages that no edit touches are the same
    objects in the result. `profile` is the name of a provider or a custom profile; `request` is as in `check`, and so
    is what it raises. `results` has the texts of results that are missing in the conversation, by the id of the call,
    or returns those for a list of ids; an id that two calls have is left out. Objects of an SDK or a framework come
    back as such objects.
    """
    if frozen < 0:
        raise UsageError(f"Argument 'frozen' is {frozen} (expected the number of messages that were sent, 0 or more).")
    from holdfast.history.judged_document import repaired_document

    return repaired_document(messages, format, profile, request, frozen=frozen, results=results)


def validate_message_invariants(
    messages: object,
    *,
    format: str = "pydantic-ai",  # noqa: A002 - the word of the glossary
    profile: str | None = None,
) -> list[Violation]:
    """Return the reasons why the messages cannot be sent, as `check` does."""
    return check(messages, format=format, profile=profile)


def find_dangling_tool_call_ids(
    messages: object,
    *,
    format: str = "pydantic-ai",  # noqa: A002 - the word of the glossary
) -> list[str]:
    """Return the ids of the calls that have no result, in order; for a call without an id, its position.

    Results are paired with earlier calls by position as well as by id: a second call with the same id is not answered
    by the result of the first.
    """
    from holdfast.history.judged_document import dangling_calls

    return dangling_calls(messages, format)

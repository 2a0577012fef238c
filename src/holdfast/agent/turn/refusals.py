"""Decides what later requests leave out after a refusal that would repeat. Pure.

How it works. A provider that refuses one part of a conversation refuses every later request too: the part stays in the
history, and the session is dead. The table of refusals (`providers/refusals`) knows the words. The decision is a
`RequestsChanged`, which is journalled together with the failure and before any further request. From then on the fold
holds it, `session.request.normalize` applies it, and what was refused is not sent to that model again, also by a
process that resumes the session.

Only a change that makes another request counts: words about thinking in a request without any thinking are no reason to
send the same bytes once more. So a provider that keeps refusing costs one further request, and the turn ends.

Example: 400, "messages.1.content.0: Invalid `signature` in `thinking` block". The journal gets `request-failed` and
`requests-changed` (thinking) in one append. The next request has the same texts and calls, without thinking.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from holdfast.errors import ProviderFailed
from holdfast.history.rules.profile import Profile
from holdfast.providers.refusals import RefusalRow, find_refusal, refusal_named
from holdfast.session.conversation.conversation import Conversation
from holdfast.session.journal.entries import RequestsChanged
from holdfast.session.request.normalize import normalize
from holdfast.text import valid_unicode

LONGEST_REFUSAL_TEXT = 500
"""Characters of the provider's text to journal with a decision."""

_MCP = "mcp__"
_PLACES = tuple(
    re.compile(pattern, re.IGNORECASE)
    for pattern in (
        r"function_declarations?\[(\d{1,6})\]",
        r"\btools[./\[](\d{1,6})\b",
        r"[\"']tools[\"'], ?(\d{1,6})\b",
    )
)
"""Where a provider's text names a tool by its number; Gemini's has the number of a list of tools before it."""

_LIST_TOO_LONG = re.compile(r"'tools': array too long\. Expected an array with maximum length (\d+)")


def refusal_of(failed: ProviderFailed, sent: Conversation) -> RefusalRow | None:
    """Return the row of the table of refusals that knows why this request failed, None if none does."""
    if failed.refusal:
        return refusal_named(failed.refusal)
    message = str(failed).replace(sent.model, "")  # a model's name may contain any words
    return find_refusal((), message, failed.status)


def change_after(row: RefusalRow | None, failed: ProviderFailed, sent: Conversation) -> RequestsChanged | None:
    """Return how later requests are to differ, None if the refusal is of another kind or unknown."""
    if row is None:
        return None
    reason = valid_unicode(str(failed))[:LONGEST_REFUSAL_TEXT]
    match row.recovery:
        case "thinking" | "reasoning" | "markers" | "one_call":
            return RequestsChanged(model=sent.model, change=row.recovery, refusal=row.id, reason=reason)
        case "tools":
            tools = _refused_tools(failed, sent)
            change = RequestsChanged(model=sent.model, change="tools", refusal=row.id, reason=reason, tools=tools)
            return change if tools else None
        case "wait" | "shorten" | "no_images" | "bad_images" | "none":
            return None


def is_about_content(row: RefusalRow | None) -> bool:
    """Return whether the row is about something in the conversation, so that the same request is refused again."""
    return row is not None and row.recovery not in ("wait", "shorten", "none")


def makes_another_request(before: Conversation, after: Conversation, profile: Profile) -> bool:
    """Return whether another request would be sent after the decision."""
    was, now = normalize(before, profile), normalize(after, profile)
    return (was.messages, was.opened) != (now.messages, now.opened)


def _refused_tools(failed: ProviderFailed, sent: Conversation) -> tuple[str, ...]:
    """Return the declared tools that the provider refuses: those it names, else those of MCP servers.

    A provider names one tool in each error. If it refuses another after that, all tools of MCP servers go.
    """
    declared = tuple(tool.name for tool in sent.opened.tools) if sent.opened else ()
    foreign = tuple(name for name in declared if name.startswith(_MCP))
    again = any(each.change == "tools" and each.model == sent.model for each in sent.request_changes)
    named = tuple(name for name in declared if name in set(_named_tools(failed, declared)))
    return foreign or named if again else named or foreign


def _named_tools(failed: ProviderFailed, declared: tuple[str, ...]) -> Iterator[str]:
    text = f"{failed.param} {failed}"
    if (too_many := _LIST_TOO_LONG.search(text)) is not None:
        yield from declared[int(too_many[1]) :]
        return
    quoted = [
        name
        for name in declared
        if re.search(rf"[\"'`]{re.escape(name)}[\"'`]", text) or (name.startswith(_MCP) and name in text)
    ]
    # The name of one tool may be the beginning of another's.
    longest = [name for name in quoted if not any(name != other and name in other for other in quoted)]
    if longest:
        yield from longest
        return
    found = next((found for place in _PLACES if (found := place.search(text)) is not None), None)
    if found is not None:
        number = int(found[1])
        yield from declared[number : number + 1]

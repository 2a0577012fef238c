"""`holdfast sessions show --history`: the messages as the model reads them, one line each, with sizes and IDs."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from itertools import groupby
from typing import TextIO

import msgspec

from holdfast.errors import EXIT_DAMAGE, EXIT_OK, UsageError
from holdfast.history.profiles import PROFILES
from holdfast.history.rules.profile import Profile
from holdfast.providers.registry import Providers, profile_of
from holdfast.session.conversation.conversation import Conversation
from holdfast.session.conversation.fold import fold
from holdfast.session.conversation.outline import Outline, OutlinePart, outline
from holdfast.session.journal.store import Reading
from holdfast.session.request.normalize import normalize
from holdfast.session.request.validate import arranged, violation_sentence, violations
from holdfast.session.verify import as_sent_to
from holdfast.ui.view.columns import columns, count_noun, row, single_line, widths

_HEAD = ("#", "ROLE", "SIZE", "PARTS", "CALLS")


def show_sent(reading: Reading, *, provider: str | None, providers: Providers, as_json: bool, stdout: TextIO) -> int:
    """Print the messages as sent to the session's provider, or to another one. Return the exit code."""
    conversation = fold(record.entry for record in reading.records)
    own_profile = profile_of(conversation.model, providers)
    profile = own_profile if provider is None else _profile(provider)
    conversation = as_sent_to(profile, conversation, own_profile)
    unsettled = frozenset(call.part.id for call in conversation.open_calls)
    rows = outline(arranged(normalize(conversation, profile), profile), unsettled)
    found = [each.what for each in reading.findings] + [
        violation_sentence(each) for each in violations(conversation, profile)
    ]
    if as_json:
        print(json.dumps(_document(conversation, profile, rows, found), indent=2), file=stdout)
    else:
        for line in _lines(conversation, profile, rows, found):
            print(line, file=stdout)
    return EXIT_DAMAGE if found else EXIT_OK


def _profile(name: str) -> Profile:
    if name not in PROFILES:
        raise UsageError(f"Unknown provider {name!r} (expected one of {', '.join(PROFILES)}). Pass one of these.")
    return PROFILES[name]


def _document(
    conversation: Conversation, profile: Profile, rows: Sequence[Outline], found: Sequence[str]
) -> dict[str, object]:
    return {
        "model": conversation.model,
        "profile": profile.name,
        "system": len(conversation.system),
        "tools": _tools(conversation),
        "messages": msgspec.to_builtins(rows),
        "open_calls": _open(rows),
        "findings": found,
    }


def _lines(
    conversation: Conversation, profile: Profile, rows: Sequence[Outline], found: Sequence[str]
) -> Iterator[str]:
    yield f"{single_line(conversation.model) or 'no model'}, by the rules of {profile.name}:"
    size, tools = len(conversation.system), _tools(conversation)
    counts = (count_noun(size, "character"), count_noun(tools, "tool"), count_noun(len(rows), "message"))
    yield f"system prompt of {', '.join(counts)}"
    yield ""
    table = [_HEAD, *(_cells(each) for each in rows)]
    sizes = widths(table)
    room = columns() - sum(sizes[:3]) - 2 * (len(_HEAD) - 1)
    sizes[3] = min(sizes[3], max(10, room - min(sizes[4], room // 2)))
    sizes[4] = min(sizes[4], max(10, room - sizes[3]))
    for values in table:
        yield row((values[0].rjust(sizes[0]), values[1], values[2].rjust(sizes[2]), *values[3:]), sizes)
    yield ""
    yield f"open calls: {single_line(' '.join(_open(rows))) or 'none'}"
    yield from (f"! {single_line(each)}" for each in found)


def _cells(each: Outline) -> tuple[str, ...]:
    calls = (f"{call} (open)" if call in each.open_calls else call for call in each.calls)
    parts = ", ".join(_parts(kind, list(pieces)) for kind, pieces in groupby(each.pieces, lambda piece: piece.kind))
    return (str(each.index), each.role, f"{each.size:,}", parts, single_line(" ".join(calls)))


def _parts(kind: str, pieces: Sequence[OutlinePart]) -> str:
    size = sum(piece.size for piece in pieces)
    many = "" if kind in ("text", "thinking") else "s"
    return f"{kind} {size:,}" if len(pieces) == 1 else f"{len(pieces)} {kind}{many} {size:,}"


def _tools(conversation: Conversation) -> int:
    return len(conversation.opened.tools) if conversation.opened else 0


def _open(rows: Sequence[Outline]) -> list[str]:
    return [call for each in rows for call in each.open_calls]

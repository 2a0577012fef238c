"""A receipt in words: one line for the end of a turn, and lines with everything. Pure."""

from __future__ import annotations

from collections.abc import Iterator
from decimal import Decimal

from holdfast.agent.receipt.receipt import CommandRun, LastTests, Receipt

_LONGEST = 100  # characters of a command
_LISTED = 20  # paths, calls and requests of one kind

NOTHING = "Nothing to tell: no turn has ended yet. Send a prompt first."


def acted(found: Receipt) -> bool:
    """Return whether anything was done that a line can tell."""
    files = found.files
    return bool(found.commands or files.changed or files.by_command or files.unknown or found.denied)


def receipt_line(found: Receipt) -> str:
    """Return the receipt in one line."""
    commands, failed = len(found.commands), sum(1 for each in found.commands if each.exit)
    files = len({*found.files.changed, *found.files.by_command})
    parts = [
        _tests(found.tests) if found.tests is not None else "",
        f"{_count(commands, 'command')}{f', {failed} not with exit code 0' if failed else ''}" if commands else "",
        f"{_count(files, 'file')} changed{_lines(found)}" if files else "",
        f"{_count(len(found.files.unknown), 'call')} of unknown effect" if found.files.unknown else "",
        f"{_count(len(found.denied), 'call')} denied" if found.denied else "",
        _money(found.cost.total),
    ]
    return " · ".join(each for each in parts if each)


def receipt_details(found: Receipt) -> tuple[str, ...]:
    """Return everything that the receipt says, line by line."""
    if not found.turns:
        return (NOTHING,)
    turns = f"Turn {found.turns[0]}" + (f" to {found.turns[-1]}" if len(found.turns) > 1 else "")
    return (f"{turns}: {receipt_line(found)}", *_details(found))


def _details(found: Receipt) -> Iterator[str]:
    allowed = {each.call: each for each in found.approvals}
    for run in found.commands:
        approval = allowed.get(run.call)
        by = f"; allowed by {approval.by} {approval.what}".rstrip() if approval is not None else ""
        yield f"Command {_short(run.command)}: {_end(run)}, {run.seconds:.1f} s{by}"
    if found.tests is not None:
        yield f"Tests: {_tests(found.tests)}"
        yield from (f"  changed since: {path}" for path in found.tests.files_after[:_LISTED])
        yield from (f"  deleted test file: {path}" for path in found.tests.deleted[:_LISTED])
    for title, paths in (("Edited", found.files.changed), ("Changed by commands", found.files.by_command)):
        if paths:
            more = len(paths) - _LISTED
            yield f"{title}: {', '.join(paths[:_LISTED])}{f' and {more} more' if more > 0 else ''}"
    for title, calls in (
        ("What these calls changed is not known", found.files.unknown),
        ("Denied", found.denied),
        ("Interrupted, of unknown effect", found.unknown_effects),
        ("Background tasks that run", found.tasks_running),
    ):
        if calls:
            yield f"{title}: {', '.join(calls[:_LISTED])}"
    for each in found.requests[-_LISTED:]:
        tokens = (
            "no answer"
            if each.input_tokens is None
            else f"{each.input_tokens:,} tokens, {each.cached_tokens or 0:,} cached"
        )
        attempt = f", attempt {each.attempt}" if each.attempt > 1 else ""
        missed = f"; not cached: {each.missed}" if each.missed and each.input_tokens is not None else ""
        yield f"Request {each.step}{attempt} ({each.why}): {tokens}{missed}; {_money(each.cost) or 'cost not known'}"
    cost = found.cost
    by_cause = (
        ("model", cost.model),
        ("retries", cost.retries),
        ("compaction", cost.compaction),
        ("title", cost.title),
    )
    yield (
        "Cost: "
        + (_money(cost.total) or "not known")
        + "".join(f", {name} {_money(paid) or 'not known'}" for name, paid in by_cause if paid is None or Decimal(paid))
    )


def _tests(last: LastTests) -> str:
    facts = last.facts
    since = f", {_count(last.edits_after, 'change')} since" if last.edits_after else ""
    where = f", in {facts.elsewhere}" if facts.elsewhere else ""
    deleted = f", {_count(len(last.deleted), 'test file')} deleted" if last.deleted else ""
    if not facts.known:
        return f"? tests: exit code of {facts.runner} not known ({facts.why}){where}{since}{deleted}"
    if facts.exit:
        return f"✗ tests failed: {facts.runner}, exit code {facts.exit}{where}{since}{deleted}"
    if facts.ran == 0:
        return f"✗ no test ran: {facts.runner}{where}{since}{deleted}"
    number = f", {facts.ran:,} ran" if facts.ran is not None else "" if facts.some else ", number not known"
    mark = "✓" if facts.some and not (since or where or deleted) else "?"
    return f"{mark} tests passed: {facts.runner}{number}{where}{since}{deleted}"


def _end(run: CommandRun) -> str:
    return f"exit code {run.exit}" if run.known else "exit code not known"


def _lines(found: Receipt) -> str:
    added, removed = found.files.added, found.files.removed
    return "" if added is None or removed is None else f" (+{added:,} -{removed:,})"


def _money(amount: str | None) -> str:
    """Return an amount in dollars, "" if it is not known."""
    return "" if amount is None else f"${float(amount):.2f}"


def _short(command: str) -> str:
    line = " ".join(command.split())
    return line if len(line) <= _LONGEST else f"{line[:_LONGEST]}…"


def _count(number: int, noun: str) -> str:
    return f"{number:,} {noun}{'' if number == 1 else 's'}"

"""The conditions of `--require`, and why a receipt does not meet one. Pure. What is not known is not met."""

from __future__ import annotations

from fnmatch import fnmatchcase

from holdfast.agent.receipt.receipt import Receipt
from holdfast.errors import UsageError

CONDITIONS = (
    "tests-pass",
    "ran:CMD",
    "changed",
    "changed:GLOB",
    "unchanged:GLOB",
    "no-unknown",
    "no-denied",
    "committed",
)
"""The conditions of `--require`."""

_ALONE = ("tests-pass", "changed", "no-unknown", "no-denied", "committed")


def known_condition(text: str) -> str:
    """Return the condition; raises `UsageError` for one that does not exist."""
    name, _, rest = text.partition(":")
    if text in _ALONE or (name in ("ran", "changed", "unchanged") and rest.strip()):
        return text
    raise UsageError(f"Condition {text!r} of --require is unknown (expected one of {', '.join(CONDITIONS)}).")


def unmet(condition: str, found: Receipt, *, uncommitted: str = "") -> str:  # noqa: PLR0911 - a return for each condition
    """Return why the receipt does not meet a known condition, "" if it does.

    `uncommitted` is why it is not seen that what calls changed is committed, "" if it is: a receipt does not say that.
    """
    name, _, rest = condition.partition(":")
    paths = (*found.files.changed, *found.files.by_command)
    unseen = f"what {len(found.files.unknown)} calls changed is not known" if found.files.unknown else ""
    match name:
        case "tests-pass":
            return _tests_do_not_pass(found)
        case "ran":
            return _not_run(" ".join(rest.split()), found)
        case "changed":
            hit = any(fnmatchcase(path, rest) for path in paths) if rest else bool(paths)
            return "" if hit else f"no file{f' that matches {rest}' if rest else ''} was changed"
        case "unchanged":
            hits = [path for path in paths if fnmatchcase(path, rest)]
            return f"{hits[0]} was changed" if hits else unseen
        case "no-denied":
            return f"{len(found.denied)} calls were denied" if found.denied else ""
        case "committed":
            return unseen or uncommitted
        case _:
            return f"the effect of {len(found.unknown_effects)} calls is unknown" if found.unknown_effects else unseen


def _tests_do_not_pass(found: Receipt) -> str:  # noqa: PLR0911 - a return for each reason
    last = found.tests
    if last is None:
        return "no test run was seen"
    facts, line = last.facts, last.command
    if facts.elsewhere:
        return f"{line!r} ran in or named {facts.elsewhere!r}, outside of the session's folder"
    if not facts.known:
        return f"the exit code of the tests in {line!r} is not known ({facts.why})"
    if facts.exit != 0:
        return f"{line!r} ended with exit code {facts.exit}"
    if facts.ran == 0:
        return f"{line!r} ran no test"
    if not facts.some:
        return f"how many tests {line!r} ran is not known"
    if last.edits_after:
        named = f", such as {last.files_after[0]}" if last.files_after else ""
        return f"files changed, or may have, after {line!r}{named}"
    return f"test file {last.deleted[0]} was deleted" if last.deleted else ""


def _not_run(line: str, found: Receipt) -> str:
    runs = [each for each in found.commands if " ".join(each.command.split()) == line]
    if not runs:
        return f"{line!r} was not run"
    last = runs[-1]
    if not last.known:
        return f"the exit code of {line!r} is not known"
    if last.exit != 0:
        return f"{line!r} ended with exit code {last.exit}"
    return f"files changed, or may have, after {line!r}" if last.edits_after else ""

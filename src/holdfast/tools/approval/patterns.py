"""Patterns of commands, files and hosts that are allowed without asking, and that allow nothing else. Pure.

A pattern matches only a command that is one program with words that a shell leaves unchanged. No pattern matches files
that other programs run or obey by themselves.
"""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterable, Sequence
from ipaddress import ip_address
from posixpath import normpath

import msgspec

from holdfast.tool_calls import Pattern
from holdfast.tools.approval.command_parts import CommandPart, CommandParts
from holdfast.tools.approval.command_words import (
    changes_the_shell,
    harmless,
    lets_nothing_through,
    widened_words,
)
from holdfast.tools.tool import Plan
from holdfast.tools.workspace.autorun_files import runs_by_itself

_PLAIN = re.compile(r"[A-Za-z0-9_./:,=@%+ -]+")
"""Characters without a meaning for a shell. Any other one may separate, redirect, expand or quote: it never matches."""

_KEYWORDS = "if|then|else|elif|fi|for|while|until|do|done|case|esac|in|function|select|time|coproc"
_PROGRAM = re.compile(rf"(?!(?:{_KEYWORDS})\b|[./]+(?: |$))[A-Za-z_./][\w./+-]*(?: |$)")
"""What is surely the name of a program at the beginning of a command."""

_ANY = "*"
_BENEATH = "/**"

_LONGEST = 300
"""The most characters of a pattern of one very command."""


def changes_autorun_file(plan: Plan) -> bool:
    """Return whether the plan changes a file that other programs run or obey by themselves, under any of its names."""
    names = [change.path for change in plan.changes]
    return bool(names) and any(map(runs_by_itself, (*names, plan.known_as)))


class PatternSuggestion(msgspec.Struct, frozen=True):
    """The patterns that the user may allow permanently to have such a call run, or `why` there are none."""

    patterns: tuple[Pattern, ...] = ()
    why: str = ""


def patterns_allow(plan: Plan, patterns: Sequence[Pattern]) -> bool:
    """Return whether the patterns allow all of the plan.

    Laws (`tests/tools/approval/test_approval_patterns_laws.py`): each simple command of a line is matched by itself,
    and so is each file that it writes; no path outside the workspace, nothing that sets a variable, and nothing that
    runs by itself.
    """
    if plan.outside is not None:
        return False
    if plan.effect == "remote":
        return bool(plan.tool) and Pattern(effect="remote", text=plan.tool) in patterns
    line = _line(plan)
    if line is not None and plan.effect == "execute":
        if line.unclear or line.outside is not None or not line.parts:
            return False
        return all(
            pattern_allows_part(part, patterns)
            and not part.unknown
            and all(pattern_allows_write(path, patterns) for path in part.writes)
            for part in line.parts
        )
    if plan.effect == "write":
        changed = [change.path for change in plan.changes]
        return (
            bool(changed)
            and not changes_autorun_file(plan)
            and all(pattern_allows_write(path, patterns) for path in changed)
        )
    return plan.effect == "read" and bool(plan.host) and Pattern(effect="read", text=plan.host) in patterns


def _line(plan: Plan) -> CommandParts | None:
    from holdfast.tools.approval.command_analysis import plan_line

    return plan_line(plan)


def pattern_allows_part(part: CommandPart, patterns: Iterable[Pattern]) -> bool:
    """Return whether a pattern allows a simple command, its redirections aside.

    What it reads on standard input may be a program, and is in no pattern: a command that the line feeds is allowed
    only if any words might stand behind it. The very words of a builtin that changes the shell mean something else each
    time.
    """
    if not part.words or part.leads_out or (part.fed and not harmless(part.words, ())):
        return False
    return any(
        each.effect == "execute"
        and _words_match(words := pattern_words(each.text), part.words)
        and (
            not changes_the_shell(words)
            if words == part.words
            else not part.dangers or set(part.dangers) <= _dangers(words[:-1])
        )
        for each in patterns
    )


def _dangers(known: tuple[str, ...]) -> set[str]:
    """Return what is dangerous in the words of a pattern: further words must add nothing to it."""
    from holdfast.tools.approval.command_analysis import command_parts

    return {danger for part in command_parts(shlex.join(known)).parts for danger in part.dangers}


def pattern_allows_write(path: str, patterns: Iterable[Pattern]) -> bool:
    """Return whether a pattern allows to change a file of the workspace."""
    return not runs_by_itself(path) and any(
        each.effect == "write" and _path_matches(each.text, path) for each in patterns
    )


def suggest_patterns(  # noqa: PLR0911 - a return for each kind of call
    plan: Plan,
) -> PatternSuggestion:
    """Return what the user may allow permanently, shown to them as is.

    For a line these are patterns for all its parts that do more than read: of a program with its sub-command, or of
    the very words where other arguments could do harm.
    """
    if plan.outside is not None:
        return PatternSuggestion(why=f"it reaches {plan.outside!r}, outside the workspace")
    if plan.effect == "remote" and plan.tool:
        return PatternSuggestion((Pattern(effect="remote", text=plan.tool),))
    if plan.host:
        return PatternSuggestion((Pattern(effect="read", text=plan.host),))
    if plan.requested == "outside":
        return PatternSuggestion(why="a command outside the sandbox is asked about each time")
    line = _line(plan)
    if line is not None and plan.effect == "execute":
        return _with_hosts(_suggest_line(line), plan, only_reads=line.only_reads)
    if plan.effect == "write" and plan.changes:
        return _suggest_writes(plan) if not changes_autorun_file(plan) else PatternSuggestion(why=_BY_ITSELF)
    return PatternSuggestion(why="it is not known what another such call would do")


def _with_hosts(suggestion: PatternSuggestion, plan: Plan, *, only_reads: bool) -> PatternSuggestion:
    """Return the suggestion with the addresses that the command names, without which it would ask again."""
    if not (suggestion.patterns or only_reads) or plan.requested != "network":
        return suggestion
    hosts = tuple(Pattern(effect="read", text=host) for host in dict.fromkeys(plan.network))
    return PatternSuggestion((*suggestion.patterns, *hosts))


_BY_ITSELF = "other programs run or obey that file by themselves"


def _suggest_writes(plan: Plan) -> PatternSuggestion:
    each = [_suggest_write(change.path) for change in plan.changes]
    if why := next((one.why for one in each if one.why), ""):
        return PatternSuggestion(why=why)
    return PatternSuggestion(tuple(dict.fromkeys(pattern for one in each for pattern in one.patterns)))


def _suggest_write(path: str) -> PatternSuggestion:
    if path.startswith("/"):
        return PatternSuggestion(why=f"it writes {path!r}, outside the workspace")
    if runs_by_itself(path):
        return PatternSuggestion(why=_BY_ITSELF)
    folder, _, _ = path.rpartition("/")
    return PatternSuggestion((Pattern(effect="write", text=f"{folder}{_BENEATH}" if folder else path),))


def _suggest_line(line: CommandParts) -> PatternSuggestion:
    if line.unclear:
        return PatternSuggestion(why=line.unclear.rstrip("."))
    if line.outside is not None:
        return PatternSuggestion(why=f"it may run in {line.outside!r}, outside the workspace")
    found: dict[Pattern, None] = {}
    for part in line.parts:
        if part.more or part.outside is not None:
            pattern = part_pattern(part, alone=len(line.parts) == 1)
            if pattern is None:
                what = "does what it is given to read" if part.fed else "could be anything another time"
                return PatternSuggestion(why=f"{part.texts[0]!r} {what}")
            found[pattern] = None
        if part.unknown:
            return PatternSuggestion(why=part.unknown)
        for path in part.writes:
            written = _suggest_write(path)
            if written.why:
                return written
            found |= dict.fromkeys(written.patterns)
    return PatternSuggestion(tuple(found)) if found else PatternSuggestion(why="nothing in it needs to be remembered")


def part_pattern(part: CommandPart, *, alone: bool) -> Pattern | None:
    """Return the pattern for a part: any harmless words behind its program, else the very words, None if neither.

    Very words with a danger in them are remembered only where they stand `alone`: in a longer line they are overlooked.
    """
    known, words = widened_words(part.words), part.words
    if known:
        wide = Pattern(effect="execute", text=" ".join((*known, _ANY)))
        if pattern_allows_part(part, (wide,)):
            return wide
    if not words:
        return None
    plain = all(_is_plain(word) and " " not in word for word in words)
    if not (known or plain) or (part.dangers and not alone):
        return None
    exact = Pattern(effect="execute", text=" ".join(words) if plain else shlex.join(words))
    fits = len(exact.text) <= _LONGEST and not unmatchable(exact)
    return exact if fits and pattern_allows_part(part, (exact,)) else None


def unmatchable(pattern: Pattern) -> str:  # noqa: PLR0911 - one for each reason
    """Return why a pattern matches nothing, with an example that would, as a sentence; "" if it can match."""
    lead = f"{pattern.text!r} matches nothing: it "
    match pattern.effect:
        case "execute":
            known = pattern.text.removesuffix(f" {_ANY}")
            if not _is_command(known):
                return (
                    f"{lead}is not a program with its arguments, such as 'make test', optionally with ' *' at the end."
                )
            if known != pattern.text and lets_nothing_through(known.split()):
                return (
                    f"{lead}would allow {known!r} with any argument, such as another program, an address or code. "
                    f"Leave the ' *' out, or write your own rule: [permissions] allow = ['Bash({known} *)']."
                )
            if known == pattern.text and changes_the_shell(pattern_words(known)):
                return f"{lead}changes the shell for what follows, which is something else each time."
        case "write":
            path = pattern.text.removesuffix(_BENEATH)
            if (
                "*" in path
                or path.startswith(("/", "../", "~/"))
                or path in {"", ".", "..", "~"}
                or normpath(path) != path
            ):
                return f"{lead}is not a file or FOLDER/** in this folder, such as 'README.md' or 'src/**'."
            if runs_by_itself(path) or (runs_by_itself(f"{path}/x") and path != pattern.text):
                return f"{lead}names files that other programs run by themselves, which always need approval."
        case "remote":
            return ""
        case "read":
            if not _is_host(pattern.text):
                return f"{lead}is not a host such as 'docs.python.org' (no scheme, port, path or wildcard)."
    return ""


def _is_command(text: str) -> bool:
    """Return whether a text is one simple command whose words bash hands over as they are."""
    if _PROGRAM.match(text) and _is_plain(text):
        return True
    from holdfast.tools.approval.command_analysis import command_parts

    line = command_parts(text)
    return (
        text.isprintable()
        and not line.unclear
        and len(line.parts) == 1
        and line.parts[0].words == pattern_words(text) != ()
        and not line.parts[0].writes
        and not line.parts[0].unknown
    )


def _is_host(text: str) -> bool:
    if ":" in text:
        try:
            return bool(ip_address(text))
        except ValueError:
            return False
    return text == text.lower() and not re.search(r"[^\w.-]", text) and bool(text)


def _is_plain(text: str) -> bool:
    return _PLAIN.fullmatch(text) is not None and bool(text.strip())


def pattern_words(text: str) -> tuple[str, ...]:
    """Return the words of a pattern of a command, () if it cannot be read."""
    try:
        return tuple(shlex.split(text))
    except ValueError:
        return ()


def _words_match(pattern: tuple[str, ...], words: tuple[str, ...]) -> bool:
    if pattern[-1:] == (_ANY,):
        known = pattern[:-1]
        return bool(known) and words[: len(known)] == known and harmless(known, words[len(known) :])
    return bool(pattern) and pattern == words


def _path_matches(pattern: str, path: str) -> bool:
    if pattern.endswith(_BENEATH):
        return path.startswith(pattern.removesuffix("**"))
    return pattern == path

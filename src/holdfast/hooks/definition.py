"""A hook as it is configured: the event it is for, what it matches, and the command that it runs.

The form is that of Claude Code's settings: `{"hooks": {"PreToolUse": [{"matcher": "Bash", "hooks": [{"type":
"command", "command": "…"}]}]}}`. What cannot be used is named with its reason, and the others of the file are used.
Fail closed: a hook that decides is not left out because some of it cannot be read. Without a `matcher` or an `if` that
can be read it runs for every call, and one without a command that can be read asks about every call.

Laws (`tests/hooks/test_definition_laws.py`): any JSON gives hooks and faults, never another exception.
"""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterable
from functools import cache

import msgspec

from holdfast.errors import ConfigInvalid
from holdfast.tools.permission_rules.permission_rule import PermissionRule, permission_rule, unmatched
from holdfast.typed_data import decode_json

EVENTS = (
    "SessionStart",
    "UserPromptSubmit",
    "PreToolUse",
    "PermissionRequest",
    "PostToolUse",
    "PostToolUseFailure",
    "Stop",
    "PreCompact",
    "Notification",
    "SessionEnd",
)
"""The events that a hook can be for."""

LATER_EVENTS = ("SubagentStart", "SubagentStop")
"""Events that there are none of yet: holdfast has no subagents."""

GATES = frozenset({"UserPromptSubmit", "PreToolUse", "PermissionRequest", "Stop"})
"""Events whose hooks decide: none is left out because some of it cannot be read, or cannot be compared with a call."""

_ASKING = frozenset({"PreToolUse", "PermissionRequest"})
"""Events of which a hook that cannot be read asks the user."""

DEFAULT_TIMEOUT = 600.0
"""Seconds after which a hook is ended, if nothing else is configured."""
TIMEOUTS = {"UserPromptSubmit": 30.0}
"""Other defaults, by event."""
LONGEST_HOOK_TIME = 3600.0
SESSION_END = 1.5
"""Seconds for all hooks of `SessionEnd` together."""

LONGEST_HOOK = 20_000
MOST_HOOKS = 200
"""Hooks of one file that are used."""

_NAMES = re.compile(r"[\w\-, |]*\Z", re.ASCII)
_LONGEST_MATCHER = 1_000
_SHOWN = 120  # characters of a command in a line


class Hook(msgspec.Struct, frozen=True, kw_only=True):
    """A hook of `event`. `source` is the file that has it.

    With `arguments`, `command` is a program that is run without a shell. One that `is_async` is not waited for, and
    decides nothing. `condition` is a rule about the call, None for every call that the `matcher` names. `fault` is a
    sentence about what of it cannot be read, "" if all can; with the `command` "" that is the command.
    """

    event: str
    command: str
    source: str
    matcher: str = ""
    arguments: tuple[str, ...] | None = None
    timeout: float = DEFAULT_TIMEOUT
    is_async: bool = False
    condition: PermissionRule | None = None
    fault: str = ""

    @property
    def line(self) -> str:
        """Return the command as a line of a shell."""
        if self.arguments is None:
            return self.command
        return f"exec {shlex.join((self.command, *self.arguments))}"

    @property
    def name(self) -> str:
        """Return the event, with what the matcher names."""
        return f"{self.event} [{self.matcher}]" if self.matcher else self.event

    @property
    def shown(self) -> str:
        """Return the command on one line, for people."""
        if not self.command:
            return f"{self.event} in {self.source}"
        words = (self.command, *(self.arguments or ()))
        text = " ".join(" ".join(words).split())
        return text if len(text) <= _SHOWN else f"{text[: _SHOWN - 1]}…"

    def matches(self, *names: str) -> bool:
        """Return whether the matcher names one of these; a pattern that cannot be read matches everything."""
        return not names or any(_matches(self.matcher, name) for name in names)


def _matches(matcher: str, name: str) -> bool:
    if matcher in ("", "*"):
        return True
    if _NAMES.match(matcher):
        return name in {each.strip() for each in re.split(r"[|,]", matcher)}
    pattern = _pattern(matcher)
    return pattern is None or pattern.search(name[:200]) is not None


@cache
def _pattern(matcher: str) -> re.Pattern[str] | None:
    try:
        return re.compile(matcher) if len(matcher) <= _LONGEST_MATCHER else None
    except (re.error, RecursionError, OverflowError):
        return None


class FoundHooks(msgspec.Struct, frozen=True, kw_only=True):
    """The hooks of a file, a sentence for each that is not used, and whether the file turns all hooks off."""

    hooks: tuple[Hook, ...] = ()
    faults: tuple[str, ...] = ()
    disables: bool = False


class _Entry(msgspec.Struct, frozen=True, rename={"condition": "if", "is_async": "async"}):
    type: str = "command"
    command: str = ""
    args: tuple[str, ...] | None = None
    condition: str | None = None
    timeout: float | None = None
    is_async: bool | None = False


class _Group(msgspec.Struct, frozen=True):
    matcher: object = ""
    hooks: tuple[msgspec.Raw, ...] = ()


class _Settings(msgspec.Struct, frozen=True):
    hooks: dict[str, msgspec.Raw] | None = None
    disableAllHooks: bool | None = False  # noqa: N815 - as it is written


def claude_hooks(raw: bytes, *, source: str) -> FoundHooks:
    """Return the hooks in a `settings.json` of Claude Code."""
    try:
        settings = decode_json(raw, _Settings)
    except (msgspec.DecodeError, UnicodeDecodeError) as error:
        return FoundHooks(faults=(f"The hooks of {source!r} cannot be read: {error}. Fix that file.",))
    hooks: list[Hook] = []
    faults: list[str] = []
    unknown: dict[str, None] = {}
    for event, groups in (settings.hooks or {}).items():
        if event not in EVENTS:
            unknown[event] = None
            continue
        for found in _hooks_of_event(event, bytes(groups), source):
            if isinstance(found, str):
                faults.append(found)
            else:
                hooks.append(found)
                faults += filter(None, (found.fault,))
    faults += _faults(hooks, unknown, source)
    return FoundHooks(hooks=tuple(hooks[:MOST_HOOKS]), faults=tuple(faults), disables=bool(settings.disableAllHooks))


def _hooks_of_event(event: str, raw: bytes, source: str) -> Iterable[Hook | str]:
    """Yield the hooks of an event, and a sentence for each that is not used."""
    try:
        groups = decode_json(raw, tuple[msgspec.Raw, ...])
    except (msgspec.DecodeError, UnicodeDecodeError) as error:
        yield not_used(event, f"The hooks of {event} in {source!r} are not used: {error}. Fix them.", source=source)
        return
    for each in groups:
        try:
            group = decode_json(bytes(each), _Group)
        except (msgspec.DecodeError, UnicodeDecodeError) as error:
            yield not_used(event, f"Hooks of {event} in {source!r} are not used: {error}. Fix them.", source=source)
            continue
        matcher = group.matcher or ""
        if not isinstance(matcher, str):
            fault = f"A matcher of {event} in {source!r} is no text"
            if event not in GATES:
                yield f"{fault}: its hooks are not used. Fix it."
                continue
            yield f"{fault}: it matches every name. Fix it."
            matcher = ""
        for entry in group.hooks:
            yield _hook_of_entry(bytes(entry), event, matcher, source)


def _hook_of_entry(raw: bytes, event: str, matcher: str, source: str) -> Hook | str:
    try:
        entry = decode_json(raw, _Entry)
        if entry.type == "command":
            return _hook(entry, event, matcher, source)
    except (msgspec.DecodeError, UnicodeDecodeError) as error:
        why = f"Hook of {event} in {source!r} is not used: {error}. Fix it."
        return not_used(event, why, source=source, matcher=matcher)
    except ConfigInvalid as error:
        return not_used(event, str(error), source=source, matcher=matcher)
    return (
        f"Hook of {event} in {source!r} is not used: its type {entry.type[:100]!r} is not supported (expected "
        "'command'). Remove it."
    )


def not_used(event: str, why: str, *, source: str, matcher: str = "") -> Hook | str:
    """Return what a hook that cannot be read is: one that asks about each call that it is for, else only why."""
    if event not in _ASKING:
        return why
    return Hook(event=event, command="", source=source, matcher=matcher, fault=f"{why} Until then it asks each time.")


def _faults(hooks: list[Hook], unknown: Iterable[str], source: str) -> Iterable[str]:
    for event in unknown:
        why = "holdfast has no subagents yet" if event in LATER_EVENTS else "holdfast has no such event"
        yield f"The hooks of {event[:100]!r} in {source!r} are not used: {why}."
    for matcher in dict.fromkeys(hook.matcher for hook in hooks):
        if not _NAMES.match(matcher) and _pattern(matcher) is None:
            yield f"Matcher {matcher[:100]!r} in {source!r} is no regular expression: it matches every name. Fix it."
    if len(hooks) > MOST_HOOKS:
        yield f"{source!r} has {len(hooks)} hooks (at most {MOST_HOOKS}): the others are not used."


def _hook(entry: _Entry, event: str, matcher: str, source: str) -> Hook:
    """Return the hook of an entry. Raise `ConfigInvalid` with why it cannot be used."""
    return new_hook(
        event,
        entry.command,
        source=source,
        matcher=matcher,
        arguments=entry.args,
        timeout=entry.timeout,
        is_async=bool(entry.is_async),
        condition=entry.condition or "",
    )


def new_hook(  # noqa: PLR0913 - what a hook is made of
    event: str,
    command: str,
    *,
    source: str,
    matcher: str = "",
    arguments: tuple[str, ...] | None = None,
    timeout: float | None = None,
    is_async: bool = False,
    condition: str = "",
) -> Hook:
    """Return a hook. Raise `ConfigInvalid` with why it cannot be used."""
    if not command.strip():
        raise ConfigInvalid(f"Hook of {event} in {source!r} is not used: it has no `command`. Add one, or remove it.")
    words = (command, *(arguments or ()))
    if "\0" in "".join(words) or sum(map(len, words)) > LONGEST_HOOK:
        raise ConfigInvalid(
            f"Hook of {event} in {source!r} is not used: its command has a NUL character, or more than {LONGEST_HOOK} "
            "characters. Put it into a file, and run that."
        )
    faults: list[str] = []
    if timeout is not None and not 0 < timeout <= LONGEST_HOOK_TIME:
        what = f"its `timeout` is {timeout!r} (expected up to {LONGEST_HOOK_TIME:g} seconds)"
        timeout = LONGEST_HOOK_TIME if timeout > 0 else TIMEOUTS.get(event, DEFAULT_TIMEOUT)
        faults.append(_gate_fault(event, source, what, f"it has {timeout:g} seconds", "Correct it."))
    rule = None
    if condition:
        try:
            rule = permission_rule(condition, "ask", source=source)
            why = (
                unmatched(rule, frozenset({rule.tool}))
                and "Only Bash, Read, Edit, Write and WebFetch take a specifier."
            )
        except ConfigInvalid as error:
            why = str(error)
        if why:
            rule = None
            what = f"its `if` {condition[:100]!r} cannot be read"
            faults.append(_gate_fault(event, source, what, "it runs for every call", why))
    return Hook(
        event=event,
        command=command,
        source=source,
        matcher=matcher,
        arguments=arguments,
        timeout=timeout or TIMEOUTS.get(event, DEFAULT_TIMEOUT),
        is_async=is_async,
        condition=rule,
        fault=" ".join(faults),
    )


def _gate_fault(event: str, source: str, what: str, then: str, todo: str) -> str:
    """Return a sentence about a hook that decides. Raise `ConfigInvalid` for another: it is not used."""
    if event not in GATES:
        raise ConfigInvalid(f"Hook of {event} in {source!r} is not used: {what}. {todo}")
    return f"Hook of {event} in {source!r}: {what}; {then}. {todo}"

"""A hook as it is configured: the event it is for, what it matches, and the command that it runs.

The form is that of Claude Code's settings: `{"hooks": {"PreToolUse": [{"matcher": "Bash", "hooks": [{"type":
"command", "command": "…"}]}]}}`. What cannot be used is named with its reason, and the others of the file are used.

Laws (`tests/hooks/test_definition_laws.py`): any JSON gives hooks and faults, never another exception.
"""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterable
from functools import cache

import msgspec

from holdfast.errors import ConfigInvalid
from holdfast.tools.permission_rules.permission_rule import PermissionRule, permission_rule
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
    decides nothing. `condition` is a rule about the call, None for every call that the `matcher` names.
    """

    event: str
    command: str
    source: str
    matcher: str = ""
    arguments: tuple[str, ...] | None = None
    timeout: float = DEFAULT_TIMEOUT
    is_async: bool = False
    condition: PermissionRule | None = None

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
    matcher: str | None = ""
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
        try:
            found = decode_json(bytes(groups), tuple[_Group, ...])
        except (msgspec.DecodeError, UnicodeDecodeError) as error:
            faults.append(f"The hooks of {event} in {source!r} are not used: {error}. Fix them.")
            continue
        for group in found:
            for entry in group.hooks:
                try:
                    hook = _hook(decode_json(bytes(entry), _Entry), event, group.matcher or "", source)
                except (msgspec.DecodeError, UnicodeDecodeError) as error:
                    faults.append(f"Hook of {event} in {source!r} is not used: {error}. Fix it.")
                except ConfigInvalid as error:
                    faults.append(str(error))
                else:
                    hooks.append(hook)
    faults += _faults(hooks, unknown, source)
    return FoundHooks(hooks=tuple(hooks[:MOST_HOOKS]), faults=tuple(faults), disables=bool(settings.disableAllHooks))


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
    if entry.type != "command":
        raise ConfigInvalid(
            f"Hook of {event} in {source!r} is not used: its type {entry.type[:100]!r} is not supported (expected "
            "'command'). Remove it."
        )
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
    if timeout is not None and not 0 < timeout <= LONGEST_HOOK_TIME:
        raise ConfigInvalid(
            f"Hook of {event} in {source!r} is not used: its `timeout` is {timeout!r} (expected up to "
            f"{LONGEST_HOOK_TIME:g} seconds). Correct it."
        )
    rule = permission_rule(condition, "ask", source=source) if condition else None
    return Hook(
        event=event,
        command=command,
        source=source,
        matcher=matcher,
        arguments=arguments,
        timeout=timeout or TIMEOUTS.get(event, DEFAULT_TIMEOUT),
        is_async=is_async,
        condition=rule,
    )

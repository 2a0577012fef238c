"""The hooks of a run: the user's own at once, those of other files once the user trusts what they would run.

A project's hooks run any command, so they count only once the user trusts exactly them. So do those of Claude Code in
the user's home, which other programs write: one question for each text, or `read_claude = true` in `[hooks]`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path

import msgspec

from holdfast.config.settings import HookTable
from holdfast.hooks.definition import FoundHooks, Hook, claude_hooks
from holdfast.hooks.hook_set import HookSet, hooks_digest, hooks_of_table
from holdfast.system.user_directories import homes
from holdfast.ui.startup.arguments import Arguments
from holdfast.ui.startup.project_trust import TRUST_IT, AskTrust, hook_decisions, hook_files

READ_CLAUDE = "To use them, answer the question that a terminal asks, or set read_claude = true in [hooks]."


MOST_SHOWN = 16_000
"""Characters of all hooks of a file that a question shows: it cuts none, and no user reads more than that."""


class _ShownHook(msgspec.Struct, frozen=True, kw_only=True, rename={"condition": "if", "is_async": "async"}):
    """All that a hook has, as shown when the user is asked to trust it. What is None is not shown."""

    event: str
    matcher: str | None
    condition: str | None
    timeout: float
    is_async: bool | None
    command: str


class _Shown(msgspec.Struct, frozen=True):
    """The hooks by their number in the file."""

    hooks: dict[str, _ShownHook]


def hooks_in_use(
    environ: Mapping[str, str],
    cwd: Path,
    arguments: Arguments,
    *,
    table: HookTable,
    ask: AskTrust | None = None,
    notify: Callable[[str], None] = lambda _: None,
) -> HookSet:
    """Return the hooks to use in `cwd`. `notify` reports those that are not used.

    Raise `StorageFailed` if the user's answer cannot be stored.
    """
    if arguments.no_hooks:
        return HookSet(off="--no-hooks.")
    if table.off:
        return HookSet(off="`off` is set in [hooks] of config.toml.")
    user_hooks, notices = hooks_of_table(table, source=str(homes(environ).config))
    used: list[Hook] = list(user_hooks)
    faults: list[str] = list(notices)
    for path, raw in hook_files(environ, cwd):
        found, is_user = claude_hooks(raw, source=str(path)), path == user_file(environ)
        faults += found.faults
        if found.disables and is_user:
            return HookSet(off=f"`disableAllHooks` is set in {str(path)!r}.")
        if found.disables or not found.hooks:
            continue
        if why := _untrusted(environ, path, found, is_user=is_user, read=table.read_claude, ask=ask):
            faults.append(why)
        else:
            used += found.hooks
    for each in faults:
        notify(each)
    return HookSet(hooks=tuple(used), faults=tuple(faults))


def user_file(environ: Mapping[str, str]) -> Path | None:
    """Return the path of the user's own settings of Claude Code, None without a home."""
    home = environ.get("HOME", "")
    return Path(home, ".claude", "settings.json") if home else None


def judge_hooks(environ: Mapping[str, str], cwd: Path, *, trusted: bool) -> None:
    """Store the decision of --trust-project about the project's hooks as they are now. Raise `StorageFailed`."""
    for path, raw in hook_files(environ, cwd):
        found = claude_hooks(raw, source=str(path))
        if found.hooks and path != user_file(environ):
            hook_decisions(environ, path).set_trust(hooks_digest(found.hooks), trusted=trusted)


def _untrusted(
    environ: Mapping[str, str], path: Path, found: FoundHooks, *, is_user: bool, read: bool, ask: AskTrust | None
) -> str:
    """Return a sentence if the hooks of a file are not used, "" if they are trusted."""
    if is_user and read:
        return ""
    decisions, digest = hook_decisions(environ, path), hooks_digest(found.hooks)
    trusted = decisions.trusts(digest)
    if trusted is None and ask is not None and not decisions.unread:
        shown = _Shown({str(number): _shown(hook) for number, hook in enumerate(found.hooks, 1)})
        if len(msgspec.json.encode(shown)) > MOST_SHOWN:
            return (
                f"Ignoring the hooks of {str(path)!r}: they have more than {MOST_SHOWN:,} characters, which no "
                "question can show. Put their commands into files, and run those."
            )
        trusted = ask(path, shown)
        decisions.set_trust(digest, trusted=trusted)
    if trusted:
        return ""
    return f"Ignoring the untrusted hooks of {str(path)!r}. {READ_CLAUDE if is_user else TRUST_IT}"


def _shown(hook: Hook) -> _ShownHook:
    return _ShownHook(
        event=hook.event,
        matcher=hook.matcher or None,
        condition=None if hook.condition is None else hook.condition.text,
        timeout=hook.timeout,
        is_async=hook.is_async or None,
        command=hook.line or "(cannot be read: it asks each time)",
    )

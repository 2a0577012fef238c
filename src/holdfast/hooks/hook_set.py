"""The hooks of a run together: those that are used, and a sentence for what is not."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable

import msgspec

from holdfast.config.settings import HookTable
from holdfast.errors import ConfigInvalid
from holdfast.hooks.definition import EVENTS, Hook, new_hook, not_used


class HookSet(msgspec.Struct, frozen=True, kw_only=True):
    """The `hooks` of a run. `faults` are sentences about what is not used; `off` is why none is, "" if they are."""

    hooks: tuple[Hook, ...] = ()
    faults: tuple[str, ...] = ()
    off: str = ""

    def lines(self) -> tuple[str, ...]:
        """Return what /hooks shows: the hooks by event, each with the file that has it, and what is not used."""
        shown = [
            f"{hook.name}: {hook.shown} ({hook.source}, {hook.timeout:g} s)"
            for event in EVENTS
            for hook in self.hooks
            if hook.event == event
        ]
        head = (f"No hook runs: {self.off}",) if self.off else ()
        return (*head, *(shown or () if self.off else shown or ("No hook is used.",)), *self.faults)


def hooks_of_table(table: HookTable, *, source: str) -> tuple[tuple[Hook, ...], tuple[str, ...]]:
    """Return the hooks of the user's config, and a sentence for each that cannot be used."""
    hooks: list[Hook] = []
    faults: list[str] = []
    for event, rows in table.rows.items():
        for row in rows:
            try:
                found = new_hook(
                    event,
                    row.command,
                    source=source,
                    matcher=row.matcher,
                    arguments=row.args,
                    timeout=row.timeout,
                    is_async=row.background,
                    condition=row.condition,
                )
            except ConfigInvalid as error:
                found = not_used(event, str(error), source=source, matcher=row.matcher)
            if isinstance(found, Hook):
                hooks.append(found)
            faults += filter(None, (found.fault if isinstance(found, Hook) else found,))
    return tuple(hooks), tuple(faults)


def hooks_digest(hooks: Iterable[Hook]) -> str:
    """Return the SHA-256 of what hooks would run, and when: layout, order of keys and other settings do not matter."""
    fields = [
        (hook.event, hook.matcher, hook.line, hook.timeout, hook.is_async, hook.condition and hook.condition.text)
        for hook in hooks
    ]
    return hashlib.sha256(msgspec.json.encode(fields)).hexdigest()

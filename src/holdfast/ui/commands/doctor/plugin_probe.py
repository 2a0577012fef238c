"""The findings about plug-ins: what each adds, and why one is not in use."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from holdfast.ui.commands.doctor.findings import DoctorFinding
from holdfast.ui.startup.run_options import RunOptions
from holdfast.ui.view.columns import count_noun

_NAMED = 3  # things listed by name; more are only counted


async def probe_plugins(options: RunOptions, environ: Mapping[str, str], cwd: Path) -> list[DoctorFinding]:
    """Return a finding for each plug-in; they were loaded with the options."""
    del environ, cwd
    if options.plugins is None:
        return []
    from holdfast.host.plugins.checks import names_of

    found = [
        DoctorFinding(
            name=f"plug-in {each.name}", level="ok", what=f"adds {_counted(names_of(each.adds))}, {each.source}"
        )
        for each in options.plugins.loaded
    ]
    found += [
        DoctorFinding(name=f"plug-in {name}", level="ok", what="off, by [plugins] in the config")
        for name in options.plugins.off
    ]
    return found + [
        DoctorFinding(
            name=f"plug-in {fault.name}",
            level="warn",
            what=f"not in use: {fault.why}",
            todo=f"Fix {fault.source}, or add {fault.name!r} to `off` in [plugins] of your config.",
        )
        for fault in options.plugins.faults
    ]


def _counted(names: list[str]) -> str:
    return ", ".join(names) if len(names) <= _NAMED else count_noun(len(names), "thing")

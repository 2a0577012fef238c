"""What the screen begins with."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from holdfast.calls import Mode
from holdfast.config import Context
from holdfast.session.catalog import Catalog, Summary
from holdfast.ui.arguments import Arguments


@dataclass(frozen=True, slots=True, kw_only=True)
class Start:
    """What the screen begins with: `resumed` is the session to go on with, in a copy if `fork`; None for a new one.

    With `choose` the person is asked which.
    """

    catalog: Catalog
    cwd: Path
    model: str
    mode: Mode
    environ: Mapping[str, str]
    resumed: Summary | None
    arguments: Arguments
    fork: bool = False
    choose: bool = False
    debug: bool = False
    pid_namespace: bool = False
    addresses: tuple[str, ...] = ()
    context: Context = Context()  # noqa: RUF009 - frozen
    notices: tuple[str, ...] = ()
    theme: str = ""

"""What every session of a run has in common."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass

from holdfast.agent.log import Log
from holdfast.agent.model import Model
from holdfast.agent.providers import Providers
from holdfast.config import Context, Limits
from holdfast.session.catalog import Catalog


@dataclass(frozen=True, slots=True, kw_only=True)
class Wishes:
    """What every session of a run has in common; `connect` gives the model of a name, `keep` keeps a traceback."""

    catalog: Catalog
    environ: Mapping[str, str]
    connect: Callable[[str, Log | None], Awaitable[Model]]
    keep: Callable[[str], tuple[str, str]]
    providers: Providers
    limits: Limits
    context: Context = Context()  # noqa: RUF009 - frozen
    debug: bool = False
    pid_namespace: bool = False
    addresses: tuple[str, ...] = ()

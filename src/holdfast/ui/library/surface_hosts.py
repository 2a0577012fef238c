"""What a surface of a plug-in opens sessions with: hosts of the user's own sessions, opened as by `open_session`."""

from __future__ import annotations

import dataclasses
from collections.abc import AsyncGenerator, Mapping
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from pathlib import Path

import msgspec

from holdfast.host.hosted_session import RULES_OF, HostRules
from holdfast.host.session_host import SessionHost
from holdfast.tool_calls import Mode
from holdfast.ui.library.library_opening import opened_host
from holdfast.ui.library.library_plan import SessionPlan


@dataclasses.dataclass(frozen=True, slots=True)
class UsersHosts:
    """A `SurfaceHosts` for the folder that the command was called in, with its environment."""

    environ: Mapping[str, str]

    def open(
        self,
        *,
        asks_user: bool,
        reads_commands: bool = False,
        model: str = "",
        resume: str = "",
        mode: Mode | None = None,
    ) -> AbstractAsyncContextManager[SessionHost]:
        """Return the host of a session. Interrupted at any point, it leaves what `open_session` leaves."""
        plan = SessionPlan(
            model=model,
            folder=None,
            resume=resume,
            named=None,
            authored={},
            asks_user=asks_user,
            mode=mode,
            cwd=Path.cwd(),
            cwd_given=False,
            name="holdfast",
            system="",
        )
        rules = msgspec.structs.replace(
            RULES_OF["library"], asks_user=asks_user, interprets="slash" if reads_commands else "nothing"
        )
        return self._opened(plan, rules)

    @asynccontextmanager
    async def _opened(self, plan: SessionPlan, rules: HostRules) -> AsyncGenerator[SessionHost]:
        host, close = await opened_host(plan, self.environ, rules)
        try:
            yield host
        finally:
            try:
                await host.close()
            finally:
                close()

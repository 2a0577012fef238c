"""What a host needs of the options of a run, so that neither a command line nor a surface is known here."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Protocol

from holdfast.agent.agent import Agent
from holdfast.agent.debug_log.log import Log
from holdfast.agent.events import Event
from holdfast.agent.turn.approval_prompt import ApprovalPrompt
from holdfast.config.project_decisions import Project
from holdfast.config.settings import Config, Limits
from holdfast.providers.model import Model
from holdfast.providers.registry import ModelEndpoint
from holdfast.questions import ALL_ANSWERS, QuestionRules
from holdfast.session.catalog import SessionSummary
from holdfast.session.journal.model_settings import ModelSettings
from holdfast.session.journal.store import Reading, Store
from holdfast.tools.tool import Toolbox
from holdfast.tools.toolbox import LocalToolbox

if TYPE_CHECKING:
    from holdfast.agent.seam import Seam
    from holdfast.hooks.hook_set import HookSet
    from holdfast.host.plugins.contributions import PluginSlashCommand
    from holdfast.tools.mcp.prompt_commands import ServerPrompt


class SessionOptions(Protocol):
    """The options of a session. `resumed` is the session to continue, None for a new one."""

    @property
    def model(self) -> str:
        """Return the model of the run, as PROVIDER:MODEL."""
        ...

    @property
    def model_chosen(self) -> bool:
        """Return whether the run names the model: a resumed session then does not keep its own."""
        ...

    @property
    def chosen_settings(self) -> ModelSettings:
        """Return the model settings that the run names."""
        ...

    @property
    def config(self) -> Config:
        """Return the settings."""
        ...

    @property
    def limits(self) -> Limits:
        """Return the limits."""
        ...

    @property
    def environ(self) -> Mapping[str, str]:
        """Return the environment of the run."""
        ...

    @property
    def resumed(self) -> SessionSummary | None:
        """Return the session that is continued."""
        ...

    @property
    def slash_commands(self) -> Mapping[str, PluginSlashCommand]:
        """Return the slash commands of plug-ins."""
        ...

    @property
    def hooks(self) -> HookSet | None:
        """Return the hooks, None if there are none."""
        ...

    def settings_of(self, model: str) -> ModelSettings:
        """Return the settings of a new session with a model."""
        ...

    def endpoint(self, model: str) -> ModelEndpoint:
        """Return where a model is. Raise `ModelUnusable`."""
        ...

    def project_of(self, cwd: Path) -> Project:
        """Return the decisions about calls in a folder."""
        ...

    def prompt_commands(self) -> tuple[ServerPrompt, ...]:
        """Return the prompts of MCP servers that are known."""
        ...

    def prepare(self, toolbox: LocalToolbox) -> None:
        """Configure the tools of a session."""
        ...

    def new_agent(  # noqa: PLR0913 - everything that an agent is connected to
        self,
        *,
        store: Store,
        toolbox: Toolbox,
        project: Project,
        connect: Callable[[str], Awaitable[Model]],
        emit: Callable[[Event], None],
        ask: ApprovalPrompt | None,
        reading: Reading,
        offered: QuestionRules = ALL_ANSWERS,
        log: Log | None = None,
        seam: Seam | None = None,
    ) -> Agent:
        """Return an agent for a session."""
        ...

"""Configures the tools of a session by the user's settings, wherever the session is opened."""

from __future__ import annotations

from holdfast.config.settings import Config
from holdfast.tools.toolbox import LocalToolbox


def configure(toolbox: LocalToolbox, config: Config) -> None:
    """Set the sandbox of commands, and the addresses that `fetch` may reach. Call this before any tool is used."""
    if config.pid_namespace:
        toolbox.contain()
    toolbox.confine(config.sandbox)
    toolbox.may_fetch(config.fetch.addresses)

"""Failures of MCP servers in a session: told once, before the prompt, and told again once the server works."""

from __future__ import annotations

from agent_harness import Harness
from holdfast.session.journal import entries as e

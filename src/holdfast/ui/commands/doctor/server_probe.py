"""The findings about MCP servers: does each start, and can its tools be used?"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from holdfast.ui.commands.doctor import findings
from holdfast.ui.commands.doctor.findings import DoctorFinding
from holdfast.ui.startup.run_options import RunOptions

_SERVERS_WITHIN = 20.0  # seconds for all MCP servers


async def probe_servers(options: RunOptions, environ: Mapping[str, str], cwd: Path) -> list[DoctorFinding]:
    """Return a finding for each MCP server, which is started for it."""
    del environ
    if options.mcp is None:
        return []
    from holdfast.tools.mcp.connections import ask_servers  # more than a second, when there is a server

    try:
        answers = await ask_servers(options.mcp, cwd=cwd, within=_SERVERS_WITHIN)
    except OSError as error:
        answers = {each.name: f"It was not asked: {error.strerror}." for each in options.mcp.servers}
    confinement = {each.name: each.confinement for each in options.mcp.servers}
    return [
        findings.server_finding(name, tools=0, unusable=(), problem=answer)
        if isinstance(answer, str)
        else findings.server_finding(
            name,
            tools=len(answer.tools),
            unusable=[each.name for each in answer.unusable],
            problem="",
            confinement=confinement[name],
        )
        for name, answer in answers.items()
    ]

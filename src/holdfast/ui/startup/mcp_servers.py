"""The MCP servers of a run, from the command line, the project and the user, and whether they are trusted.

A project's file may start any program, so it counts only once the user trusts exactly its text. So may the file of
Claude Code, which other programs write: its servers count once the user has set `mcp.read_claude`, and trusts them.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path

import msgspec

from holdfast.config.claude_servers import ClaudeServers, claude_path, claude_servers
from holdfast.config.mcp_servers import (
    USER_FILE,
    ServerFile,
    project_server_path,
    server_file,
    servers_of_tables,
    together,
)
from holdfast.config.project_decisions import Project
from holdfast.config.settings import McpTable
from holdfast.errors import ConfigInvalid
from holdfast.providers.credentials.server_sign_ins import StoredSignIns
from holdfast.system.user_directories import homes
from holdfast.tools.mcp.connections import McpSettings
from holdfast.tools.mcp.server_definition import McpServer
from holdfast.ui.startup.arguments import Arguments
from holdfast.ui.startup.project_trust import TRUST_IT, AskTrust, claude_server_decisions, server_decisions

HEADLESS_WAIT = 10.0
"""Seconds to wait for a server's list of tools on the first run with it."""

_HINTS_ARE_YOURS = "Only your own files may set it. Write the server in your config.toml, or remove it there."


class _Shown(msgspec.Struct, frozen=True):
    """The servers as shown when the user is asked to trust them."""

    servers: tuple[str, ...]


def mcp_settings(
    environ: Mapping[str, str],
    cwd: Path,
    arguments: Arguments,
    *,
    table: McpTable,
    ask: AskTrust | None = None,
    notify: Callable[[str], None] = lambda _: None,
) -> McpSettings | None:
    """Return the servers to use in `cwd`, None if there are none. `notify` reports those that are ignored.

    `table` is the `mcp` table of the user's config. Of several servers with one name the first is used, in this order:
    command line, Claude Code for this project, project, config, the user's `mcp.json`, Claude Code for all projects.
    Raise `ConfigInvalid` for a file on the command line that cannot be read, and `StorageFailed` if the user's answer
    cannot be stored.
    """
    files = [server_file(Path(each).expanduser().absolute()) for each in arguments.mcp_config or ()]
    if not arguments.strict_mcp_config:
        claude = _found_claude_servers(environ, cwd, notify) if table.read_claude else None
        files += () if claude is None else _trusted_claude(environ, claude.project, claude.local, ask, notify)
        files += _project_servers(environ, cwd, ask, notify)
        files.append(servers_of_tables(table.servers, path=homes(environ).config))
        files += _user_servers(environ, notify)
        files += () if claude is None else _trusted_claude(environ, "", claude.user, ask, notify)
    servers, faults = together(files)
    for fault in faults:
        notify(fault)
    can_ask = arguments.prompt is None
    if not servers:
        return None
    return McpSettings(servers=servers, lists=mcp_lists(environ), can_ask_user=can_ask, sign_ins=sign_ins(environ))


def with_client_servers(
    settings: McpSettings | None, servers: Sequence[McpServer], *, environ: Mapping[str, str]
) -> McpSettings | None:
    """Return the settings with the servers that a client of holdfast passes for one session.

    Like those on the command line, they replace configured servers of the same name. None if there are no servers.
    """
    known = () if settings is None else settings.servers
    both, _ = together((ServerFile(path=Path(), servers=tuple(servers)), ServerFile(path=Path(), servers=known)))
    if not both:
        return None
    can_ask = settings is None or settings.can_ask_user
    return McpSettings(servers=both, lists=mcp_lists(environ), can_ask_user=can_ask, sign_ins=sign_ins(environ))


def mcp_lists(environ: Mapping[str, str]) -> Path:
    """Return the folder where the servers' lists of tools are cached."""
    return homes(environ).cache / "mcp"


def sign_ins(environ: Mapping[str, str]) -> StoredSignIns:
    """Return the stored sign-ins to servers."""
    return StoredSignIns(homes(environ).keys)


def user_server_path(environ: Mapping[str, str]) -> Path:
    """Return the path of the user's file of servers."""
    return homes(environ).config.with_name(USER_FILE)


def ask_new_servers(settings: McpSettings, cwd: Path) -> None:
    """Ask the servers for tools that are not known yet, for at most HEADLESS_WAIT. Failures are reported later."""
    asyncio.run(lists_of_new_servers(settings, cwd))


async def lists_of_new_servers(settings: McpSettings, cwd: Path) -> None:
    """Ask the servers as `ask_new_servers`, on a loop that runs already."""
    from holdfast.tools.mcp.connections import ask_servers, unknown_servers

    new = unknown_servers(settings)
    if new.servers:
        await ask_servers(new, cwd=cwd, within=HEADLESS_WAIT)


def _user_servers(environ: Mapping[str, str], notify: Callable[[str], None]) -> Iterator[ServerFile]:
    path = user_server_path(environ)
    file = _read(path, notify) if path.exists() else None
    if file is not None:
        yield file


def _project_servers(
    environ: Mapping[str, str], cwd: Path, ask: AskTrust | None, notify: Callable[[str], None]
) -> Iterator[ServerFile]:
    path = project_server_path(cwd)
    file = _read(path, notify) if path is not None else None
    if file is not None:
        yield from _trusted(file, lambda: server_decisions(environ, file.path), ask, notify)


def _found_claude_servers(environ: Mapping[str, str], cwd: Path, notify: Callable[[str], None]) -> ClaudeServers | None:
    path = claude_path(environ.get("HOME", ""))
    try:
        return None if path is None else claude_servers(path, cwd)
    except ConfigInvalid as error:  # a broken file must not stop the session
        notify(f"{error} Its servers are not used.")
        return None


def _trusted_claude(
    environ: Mapping[str, str], project: str, file: ServerFile, ask: AskTrust | None, notify: Callable[[str], None]
) -> Iterator[ServerFile]:
    yield from _trusted(file, lambda: claude_server_decisions(environ, file.path, project), ask, notify)


def _trusted(
    file: ServerFile, read_decisions: Callable[[], Project], ask: AskTrust | None, notify: Callable[[str], None]
) -> Iterator[ServerFile]:
    """Yield the file if the user trusts it, or if it has no servers."""
    if not file.servers:
        yield file
        return
    decisions = read_decisions()
    trusted = decisions.trusts(file.digest)
    if trusted is None and ask is not None and not decisions.unread:
        shown = tuple(f"{each.name}: {each.shown}" for each in file.servers)
        trusted = ask(file.path, _Shown(servers=shown))
        decisions.set_trust(file.digest, trusted=trusted)
    if trusted:
        yield _without_hints(file, notify)
    else:
        notify(f"Ignoring the untrusted MCP servers of {str(file.path)!r}. {TRUST_IT}")


def _without_hints(file: ServerFile, notify: Callable[[str], None]) -> ServerFile:
    """Return the file without `trust_hints`: the user was asked whether it may start programs, no more."""
    if ignored := [each.name for each in file.servers if each.trust_hints]:
        notify(f"Ignoring `trust_hints` of {', '.join(map(repr, ignored))} in {str(file.path)!r}. {_HINTS_ARE_YOURS}")
    servers = tuple(msgspec.structs.replace(each, trust_hints=False) for each in file.servers)
    return msgspec.structs.replace(file, servers=servers)


def _read(path: Path, notify: Callable[[str], None]) -> ServerFile | None:
    try:
        return server_file(path)
    except ConfigInvalid as error:  # a broken file must not stop the session
        notify(f"{error} Its servers are not used.")
        return None

"""The MCP servers of a run: of the command line, the project and the user, and whether they are trusted.

A project's file may start any program, so it counts only once the user trusts exactly its text. So may the file of
Claude Code, which other programs write: its servers count once the user has said that they are read, and trusts them.
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
"""Seconds that the first run with a server waits for the list of its tools."""

_HINTS_ARE_YOURS = "Only your own files may set it. Write the server in your config.toml, or remove it there."


class _Shown(msgspec.Struct, frozen=True):
    """What is shown of servers when the user is asked about them."""

    servers: tuple[str, ...]


def mcp_settings(
    environ: Mapping[str, str],
    cwd: Path,
    arguments: Arguments,
    *,
    own: McpTable,
    ask: AskTrust | None = None,
    say: Callable[[str], None] = lambda _: None,
) -> McpSettings | None:
    """Return the servers that may be asked in `cwd`, None if there are none; `say` reports what is not used.

    `own` are those of the user's config. Of several with one name the first counts: of the command line, of Claude Code
    for this project, of the project, of the config, of the user's `mcp.json`, of Claude Code for all projects.
    Raise `ConfigInvalid` for a file of the command line that cannot be read, and `StorageFailed` if an answer cannot be
    stored.
    """
    files = [server_file(Path(each).expanduser().absolute()) for each in arguments.mcp_config or ()]
    if not arguments.strict_mcp_config:
        claude = _claude(environ, cwd, say) if own.read_claude else None
        files += () if claude is None else _trusted_claude(environ, claude.project, claude.local, ask, say)
        files += _projects(environ, cwd, ask, say)
        files.append(servers_of_tables(own.servers, path=homes(environ).config))
        files += _own(environ, say)
        files += () if claude is None else _trusted_claude(environ, "", claude.user, ask, say)
    servers, faults = together(files)
    for fault in faults:
        say(fault)
    asks = arguments.prompt is None
    if not servers:
        return None
    return McpSettings(servers=servers, lists=mcp_lists(environ), can_ask_user=asks, sign_ins=sign_ins(environ))


def with_client_servers(
    settings: McpSettings | None, servers: Sequence[McpServer], *, environ: Mapping[str, str]
) -> McpSettings | None:
    """Return the settings with further servers, which a client of holdfast passes for one session.

    They come before configured servers that are called the same, as those of the command line do. None if there are
    none at all.
    """
    known = () if settings is None else settings.servers
    both, _ = together((ServerFile(path=Path(), servers=tuple(servers)), ServerFile(path=Path(), servers=known)))
    if not both:
        return None
    asks = settings is None or settings.can_ask_user
    return McpSettings(servers=both, lists=mcp_lists(environ), can_ask_user=asks, sign_ins=sign_ins(environ))


def mcp_lists(environ: Mapping[str, str]) -> Path:
    """Return the folder with the lists of tools that servers gave."""
    return homes(environ).cache / "mcp"


def sign_ins(environ: Mapping[str, str]) -> StoredSignIns:
    """Return the user's sign-ins at servers."""
    return StoredSignIns(homes(environ).keys)


def own_server_path(environ: Mapping[str, str]) -> Path:
    """Return the path of the user's own servers."""
    return homes(environ).config.with_name(USER_FILE)


def ask_new_servers(settings: McpSettings, cwd: Path) -> None:
    """Ask the servers whose tools are not known yet, for at most HEADLESS_WAIT. A failure is reported later."""
    from holdfast.tools.mcp.discovery import ask_servers, unknown_servers  # noqa: PLC0415 - once for each server

    new = unknown_servers(settings)
    if new.servers:
        asyncio.run(ask_servers(new, cwd=cwd, within=HEADLESS_WAIT))


def _own(environ: Mapping[str, str], say: Callable[[str], None]) -> Iterator[ServerFile]:
    path = own_server_path(environ)
    file = _read(path, say) if path.exists() else None
    if file is not None:
        yield file


def _projects(
    environ: Mapping[str, str], cwd: Path, ask: AskTrust | None, say: Callable[[str], None]
) -> Iterator[ServerFile]:
    path = project_server_path(cwd)
    file = _read(path, say) if path is not None else None
    if file is not None:
        yield from _trusted(file, lambda: server_decisions(environ, file.path), ask, say)


def _claude(environ: Mapping[str, str], cwd: Path, say: Callable[[str], None]) -> ClaudeServers | None:
    path = claude_path(environ.get("HOME", ""))
    try:
        return None if path is None else claude_servers(path, cwd)
    except ConfigInvalid as error:  # a broken file must not stop the session
        say(f"{error} Its servers are not used.")
        return None


def _trusted_claude(
    environ: Mapping[str, str], project: str, file: ServerFile, ask: AskTrust | None, say: Callable[[str], None]
) -> Iterator[ServerFile]:
    yield from _trusted(file, lambda: claude_server_decisions(environ, file.path, project), ask, say)


def _trusted(
    file: ServerFile, made: Callable[[], Project], ask: AskTrust | None, say: Callable[[str], None]
) -> Iterator[ServerFile]:
    """Yield the file if it may count: the user trusts it, or it starts nothing."""
    if not file.servers:
        yield file
        return
    decisions = made()
    trusted = decisions.trusts(file.digest)
    if trusted is None and ask is not None and not decisions.unread:
        shown = tuple(f"{each.name}: {each.shown}" for each in file.servers)
        trusted = ask(file.path, _Shown(servers=shown))
        decisions.set_trust(file.digest, trusted=trusted)
    if trusted:
        yield _without_hints(file, say)
    else:
        say(f"Ignoring the untrusted MCP servers of {str(file.path)!r}. {TRUST_IT}")


def _without_hints(file: ServerFile, say: Callable[[str], None]) -> ServerFile:
    """Return the file without `trust_hints`: the user was asked whether it may start programs, no more."""
    if ignored := [each.name for each in file.servers if each.trust_hints]:
        say(f"Ignoring `trust_hints` of {', '.join(map(repr, ignored))} in {str(file.path)!r}. {_HINTS_ARE_YOURS}")
    servers = tuple(msgspec.structs.replace(each, trust_hints=False) for each in file.servers)
    return msgspec.structs.replace(file, servers=servers)


def _read(path: Path, say: Callable[[str], None]) -> ServerFile | None:
    try:
        return server_file(path)
    except ConfigInvalid as error:  # a broken file must not stop the session
        say(f"{error} Its servers are not used.")
        return None

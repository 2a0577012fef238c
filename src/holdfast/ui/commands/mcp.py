"""`holdfast mcp`: manage the MCP servers of the user and of the project, in files that other programs read too."""

from __future__ import annotations

import argparse
import asyncio
import sys
from collections.abc import Container, Mapping
from pathlib import Path
from typing import Literal

import msgspec

from holdfast.config.mcp_servers import PROJECT_FILE, server_of_entry
from holdfast.config.project_config import nearest, read_settings_file
from holdfast.config.settings import read_config
from holdfast.config.toml_edit import key_text
from holdfast.errors import EXIT_FAILED, EXIT_OK, ConfigInvalid, StorageFailed, UsageError
from holdfast.system.durable_files import make_folder, replace_file
from holdfast.system.user_directories import homes
from holdfast.tools.mcp.connections import McpSettings
from holdfast.tools.mcp.server_definition import McpServer
from holdfast.tools.mcp.stored_tools import ToolList
from holdfast.tools.mcp.tool_declarations import session_schemas
from holdfast.tools.mcp.tool_names import names_for_model
from holdfast.typed_data import convert_value, decode_json
from holdfast.ui.command_table import MCP_SERVE
from holdfast.ui.startup.arguments import Arguments, Parser
from holdfast.ui.startup.mcp_servers import mcp_lists, mcp_settings, sign_ins, user_server_path
from holdfast.ui.startup.session_choice import working_directory
from holdfast.ui.view.columns import home, row, single_line, widths

TEST_WAIT = 60.0
"""Seconds that `test` waits for a server."""

ConfigScope = Literal["user", "project"]


class _Arguments(argparse.Namespace):
    action: str | None = None
    name: str
    json: str
    command: list[str]
    scope: ConfigScope = "user"
    env: list[str] | None = None
    header: list[str] | None = None
    sandbox: bool = False
    network: list[str] | None = None


def command_parser() -> argparse.ArgumentParser:
    """Return the parser of this command's options."""
    parser = Parser(prog="holdfast mcp", description="Manage MCP servers.", allow_abbrev=False)
    below = parser.add_subparsers(dest="action", metavar="ACTION")
    add = _action(below, "add", "add a server: a URL, or a command after --")
    add.add_argument("name", metavar="SERVER")
    add.add_argument("command", nargs=argparse.REMAINDER, metavar="URL | -- COMMAND [ARGUMENT …]")
    add.add_argument("-e", "--env", action="append", metavar="VARIABLE=VALUE", help="set a variable for the command")
    add.add_argument("-H", "--header", action="append", metavar="HEADER: VALUE", help="send a header to the URL")
    add.add_argument("--sandbox", action="store_true", help="run the command in a sandbox, without network")
    add.add_argument("--network", action="append", metavar="HOST", help="reach this host from the sandbox")
    json = _action(below, "add-json", "add a server in the JSON format of .mcp.json")
    json.add_argument("name", metavar="SERVER")
    json.add_argument("json", metavar="JSON")
    for each in (add, json):
        _add_scope(each)
    _action(below, "list", "list the servers, with their known tools")
    for action, what in (
        ("get", "show one server"),
        ("test", "connect to a server and list its tools"),
        ("login", "sign in to a server (OAuth)"),
        ("logout", "sign out of a server: delete the stored sign-in"),
    ):
        _action(below, action, what).add_argument("name", metavar="SERVER")
    below.add_parser("serve", help="serve other agents (see: holdfast mcp serve -h)", add_help=False)
    remove = _action(below, "remove", "remove a server")
    remove.add_argument("name", metavar="SERVER")
    _add_scope(remove)
    return parser


def _action(
    actions: argparse._SubParsersAction[Parser],  # pyright: ignore[reportPrivateUsage] - argparse has no public name
    name: str,
    what: str,
) -> Parser:
    """Add an action, described in the list of actions and on its own help page."""
    return actions.add_parser(name, help=what, description=f"{what[0].upper()}{what[1:]}.", allow_abbrev=False)


def _add_scope(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "-s", "--scope", choices=("user", "project"), default="user", help="which file: yours (default), or .mcp.json"
    )


def main(argv: list[str], *, environ: Mapping[str, str]) -> int:
    """Run an action and return the exit code. Raise `HoldfastError`."""
    if argv[:1] == ["serve"]:
        return MCP_SERVE.run(argv[1:], environ)  # another program, in effect
    arguments = command_parser().parse_args(argv, namespace=_Arguments())
    cwd = working_directory(None)
    read_config(homes(environ).config)
    match arguments.action:
        case "add":
            _store(arguments, _entry_of(arguments), environ=environ, cwd=cwd)
        case "add-json":
            _store(arguments, arguments.json.encode(), environ=environ, cwd=cwd)
        case "remove":
            _remove(arguments, environ=environ, cwd=cwd)
        case "list":
            for line in mcp_server_lines(_settings(environ, cwd)):
                print(line)
        case "get":
            for line in server_details(_server_named(arguments.name, environ, cwd)):
                print(line)
        case "test":
            return _test(_server_named(arguments.name, environ, cwd), environ=environ, cwd=cwd)
        case "login":
            return _login(_server_named(arguments.name, environ, cwd), environ=environ)
        case "logout":
            _logout(_server_named(arguments.name, environ, cwd), environ=environ)
        case _:
            raise UsageError(
                "No action given (expected add, add-json, list, get, remove, test, login, logout or serve). "
                "See: holdfast mcp -h."
            )
    return EXIT_OK


def mcp_server_lines(settings: McpSettings | None, *, failed: Container[str] = ()) -> list[str]:
    """Return the servers as lines for people, with their known tools, or that they are among those that `failed`."""
    if settings is None:
        return ["No MCP servers. Add one: holdfast mcp add NAME -- COMMAND, or put a .mcp.json into the project."]
    stored = settings.stored
    declared = {schema.name for schema in session_schemas(settings.servers, stored.all(settings.servers))}
    rows: list[tuple[str, ...]] = []
    for each in settings.servers:
        found = stored.get(each)
        what = "failed" if each.name in failed else "tools not known yet"
        if found is not None and each.name not in failed:
            tools = names_for_model(each.name, found.tools)
            how = "declared" if declared.issuperset(tools) else "on demand"
            what = f"{len(tools)} tools, {how}"
        rows.append((single_line(each.name), what, single_line(each.shown), home(each.source)))
    sizes = widths(rows)
    return [row(each, sizes).rstrip() for each in rows]


def _settings(environ: Mapping[str, str], cwd: Path) -> McpSettings | None:
    def notify(text: str) -> None:
        print(f"holdfast: {single_line(text)}", file=sys.stderr)

    table = read_config(homes(environ).config).mcp
    return mcp_settings(environ, cwd, Arguments(), table=table, notify=notify)


def _server_named(name: str, environ: Mapping[str, str], cwd: Path) -> McpServer:
    settings = _settings(environ, cwd)
    servers = {} if settings is None else {each.name: each for each in settings.servers}
    if name not in servers:
        expected = ", ".join(servers) or "none is configured"
        raise UsageError(f"Unknown MCP server {name!r} (expected one of {expected}). Add it: holdfast mcp add.")
    return servers[name]


def server_details(server: McpServer) -> list[str]:
    """Return the definition of a server as lines for people, without values that may be secrets."""
    rows = [("name", server.name), ("source", home(server.source)), ("url" if server.url else "command", server.shown)]
    rows += [("env", name) for name in server.env]  # values may be secrets
    rows += [("header", name) for name in server.headers]
    rows += [("hints", "trusted: calls that it declares read-only run without asking")] if server.trust_hints else []
    return [f"{what:<7}  {single_line(value)}" for what, value in rows]


def _test(server: McpServer, *, environ: Mapping[str, str], cwd: Path) -> int:
    from holdfast.tools.mcp.connections import ask_servers

    settings = McpSettings(servers=(server,), lists=mcp_lists(environ), can_ask_user=True, sign_ins=sign_ins(environ))
    try:
        answer = asyncio.run(ask_servers(settings, cwd=cwd, within=TEST_WAIT))[server.name]
    except OSError as error:
        raise StorageFailed(f"Folder {str(settings.lists)!r} cannot be written: {error.strerror}.") from error
    if not isinstance(answer, ToolList):
        print(f"holdfast: {answer}", file=sys.stderr)
        return EXIT_FAILED
    print(single_line(f"{server.name}: {answer.version.strip() or 'unnamed'}, protocol {answer.protocol}"))
    for name, tool in names_for_model(server.name, answer.tools).items():
        print(f"  {name}  {single_line(next(iter(tool.description.splitlines()), ''))}")
    for each in answer.unusable:
        print(f"  {single_line(each.name)} cannot be used: {single_line(each.why)}")
    return EXIT_OK


def _login(server: McpServer, *, environ: Mapping[str, str]) -> int:
    at = _at_url(server, environ)
    try:
        from holdfast.tools.mcp.sdk.sign_in import sign_in_user  # more than a second, for those who sign in
    except ImportError as error:
        raise UsageError("Signing in needs the package 'mcp'. Install it: pip install 'holdfast[mcp]'.") from error

    def show(page: str) -> None:
        print(f"Open this page in a browser on this machine, and sign in:\n\n{single_line(page)}\n", flush=True)

    if asyncio.run(sign_in_user(at, sign_ins(environ), show)):
        print(f"Signed in to {server.name}. Try it: holdfast mcp test {server.name}")
    else:
        print(f"{server.name} needs no sign-in.")
    return EXIT_OK


def _logout(server: McpServer, *, environ: Mapping[str, str]) -> None:
    was_signed_in = sign_ins(environ).forget(_at_url(server, environ).url)
    print(f"Signed out of {server.name}." if was_signed_in else f"You were not signed in to {server.name}.")


def _at_url(server: McpServer, environ: Mapping[str, str]) -> McpServer:
    if not server.url:
        raise UsageError(f"MCP server {server.name!r} has no URL, so it needs no sign-in. Run it with `test`.")
    return server.expanded(environ)


def _entry_of(arguments: _Arguments) -> bytes:
    words = arguments.command[1:] if arguments.command[:1] == ["--"] else arguments.command
    if not words:
        raise UsageError("Nothing to add. Pass a URL, or a command after --: holdfast mcp add NAME -- npx -y PACKAGE.")
    entry: dict[str, object] = {"command": words[0], "args": words[1:]}
    if words[0].startswith(("http://", "https://")):
        if len(words) > 1:
            raise UsageError(f"Unexpected {words[1]!r} after the URL. Put options before the name.")
        entry = {"type": "http", "url": words[0]}
    entry |= {"sandbox": True} if arguments.sandbox or arguments.network else {}
    entry |= {"network": arguments.network} if arguments.network else {}
    for option, field, between in ((arguments.env, "env", "="), (arguments.header, "headers", ":")):
        pairs = [each.partition(between) for each in option or ()]
        for name, found, _ in pairs:
            if not found or not name.strip():
                raise UsageError(f"{name!r} has no value (expected NAME{between}VALUE).")
        if pairs:
            entry[field] = {name.strip(): value.strip() for name, _, value in pairs}
    return msgspec.json.encode(entry)


def _store(arguments: _Arguments, entry: bytes, *, environ: Mapping[str, str], cwd: Path) -> None:
    path = _path(arguments.scope, environ, cwd)
    try:
        server_of_entry(arguments.name, entry, source=str(path))
    except ConfigInvalid as error:
        raise UsageError(str(error)) from error
    document, servers = _document(path)
    servers[arguments.name] = msgspec.json.decode(entry)
    _write(path, document)
    print(f"Added {arguments.name} to {home(str(path))}. Try it: holdfast mcp test {arguments.name}")


def _remove(arguments: _Arguments, *, environ: Mapping[str, str], cwd: Path) -> None:
    path = _path(arguments.scope, environ, cwd)
    document, servers = _document(path)
    if servers.pop(arguments.name, None) is None:
        config = homes(environ).config
        if arguments.scope == "user" and arguments.name in read_config(config).mcp.servers:
            table = f"[mcp.servers.{key_text((arguments.name,))}]"
            raise UsageError(f"MCP server {arguments.name!r} is in {str(config)!r}. Remove {table} there.")
        raise UsageError(f"No MCP server {arguments.name!r} in {str(path)!r}. See: holdfast mcp list.")
    _write(path, document)
    print(f"Removed {arguments.name} from {home(str(path))}.")


def _path(scope: ConfigScope, environ: Mapping[str, str], cwd: Path) -> Path:
    return user_server_path(environ) if scope == "user" else nearest(cwd, PROJECT_FILE) or cwd / PROJECT_FILE


def _document(path: Path) -> tuple[dict[str, object], dict[str, object]]:
    """Return the content of a file, and the servers within it. Raise `ConfigInvalid`."""
    raw = read_settings_file(path, "MCP config") if path.exists() else b"{}"
    try:
        document = decode_json(raw, dict[str, object])
        servers = convert_value(document.get("mcpServers", {}), dict[str, object])
    except (msgspec.DecodeError, UnicodeDecodeError) as error:
        raise ConfigInvalid(f"MCP config {str(path)!r} cannot be changed: {error}. Fix that file first.") from error
    document["mcpServers"] = servers
    return document, servers


def _write(path: Path, document: dict[str, object]) -> None:
    try:
        make_folder(path.parent)
        replace_file(path, msgspec.json.format(msgspec.json.encode(document), indent=2) + b"\n")
    except OSError as error:
        raise StorageFailed(
            f"MCP config {str(path)!r} cannot be written: {error.strerror}. Nothing was changed."
        ) from error

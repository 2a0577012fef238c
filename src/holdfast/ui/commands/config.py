"""`holdfast config`: show every setting with its value and source (of keys only the source), or change one."""

from __future__ import annotations

import argparse
import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import msgspec

from holdfast.config.project_decisions import Project
from holdfast.config.settings import read_config
from holdfast.errors import EXIT_OK, UsageError
from holdfast.providers.credentials.redaction import strip_credentials
from holdfast.providers.registry import Providers, is_address
from holdfast.system.bounded_files import STATE_FILE, read_bounded
from holdfast.system.user_directories import homes
from holdfast.text import literal
from holdfast.tool_calls import Pattern
from holdfast.ui.startup.arguments import Arguments, Parser, add_settings
from holdfast.ui.startup.project_trust import judge_project
from holdfast.ui.startup.run_options import run_options
from holdfast.ui.startup.session_choice import working_directory
from holdfast.ui.startup.session_rules import rule_note
from holdfast.ui.startup.settings_sources import Layer, Value, display_value, layer, option_layer, values
from holdfast.ui.view.columns import cells, home

if TYPE_CHECKING:
    from holdfast.ui.settings.setting_change import SettingChange


class Place(msgspec.Struct, frozen=True, kw_only=True):
    """A file or folder that holdfast uses, with a remark."""

    name: str
    path: str
    note: str


class Variable(msgspec.Struct, frozen=True, kw_only=True):
    """An environment variable of providers, and where it is set. `value` is shown for addresses, never for keys."""

    name: str
    providers: tuple[str, ...]
    source: str
    value: str = ""


class RuleRow(msgspec.Struct, frozen=True, kw_only=True):
    """A rule about calls, or a pattern that the user always allows. `note` says why it matches nothing, else ""."""

    verdict: str
    rule: str
    source: str
    note: str = ""


class ResolvedConfig(msgspec.Struct, frozen=True, kw_only=True):
    """The settings, files, keys and rules that a run would use."""

    places: tuple[Place, ...]
    values: tuple[Value, ...]
    keys: tuple[Variable, ...]
    addresses: tuple[Variable, ...]
    rules: tuple[RuleRow, ...] = ()


class _Arguments(Arguments):
    what: str | None
    name: str | None
    value: str | None
    project: bool
    format: str


def command_parser() -> argparse.ArgumentParser:
    """Return the parser of this command's options, including a run's options that override settings."""
    parser = Parser(
        prog="holdfast config",
        description="Show every setting with its value and source, as for a run with these options, or change one.",
        allow_abbrev=False,
    )
    add_settings(parser)
    parser.add_argument(
        "what",
        nargs="?",
        choices=("path", "set", "unset", "edit"),
        help="path: print the path of the config file; set SETTING VALUE, unset SETTING; edit: open it in your editor",
    )
    parser.add_argument("name", nargs="?", metavar="SETTING", help="a setting, such as limits.max_steps")
    parser.add_argument("value", nargs="?", metavar="VALUE", help="its value, such as 50")
    parser.add_argument(
        "--project", action="store_true", help="with path, set, unset, edit: the config of this project"
    )
    parser.add_format()
    return parser


def main(argv: list[str], *, environ: Mapping[str, str]) -> int:
    """Print the settings and return the exit code. Raise `HoldfastError` for unreadable files."""
    arguments = command_parser().parse_args(argv, namespace=_Arguments())
    cwd = working_directory(arguments.cwd)
    if arguments.what == "path" and not arguments.project:
        print(literal(str(homes(environ).config)))
        return EXIT_OK
    judge_project(environ, cwd, trusted=arguments.trust_project)
    if arguments.what is not None or arguments.project:
        return _change(arguments, environ, cwd)
    found = resolved_settings(arguments, environ, cwd)
    if arguments.format == "json":
        print(json.dumps(msgspec.to_builtins(found), indent=2))
    else:
        for line in config_lines(found):
            print(line)
    return EXIT_OK


def _change(arguments: _Arguments, environ: Mapping[str, str], cwd: Path) -> int:
    """Change a setting, or edit the file, and return the exit code. If it raises, nothing is changed."""
    from holdfast.ui.settings.setting_change import SettingChanges

    changes, scope = SettingChanges(environ, cwd), "project" if arguments.project else "user"
    match (arguments.what, arguments.name, arguments.value):
        case ("path", None, None):
            print(literal(str(changes.path(scope))))
        case ("set", str(name), str(value)):
            print(literal(change_text(changes.set(name, value, scope))))
        case ("unset", str(name), None):
            print(literal(change_text(changes.unset(name, scope))))
        case ("edit", None, None):
            from holdfast.ui.settings.config_editor import edit_config

            print(edit_config(changes, scope, environ))
        case _:
            raise UsageError("Usage: holdfast config [path | set SETTING VALUE | unset SETTING | edit] [--project]")
    return EXIT_OK


def change_text(change: SettingChange) -> str:
    """Return a sentence about the change of a setting."""
    where = home(str(change.path))
    return (
        f"{change.name} = {display_value(change.now)} in {where}"
        if change.now is not None
        else f"{change.name} is not set in {where}"
    )


def resolved_settings(arguments: Arguments, environ: Mapping[str, str], cwd: Path) -> ResolvedConfig:
    """Return the settings of a run in `cwd` with these options, without any trust decision. Raise `ConfigInvalid`."""
    places = homes(environ)
    user_config = read_config(places.config)
    options = run_options(arguments, environ, user_config=user_config, cwd=cwd)
    files = [Place(name="config", path=str(places.config), note="" if places.config.exists() else "does not exist yet")]
    layers: list[Layer] = []
    if places.config.exists():
        layers.append(layer(str(places.config), read_bounded(places.config, STATE_FILE).decode()))
    if options.project is not None:
        layers.append(layer(str(options.project.path), options.project.raw.decode()))
        files.append(Place(name="project", path=str(options.project.path), note="trusted"))
    files += [Place(name="project", path=str(cwd), note=note) for note in options.notices]
    files.append(Place(name="sessions", path=str(places.sessions), note=""))
    files.append(Place(name="keys", path=str(places.keys), note=options.unread))
    return ResolvedConfig(
        places=tuple(files),
        values=tuple(values(options.config, [*layers, option_layer(arguments)])),
        keys=tuple(
            Variable(name=name, providers=who, source=options.keys[name].source if name in options.keys else "")
            for name, who in _by_variable(options.providers, "key").items()
        ),
        addresses=tuple(
            Variable(
                name=name,
                providers=who,
                source="environment",
                value=strip_credentials(environ[name]) if is_address(environ[name]) else "not a URL",
            )
            for name, who in _by_variable(options.providers, "address").items()
            if environ.get(name)
        ),
        rules=tuple(rule_rows(options.project_of(cwd))),
    )


def rule_rows(project: Project, session: Iterable[Pattern] = ()) -> Iterator[RuleRow]:
    """Yield every rule that applies in a project, then the user's approvals there and in the open `session`."""
    for rule in project.rules.rules:
        yield RuleRow(verdict=rule.verdict, rule=rule.text, source=rule.source, note=rule_note(rule))
    remembered = project.remembered
    named = {"execute": "Bash", "write": "Edit", "read": "WebFetch", "remote": "MCP"}
    for pattern in dict.fromkeys((*project.patterns, *session)):
        source = "you, in this folder" if pattern in remembered else "you, in this session"
        if pattern in project.granted:
            source = "[allow] of this project"
        yield RuleRow(verdict="allow", rule=f"{named[pattern.effect]}: {pattern.text}", source=source)


def rule_lines(rules: Iterable[RuleRow]) -> Iterator[str]:
    """Yield the rules as lines for people."""
    rows = [(each.verdict, each.rule, home(each.source) + f" ({each.note})" * bool(each.note)) for each in rules]
    yield from _columns(rows)


def config_lines(found: ResolvedConfig) -> Iterator[str]:
    """Yield the settings as lines for people."""
    yield from _columns([(each.name, home(each.path), each.note) for each in found.places])
    yield ""
    yield from _columns([(each.name, display_value(each.value), _source(each)) for each in found.values])
    yield ""
    yield from _columns(
        [
            *((each.name, f"set, {each.source}" if each.source else "not set", ", ".join(each.providers))
              for each in found.keys),
            *((each.name, each.value, ", ".join(each.providers)) for each in found.addresses),
        ]
    )  # fmt: skip
    if found.rules:
        yield ""
        yield from rule_lines(found.rules)


def _by_variable(providers: Providers, which: str) -> dict[str, tuple[str, ...]]:
    found: dict[str, tuple[str, ...]] = {}
    for each in providers.values():
        name = each.key_variable if which == "key" else each.address_variable
        if name:
            found[name] = (*found.get(name, ()), each.name)
    return found


def _source(value: Value) -> str:
    return f"{home(value.source)}:{value.line}" if value.line else home(value.source)


def _columns(rows: Sequence[tuple[str, str, str]]) -> Iterator[str]:
    """Yield the rows in columns; an overlong value moves only the values after it."""
    texts = [tuple(literal(cell).replace("\n", " ") for cell in row) for row in rows]
    wide = [min(40, max((cells(row[column]) for row in texts), default=0)) for column in (0, 1)]
    for first, second, third in texts:
        yield f"{first:<{wide[0]}}  {second:<{wide[1]}}  {third}".rstrip()

"""`holdfast config`: every setting with its value and where that came from; of keys only where they are."""

from __future__ import annotations

import argparse
import json
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

import msgspec

from holdfast.agent.project import project_file
from holdfast.agent.providers import Providers, is_address
from holdfast.agent.secrets import bare
from holdfast.config import ProjectConfig, homes, read_config
from holdfast.errors import EXIT_OK
from holdfast.text import literal
from holdfast.ui.arguments import Arguments, Parser, add_settings
from holdfast.ui.choosing import folder, given_of, judge_project, project_config, settings_of
from holdfast.ui.table import cells, home
from holdfast.ui.values import Layer, Value, layer, options, shown, values


class Place(msgspec.Struct, frozen=True, kw_only=True):
    """A file or a folder that holdfast uses, and what is to be said of it."""

    name: str
    path: str
    note: str


class Variable(msgspec.Struct, frozen=True, kw_only=True):
    """A variable that providers look at: whether it is set, and where; `value` of an address, never of a key."""

    name: str
    providers: tuple[str, ...]
    source: str
    value: str = ""


class Settled(msgspec.Struct, frozen=True, kw_only=True):
    """All that a run would go by."""

    places: tuple[Place, ...]
    values: tuple[Value, ...]
    keys: tuple[Variable, ...]
    addresses: tuple[Variable, ...]


class _Arguments(Arguments):
    what: str | None
    format: str


def command_parser() -> argparse.ArgumentParser:
    """Return the parser of this command's options: those of a run that set something, and its own."""
    made = Parser(
        prog="holdfast config",
        description="Every setting with its value and where that came from, as a run with these options would have it.",
        allow_abbrev=False,
    )
    add_settings(made)
    made.add_argument("what", nargs="?", choices=("path",), help="path: print where the config is")
    made.add_argument("--format", choices=("text", "json"), default="text")
    made.add_argument("--json", dest="format", action="store_const", const="json", help="short for --format json")
    return made


def main(argv: list[str], *, environ: Mapping[str, str]) -> int:
    """Print the settings and return the exit code; raises `HoldfastError` for what cannot be read."""
    arguments = command_parser().parse_args(argv, namespace=_Arguments())
    if arguments.what == "path":
        print(literal(str(homes(environ).config)))
        return EXIT_OK
    cwd = folder(arguments.cwd)
    judge_project(environ, cwd, trusted=arguments.trust_project)
    found = settled(arguments, environ, cwd)
    if arguments.format == "json":
        print(json.dumps(msgspec.to_builtins(found), indent=2))
    else:
        for line in lines(found):
            print(line)
    return EXIT_OK


def settled(arguments: Arguments, environ: Mapping[str, str], cwd: Path) -> Settled:
    """Return what a run in `cwd` with these options would go by, and judge nothing; raises `ConfigInvalid`."""
    places = homes(environ)
    own = read_config(places.config)
    notes: list[str] = []
    project = project_config(environ, cwd, ask=None, say=notes.append)
    settings = settings_of(arguments, environ, own=own, project=project)
    bounds = {"max_steps": settings.limits.max_steps, "timeout": settings.limits.timeout}
    config = msgspec.structs.replace(
        settings.config,
        model=arguments.model or settings.config.model,
        permission_mode=settings.mode,
        limits=msgspec.structs.replace(settings.config.limits, **bounds),
    )
    files: list[Place] = []
    layers: list[Layer] = []
    there = places.config.exists()
    files.append(Place(name="config", path=str(places.config), note="" if there else "does not exist yet"))
    if there:
        layers.append(layer(str(places.config), places.config.read_text("utf-8")))
    files += _project(environ, cwd, project, notes, layers)
    files.append(Place(name="sessions", path=str(places.sessions), note=""))
    files.append(Place(name="keys", path=str(places.keys), note=settings.unread))
    return Settled(
        places=tuple(files),
        values=tuple(values(config, [*layers, options(given_of(arguments))])),
        keys=tuple(
            Variable(name=name, providers=who, source=settings.keys[name].source if name in settings.keys else "")
            for name, who in _by_variable(settings.providers, "key").items()
        ),
        addresses=tuple(
            Variable(
                name=name,
                providers=who,
                source="environment",
                value=bare(environ[name]) if is_address(environ[name]) else "not an address",
            )
            for name, who in _by_variable(settings.providers, "address").items()
            if environ.get(name)
        ),
    )


def lines(found: Settled) -> Iterator[str]:
    """Yield the settings as lines for people."""
    yield from _columns([(each.name, home(each.path), each.note) for each in found.places])
    yield ""
    yield from _columns([(each.name, shown(each.value), _source(each)) for each in found.values])
    yield ""
    yield from _columns(
        [
            *((each.name, f"set, {each.source}" if each.source else "not set", ", ".join(each.providers))
              for each in found.keys),
            *((each.name, each.value, ", ".join(each.providers)) for each in found.addresses),
        ]
    )  # fmt: skip


def _project(
    environ: Mapping[str, str], cwd: Path, project: ProjectConfig | None, notes: Sequence[str], layers: list[Layer]
) -> Iterator[Place]:
    """Yield the project's config, if it has one, and add what it says to the layers if it counts."""
    if project is not None:
        file = project_file(cwd, homes(environ).config)
        assert file is not None
        layers.append(layer(str(file.path), file.raw.decode()))
        yield Place(name="project", path=str(file.path), note="trusted")
    for note in notes:
        yield Place(name="project", path=str(cwd), note=note)


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
    """Yield the rows in columns; what is too long for its own moves only what follows it."""
    shown = [tuple(literal(cell).replace("\n", " ") for cell in row) for row in rows]
    wide = [min(40, max((cells(row[column]) for row in shown), default=0)) for column in (0, 1)]
    for first, second, third in shown:
        yield f"{first:<{wide[0]}}  {second:<{wide[1]}}  {third}".rstrip()

"""`holdfast completion`: a script for a shell, and the candidates that the script requests.

Candidates come from the same parsers that read the command line. An invalid line has no candidates.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import cast

import msgspec

from holdfast.config.settings import read_config
from holdfast.errors import EXIT_OK, ConfigInvalid, UsageError
from holdfast.providers.registry import known_providers
from holdfast.session.catalog import Catalog, SessionSummary
from holdfast.system.user_directories import homes
from holdfast.text import literal
from holdfast.ui.command_table import COMMANDS, MCP_SERVE
from holdfast.ui.commands.completion.scripts import SCRIPTS
from holdfast.ui.startup.arguments import Parser
from holdfast.ui.view.columns import single_line


class Candidate(msgspec.Struct, frozen=True):
    """A possible next word, with a description."""

    value: str
    description: str = ""


CandidateSource = Callable[[str], Iterable[Candidate]]
"""Returns candidates for the value of an option or argument, by its metavar; empty for an unknown one."""


class _Arguments(argparse.Namespace):
    shell: str | None
    line: str | None


def command_parser() -> argparse.ArgumentParser:
    """Return the parser of this command's options."""
    parser = Parser(prog="holdfast completion", description="Print a shell completion script.", allow_abbrev=False)
    parser.add_argument("shell", nargs="?", choices=tuple(SCRIPTS))
    parser.add_argument("--line", help=argparse.SUPPRESS)
    return parser


def main(argv: list[str], *, environ: Mapping[str, str]) -> int:
    """Print a script, or the candidates for a line, and return the exit code. Raise `UsageError`."""
    arguments = command_parser().parse_args(argv, namespace=_Arguments())
    if arguments.line is not None:
        for each in candidates(arguments.line, lambda metavar: known_candidates(metavar, environ)):
            value = literal(each.value)
            print(f"{value}\t{single_line(each.description)}" if each.description else value)
    elif arguments.shell is None:
        raise UsageError(
            f"No shell given (expected one of {', '.join(SCRIPTS)}). For bash, add to ~/.bashrc: "
            'eval "$(holdfast completion bash)".'
        )
    else:
        print(SCRIPTS[arguments.shell], end="")
    return EXIT_OK


def candidates(line: str, known: CandidateSource) -> list[Candidate]:
    """Return the candidates for the end of the line, whose last word may be incomplete."""
    words = line.split()[1:]
    last_word = "" if line[-1:].isspace() or not words else words.pop()
    option, equals, value = last_word.partition("=")
    before = f"{option}=" if equals and last_word.startswith("--") else ""
    typed = value if before else last_word
    found = _next([*words, option] if before else words, typed, known)
    return [Candidate(f"{before}{each.value}", each.description) for each in found if each.value.startswith(typed)]


def _next(words: Sequence[str], prefix: str, known: CandidateSource) -> Iterator[Candidate]:
    """Yield the candidates after the words; `prefix` is the beginning of the next word."""
    if not words and not prefix.startswith("-"):
        yield from (Candidate(name, command.summary) for name, command in COMMANDS.items())
    parser, words = _parser_of(words)
    option = _open_option(parser, words)
    if option is not None and _is_value(parser, words):
        yield from _values(option, known)
        return
    if prefix.startswith("-"):
        shown = (action for action in _actions(parser) if action.help != argparse.SUPPRESS)
        yield from (Candidate(name, action.help or "") for action in shown for name in action.option_strings)
        return
    if option is not None:
        yield from _values(option, known)
    if (argument := _argument(parser, words)) is not None:
        yield from _values(argument, known)


def _parser_of(words: Sequence[str]) -> tuple[argparse.ArgumentParser, Sequence[str]]:
    """Return the parser for the line, and the words that this parser reads."""
    if not words or words[0] not in COMMANDS:
        from holdfast.ui.startup.arguments import parser

        return parser(), words
    if list(words[:2]) == ["mcp", "serve"]:
        return MCP_SERVE.make_parser(), words[2:]
    found, rest = COMMANDS[words[0]].make_parser(), words[1:]
    subparsers = _subparsers(found)
    return (subparsers[rest[0]], rest[1:]) if rest and rest[0] in subparsers else (found, rest)


def _open_option(parser: argparse.ArgumentParser, words: Sequence[str]) -> argparse.Action | None:
    """Return the option in the last word, if a value can follow it."""
    last = words[-1] if words else ""
    found = (action for action in _actions(parser) if last in action.option_strings and action.nargs != 0)
    return next(found, None)


def _argument(parser: argparse.ArgumentParser, words: Sequence[str]) -> argparse.Action | None:
    """Return the argument that comes after the words, None if there are no more."""
    positionals = [
        each for at, each in enumerate(words) if not each.startswith("-") and not _is_value(parser, words[:at])
    ]
    arguments = [each for each in _actions(parser) if not each.option_strings]
    if len(positionals) < len(arguments):
        return arguments[len(positionals)]
    return arguments[-1] if arguments and arguments[-1].nargs in ("*", "+") else None


def _is_value(parser: argparse.ArgumentParser, words: Sequence[str]) -> bool:
    """Return whether the word after these is the value of an option."""
    option = _open_option(parser, words)
    return option is not None and option.nargs != "?"


def _values(action: argparse.Action, known: CandidateSource) -> Iterator[Candidate]:
    if below := _commands(action):
        yield from (Candidate(name, parser.description or "") for name, parser in below.items())
    elif action.choices is not None:
        yield from (Candidate(str(each)) for each in action.choices)
    elif isinstance(action.metavar, str):
        yield from known(action.metavar)


def _subparsers(parser: argparse.ArgumentParser) -> Mapping[str, argparse.ArgumentParser]:
    """Return the subcommands of a command."""
    none: Mapping[str, argparse.ArgumentParser] = {}
    return next((below for each in _actions(parser) if (below := _commands(each))), none)


def _commands(action: argparse.Action) -> Mapping[str, argparse.ArgumentParser]:
    """Return the subcommands of an argument, none if it is not a subcommand argument."""
    choices: object = action.choices
    return cast("dict[str, argparse.ArgumentParser]", choices) if isinstance(choices, dict) else {}


def _actions(parser: argparse.ArgumentParser) -> list[argparse.Action]:
    return parser._actions  # noqa: SLF001 # pyright: ignore[reportPrivateUsage] - argparse has no other way to tell


def known_candidates(metavar: str, environ: Mapping[str, str]) -> Iterator[Candidate]:
    """Yield the candidates from sessions, models, providers and settings."""
    if metavar == "ID":
        yield from (Candidate(each.id, each.title) for each in _sessions(environ))
    elif metavar == "TRASHED-ID":
        yield from (Candidate(each.id, each.title) for each in _sessions(environ, trashed=True))
    elif metavar == "SETTING":
        from holdfast.ui.settings.setting_catalog import setting_names

        yield from (Candidate(name) for name in setting_names())
    elif metavar in ("PROVIDER:MODEL", "PROVIDER"):
        try:
            config = read_config(homes(environ).config)
            providers = known_providers(config.providers)
        except ConfigInvalid:  # completion must not print errors
            return
        if metavar != "PROVIDER:MODEL":
            yield from (Candidate(name) for name in providers)
            return
        used = (each.model for each in _sessions(environ))
        named = [config.model or "", *used, *(each.example for each in providers.values() if each.model)]
        yield from (Candidate(name) for name in dict.fromkeys(named) if name)
        yield from (Candidate(f"{name}:") for name, each in providers.items() if not each.model)


def _sessions(environ: Mapping[str, str], *, trashed: bool = False) -> list[SessionSummary]:
    """Return the sessions, those of this directory first."""
    try:
        catalog = Catalog(homes(environ).sessions)
        listed = catalog.trashed() if trashed else catalog.all()
        here = str(Path.cwd())
    except (UsageError, OSError):
        return []
    return sorted(listed, key=lambda each: each.cwd != here)

"""`holdfast setup`: provider, key, model, one tiny request, and a config, in a plain terminal.

Two rules. A key is neither shown nor printed. Nothing is written before everything is known, and then each file whole.
"""

from __future__ import annotations

import argparse
import signal
from collections.abc import Mapping, Sequence

from holdfast import __version__
from holdfast.agent.keys import KeyFile
from holdfast.agent.providers import known_providers
from holdfast.config import homes, read_config
from holdfast.errors import EXIT_INTERRUPTED, EXIT_OK, UsageError
from holdfast.ui import asking
from holdfast.ui.arguments import Parser
from holdfast.ui.setup.wizard import Chosen, Wizard
from holdfast.ui.table import home


class _Arguments(argparse.Namespace):
    forget: str | None


def command_parser() -> argparse.ArgumentParser:
    """Return the parser of this command's options."""
    parser = Parser(
        prog="holdfast setup", description="Choose a provider, keep its key, and try it.", allow_abbrev=False
    )
    parser.add_argument("--forget", metavar="PROVIDER", help="forget the key that was kept for this provider")
    return parser


def main(argv: Sequence[str], *, environ: Mapping[str, str]) -> int:
    """Ask, try and write, and return the exit code; raises `HoldfastError` for the caller to say."""
    arguments = command_parser().parse_args(argv, namespace=_Arguments())
    if arguments.forget is not None:
        return _forget(arguments.forget, environ)
    if not asking.terminal():
        raise UsageError(
            "Standard input or output is not a terminal, one was expected for the questions of holdfast setup. Without "
            "one, set the provider's key in the environment (export ANTHROPIC_API_KEY=…, say; docs/providers.md has "
            f"the others) and name the model with -m, or as `model` in {home(str(homes(environ).config))}."
        )
    if not set_up(environ):
        return EXIT_INTERRUPTED
    print("Begin: holdfast")
    return EXIT_OK


def set_up(environ: Mapping[str, str]) -> str:
    """Return PROVIDER:MODEL, set up now, "" if the person left: then nothing was changed. Raises `HoldfastError`."""
    print(f"holdfast {__version__}, set-up. Ctrl+C leaves, and everything is as it was.\n")
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    try:
        wizard = Wizard(environ)
        chosen = wizard.run()
        if chosen is None:
            print("Nothing was changed.")
            return ""
    except (KeyboardInterrupt, EOFError):
        print("\nNothing was changed.")
        return ""
    finally:
        signal.signal(signal.SIGINT, before)
    _written(chosen, wizard)
    return chosen.name


def _written(chosen: Chosen, wizard: Wizard) -> None:
    """Write what was chosen; Ctrl+C has to wait for the end of that."""
    before = signal.signal(signal.SIGINT, signal.SIG_IGN)
    try:
        for line in wizard.write(chosen):
            print(line)
    finally:
        signal.signal(signal.SIGINT, before)


def _forget(name: str, environ: Mapping[str, str]) -> int:
    provider = known_providers(read_config(homes(environ).config).providers).get(name)
    if provider is None or provider.key_variable is None:
        raise UsageError(
            f"Provider {name!r} is not known, or wants no key; one that does was expected. See: holdfast config."
        )
    forgotten = KeyFile(homes(environ).keys).forget(provider.key_variable)
    print(f"{provider.key_variable} is {'forgotten' if forgotten else 'not kept here'}.")
    if environ.get(provider.key_variable):
        print("It is still in the environment.")
    return EXIT_OK

"""`holdfast setup`: provider, key, model, one tiny request, and a config, in a plain terminal.

A key is never shown or printed. Nothing is written before all answers are complete; each file is written completely or
not at all.
"""

from __future__ import annotations

import argparse
import signal
from collections.abc import Mapping, Sequence

from holdfast import __version__
from holdfast.config.settings import read_config
from holdfast.errors import EXIT_INTERRUPTED, EXIT_OK, UsageError
from holdfast.providers.credentials.provider_keys import KeyFile
from holdfast.providers.registry import known_providers
from holdfast.system.user_directories import homes
from holdfast.ui.commands import questions
from holdfast.ui.commands.setup.wizard import SetupChoice, Wizard
from holdfast.ui.startup.arguments import Parser
from holdfast.ui.view.columns import home


class _Arguments(argparse.Namespace):
    forget: str | None
    search_key: bool


def command_parser() -> argparse.ArgumentParser:
    """Return the parser of this command's options."""
    parser = Parser(
        prog="holdfast setup", description="Choose a provider, store its key, and test it.", allow_abbrev=False
    )
    parser.add_argument("--forget", metavar="PROVIDER", help="delete the stored key of this provider")
    parser.add_argument("--search-key", action="store_true", help="store the API key of the configured search service")
    return parser


def main(argv: Sequence[str], *, environ: Mapping[str, str]) -> int:
    """Ask, test and write, and return the exit code; the caller prints `HoldfastError`."""
    arguments = command_parser().parse_args(argv, namespace=_Arguments())
    if arguments.forget is not None:
        return _forget(arguments.forget, environ)
    if not questions.is_interactive():
        raise UsageError(
            "Setup needs a terminal for its questions. Without a terminal, "
            "set the provider's key in the environment (e.g. export ANTHROPIC_API_KEY=…; docs/reference/providers.md "
            f"lists the others) and pass the model with -m, or as `model` in {home(str(homes(environ).config))}."
        )
    if arguments.search_key:
        from holdfast.ui.commands.setup.search_key import store_search_key

        return store_search_key(environ)
    if not set_up(environ):
        return EXIT_INTERRUPTED
    print("Done. Run: holdfast")
    return EXIT_OK


def set_up(environ: Mapping[str, str]) -> str:
    """Run the setup and return PROVIDER:MODEL, "" if the user cancelled without changes. Raise `HoldfastError`."""
    print(f"holdfast {__version__}, setup. Ctrl+C cancels without changes.\n")
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
    _write(chosen, wizard)
    return chosen.name


def _write(chosen: SetupChoice, wizard: Wizard) -> None:
    """Write the choices; Ctrl+C takes effect only afterwards."""
    before = signal.signal(signal.SIGINT, signal.SIG_IGN)
    try:
        for line in wizard.write(chosen):
            print(line)
    finally:
        signal.signal(signal.SIGINT, before)


def _forget(name: str, environ: Mapping[str, str]) -> int:
    provider = known_providers(read_config(homes(environ).config).providers).get(name)
    if provider is None or provider.key_variable is None:
        raise UsageError(f"Provider {name!r} is unknown, or needs no key. See: holdfast config.")
    forgotten = KeyFile(homes(environ).keys).forget(provider.key_variable)
    print(f"{provider.key_variable} is {'deleted' if forgotten else 'not stored'}.")
    if environ.get(provider.key_variable):
        print("It is still in the environment.")
    return EXIT_OK

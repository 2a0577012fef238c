"""`holdfast models`: the models of the providers in use, with window, price and whether they are favourites."""

from __future__ import annotations

import argparse
import asyncio
import json
import sys
from collections.abc import Iterator, Mapping, Sequence

import msgspec

from holdfast.config.settings import read_config
from holdfast.errors import EXIT_OK, UsageError
from holdfast.providers.catalog import Provider
from holdfast.providers.known_models import KnownModels, with_facts
from holdfast.system.user_directories import homes
from holdfast.ui.startup.arguments import Arguments, Parser
from holdfast.ui.startup.run_options import RunOptions, run_options
from holdfast.ui.startup.session_choice import working_directory
from holdfast.ui.view.columns import row, single_line, widths
from holdfast.ui.view.model_details import price_text, remark, window_text


class _Arguments(argparse.Namespace):
    provider: str | None
    refresh: bool
    format: str


def command_parser() -> argparse.ArgumentParser:
    """Return the parser of this command's options."""
    parser = Parser(
        prog="holdfast models",
        description="List the models that a provider, or every provider in use, offers.",
        allow_abbrev=False,
    )
    parser.add_argument("provider", nargs="?", metavar="PROVIDER", help="only this provider")
    parser.add_argument(
        "--refresh", action="store_true", help="ask the provider again, even if its list is less than a day old"
    )
    parser.add_format()
    return parser


def main(argv: list[str], *, environ: Mapping[str, str]) -> int:
    """Print the models and return the exit code. Raise `HoldfastError`."""
    arguments = command_parser().parse_args(argv, namespace=_Arguments())
    options = run_options(
        Arguments(), environ, user_config=read_config(homes(environ).config), cwd=working_directory(None)
    )
    providers = (
        options.providers_in_use(options.model)
        if arguments.provider is None
        else [_provider_named(arguments.provider, options)]
    )
    if not providers:
        raise UsageError("No provider in use. Run `holdfast setup`, or name a provider: holdfast models PROVIDER.")
    favourites, unread = options.favourites.usable()
    found = asyncio.run(_list_models(options, providers, refresh=arguments.refresh))
    found = [_complete(each, provider) for each, provider in zip(found, providers, strict=True)]
    for why in filter(None, (unread, *(remark(each) for each in found))):
        print(f"holdfast: {single_line(why)}", file=sys.stderr)
    if arguments.format == "json":
        print(json.dumps([_as_json(each, favourites) for each in found], indent=2))
    else:
        for line in _lines(found, favourites):
            print(line)
    return EXIT_OK


async def _list_models(options: RunOptions, providers: Sequence[Provider], *, refresh: bool) -> list[KnownModels]:
    return await asyncio.gather(*(options.listed_models(each, refresh=refresh) for each in providers))


def _provider_named(name: str, options: RunOptions) -> Provider:
    if (provider := options.providers.get(name)) is None:
        raise UsageError(f"Unknown provider {name!r} (expected one of {', '.join(options.providers)}).")
    return provider


def _complete(known: KnownModels, provider: Provider) -> KnownModels:
    return msgspec.structs.replace(known, models=tuple(with_facts(each, provider) for each in known.models))


def _as_json(known: KnownModels, favourites: Sequence[str]) -> dict[str, object]:
    models = [
        {
            "id": f"{known.provider}:{each.id}",
            "title": each.title,
            "context_window": each.window or None,
            "input_price": each.input_price,
            "output_price": each.output_price,
            "favourite": f"{known.provider}:{each.id}" in favourites,
        }
        for each in known.models
    ]
    return {"provider": known.provider, "source": known.source, "missing": known.missing, "models": models}


def _lines(found: Sequence[KnownModels], favourites: Sequence[str]) -> Iterator[str]:
    rows: list[tuple[str, ...]] = []
    for known in found:
        for each in known.models:
            name = f"{known.provider}:{each.id}"
            mark = "★" if name in favourites else ""
            rows.append((mark, single_line(name), window_text(each.window), price_text(each), single_line(each.title)))
    if rows:
        sizes = widths([("★", "", "", "", ""), *rows])
        for each in rows:
            yield row(each, sizes)

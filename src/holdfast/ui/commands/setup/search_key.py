"""`holdfast setup --search-key`: stores the key of the search service, in the same place as providers' keys."""

from __future__ import annotations

from collections.abc import Mapping

from holdfast.config.settings import read_config
from holdfast.errors import EXIT_INTERRUPTED, EXIT_OK, UsageError
from holdfast.providers.credentials.provider_keys import KeyFile, KeyPlace, unavailable_reason
from holdfast.system.user_directories import homes
from holdfast.tools.web_search.backends import KEY_VARIABLES
from holdfast.ui.commands import questions
from holdfast.ui.view.columns import home


def store_search_key(environ: Mapping[str, str]) -> int:
    """Ask for the key and store it, and return the exit code. An empty answer deletes a stored key."""
    places = homes(environ)
    search = read_config(places.config).search
    variable = None if search is None else KEY_VARIABLES.get(search.service)
    if search is None or variable is None:
        raise UsageError(
            f'No search service that needs a key is configured. First set service = "brave", "tavily" or "exa" in '
            f"[search] of {home(str(places.config))}."
        )
    file = KeyFile(places.keys)
    try:
        key = questions.ask_hidden(f"Key of {search.service} (hidden; empty: delete the stored one)").strip()
    except (KeyboardInterrupt, EOFError):
        print("\nNothing was changed.")
        return EXIT_INTERRUPTED
    if not key:
        print(f"{variable} is {'deleted' if file.forget(variable) else 'not stored'}.")
        return EXIT_OK
    if not key.isascii() or not key.isprintable() or " " in key:
        raise UsageError("A key has no spaces. Paste the complete key and nothing else. Nothing was changed.")
    place: KeyPlace = "file" if unavailable_reason() else "keyring"
    file.keep(variable, key, place=place)
    where = "the keyring" if place == "keyring" else f"{home(str(file.path))}, readable only by you"
    print(f"Key: stored in {where}")
    if environ.get(variable):
        print(f"{variable} in the environment overrides it.")
    return EXIT_OK

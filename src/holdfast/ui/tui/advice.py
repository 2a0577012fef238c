"""What an error advises to do, said for who has a screen and no command line."""

from __future__ import annotations

ADVICE: dict[str, str] = {
    "See them all: holdfast sessions list.": "See them all: /resume.",
    "See: holdfast sessions list.": "See them all: /resume.",
    "See `holdfast sessions list`.": "See them all: /resume.",
    "Close it there, continue in a copy with --fork, or view it read-only.": (
        "Close it there, or /resume it and choose: in a copy, or only to read."
    ),
    "Choose another name, or replace it with --force.": "Choose another name: /export NAME.",
    "or run: holdfast setup. To see the product without a key: holdfast demo.": (
        "or type /setup. To go the whole way without a key: /model demo."
    ),
}
"""What the errors say, each by what is said on the screen instead."""


def on_screen(message: str) -> str:
    """Return the message with what it advises in commands of the screen."""
    for said, instead in ADVICE.items():
        message = message.replace(said, instead)
    return message

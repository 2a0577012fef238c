"""The prompt on the command line, sent when the screen opens: `holdfast "fix the tests"`."""

from __future__ import annotations

from collections.abc import Sequence

from holdfast.errors import UsageError
from holdfast.ui.startup.arguments import Arguments, parser

NEAR = 0.7
"""How similar to a command a word must be to count as a misspelt command, from 0 to 1."""


def parsed_arguments(argv: Sequence[str], commands: Sequence[str]) -> Arguments:
    """Return the options of a run. Words that belong to no option are its first prompt, also all words after `--`.

    Raise `UsageError` for an unknown option, and for a word that is nearly one of the `commands`.
    """
    at = argv.index("--") if "--" in argv else len(argv)
    arguments, rest = parser().parse_known_args(argv[:at], namespace=Arguments())
    words = [*rest, *argv[at + 1 :]]
    for word in rest:
        if word.startswith("-"):
            _refuse("option", word, [name for action in parser()._actions for name in action.option_strings])  # noqa: SLF001 - argparse has no other list
    if words and arguments.prompt is not None:
        raise UsageError(f'Unexpected argument {words[0]!r}. Quote the prompt: holdfast -p "…".')
    if rest and not any(letter.isspace() for letter in rest[0]):
        _refuse("command", rest[0], commands, only_near=True)
    arguments.first_prompt = " ".join(words)
    return arguments


def _refuse(what: str, word: str, known: Sequence[str], *, only_near: bool = False) -> None:
    """Raise `UsageError` for an unknown word, with the known one that was probably meant."""
    import difflib

    near = difflib.get_close_matches(word.partition("=")[0], known, n=1, cutoff=NEAR)
    if near:
        sent = ' To send it as a prompt: holdfast -- "…".' if only_near else ""
        raise UsageError(f"Unknown {what} {word!r}. Did you mean: holdfast {near[0]}?{sent} All: holdfast --help.")
    if not only_near:
        raise UsageError(f"Unknown {what} {word!r}. All options: holdfast --help.")

"""Says whether a git command only reads. Pure.

A sub-command is here with the options that make it do more, or, where a further word makes it write (`branch`, `tag`),
with the only options it may have. git refreshes its cache of the files' times while it reads (`.git/index`); that is
not counted as writing. What the repository's settings make git run `git_settings.py` finds.
"""

from __future__ import annotations

import re

import msgspec

from holdfast.tools.shell.command_line import Word
from holdfast.tools.shell.options import may_be_option


class GitReader(msgspec.Struct, frozen=True, kw_only=True):
    """A sub-command of git that only reads.

    `more` are options that do more (a long one also when it is cut short). With `only`, no option but these may stand
    there. `words` are the first words allowed behind it, if it has further sub-commands. With `list_options`, other
    words may stand only next to one of these; without any of them, only as many as `most`.
    """

    names: str
    more: str = ""
    only: str = ""
    words: str = ""
    list_options: str = ""
    most: int = 1_000


_DIFF = "--output --ext-diff --show-signature --no-index -O"
GIT_READERS = (
    GitReader(names="status", more="--show-signature"),
    GitReader(names="log show diff diff-tree diff-index diff-files whatchanged rev-list shortlog", more=_DIFF),
    GitReader(names="rev-parse", more="--parseopt --sq-quote"),
    GitReader(names="ls-files ls-tree merge-base name-rev show-ref for-each-ref count-objects version check-ignore"),
    GitReader(names="describe check-attr cherry"),
    GitReader(names="cat-file", more="--textconv --filters"),
    GitReader(names="blame annotate", more="--contents -S"),
    GitReader(names="grep", more="-O --open-files-in-pager --ext-grep --textconv -f --no-index"),
    GitReader(
        names="branch",
        only="-a --all -r --remotes -v -vv --verbose -l --list --show-current --contains --no-contains --merged "
        "--no-merged --points-at --sort --format --color --no-color --column --no-column -i --ignore-case --abbrev -q",
        list_options="-l --list --contains --no-contains --merged --no-merged --points-at",
        most=0,
    ),
    GitReader(
        names="tag",
        only="-l --list -n --contains --no-contains --merged --no-merged --points-at --sort --format --column "
        "--color --no-color -i --ignore-case",
        list_options="-l --list --contains --no-contains --merged --no-merged --points-at",
        most=0,
    ),
    GitReader(names="remote", only="-v --verbose --all --push", words="get-url", most=0),
    GitReader(names="stash", words="list show", more=_DIFF, most=-1),
    GitReader(names="worktree", words="list", only="--porcelain -v -z", most=-1),
    GitReader(names="reflog", words="show", more=_DIFF, most=0),
    GitReader(
        names="config",
        only="--get --get-all --get-regexp --list -l --show-origin --show-scope --global --local --system --worktree "
        "--name-only -z --null --bool --int --path --type --includes --default --all",
        words="get list",
        list_options="--get --get-all --get-regexp --list -l",
        most=-1,
    ),
)
_BY_NAME = {name: each for each in GIT_READERS for name in each.names.split()}
_SIGNS = re.compile(r"%G|%\(\*?signature")
"""The parts of a format of which the value is what gpg says."""

_GLOBAL = ("--no-pager", "-P", "--no-optional-locks", "--literal-pathspecs", "--no-replace-objects", "--version")


def git_more(words: tuple[Word, ...]) -> str:
    """Return "" if git with these words only reads, else in a few words what it does."""
    at = 0
    while at < len(words) and words[at].text.startswith("-"):
        text = words[at].text
        if not words[at].fixed or (text not in _GLOBAL and text != "-C"):
            return f"`git {words[at].raw[:40]}` may make git run other programs"
        if text == "-C" and (at + 1 >= len(words) or not words[at + 1].fixed):
            return "in which folder git runs is not known"
        at += 2 if text == "-C" else 1
    if at >= len(words):
        return ""
    if not words[at].fixed or words[at].text not in _BY_NAME:
        return f"`git {words[at].raw[:40]}` is not known to only read"
    return _sub_command_more(words[at].text, words[at + 1 :], _BY_NAME[words[at].text])


def _sub_command_more(  # noqa: PLR0911 - a return for each reason
    name: str, words: tuple[Word, ...], known: GitReader
) -> str:
    more, only, lists = (known.more.split(), known.only.split(), known.list_options.split())
    operands: list[Word] = []
    listing = False
    ended = False
    for word in words:
        text = word.text if word.fixed else word.prefix
        if not ended and may_be_option(word):
            return f"{word.raw[:40]!r} may be an option of `git {name}`"
        if ended or not text.startswith("-") or text == "-":
            operands.append(word)
            continue
        if text == "--":
            ended = True
            continue
        option = text.partition("=")[0]
        if any(_means(option, each) for each in more) or _SIGNS.search(text):
            return f"`git {name} {word.raw[:40]}` does more than reading"
        if only and option not in only and not re.fullmatch(r"-n?[0-9]+", option):
            return f"`git {name} {word.raw[:40]}` is not known to only read"
        listing |= option in lists
    if any(_SIGNS.search(word.text) or (not word.fixed and "%" in word.text) for word in operands):
        return f"`git {name}` may run gpg"
    if known.words and operands and operands[0].fixed and operands[0].text in known.words.split():
        return ""
    if len(operands) > known.most and not listing:
        shown = " ".join(word.raw for word in operands[:1])[:40]
        return f"`git {name} {shown}`".replace(" `", "`") + " is not known to only read"
    return ""


def _means(option: str, refused: str) -> bool:
    """Return whether an option is, or may be read as, one that does more."""
    if refused.startswith("--"):
        return option.startswith("--") and len(option) > 2 and refused.startswith(option)  # noqa: PLR2004 - `--o`
    return not option.startswith("--") and refused[1] in option[1:]

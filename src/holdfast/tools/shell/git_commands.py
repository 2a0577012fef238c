"""Says whether a git command only reads: closed lists of its sub-commands and their options. Pure.

An option is known by its whole name; one that is not in the row asks, also one that git would take for an abbreviation.
Not in any row, because they run programs or write: `--ext-diff`, `--textconv`, `--show-signature`, `--remerge-diff`,
`--submodule=diff`, `--output`, `--no-index`, `--contents`, `--open-files-in-pager`. git refreshes its cache of the
files' times while it reads (`.git/index`); that is not counted as writing. What the repository's settings make git run
`git_settings.py` finds.
"""

from __future__ import annotations

import re

import msgspec

from holdfast.tools.shell.closed_options import (
    ClosedOptions,
    ParsedOptions,
    closed_options,
    may_be_option,
    options_of,
)
from holdfast.tools.shell.command_line import Word, unknown_file


class GitReader(msgspec.Struct, frozen=True, kw_only=True):
    """A sub-command of git that only reads, with the `options` it may have.

    `words` are the first words allowed behind it, if it has further sub-commands. With `list_options`, other words may
    stand only next to one of these; without any of them, only as many as `most`.
    """

    names: str
    options: ClosedOptions
    words: str = ""
    list_options: str = ""
    most: int = 1_000


_of = closed_options
_DIFF_LONG = (
    "stat shortstat numstat dirstat summary name-only name-status compact-summary patch no-patch patch-with-stat "
    "cached staged merge-base color no-color color-words word-diff word-diff-regex find-renames find-copies no-renames "
    "ignore-all-space ignore-space-change ignore-space-at-eol ignore-blank-lines minimal patience histogram raw check "
    "exit-code quiet binary full-index no-prefix relative no-ext-diff no-textconv text function-context color-moved "
    "abbrev cc combined-all-paths ws-error-highlight pickaxe-regex pickaxe-all no-color-moved irreversible-delete"
)
_DIFF_VALUES = "diff-filter unified diff-algorithm src-prefix dst-prefix inter-hunk-context ignore-submodules"
_LOG_LONG = (
    "oneline graph decorate no-decorate all branches tags remotes reverse merges no-merges first-parent follow "
    "abbrev-commit no-abbrev-commit left-right cherry-pick cherry cherry-mark topo-order date-order author-date-order "
    "no-walk source simplify-by-decoration ancestry-path count parents children boundary not regexp-ignore-case "
    "invert-grep all-match fixed-strings extended-regexp perl-regexp no-notes show-pulls mailmap use-mailmap "
    "relative-date full-history simplify-merges walk-reflogs left-only right-only objects"
)
_LOG_VALUES = (
    "since after until before author committer grep max-count skip format pretty date encoding glob exclude "
    "max-parents min-parents"
)
_LOG = _of(
    "pucqwbaziEFPWgmrRstMCB",
    "nUSGLl",
    f"{_DIFF_LONG} {_LOG_LONG} summary email numbered",
    f"{_DIFF_VALUES} {_LOG_VALUES}",
    numbers=True,
)
_LISTING = _of(
    "arlviq",
    "",
    "all remotes verbose list show-current color no-color column no-column ignore-case contains no-contains merged "
    "no-merged",
    "points-at sort format abbrev",
)
_LISTS = "l list contains no-contains merged no-merged points-at"
GIT_READERS = (
    GitReader(
        names="status",
        options=_of(
            "sbvz",
            "u",
            "short branch porcelain verbose long show-stash ahead-behind no-ahead-behind column no-column renames "
            "no-renames find-renames untracked-files ignored",
            "ignore-submodules",
        ),
    ),
    GitReader(names="log show diff diff-tree diff-index diff-files whatchanged rev-list shortlog", options=_LOG),
    GitReader(
        names="rev-parse",
        options=_of(
            "q",
            "",
            "abbrev-ref short show-toplevel git-dir absolute-git-dir git-common-dir verify quiet is-inside-work-tree "
            "is-inside-git-dir is-bare-repository is-shallow-repository show-prefix show-cdup symbolic "
            "symbolic-full-name all branches tags remotes show-superproject-working-tree show-object-format",
            "since until path-format",
        ),
    ),
    GitReader(
        names="ls-files",
        options=_of(
            "cdmoiskuztv",
            "x",
            "cached deleted modified others ignored stage unmerged killed exclude-standard full-name error-unmatch "
            "directory no-empty-directory eol",
            "exclude abbrev format",
        ),
    ),
    GitReader(
        names="ls-tree",
        options=_of("drtlz", "", "name-only name-status full-name full-tree long object-only", "abbrev format"),
    ),
    GitReader(names="merge-base", options=_of("a", "", "all is-ancestor octopus independent fork-point")),
    GitReader(names="name-rev", options=_of("", "", "tags name-only always all", "refs exclude")),
    GitReader(names="show-ref", options=_of("dqs", "", "heads branches tags head dereference verify hash exists")),
    GitReader(
        names="for-each-ref",
        options=_of("", "", "merged no-merged contains no-contains ignore-case", "count sort format points-at exclude"),
    ),
    GitReader(names="count-objects", options=_of("vH", "", "verbose human-readable")),
    GitReader(names="version", options=_of("", "", "build-options")),
    GitReader(names="check-ignore", options=_of("vqn", "", "verbose quiet non-matching no-index")),
    GitReader(
        names="describe",
        options=_of(
            "", "", "all tags contains exact-match long always first-parent dirty", "abbrev candidates match exclude"
        ),
    ),
    GitReader(names="check-attr", options=_of("a", "", "all cached")),
    GitReader(names="cherry", options=_of("v", "", "", "abbrev")),
    GitReader(names="cat-file", options=_of("tspe")),
    GitReader(
        names="blame annotate",
        options=_of(
            "ltsewMCpncfb",
            "L",
            "porcelain line-porcelain show-name show-number root show-email first-parent color-lines color-by-age",
            "date since abbrev",
        ),
    ),
    GitReader(
        names="grep",
        options=_of(
            "niIlLcwvhHEFPGopWqzar",
            "eABCm",
            "line-number count files-with-matches files-without-match name-only word-regexp ignore-case invert-match "
            "extended-regexp fixed-strings perl-regexp basic-regexp only-matching and or not all-match cached "
            "untracked heading break color no-color recursive text show-function function-context column full-name "
            "quiet",
            "max-depth max-count context after-context before-context",
            numbers=True,
        ),
    ),
    GitReader(names="branch", options=_LISTING, list_options=_LISTS, most=0),
    GitReader(
        names="tag",
        options=_of(
            "lni",
            "",
            "list color no-color column no-column ignore-case contains no-contains merged no-merged",
            "points-at sort format",
            numbers=True,
        ),
        list_options=_LISTS,
        most=0,
    ),
    GitReader(names="remote", options=_of("v", "", "verbose all push"), words="get-url", most=0),
    GitReader(names="stash", options=_LOG, words="list show", most=-1),
    GitReader(names="worktree", options=_of("vz", "", "porcelain"), words="list", most=-1),
    GitReader(names="reflog", options=_LOG, words="show", most=0),
    GitReader(
        names="config",
        options=_of(
            "lz",
            "",
            "get get-all get-regexp list show-origin show-scope global local system worktree name-only null bool int "
            "path includes all",
            "type default",
        ),
        words="get list",
        list_options="get get-all get-regexp list l",
        most=-1,
    ),
)
_BY_NAME = {name: each for each in GIT_READERS for name in each.names.split()}
_SIGNS = re.compile(r"%[-+ ]?G|signature")
"""What of a format, or an order, is what gpg says."""

_CONFIG_KEYS = re.compile(
    r"user\.(?:name|email)|init\.defaultbranch|core\.[a-z]+|(?:remote|branch)\.[\w./-]+\.(?:url|fetch|merge|remote)",
    re.IGNORECASE,
)


def _config_more(options: ParsedOptions) -> str:
    """Return why `git config` shows more than the repository's own settings: the user's may hold passwords."""
    names = {option.name for option in options.options}
    if names & {"global", "system"}:
        return "`git config` may show passwords of the user's own settings"
    words = [word.text for word in options.operands if word.text not in {"get", "list"}]
    if names & {"local", "worktree"} or (
        words and all(map(_CONFIG_KEYS.fullmatch, words)) and "get-regexp" not in names
    ):
        return ""
    return "`git config` may show passwords of the user's own settings"


_MOST_STEPS = 8
_GLOBAL = frozenset({"--no-pager", "-P", "--no-optional-locks", "--literal-pathspecs", "--no-replace-objects"})


def git_folder_words(words: tuple[Word, ...]) -> tuple[str, ...]:
    """Return the folders that `-C` names in front of the sub-command: git changes into one after the other."""
    found: list[str] = []
    at = 0
    while at < len(words) and words[at].text.startswith("-"):
        if words[at].text == "-C" and at + 1 < len(words):
            found.append(words[at + 1].text)
            at += 1
        at += 1
    return tuple(found)


def git_more(words: tuple[Word, ...]) -> str:
    """Return "" if git with these words only reads, else in a few words what it does."""
    at = 0
    while at < len(words) and words[at].text.startswith("-"):
        text = words[at].text
        if not words[at].fixed or (text not in _GLOBAL and text != "-C"):
            return f"`git {words[at].raw[:40]}` may make git run other programs"
        if text == "-C" and (at + 1 >= len(words) or not words[at + 1].fixed or at > _MOST_STEPS):
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
    ended = False
    for word in words:
        ended |= word.fixed and word.text == "--"
        if not ended and may_be_option(word):
            return f"{word.raw[:40]!r} may be an option of `git {name}`"
    options = options_of(words, known.options)
    if (strange := options.unknown()) is not None:
        return f"`git {name} {strange.raw[:40]}` is not known to only read"
    if any(_SIGNS.search(word.text) or (not word.fixed and "%" in word.text) for word in words):
        return f"`git {name}` may run gpg"
    operands = options.operands
    if name == "config" and (why := _config_more(options)):
        return why
    if why := unknown_file(operands):  # outside a repository, and for files outside one, `diff` compares any two
        return why
    if known.words and operands and operands[0].fixed and operands[0].text in known.words.split():
        return ""
    listing = any(option.name in known.list_options.split() for option in options.options)
    if len(operands) > known.most and not listing:
        shown = " ".join(word.raw for word in operands[:1])[:40]
        return f"`git {name} {shown}`".replace(" `", "`") + " is not known to only read"
    return ""

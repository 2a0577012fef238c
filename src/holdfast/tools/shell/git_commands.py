"""Says whether a git command only reads: closed lists of its sub-commands and their options, `git_readers.json`.

An option is known by its whole name; one that is not in the row asks, also one that git would take for an abbreviation.
Not in any row, because they run programs or write: `--ext-diff`, `--textconv`, `--show-signature`, `--remerge-diff`,
`--submodule=diff`, `--output`, `--no-index`, `--contents`, `--open-files-in-pager`. git refreshes its cache of the
files' times while it reads (`.git/index`); that is not counted as writing. What the repository's settings make git run
`git_settings.py` finds.

Says which setting of a repository may change what git runs while it only reads: all but a closed list. Pure.

`git status` in a folder that came from elsewhere may run a program: the file `.git/config` names programs that watch
files, compare, filter and check signatures, and each release of git knows more of them. A cloned repository cannot
bring one, an unpacked archive or a repository within a folder can. So a setting counts as harmless only if it is one
that ordinary repositories have and that names no program, file or other setting.

Also the syntax is a closed one: git continues lines, ends them and reads quotes in its own ways, and what another
reader takes for a comment may be a section for git. A line that is not one of the plain forms counts as a setting.
"""

from __future__ import annotations

import re

from holdfast.tools.known_programs.readers import GIT_READERS, GitReader
from holdfast.tools.shell.closed_options import (
    ParsedOptions,
    may_be_option,
    options_of,
)
from holdfast.tools.shell.command_line import Word, unknown_file

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


# --- git settings ---

_SECTION = re.compile(r"\[([A-Za-z0-9-]+)(?: \"([A-Za-z0-9_./@:+#-]+)\")?\]")
_SETTING = re.compile(r"([A-Za-z][A-Za-z0-9-]*) ?= ?([ -!#-\[\]-~]*)")
_COMMENT = re.compile(r"[#;][ -\[\]-~]*")
_PLAIN = re.compile(r"[\t\n -~]*")

_HARMLESS = re.compile(
    r"core\.(repositoryformatversion|filemode|bare|logallrefupdates|ignorecase|precomposeunicode|autocrlf|eol|symlinks"
    r"|safecrlf|quotepath|abbrev|sharedrepository|compression|bigfilethreshold|longpaths|untrackedcache)"
    r"|remote\..*\.(url|pushurl|fetch|push|tagopt|prune|mirror|gh-resolved|skipfetchall|skipdefaultupdate)"
    r"|branch\..*\.(remote|pushremote|merge|rebase|description|vscode-merge-base|gk-merge-base|gh-merge-base"
    r"|github-pr-owner-number)|branch\.(autosetuprebase|autosetupmerge|sort)"
    r"|user\.(name|email|signingkey)|author\.(name|email)|committer\.(name|email)"
    r"|pull\.(rebase|ff)|push\.(default|autosetupremote|followtags)|fetch\.(prune|prunetags)|init\.defaultbranch"
    r"|merge\.(conflictstyle|ff)|rebase\.(autostash|autosquash)|rerere\.(enabled|autoupdate)|gc\.auto|advice\..*"
    r"|color\..*|commit\.(gpgsign|verbose)|tag\.(gpgsign|sort)|status\.[a-z]+|lfs\.(repositoryformatversion"
    r"|locksverify)|lfs\..*\.access|diff\.(algorithm|colormoved|renames|mnemonicprefix|noprefix)"
    r"|submodule\..*\.(url|active|branch)|gitflow\..*|gui\.(wmstate|geometry)"
)


def setting_that_starts_program(config: str) -> str:
    """Return the first setting in the text of a `.git/config` that is not known to be harmless, "" if there is none."""
    if not _PLAIN.fullmatch(config):
        return next(line for line in config.split("\n") if not _PLAIN.fullmatch(line))[:60]
    section = ""
    for line in config.split("\n"):
        rest = line.strip(" \t")
        if not rest or _COMMENT.fullmatch(rest):
            continue
        if found := _SECTION.fullmatch(rest):
            section = ".".join(filter(None, (found[1].lower(), found[2])))
            continue
        setting = _SETTING.fullmatch(rest)
        if setting is None or not section:
            return rest[:60]
        name = f"{section}.{setting[1].lower()}"
        if not _HARMLESS.fullmatch(name):
            return name
    return ""

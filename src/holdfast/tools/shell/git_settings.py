"""Says which setting of a repository may change what git runs while it only reads: all but a closed list. Pure.

`git status` in a folder that came from elsewhere may run a program: the file `.git/config` names programs that watch
files, compare, filter and check signatures, and each release of git knows more of them. A cloned repository cannot
bring one, an unpacked archive or a repository within a folder can. So a setting counts as harmless only if it is one
that ordinary repositories have and that names no program, file or other setting.

Also the syntax is a closed one: git continues lines, ends them and reads quotes in its own ways, and what another
reader takes for a comment may be a section for git. A line that is not one of the plain forms counts as a setting.
"""

from __future__ import annotations

import re

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

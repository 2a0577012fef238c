"""Repositories that make git run a program or read elsewhere, in a folder beside `outside/repo`: for lines about git.

The settings are appended to `.git/config`, the scripts run in the repository. `../evil` is a program.
"""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

EVIL = "#!/bin/sh\ntouch PWNED\ncat\n"

SETTINGS = {
    "plain": "",
    "fsmonitor": "[core]\n\tfsmonitor = ../evil\n",
    "comment": "[a]\n# x\\\n[core]\n\tfsmonitor = ../evil\n",
    "formfeed": "[a]\n\tb = c\x0c[core]\n\tfsmonitor = ../evil\n",
    "hooks": "[core]\n\thooksPath = off\n",
    "include": "[include]\n\tpath = off/post-index-change\n",
    "includeif": '[includeIf "gitdir:/**"]\n\tpath = ../../evil.cfg\n',
    "textconv": '[diff "x"]\n\ttextconv = ../evil\n',
    "command": '[diff "x"]\n\tcommand = ../evil\n',
    "external": "[diff]\n\texternal = ../evil\n",
    "filter": '[filter "x"]\n\tclean = ../evil\n\tsmudge = ../evil\n\tprocess = ../evil\n',
    "driver": '[merge "x"]\n\tdriver = ../evil\n',
    "pager": "[core]\n\tpager = ../evil\n[pager]\n\tlog = ../evil\n",
    "signature": "[log]\n\tshowSignature = true\n[gpg]\n\tprogram = ../evil\n",
    "promisor": '[extensions]\n\tpartialClone = x\n[remote "x"]\n\tuploadpack = ../evil\n\tpromisor = true\n',
    "worktree": "[core]\n\tworktree = ../../../outside\n",
    "worktreeconfig": "[core]\n\trepositoryformatversion = 1\n[extensions]\n\tworktreeConfig = true\n",
    "excludes": "[core]\n\texcludesFile = ../../outside/plain.txt\n\tattributesFile = ../../outside/plain.txt\n",
    "blame": "[blame]\n\tignoreRevsFile = ../../outside/plain.txt\n",
    "mailmap": "[mailmap]\n\tfile = ../../outside/plain.txt\n",
    "alias": "[alias]\n\tstatus = !../evil\n\tlast = !../evil\n",
    "url": '[url "ext::../evil "]\n\tinsteadOf = x\n[remote "origin"]\n\turl = ext::../evil\n',
    "plainlong": '[remote "origin"]\n\turl = https://example.org/x\n\tfetch = +refs/heads/*:refs/remotes/origin/*\n',
}

SCRIPTS = {
    "hooks": "mkdir off; cp ../evil off/post-index-change",
    "include": r"mkdir off; printf '[core]\n\tfsmonitor = ../evil\n' > off/post-index-change",
    "worktreeconfig": r"printf '[core]\n\tfsmonitor = ../evil\n' > .git/config.worktree",
    "hookfile": "mkdir -p .git/hooks; cp ../evil .git/hooks/post-index-change",
    "gitlink": "rm -r .git; ln -s ../../../outside/repo/.git .git",
    "gitfile": "rm -r .git; echo gitdir: ../../../outside/repo/.git > .git",
    "commondir": "echo ../../../../outside/repo/.git > .git/commondir",
    "commonevil": r"cp -r .git x; printf '[core]\n\tfsmonitor = ../evil\n' >> x/config; echo ../x > .git/commondir",
    "alternates": "mkdir .git/objects/info -p; "
    "echo ../../../../../outside/repo/.git/objects > .git/objects/info/alternates",
    "infolink": "for f in info/exclude info/attributes packed-refs shallow; do "
    "ln -sf $PWD/../../../outside/plain.txt .git/$f; done; rm -r .git/logs; ln -s $PWD/../../../outside/d .git/logs",
    "headlink": "ln -sf ../../../../../../outside/repo/.git/refs/heads/main .git/refs/heads/main",
    "indexlink": "ln -sf ../../../../outside/repo/.git/index .git/index",
    "ignorelink": "for f in .gitignore .mailmap sub.txt; do ln -s ../../../outside/plain.txt $f; done",
    "objectslink": "rm -r .git/objects; ln -s ../../../../outside/repo/.git/objects .git/objects",
    "bare": "mv .git/* .; rmdir .git",
    "configlink": "mv .git/config cfg; ln -s ../cfg .git/config",
}

REPOSITORIES = tuple(dict.fromkeys((*SETTINGS, *SCRIPTS)))
_GIT = ("git", "-c", "user.name=a", "-c", "user.email=a@example.org")


def build(folder: Path) -> None:
    """Make the repositories in `folder`/ws/repos, and a good one in `folder`/outside/repo."""
    outer = folder / "outside/repo"
    outer.mkdir()
    subprocess.run([*_GIT, "init", "-q", "-b", "main", "--template=", str(outer)], check=True)
    (outer / ".git/info").mkdir()
    (outer / "f.txt").write_text("one\n")
    (outer / ".gitattributes").write_text("*.txt diff=x filter=x merge=x\n")
    subprocess.run([*_GIT, "-C", str(outer), "add", "."], check=True)
    subprocess.run([*_GIT, "-C", str(outer), "commit", "-qm", "one"], check=True)
    place = folder / "ws/repos"
    place.mkdir()
    (place / "evil").write_text(EVIL)
    (place / "evil").chmod(0o755)
    (folder / "ws/evil.cfg").write_text("[core]\n\tfsmonitor = ../evil\n")
    for name in REPOSITORIES:
        shutil.copytree(outer, place / name)
        (place / name / "f.txt").write_text("one\ntwo\n")
        with (place / name / ".git/config").open("a") as config:
            config.write(SETTINGS.get(name, ""))
        subprocess.run(["/bin/bash", "-ec", SCRIPTS.get(name, ":")], cwd=place / name, check=True)
    (outer / "f.txt").write_text("one\nTOPSECRET\n")

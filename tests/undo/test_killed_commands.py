"""Twenty kinds of commands, killed half-way with holdfast: what the model reads of them is what is on the disk."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest

from agent_harness import opened
from holdfast.session.journal import entries as e
from holdfast.session.storage.sqlite_store import SqliteStore
from polling import eventually
from skips import needs
from tiers import sampled
from undo_rig import State, contents, git, undo_rig

PROGRAM = """\
import asyncio, sys
from pathlib import Path
from holdfast.session.storage.sqlite_store import SqliteStore
from undo_rig import undo_rig

async def main():
    home = Path(sys.argv[1])
    async with undo_rig(home, SqliteStore.open(home / "home" / "s"), confined=sys.argv[3] == "confined") as rig:
        await rig.bash(sys.argv[2])

asyncio.run(main())
"""
HALF = "touch ready; sleep 100"
"""Where each command is killed: what stands before it is done, what stands behind it is not."""

KINDS: dict[str, str] = {
    "writes one file of three": f"echo 1 > a; {HALF}; echo 2 > b; echo 3 > c",
    "appends": f"echo more >> log; {HALF}; echo more >> log",
    "writes in place": f"sed -i s/one/two/ log; {HALF}; sed -i s/two/one/ log",
    "empties a file": f": > log; {HALF}; echo x > log",
    "deletes": f"rm gone; {HALF}; rm log",
    "deletes a folder": f"rm -rf src/a; {HALF}; rm -rf src",
    "renames": f"mv gone moved; {HALF}; mv moved again",
    "renames a folder": f"mv src lib; {HALF}; mv lib src",
    "copies a folder": f"cp -r src copy; {HALF}; rm -rf copy",
    "changes permissions": f"chmod 600 log; {HALF}; chmod 644 log",
    "makes a link": f"ln -s log link; {HALF}; rm link",
    "replaces a link": f"ln -sfn src pointer; {HALF}; rm pointer",
    "makes folders": f"mkdir -p deep/er; {HALF}; rmdir deep/er",
    "puts a folder where a file was": f"rm gone; mkdir gone; echo x > gone/x; {HALF}",
    "extracts an archive": f"tar cf - src | tar xf - --one-top-level=out; {HALF}; rm -rf out",
    "a formatter over many": f"for n in 1 2 3 4 5 6 7 8; do echo $n > src/f$n; done; {HALF}",
    "commits": f"echo x >> log; git -c user.name=t -c user.email=t@e.org commit -qam x; {HALF}",
    "throws changes away": f"git checkout -q -- dirty; {HALF}; git clean -fdq",
    "cleans": f"git clean -fdq; {HALF}",
    "installs a package": f"mkdir -p node_modules/p && echo 1 > node_modules/p/i.js && echo '{{}}' > lock.json; {HALF}",
    "changes what is ignored": f"echo x >> dist/built; {HALF}; rm dist/built",
    "changes nothing": f"cat log; {HALF}",
    "undoes itself": f"echo x > a; rm a; {HALF}",
}
SKIPPED = ("node_modules",)

Changes = tuple[set[str], set[str], set[str]]


def project(folder: Path) -> None:
    (folder / "src" / "a").mkdir(parents=True)
    (folder / "src" / "a" / "x.py").write_text("x\n")
    (folder / "src" / "b.py").write_text("b\n")
    (folder / "log").write_text("one\n")
    (folder / "gone").write_text("two\n")
    (folder / "dirty").write_text("clean\n")
    (folder / "pointer").symlink_to("log")
    (folder / ".gitignore").write_text("dist\nnode_modules\n")
    git(folder, "init", "-q")
    git(folder, "add", "-A")
    git(folder, "commit", "-qm", "first")
    (folder / "dirty").write_text("mine\n")
    (folder / "untracked").write_text("mine\n")
    (folder / "dist").mkdir()
    (folder / "dist" / "built").write_text("built\n")


def truth(before: dict[str, State], after: dict[str, State]) -> Changes:
    """Return what was created, changed and deleted, by comparing everything with everything."""
    return (
        {path for path in after if path not in before},
        {path for path in after if path in before and after[path] != before[path]},
        {path for path in before if path not in after},
    )


def said(text: str) -> Changes:
    """Return what the words for the model say was created, changed and deleted."""
    found: dict[str, set[str]] = {"created": set(), "changed": set(), "deleted": set()}
    subjects = r"(?:It|Since it began, it or another program) ((?:created|changed|deleted) .*?)\.(?:\s|$)"
    for sentence in re.findall(subjects, text, re.DOTALL):
        for verb, paths in re.findall(
            r"(created|changed|deleted) (.*?)(?= and (?:created|changed|deleted) |$)", sentence
        ):
            found[verb] |= set(paths.split(", "))
    return found["created"], found["changed"], found["deleted"]


CASES = [(name, wall) for name in KINDS for wall in ("free", "confined")]


@needs("git", "linux", "bubblewrap")
@pytest.mark.parametrize(("name", "wall"), sampled(CASES, 8))
async def test_what_is_said_of_a_killed_command_is_so(tmp_path: Path, name: str, wall: str) -> None:
    folder, session = tmp_path / "w", tmp_path / "home" / "s"
    session.mkdir(parents=True)
    folder.mkdir()
    project(folder)
    before = contents(folder)
    store = SqliteStore.create(session)
    store.append([opened()], expected=0)
    store.close()
    with subprocess.Popen(  # noqa: ASYNC220 - it returns at once
        [sys.executable, "-c", PROGRAM, str(tmp_path), KINDS[name], wall],
        env={"PYTHONPATH": ":".join(sys.path), "PATH": "/usr/bin:/bin"},
    ) as killed:
        eventually((folder / "ready").exists)
        sign, seen = session / "undo" / "alive", (folder / "ready").lstat().st_ctime_ns
        eventually(lambda: sign.exists() and sign.lstat().st_mtime_ns > seen)  # it lived on behind its changes
        killed.kill()
    async with undo_rig(tmp_path, SqliteStore.open(session)) as rig:
        await rig.agent.recover()
        after = contents(folder)
        (started,) = (each for each in rig.of(e.CallStarted) if isinstance(each, e.CallStarted))
        (ended,) = (each for each in rig.of(e.CallEnded) if isinstance(each, e.CallEnded))
        left_out = {path for path in (*before, *after) if path.startswith(SKIPPED)}
        expected = tuple(each - left_out for each in truth(before, after))
        assert said(ended.text) == expected, ended.text
        assert ended.observed == "part"  # `ready` is always there
        assert ("Effect unknown outside of this folder" in ended.text) == (wall == "free")
        assert started.confined == ("" if wall == "free" else "workspace")
        if wall == "confined":
            assert "It could write only in this folder" in ended.text
        await rig.undo.rewind(rig.agent, 1, "files")
        assert {path: state for path, state in contents(folder).items() if path not in left_out} == before


def test_there_are_twenty_kinds() -> None:
    assert len(KINDS) >= 20

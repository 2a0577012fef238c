"""Laws of the undo, on real trees: operations by tools, by commands and by a stranger, undone to any turn."""

from __future__ import annotations

import asyncio
import shutil
import tempfile
from collections.abc import Callable, Sequence
from pathlib import Path

from hypothesis import given
from hypothesis import strategies as st

from holdfast.session.journal import entries as e
from holdfast.testing.script import Call
from laws import law
from skips import needs
from undo_rig import State, contents, git, undo_rig

NAMES = ("a", "b", "c.py", "d/e", "d/f", "d/g/h", "i/j", "k/l m")
OTHERS = ("x", "y", "d/z")
"""What only a stranger touches."""

names = st.sampled_from(NAMES)
texts = st.sampled_from(("", "one\n", "two\nlines\n", "three\r\n", "x" * 3_000))


def by_write(path: str, text: str) -> Call:
    return Call("write", {"path": path, "content": text or "nothing\n"})


def by_command(line: str) -> Call:
    return Call("bash", {"command": line})


def quoted(path: str) -> str:
    return f"'{path}'"


commands = st.one_of(
    names.map(lambda path: f"rm -rf {quoted(path)}"),
    names.map(lambda path: f"rm -rf {quoted(path.split('/', maxsplit=1)[0])}"),
    st.tuples(names, names).map(lambda pair: f"mv {quoted(pair[0])} {quoted(pair[1])}"),
    names.map(lambda path: f"chmod 755 {quoted(path)}"),
    names.map(lambda path: f"chmod 600 {quoted(path)}"),
    names.map(lambda path: f"sed -i s/o/0/g {quoted(path)}"),
    st.tuples(names, names).map(lambda pair: f"rm -rf {quoted(pair[1])}; ln -s {quoted(pair[0])} {quoted(pair[1])}"),
    names.map(lambda path: f"mkdir -p {quoted(path)}"),
    names.map(lambda path: f"mkdir -p {quoted(path)}/deep && echo new > {quoted(path)}/deep/file"),
    st.just("git checkout -q -- . 2>/dev/null || true"),
    st.just("git clean -fdq 2>/dev/null || true"),
    st.just("rm -rf d; mkdir d; echo x > d/new"),
)
operations = st.one_of(st.builds(by_write, names, texts), commands.map(by_command))
turns = st.lists(st.lists(operations, min_size=1, max_size=3), min_size=1, max_size=3)
strangers = st.lists(st.tuples(st.sampled_from(OTHERS), texts), max_size=2)


def make_tree(folder: Path, files: Sequence[tuple[str, str]], *, repository: bool) -> None:
    for path, text in files:
        (folder / path).parent.mkdir(parents=True, exist_ok=True)
        (folder / path).write_text(text)
    (folder / "empty").mkdir()
    if repository:
        git(folder, "init", "-q")
        git(folder, "add", "-A")
        git(folder, "commit", "-qm", "first", "--allow-empty")


def touched_by(folder: Path, changes: Sequence[tuple[str, str]]) -> set[str]:
    """Let a stranger write these files; return their paths, with those of their folders."""
    paths: set[str] = set()
    for path, text in changes:
        target = folder / path
        if target.parent.is_dir() and not target.parent.is_symlink():
            target.write_text(text)
            paths |= {path, *(str(each) for each in Path(path).parents)}
    return paths


def without(found: dict[str, State], paths: set[str]) -> dict[str, State]:
    return {path: state for path, state in found.items() if path not in paths}


def in_folder(work: Callable[[Path], object]) -> None:
    folder = Path(tempfile.mkdtemp())
    try:
        work(folder)
    finally:
        shutil.rmtree(folder)


@needs("git")
@law(48)
@given(
    files=st.lists(st.tuples(names, texts), max_size=6, unique_by=lambda each: each[0].split("/")[0]),
    repository=st.booleans(),
    done=turns,
    by_others=strangers,
    back=st.integers(1, 3),
)
def test_every_path_that_no_stranger_touched_is_as_it_was_and_no_other_is_touched(
    files: list[tuple[str, str]],
    repository: bool,  # noqa: FBT001 - drawn
    done: list[list[Call]],
    by_others: list[tuple[str, str]],
    back: int,
) -> None:
    async def story(home: Path) -> None:
        (home / "w").mkdir()
        make_tree(home / "w", files, repository=repository)
        async with undo_rig(home) as rig:
            states: list[dict[str, State]] = []
            for calls in done:
                states.append(contents(rig.folder))
                await rig.calls(*calls)
            foreign = touched_by(rig.folder, by_others)
            turn = 1 + min(back, len(done)) - 1
            before = contents(rig.folder)
            if not any(each.changes for each in rig.undo.history(rig.agent).since(turn)):
                assert without(before, foreign) == without(states[turn - 1], foreign)
                return
            await rig.undo.rewind(rig.agent, turn, "files")
            undone = contents(rig.folder)
            assert without(undone, foreign) == without(states[turn - 1], foreign)
            named = {
                change.path
                for each in rig.of(e.FilesMoved)
                if isinstance(each, e.FilesMoved)
                for change in each.changes
            }
            touched = {path for path in before.keys() | undone.keys() if before.get(path) != undone.get(path)}
            assert touched <= named
            await rig.undo.redo(rig.agent)
            assert contents(rig.folder) == before
            await rig.undo.rewind(rig.agent, turn, "files")
            assert contents(rig.folder) == undone

    in_folder(lambda home: asyncio.run(story(home)))

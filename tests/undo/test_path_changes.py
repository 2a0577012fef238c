"""A path is made what it was: never through a link, never over what another program saved, also after a kill."""

from __future__ import annotations

import os
import signal
from collections.abc import Callable
from pathlib import Path

import pytest

from holdfast.session.journal.restores import PathState
from holdfast.undo import path_changes, renames
from holdfast.undo.kept_contents import KeptContents
from holdfast.undo.known_states import ABSENT_STATE, FOLDER_STATE
from holdfast.undo.path_changes import PathChanged, make
from holdfast.undo.path_states import look
from skips import needs

TEMPORARY = ".holdfast-r-0"


def file_state(kept: KeptContents, text: str) -> PathState:
    return PathState("file", kept.put(text.encode()), 0o644)


def put(place: Path, state: str) -> None:
    """Make a path this, by name."""
    match state:
        case "file":
            place.write_text("file\n")
        case "other file":
            place.write_text("other\n")
        case "link":
            place.symlink_to("nowhere")
        case "folder":
            place.mkdir()
        case _:
            pass


def state_of(kept: KeptContents, name: str) -> PathState:
    states = {"file": "file\n", "other file": "other\n"}
    match name:
        case "absent":
            return ABSENT_STATE
        case "folder":
            return FOLDER_STATE
        case "link":
            return PathState("link", kept.put(b"nowhere"))
        case _:
            return file_state(kept, states[name])


@pytest.mark.parametrize("where", ["above", "outside"])
def test_nothing_is_done_through_a_link_above_the_folder_or_outside_of_it(tmp_path: Path, where: str) -> None:
    kept = KeptContents(tmp_path / "kept")
    (tmp_path / "up" / "w").mkdir(parents=True)
    root = tmp_path / "up" / "w" if where == "above" else tmp_path / "elsewhere"
    path = "a" if where == "above" else str(tmp_path / "up" / "w" / "a")
    (tmp_path / "up" / "w" / "a").write_text("file\n")
    (tmp_path / "up").rename(tmp_path / "moved")
    (tmp_path / "up").symlink_to("moved")
    assert look(root, path, kept).kind == "other"
    assert look(root, path + "2", kept).kind == "other"
    with pytest.raises(PathChanged):
        make(root, path, file_state(kept, "file\n"), ABSENT_STATE, kept, temporary=TEMPORARY)
    with pytest.raises(PathChanged):
        make(root, path + "2", ABSENT_STATE, file_state(kept, "file\n"), kept, temporary=TEMPORARY)
    assert [each.name for each in (tmp_path / "moved" / "w").iterdir()] == ["a"]


CHANGES = [
    ("file", "other file"),
    ("absent", "file"),
    ("file", "absent"),
    ("file", "folder"),
    ("folder", "file"),
    ("link", "folder"),
    ("folder", "absent"),
    ("absent", "folder"),
    ("file", "link"),
]


@needs("linux")
@pytest.mark.parametrize(("before", "after"), CHANGES)
def test_what_another_program_saves_in_the_moment_of_the_change_stays(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, before: str, after: str
) -> None:
    kept = KeptContents(tmp_path / "kept")
    put(tmp_path / "a", before)
    expect, content = state_of(kept, before), state_of(kept, after)
    saved = tmp_path / "saved"
    saved.mkdir()

    def stranger() -> None:
        if not (tmp_path / "mine").exists():
            (tmp_path / "mine").write_text("mine\n")
            if (tmp_path / "a").is_dir():
                (tmp_path / "a" / "mine").write_text("mine\n")
            else:
                (saved / "mine").rename(tmp_path / "a")

    (saved / "mine").write_text("mine\n")

    def hurried(call: Callable[..., object]) -> Callable[..., object]:
        def wrapped(*words: object, **named: object) -> object:
            stranger()
            return call(*words, **named)

        return wrapped

    monkeypatch.setattr(path_changes, "exchange", hurried(renames.exchange))
    monkeypatch.setattr(path_changes, "move_to_free", hurried(renames.move_to_free))
    monkeypatch.setattr(os, "rmdir", hurried(os.rmdir))
    with pytest.raises(PathChanged):
        make(tmp_path, "a", expect, content, kept, temporary=TEMPORARY)
    place = tmp_path / "a" / "mine" if before == "folder" else tmp_path / "a"
    assert place.read_text() == "mine\n"


def killed_at(number: int, work: Callable[[], object]) -> bool:
    """Do work in a process that is killed before that system call; return whether it was."""
    child = os.fork()
    if child == 0:
        count = 0

        def struck(call: Callable[..., object]) -> Callable[..., object]:
            def wrapped(*words: object, **named: object) -> object:
                nonlocal count
                count += 1
                if count == number:
                    os.kill(os.getpid(), signal.SIGKILL)
                return call(*words, **named)

            return wrapped

        for name in ("open", "rename", "unlink", "mkdir", "rmdir", "symlink", "fchmod", "chmod", "fsync"):
            setattr(os, name, struck(getattr(os, name)))
        call = renames._RENAMEAT2
        renames._RENAMEAT2 = struck(call) if call is not None else None
        work()
        os._exit(0)
    return os.WIFSIGNALED(os.waitpid(child, 0)[1])


@needs("linux")
@pytest.mark.parametrize(("before", "after"), CHANGES)
def test_a_change_that_is_killed_anywhere_is_finished_by_the_next_process(
    tmp_path: Path, before: str, after: str
) -> None:
    kept = KeptContents(tmp_path / "kept")
    expect, content = state_of(kept, before), state_of(kept, after)
    for number in range(1, 100):
        folder = tmp_path / str(number)
        folder.mkdir()
        put(folder / "a", before)

        def work(root: Path = folder) -> None:
            make(root, "a", expect, content, kept, temporary=TEMPORARY)

        was_killed = killed_at(number, work)
        work()
        assert look(folder, "a", kept) == content
        assert [each.name for each in folder.iterdir()] == ([] if after == "absent" else ["a"])
        if not was_killed:
            assert number > 5
            return
    raise AssertionError("it is never done")


@needs("linux")
@pytest.mark.parametrize(("before", "after"), [("file", "other file"), ("file", "absent"), ("file", "folder")])
def test_what_another_program_saved_before_a_kill_gets_its_name_back(tmp_path: Path, before: str, after: str) -> None:
    kept = KeptContents(tmp_path / "kept")
    expect, content = state_of(kept, before), state_of(kept, after)
    away = TEMPORARY if after == "other file" else f"{TEMPORARY}.old"
    if after == "other file":
        put(tmp_path / "a", after)
    (tmp_path / away).write_text("mine\n")
    with pytest.raises(PathChanged):
        make(tmp_path, "a", expect, content, kept, temporary=TEMPORARY)
    assert (tmp_path / "a").read_text() == "mine\n"
    (tmp_path / away).write_text("mine too\n")
    with pytest.raises(PathChanged, match=r"twice; what it was in between is in '\.holdfast"):
        make(tmp_path, "a", expect, content, kept, temporary=TEMPORARY)
    assert ((tmp_path / "a").read_text(), (tmp_path / away).read_text()) == ("mine\n", "mine too\n")

"""Where sessions work: identities, worktrees that come back, and what is refused with a sentence."""

from __future__ import annotations

import asyncio
import itertools
import json
import os
import shutil
import subprocess
import tempfile
from pathlib import Path

import pytest

import walls
from holdfast.errors import StateError
from holdfast.fleet.places.local_places import LocalPlaces, container, sandbox
from holdfast.fleet.places.place import identity_of
from holdfast.fleet.places.restored_toolbox import RestoredToolbox, loss_note
from holdfast.fleet.places.worktree import worktree_entry
from holdfast.tool_calls import FileChange
from holdfast.tools.tool import ToolContext
from holdfast.tools.toolbox import LocalToolbox
from skips import needs


def git(folder: Path, *words: str) -> str:
    identity = ("-c", "user.name=t", "-c", "user.email=t@localhost")
    done = subprocess.run(["git", *identity, *words], cwd=folder, check=True, capture_output=True, text=True)
    return done.stdout.strip()


@pytest.fixture
def repository(tmp_path: Path) -> Path:
    bare, seed = tmp_path / "origin.git", tmp_path / "seed"
    git(tmp_path, "init", "-q", "--bare", "-b", "main", str(bare))
    git(tmp_path, "clone", "-q", str(bare), str(seed))
    (seed / "a.txt").write_text("one\n")
    (seed / ".gitignore").write_text("built\n")
    git(seed, "add", ".")
    git(seed, "commit", "-qm", "first")
    git(seed, "push", "-q", "origin", "HEAD:main")
    return bare


def test_a_folder_has_one_identity_until_another_stands_there(tmp_path: Path) -> None:
    folder, state = tmp_path / "work", tmp_path / "state"
    folder.mkdir()
    first = identity_of(folder, state)
    (folder / "file").write_text("x")
    assert identity_of(folder, state) == first
    assert identity_of(folder, tmp_path / "of another machine") != first
    folder.rename(tmp_path / "moved")
    folder.mkdir()
    assert identity_of(folder, state) != first


def test_a_worktree_is_saved_and_restored_as_it_was(tmp_path: Path, repository: Path) -> None:
    one = LocalPlaces(tmp_path / "one", host="one", roots=[tmp_path])
    place = one.open("s-1", {"kind": "worktree", "repo": str(repository), "base": "main"})
    (place.cwd / "a.txt").write_text("changed\n")
    (place.cwd / "new").mkdir()
    (place.cwd / "new/file.txt").write_text("untracked\n")
    (place.cwd / "built").write_text("ignored\n")
    saved = place.save(1)
    assert git(repository, "rev-parse", "refs/holdfast/s-1/1") == saved["saved"]
    assert git(place.cwd, "status", "--porcelain") == "M a.txt\n?? new/", "neither index nor branch were touched"
    again = one.open("s-1", saved)
    assert again.identity == place.identity
    assert again.save(2)["saved"] == saved["saved"], "nothing changed, so nothing is pushed"

    git(place.cwd, "add", ".")
    git(place.cwd, "commit", "-qm", "by the agent")
    (place.cwd / "a.txt").write_text("more\n")
    latest = again.save(3)

    two = LocalPlaces(tmp_path / "two", host="two", roots=[tmp_path]).open("s-1", latest)
    assert two.identity != place.identity
    assert (two.cwd / "a.txt").read_text() == "more\n"
    assert (two.cwd / "new/file.txt").read_text() == "untracked\n"
    assert not (two.cwd / "built").exists()
    assert git(two.cwd, "log", "--format=%s") == "by the agent\nfirst"
    assert git(two.cwd, "status", "--porcelain") == "M a.txt"
    assert git(two.cwd, "branch", "--show-current") == "holdfast/s-1"


def test_what_is_impossible_here_is_refused_with_a_sentence(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    places = LocalPlaces(tmp_path / "state", host="here", roots=[tmp_path])
    for values, message in (
        ({"kind": "folder", "cwd": str(tmp_path / "missing")}, "does not exist on here"),
        ({"kind": "boat"}, "Unknown kind of place"),
        ({"kind": "worktree"}, "needs the address of a repository"),
        ({"kind": "worktree", "repo": str(tmp_path / "nothing")}, "cannot be used"),
        ({"kind": "worktree", "repo": str(tmp_path)}, "git clone failed"),
        ({"kind": "folder", "cwd": str(tmp_path), "around": "moat"}, "Unknown surroundings"),
    ):
        with pytest.raises(StateError, match=message):
            places.open("s", values)
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(StateError, match="bubblewrap"):
        sandbox(tmp_path, tmp_path, state=tmp_path, network=False)
    with pytest.raises(StateError, match="podman or docker"):
        container(tmp_path, tmp_path, image="python:3.13", network=False)
    with pytest.raises(StateError, match="name of an image"):
        container(tmp_path, tmp_path, image="", network=False)


@needs("bubblewrap")
async def test_commands_in_the_sandbox_write_only_the_place(tmp_path: Path) -> None:
    work, session_folder = tmp_path / "work", tmp_path / "own"
    for folder in (work, session_folder):
        folder.mkdir()
    # Not below a temporary folder, which the sandbox hides: there every command would fail, sandbox or not.
    shown = "/srv" if os.access("/srv", os.W_OK) else str(Path.home())
    outside = Path(tempfile.mkdtemp(prefix="holdfast-outside-", dir=shown))
    try:
        await _writes_only(work, session_folder, outside)
    finally:
        shutil.rmtree(outside)


def names(folder: Path) -> list[str]:
    return sorted(each.name for each in folder.iterdir())


async def _writes_only(work: Path, session_folder: Path, outside: Path) -> None:
    (outside / "seen").write_text("from outside\n")
    words = sandbox(work, session_folder, state=work.parent / "state", network=False)
    command = f"echo in > a; cat {outside}/seen; touch {outside}/b && echo written || echo refused"
    for wrap, written in ((words, False), ((), True)):  # without the sandbox the same command writes there
        toolbox = LocalToolbox(work, session_folder)
        if wrap:
            toolbox.wrap(wrap)
        toolbox.confine("require" if wrap else "off")
        plan = toolbox.tools["bash"].plan("c1", json.dumps({"command": command}))
        assert plan.levels == (), "the place is the wall: inside it no other is made"
        output = await plan.run(ToolContext(call="c1", stop=asyncio.Event(), emit=lambda _: None))
        await toolbox.close()
        assert "from outside" in output.text, "the folder is seen, so a refusal is one"
        assert ("refused" in output.text, "written" in output.text) == (not written, written)
        assert (work / "a").read_text() == "in\n"
        assert names(outside) == (["b", "seen"] if written else ["seen"])


@needs("bubblewrap")
def test_a_file_of_the_session_does_not_open_other_folders_to_it(tmp_path: Path, repository: Path) -> None:
    """Its commands can write the place's `.git`: that counts only if the clone names the place in turn."""
    places = LocalPlaces(tmp_path / "state", host="one", roots=[tmp_path])
    place = places.open("s-1", {"kind": "worktree", "repo": str(repository), "base": "main"})
    secret = tmp_path / "secret"
    (secret / "worktrees" / "x").mkdir(parents=True)
    (secret / ".git").write_text("of another worktree")
    (secret / "worktrees" / "x" / "gitdir").write_text(f"{secret}/.git\n")
    clone = str(tmp_path / "state" / "clones")
    own = tmp_path / "own"
    assert clone in " ".join(writable(sandbox(place.cwd, own, state=tmp_path / "state", network=False)))
    for forged in (f"gitdir: {secret}/worktrees/x\n", f"gitdir: {secret}/a/b\n", "gitdir: /etc/ssh\n", "gitdir: \n"):
        (place.cwd / ".git").write_text(forged)
        words = sandbox(place.cwd, own, state=tmp_path / "state", network=False)
        assert set(writable(words)) == {str(place.cwd), str(own)}, f"{forged}: the file itself is read-only"
        assert worktree_entry(place.cwd) is None, forged
    (place.cwd / ".git").unlink()
    (place.cwd / ".git").symlink_to("/dev/zero")
    with pytest.raises(StateError, match="is a link, which no sandbox can keep"):
        sandbox(place.cwd, own, state=tmp_path / "state", network=False)


@needs("bubblewrap")
def test_root_opens_no_sandboxed_place_of_another_user(tmp_path: Path) -> None:
    walls.need_user(0)
    (tmp_path / "work").mkdir()
    os.chown(tmp_path / "work", walls.NOBODY, walls.NOBODY)
    places = LocalPlaces(tmp_path / "state", host="one", roots=[tmp_path])
    with pytest.raises(StateError, match=f"belongs to user {walls.NOBODY}"):
        places.open("s-1", {"kind": "folder", "cwd": str(tmp_path / "work"), "around": "sandbox"})


def writable(words: tuple[str, ...]) -> list[str]:
    """Return the paths that a sandbox binds writable."""
    argv: list[str] = json.loads(words[-1])["argv"]
    return [path for option, path in itertools.pairwise(argv) if option == "--bind"]


def run_inside(words: tuple[str, ...], line: str) -> str:
    done = subprocess.run(
        [*words, "/bin/sh", "-c", line],
        cwd="/",
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        check=False,
    )
    return done.stdout


@needs("bubblewrap")
def test_other_sessions_keys_and_the_worker_are_not_seen(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ANTHROPIC_API_KEY", "key-of-the-worker")
    shown = Path("/srv") if os.access("/srv", os.W_OK) else Path.home()
    with tempfile.TemporaryDirectory(prefix="holdfast-place-", dir=shown) as name:
        folder = Path(name)
        monkeypatch.setenv("HOLDFAST_HOME", f"{folder}/home")
        files = [folder / each for each in ("home/keys", "state/sessions/s-2/spool", "state/worktrees/s-2/a.txt")]
        for path in (*files, folder / "place/mine"):
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text("SECRET\n")
        places = LocalPlaces(folder / "state", host="one", roots=[folder])
        place = places.open("s-1", {"kind": "folder", "cwd": str(folder / "place"), "around": "sandbox"})
        seen = run_inside(place.wrap, f"cat {' '.join(map(str, files))}; ls {folder}/state {folder}/home")
        assert "SECRET" not in seen
        assert "s-2\n" not in seen
        assert "SECRET" in run_inside(place.wrap, f"cat {folder}/place/mine")
        assert "key-of-the-worker" not in " ".join(place.wrap), "every user of the machine sees arguments"


PLANTS = (
    "git config filter.x.clean 'touch {pwned}; cat'; echo '* filter=x' > .gitattributes",
    (
        "c=$(git rev-parse --git-common-dir); printf '[filter \"x\"]\\n\\tclean = touch {pwned}; cat\\n' >> $c/config; "
        "echo '* filter=x' > .gitattributes"
    ),
    (
        "c=$(git rev-parse --git-common-dir); mkdir evil; cp -r $c/. evil/; "
        "printf '[filter \"x\"]\\n\\tclean = touch {pwned}; cat\\n' >> evil/config; echo $PWD/evil > $c/commondir; "
        "echo '* filter=x' > .gitattributes"
    ),
    (
        "c=$(git rev-parse --git-dir); mkdir evil; cp -r $(git rev-parse --git-common-dir)/. evil/; "
        "printf '[filter \"x\"]\\n\\tclean = touch {pwned}; cat\\n' >> evil/config; echo $PWD/evil > $c/commondir; "
        "echo '* filter=x' > .gitattributes"
    ),
)


@needs("bubblewrap")
@pytest.mark.parametrize("line", PLANTS)
def test_what_a_session_plants_for_git_does_not_run_in_the_worker(tmp_path: Path, repository: Path, line: str) -> None:
    values = {"kind": "worktree", "repo": str(repository), "base": "main", "around": "sandbox"}
    places = LocalPlaces(tmp_path / "state", host="one", roots=[tmp_path])
    place = places.open("s-1", values)
    pwned = tmp_path / "pwned"
    run_inside(place.wrap, f"cd {place.cwd} && echo more >> a.txt; {line.format(pwned=pwned)}")
    assert "more" in (place.cwd / "a.txt").read_text()
    place.save(1)
    places.open("s-2", values)
    assert not pwned.exists()


async def test_nothing_is_looked_at_in_restored_files(tmp_path: Path) -> None:
    (tmp_path / "own").mkdir()
    local, change = LocalToolbox(tmp_path, tmp_path / "own"), FileChange(path="a", before=None, after="f" * 64)
    toolbox = RestoredToolbox(local, loss_note({"turn": 4}))
    assert local.check_change(change) != "unreadable"
    assert toolbox.check_change(change) == "unreadable"
    assert toolbox.traces("spool", 0.0) is None
    assert await toolbox.wait_for_exit({"spool": None})
    assert "as saved after turn 4" in await toolbox.reap({"call": None})
    assert await toolbox.reap({}) == ""
    await toolbox.close()


PLANTED = {
    "a filter in the configuration of the clone": """
        printf '* filter=evil\\n' > .gitattributes; git config filter.evil.clean '{run}'
        git config filter.evil.smudge '{run}'
    """,
    "programs of a push": """
        git config remote.origin.receivepack '{run}'; git config remote.origin.uploadpack '{run}'
        git config core.sshCommand '{run}'; git config credential.helper '!{run}'
    """,
    "another common folder of the clone": """
        printf '* filter=evil\\n' > .gitattributes; git init -q --bare .evil
        git -C .evil config filter.evil.clean '{run}'
        common=$(git rev-parse --git-common-dir); echo "$PWD/.evil" > $common/commondir
        echo "$PWD/.evil" > $(git rev-parse --git-dir)/commondir
    """,
    "another repository of the worktree": """
        printf '* filter=evil\\n' > .gitattributes; git clone -q -n . .evil
        git -C .evil config filter.evil.clean '{run}'; rm .git; echo "gitdir: $PWD/.evil/.git" > .git
    """,
    "a configuration beside that of the clone": """
        printf '* filter=evil\\n' > .gitattributes; common=$(git rev-parse --git-common-dir)
        cp $common/config copy; printf '[filter "evil"]\\nclean = {run}\\n' >> copy; mv -f copy $common/config
    """,
    "the configuration of a repository in the worktree": """
        git init -q inner; git -C inner config user.name t; git -C inner config user.email t@localhost
        printf '* filter=evil\\n' > inner/.gitattributes; echo x > inner/a; git -C inner add .
        git -C inner commit -qm x
        git add inner; git -c user.name=t -c user.email=t@localhost commit -qm inner; echo y > inner/a
        git -C inner config filter.evil.clean '{run}'; git -C inner config core.fsmonitor '{run}'
    """,
    "the configuration of a repository whose name has odd bytes": """
        inner=$(printf 'in\\r\\377ner'); git init -q "$inner"; cd "$inner"; git config user.name t
        git config user.email t@localhost
        printf '* filter=evil\n' > .gitattributes; echo x > a; git add .; git commit -qm x
        cd ..; git add "$inner"; git -c user.name=t -c user.email=t@localhost commit -qm inner; cd "$inner"; echo y > a
        git config filter.evil.clean '{run}'; git config core.fsmonitor '{run}'
    """,
}  # fmt: skip


@needs("bubblewrap")
@pytest.mark.parametrize("planted", PLANTED)
def test_git_of_the_worker_runs_no_program_that_a_command_of_the_sandbox_planted(
    tmp_path: Path, repository: Path, planted: str
) -> None:
    """A save runs outside the sandbox: what the session wrote there may name programs, and none of them runs."""
    outside = Path(tempfile.mkdtemp(prefix="holdfast-outside-", dir="/var/tmp"))
    mark, program = outside / "ran", outside / "program"
    try:
        program.write_text(f"#!/bin/sh\ntouch {mark}\nexit 1\n")
        program.chmod(0o755)
        places = LocalPlaces(tmp_path / "state", host="one", roots=[tmp_path])
        (tmp_path / "state" / "sessions" / "s-1").mkdir(parents=True)
        place = places.open("s-1", {"kind": "worktree", "repo": str(repository), "base": "main", "around": "sandbox"})
        script = PLANTED[planted].format(run=program)
        words = [*place.wrap, "sh", "-c", script]
        done = subprocess.run(words, cwd=place.cwd, check=False, stdin=subprocess.DEVNULL, capture_output=True)
        (place.cwd / "a.txt").write_text("changed\n")
        place.save(1)
        assert git(repository, "show", "refs/holdfast/s-1/1:a.txt") == "changed"
        assert not mark.exists(), done.stderr
        subprocess.run([program], check=False)
        assert mark.exists(), "the program leaves its mark when it runs"
    finally:
        shutil.rmtree(outside)


def test_git_of_the_worker_reads_no_other_repository_without_a_sandbox(tmp_path: Path, repository: Path) -> None:
    places = LocalPlaces(tmp_path / "state", host="one", roots=[tmp_path])
    place = places.open("s-1", {"kind": "worktree", "repo": str(repository), "base": "main"})
    mark, program = tmp_path / "ran", tmp_path / "program"
    program.write_text(f"#!/bin/sh\ntouch {mark}\nexit 1\n")
    program.chmod(0o755)
    script = PLANTED["another repository of the worktree"].format(run=program)
    subprocess.run(["sh", "-c", script], cwd=place.cwd, check=True, capture_output=True)
    (place.cwd / "a.txt").write_text("changed\n")
    place.save(1)
    assert git(repository, "show", "refs/holdfast/s-1/1:a.txt") == "changed"
    assert not mark.exists()


def test_a_container_cannot_write_what_git_of_the_worker_runs(
    tmp_path: Path, repository: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    places = LocalPlaces(tmp_path / "state", host="one", roots=[tmp_path])
    place = places.open("s-1", {"kind": "worktree", "repo": str(repository), "base": "main"})
    (tmp_path / "bin").mkdir()
    (tmp_path / "bin" / "podman").symlink_to("/bin/true")
    monkeypatch.setenv("PATH", f"{tmp_path}/bin:{os.environ['PATH']}")
    words = container(place.cwd, tmp_path / "own", image="python:3.13", network=False)
    (clone,) = (tmp_path / "state" / "clones").iterdir()
    for path in (clone / "config", clone / "hooks"):
        assert f"--volume={path}:{path}:ro" in words


def test_repositories_in_a_worktree_are_saved_as_their_commits(tmp_path: Path, repository: Path) -> None:
    places = LocalPlaces(tmp_path / "state", host="one", roots=[tmp_path])
    place = places.open("s-1", {"kind": "worktree", "repo": str(repository), "base": "main"})
    for name in ("kept", "empty", "gone", "newer"):
        git(place.cwd, "clone", "-q", str(repository), name)
    git(place.cwd, "add", ".")
    git(place.cwd, "commit", "-qm", "four repositories")
    before = git(place.cwd, "rev-parse", "HEAD:kept")
    for name in ("empty", "gone"):
        shutil.rmtree(place.cwd / name)
    (place.cwd / "empty").mkdir()
    git(place.cwd / "newer", "commit", "-q", "--allow-empty", "-m", "more")
    place.save(1)
    lines = git(repository, "ls-tree", "refs/holdfast/s-1/1").splitlines()
    saved = {line.split()[3]: line.split()[2] for line in lines if line.startswith("160000")}
    assert saved == {"kept": before, "empty": before, "newer": git(place.cwd / "newer", "rev-parse", "HEAD")}


def test_a_worktree_whose_git_names_another_repository_is_refused_when_it_is_opened(
    tmp_path: Path, repository: Path
) -> None:
    places = LocalPlaces(tmp_path / "state", host="one", roots=[tmp_path])
    values = {"kind": "worktree", "repo": str(repository), "base": "main"}
    place = places.open("s-1", values)
    git(tmp_path, "clone", "-q", str(repository), "other")
    (place.cwd / ".git").write_text(f"gitdir: {tmp_path}/other/.git\n")
    with pytest.raises(StateError, match="was changed, and names another repository"):
        places.open("s-1", values)
    shutil.rmtree(place.cwd)
    assert git(places.open("s-1", values).cwd, "log", "--format=%s") == "first"

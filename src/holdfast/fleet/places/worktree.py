"""A git worktree as a session's place: any machine can restore the last save.

Each machine has one bare clone of a repository, and a worktree in it for each session. A save commits all files,
including untracked ones, without changing the branch or the index, and pushes the commit to
`refs/holdfast/SESSION/TURN` of the repository the clone came from. Another machine starts from the last of these.

Runs git for worktrees: with a time limit, without prompts, and with a readable error when it fails.

Names from outside are checked by `outside_values` and stand behind `--` or `--end-of-options`. Git may use no
other transports, and no hooks or monitors: the files of a session may hold a configuration that names programs. So a
command in a clone or a worktree is sent the place of its configuration, and looks for no other: a sandbox keeps that.
"""

from __future__ import annotations

import hashlib
import os
import stat
import subprocess
import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path

import msgspec

from holdfast.errors import StateError
from holdfast.fleet.places.outside_values import (
    TRANSPORTS,
    checked_branch,
    checked_commit,
    checked_repository,
    folder_below,
)
from holdfast.fleet.places.place import identity_of
from holdfast.session.session_id import checked_id
from holdfast.system.durable_files import make_folder
from holdfast.system.owned_folder import OwnedFolder
from holdfast.system.trusted_programs import trusted_program, trusted_search_path


def worktree_entry(cwd: Path) -> Path | None:
    """Return the worktree's folder below `worktrees` of its clone, None if `cwd` is no worktree.

    The commands of a session can write `.git`. So the clone counts only if it names this worktree in turn, which they
    cannot write anywhere else.
    """
    try:
        text = _short_text(cwd / ".git")
        if not text.startswith("gitdir:"):
            return None
        entry = (cwd / text.removeprefix("gitdir:").strip()).resolve(strict=True)
        back = (entry / _short_text(entry / "gitdir").strip()).resolve(strict=True)
    except (OSError, ValueError, RuntimeError):  # a plain folder, not a worktree
        return None
    is_ours = back == cwd.resolve() / ".git" and entry.parent.name == "worktrees"
    return entry if is_ours else None


def _short_text(path: Path) -> str:
    """Return the text of a plain file, at most 4 KB of it; raises `OSError` for anything else."""
    file = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
    try:
        if not stat.S_ISREG(os.fstat(file).st_mode):
            raise OSError(f"{str(path)!r} is not a plain file")
        return os.read(file, 4096).decode("utf-8", "replace")
    finally:
        os.close(file)


# --- git command ---

_RUNS_NOTHING = {
    "core.hooksPath": os.devnull,
    "core.fsmonitor": "false",
    "core.askPass": "",
    "core.alternateRefsCommand": "true",
}
_CONFIG = {
    "GIT_CONFIG_COUNT": str(len(_RUNS_NOTHING)),
    **{f"GIT_CONFIG_KEY_{number}": name for number, name in enumerate(_RUNS_NOTHING)},
    **{f"GIT_CONFIG_VALUE_{number}": value for number, value in enumerate(_RUNS_NOTHING.values())},
}
LONGEST = 120.0
"""Seconds for one git command; a clone of a large repository takes that long."""


def of_clone(clone: Path) -> dict[str, str]:
    """Return what makes git use the clone, whatever its files say of another one."""
    return {"GIT_DIR": str(clone), "GIT_COMMON_DIR": str(clone)}


def of_worktree(clone: Path, entry: Path, folder: Path) -> dict[str, str]:
    """Return what makes git use the worktree in `folder`, with the configuration of its clone and no other."""
    return {"GIT_DIR": str(entry), "GIT_COMMON_DIR": str(clone), "GIT_WORK_TREE": str(folder)}


def git(
    folder: Path,
    *arguments: str,
    environment: Mapping[str, str] | None = None,
    input_text: str = "",
    places: Path | None = None,
) -> str:
    """Return what git wrote on standard output, given `input_text`; raises `StateError` with its last error.

    Paths are not changed on the way, whatever bytes they have. Neither git nor what it starts is a program in `folder`
    or in `places`, where sessions work.
    """
    foreign = (folder, *(() if places is None else (places,)))
    program = trusted_program("git", *foreign)
    if not program:
        raise StateError(
            "Git is not installed on this worker (outside of the sessions' folders), and a worktree needs it. "
            "Install git."
        )
    environ = {
        name: value for name, value in os.environ.items() if not name.startswith("GIT_") or name == "GIT_SSH_COMMAND"
    }
    environ["PATH"] = trusted_search_path(*foreign)
    quiet = {"GIT_TERMINAL_PROMPT": "0", "LC_ALL": "C", "GIT_OPTIONAL_LOCKS": "0", **_CONFIG}
    quiet["GIT_ALLOW_PROTOCOL"] = ":".join(TRANSPORTS)
    try:
        done = subprocess.run(  # noqa: S603 - no shell; addresses and names are separate arguments
            [program, *arguments],
            cwd=folder,
            env={**environ, **quiet, **(environment or {})},
            check=False,
            capture_output=True,
            input=input_text.encode("utf-8", "surrogateescape"),
            timeout=LONGEST,
        )
    except OSError as error:
        raise StateError(f"Git {program!r} could not be run in {str(folder)!r}: {error.strerror}. See both.") from error
    except subprocess.TimeoutExpired as error:
        raise StateError(
            f"Command git {arguments[0]} did not end within {LONGEST:g} s. See the repository and the network."
        ) from error
    if done.returncode:
        lines = (done.stderr or done.stdout).decode("utf-8", "replace").strip().splitlines()
        raise StateError(
            f"Command git {arguments[0]} failed: {lines[-1] if lines else done.returncode}. Try it in {str(folder)!r}."
        )
    return done.stdout.decode("utf-8", "surrogateescape").strip()


# --- worktree ---

_AUTHOR = {
    "GIT_AUTHOR_NAME": "holdfast",
    "GIT_AUTHOR_EMAIL": "holdfast@localhost",
    "GIT_COMMITTER_NAME": "holdfast",
    "GIT_COMMITTER_EMAIL": "holdfast@localhost",
}


class WorktreePlace(msgspec.Struct, frozen=True, kw_only=True):
    """A worktree that holdfast made; a `SessionPlace`. `saved` is the last commit that was pushed, "" if none was."""

    cwd: Path
    identity: str
    session: str
    clone: Path
    entry: Path
    row_values: dict[str, object]
    saved: str = ""
    wrap: tuple[str, ...] = ()

    def values(self) -> dict[str, object]:
        """Return the values to store in the session's row."""
        return {
            **self.row_values,
            "kind": "worktree",
            "cwd": str(self.cwd),
            "identity": self.identity,
            "saved": self.saved,
        }

    def save(self, turn: int) -> dict[str, object]:
        """Commit all files, push the commit, and return the values. Without a change nothing is pushed."""
        commit = self._committed(turn)
        if commit != self.saved:
            refs = f"refs/holdfast/{self.session}"
            saves = (f"+{commit}:{refs}/{turn}", f"+{commit}:{refs}/latest")
            _in_clone(self.clone, "push", "--quiet", "--no-recurse-submodules", "--", "origin", *saves)
        return {**self.values(), "saved": commit, "turn": turn}

    def close(self, *, remove: bool) -> None:
        """Leave the worktree, or delete it."""
        if remove:
            _in_clone(self.clone, "worktree", "remove", "--force", "--", str(self.cwd))

    def _committed(self, turn: int) -> str:
        """Return a commit of all files on top of the worktree's branch, or the last save if nothing changed."""
        with tempfile.TemporaryDirectory(prefix="holdfast-index-") as scratch:
            index = {"GIT_INDEX_FILE": str(Path(scratch, "index"))}
            self._git("read-tree", "HEAD", environment=index)
            inner = self._inner_repositories(index)
            if inner:  # git would start another git in each, with the configuration that is there
                self._git(
                    "update-index", "--force-remove", "-z", "--stdin", environment=index, input_text="\0".join(inner)
                )
            self._git("add", "--all", *(("--force",) if self._keeps_ignored else ()), ".", environment=index)
            empty = [name for name in inner if _is_empty(self.cwd / name)]
            if empty:
                lines = "\0".join(f"160000 {inner[name]}\t{name}" for name in empty)
                self._git("update-index", "--add", "-z", "--index-info", environment=index, input_text=lines)
            tree = self._git("write-tree", environment=index)
        head = self._git("rev-parse", "HEAD")
        if self.saved and self._git("rev-parse", f"{self.saved}^{{tree}}") == tree:
            parents = self._git("rev-list", "--parents", "-1", self.saved).split()
            if head in parents:
                return self.saved
        message = f"holdfast: session {self.session} after turn {turn}"
        return self._git("commit-tree", tree, "-p", head, "-m", message, environment=_AUTHOR)

    def _inner_repositories(self, index: Mapping[str, str]) -> dict[str, str]:
        """Return the commit of each repository in the worktree that the index names, by its path."""
        staged = (line.partition("\t") for line in self._git("ls-files", "-s", "-z", environment=index).split("\0"))
        return {name: fields.split()[1] for fields, _, name in staged if fields.startswith("160000 ")}

    def _git(self, *words: str, environment: Mapping[str, str] | None = None, input_text: str = "") -> str:
        repository = of_worktree(self.clone, self.entry, self.cwd)
        return git(self.cwd, *words, environment={**repository, **(environment or {})}, input_text=input_text)

    @property
    def _keeps_ignored(self) -> bool:
        return self.row_values.get("ignored") is True


def worktree_place(session: str, row_values: dict[str, object], *, state: Path, roots: Sequence[Path]) -> WorktreePlace:
    """Return the worktree of a session: reopened, restored from its last save, or new. Raises `StateError`.

    A repository on this machine must lie below one of `roots`.
    """
    checked_id(session)
    repository = str(row_values.get("repo", ""))
    if not repository:
        raise StateError("A worktree needs the address of a repository (`repo`). Name it when the session is made.")
    local = checked_repository(repository)
    base = checked_branch(str(row_values.get("base", "") or "HEAD"))
    saved = str(row_values.get("saved", ""))
    if saved:
        checked_commit(saved)
    clone = _clone(repository, state, str(folder_below(local, roots, "Repository")) if local else repository)
    worktrees = OwnedFolder(_worktrees(state))
    folder = worktrees.path(session)
    if not (folder / ".git").exists():
        worktrees.remove(session)
        _in_clone(clone, "worktree", "prune")
        _add(clone, folder, session, base=base, saved=bool(saved))
    return WorktreePlace(
        entry=_entry(clone, folder),
        cwd=folder,
        identity=identity_of(folder, state),
        session=session,
        clone=clone,
        row_values=row_values,
        saved=saved,
    )


def _clone(repository: str, state: Path, source: str) -> Path:
    """Return the bare clone of a repository on this machine, made from `source` for the first session that needs it."""
    clones = OwnedFolder(state / "clones")
    clone = clones.path(f"{hashlib.sha256(repository.encode()).hexdigest()[:24]}.git")
    make_folder(clone.parent)
    if not (clone / "HEAD").exists():
        scratch = Path(tempfile.mkdtemp(prefix=".clone-", dir=clone.parent))
        try:
            git(clone.parent, "clone", "--quiet", "--bare", "--", source, str(scratch), places=_worktrees(state))
            try:
                scratch.rename(clone)
            except OSError:  # another session of this machine was faster
                if not (clone / "HEAD").exists():
                    raise
        finally:
            clones.remove(scratch.name)
    return clone


def _add(clone: Path, folder: Path, session: str, *, base: str, saved: bool) -> None:
    """Add the worktree of a session, at its last save if there is one, otherwise at its base branch."""
    make_folder(folder.parent)
    latest = f"refs/holdfast/{session}/latest"
    _in_clone(clone, "fetch", "--quiet", "--prune", "--", "origin", "+refs/heads/*:refs/remotes/origin/*")
    if saved:
        _in_clone(clone, "fetch", "--quiet", "--", "origin", f"+{latest}:{latest}")
        start = _in_clone(clone, "rev-parse", "--verify", "--end-of-options", f"{latest}^")
    else:
        branch = f"refs/remotes/origin/{base}"
        found = _in_clone(clone, "for-each-ref", "--format=%(refname)", "--", branch).splitlines()
        start = branch if branch in found else base
    _in_clone(clone, "worktree", "add", "--quiet", "--force", "-B", f"holdfast/{session}", "--", str(folder), start)
    if saved:  # restores uncommitted changes as uncommitted changes
        repository = of_worktree(clone, _entry(clone, folder), folder)
        git(folder, "read-tree", "-u", "--reset", latest, environment=repository)
        git(folder, "reset", "--quiet", "--mixed", "HEAD", environment=repository)


def _entry(clone: Path, folder: Path) -> Path:
    """Return the clone's own folder for the worktree; raises `StateError` if `.git` there names another."""
    entry = worktree_entry(folder)
    if entry is None or entry.parent.parent != clone.resolve():
        raise StateError(
            f"Worktree {str(folder)!r} cannot be used: its `.git` was changed, and names another repository. Remove "
            "the folder; the session then continues from its last save."
        )
    return entry


def _in_clone(clone: Path, *words: str) -> str:
    return git(clone, *words, environment=of_clone(clone), places=_worktrees(clone.parent.parent))


def _worktrees(state: Path) -> Path:
    """Return the folder in which sessions work, each in its own."""
    return state / "worktrees"


def _is_empty(folder: Path) -> bool:
    """Return whether this is a folder without files, as git leaves one for a repository that was not fetched."""
    return folder.is_dir() and not folder.is_symlink() and not any(folder.iterdir())

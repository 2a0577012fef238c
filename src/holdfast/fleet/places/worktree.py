"""A git worktree as a session's place: any machine can restore the last save.

Each machine has one bare clone of a repository, and a worktree in it for each session. A save commits all files,
including untracked ones, without changing the branch or the index, and pushes the commit to
`refs/holdfast/SESSION/TURN` of the repository the clone came from. Another machine starts from the last of these.
"""

from __future__ import annotations

import hashlib
import tempfile
from collections.abc import Sequence
from pathlib import Path

import msgspec

from holdfast.errors import StateError
from holdfast.fleet.places.folder import identity_of
from holdfast.fleet.places.git_command import git, git_of
from holdfast.fleet.places.outside_values import checked_branch, checked_commit, checked_repository, folder_below
from holdfast.session.session_id import checked_id
from holdfast.system.durable_files import make_folder
from holdfast.system.owned_folder import OwnedFolder

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
            git_of(
                self.clone,
                self.clone,
                "push",
                "--quiet",
                "--",
                "origin",
                f"+{commit}:{refs}/{turn}",
                f"+{commit}:{refs}/latest",
            )
        return {**self.values(), "saved": commit, "turn": turn}

    def close(self, *, remove: bool) -> None:
        """Leave the worktree, or delete it."""
        if remove:
            git_of(self.clone, self.clone, "worktree", "remove", "--force", "--", str(self.cwd))

    def _committed(self, turn: int) -> str:
        """Return a commit of all files on top of the worktree's branch, or the last save if nothing changed."""
        with tempfile.TemporaryDirectory(prefix="holdfast-index-") as scratch:
            index = {"GIT_INDEX_FILE": str(Path(scratch, "index"))}
            git_of(self.clone, self.cwd, "read-tree", "HEAD", environment=index)
            git_of(
                self.clone, self.cwd, "add", "--all", "--force", ".", environment=index
            ) if self._keeps_ignored else git_of(self.clone, self.cwd, "add", "--all", ".", environment=index)
            tree = git_of(self.clone, self.cwd, "write-tree", environment=index)
        head = git_of(self.clone, self.cwd, "rev-parse", "HEAD")
        if self.saved and git_of(self.clone, self.cwd, "rev-parse", f"{self.saved}^{{tree}}") == tree:
            parents = git_of(self.clone, self.cwd, "rev-list", "--parents", "-1", self.saved).split()
            if head in parents:
                return self.saved
        message = f"holdfast: session {self.session} after turn {turn}"
        return git_of(self.clone, self.cwd, "commit-tree", tree, "-p", head, "-m", message, environment=_AUTHOR)

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
    worktrees = OwnedFolder(state / "worktrees")
    folder = worktrees.path(session)
    if not (folder / ".git").exists():
        worktrees.remove(session)
        git_of(clone, clone, "worktree", "prune")
        _add(clone, folder, session, base=base, saved=bool(saved))
    return WorktreePlace(
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
            git(clone.parent, "clone", "--quiet", "--bare", "--", source, str(scratch))
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
    git_of(clone, clone, "fetch", "--quiet", "--prune", "--", "origin", "+refs/heads/*:refs/remotes/origin/*")
    if saved:
        git_of(clone, clone, "fetch", "--quiet", "--", "origin", f"+{latest}:{latest}")
        start = git_of(clone, clone, "rev-parse", "--verify", "--end-of-options", f"{latest}^")
    else:
        branch = f"refs/remotes/origin/{base}"
        found = git_of(clone, clone, "for-each-ref", "--format=%(refname)", "--", branch).splitlines()
        start = branch if branch in found else base
    git_of(clone, clone, "worktree", "add", "--quiet", "--force", "-B", f"holdfast/{session}", "--", str(folder), start)
    if saved:  # restores uncommitted changes as uncommitted changes
        git_of(clone, folder, "read-tree", "-u", "--reset", latest)
        git_of(clone, folder, "reset", "--quiet", "--mixed", "HEAD")

"""Opens places on a worker's machine, by kind, with a sandbox or a container around their commands."""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path

import msgspec

from holdfast.errors import StateError
from holdfast.fleet.places.outside_values import checked_image
from holdfast.fleet.places.place import FolderPlace, PlaceValues, folder_place
from holdfast.fleet.places.worktree import WorktreePlace, worktree_entry, worktree_place
from holdfast.session.session_id import checked_id
from holdfast.system.confinement.description import LevelUnavailable
from holdfast.system.confinement.outer_wall import outer_words
from holdfast.system.confinement.probe import outer_obstacle
from holdfast.system.owned_folder import OwnedFolder
from holdfast.system.trusted_programs import trusted_program
from holdfast.system.user_directories import homes
from holdfast.tools.process.launch import PACKAGES

PLACE_KINDS = ("folder", "worktree")
AROUND = ("", "sandbox", "container")


class LocalPlaces:
    """Opens places below `state`, the fleet's own folder on this machine; a `Places`. `host` is its name.

    Folders of sessions, and repositories on this machine, must lie below one of `roots`.
    """

    def __init__(self, state: Path, *, host: str, roots: Sequence[Path]) -> None:
        self._state = state
        self._host = host
        self._roots = tuple(roots)

    def session_folder(self, session: str) -> Path:
        """Return the folder for the output and leftovers of a session's commands on this machine."""
        return OwnedFolder(self._state / "sessions").path(checked_id(session))

    def open(self, session: str, values: PlaceValues) -> FolderPlace | WorktreePlace:
        """Return the place of a session, created or reopened; raises `StateError` if that is impossible here."""
        checked_id(session)
        row_values = dict(values)
        match row_values.get("kind", "folder"):
            case "folder":
                place = folder_place(
                    Path(str(row_values.get("cwd", ""))),
                    state=self._state,
                    host=self._host,
                    roots=self._roots,
                    row_values=row_values,
                )
            case "worktree":
                place = worktree_place(session, row_values, state=self._state, roots=self._roots)
            case kind:
                raise StateError(f"Unknown kind of place {kind!r} (expected one of {', '.join(PLACE_KINDS)}).")
        around = str(row_values.get("around", ""))
        match around:
            case "":
                return place
            case "sandbox":
                wrap = sandbox(
                    place.cwd,
                    self.session_folder(session),
                    state=self._state,
                    network=row_values.get("network") is True,
                )
            case "container":
                wrap = container(
                    place.cwd,
                    self.session_folder(session),
                    image=str(row_values.get("image", "")),
                    network=row_values.get("network") is True,
                )
            case _:
                raise StateError(f"Unknown surroundings {around!r} (expected one of {', '.join(AROUND[1:])}).")
        return msgspec.structs.replace(place, wrap=wrap)


def sandbox(cwd: Path, session_folder: Path, *, state: Path, network: bool) -> tuple[str, ...]:
    """Return the command prefix that lets a program write only below `cwd`; raises `StateError` if no wall works here.

    The session's own folder is writable too: the output of its commands goes there. The rest of `state`, which is the
    fleet's, and what holdfast keeps for the user, keys among it, are not seen.
    """
    home = homes(os.environ)
    try:
        words = outer_words(
            cwd,
            session_folder,
            placeholders=state / "masks",
            hidden=(state, home.sessions.parent, home.config.parent),
            network=network,
            environ=os.environ,
        )
    except (OSError, LevelUnavailable) as error:
        raise StateError(f"The sandbox cannot be made here: {error}") from error
    if obstacle := outer_obstacle(words, cwd, os.environ):
        raise StateError(f"The sandbox cannot be made here: {obstacle.reason}. {obstacle.remedy}")
    return words


def container(cwd: Path, session_folder: Path, *, image: str, network: bool) -> tuple[str, ...]:
    """Return the command prefix that runs a program in a container; raises `StateError` without podman or docker.

    The `image` needs a `python3` (3.11 or newer): the process that runs the commands is a Python program.
    """
    if not image:
        raise StateError("A container needs the name of an image (`image`). Name it when the session is made.")
    checked_image(image)
    program = trusted_program("podman", cwd) or trusted_program("docker", cwd)
    if not program:
        raise StateError(
            "A container needs podman or docker, and this worker has neither (outside of the session's folder). "
            "Install one of them."
        )
    git_folder, read_only = _git_folder(cwd)
    for folder in (cwd, session_folder, git_folder):
        if ":" in str(folder):
            raise StateError(
                f"Folder {str(folder)!r} cannot be mounted in a container: its path has a colon. Use another folder."
            )
    folders = [f"--volume={folder}:{folder}" for folder in (cwd, session_folder)]
    return (
        program, "run", "--rm", "--interactive", "--init", *folders, f"--volume={PACKAGES}:{PACKAGES}:ro",
        *((f"--volume={git_folder}:{git_folder}",) if git_folder else ()),
        *(f"--volume={path}:{path}:ro" for path in read_only),
        *(() if network else ("--network=none",)), image,
    )  # fmt: skip


def _git_folder(cwd: Path) -> tuple[Path | None, tuple[Path, ...]]:
    """Return the clone that a worktree belongs to, which git in the worktree reads and writes, and what it only reads.

    Git runs the programs that these files name, also for the worker and for other sessions of the repository.
    """
    entry = worktree_entry(cwd)
    if entry is None:
        return None, ()
    clone = entry.parent.parent
    return clone, tuple(path for path in (clone / "config", clone / "hooks") if path.exists())

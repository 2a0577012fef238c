"""The places that a worker opens on its machine, by their kind, with a sandbox or a container around their commands."""

from __future__ import annotations

import shutil
from pathlib import Path

import msgspec

from holdfast.errors import StateError
from holdfast.fleet.places.folder import FolderPlace, folder_place
from holdfast.fleet.places.place import PlaceValues
from holdfast.fleet.places.worktree import WorktreePlace, worktree_place
from holdfast.tools.process.launch import PACKAGES

PLACE_KINDS = ("folder", "worktree")
AROUND = ("", "sandbox", "container")


class LocalPlaces:
    """Opens places below `state`, the fleet's own folder on this machine; a `Places`. `host` is its name."""

    def __init__(self, state: Path, *, host: str) -> None:
        self._state = state
        self._host = host

    def session_folder(self, session: str) -> Path:
        """Return where a session keeps what its commands print and leave, on this machine."""
        return self._state / "sessions" / session

    def open(self, session: str, values: PlaceValues) -> FolderPlace | WorktreePlace:
        """Return the place of a session, made or found again; raises `StateError` if that is impossible here."""
        given = dict(values)
        match given.get("kind", "folder"):
            case "folder":
                place = folder_place(Path(str(given.get("cwd", ""))), state=self._state, host=self._host, given=given)
            case "worktree":
                place = worktree_place(session, given, state=self._state)
            case kind:
                raise StateError(f"Unknown kind of place {kind!r} (expected one of {', '.join(PLACE_KINDS)}).")
        around = str(given.get("around", ""))
        match around:
            case "":
                return place
            case "sandbox":
                wrap = sandbox(place.cwd, self.session_folder(session), network=given.get("network") is True)
            case "container":
                wrap = container(
                    place.cwd,
                    self.session_folder(session),
                    image=str(given.get("image", "")),
                    network=given.get("network") is True,
                )
            case _:
                raise StateError(f"Unknown surroundings {around!r} (expected one of {', '.join(AROUND[1:])}).")
        return msgspec.structs.replace(place, wrap=wrap)


def sandbox(cwd: Path, session_folder: Path, *, network: bool) -> tuple[str, ...]:
    """Return the words that run a program in which only `cwd` can be written; raises `StateError` without bubblewrap.

    The session's own folder can be written too: its commands print there.
    """
    if shutil.which("bwrap") is None:
        raise StateError("The sandbox needs bubblewrap, which this worker has not. Install it (Debian: bubblewrap).")
    git_folder = _git_folder(cwd)
    return (
        "bwrap", "--ro-bind", "/", "/", "--dev", "/dev", "--proc", "/proc", "--tmpfs", "/tmp",  # noqa: S108 - an empty one
        "--ro-bind", str(PACKAGES), str(PACKAGES),
        "--bind", str(cwd), str(cwd), "--bind", str(session_folder), str(session_folder),
        *(("--bind", str(git_folder), str(git_folder)) if git_folder else ()),
        "--unshare-all", *(("--share-net",) if network else ()), "--die-with-parent", "--",
    )  # fmt: skip


def container(cwd: Path, session_folder: Path, *, image: str, network: bool) -> tuple[str, ...]:
    """Return the words that run a program in a container of `image`; raises `StateError` without podman or docker.

    The image needs a `python3` (3.11 or newer), in which the process that runs the commands runs.
    """
    if not image or image.startswith("-"):
        raise StateError("A container needs the name of an image (`image`). Name it when the session is made.")
    for program in ("podman", "docker"):
        if shutil.which(program):
            break
    else:
        raise StateError("A container needs podman or docker, and this worker has neither. Install one of them.")
    folders = [f"--volume={folder}:{folder}" for folder in (cwd, session_folder)]
    git_folder = _git_folder(cwd)
    return (
        program, "run", "--rm", "--interactive", "--init", *folders, f"--volume={PACKAGES}:{PACKAGES}:ro",
        *((f"--volume={git_folder}:{git_folder}",) if git_folder else ()),
        *(() if network else ("--network=none",)), image,
    )  # fmt: skip


def _git_folder(cwd: Path) -> Path | None:
    """Return the clone that a worktree belongs to: git in the worktree reads and writes it."""
    try:
        text = (cwd / ".git").read_text("utf-8")
    except OSError:  # no worktree: a folder by itself
        return None
    return Path(text.removeprefix("gitdir:").strip()).parent.parent if text.startswith("gitdir:") else None

"""The arguments of bubblewrap for a description. Pure.

The order is the law here: a later mount covers an earlier one, so the wide comes first and the narrow last. System,
private folders, toolchains, workspace, git, what is fixed, secrets, TMPDIR. Why each word is there:

- `--unshare-user --disable-userns --cap-drop ALL`: for root bubblewrap makes no user namespace unless asked, and keeps
  every capability; a command could then mount the disk writable again.
- `--remount-ro /proc`: `/proc/sys` looks at the user, not at capabilities. Root wrote `core_pattern` from inside.
- `--remount-ro /` and `/dev`: each is a tmpfs that would take half of the memory.
- Few mounts: for each one bubblewrap reads the list of all of them. At level `read` `/tmp` is a folder of the root.
- A folder above something read-only is itself a mount: `mv .git x; mkdir -p .git/hooks` would go round the hooks.
- The `sh` in front waits at both ends. At the end: `--die-with-parent` ends everything inside when the shell exits, and
  `> >(tee log)` would lose its output. At the beginning: bubblewrap asks to die with the supervisor only after it has
  begun, and would not notice a death before that. So nothing runs before the supervisor, which is then alive, says so;
  of a dead one the pipe is closed. `--as-pid-1` makes this `sh` the first process of the namespace: it has asked to die
  with bubblewrap before it runs.

Example: at level `read` `echo x > a.txt` fails with "Read-only file system", and `cat ~/.ssh/id_rsa` with "No such
file": home is not there.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from holdfast.system.confinement.description import (
    OUTER_SCRATCH_BYTES,
    SCRATCH_BYTES,
    Confinement,
    Mask,
    is_below,
    is_within,
)
from holdfast.system.confinement.descriptor_numbers import FILTER_FD, GO_FD, READY_FD, WAITS_OPTION

BUBBLEWRAP = "bwrap"
_ENDS_TOGETHER = ("--unshare-pid", "--die-with-parent")
_NAMESPACES = (
    "--unshare-user", "--disable-userns", "--cap-drop", "ALL", "--unshare-ipc", "--unshare-uts",
    "--unshare-cgroup-try", *_ENDS_TOGETHER,
)  # fmt: skip


def pid_namespace_words(bubblewrap: str) -> tuple[str, ...]:
    """Return the words before a program whose processes all end with it.

    They are no wall: it sees, writes and reaches what its user may.
    """
    return (bubblewrap, "--dev-bind", "/", "/", "--proc", "/proc", *_ENDS_TOGETHER, "--")


NOT_BEGUN = 126
_BEGIN = f"echo >&{READY_FD}; read -r go <&{GO_FD} || exit {NOT_BEGUN}; exec {GO_FD}<&- {READY_FD}>&-; "
"""Says that it is there, and goes on when the word comes; if the supervisor has died, it ends."""

_WAIT = (
    'exec 9>&2 2>/dev/null; (exec "$@" 2>&9 9>&-); s=$?; exec 2>&9 9>&-; '
    "i=0; while [ $i -lt 20 ]; do set -- /proc/[0-9]*; [ $# -le 1 ] && break; sleep .01; i=$((i+1)); done; "
)
"""Runs the shell and waits up to 0.2 s for what it left behind, such as `tee` in `> >(tee log)`.

What this first shell says of a signal that ended the other, "Terminated", is no output of the command.
"""
_ENDS = (
    '[ $# -le 1 ] || echo "[$(($#-1)) of its processes left behind: ended. To keep one running, use background: true.]"'
    "; exit $s"
)
"""Says what ends with it."""
_STAYS = (
    '[ $# -le 1 ] || echo "[The command itself has ended (exit code $s). Processes that it started, still running: '
    '$(($#-1)).]"; while [ $# -gt 1 ]; do sleep .25; set -- /proc/[0-9]*; done; exit $s'
)
"""Waits until nothing is left, such as a program that makes itself a daemon."""

_PRIVATE = ("/tmp", "/run", "/var/tmp")  # noqa: S108 - each is an empty one of the command's own


def bubblewrap_words(described: Confinement, *, listener: tuple[str, ...] = ()) -> tuple[str, ...]:
    """Return the words to put before the shell. `listener` are words of the program that opens the way out."""
    return (
        described.bubblewrap,
        *_NAMESPACES,
        *(() if described.is_looking or described.outer == "online" else ("--unshare-net",)),
        *_system(described),
        *_private(described),
        *_visible(described),
        *_masked(described),
        *_writable(described),
        "--chdir", described.cwd,
        "--seccomp", str(FILTER_FD),
        *(() if described.outer else (WAITS_OPTION,)),
        "--",
        *(() if described.outer else ("/bin/sh", "-c", _front(described), "sh")),
        *listener,
    )  # fmt: skip


def _front(described: Confinement) -> str:
    """Return the script of the first process. What looks sees the machine's processes, and cannot count its own."""
    return _BEGIN + ('exec "$@"' if described.is_looking else _WAIT + (_STAYS if described.stays else _ENDS))


def placeholder(described: Confinement, mask: Mask) -> str:
    """Return the path of the file or folder of mode 000 that covers a secret."""
    name = "folder" if mask.is_folder else f"file-{mask.size}-{mask.mtime_ns}"
    return f"{described.placeholders}/{name}"


def visible_masks(described: Confinement) -> tuple[Mask, ...]:
    """Return the secrets that would be seen, none of them inside another. A workspace root is never masked."""
    shown = _shown_folders(described)
    private = () if not described.sees_disk else described.system.scratch
    found: list[Mask] = []
    for mask in sorted(described.masks, key=_depth_of_mask):
        is_shown = is_within(mask.path, shown) or (described.sees_disk and not is_within(mask.path, private))
        is_covered = any(
            each.is_folder and is_below(mask.path, each.path) and not _is_between(shown, mask.path, each.path)
            for each in found
        )
        if is_shown and not is_covered and mask.path not in described.roots:
            found.append(mask)
    return tuple(found)


def _is_between(folders: Iterable[str], path: str, above: str) -> bool:
    """Return whether one of the folders holds the path and lies below `above`, so that it is shown again there."""
    return any(is_below(path, each) and each != above and is_below(each, above) for each in folders)


def _shown_folders(described: Confinement) -> tuple[str, ...]:
    """Return what a limited view shows, and a whole one in the place of a private folder."""
    repositories = tuple(each.common for each in described.git if each.common)
    shown = (*described.toolchains, *described.roots, *repositories, *described.caches)
    return shown if described.sees_disk else (*described.system.folders, *shown)


def _system(described: Confinement) -> Iterator[str]:
    if described.sees_disk:
        yield from ("--ro-bind", "/", "/")
        return
    for path in _by_depth(described.system.folders):
        yield from ("--ro-bind", path, path)
    for path, target in described.system.links:
        yield from ("--symlink", target, path)


def _private(described: Confinement) -> Iterator[str]:
    size = ("--size", str(OUTER_SCRATCH_BYTES if described.outer else SCRATCH_BYTES))
    yield from ("--dev", "/dev", *size, "--tmpfs", "/dev/shm", "--remount-ro", "/dev")  # noqa: S108 - the command's own
    if described.is_looking:
        yield from ("--ro-bind", "/proc", "/proc")
    else:
        yield from ("--proc", "/proc", "--remount-ro", "/proc")
    for path in _by_depth(described.system.scratch if described.sees_disk else _PRIVATE):
        yield from ("--dir", path) if _is_all_read_only(described) else (*size, "--tmpfs", path)
    if not described.sees_disk:
        yield from ("--dir", described.home)


def _is_all_read_only(described: Confinement) -> bool:
    """Return whether the root is a view of the command's own that becomes read-only with every folder made in it."""
    return described.level == "read" and not described.sees_disk


def _folders_to_empty(described: Confinement) -> list[str]:
    inside = (described.temporary, *described.roots, *described.caches, *described.toolchains)
    return [
        mask.path
        for mask in visible_masks(described)
        if mask.is_folder and any(is_below(each, mask.path) for each in inside)
    ]


def _visible(described: Confinement) -> Iterator[str]:
    """Yield toolchains, roots and git folders, what of them stays read-only, and empty folders over secret ones.

    All by depth: what is deeper lies on what is wider, whichever of them is the secret.
    """
    rows = {path: ("--ro-bind", path, path) for path in _shown_toolchains(described)}
    repositories = (git.common for git in described.git if git.common)
    if described.level == "read":
        rows |= {path: ("--ro-bind", path, path) for path in (*described.roots, *repositories)}
    else:
        caches = (path for path in described.caches if not is_within(path, described.roots))
        pinned = (path for git in described.git for path in git.pinned)
        writable = dict.fromkeys((*caches, *described.roots, *repositories, *pinned))
        fixed = tuple(_fixed(described))
        writable |= dict.fromkeys(_parents(fixed, described))
        rows |= {path: ("--bind", path, path) for path in writable}
        rows |= {path: ("--ro-bind", path, path) for path in fixed}
    empty = ("--perms", "0111", "--size", str(SCRATCH_BYTES), "--tmpfs")
    rows |= {path: (*empty, path) for path in _folders_to_empty(described)}
    for path in _by_depth(rows):
        yield from rows[path]


def _fixed(described: Confinement) -> Iterator[str]:
    """Yield what stays read-only above level `read`, but for what a secret folder hides."""
    emptied = _folders_to_empty(described)
    for path in (*described.fixed, *(path for git in described.git for path in git.protected)):
        if not any(is_below(path, each) and not _is_between(described.roots, path, each) for each in emptied):
            yield path


def _shown_toolchains(described: Confinement) -> Iterator[str]:
    """Yield the toolchains to bind: not what is seen anyway, nor what another one shows, nor a secret folder itself."""
    emptied = _folders_to_empty(described)
    hidden = (*described.system.scratch, *emptied) if described.sees_disk else ("/",)
    bound: list[str] = []
    for path in _by_depth(described.toolchains):
        is_secret = any(mask.path == path for mask in described.masks)
        is_seen = any(is_below(path, each) and not _is_between(emptied, path, each) for each in bound)
        if is_within(path, hidden) and not is_within(path, described.roots) and not is_secret and not is_seen:
            bound.append(path)
            yield path


def _parents(paths: Iterable[str], described: Confinement) -> Iterator[str]:
    """Yield the writable folders above these paths, to be mounts too: else a renamed folder takes them along."""
    writable = (*described.roots, *(git.common for git in described.git if git.common), *described.caches)
    for path in paths:
        parent = path.rpartition("/")[0]
        while is_within(parent, writable) and parent not in writable:
            yield parent
            parent = parent.rpartition("/")[0]


def _masked(described: Confinement) -> Iterator[str]:
    emptied = _folders_to_empty(described)
    for mask in visible_masks(described):
        if mask.path not in emptied:
            yield from ("--ro-bind", placeholder(described, mask), mask.path)
    if described.level == "read":
        for path in (path for git in described.git for path in git.hooks):
            yield from ("--ro-bind", placeholder(described, Mask(path, is_folder=True)), path)


def _writable(described: Confinement) -> Iterator[str]:
    yield from ("--bind", described.temporary, described.temporary)
    for path in _folders_to_empty(described):
        yield from ("--remount-ro", path)
    if described.level == "read" and described.sees_disk:
        for path in described.system.scratch:
            yield from ("--remount-ro", path)
    if not described.sees_disk:
        yield from ("--remount-ro", "/")


def _by_depth(paths: Iterable[str]) -> list[str]:
    """Return the paths, each before what lies in it."""
    return sorted(dict.fromkeys(paths), key=lambda path: (path.rstrip("/").count("/"), path))


def _depth_of_mask(mask: Mask) -> tuple[int, str]:
    return mask.path.count("/"), mask.path

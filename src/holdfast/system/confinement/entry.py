"""Starts a confined command in the supervisor: what a launch asks for is made before the fork and entered after it.

    wall = prepare_wall(fields)                 # descriptors, placeholders, Landlock's rules; raises OSError
    pid = os.fork()
    if pid == 0:
        enter_wall(wall, [shell, "-c", line])   # never returns; raises OSError if nothing was started
    wall.close_inside()
    …                                           # when `wall.ready`, if it is not -1, can be read:
    let_begin(wall)                             # until then nothing runs inside
    close_wall(wall)                            # at its end; False: the wall failed, and the command never ran

Without `typing` or `json`, for the supervisor's start is part of every session's first command. All descriptors but
standard input, output and errors, and those of the wall, are closed inside: `cat <&3` would print what is hidden.
"""

from __future__ import annotations

import errno
import fcntl
import os
import stat
from collections.abc import Mapping, Sequence
from contextlib import suppress

from holdfast.system.confinement.descriptor_numbers import CHANNEL_FD, FILTER_FD, GO_FD, READY_FD, WAITS_OPTION

_TYPE_CHECKING = False  # as in typing, without the cost of its import
if _TYPE_CHECKING:
    from typing import TypedDict

    class LaunchFields(TypedDict):
        """A `Launch` as JSON has it; the filter is in hexadecimal digits."""

        kind: str
        argv: list[str]
        environment: dict[str, str]
        cwd: str
        filter: str
        placeholders: list[tuple[str, bool, int, int]]
        rules: list[tuple[str, int]]
        keep_file_capabilities: bool
        is_proxied: bool
        absent: list[str]


_ABOVE = 32  # where descriptors wait until their own numbers are free
_NAMES_MOST = 1000
_CHUNK = 64


class Wall:
    """The descriptors of one launch, in the process that forks. `ready` is -1 if the command does not wait."""

    __slots__ = ("channel", "fields", "go", "has_begun", "inside", "ready", "ruleset")

    def __init__(self, fields: LaunchFields) -> None:
        self.fields = fields
        self.inside: dict[int, int] = {}
        self.ready = self.go = self.ruleset = self.channel = -1
        self.has_begun = True

    def close_inside(self) -> None:
        """Close what only the child needs. Call it after the fork, also if the fork failed."""
        for descriptor in self.inside.values():
            os.close(descriptor)
        self.inside.clear()
        if self.ruleset >= 0:
            os.close(self.ruleset)
            self.ruleset = -1

    def close(self) -> None:
        """Close everything."""
        self.close_inside()
        for descriptor in (self.ready, self.go, self.channel):
            if descriptor >= 0:
                os.close(descriptor)
        self.ready = self.go = self.channel = -1


def prepare_wall(fields: LaunchFields) -> Wall:
    """Make what the launch needs (see `launch_fields`); raises `OSError`, and then nothing is left open."""
    wall = Wall(fields)
    try:
        for row in fields["placeholders"]:
            _make_placeholder(*row)
        if fields["kind"] == "bwrap":
            _open_for_bubblewrap(wall, bytes.fromhex(fields["filter"]), waits=WAITS_OPTION in fields["argv"])
        elif fields["kind"] == "landlock":
            from holdfast.system.confinement.kernel.landlock import make_ruleset  # the only one with ctypes

            wall.ruleset = make_ruleset(fields["rules"])
        if fields["is_proxied"]:
            import socket

            ours, inside = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
            wall.channel, wall.inside[CHANNEL_FD] = ours.detach(), inside.detach()
    except BaseException:
        wall.close()
        raise
    return wall


def _open_for_bubblewrap(wall: Wall, program: bytes, *, waits: bool) -> None:
    if waits:
        wall.ready, wall.inside[READY_FD] = os.pipe()
        wall.inside[GO_FD], wall.go = os.pipe()
        wall.has_begun = False
    wall.inside[FILTER_FD] = os.memfd_create("filter")  # bubblewrap reads it to its end, so each start needs one
    os.write(wall.inside[FILTER_FD], program)
    os.lseek(wall.inside[FILTER_FD], 0, os.SEEK_SET)


def _make_placeholder(path: str, is_folder: bool, size: int, mtime_ns: int) -> None:  # noqa: FBT001 - a row
    """Make a file or folder of mode 000, unless it is there."""
    try:
        if is_folder:
            os.mkdir(path, 0)  # noqa: PTH102 - pathlib takes longer to import than the wall to start
            return
        descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC, 0)
    except FileExistsError:
        _check_placeholder(path, is_folder=is_folder)
        return
    try:
        os.truncate(descriptor, size)
        os.utime(descriptor, ns=(mtime_ns, mtime_ns))
    finally:
        os.close(descriptor)


def _check_placeholder(path: str, *, is_folder: bool) -> None:
    mode = os.lstat(path).st_mode
    if stat.S_IMODE(mode) or stat.S_ISDIR(mode) != is_folder or not (is_folder or stat.S_ISREG(mode)):
        raise FileExistsError(errno.EEXIST, "it is no placeholder of mode 000: delete it", path)


def enter_wall(wall: Wall, shell: Sequence[str], environment: Mapping[str, str] | None = None) -> None:
    """Become the command inside its wall. Only in a forked child; returns never, raises `OSError` if it cannot.

    `environment` replaces the launch's own.
    """
    fields = wall.fields
    env = environment if environment is not None else fields["environment"]
    words = [*fields["argv"], *shell]
    _move_descriptors(wall.inside)
    if fields["kind"] != "bwrap":  # which enters it by itself, when all is in its place
        os.chdir(fields["cwd"])
    if fields["kind"] == "landlock":
        from holdfast.system.confinement.kernel.landlock import enter_landlock

        keep = fields["keep_file_capabilities"]
        enter_landlock(wall.ruleset, bytes.fromhex(fields["filter"]), keep_file_capabilities=keep)
    os.execvpe(words[0], words, env)  # noqa: S606 - running it is the point


def _move_descriptors(inside: Mapping[int, int]) -> None:
    """Give the wall's descriptors their numbers, and close all others when the command begins."""
    waiting = {number: fcntl.fcntl(descriptor, fcntl.F_DUPFD_CLOEXEC, _ABOVE) for number, descriptor in inside.items()}
    for number, descriptor in waiting.items():
        os.dup2(descriptor, number, inheritable=True)
    # Those that only this process needs, such as Landlock's rules, close by themselves.
    for name in os.listdir("/proc/self/fd"):  # noqa: PTH208 - as above
        number = int(name)
        if number > 2 and number not in inside:  # noqa: PLR2004 - standard input, output and errors stay
            try:
                os.set_inheritable(number, False)  # noqa: FBT003 - it has no other way
            except OSError:  # the listing's own
                continue


def let_begin(wall: Wall) -> bool:
    """Let the command begin, now that `ready` can be read; return whether there is nothing more to read there.

    All that the command's death needs is then in place: what ends this process ends the command.
    """
    if os.read(wall.ready, _CHUNK):
        wall.has_begun = True
        with suppress(BrokenPipeError):  # its first process has been killed
            os.write(wall.go, b"\n")
        return False
    return True


def close_wall(wall: Wall) -> bool:
    """Close the wall of a command that has ended; return whether the command had begun."""
    wall.close()
    return wall.has_begun


def move_appeared(fields: LaunchFields) -> list[str]:
    """Rename what a command put where git would obey it, and return where it was. Call it when the command has ended.

    It stays beside its place, under a name that means nothing to git. What cannot be renamed is returned too.
    """
    found = [path for path in fields["absent"] if os.path.lexists(path)]
    for path in found:
        names = (f"{path}.moved-{number}" for number in range(1, _NAMES_MOST))
        free = next((name for name in names if not os.path.lexists(name)), path)
        if os.path.realpath(os.path.dirname(path)) != os.path.dirname(path):  # noqa: PTH120 - as above
            continue  # a link leads to another folder by now
        with suppress(OSError):  # it is said below that it is still there
            os.rename(path, free)  # noqa: PTH104 - as above
    return [f"{path}{' (it could not be moved)' if os.path.lexists(path) else ''}" for path in found]

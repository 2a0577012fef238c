"""Filters of system calls, as programs that the kernel runs at each call. Pure.

A wall of mounts does not stop what has no path: a socket of another family, `io_uring`, which makes sockets without
`socket()`, the keyring, which namespaces do not divide. So the filter lists the families that are allowed and refuses
all others. The program looks at the architecture first: on another one, the same numbers mean other calls.

A pair of datagram sockets is refused too. Unlike a stream, such a pair can be aimed at any other socket by its path
(`sendto(path)`), and so would reach the system's log, or a service of the user, without a call of `socket()`.

Example: at level `read`, `socket(AF_UNIX, …)` returns EACCES, and `curl --unix-socket /run/docker.sock` says so.
"""

from __future__ import annotations

import errno
import struct
from typing import Literal

from holdfast.system.confinement.kernel.system_calls import ARCHITECTURES, X32, Architecture, number

FilterName = Literal["bwrap", "looking", "landlock"]
"""`looking` is for programs that list sockets and must see the machine's network. `landlock` has no mounts below it."""

_Step = tuple[int, int, int, int]
_LOAD, _EQUAL, _AT_LEAST, _ANY_BIT, _AND, _RETURN = 0x20, 0x15, 0x35, 0x45, 0x54, 0x06
_ALLOW, _KILL, _ERROR = 0x7FFF0000, 0x80000000, 0x00050000
_NUMBER, _ARCHITECTURE, _ARGUMENTS = 0, 4, 16

_UNIX, _INET, _INET6, _NETLINK = 1, 2, 10, 16
_STREAM, _SEQPACKET, _TYPE = 1, 5, 0xF
_NEW_USER = 0x10000000

_FAMILIES: dict[FilterName, tuple[int, ...]] = {
    "bwrap": (_INET, _INET6, _NETLINK),
    "looking": (_NETLINK,),
    "landlock": (),
}

_NOT_PERMITTED = (
    "add_key", "request_key", "keyctl", "bpf", "perf_event_open", "userfaultfd", "open_by_handle_at",
)  # fmt: skip
_ABSENT = ("io_uring_setup", "io_uring_enter", "io_uring_register")

# What a wall of mounts and namespaces refuses by itself, and rules of paths do not see.
_NOT_BY_LANDLOCK = (
    "chmod", "fchmod", "fchmodat", "fchmodat2", "chown", "fchown", "lchown", "fchownat",
    "utime", "utimes", "futimesat", "utimensat",
    "setxattr", "lsetxattr", "fsetxattr", "setxattrat", "removexattr", "lremovexattr", "fremovexattr",
    "removexattrat", "file_setattr",
    "unshare", "setns", "ioprio_set",
    "mount", "umount2", "move_mount", "open_tree", "fsopen", "fsconfig", "fsmount", "fspick", "mount_setattr",
    "pivot_root", "chroot",
    "reboot", "swapon", "swapoff", "settimeofday", "clock_settime", "clock_adjtime", "adjtimex", "sethostname",
    "setdomainname", "init_module", "finit_module", "delete_module", "kexec_load", "kexec_file_load", "quotactl",
    "quotactl_fd", "acct", "syslog", "iopl", "ioperm", "vhangup", "nfsservctl", "lookup_dcookie", "fanotify_init",
    "shmget", "semget", "msgget", "mq_open",
    "ptrace", "process_vm_readv", "process_vm_writev", "process_madvise", "pidfd_getfd", "kcmp",
)  # fmt: skip
_OF_ITSELF = ("prlimit64", "sched_setaffinity", "sched_setattr", "sched_setparam", "sched_setscheduler")

_TIOCSTI, _TIOCLINUX = 0x5412, 0x541C
_TERMINAL, _GROUP = 0x5400, 0xFF00
_READING_IOCTLS = (
    0x40049409, 0x4020940D, 0xC0189436,  # FICLONE, FICLONERANGE, FIDEDUPERANGE: into a file that is open for writing
    0x80086601, 0x801C581F, 0xC020660B, 0x80087601, 0x81009431,  # flags, fsx, extents, version, label: read only
    0x00000001, 0x00000002,  # FIBMAP, FIGETBSZ
)  # fmt: skip


def filter_program(name: FilterName, machine: str) -> bytes:
    """Return the program for that machine (`os.uname().machine`); raises `KeyError` for an unknown architecture."""
    architecture = ARCHITECTURES[machine]
    steps: list[_Step] = [
        (_LOAD, 0, 0, _ARCHITECTURE),
        (_EQUAL, 1, 0, architecture.audit),
        (_RETURN, 0, 0, _KILL),
        (_LOAD, 0, 0, _NUMBER),
    ]
    if architecture.name == "x86_64":
        steps += [(_AT_LEAST, 0, 1, X32), _refusal(errno.ENOSYS)]
    steps += _when("socket", architecture, _one_of(0, _FAMILIES[name], otherwise=errno.EACCES))
    steps += _when("socketpair", architecture, _pair())
    for call in _ABSENT:
        steps += _when(call, architecture, [_refusal(errno.ENOSYS)])
    for call in (*_NOT_PERMITTED, *(_NOT_BY_LANDLOCK if name == "landlock" else ())):
        steps += _when(call, architecture, [_refusal(errno.EPERM)])
    if name == "landlock":
        steps += _without_namespaces(architecture)
    else:
        steps += _when("ioctl", architecture, _none_of(1, (_TIOCSTI, _TIOCLINUX)))
    steps.append((_RETURN, 0, 0, _ALLOW))
    return b"".join(struct.pack("=HBBI", *step) for step in steps)


def _without_namespaces(architecture: Architecture) -> list[_Step]:
    """Return the steps about arguments that only the filter can refuse where nothing but Landlock confines."""
    steps = _when("clone3", architecture, [_refusal(errno.ENOSYS)])  # its flags are behind a pointer
    steps += _when("clone", architecture, _without_bit(0, _NEW_USER))
    for call in _OF_ITSELF:
        steps += _when(call, architecture, _one_of(0, (0,), otherwise=errno.EPERM))
    # Process 0 is the caller. Group 0 is its own too, but user 0 is every process of the user.
    itself = [*_load(0), (_EQUAL, 1, 0, 0), _refusal(errno.EPERM), *_one_of(1, (0,), otherwise=errno.EPERM)]
    steps += _when("setpriority", architecture, itself)
    return steps + _when("ioctl", architecture, _ioctls())


def _when(call: str, architecture: Architecture, then: list[_Step]) -> list[_Step]:
    """Return the steps taken at that call, the last of which returns; none if the architecture lacks it."""
    found = number(call, architecture)
    return [] if found is None else [(_EQUAL, 0, len(then), found), *then]


def _load(argument: int) -> list[_Step]:
    return [(_LOAD, 0, 0, _ARGUMENTS + 8 * argument)]  # the lower half: what the kernel reads of an int


def _refusal(number: int) -> _Step:
    return (_RETURN, 0, 0, _ERROR | number)


def _one_of(argument: int, values: tuple[int, ...], *, otherwise: int) -> list[_Step]:
    tests: list[_Step] = [(_EQUAL, len(values) - at, 0, value) for at, value in enumerate(values)]
    return [*_load(argument), *tests, _refusal(otherwise), (_RETURN, 0, 0, _ALLOW)]


def _none_of(argument: int, values: tuple[int, ...]) -> list[_Step]:
    tests: list[_Step] = [(_EQUAL, len(values) - at, 0, value) for at, value in enumerate(values)]
    return [*_load(argument), *tests, (_RETURN, 0, 0, _ALLOW), _refusal(errno.EPERM)]


def _without_bit(argument: int, bit: int) -> list[_Step]:
    return [*_load(argument), (_ANY_BIT, 0, 1, bit), _refusal(errno.EPERM), (_RETURN, 0, 0, _ALLOW)]


def _pair() -> list[_Step]:
    masked: list[_Step] = [*_load(1), (_AND, 0, 0, _TYPE)]
    return [*masked, *_one_of(1, (_STREAM, _SEQPACKET), otherwise=errno.EACCES)[1:]]


def _ioctls() -> list[_Step]:
    """Return the steps that allow a terminal's ioctls, but for typing into it, and those that only read a file."""
    known = _one_of(1, _READING_IOCTLS, otherwise=errno.EPERM)
    of_terminals = _none_of(1, (_TIOCSTI, _TIOCLINUX))
    return [*_load(1), (_AND, 0, 0, _GROUP), (_EQUAL, 0, len(of_terminals), _TERMINAL), *of_terminals, *known]

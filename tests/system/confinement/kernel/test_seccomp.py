"""The filter's program, run by a small reader of it and by the kernel."""

from __future__ import annotations

import errno
import struct

import pytest

from holdfast.system.confinement.kernel.seccomp import FilterName, filter_program
from holdfast.system.confinement.kernel.system_calls import ARCHITECTURES, NUMBERS, X32

ALLOWED, KILLED = 0x7FFF0000, 0x80000000
NAMES: tuple[FilterName, ...] = ("bwrap", "looking", "landlock")


def verdict(name: FilterName, machine: str, call: str | int, *arguments: int, audit: int | None = None) -> int:
    """Return what the program says to a call: the kernel's own rules for the few steps that the programs have."""
    architecture = ARCHITECTURES[machine]
    number = call if isinstance(call, int) else NUMBERS[call][architecture.column]
    assert number is not None
    padded = (*arguments, *(0,) * (6 - len(arguments)))
    data = struct.pack("=IIQ6Q", number, architecture.audit if audit is None else audit, 0, *padded)
    program = filter_program(name, machine)
    steps = [struct.unpack_from("=HBBI", program, at) for at in range(0, len(program), 8)]
    at, value = 0, 0
    while True:
        code, yes, no, k = steps[at]
        at += 1
        match code:
            case 0x20:
                (value,) = struct.unpack_from("=I", data, k)
            case 0x54:
                value &= k
            case 0x15:
                at += yes if value == k else no
            case 0x35:
                at += yes if value >= k else no
            case 0x45:
                at += yes if value & k else no
            case 0x06:
                return k
            case _:
                pytest.fail(f"step {code:#x} is unknown")


def refused(number: int) -> int:
    return 0x00050000 | number


EVERY = [(name, machine) for name in NAMES for machine in ARCHITECTURES]


@pytest.mark.parametrize(("name", "machine"), EVERY)
def test_another_architecture_is_killed_before_its_numbers_are_read(name: FilterName, machine: str) -> None:
    assert verdict(name, machine, 0, audit=0x40000003) == KILLED


@pytest.mark.parametrize("name", NAMES)
def test_numbers_of_x32_are_refused(name: FilterName) -> None:
    assert verdict(name, "x86_64", X32 + 41, 1, 1) == refused(errno.ENOSYS)


@pytest.mark.parametrize(("name", "machine"), EVERY)
def test_families_are_a_closed_list(name: FilterName, machine: str) -> None:
    families = {"bwrap": {2, 10, 16}, "looking": {16}, "landlock": set[int]()}[name]
    for family in range(50):
        expected = ALLOWED if family in families else refused(errno.EACCES)
        assert verdict(name, machine, "socket", family, 1) == expected


@pytest.mark.parametrize(("name", "machine"), EVERY)
def test_a_pair_of_sockets_is_one_that_cannot_be_aimed(name: FilterName, machine: str) -> None:
    flags = 0o2000000 | 0o4000
    assert verdict(name, machine, "socketpair", 1, 1 | flags) == ALLOWED
    assert verdict(name, machine, "socketpair", 1, 5) == ALLOWED
    for kind in (2, 3, 2 | flags):
        assert verdict(name, machine, "socketpair", 1, kind) == refused(errno.EACCES)


@pytest.mark.parametrize(("name", "machine"), EVERY)
def test_what_goes_round_a_filter_is_refused(name: FilterName, machine: str) -> None:
    for call in ("io_uring_setup", "io_uring_enter", "io_uring_register"):
        assert verdict(name, machine, call) == refused(errno.ENOSYS)
    for call in ("add_key", "request_key", "keyctl", "bpf", "perf_event_open", "userfaultfd", "open_by_handle_at"):
        assert verdict(name, machine, call) == refused(errno.EPERM)
    for request in (0x5412, 0x541C):
        assert verdict(name, machine, "ioctl", 0, request) == refused(errno.EPERM)
    assert verdict(name, machine, "ioctl", 0, 0x5413) == ALLOWED


@pytest.mark.parametrize("machine", ARCHITECTURES)
def test_where_no_mounts_are_the_filter_refuses_what_changes_files(machine: str) -> None:
    column = ARCHITECTURES[machine].column
    for call in (
        "chmod",
        "fchmodat2",
        "utimensat",
        "setxattr",
        "file_setattr",
        "mount",
        "unshare",
        "ptrace",
        "mq_open",
    ):
        if NUMBERS[call][column] is not None:
            assert verdict("landlock", machine, call) == refused(errno.EPERM)
            assert verdict("bwrap", machine, call) == ALLOWED
    for request in (0x40086602, 0x401C5820, 0x40086604, 0x5000940F, 0x8914):
        assert verdict("landlock", machine, "ioctl", 0, request) == refused(errno.EPERM)
    assert verdict("landlock", machine, "ioctl", 0, 0x80086601) == ALLOWED


@pytest.mark.parametrize("machine", ARCHITECTURES)
def test_a_process_may_limit_itself_and_no_other(machine: str) -> None:
    for call in ("prlimit64", "sched_setaffinity", "sched_setscheduler"):
        assert verdict("landlock", machine, call, 0) == ALLOWED
        assert verdict("landlock", machine, call, 17) == refused(errno.EPERM)
    assert verdict("landlock", machine, "setpriority", 0, 0) == ALLOWED
    assert verdict("landlock", machine, "setpriority", 0, 17) == refused(errno.EPERM)
    assert verdict("landlock", machine, "setpriority", 2, 0) == refused(errno.EPERM)


@pytest.mark.parametrize("machine", ARCHITECTURES)
def test_no_user_namespace_is_made(machine: str) -> None:
    assert verdict("landlock", machine, "clone", 0x10000000 | 17) == refused(errno.EPERM)
    assert verdict("landlock", machine, "clone", 0x01200011) == ALLOWED
    assert verdict("landlock", machine, "clone3") == refused(errno.ENOSYS)


def test_an_unknown_architecture_has_no_filter() -> None:
    with pytest.raises(KeyError):
        filter_program("bwrap", "riscv64")

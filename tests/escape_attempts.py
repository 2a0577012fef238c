"""What a command tries in order to get out of its wall, and how it is seen from outside that it did.

Each attempt has its own file, socket or process, so that all are made in one wall and told apart afterwards.
"""

from __future__ import annotations

import contextlib
import os
import socket
import subprocess
import textwrap
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from uuid import uuid4

import walls
from holdfast.system.confinement.description import Level, WallKind

ESCAPED = "ESCAPED"


@dataclass(slots=True, kw_only=True)
class World:
    """What lies outside of the wall, and what was inside."""

    folder: Path
    victim: subprocess.Popen[bytes]
    prey: subprocess.Popen[bytes]
    sockets: dict[str, socket.socket]
    before: dict[str, object]
    outputs: dict[str, str]

    def environ(self) -> dict[str, str]:
        """Return what the lines call by name."""
        return {
            "F": str(self.folder),
            "VICTIM": str(self.victim.pid),
            "PREY": str(self.prey.pid),
            "PORT": str(self.sockets["tcp"].getsockname()[1]),
            "UDP": str(self.sockets["udp"].getsockname()[1]),
            "ABSTRACT": self.sockets["abstract"].getsockname()[1:].decode(),
        }

    def close(self) -> None:
        for process in (self.victim, self.prey):
            process.kill()
            process.wait()
        for each in self.sockets.values():
            each.close()

    def changed(self, path: str) -> bool:
        return walls.snapshot(self.folder).get(path) != self.before.get(path)

    def reached(self, name: str) -> bool:
        listener = self.sockets[name]
        if listener.type == socket.SOCK_DGRAM:
            listener.settimeout(0.05)
            with contextlib.suppress(TimeoutError):
                return bool(listener.recv(100))
            return False
        return walls.was_reached(listener)

    def said(self, name: str) -> bool:
        return ESCAPED in self.outputs[name] or walls.SECRET in self.outputs[name]


@dataclass(frozen=True, slots=True)
class Attempt:
    name: str
    line: str
    escaped: Callable[[World], bool]


def in_shared_folder(beginning: str, folder: Path) -> Path:
    """Return the file of the attempts in that folder, where other tests make theirs at the same time."""
    return Path(beginning + str(folder).replace("/", "-"))


def shared_memory(size: int) -> list[str]:
    """Return the ids of the segments of that size."""
    rows = [line.split() for line in Path("/proc/sysvipc/shm").read_text().splitlines()[1:]]
    return [row[1] for row in rows if row[3] == str(size)]


def _limit_of_files(pid: int) -> str:
    limits = Path(f"/proc/{pid}/limits").read_text()
    return next(line for line in limits.splitlines() if line.startswith("Max open files")).split()[3]


def _file(path: str) -> Callable[[World], bool]:
    return lambda world: world.changed(path)


def _socket(name: str) -> Callable[[World], bool]:
    return lambda world: world.reached(name)


def _attempt(name: str, line: str, escaped: Callable[[World], bool] | None = None) -> Attempt:
    return Attempt(name, line, escaped or (lambda world: world.said(name)))


def _python(program: str) -> str:
    code = textwrap.dedent(program).strip()
    return f"python3 - <<'PROGRAM'\nimport ctypes, fcntl, os, signal, socket, struct, sys\n{code}\nPROGRAM"


_FAMILY = """
try:
    s = socket.socket({family}, socket.SOCK_STREAM)
    s.settimeout(2)
    s.connect({address})
    print("{said}")
except OSError as error:
    print(error)
"""


def _connect(family: str, address: str, said: str = "connected") -> str:
    return _python(_FAMILY.format(family=f"socket.{family}", address=address, said=said))


_LIBC = "libc = ctypes.CDLL(None, use_errno=True)\n"

ATTEMPTS = (
    _attempt("write below /etc", "touch /etc/holdfast-escape", lambda _: Path("/etc/holdfast-escape").exists()),
    _attempt("write in the home folder", "echo x > $F/home/escape-home", _file("home/escape-home")),
    _attempt("write in the workspace", "echo x > escape-ws", _file("ws/escape-ws")),
    _attempt("write through a link that leads out", "echo x > data/escape-link", _file("outside/d/escape-link")),
    _attempt(
        "write in the private /tmp so that it is seen outside",
        "echo x > $F/../escape-tmp-$$; echo x > /tmp/escape${F//\\//-}",
        lambda world: in_shared_folder("/tmp/escape", world.folder).exists(),
    ),
    _attempt(
        "write in /dev/shm",
        "echo x > /dev/shm/escape${F//\\//-}",
        lambda world: in_shared_folder("/dev/shm/escape", world.folder).exists(),
    ),
    _attempt("fill the memory with a file in /dev", f"echo x > /dev/file && echo {ESCAPED}"),
    _attempt("add a hook of git", "echo x > .git/hooks/post-commit", _file("ws/.git/hooks/post-commit")),
    _attempt("change the configuration of git", "git config core.fsmonitor ./evil.sh", _file("ws/.git/config")),
    _attempt(
        "rename .git and make another",
        "mv .git .git2 && mkdir -p .git/hooks && echo x > .git/hooks/pre-push",
        _file("ws/.git2"),
    ),
    _attempt("rename the folder of a submodule's configuration", "mv .git/modules .git/m2", _file("ws/.git/m2")),
    _attempt(
        "change a file that other programs obey", "echo x >> .vscode/settings.json", _file("ws/.vscode/settings.json")
    ),
    _attempt(
        "rename the folder of a file that other programs obey",
        "mv deep deep2 && mkdir deep && echo x > deep/.envrc",
        _file("ws/deep2"),
    ),
    _attempt(
        "add a file that other programs obey",
        "mkdir -p .idea && echo x > .idea/workspace.xml",
        _file("ws/.idea/workspace.xml"),
    ),
    _attempt("name another repository in .git/commondir", "echo ../evil > .git/commondir", _file("ws/.git/commondir")),
    _attempt(
        "make a repository with its own configuration",
        "git init -q nested && git -C nested config core.fsmonitor x",
        _file("ws/nested/.git/config"),
    ),
    _attempt(
        "mount the disk writable again",
        "mount -o remount,bind,rw / ; mount -o remount,rw /etc; touch /etc/escape-remount",
        lambda _: Path("/etc/escape-remount").exists(),
    ),
    _attempt(
        "unmount what is read-only",
        "umount -l .git/hooks; echo x > .git/hooks/escape-umount",
        _file("ws/.git/hooks/escape-umount"),
    ),
    _attempt("mount a file system", f"mount -t tmpfs x /usr && echo {ESCAPED}"),
    _attempt("make a user namespace", f"unshare -Ur true && echo {ESCAPED}"),
    _attempt("make a mount namespace", f"unshare -m true && echo {ESCAPED}"),
    _attempt("change an owner outside", "chown 1:1 $F/outside/owner", _file("outside/owner")),
    _attempt("change a mode outside", "chmod 777 $F/outside/mode", _file("outside/mode")),
    _attempt("change a time outside", "touch -d 2001-01-01 $F/outside/time", _file("outside/time")),
    _attempt("change a mode in the workspace", "chmod 777 b.txt", _file("ws/b.txt")),
    _attempt(
        "change an attribute outside",
        _python(f"""
        os.setxattr(os.environ["F"] + "/outside/xattr", "user.escape", b"x"); print("{ESCAPED}")
    """),
    ),
    _attempt(
        "change the flags of a file outside",
        _python(f"""
        d = os.open(os.environ["F"] + "/outside/flags", os.O_RDONLY)
        now = fcntl.ioctl(d, 0x80086601, struct.pack("l", 0))
        fcntl.ioctl(d, 0x40086602, now); print("{ESCAPED}")
    """),
    ),
    _attempt("make a device", f"mknod $TMPDIR/disk b 254 0 && echo {ESCAPED}"),
    _attempt(
        "write a kernel setting",
        f"v=$(cat /proc/sys/vm/overcommit_memory) && echo $v > /proc/sys/vm/overcommit_memory && echo {ESCAPED}",
    ),
    _attempt(
        "trace a process outside",
        _python(
            _LIBC
            + f"""
libc.ptrace.argtypes = [ctypes.c_long] * 4
if libc.ptrace(16, int(os.environ["VICTIM"]), 0, 0) == 0: print("{ESCAPED}")
    """
        ),
    ),
    _attempt("kill a process outside", "kill -9 $PREY", lambda world: world.prey.poll() is not None),
    _attempt("stop the agent", "kill -STOP $AGENT; kill -CONT $AGENT && echo ESCAPED"),
    _attempt(
        "connect to a Unix socket in the home folder",
        _connect("AF_UNIX", 'os.environ["F"] + "/home" "/sock"'),
        _socket("home"),
    ),
    _attempt("connect to a Unix socket in the workspace", _connect("AF_UNIX", '"ws.sock"'), _socket("ws")),
    _attempt(
        "connect to a Unix socket in TMPDIR", _connect("AF_UNIX", 'os.environ["TMPDIR"] + "/s"'), _socket("temporary")
    ),
    _attempt(
        "connect to an abstract Unix socket", _connect("AF_UNIX", '"\\0" + os.environ["ABSTRACT"]'), _socket("abstract")
    ),
    _attempt(
        "send from a pair of datagram sockets to a Unix socket",
        _python("""
        a, b = socket.socketpair(socket.AF_UNIX, socket.SOCK_DGRAM)
        a.sendto(b"x", "dgram.sock")
    """),
        _socket("dgram"),
    ),
    _attempt(
        "connect by vsock",
        _python(f"""
        s = socket.socket(socket.AF_VSOCK, socket.SOCK_STREAM); print("{ESCAPED}")
    """),
    ),
    _attempt(
        "connect by TCP to the machine", _connect("AF_INET", '("127.0.0.1", int(os.environ["PORT"]))'), _socket("tcp")
    ),
    _attempt(
        "send by UDP",
        _python("""
        socket.socket(socket.AF_INET, socket.SOCK_DGRAM).sendto(b"x", ("127.0.0.1", int(os.environ["UDP"])))
    """),
        _socket("udp"),
    ),
    _attempt("reach a network by its address", _connect("AF_INET", '("192.0.2.1", 53)', said=ESCAPED)),
    _attempt("look up a name", f"getent hosts example.org && echo {ESCAPED}"),
    _attempt(
        "set up io_uring",
        _python(
            _LIBC
            + f"""
if libc.syscall(425, 1, ctypes.create_string_buffer(120)) >= 0: print("{ESCAPED}")
    """
        ),
    ),
    _attempt(
        "add a key to the keyring",
        _python(
            _LIBC
            + f"""
number = {{"x86_64": 248, "aarch64": 217}}[os.uname().machine]
if libc.syscall(number, b"user", b"holdfast-escape", b"x", 1, -3) >= 0: print("{ESCAPED}")
    """
        ),
    ),
    _attempt(
        "find the keyring of the session",
        _python(
            _LIBC
            + f"""
number = {{"x86_64": 250, "aarch64": 219}}[os.uname().machine]
if libc.syscall(number, 0, -3, 0) >= 0: print("{ESCAPED}")
    """
        ),
    ),
    _attempt(
        "type into a terminal, also with a number that is cut to it",
        _python(
            _LIBC
            + f"""
number = {{"x86_64": 16, "aarch64": 29}}[os.uname().machine]
libc.syscall.argtypes = [ctypes.c_long] * 4
for what in (0x5412, 0x541C, 1 << 32 | 0x5412, 1 << 32 | 0x541C):
    libc.syscall(number, 0, what, ctypes.addressof(ctypes.create_string_buffer(b"x")))
    if ctypes.get_errno() != 1: print("{ESCAPED}")
    """
        ),
    ),
    _attempt(
        "stop the kernel at a page of memory",
        _python(
            _LIBC
            + f"""
number = {{"x86_64": 323, "aarch64": 282}}[os.uname().machine]
if libc.syscall(number, 1) >= 0: print("{ESCAPED}")
    """
        ),
    ),
    _attempt("make shared memory of System V", "ipcmk -M 4711", lambda _: bool(shared_memory(4711))),
    _attempt(
        "change the limits of a process outside",
        "prlimit --pid $VICTIM --nofile=50:50",
        lambda world: _limit_of_files(world.victim.pid) == "50",
    ),
    _attempt(
        "change the priority of a process outside",
        "renice 19 -p $VICTIM",
        lambda world: os.getpriority(os.PRIO_PROCESS, world.victim.pid) == 19,
    ),
    _attempt("read an inherited descriptor", "cat <&20"),
    _attempt("read the keys file", "cat $F/home/.config/holdfast/keys"),
    _attempt("read the journal of another session", "cat $F/home/.local/share/holdfast/sessions/other/journal"),
    _attempt("read a private key", "cat $F/home/.ssh/id_rsa"),
    _attempt("read a masked file of the workspace", "cat .env; cp .env $TMPDIR/copy; cat $TMPDIR/copy"),
    _attempt("read a file of the workspace through /proc", "cat /proc/self/cwd/.env /proc/self/root$F/ws/.env"),
    _attempt("read a file outside", "cat $F/outside/plain.txt link"),
    _attempt("read a file outside by a new link", "ln -s $F/outside/plain.txt $TMPDIR/l; cat $TMPDIR/l"),
    _attempt("hard link a file outside", "ln $F/outside/hard $TMPDIR/hard", _file("temporary/hard")),
    _attempt("list a folder outside", f"ls $F $F/outside /proc/1/root$F | grep -q {walls.NEIGHBOUR} && echo {ESCAPED}"),
    _attempt("learn the size of a file outside", f"stat -c %s $F/outside/plain.txt && echo {ESCAPED}"),
    _attempt(
        "read the root of another process",
        "cat /proc/1/root$F/outside/plain.txt /proc/$VICTIM/root$F/outside/plain.txt",
    ),
    _attempt(
        "read the environment of other processes",
        "cat /proc/[0-9]*/environ 2>/dev/null | tr '\\0' '\\n' | grep ^VICTIMS_KEY=",
    ),
    _attempt("read the memory of another process", f"head -c 1 /proc/$VICTIM/mem && echo {ESCAPED}"),
    _attempt(
        "read the command line of another process",
        f"tr '\\0' ' ' < /proc/$VICTIM/cmdline | grep -q 1000.25 && echo {ESCAPED}",
    ),
    _attempt("read a disk", f"head -c 1 /dev/vda /dev/sda /dev/nvme0n1 2>/dev/null | grep -q . && echo {ESCAPED}"),
)


WRITES = "the workspace is writable at this level"
PLANTS = "what does not exist yet cannot be made read-only"
DISK = "the user allowed the command: it sees the whole disk, but no secret"
NAMES = "Landlock does not cover looking at a path that is known"

WORKSPACE = {
    "write in the workspace": WRITES,
    "change a mode in the workspace": WRITES,
    "add a file that other programs obey": PLANTS,
    "name another repository in .git/commondir": PLANTS,
    "make a repository with its own configuration": PLANTS,
}
ALLOWED = {
    "read a file outside": DISK,
    "read a file outside by a new link": DISK,
    "list a folder outside": DISK,
    "learn the size of a file outside": DISK,
    "read the root of another process": DISK,
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Column:
    """A wall of the table, and what it does not stop, with the reason."""

    name: str
    kind: WallKind
    level: Level
    sees_disk: bool = False
    programs: tuple[str, ...] = ()
    passes: Mapping[str, str]


COLUMNS = (
    Column(name="bubblewrap, read", kind="bwrap", level="read", passes={}),
    Column(name="bubblewrap, workspace", kind="bwrap", level="workspace", passes=WORKSPACE),
    Column(
        name="bubblewrap, workspace, allowed by the user",
        kind="bwrap",
        level="workspace",
        sees_disk=True,
        passes={**WORKSPACE, **ALLOWED},
    ),
    Column(name="bubblewrap, network", kind="bwrap", level="network", passes=WORKSPACE),
    Column(
        name="bubblewrap, read, a line of `ps` and its like",
        kind="bwrap",
        level="read",
        programs=("ps",),
        passes={"read the command line of another process": "it lists the processes of the machine, to be right"},
    ),
    Column(
        name="Landlock, read",
        kind="landlock",
        level="read",
        passes={"learn the size of a file outside": NAMES, "read the command line of another process": NAMES},
    ),
)


def table() -> str:
    """Return the table of the documents: what each wall stops."""
    rows = [("attempt", *(each.name for each in COLUMNS)), tuple("---" for _ in range(len(COLUMNS) + 1))]
    rows += [
        (
            attempt.name,
            *(f"**{each.passes[attempt.name]}**" if attempt.name in each.passes else "stopped" for each in COLUMNS),
        )
        for attempt in ATTEMPTS
    ]
    return "\n".join(f"| {' | '.join(row)} |" for row in rows)


def wall_of(column: Column, folder: Path, user: int) -> walls.Wall:
    """Return the wall of a column around the hostile folder."""
    hidden = ("ws/.env", "home/.config/holdfast/keys", "home/.local/share/holdfast/sessions")
    return walls.Wall(
        folder=folder,
        kind=column.kind,
        level=column.level,
        user=user,
        sees_disk=column.sees_disk,
        masks=tuple(str(folder / name) for name in hidden),
        fixed=(str(folder / "ws/.vscode"), str(folder / "ws/deep/.envrc")),
        inherited=str(folder / "outside/plain.txt"),
        programs=column.programs,
    )


def build(folder: Path, user: int) -> World:
    """Make the world around a wall for that user."""
    walls.hostile_folder(folder, user)
    for name in ("owner", "mode", "time", "xattr", "flags", "hard"):
        (folder / "outside" / name).write_text("x\n")
    kept = {
        "home/.config/holdfast/keys": f"key = {walls.SECRET}\n",
        "home/.local/share/holdfast/sessions/other/journal": f"{walls.SECRET}\n",
        "ws/.vscode/settings.json": "{}\n",
        "ws/deep/.envrc": "\n",
        "ws/.git/modules/sub/config": "[core]\n",
        "ws/.git/modules/sub/HEAD": "ref: refs/heads/main\n",
    }
    for name, text in kept.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(text)
    dgram = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
    dgram.bind(str(folder / "ws/dgram.sock"))
    udp = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    udp.bind(("127.0.0.1", 0))
    sockets = {
        "home": walls.listening(str(folder / "home/sock")),
        "ws": walls.listening(str(folder / "ws/ws.sock")),
        "temporary": walls.listening(str(folder / "temporary/s")),
        "abstract": walls.listening(f"\0holdfast-escape-{uuid4()}"),
        "tcp": walls.listening(),
        "dgram": dgram,
        "udp": udp,
    }
    for each in folder.rglob("*"):
        if os.geteuid() == 0:
            os.chown(each, user, user, follow_symlinks=False)
        if each.is_socket():
            each.chmod(0o777)
    processes = [
        subprocess.Popen(
            ["sleep", "1000.25"],
            env={**os.environ, "VICTIMS_KEY": walls.SECRET},
            user=user if os.geteuid() == 0 else None,
            group=user if os.geteuid() == 0 else None,
        )
        for _ in range(2)
    ]
    victim, prey = processes
    before = walls.snapshot(folder)
    return World(folder=folder, victim=victim, prey=prey, sockets=sockets, before=before, outputs={})


RunLines = Callable[[Sequence[str], Mapping[str, str]], Sequence[walls.Ran]]
"""Runs lines with these variables, and returns how each ended."""


def escapes(folder: Path, wall: walls.Wall, run: RunLines | None = None) -> dict[str, bool]:
    """Make every attempt in the wall, or by `run`; return for each whether it got out, as seen from outside."""
    walls.need(wall.kind)
    walls.need_user(wall.user)
    world = build(folder, wall.user)
    try:
        lines = [each.line for each in ATTEMPTS]
        ran = wall.run(*lines, environ=world.environ()) if run is None else run(lines, world.environ())
        world.outputs = {each.name: one.output for each, one in zip(ATTEMPTS, ran, strict=True)}
        assert all(each.did_start for each in ran), [each for each in ran if not each.did_start]
        return {each.name: each.escaped(world) for each in ATTEMPTS}
    finally:
        world.close()

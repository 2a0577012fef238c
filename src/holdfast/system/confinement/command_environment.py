"""The environment of a confined command: git that runs nothing, tools that know they are offline, no way out. Pure.

Git runs programs that a repository's settings name, and no list of such settings can be finished. So they are switched
off from the environment where the command is one that the user did not allow; git hands these variables on to
submodules and to git that another program starts. What they cannot switch off (`diff.external`, filters, drivers under
a free name) runs inside the wall.

Without `npm_config_offline` and its kin, tools try for up to 40 s to reach a network that is not there.
"""

from __future__ import annotations

from collections.abc import Mapping

from holdfast.system.confinement.description import Confinement

DROPPED = frozenset(
    {"SSH_AUTH_SOCK", "SSH_AGENT_PID", "GPG_AGENT_INFO", "DBUS_SESSION_BUS_ADDRESS", "DISPLAY", "WAYLAND_DISPLAY"}
    | {"XAUTHORITY", "XDG_RUNTIME_DIR", "DOCKER_HOST", "KRB5CCNAME", "BASH_ENV", "ENV", "PROMPT_COMMAND"}
    | {"LD_PRELOAD", "LD_AUDIT", "TMUX", "STY", "NOTIFY_SOCKET", "LISTEN_FDS", "LISTEN_PID"}
)
"""Ways to sockets, displays and credentials of the user, and programs that a shell runs by itself."""

PROXIES = frozenset(f"{name}_proxy" for name in ("http", "https", "all", "no", "ftp")) | frozenset(
    f"{name}_PROXY" for name in ("HTTP", "HTTPS", "ALL", "NO", "FTP")
)
"""They may carry a password."""

_NO_PROGRAM = (
    ("core.fsmonitor", "false"),
    ("core.hooksPath", "/dev/null"),
    ("core.alternateRefsCommand", "true"),
    ("log.showSignature", "false"),
    ("gpg.program", "false"),
    ("gpg.openpgp.program", "false"),
    ("gpg.ssh.program", "false"),
    ("gpg.x509.program", "false"),
)
_MASKED_FILES = (("core.checkStat", "minimal"), ("core.trustctime", "false"))
"""The file that covers a tracked secret has its size and time; by more, git would call it changed."""

_NEUTRAL_GIT = {
    "GIT_OPTIONAL_LOCKS": "0",
    "GIT_NO_LAZY_FETCH": "1",
    "GIT_ALLOW_PROTOCOL": "",
    "GIT_SSH_COMMAND": "false",
    "GIT_ASKPASS": "false",
    "SSH_ASKPASS": "false",
    "GIT_PAGER": "cat",
    "GIT_EDITOR": "true",
    "GIT_TERMINAL_PROMPT": "0",
}
_GIT_PROGRAMS = frozenset(
    {"GIT_EXTERNAL_DIFF", "GIT_SSH", "GIT_PROXY_COMMAND", "GIT_SEQUENCE_EDITOR", "GIT_EXEC_PATH", "GIT_TEMPLATE_DIR"}
    | {"GIT_DIR", "GIT_WORK_TREE", "GIT_COMMON_DIR", "GIT_INDEX_FILE", "GIT_CONFIG_PARAMETERS", "GIT_TRACE"}
    | {"GIT_OBJECT_DIRECTORY", "GIT_ALTERNATE_OBJECT_DIRECTORIES"}
)

_OFFLINE = {
    "npm_config_offline": "true",
    "PIP_NO_INDEX": "1",
    "PIP_RETRIES": "0",
    "CARGO_NET_OFFLINE": "true",
    "GOPROXY": "off",
    "UV_OFFLINE": "1",
}


def confined_environment(environ: Mapping[str, str], described: Confinement) -> dict[str, str]:
    """Return the whole environment of a confined command, made of what it would have without a wall."""
    is_unasked = described.level == "read" or not described.sees_disk
    left_out = DROPPED | PROXIES | (_GIT_PROGRAMS if is_unasked else frozenset[str]())
    variables = {name: value for name, value in environ.items() if name not in left_out}
    variables |= {"TMPDIR": described.temporary, "HOME": described.home, "HISTFILE": "/dev/null"}
    variables |= _OFFLINE if described.level != "network" else {}
    settings = [*_MASKED_FILES]
    if is_unasked:
        variables |= _NEUTRAL_GIT
        settings = [*_NO_PROGRAM, ("lfs.storage", f"{described.temporary}/lfs"), *_MASKED_FILES]
    if described.level == "read":
        # Beside the source, where they are written by habit, they would fail.
        variables |= {
            "CARGO_TARGET_DIR": f"{described.temporary}/target",
            "PYTHONPYCACHEPREFIX": f"{described.temporary}/pyc",
        }
    return variables | git_settings(variables, settings)


def neutral_git_environment() -> dict[str, str]:
    """Return the variables with which git starts no program, asks no one and fetches nothing, for holdfast's own git.

    They are added to an environment without any variable of git, as `child_environment` makes it.
    """
    return _NEUTRAL_GIT | git_settings({}, [*_NO_PROGRAM])


def git_settings(environ: Mapping[str, str], settings: list[tuple[str, str]]) -> dict[str, str]:
    """Return the variables that give git these settings, behind those that `environ` gives it already."""
    first = environ.get("GIT_CONFIG_COUNT", "")
    at = int(first) if first.isascii() and first.isdigit() else 0
    added = {"GIT_CONFIG_COUNT": str(at + len(settings))}
    for number, (key, value) in enumerate(settings, at):
        added |= {f"GIT_CONFIG_KEY_{number}": key, f"GIT_CONFIG_VALUE_{number}": value}
    return added

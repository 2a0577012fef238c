"""Where this machine and its user keep credentials: in `/etc`, at home, and where the user's variables say.

A variable such as `CARGO_HOME` or `XDG_CONFIG_HOME` moves a program's credentials to where no list of names at home
finds them, and a toolchain that it names is shown to every command.
"""

from __future__ import annotations

import os
import pwd
import stat
from collections.abc import Iterable, Iterator, Mapping
from itertools import islice
from pathlib import Path

from holdfast.system.confinement.description import Mask, is_within
from holdfast.system.confinement.machine import is_too_wide, masks_of, wide_folders
from holdfast.system.secret_files import CREDENTIALS_AT_HOME

_SYSTEM_SECRETS = (
    "shadow", "shadow-", "gshadow", "gshadow-", "ssl/private", "sudoers", "sudoers.d", "wireguard",
    "NetworkManager/system-connections", "letsencrypt", "kubernetes", "krb5.keytab", "ppp/chap-secrets",
)  # fmt: skip
_PROJECT_SETTINGS_AT_HOME = (
    ".yarnrc",
    ".yarnrc.yml",
    ".condarc",
    ".config/pip/pip.conf",
    ".pip/pip.conf",
    ".wgetrc",
    ".curlrc",
)
"""Settings that may name a password at home; in a project, files of this name are settings like others."""


_NAMED = (
    "AWS_SHARED_CREDENTIALS_FILE", "AWS_CONFIG_FILE", "AWS_WEB_IDENTITY_TOKEN_FILE", "GOOGLE_APPLICATION_CREDENTIALS",
    "CLOUDSDK_CONFIG", "AZURE_CONFIG_DIR", "KUBECONFIG", "DOCKER_CONFIG", "GNUPGHOME", "NETRC", "PGPASSFILE",
    "NPM_CONFIG_USERCONFIG", "npm_config_userconfig", "GH_CONFIG_DIR", "GLAB_CONFIG_DIR", "PASSWORD_STORE_DIR",
    "BOTO_CONFIG", "RCLONE_CONFIG", "TF_CLI_CONFIG_FILE", "SOPS_AGE_KEY_FILE", "HF_TOKEN_PATH", "HISTFILE",
)  # fmt: skip
"""Variables that name a file or folder of credentials; several are divided by colons."""

_NAMED_WITHIN = {
    "CARGO_HOME": ("credentials", "credentials.toml"),
    "GRADLE_USER_HOME": ("gradle.properties",),
    "COMPOSER_HOME": ("auth.json",),
    "POETRY_CONFIG_DIR": ("auth.toml",),
    "KAGGLE_CONFIG_DIR": ("kaggle.json",),
    "HF_HOME": ("token",),
    "CLAUDE_CONFIG_DIR": (".credentials.json",),
    "CODEX_HOME": ("auth.json",),
}
"""Variables that name a program's folder, and the credentials in it."""

_MOVED = {"XDG_CONFIG_HOME": ".config/", "XDG_DATA_HOME": ".local/share/", "XDG_CACHE_HOME": ".cache/"}
"""Variables that name what else is a folder at home."""


def credential_masks(
    home: str, environ: Mapping[str, str] | None = None, *, roots: tuple[str, ...] = ()
) -> tuple[Mask, ...]:
    """Return the masks of the machine's and the user's credentials, as far as they exist.

    `environ` has the user's variables. What they name inside of `roots` is the workspace's own.
    """
    paths = [f"/etc/{name}" for name in _SYSTEM_SECRETS]
    for each in dict.fromkeys((home, *_home_of_user())):
        paths += [f"{each}/{name}" for name in _PROJECT_SETTINGS_AT_HOME]
        paths += _spelt(each, CREDENTIALS_AT_HOME)
    if os.geteuid() == 0:  # who may read them as their owner, though every capability is dropped
        paths += closed_to_others("/etc")
    wide = wide_folders(home)
    named = (path for path in _by_variables(environ or {}) if _is_alone(os.path.realpath(path), wide, roots))
    return masks_of([*paths, *_host_keys(), *named])


_MOST_NAMES = 20_000
_Found = tuple[tuple[tuple[str, int], ...], tuple[str, ...]]
_found: dict[str, _Found] = {}
"""What was found below a folder: the folders that were listed, with their times, and what is closed."""


def closed_to_others(top: str) -> tuple[str, ...]:
    """Return what below a folder only its owner or group may read: what a system keeps from its users.

    An empty file holds no secret. It is looked for again when a name has come or gone.
    """
    times, closed = _found.get(top, ((), ()))
    if not times or any(_time_of(folder) != time for folder, time in times):
        times, closed = _found[top] = _closed_below(top)
    return closed


def _time_of(folder: str) -> int:
    try:
        return os.stat(folder).st_mtime_ns  # noqa: PTH116 - a hundred of them before each command
    except OSError:  # it is gone
        return 0


def _closed_below(top: str) -> _Found:
    times: list[tuple[str, int]] = []
    closed: list[str] = []
    waiting, count = [top], 0
    while waiting and count < _MOST_NAMES:
        folder = waiting.pop()
        times.append((folder, _time_of(folder)))
        try:
            with os.scandir(folder) as listing:
                for entry in islice(listing, _MOST_NAMES):
                    count += 1
                    status = entry.stat(follow_symlinks=False)
                    is_folder = stat.S_ISDIR(status.st_mode)
                    needed = stat.S_IROTH | stat.S_IXOTH if is_folder else stat.S_IROTH
                    if is_folder and status.st_mode & needed == needed:
                        waiting.append(entry.path)
                    elif is_folder or (stat.S_ISREG(status.st_mode) and status.st_size):
                        closed += [entry.path] * (status.st_mode & needed != needed)
        except OSError:  # what cannot be listed no command lists either
            continue
    return tuple(times), tuple(sorted(closed))


def _home_of_user() -> Iterator[str]:
    """Yield the home folder that the system has for this user: HOME may name another, as under sudo."""
    try:
        yield pwd.getpwuid(os.geteuid()).pw_dir
    except KeyError:  # a user without a row
        return


def _by_variables(environ: Mapping[str, str]) -> Iterator[str]:
    for name in _NAMED:
        yield from (path for path in environ.get(name, "").split(":") if path.startswith("/"))
    for name, within in _NAMED_WITHIN.items():
        if (folder := environ.get(name, "")).startswith("/"):
            yield from (f"{folder}/{each}" for each in within)
    for name, above in _MOVED.items():
        if (folder := environ.get(name, "")).startswith("/"):
            moved = (entry.removeprefix(above) for entry in CREDENTIALS_AT_HOME if entry.startswith(above))
            yield from _spelt(folder, moved)


def _is_alone(real: str, wide: tuple[str, frozenset[str]], roots: tuple[str, ...]) -> bool:
    """Return whether nothing but credentials would be hidden with a path."""
    return not is_too_wide(real, wide) and not is_within(real, roots)


def _spelt(home: str, entries: Iterable[str]) -> Iterator[str]:
    """Yield those of the entries that exist in a folder, as they are spelt there."""
    listed: dict[str, dict[str, list[str]]] = {}
    for entry in entries:
        places = [home]
        for part in entry.split("/"):
            found: list[str] = []
            for place in places:
                if place not in listed:
                    listed[place] = _names(place)
                found += [f"{place}/{name}" for name in listed[place].get(part, ())]
            places = found
        yield from places


def _names(folder: str) -> dict[str, list[str]]:
    names: dict[str, list[str]] = {}
    try:
        for each in Path(folder).iterdir():
            names.setdefault(each.name.lower(), []).append(each.name)
    except OSError:  # no folder, or closed to this user: then no command sees into it
        pass
    return names


def _host_keys() -> Iterator[str]:
    try:
        yield from (str(path) for path in Path("/etc/ssh").iterdir() if path.name.endswith("_key"))
    except OSError:  # no server of ssh here
        return

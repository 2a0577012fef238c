"""Says in short phrases what is dangerous in a command, for the question to the user. Pure.

This only informs: a command without a phrase still asks, unless it only reads. So the list has
what users regret, and a command that hides its danger is not allowed by that.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from itertools import pairwise

from holdfast.tools.shell.command_line import CommandLine, SimpleCommand, Word
from holdfast.tools.shell.parse import parse_script
from holdfast.tools.shell.read_only import HARMLESS_TARGETS

_SHELLS = frozenset({"sh", "bash", "dash", "zsh", "ksh", "fish", "python", "python3", "node", "perl", "ruby", "php"})
_FETCHERS = frozenset({"curl", "wget", "http", "https", "xh", "aria2c", "nc", "ncat", "socat", "ftp"})
_STARTERS = frozenset(
    {"env", "nice", "nohup", "timeout", "xargs", "command", "builtin", "exec", "setsid", "stdbuf", "ionice", "time"}
)
_PRIVILEGES = frozenset({"sudo", "doas", "su", "pkexec", "runuser"})
_WRITERS = frozenset({"tee", "cp", "mv", "ln", "install", "touch", "mkdir", "truncate", "rsync", "dd"})
_NO_DEVICES = ("/dev/tcp", "/dev/udp", "/dev/shm", "/dev/fd")  # noqa: S108 - names, nothing is made there
_OUTSIDE = ("/", "~", "$HOME", '"$HOME', "${HOME", "../", '"/', "'/")
_MOST_NESTED = 4
_MOST_STARTED = 10


def dangers(line: CommandLine) -> tuple[str, ...]:
    """Return what is dangerous in a command: fetched code first, then by command; empty if nothing known is."""
    return tuple(dict.fromkeys(_line_dangers(line, 0)))


def _line_dangers(line: CommandLine, nested: int) -> Iterator[str]:
    started = [tuple(_started_programs(command.words)) for command in line.commands]
    for pipeline in line.pipelines:
        fetched = False
        for stage in pipeline:
            names = {_name(words) for at in stage for words in started[at]}
            if fetched and names & _SHELLS:
                yield "runs what it fetches from the network"
            fetched = fetched or bool(names & _FETCHERS)
    fetches = any(_name(words) in _FETCHERS for programs in started for words in programs)
    for command, programs in zip(line.commands, started, strict=True):
        for words in programs:
            if fetches and _name(words) in _SHELLS | {"eval", "source", "."} and not all(word.fixed for word in words):
                yield "runs what it fetches from the network"
            yield from _words_dangers(words, nested)
        yield from _written_outside(command)


def _started_programs(words: tuple[Word, ...]) -> Iterator[tuple[Word, ...]]:
    """Yield the words of a command, and those of each program that it starts with them."""
    for _ in range(_MOST_STARTED):
        if not words:
            return
        yield words
        name = _name(words)
        if name in _PRIVILEGES | _STARTERS:
            at = 1
            while at < len(words) and (
                words[at].text.startswith("-") or "=" in words[at].text or _is_number(words[at])
            ):
                at += 2 if words[at].text in {"-u", "-g", "-n", "-I", "-s"} else 1
            words = words[at:]
        elif name == "find" and (at := next((n for n, w in enumerate(words) if w.text in {"-exec", "-execdir"}), 0)):
            words = words[at + 1 :]
        else:
            return


def _is_number(word: Word) -> bool:
    return re.fullmatch(r"[0-9.]+[smhd]?", word.text) is not None


def _name(words: tuple[Word, ...]) -> str:
    return words[0].text.rpartition("/")[2] if words else ""


def _short(texts: list[str], letters: str) -> bool:
    return any(re.fullmatch(r"-[A-Za-z]+", text) and set(text) & set(letters) for text in texts)


def _words_dangers(words: tuple[Word, ...], nested: int) -> Iterator[str]:  # noqa: C901, PLR0912 - an arm for each kind
    name, texts = _name(words), [word.text for word in words[1:]]
    if name in _PRIVILEGES:
        yield "gains privileges"
    match name:
        case "rm" if _short(texts, "rR") or "--recursive" in texts:
            yield "deletes folders and everything in them"
        case "rm" | "rmdir" | "unlink" | "shred":
            yield "deletes files"
        case "find" if {"-delete"} & set(texts):
            yield "deletes files"
        case "git":
            yield from _git_dangers(_behind_options(texts))
        case "chmod" | "chown" | "chgrp" | "setfacl" | "chattr":
            yield "changes permissions"
        case "kill" | "pkill" | "killall" | "skill":
            yield "ends processes"
        case "dd" if any(text.startswith("of=/dev/") for text in texts):
            yield "overwrites a device"
        case "fdisk" | "parted" | "wipefs" | "blkdiscard" | "mkswap" | "sfdisk":
            yield "formats or overwrites a device"
        case "shutdown" | "reboot" | "halt" | "poweroff":
            yield "stops the machine"
        case "npm" | "pnpm" | "yarn" | "cargo" | "poetry" | "uv" | "gem" | "twine" | "hatch" | "flit" | "bun" if texts[
            :1
        ] in (["publish"], ["upload"], ["push"]):
            yield "publishes a package"
        case "docker" | "podman" if "push" in texts[:2]:
            yield "publishes an image"
        case "docker" | "podman" if "prune" in texts[:2]:
            yield "deletes images, containers or volumes"
        case "kubectl" | "terraform" | "tofu" if texts[:1] in (["delete"], ["destroy"]):
            yield "deletes what runs elsewhere"
        case "gh" if texts[1:2] == ["delete"] or texts[:2] in (["pr", "merge"], ["release", "create"]):
            yield "changes what is published"
        case "crontab" | "at" | "systemctl" | "launchctl":
            yield "changes what the machine runs by itself"
        case _ if name.startswith("mkfs"):
            yield "formats or overwrites a device"
        case _ if name in _SHELLS | {"eval"} and nested < _MOST_NESTED:
            yield from _inner_dangers(name, words, nested)
        case _:
            pass


def _inner_dangers(name: str, words: tuple[Word, ...], nested: int) -> Iterator[str]:
    if name == "eval":
        yield from _line_dangers(parse_script(" ".join(word.text for word in words[1:])), nested + 1)
    for option, script in pairwise(words):
        if re.fullmatch(r"-[a-z]*c", option.text) and script.fixed:
            yield from _line_dangers(parse_script(script.text), nested + 1)


def _behind_options(texts: list[str]) -> list[str]:
    at = 0
    while at < len(texts) and texts[at].startswith("-"):
        at += 2 if texts[at] in {"-C", "-c"} else 1
    return texts[at:]


def _git_dangers(texts: list[str]) -> Iterator[str]:
    options = texts[1:]
    match texts[:1]:
        case ["push"]:
            forced = any(text.startswith(("--force", "--mirror", "+", "--delete", ":")) for text in options)
            if forced or _short(options, "fd"):
                yield "rewrites or deletes history on the server"
            else:
                yield "publishes commits"
        case ["reset"] if {"--hard", "--merge", "--keep"} & set(options):
            yield "discards changes that are not committed"
        case ["checkout" | "restore" | "switch"] if (
            texts[0] == "restore" and "--staged" not in options and "-S" not in options
        ) or {"--", ".", "-f", "--force", "--discard-changes"} & set(options):
            yield "discards changes that are not committed"
        case ["clean"] if "--dry-run" not in options and not _short(options, "n"):
            yield "deletes files that git does not know"
        case ["branch"] if _short(options, "D") or "--delete" in options or _short(options, "d"):
            yield "deletes a branch"
        case ["stash"] if options[:1] in (["drop"], ["clear"]):
            yield "discards stashed changes"
        case ["filter-branch" | "filter-repo" | "rebase"]:
            yield "rewrites history"
        case ["commit"] if "--amend" in options:
            yield "rewrites history"
        case ["reflog" | "gc"] if "expire" in options or any(text.startswith("--prune") for text in options):
            yield "deletes history"
        case ["tag"] if _short(options, "df") or "--delete" in options:
            yield "deletes or moves a tag"
        case _:
            pass


def _written_outside(command: SimpleCommand) -> Iterator[str]:
    targets = [each.target for each in command.redirects if each.kind in {"write", "append"} and each.target]
    for words in _started_programs(command.words):
        if _name(words) in _WRITERS:
            operands = [word for word in words[1:] if not word.text.startswith("-")]
            targets += operands[-1:] if _name(words) in {"cp", "mv", "ln", "install", "rsync"} else operands
    for target in targets:
        if target.text in HARMLESS_TARGETS:
            continue
        if target.text.startswith("/dev/") and not target.text.startswith(_NO_DEVICES):
            yield "overwrites a device"
        elif target.raw.startswith(_OUTSIDE) or "/../" in target.text:
            yield f"may write outside the workspace, at {target.text[:60]!r}"

"""Says which words of a command the user may allow permanently: a program, and its sub-command if it has some. Pure.

The words after them are not remembered, so they must not decide what is run: nothing is remembered of programs that get
a program or code in their words. `command_words.py` and the tables in `tools/known_programs` list those: a program
whose every word is a program, an address or code is closed there.
"""

from __future__ import annotations

import re

from holdfast.tools.approval.command_words import lets_nothing_through
from holdfast.tools.known_programs.programs import BY_NAME
from holdfast.tools.shell.command_line import SimpleCommand, Word
from holdfast.tools.shell.read_only import program_name

_MANY = (
    "git hg svn jj gh glab npm pnpm yarn bun deno cargo go pip pip3 uv poetry pdm pipenv hatch rye conda docker "
    "podman kubectl helm terraform tofu dotnet swift mix rails bundle gem composer make just task gradle gradlew "
    "mvn mvnw bazel turbo nx lerna brew rustup apt apt-get systemctl ruff coverage tox nox pre-commit meson flutter "
    "dart cmake ninja rake ant rush flyctl vercel wrangler biome playwright cypress vite next prisma"
)
_SUB_COMMANDS = frozenset(_MANY.split())
"""Programs of which the first word says what they do."""

_TWO_WORDS: dict[str, frozenset[str]] = {
    "npm": frozenset({"run", "run-script"}),
    "pnpm": frozenset({"run"}),
    "yarn": frozenset({"run", "workspace"}),
    "bun": frozenset({"run", "pm"}),
    "docker": frozenset({"compose", "container", "image", "volume", "network", "buildx"}),
    "podman": frozenset({"compose", "container", "image"}),
    "gh": frozenset({"pr", "issue", "run", "repo", "release", "workflow"}),
    "git": frozenset({"stash", "worktree", "remote", "submodule", "bisect", "lfs", "notes"}),
    "uv": frozenset({"pip", "tool"}),
    "composer": frozenset({"run", "run-script"}),
}
"""Sub-commands that have sub-commands, or the name of a script, behind them."""

_LAUNCHERS: tuple[tuple[str, ...], ...] = (
    *(("uv", "run"), ("poetry", "run"), ("pdm", "run"), ("pipenv", "run"), ("hatch", "run"), ("rye", "run")),
    *(("bundle", "exec"), ("pnpm", "exec"), ("npx",), ("bunx",), ("npm", "exec")),
)
"""After these words comes a program, and the rest belongs to that program."""

_MODULES = re.compile(r"(?:python|pypy)[0-9.]*")
_INTERPRETERS = re.compile(r"(?:python|pypy|node|nodejs|ruby|perl|php|lua|deno|bun|tsx|ts-node|Rscript|julia)[0-9.]*")
_SCRIPT = re.compile(r"(?!-)[A-Za-z0-9_./+-]+\.[A-Za-z0-9]+")
_PLAIN = re.compile(r"[A-Za-z0-9_@.:/+][A-Za-z0-9_@.:/+-]*")
_NOTHING = frozenset({"((", "[[", "[", "test", "rm", "chmod", "chown", "kill", "pkill", "killall", "dd", "mkfs", "su"})
_RUNS_ITS_WORDS = frozenset({"exec", "dlx", "x", "config", "alias", "filter-branch", "daemon", "shell", "eval"})


def program_of(command: SimpleCommand) -> tuple[str, ...] | None:
    """Return the words that may be remembered, None if nothing may.

    None with variables set before the program, and with a program that gets code or another program as its words.
    """
    if command.assignments or not command.words:
        return None
    return _program(command.words, launched=False)


def _program(  # noqa: PLR0911 - a return for each kind of program
    words: tuple[Word, ...], *, launched: bool
) -> tuple[str, ...] | None:
    texts = [word.text if word.fixed else "" for word in words]
    if not texts or not texts[0] or not _PLAIN.fullmatch(texts[0]):
        return None
    for launcher in _LAUNCHERS:
        if tuple(texts[: len(launcher)]) == launcher:
            inner = None if launched else _program(words[len(launcher) :], launched=True)
            return None if inner is None else (*launcher, *inner)
    name = program_name(texts[0])
    base = name.rpartition("/")[2]
    if _MODULES.fullmatch(base) and texts[1:2] == ["-m"]:
        module = texts[2] if len(texts) > 2 else ""  # noqa: PLR2004 - behind `-m`
        inner = _program(words[2:], launched=True) if _PLAIN.fullmatch(module) else None
        return None if inner is None else (name, "-m", *inner)
    if _INTERPRETERS.fullmatch(base):
        script = texts[1] if len(texts) > 1 else ""
        if base in {"bun", "deno"} and script in {"test", "run", "install", "lint", "fmt", "check", "build"}:
            return _with_sub_command(name, texts)
        return (name, script) if _SCRIPT.fullmatch(script) else None
    if base in _NOTHING or (base in BY_NAME and lets_nothing_through([base]) and base not in _SUB_COMMANDS):
        return None
    if base in _SUB_COMMANDS:
        return _with_sub_command(name, texts)
    known = BY_NAME.get(base)
    return None if known is not None and known.closed else (name,)


def _with_sub_command(name: str, texts: list[str]) -> tuple[str, ...] | None:
    """Return a program with its sub-command; None if options come before it, because they may change it."""
    base = name.rpartition("/")[2]
    if len(texts) == 1:
        return (name,)
    sub = texts[1]
    if not _PLAIN.fullmatch(sub) or sub in _RUNS_ITS_WORDS:
        return None
    if sub in _TWO_WORDS.get(base, ()):
        third = texts[2] if len(texts) > 2 else ""  # noqa: PLR2004 - behind the sub-command
        if third in _RUNS_ITS_WORDS or (third and not _PLAIN.fullmatch(third)):
            return None
        return (name, sub, third) if third else (name, sub)
    return (name, sub)

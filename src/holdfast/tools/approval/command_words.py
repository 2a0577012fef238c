"""Which words may follow an allowed command in place of its ` *`. Pure.

A word is accepted if it names nothing outside the project and no file that other programs run, sets no variable, and is
no option that writes, loads or runs something. `holdfast.tools.known_programs` lists those options; for unlisted
programs the usual ones are refused. A refused word only means that the user is asked.

Laws (`tests/tools/approval/test_command_words_laws.py`).
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from functools import lru_cache
from itertools import takewhile

from holdfast.tools.known_programs.programs import BY_NAME, Program, ProgramRow, spelt
from holdfast.tools.workspace.autorun_files import runs_by_itself

_LAUNCHERS = (
    *(["uv", "run"], ["poetry", "run"], ["pdm", "run"], ["pipenv", "run"], ["hatch", "run"], ["rye", "run"]),
    *(["python", "-m"], ["coverage", "run", "-m"], ["bundle", "exec"], ["pnpm", "exec"], ["npx"], ["bunx"]),
)
"""After exactly these words comes a program, and the rest belongs to that program."""

_PLAIN = re.compile(r"[A-Za-z0-9_./:,=@%+ -]*")
"""Words without a meaning for a shell."""

_USUAL = ProgramRow(
    names="*",
    source="the names that options of this kind have in many programs",
    options="-ocfCeIlL output output-file output-dir output-directory out outfile out-file outdir out-dir log-file "
    "logfile log-dir config config-file conf config-dir configuration rcfile settings settings-file plugin plugins "
    "load load-path require preload import exec execute eval command cmd script shell cwd chdir directory dir workdir "
    "working-directory work-dir root root-dir rootdir prefix cache-dir manifest-path target-dir file makefile env-file "
    "loader init-script init-file editor pager browser include-path report-file report-dir dest destination temp-dir "
    "tmpdir basedir pythonpath upload publish",
).program()
_OTHER = Program(names=("*",), source=_USUAL.source, closed=True)
"""A program that is not listed: what its words do is not known, so only its very words can be remembered."""

_CONTAINERS = "run exec create machine unshare plugin context swarm service stack kube play generate cp"
_CLOSED_SUB_COMMANDS = {
    **dict.fromkeys(["gh", "glab", "hub"], frozenset({"api", "extension", "alias", "codespace"})),
    **dict.fromkeys(["docker", "podman", "nerdctl", "docker-compose"], frozenset(_CONTAINERS.split())),
    **dict.fromkeys(["kubectl", "oc"], frozenset({"run", "exec", "debug", "rsh", "attach", "cp", "plugin"})),
    "git": frozenset({"submodule", "clone", "ls-remote", "archive", "remote", "daemon", "svn", "p4"}),
}
"""Sub-commands of which each word may be a program, an address or code; also as `docker container run`.

What runs in a container is any image with any program in it, and outside of every wall.
"""

_MOST_NAMES = 1_024

_INTERPRETERS = frozenset({"python", "pypy", "node", "nodejs", "ruby", "perl", "php", "lua", "deno", "bun", "Rscript"})

_CONTACT = frozenset({"push", "pull", "fetch"})
"""Sub-commands of git whose first word is a repository: the name of a known one, no address."""


def harmless(known: Sequence[str], more: Iterable[str]) -> bool:
    """Return whether `more` words after the `known` ones add nothing dangerous to the command."""
    programs, tasks = _programs(known)
    words = tuple(more)
    if not all(_is_free(word, programs, tasks=tasks) for word in words):
        return False
    if _name(known[0]) == "git" if known else False:
        return _keeps_its_repositories(tuple(known[1:]), words)
    return not any(map(_is_address, words))


def lets_nothing_through(known: Sequence[str]) -> bool:
    """Return whether no word may follow the `known` ones: each would be a program, an address, or code."""
    return any(each.closed for each in _programs(known)[0])


def _programs(known: Sequence[str]) -> tuple[list[Program], bool]:
    """Return the programs that get the words after the `known` ones, and whether path rules apply to those words."""
    words = list(known)
    while words and "=" in words[0]:
        del words[0]
    launched = True
    while launched:
        launched = False
        for launcher in _LAUNCHERS:
            if [_name(words[0]) if words else "", *words[1 : len(launcher)]] == launcher:
                words, launched = words[len(launcher) :], True
                break
    if not words:
        return [Program(names=(), source="", closed=True)], False
    named = [found for word in words[1:] if word.strip("./") and (found := BY_NAME.get(_name(word)))]
    found = [BY_NAME.get(_name(words[0]), _OTHER), *named]
    is_script = _name(words[0]) in _INTERPRETERS and len(words) > 1 and "." in words[1]
    if is_script or not _CLOSED_SUB_COMMANDS.get(_name(words[0]), frozenset()).isdisjoint(words[1:3]):
        found.append(_OTHER)
    found += [BY_NAME[name] for each in found for name in each.passes]
    return found, len(words) > 1


@lru_cache(_MOST_NAMES)
def _name(word: str) -> str:
    """Return the name of a program without folder and version: `python` for `/usr/bin/python3.12`."""
    name = word.rpartition("/")[2]
    return name if name in BY_NAME else re.sub(r"-?[0-9.]+$", "", name)


def _is_free(word: str, programs: Sequence[Program], *, tasks: bool) -> bool:
    if not _PLAIN.fullmatch(word) and any(each.tasks for each in programs):
        return False  # it may reach a shell of the project's own
    if word.startswith("@") or any(each.closed for each in programs) or not _stays_inside(word):
        return False
    if word.startswith("-"):
        return not any(_reaches_out(word, each) for each in programs)
    if "=" in word or any(word in each.words for each in programs):
        return False
    return word.isdecimal() or not (tasks and any(each.tasks for each in programs))


_TEST_ID = re.compile(r"[\w./-]+\.\w+(?:::[\w.-]+)+|[\w./-]+\.\w+(?::[0-9]+){1,2}|[A-Za-z][\w-]*(?::[A-Za-z][\w-]*)+")
"""A test in a file, a place in a file, the name of a task: words with a colon that are no address."""


def _is_address(word: str) -> bool:
    """Return whether a word may name another machine, in any spelling: `https://x`, `host:path`, `ext::x`, `a@b`."""
    value = word.partition("=")[2] if word.startswith("-") else word
    return (":" in value and not _TEST_ID.fullmatch(value)) or "@" in value.partition("/")[0]


def _keeps_its_repositories(known: tuple[str, ...], words: tuple[str, ...]) -> bool:
    """Return whether further words of a git command name no repository by its address."""
    if any("://" in word or "::" in word or "@" in word.partition(":")[0] for word in words):
        return False
    plain = [word for word in (*known, *words) if not word.startswith("-")]
    if not plain or plain[0] not in _CONTACT or len(plain) == 1:
        return True
    return re.fullmatch(r"[A-Za-z0-9_][\w-]*", plain[1]) is not None


def _stays_inside(word: str) -> bool:
    """Return whether no part of a word is a path out of the project or to files that other programs run."""
    for part in re.split("[=:,@%+]", word):
        # An option's value may follow its letters directly: -C.., -I/usr, -fsub/../..
        for path in (part, re.sub("^-+[A-Za-z0-9]*", "", part)) if part.startswith("-") else (part,):
            if path.startswith("/") or ".." in path.split("/") or _is_run_by_others(path):
                return False
        if part.startswith("-") and any(_is_run_by_others(part[end:]) for end in range(2, min(len(part), 8))):
            return False
    return True


def _is_run_by_others(path: str) -> bool:
    # A bare name is more often a word than a file: HEAD, config, update.
    return not set(path).isdisjoint("./") and runs_by_itself(path)


def _reaches_out(word: str, of: Program) -> bool:
    """Return whether a word that begins with a dash is, or may be read as, an option of the table."""
    name, dot, _ = re.split("[=:]", word.lstrip("-"), maxsplit=1)[0].partition(".")
    option = spelt(name)
    if not option:
        return False
    if dot and not option.isdecimal():  # --coverage.reportsDirectory, -test.cpuprofile: a nested setting
        return True
    if of.single:
        return option in of.long or option in _USUAL.long
    if word.startswith("--"):  # it may be abbreviated: --base for --basetemp
        return option not in of.exact and any(each.startswith(option) for each in (*of.long, *_USUAL.long))
    letters = [*takewhile(lambda letter: letter not in of.values or letter in of.short, word[1:])]
    return option in of.long or not set(letters).isdisjoint(of.short)

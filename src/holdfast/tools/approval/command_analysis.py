"""Splits a line of shell commands into simple commands, with what an approval depends on: what each reads and writes.

How it works. The parser gives the simple commands of a line, wherever they stand. Each is judged for itself: does it
only read, which paths does it name, which files do its redirections write, which words may be remembered?

A path counts from the folder in which its command runs. The parser says which `cd` came before; several folders are
possible where a `cd` may have failed. A path is inside the workspace if it is inside from each of them.
`cd a && cat ../b` reads inside; `cd a; cat ../b` may not, because `a` may be missing. Where the folder is not known, as
after `cd "$X"`, every relative path is outside.

Laws (`tests/tools/approval/test_command_parts_laws.py`).
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from itertools import pairwise
from posixpath import join, normpath

import msgspec

from holdfast.system.secret_files import holds_secrets
from holdfast.tools.approval.command_parts import CommandPart, CommandParts
from holdfast.tools.approval.command_texts import all_texts, written_texts
from holdfast.tools.approval.files_read import folders_walked, paths_read, started
from holdfast.tools.shell.command_line import CommandLine, SimpleCommand, Word, names_files
from holdfast.tools.shell.dangers import dangers
from holdfast.tools.shell.git_commands import git_folder_words, setting_that_starts_program
from holdfast.tools.shell.parse import parse_command
from holdfast.tools.shell.read_only import HARMLESS_TARGETS, more_than_reading, program_name
from holdfast.tools.tool import Plan
from holdfast.tools.workspace.command_files import NO_SURROUNDINGS, Below, Surroundings

SOMEWHERE = "/the workspace"
"""Stands for an unknown workspace: no real absolute path leads into it."""

ELSEWHERE = "/a folder that is not known"
"""Where a command runs after `cd` to something that only bash knows."""

_PIECES = re.compile(r"[=:,@]")
"""What stands between the paths in one word: `--cov=src`, `a:b`."""

_MOST_REACHED = 16
_WILDCARD = re.compile(r"[*?]")

_INTERPRETER = re.compile(r"(?:python|pypy|node|nodejs|ruby|perl|php|lua|deno|bun|tsx|ts-node|(?:ba|da|z|k)?sh)[0-9.]*")


def command_parts(
    command: str, *, root: str = SOMEWHERE, folder: str | None = None, around: Surroundings = NO_SURROUNDINGS
) -> CommandParts:
    """Return the parts of a line that runs in `folder` of the workspace `root` (absolute; None: in `root` itself).

    `around` looks at the disk; by default nothing is looked at. Never raises.
    """
    line = parse_command(command)
    place = _Place(root, folder or root, around.remembering(), _wild_variables(line))
    everywhere = tuple(dict.fromkeys(at for each in line.commands for at in place.folders(each)))
    outside = next((at for at in everywhere if not place.inside(at)), None)
    judged: dict[tuple[SimpleCommand, bool], CommandPart] = {}
    parts: list[CommandPart] = []
    texts: dict[str, None] = {}
    fed = fed_commands(line)
    for at, each in enumerate(line.commands):
        key = each, at in fed
        part = judged.get(key)
        if part is None:  # in the same folders the same command does the same
            part = judged[key] = place.part(each, everywhere, fed=at in fed)
            texts |= dict.fromkeys(all_texts(each))  # which looks into the same scripts, right behind it
        parts.append(part)
    unclear = line.unclear
    for loop in line.loops:
        words = place.part(loop.words, everywhere)
        reached = f"its loop goes over {words.outside!r}, outside the workspace" if words.outside else ""
        unclear = unclear or words.more or reached
    if unclear:
        texts |= dict.fromkeys(" ".join(piece.split()) for piece in re.split(r"[;&|()\n`{}]+", command))
    return CommandParts(parts=tuple(parts), unclear=unclear, outside=outside, all_texts=tuple(texts))


def fed_commands(line: CommandLine) -> frozenset[int]:
    """Return the places of the commands that the line itself gives something to read on standard input.

    What stands behind a pipe, what reads a file or a here-document, and every command if one of several, or the shell
    itself, is given something: whose it is depends on which of them reads first.
    """
    piped = (at for stages in line.pipelines for stage in stages[1:] for at in stage)
    reading = [at for at, each in enumerate(line.commands) if any(to.kind in _FEEDS for to in each.redirects)]
    if any(not line.commands[at].words for at in reading):
        return frozenset(range(len(line.commands)))
    return frozenset((*piped, *reading))


_FEEDS = frozenset({"read", "here"})


def plan_line(plan: Plan) -> CommandParts | None:
    """Return the parts of the plan's command, None if it runs none."""
    if not plan.command:
        return None
    return plan.line if plan.line is not None else command_parts(plan.command, folder=join(SOMEWHERE, plan.folder))


class _Place(msgspec.Struct, frozen=True):
    """Where a line runs."""

    root: str
    folder: str
    around: Surroundings
    wild: frozenset[str] = frozenset()
    """The variables whose value may have wildcards in it."""
    walked: dict[tuple[str, ...], Below] = msgspec.field(default_factory=dict[tuple[str, ...], Below])
    """What was found below folders, as another command of the line may find it again."""
    outside: dict[str, tuple[str, ...]] = msgspec.field(default_factory=dict[str, tuple[str, ...]])
    """The folders outside that match a pattern, as another word of the line may begin with it."""
    secrets: dict[int, tuple[str, ...]] = msgspec.field(default_factory=dict[int, tuple[str, ...]])
    """The secrets among files, by the number of their tuple in `walked`."""
    changes: dict[tuple[str, str], tuple[str, ...]] = msgspec.field(
        default_factory=dict[tuple[str, str], tuple[str, ...]]
    )
    """Where each `cd` leads from each folder: every command behind it asks again."""
    leading: dict[tuple[str, str], bool] = msgspec.field(default_factory=dict[tuple[str, str], bool])
    """Whether a word leads out, from each folder: lines repeat their words."""

    def inside(self, path: str) -> bool:
        return path.startswith(self.root) and (path == self.root or path.startswith(f"{self.root.rstrip('/')}/"))

    def folders(self, command: SimpleCommand) -> tuple[str, ...]:
        """Return the folders in which a command may run; one that is not known is `ELSEWHERE`.

        `cd` goes by the names that led here: after `cd link`, `..` is the folder that holds the link.
        """
        found: dict[str, None] = {}
        for steps in command.folders:
            reached = {normpath(self.folder)}
            for step in steps:
                known = step.fixed and step.text not in ("", "-") and len(reached) <= _MOST_REACHED
                reached = {at for each in reached for at in self.steps(each, step.text)} if known else {ELSEWHERE}
            found |= dict.fromkeys(at if at == ELSEWHERE else self.around.real(at) for at in sorted(reached))
        return tuple(found)

    def steps(self, at: str, to: str) -> tuple[str, ...]:
        """Return where `cd` may lead: by the names, and where there is no such folder, as the kernel finds it."""
        if at == ELSEWHERE:
            return (ELSEWHERE,)
        if (at, to) not in self.changes:
            named, found = normpath(join(at, to)), self.around.real(join(self.around.real(at), to))
            self.changes[at, to] = (named,) if self.around.real(named) == found else (named, found)
        return self.changes[at, to]

    def part(self, command: SimpleCommand, everywhere: tuple[str, ...], *, fed: bool = False) -> CommandPart:
        """Return one simple command as an approval sees it; `everywhere` are all folders of the line."""
        # A redirection behind a list is that of its last command, wherever that runs.
        folders = self.folders(command) if command.words else everywhere
        program = program_name(command.words[0].text) if command.words and command.words[0].fixed else ""
        more = "" if program == "tee" and not command.assignments else more_than_reading(command)
        inputs = [each.target for each in command.redirects if each.kind == "read" and each.target is not None]
        if not all(word.fixed for word in inputs):
            more = more or "the file that it reads is not known"
        if not more and (strange := next((word for word in command.words if _expands_unknown(word, self.wild)), None)):
            more = f"which names {strange.raw[:40]!r} becomes is not known"
        matched = (word.raw for word in command.words if names_files(word))
        named = dict.fromkeys((*paths_read(command), *matched, *(word.text for word in inputs if word.fixed)))
        reads = tuple(dict.fromkeys(each for at in folders for path in named for each in self.found(join(at, path))))
        walked, more = self.walk(command, folders, more)
        if program == "git" and not more:
            steps = git_folder_words(command.words[1:])
            more = next(filter(None, (self.git_starts(join(at, *steps)) for at in folders)), "")
        if not more and (option := self.option_among_files(command.words[1:], folders)):
            more = f"the name of the file {option!r} would be an option of {program!r}"
        if not more:
            more = next(filter(None, (self.program_here(each, folders) for each in started(command))), "")
        writes, unknown = self.writes(command, folders)
        command_words = _with_message(command.words)
        fixed = all(word.fixed for word in command_words) and all(each.value.fixed for each in command.assignments)
        words = (
            *(f"{each.name}={each.value.text}" for each in command.assignments),
            *(word.text for word in command_words),
        )
        if _is_script(command_words) and folders != (self.root,):
            fixed = False  # of the same name, and another one
        return CommandPart(
            texts=written_texts(command),
            words=words if fixed and command.words else (),
            more=more,
            unknown=unknown,
            outside=next((path for path in (*reads, *walked.links, *folders) if not self.inside(path)), None),
            reads=reads,
            finds=walked.files,
            secrets=(*filter(holds_secrets, reads), *self.secrets_of(walked.files)),
            leads_out=self.word_that_leads_out(command.words[1:], folders),
            writes=writes,
            fed=fed,
            dangers=dangers(CommandLine(commands=(command,))),
        )

    def found(self, path: str) -> Iterator[str]:
        """Yield where a path leads, as the kernel finds it, and all that match it if it is a pattern.

        For a pattern bash lists folders, whether something in them matches or not: those outside count too.
        """
        yield self.around.real(path)
        if _WILDCARD.search(path):
            yield from self.matching(path)
            parts = path.split("/")
            listed = ("/".join(parts[:at]) for at, part in enumerate(parts) if at and _WILDCARD.search(part))
            yield from (each for above in listed for each in self.listed_outside(above))

    def listed_outside(self, path: str) -> tuple[str, ...]:
        """Return which of the folders that match a pattern lie outside. Long patterns begin as shorter ones do."""
        if path not in self.outside:
            self.outside[path] = tuple(each for each in self.matching(path) if not self.inside(each))
        return self.outside[path]

    def matching(self, path: str) -> Iterator[str]:
        """Yield where the paths that match a pattern lead; a path without wildcards is its own match."""
        matches = self.around.matches(path) if _WILDCARD.search(path) else (path,)
        yield from (ELSEWHERE,) if matches is None else map(self.around.real, matches)

    def walk(self, command: SimpleCommand, folders: tuple[str, ...], more: str) -> tuple[Below, str]:
        """Return what a command may find below the folders that it is given, and why it does `more` than reading."""
        walk = folders_walked(command)
        links: dict[str, None] = {}
        files: dict[str, None] = {}
        starts = dict.fromkeys(
            each for at in folders for path in walk.folders for each in self.found(join(at, path))
        ) | dict.fromkeys((self.root,) if walk.everywhere else ())
        key = (str(walk.links), str(walk.contents), *starts)
        if key in self.walked:
            return self.walked[key], more
        for start in starts:
            if not self.inside(start):
                continue  # which is said of the path itself
            below = self.around.below(start, walk.links)
            if not below.is_complete:
                return Below(), more or f"more files lie in {self.name(start)!r} than holdfast looks at for secrets"
            files |= dict.fromkeys(below.files if walk.contents else ())
            links |= dict.fromkeys(below.rules)
            if walk.links:
                links |= dict.fromkeys(below.links)
        found = self.walked[key] = Below(tuple(files), tuple(links))
        return found, more

    def secrets_of(self, files: tuple[str, ...]) -> tuple[str, ...]:
        """Return those of the files that hold secrets; the tuple is one of `walked`."""
        if id(files) not in self.secrets:
            self.secrets[id(files)] = tuple(filter(holds_secrets, files))
        return self.secrets[id(files)]

    def option_among_files(self, words: tuple[Word, ...], folders: tuple[str, ...]) -> str:
        """Return the first file that a word such as `*` hands over and that looks like an option, "" if none does."""
        for word in words:
            if word.pattern and not word.fixed and word.raw[:1] in {"*", "?", "-"} and "=" not in word.prefix:
                for at in folders:
                    for match in self.around.matches(join(at, word.raw)) or ():
                        name = match.removeprefix(f"{at.rstrip('/')}/")
                        if name.startswith("-"):
                            return name
        return ""

    def word_that_leads_out(self, words: tuple[Word, ...], folders: tuple[str, ...]) -> str:
        """Return the first word that names a path of the workspace from which a link leads out, "" if none does."""
        for word in words:
            for piece in _PIECES.split(word.text) if word.fixed else ():
                if piece and not piece.startswith("/") and any(self.leads_out(at, piece) for at in folders):
                    return word.text
        return ""

    def leads_out(self, folder: str, path: str) -> bool:
        """Return whether a path, which need not exist yet, leads out of the workspace through a link."""
        found = self.leading.get((folder, path))
        if found is None:
            named = join(folder, path)
            found = not self.inside(self.around.real(named)) and self.inside(normpath(named))
            self.leading[folder, path] = found
        return found

    def program_here(self, name: str, folders: tuple[str, ...]) -> str:
        """Return why it is not known what a program's name runs, as the end of a sentence, "" if it is."""
        for at in folders:
            found = self.around.program(name, at)
            for path in (found, self.around.real(found)) if found else ():
                if self.inside(path):
                    return f"{name!r} runs a program of the workspace here ({self.name(path)})"
            if chosen := self.around.chosen(name, at):
                return f"{name!r} is a script or launcher that may run another program ({chosen})"
        return ""

    def git_starts(self, folder: str) -> str:
        """Return what git would start in a folder, or read outside, as the end of a sentence, "" if nothing."""
        found = self.around.repositories(folder)
        if found.hook:
            return f"the repository's hook {found.hook!r} is a program that git runs"
        if out := next((path for path in found.leads if not self.inside(path)), ""):
            return f"the repository makes git read {out!r}, outside the workspace"
        setting = setting_that_starts_program(found.settings)
        return f"the repository's setting {setting!r} makes git run a program" if setting else ""

    def writes(self, command: SimpleCommand, folders: tuple[str, ...]) -> tuple[tuple[str, ...], str]:
        """Return the files that redirections and `tee` write, and why they are not known, "" if they are."""
        targets = [each.target for each in command.redirects if each.kind in ("write", "append")]
        if command.words and program_name(command.words[0].text) == "tee":
            targets += [word for word in command.words[1:] if word.raw not in ("-a", "--append", "-i")]
        found: dict[str, None] = {}
        for target in targets:
            if target is None or not target.fixed or not target.text or target.text.startswith("-"):
                return (), "the file that it writes is not known"
            if target.text in HARMLESS_TARGETS:
                continue
            for at in folders:
                written = join(at, target.text)
                found |= dict.fromkeys((self.name(self.around.real(written)), self.name(normpath(written))))
        return tuple(found), ""

    def name(self, path: str) -> str:
        """Return a path relative to the workspace, or as it is if it is outside."""
        return path[len(self.root.rstrip("/")) + 1 :] if self.inside(path) and path != self.root else path


def _expands_unknown(word: Word, wild: frozenset[str]) -> bool:
    """Return whether bash may make names of files out of a word in a way that cannot be looked up.

    What comes out of a variable or a command is split and matched with files, unless it stands in quotes. Variables of
    the shell and of the session have no wildcards in them: a line can set only those with small letters.
    """
    if word.fixed or names_files(word) or (word.single and not word.pattern):
        return False
    return _VARIABLES.fullmatch(word.raw) is None or not wild.isdisjoint(_NAMED.findall(word.raw))


_VARIABLES = re.compile(r"(?:[\w.:=/,+%@-]|\$[A-Za-z_]\w*|\$\{[A-Za-z_]\w*\}|\$[?#$!])*", re.ASCII)
_NAMED = re.compile(r"\$\{?([A-Za-z_]\w*)", re.ASCII)


def _wild_variables(line: CommandLine) -> frozenset[str]:
    """Return the variables that a line sets to what may have wildcards in it."""
    found = {each.name for command in line.commands for each in command.assignments if _is_wild(each.value)}
    found |= {loop.variable for loop in line.loops if any(map(_is_wild, loop.words.words))}
    for command in line.commands:
        if command.words and command.words[0].text not in ("echo", "printf"):
            found |= {word.text for word in command.words if word.text.isidentifier()}  # `read` sets its words
    return frozenset(found)


def _is_wild(word: Word) -> bool:
    return not word.fixed or not set(word.text).isdisjoint("*?[\\")


def _is_script(words: tuple[Word, ...]) -> bool:
    """Return whether a command runs a file of the workspace that its words name."""
    if not words:
        return False
    name = words[0].text
    return ("/" in name and not name.startswith("/")) or (
        _INTERPRETER.fullmatch(name.rpartition("/")[2]) is not None and words[1:2] != () and words[1].text[:1] != "-"
    )


def _with_message(words: tuple[Word, ...]) -> tuple[Word, ...]:
    """Return the words of `git commit`, with a fixed one for a message that another command of the line prints.

    It is exactly one word behind `-m`, so that it is no option and no path, whatever it is.
    """
    if [word.text for word in words[:2] if word.fixed] != ["git", "commit"]:
        return words
    message = Word("(message)", fixed=True, raw="(message)", prefix="(message)")
    return words[:2] + tuple(
        message if before.fixed and before.text in ("-m", "--message") and word.single and not word.pattern else word
        for before, word in pairwise(words[1:])
    )

"""Reads a shell command with tree-sitter's grammar of bash, and believes of it only what a second reading confirms.

The grammar is lenient: it takes a backtick in a here-document for text, the word after a redirection's target for a
further target, and `! ls` after `time` for arguments. So its tree only says where things may stand. Every kind of node
and every operator is in a closed table (`syntax.py`); every character between nodes must be a blank or an end of line;
and every word is read again (`quotes.py`). What does not agree makes the command unclear, which asks the user.

Laws (`tests/tools/shell/test_parse_laws.py`): what bash refuses is unclear, a fixed word is what bash hands over, and
a command that bash runs is one of those found.
"""

from __future__ import annotations

import re
import unicodedata
from functools import cache, lru_cache
from typing import TYPE_CHECKING

from holdfast.tools.shell import syntax
from holdfast.tools.shell.command_line import (
    CHAINED,
    Assignment,
    CommandLine,
    Folder,
    Loop,
    Redirect,
    SimpleCommand,
    Word,
)
from holdfast.tools.shell.parts import MOST_DEPTH, Folders, PartReader, string

if TYPE_CHECKING:
    from tree_sitter import Node, Parser

LONGEST_COMMAND = 16_384
MOST_COMMANDS = 256
MOST_LINE_WORDS = 1_024
"""A line above these limits, or nested deeper than `MOST_DEPTH`, is not judged: that must never take long."""

_TOO_MANY = f"It has too many commands or words (at most {MOST_COMMANDS} and {MOST_LINE_WORDS:,} are judged)."

_MOST_FOLDERS = 8

_PIPE = "a pipe"
_BEHIND = "another command behind it"
_ENDS_AS_ITS_LAST = {"program", "subshell", "compound_statement"} | syntax.OWN_SHELL

_NOTHING = Word(":", fixed=True, raw=":", prefix=":")
"""The program in front of the words of a loop, which bash matches with files, too."""

_SOMEWHERE = Word("a folder that is not known", fixed=False, raw="cd")

_LOWER = re.compile(rb"[a-z_][a-z0-9_]*")
_ASSIGNS = re.compile(r"[A-Za-z_][A-Za-z0-9_]*(\[.*\])?\+?=", re.DOTALL)
_OPENING = re.compile(rb"[\[({]")
_QUOTING = re.compile(rb"['\"\\`$#<(]")
_ENDS = re.compile(rb"[^\s;&|][ \t]*[;&|\n]")
_CONTROL = re.compile(r"[\x00-\x08\x0b-\x1f\x7f]")


@cache
def _parser() -> Parser:
    import tree_sitter  # 12 ms, when the first command is judged
    import tree_sitter_bash

    return tree_sitter.Parser(tree_sitter.Language(tree_sitter_bash.language()))


def parse_command(text: str) -> CommandLine:
    """Return the simple commands of a shell command. Never raises: what is not understood is said in `unclear`."""
    source = text.encode(errors="surrogatepass")
    if len(source) > LONGEST_COMMAND:
        return CommandLine(unclear=f"It has {len(source):,} bytes (at most {LONGEST_COMMAND:,} are judged).")
    strange = _CONTROL.search(text) or next((each for each in text if _is_invisible(each)), None)
    if strange is not None:
        character = strange if isinstance(strange, str) else strange[0]
        return CommandLine(unclear=f"It contains a character that is not seen or looks like a blank: {character!a}.")
    if _surely_too_many(source):
        return CommandLine(unclear=_TOO_MANY)
    reading = _Reading(source)
    try:
        reading.program(_parser().parse(reading.source).root_node)
    except _TooManyError:
        reading.unclear = _TOO_MANY
    return CommandLine(
        tuple(reading.commands),
        reading.unclear,
        tuple(reading.pipelines),
        tuple(reading.loops),
        tuple(reading.hidden),
    )


@lru_cache(maxsize=4)
def parse_script(text: str) -> CommandLine:
    """Return what `parse_command` does, for a script within a command: all that look into it ask in turn."""
    return parse_command(text)


def _surely_too_many(source: bytes) -> bool:
    """Return whether there are too many commands or brackets, before the parser spends its time on them."""
    too_many = _QUOTING.search(source) is None and len(_ENDS.findall(source)) > MOST_COMMANDS
    return too_many or len(_OPENING.findall(source)) > MOST_LINE_WORDS


def _is_invisible(character: str) -> bool:
    return character > "~" and unicodedata.category(character) in {"Cc", "Cf", "Cs", "Zs", "Zl", "Zp"}


class _TooManyError(Exception):
    """The line has more commands than are judged."""


class _Reading(PartReader):
    """The simple commands of one command, and how they are connected."""

    words = 0

    def program(self, root: Node) -> None:
        if root.has_error:
            self.fail("It is not a complete command in bash, or written in a way that is not understood.")
        self.gap(0, root.start_byte, lines=True)
        self.gap(root.end_byte, len(self.source), lines=True)
        self.statement(root, frozenset({()}))

    def statement(self, node: Node, folders: Folders) -> tuple[Folders, Folders]:
        """Read a node; return the folders in which the shell may be afterwards: if it succeeded, and in any case."""
        self.depth += 1
        try:
            if self.depth > MOST_DEPTH:
                self.fail("Its parts are nested too deeply.")
                return folders, folders
            return self._statement(node, folders)
        finally:
            self.depth -= 1

    def _statement(self, node: Node, folders: Folders) -> tuple[Folders, Folders]:
        kind = node.type
        if kind in syntax.REFUSED:
            self.fail(syntax.REFUSED[kind])
        if kind in syntax.SIMPLE or kind == "redirected_statement" or _calculates(node):
            return self.simple(node, folders)
        if kind == "list":
            return self.list(node, folders)
        if kind == "pipeline":
            self.pipeline(node, folders)
            return folders, folders
        if kind not in syntax.STRUCTURES and kind not in syntax.REFUSED:
            self.fail(f"A part was not understood ({kind.replace('_', ' ')}).")
        if kind in syntax.LOOPS and re.search(rb"\b(cd|pushd|popd)\b", self.text(node)):
            folders = frozenset({(_SOMEWHERE,)})
        good, every = self.children(node, folders)
        if kind in syntax.OWN_SHELL:
            return folders, folders
        return (every, every) if kind in syntax.SURE else (good, every)

    def children(self, node: Node, folders: Folders) -> tuple[Folders, Folders]:
        """Read the statements and words in a structure, one after the other."""
        kind, variable, known = node.type, "", syntax.STRUCTURES.get(node.type, frozenset())
        good, every, at, free = folders, folders, node.start_byte, True
        for child in node.children:
            ends_line = self.gap(at, child.start_byte, lines=True)
            at = child.end_byte
            if not child.is_named:
                free = True
                if child.type not in known:
                    self.fail(f"{child.type!r} was not understood.")
                continue
            if child.type == "comment":
                self.comment(child)
                continue
            if child.type in syntax.WORDS:
                if not (free or ends_line or self.source[child.start_byte - 1 : child.start_byte].isspace()):
                    self.fail("Where a word ends is not clear.")
                free = False
                if child.type == "variable_name" and not _LOWER.fullmatch(self.text(child)):
                    self.fail(f"It sets the variable {string(self.text(child))}, which may change what programs do.")
                words = self.word(child, every)
                if child.type == "variable_name":
                    variable = string(self.text(child))
                elif kind == "for_statement":
                    at_once = SimpleCommand(words=(_NOTHING, *words), raw=variable, folders=_sorted(every))
                    self.loops.append(Loop(variable, at_once))
                continue
            if child.type in {"file_redirect", "herestring_redirect"} and node.type in syntax.OWN_SHELL:
                self.emit(
                    SimpleCommand(redirects=tuple(self.redirect(child, every)[0]), raw=string(self.text(child))), every
                )
                continue
            if not (free or ends_line or child.type in syntax.PARTS_OF_STATEMENTS):
                self.fail("Where a command begins is not clear.")
            with self.hidden_by(_between(node, child)):
                good, after = self.statement(child, every)
            every, free = every | after, False
        self.gap(at, node.end_byte, lines=True)
        return good, self.bounded(every)

    def bounded(self, folders: Folders) -> Folders:
        return folders if len(folders) <= _MOST_FOLDERS else frozenset({(_SOMEWHERE,)})

    def comment(self, node: Node) -> None:
        before = self.source[max(0, node.start_byte - 1) : node.start_byte]
        if before not in {b"", b" ", b"\t", b"\n", b";", b"&", b"|", b"(", b")"} or b"\n" in self.text(node):
            self.fail("Where a comment begins is not clear.")

    def list(self, node: Node, folders: Folders) -> tuple[Folders, Folders]:
        good, every, operator, at = folders, folders, "", node.start_byte
        for child in node.children:
            self.gap(at, child.start_byte, lines=True)
            at = child.end_byte
            if child.type in {"&&", "||"}:
                operator = child.type
            elif child.type == "comment":
                self.comment(child)
            elif child.is_named:
                before = good if operator == "&&" else every
                with self.hidden_by(_between_in_list(node, child, operator)):
                    succeeded, after = self.statement(child, before)
                good = succeeded if operator in {"&&", ""} else good | succeeded
                every = self.bounded(every | after)
                operator = "?"
            else:
                self.fail(f"{child.type!r} was not understood.")
        return self.bounded(good), every

    def pipeline(self, node: Node, folders: Folders, first: tuple[int, ...] | None = None) -> None:
        stages = [] if first is None else [first]
        at = node.start_byte
        for child in node.children:
            self.gap(at, child.start_byte, lines=True)
            at = child.end_byte
            if child.type in {"|", "|&"}:
                continue
            if child.type == "comment":
                self.comment(child)
                continue
            begun = len(self.commands)
            if stages and re.match(rb"(?:!|time)[ \t\n\\]", self.source[child.start_byte : child.end_byte]):
                self.fail("`time` and `!` are programs behind a pipe.")
            with self.hidden_by(_PIPE):
                self.statement(child, folders)
            stages.append(tuple(range(begun, len(self.commands))))
        self.pipelines.append(tuple(stages))

    # --- simple commands ---------------------------------------------------------------------------------------------

    def simple(self, node: Node, folders: Folders) -> tuple[Folders, Folders]:
        """Read a simple command, or any command, with its redirections."""
        pieces: list[Node] = []
        body, at, begun = node, node.start_byte, len(self.commands)
        if node.type == "redirected_statement":
            for child in node.children:
                if at != node.start_byte:
                    self.word_gap(at, child.start_byte)
                at = child.end_byte
                if child.type in syntax.REDIRECTS:
                    pieces.append(child)
                elif body is node:
                    body = child
                else:
                    self.fail("Where a redirection belongs is not clear.")
        words: list[Word] = []
        assigned: list[Assignment] = []
        redirects: list[Redirect] = []
        after = folders, folders
        simple = body is node or body.type in syntax.SIMPLE or _calculates(body)
        if body.type == "test_command" or _calculates(body):
            words += self.test(body, folders)
        elif not simple:
            after = self.statement(body, folders)
        elif body.type != "redirected_statement":
            self.parts(body, folders, (words, assigned, redirects))
        for piece in pieces:
            found, more = self.redirect(piece, folders)
            redirects += found
            words += more
        if not simple and len(words):
            self.fail("Where a redirection ends is not clear.")
        if (simple or redirects) and (words or assigned or redirects):
            command = SimpleCommand(tuple(assigned), tuple(words), tuple(redirects), string(self.text(node)))
            after = self.emit(command, folders, after=None if simple else after)
        for piece in pieces:
            self.after_here(piece, (begun, len(self.commands)), after)
        return after

    def parts(self, node: Node, folders: Folders, into: tuple[list[Word], list[Assignment], list[Redirect]]) -> None:
        words, assigned, redirects = into
        single = node.type == "variable_assignment"
        at = node.start_byte
        for child in [node] if single else node.children:
            (self.gap_in_line if at == node.start_byte else self.word_gap)(at, child.start_byte)
            at = child.end_byte
            if child.type == "variable_assignment" and node.type != "declaration_command":
                if words:
                    self.fail("A variable is set behind a program.")
                assigned += self.assignment(child, folders)
            elif child.type in syntax.REDIRECTS:
                found, more = self.redirect(child, folders)
                redirects += found
                words += more
            elif child.is_named or child.type in syntax.KEYWORD_COMMANDS:
                words += self.word(child, folders)
            else:
                self.fail(f"{child.type!r} was not understood.")
        self.gap(at, node.end_byte, lines=False)

    def emit(
        self, command: SimpleCommand, folders: Folders, *, after: tuple[Folders, Folders] | None = None
    ) -> tuple[Folders, Folders]:
        """Add a command; return the folders in which the shell may be after it."""
        words = command.words
        while words and words[0].raw == "time" and command.raw.startswith("time"):
            words = words[2:] if len(words) > 1 and words[1].raw == "-p" else words[1:]
        name = words[0] if words else None
        if name is not None and (name.raw in syntax.RESERVED or _ASSIGNS.match(name.raw)):
            self.fail(f"What {name.raw[:40]!r} begins is not understood here.")
        if name is not None and name.text in syntax.CHANGES_THE_SHELL:
            self.fail(f"{name.text!r} runs or changes commands in ways that cannot be seen here.")
        self.words += len(words) + len(command.redirects)
        if len(self.commands) >= MOST_COMMANDS or self.words > MOST_LINE_WORDS:
            raise _TooManyError
        self.commands.append(
            SimpleCommand(command.assignments, words, command.redirects, command.raw, _sorted(folders))
        )
        self.hidden.append(self.between)
        if after is not None:
            return after
        moves = [word.text for word in words[:3]]
        if moves[:1] == ["cd"]:
            to = [word for word in words[1:] if not word.raw.startswith("-") or word.raw == "-"]
            physical = any(word.raw.startswith("-") and word.raw not in {"-", "--", "-L"} for word in words[1:])
            target = to[0] if len(to) == 1 and to[0].raw != "-" and not physical else _SOMEWHERE
            there = frozenset((_SOMEWHERE,) if _SOMEWHERE in folder else (*folder, target) for folder in folders)
            return there, self.bounded(folders | there)
        if not {"cd", "pushd", "popd"}.isdisjoint(moves[:2]) and moves[0] in syntax.MOVES:
            return frozenset({(_SOMEWHERE,)}), frozenset({(_SOMEWHERE,)})
        return folders, folders

    def hide(self, span: tuple[int, int], why: str) -> None:
        """Note that commands which were read already do not decide the exit code."""
        for at in range(*span):
            self.hidden[at] = self.hidden[at] or why

    def after_here(self, node: Node, span: tuple[int, int], after: tuple[Folders, Folders]) -> None:
        """Read the commands after the beginning of a here-document, in the same line."""
        if node.type != "heredoc_redirect":
            return
        for child in node.children:
            if child.type == "pipeline":
                self.hide(span, _PIPE)
                self.pipeline(child, after[1], tuple(range(*span)))
            elif child.is_named and child.type not in syntax.HERE_PARTS:
                self.hide(span, _BEHIND)
                with self.hidden_by(_BEHIND):
                    self.statement(child, after[1])
            elif not child.is_named and child.type not in {"<<", "<<-", "&&", "||"}:
                self.fail(f"{child.type!r} was not understood.")


def _sorted(folders: Folders) -> tuple[Folder, ...]:
    return tuple(sorted(folders, key=lambda folder: [word.raw for word in folder]))


def _between(node: Node, child: Node) -> str:
    """Return what stands between the exit code of a statement and that of the structure around it, "" if nothing."""
    if node.type == "negated_command":
        return "`!`"
    if node.type not in _ENDS_AS_ITS_LAST:
        return "a condition or a loop"
    later = [each for each in node.children if each.start_byte >= child.end_byte and each.type != "comment"]
    if later and later[0].type == "&":
        return "it runs in the background"
    return _BEHIND if any(each.is_named and each.type not in syntax.REDIRECTS for each in later) else ""


def _between_in_list(node: Node, child: Node, before: str) -> str:
    """Return the same for a statement of a list, in front of which the operator `before` stands."""
    if before == "||":
        return "`||`"
    later = next((each.type for each in node.children if each.start_byte >= child.end_byte and not each.is_named), "")
    return {"": "", "&&": CHAINED}.get(later, "`||`")


def _calculates(node: Node) -> bool:
    return node.type == "compound_statement" and node.child_count > 0 and node.children[0].type == "(("

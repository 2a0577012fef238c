"""Reads the words, redirections and substitutions of a shell command out of the tree of the grammar. Pure."""

from __future__ import annotations

import re
from abc import ABC, abstractmethod
from collections.abc import Generator
from contextlib import contextmanager
from typing import TYPE_CHECKING

from holdfast.tools.shell import syntax
from holdfast.tools.shell.command_line import (
    CHAINED,
    Assignment,
    Folder,
    Loop,
    Redirect,
    RedirectKind,
    SimpleCommand,
    Word,
)
from holdfast.tools.shell.syntax import UnreadableError, expect_substitutions, read_word

if TYPE_CHECKING:
    from tree_sitter import Node

MOST_DEPTH = 32
"""How deeply the parts of a command may be nested."""

Folders = frozenset[Folder]
"""The folders in which a command may run."""

_DUPLICATES = re.compile(r"[0-9]+-?|-")
_DELIMITER = re.compile(rb"(?:[A-Za-z0-9_]+|'[A-Za-z0-9_]+'|\"[A-Za-z0-9_]+\"|\\[A-Za-z0-9_]+)")
_SETS = re.compile(rb"\{[A-Za-z_][^{}\s]*\}\Z")


class PartReader(ABC):
    """A command being read: what was found so far, and the first thing that was not understood."""

    def __init__(self, source: bytes) -> None:
        self.source = source
        self.commands: list[SimpleCommand] = []
        self.pipelines: list[tuple[tuple[int, ...], ...]] = []
        self.loops: list[Loop] = []
        self.hidden: list[str] = []
        self.between = ""  # what stands between the exit code of what is read and the line's
        self.unclear = ""
        self.depth = 0

    @contextmanager
    def hidden_by(self, why: str) -> Generator[None]:
        """Read what does not decide the exit code of the line, because of `why`; "" if it does."""
        before = self.between
        self.between = (before if before != CHAINED else "") or why or before  # the chain is the weakest
        try:
            yield
        finally:
            self.between = before

    def fail(self, why: str) -> None:
        """Note that the command is not understood."""
        self.unclear = self.unclear or why

    def text(self, node: Node) -> bytes:
        """Return the characters of a node."""
        return self.source[node.start_byte : node.end_byte]

    def gap(self, start: int, end: int, *, lines: bool) -> bool:
        """Fail unless only blanks stand there; return whether a line ends there."""
        between = self.source[start:end].replace(b"\\\n", b"")
        if end > start and not between:  # bash joins what stands before and behind it
            self.fail("A line is continued within a word.")
        if between.strip(b" \t\n" if lines else b" \t"):
            self.fail(f"A part was not understood: {between.decode(errors='replace').strip()[:40]!r}.")
        return b"\n" in between

    def gap_in_line(self, start: int, end: int) -> None:
        """Fail unless only blanks stand there, in one line."""
        self.gap(start, end, lines=False)

    def word_gap(self, start: int, end: int) -> None:
        """Fail unless a blank stands between two words, or a redirection begins where the first ends."""
        self.gap(start, end, lines=False)
        if start == end and self.source[end : end + 1] not in {b"<", b">", b"&"}:
            self.fail("Where a word ends is not clear.")

    @abstractmethod
    def statement(self, node: Node, folders: Folders) -> tuple[Folders, Folders]:
        """Read a node; return the folders in which the shell may be afterwards: if it succeeded, and in any case."""

    @abstractmethod
    def emit(
        self, command: SimpleCommand, folders: Folders, *, after: tuple[Folders, Folders] | None = None
    ) -> tuple[Folders, Folders]:
        """Add a command; return the folders in which the shell may be after it."""

    def assignment(self, node: Node, folders: Folders) -> list[Assignment]:
        """Return the variable that is set, if it is a plain one."""
        raw = self.text(node)
        found = re.match(rb"([A-Za-z_][A-Za-z0-9_]*)\+?=", raw)
        if found is None:
            self.fail("A part of a list is set, whose place may be computed.")
            self.inner(node, folders)
            return []
        start = node.start_byte + found.end()
        inner = self.inner(node, folders)
        try:
            value = Word("", fixed=True, raw="") if start == node.end_byte else self.read(start, node.end_byte, inner)
        except UnreadableError as error:
            self.fail(str(error))
            return []
        return [Assignment(found[1].decode(), value)]

    def read(self, start: int, end: int, inner: dict[int, int]) -> Word:
        """Return the word there; see `read_word`."""
        return read_word(self.source, start, end, inner)

    def word(self, node: Node, folders: Folders) -> list[Word]:
        """Return the word of a node; none if it cannot be read."""
        inner = self.inner(node, folders)
        try:
            return [self.read(node.start_byte, node.end_byte, inner)]
        except UnreadableError as error:
            self.fail(str(error))
            return []

    def redirect(self, node: Node, folders: Folders) -> tuple[list[Redirect], list[Word]]:
        """Return a redirection, and the words behind it that the grammar counts to it."""
        if _SETS.search(self.source, 0, node.start_byte) or self.text(node).startswith(b"{"):
            self.fail("A redirection sets a variable, which may change what programs do.")
        if node.type == "heredoc_redirect":
            return self.here(node, folders)
        operator, targets, at, raw = "", list[Word](), node.start_byte, string(self.text(node))
        for child in node.children:
            (self.word_gap if targets else self.gap_in_line)(at, child.start_byte)
            if child.type == "file_descriptor":
                if child.end_byte < len(self.source) and self.source[child.end_byte] not in b"<>":
                    self.fail("A redirection was not understood.")
            elif not child.is_named:
                operator = child.type
            else:
                targets += self.word(child, folders)
            at = child.end_byte
        kind = syntax.OPERATORS.get(operator)
        if kind is None or (not targets and not operator.endswith("-")):
            self.fail(f"The redirection {operator!r} was not understood.")
            return [], targets
        if operator.endswith("-"):
            return [Redirect("duplicate", raw=raw)], targets
        return [_redirect(kind, operator, targets[0], raw)], targets[1:]

    def here(self, node: Node, folders: Folders) -> tuple[list[Redirect], list[Word]]:
        """Return the redirections and words in the line of a here-document, whose end is looked for again."""
        redirects, words = [Redirect("here", raw=string(self.text(node)))], list[Word]()
        start = next((each for each in node.children if each.type == "heredoc_start"), None)
        body = next((each for each in node.children if each.type == "heredoc_body"), None)
        end = next((each for each in node.children if each.type == "heredoc_end"), None)
        if start is None or end is None or not _DELIMITER.fullmatch(self.text(start)):
            self.fail("A here-document was not understood.")
            return redirects, words
        strips = node.children[0].type == "<<-"
        quoted, delimiter = self.text(start)[:1] in {b"'", b'"', b"\\"}, self.text(start).strip(b"'\"\\")
        begins = self.source.find(b"\n", start.end_byte) + 1
        at = begins
        while at < end.start_byte:
            close = self.source.find(b"\n", at)
            line = self.source[at : close if close >= 0 else len(self.source)]
            if (line.lstrip(b"\t") if strips else line) == delimiter or (not quoted and line.endswith(b"\\")):
                break
            at = close + 1 if close >= 0 else len(self.source)
        line_start = self.source.rfind(b"\n", 0, end.start_byte) + 1
        last_line = self.source[line_start : end.end_byte]
        rest = self.source[end.end_byte : end.end_byte + 1]
        if (
            (at != line_start or not begins or (last_line.lstrip(b"\t") if strips else last_line) != delimiter)
            or rest not in {b"", b"\n"}
            or self.source[start.end_byte : begins].count(b"<<") > 0
        ):
            self.fail("Where a here-document ends is not clear.")
        for child in node.children[2:]:
            if child.start_byte < begins <= child.end_byte:
                self.fail("Where a here-document begins is not clear.")
            if child.type in syntax.REDIRECTS:
                found, more = self.redirect(child, folders)
                redirects += found
                words += more
            elif child.type in syntax.WORDS:
                words += self.word(child, folders)
        if body is not None and not quoted:
            try:
                expect_substitutions(self.source, begins, line_start, self.inner(body, folders))
            except UnreadableError as error:
                self.fail(str(error))
        elif body is None and begins != line_start and not quoted and self.source[begins:line_start].strip():
            self.fail("A here-document was not understood.")
        return redirects, words

    # --- conditions and substitutions --------------------------------------------------------------------------------

    def test(self, node: Node, folders: Folders) -> list[Word]:
        """Return the words of `[ … ]`, `[[ … ]]` or `(( … ))`."""
        opening, closing = node.children[0], node.children[-1]
        inner = self.inner(node, folders)
        bare = [Word(string(self.text(each)), fixed=True, raw=string(self.text(each))) for each in (opening, closing)]
        if opening.type == "((":
            return self.arithmetic(opening.end_byte, closing.start_byte, inner)
        words, at, end = [bare[0]], opening.end_byte, closing.start_byte
        while True:
            blank = syntax.BETWEEN_WORDS.match(self.source, at, end)
            at = blank.end() if blank else at
            if at >= end:
                return [*words, bare[1]]
            stop = self.word_end(at, end, inner)
            raw = self.source[at:stop]
            special = raw in syntax.CONDITION_OPERATORS or (
                words[-1].raw == "=~" and syntax.PLAIN_REGEX.fullmatch(raw) is not None
            )
            try:
                if opening.type == "[[" and special:
                    words.append(Word(string(raw), fixed=True, raw=string(raw)))
                else:
                    words.append(self.read(at, stop, inner))
            except UnreadableError as error:
                self.fail(str(error))
            at = stop

    def word_end(self, at: int, end: int, inner: dict[int, int]) -> int:
        """Return where the blank after a word stands: outside quotes and substitutions."""
        quote = b""
        while at < end:
            letter = self.source[at : at + 1]
            if at in inner and quote != b"'":
                at = inner[at]
                continue
            if letter == b"\\" and quote != b"'":
                at += 1
            elif not quote and letter in {b" ", b"\t", b"\n"}:
                return at
            elif not quote and letter in {b"'", b'"'}:
                quote = letter
            elif letter == quote:
                quote = b""
            at += 1
        return min(at, end)

    def arithmetic(self, start: int, end: int, inner: dict[int, int]) -> list[Word]:
        """Return a calculation as the words of a command: its text is fixed if nothing is replaced in it."""
        for at, stop in inner.items():
            if start <= at < end and (at, stop) != (start, end):
                return [syntax.ARITHMETIC, Word("…", fixed=False, raw=string(self.source[start:end]))]
        text = string(self.source[start:end])
        if not syntax.PLAIN_ARITHMETIC.fullmatch(text):
            self.fail("A calculation was not understood.")
        return [syntax.ARITHMETIC, Word(text, fixed=True, raw=text)]

    def inner(self, node: Node, folders: Folders) -> dict[int, int]:
        """Read the substitutions in a node; return where each of the outermost begins and ends."""
        found: dict[int, int] = {}
        waiting = [node]
        while waiting:
            each = waiting.pop()
            if each.type in syntax.SUBSTITUTIONS:
                raw = self.text(each)
                start = each.end_byte - len(raw.lstrip())
                found[start] = each.end_byte
                self.depth += 1
                if self.depth > MOST_DEPTH:
                    self.fail("Its parts are nested too deeply.")
                else:
                    with self.hidden_by("a substitution"):
                        self.substitution(each, start, folders)
                self.depth -= 1
            else:
                waiting.extend(reversed(each.children))
        return found

    def substitution(self, node: Node, start: int, folders: Folders) -> None:
        """Read what a substitution runs, and fail if it does more than to insert a value."""
        raw = self.source[start : node.end_byte]
        match node.type:
            case "command_substitution" | "process_substitution":
                if raw.startswith(b"`") and (b"\\" in raw or b'"' in raw):
                    self.fail("Quotes within backticks are not understood.")
                self.statement(node, folders)
            case "arithmetic_expansion":
                inner = {at: stop for child in node.children for at, stop in self.inner(child, folders).items()}
                size = 2 if raw.startswith(b"$[") else 3
                words = self.arithmetic(start + size, node.end_byte - (1 if size == 2 else 2), inner)  # noqa: PLR2004 - `]` or `))`
                self.emit(SimpleCommand(words=tuple(words), raw=string(raw)), folders)
            case "simple_expansion":
                following = self.source[node.end_byte : node.end_byte + 1]
                name = syntax.VARIABLE.fullmatch(raw)
                if name is None or (name[1] and (following.isalnum() or following == b"_")):
                    self.fail(f"A variable was not understood: {string(raw)!r}.")
            case _:
                inner = {at: stop for child in node.children for at, stop in self.inner(child, folders).items()}
                plain = bytearray(raw)
                for at, stop in inner.items():
                    plain[at - start : stop - start] = b"_" * (stop - at)
                if not syntax.PARAMETER.fullmatch(bytes(plain)):
                    self.fail(f"How a variable is expanded was not understood: {string(raw)[:40]!r}.")


def _redirect(kind: RedirectKind, operator: str, target: Word, raw: str) -> Redirect:
    if operator in {">&", "<&"}:
        if target.fixed and _DUPLICATES.fullmatch(target.raw):
            return Redirect("duplicate", raw=raw)
        return Redirect("write", target, raw)
    return Redirect(kind, target, raw)


def string(raw: bytes) -> str:
    """Return a piece of a command as text."""
    return raw.decode(errors="replace")

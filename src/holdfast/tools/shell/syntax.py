"""Characters and words of the shell's syntax, and what quotes make of them.

A kind of node or an operator that is not here makes a command unclear, also one that a later grammar adds.

Reads one word as bash does: quotes, escapes, and which parts of it bash replaces. Pure.

The parser reports where a word and its substitutions begin and end. Both are checked: a character that would
end the word, or begin a substitution that the parser did not see, makes it unreadable.
"""

from __future__ import annotations

import re
from collections.abc import Mapping

from holdfast.tools.shell.command_line import RedirectKind, Word


def _words(text: str) -> frozenset[str]:
    return frozenset(text.split())


_ENDS = frozenset({";", "&"})

STRUCTURES: dict[str, frozenset[str]] = {
    "program": _ENDS,
    "subshell": _ENDS | {"(", ")"},
    "command_substitution": _ENDS | {"$(", ")", "`"},
    "process_substitution": _ENDS | {"<(", ">(", ")"},
    "do_group": _ENDS | {"do", "done"},
    "if_statement": _ENDS | {"if", "then", "fi"},
    "elif_clause": _ENDS | {"elif", "then"},
    "else_clause": _ENDS | {"else"},
    "while_statement": _ENDS | {"while", "until"},
    "for_statement": _ENDS | {"for", "in"},
    "case_statement": _ENDS | {"case", "in", "esac"},
    "case_item": _ENDS | {"(", ")", "|", ";;"},
    "negated_command": frozenset({"!"}),
    "compound_statement": _ENDS | {"{", "}"},
    "variable_assignments": frozenset(),
}
"""What may stand between the commands of each structure."""

REFUSED = {
    "function_definition": "It defines a function, which may take the name of a program.",
    "c_style_for_statement": "A loop that calculates is not understood.",
    "ERROR": "A part of it was not understood.",
}

SIMPLE = frozenset(
    {"command", "declaration_command", "unset_command", "variable_assignment", "variable_assignments", "test_command"}
)
OWN_SHELL = frozenset({"subshell", "command_substitution", "process_substitution"})
PARTS_OF_STATEMENTS = frozenset({"case_item", "elif_clause", "else_clause", "do_group"})
LOOPS = frozenset({"while_statement", "for_statement"})
SURE = frozenset(
    {"if_statement", "elif_clause", "else_clause", "while_statement", "for_statement", "case_statement", "case_item"}
    | {"negated_command", "do_group"}
)
"""Structures of which the end does not say whether a `cd` in them succeeded."""

REDIRECTS = frozenset({"file_redirect", "heredoc_redirect", "herestring_redirect"})
WORDS = frozenset(
    {"word", "string", "raw_string", "ansi_c_string", "translated_string", "concatenation", "number", "variable_name"}
    | {"simple_expansion", "expansion", "arithmetic_expansion", "brace_expression", "special_variable_name"}
    | {"extglob_pattern", "regex", "command_name"}
)
HERE_PARTS = REDIRECTS | WORDS | {"heredoc_start", "heredoc_body", "heredoc_end", "pipeline"}
SUBSTITUTIONS = frozenset(
    {"command_substitution", "process_substitution", "arithmetic_expansion", "simple_expansion", "expansion"}
)
KEYWORD_COMMANDS = frozenset({"export", "declare", "typeset", "local", "readonly", "unset", "unsetenv"})

OPERATORS: dict[str, RedirectKind] = {
    "<": "read",
    ">": "write",
    ">|": "write",
    "&>": "write",
    ">>": "append",
    "&>>": "append",
    ">&": "duplicate",
    "<&": "duplicate",
    ">&-": "duplicate",
    "<&-": "duplicate",
    "<<<": "here",
}

RESERVED = _words("if then else elif fi case esac for select while until do done in function time { } ! coproc ]]")
"""Words that begin no program where a command begins; the grammar takes some for one."""

CHANGES_THE_SHELL = _words("eval source . alias unalias trap enable shopt exec coproc bind complete mapfile")
"""Programs of the shell that run their words as commands, or change what a later word means."""

MOVES = frozenset({"pushd", "popd", "builtin", "command"})

CONDITION_OPERATORS = frozenset({b"&&", b"||", b"!", b"(", b")", b"<", b">", b"=~", b"==", b"=", b"!="})
PLAIN_REGEX = re.compile(rb"(?:[\w.^|()*+?{}\[\]/:=,@%~-]|\\[.+*?()\[\]{}|/$^]|\$(?![\w({\[*@#?!'\"-]))+")
BETWEEN_WORDS = re.compile(rb"(?:[ \t\n]|\\\n)+")

ARITHMETIC = Word("((", fixed=True, raw="((")
PLAIN_ARITHMETIC = re.compile(r"[\w \t+*/%<>=!&|^~?:,()-]*", re.ASCII)

VARIABLE = re.compile(rb"\$(?:([A-Za-z_][A-Za-z0-9_]*)|[0-9*@#?$!-])")
_NAME = rb"(?:[A-Za-z_][A-Za-z0-9_]*|[0-9]+|[@*#?$!-])(?:\[(?:[0-9]+|[@*])\])?"
_TEXT = rb"[^'\"\\`${}~\n]*"
PARAMETER = re.compile(
    rb"\$\{(?:#?" + _NAME + rb"|" + _NAME + rb"(?:(?::?[-+?]|##?|%%?|//?|/[#%]|\^\^?|,,?)" + _TEXT + rb"|"
    rb":[ ]?-?[0-9]+(?::-?[0-9]+)?))\}"
)
"""A `${…}` that neither sets a variable nor takes the value of one for a name, a prompt or a calculation."""


# --- quotes ---

_RUN = re.compile(rb"[^\\'\"$`|&;()<> \t\n*?\[{~:=#]+")
_QUOTED_RUN = re.compile(rb"[^\\\"$`]+")
_BEGINS_EXPANSION = re.compile(rb"\$[A-Za-z0-9_({\[*@#?$!-]")
_ENDS_WORD = b"|&;()<> \t\n"

_ANSI = re.compile(
    rb"\\(?:([abeEfnrtv\\'\"?])|([0-7]{1,3})|x([0-9A-Fa-f]{1,2})|u([0-9A-Fa-f]{1,4})|U([0-9A-Fa-f]{1,8}))|([^\\']+)"
)
_ANSI_NAMED = dict(zip(b"abeEfnrtv\\'\"?", b"\a\b\x1b\x1b\f\n\r\t\v\\'\"?", strict=True))
_LAST_CODE_POINT = 0x10FFFF


class UnreadableError(Exception):
    """The word is not what the parser assumed; the text of the error is a sentence for the user."""


class _Reading:
    """What was read of one word so far."""

    def __init__(self) -> None:
        self.literal = bytearray()
        self.prefix: bytes | None = None
        self.pattern = True
        self.single = True
        self.splits = False

    def varies(self, *, pattern: bool = False, single: bool = False) -> None:
        """Note that what stands here is replaced by something else."""
        if self.prefix is None:
            self.prefix = bytes(self.literal)
        self.pattern &= pattern
        self.single &= single

    def word(self, raw: bytes) -> Word:
        text = raw.decode()
        try:
            # What comes out of a variable is split at blanks: only the first argument begins as the word does.
            literal, prefix = self.literal.decode(), b"" if self.splits else self.prefix or b""
        except UnicodeDecodeError:
            return Word(text, fixed=False, raw=text)
        if "\0" in literal:
            raise UnreadableError(f"{text!r} contains a NUL character.")
        if self.prefix is None:
            return Word(literal, fixed=True, raw=text, prefix=literal)
        return Word(text, fixed=False, raw=text, prefix=prefix.decode(), pattern=self.pattern, single=self.single)


def read_word(source: bytes, start: int, end: int, inner: Mapping[int, int]) -> Word:
    """Return the word at `source[start:end]`. `inner` maps where a substitution begins to where it ends.

    Raises `UnreadableError` if bash would not read exactly one word there.
    """
    read = _Reading()
    at = start
    while at < end:
        run = _RUN.match(source, at, end)
        if run is not None:
            read.literal += run[0]
            at = run.end()
        else:
            at = _special(source, at, (start, end), inner, read)
    if at != end or start == end:
        raise UnreadableError(f"Where {_shown(source[start:end])} ends is not clear.")
    return read.word(source[start:end])


def _special(  # noqa: C901, PLR0911, PLR0912 - an arm for each character with a meaning
    source: bytes, at: int, span: tuple[int, int], inner: Mapping[int, int], read: _Reading
) -> int:
    start, end = span
    match source[at : at + 1]:
        case b"\\":
            if at + 1 >= end:
                raise UnreadableError("A word ends with a backslash.")
            following = source[at + 1 : at + 2]
            if following != b"\n":
                read.literal += following
            return at + 2
        case b"'":
            close = source.find(b"'", at + 1, end)
            if close < 0:
                raise UnreadableError("A quote is not closed.")
            read.literal += source[at + 1 : close]
            return close + 1
        case b'"':
            return _double_quoted(source, at + 1, end, inner, read)
        case b"$" if source[at + 1 : at + 2] == b"'":
            return _ansi_quoted(source, at + 2, end, read)
        case b"$" if source[at + 1 : at + 2] == b'"':
            raise UnreadableError('Text in $"…" may be translated.')
        case b"$" | b"`":
            return _expansion(source, at, end, inner, read)
        case b"<" | b">" if at in inner:
            read.literal += b"/dev/fd/"
            read.varies(single=True)
            return inner[at]
        case b"*" | b"?":
            read.varies(pattern=True)
        case b"[" if b"]" in source[at:end]:
            read.varies(pattern=True)
        case b"{" if b"}" in source[at:end] and (b"," in source[at:end] or b".." in source[at:end]):
            read.varies()
        case b"~" if at == start or source[at - 1 : at] in {b":", b"="}:
            read.varies(single=True)
        case b"#" if at == start:
            raise UnreadableError("A comment stands in place of a word.")
        case other if other in _ENDS_WORD:
            raise UnreadableError(f"Where {_shown(source[start:end])} ends is not clear.")
        case _:
            pass
    read.literal += source[at : at + 1]
    return at + 1


def _expansion(
    source: bytes, at: int, end: int, inner: Mapping[int, int], read: _Reading, *, single: bool = False
) -> int:
    """Go over a `$` or a backtick: a substitution that the parser knows, or a plain dollar sign."""
    known = inner.get(at)
    if known is not None and known <= end:
        single = single and b"@" not in source[at:known]
        read.varies(single=single)
        read.splits |= not single
        return known
    if source[at : at + 1] == b"`" or _BEGINS_EXPANSION.match(source, at, end):
        raise UnreadableError(f"A substitution was not understood: {_shown(source[at:end])}.")
    read.literal += b"$"
    return at + 1


def _double_quoted(source: bytes, at: int, end: int, inner: Mapping[int, int], read: _Reading) -> int:
    while at < end:
        run = _QUOTED_RUN.match(source, at, end)
        if run is not None:
            read.literal += run[0]
            at = run.end()
            continue
        match source[at : at + 1]:
            case b'"':
                return at + 1
            case b"\\":
                following = source[at + 1 : at + 2]
                if following in {b"$", b"`", b'"', b"\\"}:
                    read.literal += following
                elif following != b"\n":
                    read.literal += b"\\" + following
                at += 2
            case _:
                at = _expansion(source, at, end, inner, read, single=True)
    raise UnreadableError("A quote is not closed.")


def _ansi_quoted(source: bytes, at: int, end: int, read: _Reading) -> int:
    while at < end and source[at : at + 1] != b"'":
        found = _ANSI.match(source, at, end)
        if found is None:
            raise UnreadableError(f"An escape was not understood: {_shown(source[at:end])}.")
        named, octal, byte, short, long, plain = found.groups()
        if named:
            read.literal.append(_ANSI_NAMED[named[0]])
        elif octal:
            read.literal.append(int(octal, 8) & 0xFF)
        elif byte:
            read.literal.append(int(byte, 16))
        elif short or long:
            point = int(short or long, 16)
            if point > _LAST_CODE_POINT or 0xD800 <= point <= 0xDFFF:  # noqa: PLR2004 - surrogates
                raise UnreadableError("An escape names no character.")
            read.literal += chr(point).encode()
        else:
            read.literal += plain
        at = found.end()
    if at >= end:
        raise UnreadableError("A quote is not closed.")
    return at + 1


def expect_substitutions(source: bytes, start: int, end: int, inner: Mapping[int, int]) -> None:
    """Raise `UnreadableError` if the text of a here-document contains a substitution that the parser did not see."""
    at = start
    while at < end:
        at = _next_special(source, at, end)
        if at < end and source[at : at + 1] == b"\\":
            at += 2
        elif at < end:
            at = _expansion(source, at, end, inner, _Reading())


_HERE_SPECIAL = re.compile(rb"[\\$`]")


def _next_special(source: bytes, at: int, end: int) -> int:
    found = _HERE_SPECIAL.search(source, at, end)
    return end if found is None else found.start()


def _shown(raw: bytes) -> str:
    text = raw.decode(errors="replace")
    return repr(text if len(text) <= 40 else f"{text[:40]}…")  # noqa: PLR2004 - fits into a sentence

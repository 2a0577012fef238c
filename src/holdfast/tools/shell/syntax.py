"""The closed tables of what the reader of commands knows: kinds of nodes, operators, reserved words. Pure.

A kind of node or an operator that is not here makes a command unclear, also one that a later grammar adds.
"""

from __future__ import annotations

import re

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

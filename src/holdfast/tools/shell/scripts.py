"""Says whether a script of sed or awk only reads. Pure.

Both can write files and run programs. Of sed only a closed list of commands is known; an awk program may contain
neither a pipe, a redirection nor a word that opens a file.
"""

from __future__ import annotations

import re

from holdfast.tools.shell.closed_options import may_be_option
from holdfast.tools.shell.command_line import Word, unknown_file

_PIECE = r"(?:\\.|(?!(?P={0}))[^\\\n])*"
_BRACKET = r"\[\^?\]?(?:(?!{0})[^\]\\\[\n])*\]"
_REGEX = r"(?:\\.|" + _BRACKET.format("(?P={0})") + r"|(?!(?P={0}))[^\\\n\[])*"
"""A pattern. Some releases take a delimiter within brackets for one, others do not: there it stands in none."""
_ADDRESS = rf"(?:[0-9]+(?:~[0-9]+)?|\$|/(?:\\.|{_BRACKET.format('/')}|[^/\\\n\[])*/I?)"
_SED_COMMAND = (
    rf"(?:{_ADDRESS}(?:,[ ]*(?:\+?[0-9]+|~[0-9]+|{_ADDRESS}))?)?[ \t]*!?[ \t]*"
    r"(?:[pdPDqQnNhHgGxl=]|[qQ][ ]*[0-9]+"
    r"|s(?P<a>[/|#,@:%!+~_])" + _REGEX.format("a") + r"(?P=a)" + _PIECE.format("a") + r"(?P=a)[gpIi0-9]*"
    r"|y(?P<b>[/|#,@:%!+~_])" + _PIECE.format("b") + r"(?P=b)" + _PIECE.format("b") + r"(?P=b)"
    r"|\{|\})?"
)
_SED_STEP = re.compile(_SED_COMMAND + r"[ \t]*(?:[;\n]|$|(?=\})|(?<=[{}]))[ \t\n]*")
_SED_OPTION = re.compile(r"-[nErsuz]+|--(?:quiet|silent|regexp-extended|separate|unbuffered|null-data|posix)")


def sed_more(words: tuple[Word, ...]) -> str:
    """Return "" if sed with these words only reads, else in a few words what it does."""
    scripts: list[Word] = []
    files: list[Word] = []
    has_script_option = False
    at = 0
    while at < len(words):
        word = words[at]
        at += 1
        if may_be_option(word):
            return f"{word.raw[:40]!r} may be an option of 'sed'"
        if word.text in {"-e", "-ne", "-nE", "-Ee", "--expression"} and word.text.endswith(("e", "expression")):
            scripts += words[at : at + 1]
            has_script_option = True
            at += 1
        elif word.text.startswith("-") and word.text != "-":
            if not word.fixed or not _SED_OPTION.fullmatch(word.text):
                return f"`sed {word.raw[:40]}` may change files"
        else:
            files.append(word)
    if not has_script_option:
        scripts, files = files[:1], files[1:]
    for script in scripts:
        if not script.fixed or not sed_reads(script.text):
            return "the script of `sed` may write files or run programs"
    return unknown_file(tuple(files))


def sed_reads(script: str) -> bool:
    """Return whether a script of sed has only commands that neither write files nor run programs."""
    at = 0
    while at < len(script):
        found = _SED_STEP.match(script, at)
        if found is None or found.end() == at:
            return False
        at = found.end()
    return True


_AWK_MORE = re.compile(
    r"system|/inet|getline|ARGV|ARGC|PROCINFO|@|\||>(?!=)|\bclose\b|-i\b|\binclude\b|ENVIRON|SYMTAB|FUNCTAB"
)


def awk_more(words: tuple[Word, ...]) -> str:
    """Return "" if awk with these words only reads, else in a few words what it does."""
    at = 0
    while at < len(words) and words[at].prefix.startswith("-"):
        word = words[at]
        if not word.fixed or not re.fullmatch(r"-[Fv].*", word.text, re.DOTALL):
            return f"`awk {word.raw[:40]}` is not known to only read"
        at += 1
        if word.text in {"-F", "-v"}:
            if at < len(words) and (words[at].pattern or not words[at].single):
                return f"{words[at].raw[:40]!r} may be the program of `awk`"
            at += 1
    if at >= len(words) or not words[at].fixed:
        return "the program of `awk` is not known"
    if _AWK_MORE.search(words[at].text.replace("||", " ")):
        return "the program of `awk` may write files or run programs"
    files = words[at + 1 :]
    return "which file `awk` reads is not known" if any(map(_may_be_no_file, files)) else unknown_file(files)


def _may_be_no_file(word: Word) -> bool:
    """Return whether a word behind the program of awk may be an option, or more than a file."""
    option = may_be_option(word) or (word.text.startswith("-") and word.text != "-")
    return option or not (word.fixed or word.pattern) or "/inet" in word.text

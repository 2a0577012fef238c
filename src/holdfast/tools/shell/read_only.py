"""Says whether a command only reads, and if not, why. Pure.

A command is judged by its program's row in `read_only_programs.py`, or, if its words have a syntax of their own, by a
function here or in another module of this package. What is not known does more than reading. A word whose value only
bash knows is allowed where no value of it could be an option that does more; as the name of a file it is not, because
which file it names is not known.

This is only one condition: the caller checks that the files it reads (`files_read.py`) lie in the workspace and, for
git, that the repository's settings start no program (`git_settings.py`).

Laws (`tests/tools/shell/test_read_only_laws.py`): what only reads, run under `strace`, writes nothing and connects
nowhere.

Says whether a script of sed or awk only reads. Pure.

Both can write files and run programs. Of sed only a closed list of commands is known; an awk program may contain
neither a pipe, a redirection nor a word that opens a file.
"""

from __future__ import annotations

import re

from holdfast.tools.known_programs.readers import ANY_NUMBER, HARMLESS_VARIABLES, READERS_BY_NAME, VERSIONS, Reader
from holdfast.tools.shell.closed_options import may_be_option, options_of
from holdfast.tools.shell.command_line import Assignment, SimpleCommand, Word, names_files, unknown_file
from holdfast.tools.shell.conditions import SHELL_WORDS
from holdfast.tools.shell.git_commands import git_more

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


# --- read only ---

HARMLESS_TARGETS = frozenset({"/dev/null", "/dev/stdout", "/dev/stderr"})
"""Files to which a redirection writes nothing that stays."""

_LOWER = re.compile(r"[a-z_][a-z0-9_]*")
_PLAIN_VALUE = re.compile(r"[A-Za-z0-9_.,:+@%-]*")
_SYSTEM_FOLDERS = ("/bin/", "/usr/bin/")
_CONNECTS = ("/dev/tcp/", "/dev/udp/")
_MOST_NESTED = 4


def more_than_reading(command: SimpleCommand) -> str:
    """Return "" if a simple command only reads, else in a few words what it does. Its redirections are not looked at.

    The caller checks that the files it reads and those of its redirections are in the workspace.
    """
    for redirect in command.redirects:
        if redirect.target is not None and redirect.target.prefix.startswith(_CONNECTS):
            return "it connects to the network"
    for each in command.assignments:
        if not _harmless_assignment(each, alone=not command.words):
            return f"it sets the variable {each.name}, which may change what programs do"
    return words_more(command.words) if command.words else ""


def words_more(words: tuple[Word, ...], nested: int = 0) -> str:  # noqa: PLR0911 - an arm for each program
    """Return "" if a program with these words only reads, else in a few words what it does."""
    first = words[0]
    if not first.fixed:
        return f"which program {first.raw[:40]!r} names is not known"
    name = program_name(first.text)
    if len(words) == 2 and words[1].fixed and words[1].text in VERSIONS.get(name, ()):  # noqa: PLR2004 - and its option
        return ""
    rest = words[1:]
    if nested > _MOST_NESTED:
        return f"{name!r} is nested too deeply"
    match name:
        case "git":
            return git_more(rest)
        case "sed" | "gsed":
            return sed_more(rest)
        case "awk" | "gawk" | "mawk" | "nawk":
            return awk_more(rest)
        case "find":
            return _find_more(rest, nested)
        case "xxd":
            return _xxd_more(rest)
        case "xargs":
            return _xargs_more(rest, nested)
        case "date" | "hostname" | "tar" | "unzip" | "env" | "ps":
            return _CLOSED[name](rest)
        case "command" if rest and rest[0].text in {"-v", "-V"}:
            return ""
        case "jq" if any(re.search(r"\b(import|include|modulemeta)\b", word.text) for word in rest):
            return "`jq` may read other files"
        case _ if name in SHELL_WORDS:
            return SHELL_WORDS[name](rest)
        case _ if name in READERS_BY_NAME:
            return _reader_more(name, rest, READERS_BY_NAME[name])
        case _:
            return f"{name!r} is not known to only read"


def program_name(text: str) -> str:
    """Return the name of a program of the system; a program in another folder keeps its path."""
    folder = next((each for each in _SYSTEM_FOLDERS if text.startswith(each)), "") if text[:1] == "/" else ""
    return text.removeprefix(folder)


def _harmless_assignment(assignment: Assignment, *, alone: bool) -> bool:
    name, value = assignment.name, assignment.value
    if name in HARMLESS_VARIABLES or name.startswith("LC_"):
        return value.fixed and _PLAIN_VALUE.fullmatch(value.text) is not None
    if name in {"GIT_PAGER", "PAGER"}:
        return value.fixed and value.text in {"cat", ""}
    # A variable of the shell alone. Of the lower-case ones that programs know, all name a proxy to connect through.
    return alone and _LOWER.fullmatch(name) is not None and not name.endswith("_proxy")


def _reader_more(  # noqa: PLR0911 - a return for each reason
    name: str, words: tuple[Word, ...], reader: Reader
) -> str:
    if reader.options is None:
        return ""
    options = options_of(words, reader.options)
    if (strange := options.unknown()) is not None:
        return f"`{name} {strange.raw[:40]}` is not known to only read"
    if not any(word.text == "--" for word in words):
        for word in options.operands:
            if may_be_option(word) and (reader.acts or not names_files(word)):
                return f"{word.raw[:40]!r} may be an option of {name!r}"
    if len(options.operands) > reader.most or (
        reader.most < ANY_NUMBER and not all(word.single and not word.pattern for word in options.operands)
    ):
        return f"`{name}` does more with a second file"
    if name == "strings" and any(word.prefix.startswith("@") for word in options.operands):
        return "`strings` reads options out of a file whose name begins with @"
    if reader.operands == "texts":
        return ""
    return unknown_file(options.operands)


_FIND_ALONE_TEXT = (
    "! ( ) , -not -o -or -a -and -true -false -print -print0 -prune -empty -ls -depth -xdev -mount -daystart "
    "-quit -executable -readable -writable -noleaf -nouser -nogroup -ignore_readdir_race"
)
_FIND_ALONE = frozenset(_FIND_ALONE_TEXT.split())
_FIND_VALUED_TEXT = (
    "-name -iname -path -ipath -wholename -iwholename -lname -ilname -regex -iregex -regextype -type -xtype "
    "-maxdepth -mindepth -size -mtime -mmin -atime -amin -ctime -cmin -newer -newermt -newerct -newerat -perm "
    "-user -group -uid -gid -links -inum -printf -fstype -used"
)
_FIND_VALUED = frozenset(_FIND_VALUED_TEXT.split())
_FIND_DOES_MORE = "`find {}` is not known to only read"


def _find_more(words: tuple[Word, ...], nested: int) -> str:  # noqa: PLR0911 - a return for each reason
    """Return why a `find` does more than reading, "" if it only reads: all of its words are in a closed list."""
    at, expression = 0, False
    while at < len(words):
        word = words[at]
        at += 1
        begins = word.text.startswith("-") or (word.fixed and word.text in _FIND_ALONE)
        if not word.fixed and (may_be_option(word) or not (word.pattern or word.single) or expression):
            return f"{word.raw[:40]!r} may be an option of 'find'"
        if not begins and not expression:
            if why := unknown_file((word,)):
                return why
            continue
        if word.text == "-P" and not expression:
            continue
        expression = True
        if word.text in _FIND_ALONE:
            continue
        if word.text in _FIND_VALUED:
            if at >= len(words) or not (words[at].fixed or words[at].single):
                return f"what `find {word.text}` means is not known"
            if word.text == "-newer" and (why := unknown_file(words[at : at + 1])):
                return why
            at += 1
            continue
        if word.text != "-exec":
            return _FIND_DOES_MORE.format(word.raw[:40])
        end = next((place for place in range(at, len(words)) if words[place].text in {";", "+"}), None)
        if end is None or end == at:
            return "what `find -exec` runs is not clear"
        inner = tuple(map(_find_placeholder, words[at:end]))
        if inner[0].text == "git":
            return "in which repositories `find -exec git` runs is not known"
        if why := words_more(inner, nested + 1):
            return why
        at = end + 1
    return ""


def _find_placeholder(word: Word) -> Word:
    """Return a word of `-exec`: `find` puts the path of a file, or with `+` of several, wherever `{}` stands in it.

    By itself it begins with a folder, so it is no option. Its other characters are the file's name, which is not known.
    """
    if "{}" not in word.text:
        return word
    prefix = word.text.partition("{}")[0] or "./"
    return Word(word.text, fixed=False, raw=word.raw, prefix=prefix, pattern=word.text == "{}", single=False)


_XARGS = re.compile(r"-(?:[0rtx]+|[nLPs]?[0-9]+|n|L|P|I|I?\{\}|d|d.{1,2}|-null|-no-run-if-empty)")


def _xargs_more(words: tuple[Word, ...], nested: int) -> str:
    at = 0
    while at < len(words) and words[at].text.startswith("-"):
        if not words[at].fixed or not _XARGS.fullmatch(words[at].text):
            return f"`xargs {words[at].raw[:40]}` is not known to only read"
        at += 2 if words[at].text in {"-n", "-L", "-P", "-I", "-d"} else 1
    if at >= len(words):
        return ""  # it prints what it is given
    name = program_name(words[at].text)
    reader = READERS_BY_NAME.get(name)
    if reader is None or reader.options is not None:
        return f"what `xargs` hands to {name!r} may be an option"
    if why := words_more(words[at:], nested + 1):
        return why
    return "" if reader.operands == "texts" else "which files `xargs` reads is not known"


_XXD = re.compile(r"-(?:[abeEipruC]|ps|plain|postscript|bits|include|revert|uppercase|capitalize|[clgs](?:0x)?[0-9]+)")


def _xxd_more(words: tuple[Word, ...]) -> str:
    files: list[Word] = []
    at = 0
    while at < len(words):
        word = words[at]
        at += 1
        if word.fixed and word.text in {"-c", "-l", "-g", "-s"}:
            at += 1
            if at <= len(words) and not words[at - 1].fixed:
                return f"what {words[at - 1].raw[:40]!r} is for `xxd` is not known"
        elif word.text.startswith("-") and word.text != "-":
            if not word.fixed or not _XXD.fullmatch(word.text):
                return f"`xxd {word.raw[:40]}` is not known to only read"
        else:
            files.append(word)
    if len(files) > 1 or not all(word.single and not word.pattern for word in files):
        return "`xxd` writes the second file that it is given"
    return unknown_file(tuple(files))


def _date_more(words: tuple[Word, ...]) -> str:
    before = ""
    for word in words:
        if not word.fixed and not word.prefix.startswith("+"):
            return f"{word.raw[:40]!r} may set the clock"
        if "TZ=" in word.text:
            return "`date` may read a file of time zones"
        valued = before in {"-d", "--date"} and not word.text.startswith("-")
        plain = word.prefix.startswith("+") or re.fullmatch(
            r"-[uRI]+|-I\w+|-d.*|--(utc|date(=.*)?|iso-8601(=\w+)?|rfc-email|rfc-3339=\w+)", word.text, re.DOTALL
        )
        if not plain and not valued:
            return f"`date {word.raw[:40]}` may set the clock or read a file"
        before = word.text
    return ""


def _hostname_more(words: tuple[Word, ...]) -> str:
    plain = all(word.fixed and word.text in {"-s", "-I"} for word in words)
    return "" if plain else "`hostname` sets the name of the machine"


def _tar_more(words: tuple[Word, ...]) -> str:
    letters = words[0].text.removeprefix("-") if words and words[0].fixed else ""
    rest = words[1:]
    closed = re.fullmatch(r"[tvzjJf]+", letters) is not None and "t" in letters
    plain = all(word.fixed and not word.prefix.startswith("-") and ":" not in word.text for word in rest)
    return "" if closed and plain else "`tar` writes files, unless it only lists (`tar -tf`)"


_ARCHIVE = re.compile(r"(?!-)[\w./ +-]+\.(?:zip|jar|war|whl|docx|xlsx)")
"""`unzip` looks for files that match the name of an archive, and for one with `.zip` behind it."""


def _unzip_more(words: tuple[Word, ...]) -> str:
    listing = words[:1] != () and words[0].fixed and words[0].text in {"-l", "-v", "-Z", "-t"}
    plain = all(_ARCHIVE.fullmatch(word.text) if word.fixed else not may_be_option(word) for word in words[1:])
    return "" if listing and plain and not unknown_file(words[1:]) else "`unzip` writes files, unless it only lists"


_PS = re.compile(
    r"[aAfjlmrsuvwxX]+|-(?:[eAafFjlwxy]+|ww|aux|auxww|[pCGUtu]|o)|--(?:forest|no-headers|headers|deselect|sort=[a-z%,+-]+)"
    r"|--(?:pid|ppid|format|sort)|[0-9, ]+"
)
_PS_COLUMNS = re.compile(r"(?:%?[a-z_]+[=:]?[A-Z0-9]*,?)+")
_PS_NO_COLUMNS = re.compile(r"\benviron\b")


def _ps_more(words: tuple[Word, ...]) -> str:
    """Return why a `ps` shows more than processes: with `e` among its letters it shows their variables."""
    before = ""
    for word in words:
        valued = before in {"-o", "--format", "-C", "-U", "-u", "-p", "--sort", "--pid", "--ppid", "-eo"}
        columns = valued and _PS_COLUMNS.fullmatch(word.text) and not _PS_NO_COLUMNS.search(word.text)
        if not word.fixed or not (columns or _PS.fullmatch(word.text) or word.text == "-eo"):
            return f"`ps {word.raw[:40]}` may show the variables of processes"
        before = word.text
    return ""


def _env_more(words: tuple[Word, ...]) -> str:
    return "`env` runs the program that it is given" if words else ""


_CLOSED = {
    "date": _date_more,
    "hostname": _hostname_more,
    "tar": _tar_more,
    "unzip": _unzip_more,
    "env": _env_more,
    "ps": _ps_more,
}

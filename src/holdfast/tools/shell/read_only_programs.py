"""The programs that only read, with the options and arguments that change that: a table. Pure.

A program is here if no option, argument or file that it is given makes it write, run something or connect, apart from
those in its row. Not here, though people think of them as reading: pagers (`less`, `man`), which start programs from
their keys and variables; `ldd`, which runs what it looks at; `cargo`, `rustc` and `go`, also with `--version`, because
they download the version of themselves that a project names; what asks a server (`npm view`, `gh`, `docker`); and `nm`,
`size` and `readelf`, which load plugins, read options out of a file (`@file`) and may download debug information.
"""

from __future__ import annotations

from typing import Literal

import msgspec

Operands = Literal["paths", "texts", "pattern", "none"]


class Reader(msgspec.Struct, frozen=True, kw_only=True):
    """A program that only reads.

    `short` and `long` are options that do more. `values` are one-letter options with a value, `long_values` longer ones
    whose value may be the next word. The other words are `paths`, `texts` (no files), a `pattern` and then paths, or
    `none` may stand there; `most` is how many may. With `pattern_options`, the pattern is an option and every word a
    path.
    """

    names: tuple[str, ...]
    short: str = ""
    long: frozenset[str] = frozenset()
    values: str = ""
    long_values: frozenset[str] = frozenset()
    operands: Operands = "paths"
    most: int = 1_000
    pattern_options: frozenset[str] = frozenset()

    @property
    def any_option(self) -> bool:
        """Whether no option does more than reading."""
        return not self.short and not self.long and self.operands != "none" and self.most >= 1_000  # noqa: PLR2004 - no limit


def _reader(
    names: str,
    does_more: str = "",
    *,
    values: str = "",
    operands: Operands = "paths",
    most: int = 1_000,
    pattern_options: str = "",
) -> Reader:
    short, _, long = does_more.partition(" ") if does_more.startswith("-") else ("", "", does_more)
    letters, _, longer = values.partition(" ") if not values.startswith("=") else ("", "", values[1:])
    return Reader(
        names=tuple(names.split()),
        short=short.removeprefix("-"),
        long=frozenset(long.split()),
        values=letters,
        long_values=frozenset(longer.split()),
        operands=operands,
        most=most,
        pattern_options=frozenset(pattern_options.split()),
    )


READERS = (
    _reader("cat tac rev nl fold expand unexpand fmt paste join tsort od hexdump hd strings base64 base32 cksum sum"),
    _reader("md5sum sha1sum sha224sum sha256sum sha384sum sha512sum b2sum cmp comm readlink realpath df lsblk"),
    _reader("ls dir vdir wc du stat"),
    _reader("head tail", values="nc"),
    _reader("cut", values="bcdf"),
    _reader("column", values="csoNHRTWEd"),
    _reader("zipinfo"),
    _reader("file", "-CzZ compile uncompress uncompress-noreport"),
    _reader("sort", "-oT output temporary-directory compress-program files0-from", values="ktS"),
    _reader("shuf", "-o output"),
    _reader("uniq", values="fsw", most=1),
    _reader("diff", "-l paginate", values="UCIxXFWD"),
    _reader("tree", "-oR output"),  # it takes the values of `-Lo` from the next words
    _reader("grep egrep fgrep", values="efABCmdD", operands="pattern", pattern_options="e f regexp file"),
    _reader(
        "rg",
        "-z pre pre-glob search-zip hostname-bin hyperlink-format",
        values="efABCmgtTEjMrd regexp file glob iglob type type-not sort sortr max-count max-depth context "
        "after-context before-context encoding threads replace color colors",
        operands="pattern",
        pattern_options="e f regexp file files type-list",
    ),
    _reader("ag", "-z pager search-zip", values="ABCGm", operands="pattern"),
    _reader(
        "fd fdfind",
        "-xX exec exec-batch",
        values="dtEceSj type extension exclude max-depth min-depth exact-depth changed-within changed-before color",
        operands="pattern",
    ),
    _reader("jq", "-fL from-file library-path", operands="pattern"),
    _reader("echo true false : basename dirname seq sleep tr expr numfmt factor nproc arch uname", operands="texts"),
    _reader("whoami id groups uptime free ps tty locale getconf lscpu cal dirs times", operands="texts"),
    _reader("which type printenv pwd break continue exit return", operands="texts"),
    _reader("jobs", "-x", operands="texts"),
    _reader("wait", "-p", operands="texts"),
)
"""The programs whose words follow the usual rules. Those with a language of their own have a module of their own."""

READERS_BY_NAME: dict[str, Reader] = {name: row for row in READERS for name in row.names}

VERSIONS: dict[str, frozenset[str]] = {
    name: frozenset(options.split())
    for names, options in (
        ("python python3 pip pip3 uv node ruby perl php", "--version -V -v"),
        ("npm bash git gcc g++ cc clang make cmake jq rg fd tar curl ssh docker sed awk gawk find", "--version"),
        ("java javac", "--version -version"),
    )
    for name in names.split()
}
"""What a program may be asked about itself: with exactly one of these words and no other."""

_VARIABLES = (
    "LANG LANGUAGE TZ NO_COLOR FORCE_COLOR CLICOLOR CLICOLOR_FORCE TERM COLUMNS LINES CI GIT_OPTIONAL_LOCKS "
    "GIT_TERMINAL_PROMPT PYTHONUNBUFFERED PYTHONDONTWRITEBYTECODE RUST_BACKTRACE"
)
HARMLESS_VARIABLES = frozenset(_VARIABLES.split())
"""Variables of which no plain value makes a program write, run something or read a file."""

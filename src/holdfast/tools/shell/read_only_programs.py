"""The programs that only read, with the options they may have: a table. Pure.

A program is here if nothing that it is given makes it write, run something, connect or read another file than those it
names, with the options of its row. Options are a closed list (`closed_options.py`). Not here, though people think of
them as reading: pagers (`less`, `man`), which start programs from their keys and variables; `ldd`, which runs what it
looks at; `cargo`, `rustc` and `go`, also with `--version`, because they download the version of themselves that a
project names; what asks a server (`npm view`, `gh`, `docker`); `nm`, `size` and `readelf`, which load plugins, read
options out of a file (`@file`) and may download debug information; `arch`, which runs a program on other systems;
`ag`, whose options may take the next word or not; `hostname -f`, which asks a server of names; `java`, which writes its
statistics below `/tmp` whatever it is asked.

Options that follow links (`grep -R`, `ls -L`, `find -L`), that read names out of a file (`wc --files0-from`,
`md5sum -c`) or that go through two folders following links (`diff -r`) are in no row.
"""

from __future__ import annotations

from typing import Literal

import msgspec

from holdfast.tools.shell.closed_options import ClosedOptions, closed_options

Operands = Literal["paths", "texts", "pattern"]

ANY_NUMBER = 1_000_000
"""Stands for any number of words that are no options."""


class Reader(msgspec.Struct, frozen=True, kw_only=True):
    """A program that only reads, with the `options` it may have; None if it may have any.

    Its other words are `paths`, `texts` (no files), or a `pattern` and then paths; `most` is how many may stand there.
    With `pattern_options`, the pattern is an option and every word a path. With `acts`, the program has options, in no
    row, that write or run something: then no word may be one. With `walks`, it reads all files below the folders that
    it is given; if there are `walk_options`, only with one of them.
    """

    names: tuple[str, ...]
    options: ClosedOptions | None
    operands: Operands = "paths"
    most: int = ANY_NUMBER
    pattern_options: frozenset[str] = frozenset()
    acts: bool = False
    walks: bool = False
    walk_options: frozenset[str] = frozenset()


_ACT = frozenset({"sort", "shuf", "tree", "rg", "fd", "file", "uniq", "jq"})


def _reader(
    names: str,
    options: ClosedOptions | None,
    *,
    operands: Operands = "paths",
    most: int = ANY_NUMBER,
    pattern_options: str = "",
    walks: str | None = None,
) -> Reader:
    return Reader(
        names=tuple(names.split()),
        options=options,
        operands=operands,
        most=most,
        pattern_options=frozenset(pattern_options.split()),
        acts=not _ACT.isdisjoint(names.split()),
        walks=walks is not None,
        walk_options=frozenset((walks or "").split()),
    )


_of = closed_options
_GREP = _of(
    "EFGPbcHhilLnoqsTuvwxyzaIUZr",
    "eABCm",
    "recursive ignore-case no-ignore-case line-number count files-with-matches files-without-match only-matching "
    "no-filename with-filename word-regexp line-regexp invert-match quiet silent no-messages text extended-regexp "
    "fixed-strings perl-regexp basic-regexp null null-data byte-offset initial-tab line-buffered color colour binary",
    "regexp include exclude exclude-dir context after-context before-context max-count binary-files",
    numbers=True,
)
_RG = _of(
    "ciInlovwxaFPUNHhqsSu0p.",
    "eABCmgtTEjMr",
    "count count-matches ignore-case smart-case case-sensitive line-number no-line-number files-with-matches "
    "files-without-match only-matching invert-match word-regexp line-regexp fixed-strings pcre2 multiline "
    "multiline-dotall hidden no-ignore no-ignore-vcs files type-list heading no-heading column no-filename "
    "with-filename quiet no-messages stats trim null vimgrep pretty json text passthru no-config no-require-git "
    "one-file-system unrestricted sort-files",
    "regexp glob iglob type type-not sort sortr max-count max-depth context after-context before-context encoding "
    "threads replace color max-columns max-filesize",
)
_LIST = _of(
    "aAbBcCdfFgGhiklmnNopqQrRsStuUvxXZ1",
    "ITw",
    "all almost-all human-readable si recursive reverse size inode directory file-type group-directories-first "
    "classify numeric-uid-gid no-group full-time author escape literal quote-name color indicator-style format",
    "sort time time-style width ignore hide block-size",
)
_CHECKSUM = _of("btz", "", "tag binary text zero")

READERS = (
    _reader("cat", _of("AbeEnstTuv", "", "number number-nonblank show-all show-ends show-tabs show-nonprinting")),
    _reader("tac", _of("br", "s")),
    _reader("rev tsort", _of()),
    _reader("nl", _of("p", "bdfhilnsvw")),
    _reader("fold", _of("bsc", "w", "spaces bytes", "width", numbers=True)),
    _reader("expand unexpand", _of("ia", "t", "", "tabs")),
    _reader("fmt", _of("cstu", "wgp", numbers=True)),
    _reader("paste", _of("sz", "d", "serial", "delimiters")),
    _reader("join", _of("iz", "aeovtj12")),
    _reader("od", _of("abcdfilosxv", "AtNjS", "", "format read-bytes skip-bytes address-radix")),
    _reader("hexdump hd", _of("bcCdovx", "nse", "canonical", "length skip")),
    _reader("strings", _of("aw", "nte", "all", "bytes radix")),  # a word that begins with @ is a file of options
    _reader("base64 base32", _of("di", "w", "decode ignore-garbage", "wrap")),
    _reader("cksum sum", _of("rs")),
    _reader("md5sum sha1sum sha224sum sha256sum sha384sum sha512sum b2sum", _CHECKSUM),
    _reader("cmp", _of("bls", "in", "print-bytes verbose quiet silent")),
    _reader("comm", _of("123z", "", "check-order nocheck-order total", "output-delimiter")),
    _reader("readlink", _of("fenmqsvz", "", "canonicalize canonicalize-existing canonicalize-missing")),
    _reader("realpath", _of("emLPqsz", "", "canonicalize-existing canonicalize-missing no-symlinks")),
    _reader("df", _of("ahHiklPT", "tx", "all human-readable inodes local portability print-type total output", "type")),
    _reader("lsblk", _of("abdfilmnpsztJ", "o", "all bytes nodeps fs json list noheadings paths", "output")),
    _reader("ls dir vdir", _LIST),
    _reader("wc", _of("clLmw", "", "bytes chars lines words max-line-length")),
    _reader(
        "du",
        _of("abchkmsSx0", "d", "all apparent-size bytes total human-readable summarize one-file-system", "max-depth"),
    ),
    _reader("stat", _of("ft", "c", "file-system terse", "format printf")),
    _reader("head", _of("qvz", "nc", "quiet silent verbose zero-terminated", "lines bytes", numbers=True)),
    _reader("tail", _of("qvzfF", "ncs", "quiet silent verbose follow retry", "lines bytes", numbers=True)),
    _reader(
        "cut",
        _of("snz", "bcdf", "complement only-delimited", "bytes characters delimiter fields output-delimiter"),
    ),
    _reader("column", _of("tedxJ", "csoNHRTWEln", "table", "separator output-separator table-columns")),
    _reader("file", _of("bikLhrsN0", "", "brief mime mime-type mime-encoding no-pad print0 keep-going")),
    _reader(
        "sort",
        _of(
            "bdfghinMrRsuVzmcC",
            "ktS",
            "numeric-sort reverse unique human-numeric-sort version-sort ignore-case stable general-numeric-sort "
            "month-sort dictionary-order ignore-leading-blanks check zero-terminated",
            "key field-separator buffer-size parallel",
        ),
    ),
    _reader("shuf", _of("ezr", "ni", "echo repeat zero-terminated", "head-count input-range")),
    _reader(
        "uniq",
        _of("cdDiuz", "fsw", "count repeated unique ignore-case", "skip-fields skip-chars check-chars"),
        most=1,
    ),
    _reader(
        "diff",
        _of(
            "abBcdeiNnpqstTuwyZE",
            "UCIWF",
            "brief unified context side-by-side ignore-all-space ignore-space-change ignore-blank-lines ignore-case "
            "ignore-trailing-space suppress-common-lines color text minimal report-identical-files new-file "
            "left-column no-dereference",
            "width label ignore-matching-lines tabsize",
            numbers=True,
        ),
    ),
    _reader(
        "tree",
        _of(
            "adfipsughDFqNQxrtvcUnCSAJX",
            "LPI",
            "dirsfirst noreport prune du si",
            "filelimit charset sort",
            separate_values=True,
        ),
    ),
    _reader("grep", _GREP, operands="pattern", pattern_options="e regexp", walks="r recursive"),
    _reader("egrep fgrep", _GREP, operands="pattern", pattern_options="e regexp", walks="r recursive"),
    _reader("rg", _RG, operands="pattern", pattern_options="e regexp files type-list", walks=""),
    _reader(
        "fd fdfind",
        _of(
            "HIsipag0FP1",
            "etdEcS",
            "hidden no-ignore glob fixed-strings full-path absolute-path case-sensitive ignore-case print0",
            "extension type exclude max-depth min-depth exact-depth max-results color size",
        ),
        operands="pattern",
    ),
    _reader(
        "jq",
        _of(
            "rncsSeaCMjR",
            "",
            "raw-output compact-output slurp sort-keys null-input exit-status raw-input tab "
            "ascii-output color-output monochrome-output join-output",
            "indent",
        ),
        operands="pattern",
    ),
    _reader("echo true false : basename dirname seq sleep tr expr factor", None, operands="texts"),
    _reader("numfmt", _of("z", "d", "", "from to from-unit to-unit format field padding suffix"), operands="texts"),
    _reader("nproc", _of("", "", "all", "ignore"), operands="texts"),
    _reader("uname", _of("asnrvmpio", "", "all kernel-name machine"), operands="texts"),
    _reader("whoami groups uptime tty times", _of("ps"), operands="texts"),
    _reader("id", _of("agGnruz", "", "group groups name real user"), operands="texts"),
    _reader("free", _of("bkmghltw", "", "human mega giga kibi mebi gibi total wide"), operands="texts"),
    _reader("locale", _of("akmcv", "", "all-locales"), operands="texts"),
    _reader("getconf", _of("a"), operands="texts", most=1),
    _reader("lscpu", _of("abcJexp", "", "json extended parse"), operands="texts"),
    _reader("cal", _of("13jmsyw"), operands="texts"),
    _reader("dirs", _of("lpv"), operands="texts"),
    _reader("which", _of("as"), operands="texts"),
    _reader("type", _of("afptP"), operands="texts"),
    _reader("printenv pwd break continue exit return", _of("0LP"), operands="texts"),
    _reader("jobs", _of("lnprs"), operands="texts"),
    _reader("wait", _of("nf"), operands="texts"),
)
"""The programs whose words follow the usual rules. Those with a language of their own have a module of their own."""

READERS_BY_NAME: dict[str, Reader] = {name: row for row in READERS for name in row.names}

VERSIONS: dict[str, frozenset[str]] = {
    name: frozenset(options.split())
    for names, options in (
        ("python python3 pip pip3", "--version -V"),
        ("node perl php", "--version -v"),
        ("uv", "--version -V"),
        ("npm", "--version -v"),
        ("ruby bash git gcc g++ cc clang make cmake jq rg fd tar curl docker sed gawk find", "--version"),
    )
    for name in names.split()
}
"""What a program may be asked about itself: with exactly one of these words and no other.

Each row is of one program's own words: `-v` is the version for node, and for Python it runs what it reads, verbosely.
"""

_VARIABLES = (
    "LANG LANGUAGE TZ NO_COLOR FORCE_COLOR CLICOLOR CLICOLOR_FORCE TERM COLUMNS LINES CI GIT_OPTIONAL_LOCKS "
    "GIT_TERMINAL_PROMPT PYTHONUNBUFFERED PYTHONDONTWRITEBYTECODE RUST_BACKTRACE"
)
HARMLESS_VARIABLES = frozenset(_VARIABLES.split())
"""Variables of which no plain value makes a program write, run something or read a file."""

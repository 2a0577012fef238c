from __future__ import annotations

import asyncio
import os
import threading
import time
from collections.abc import Sequence
from pathlib import Path

import pytest

from holdfast.errors import ToolFailed
from holdfast.tools.builtin.glob import GlobTool
from holdfast.tools.builtin.grep import GrepTool
from holdfast.tools.tool import Plan, ToolContext, Visibility, Workspace
from holdfast.tools.workspace.file_list import RunProgram
from holdfast.tools.workspace.file_walk import Rules
from skips import needs
from tiers import some
from tool_harness import called, planned, ran, workspace


async def run_program(argv: Sequence[str], *, cwd: Path, **_of: object) -> tuple[int, bytes]:
    process = await asyncio.create_subprocess_exec(
        *argv, cwd=cwd, stdin=asyncio.subprocess.DEVNULL, stdout=asyncio.subprocess.PIPE
    )
    try:
        written, _ = await process.communicate()
    except asyncio.CancelledError:
        process.kill()
        await process.wait()
        raise
    assert process.returncode is not None
    return process.returncode, written


needs_ripgrep = needs("ripgrep")


def plant(root: Path, **files: str | bytes) -> None:
    """Write files; `__` in a name stands for a slash, and `DOT` for a dot."""
    for name, content in files.items():
        path = root / name.replace("__", "/").replace("DOT", ".")
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content if isinstance(content, bytes) else content.encode())


@pytest.fixture
def space(tmp_path: Path) -> Workspace:
    found = workspace(tmp_path)
    plant(
        found.root,
        DOTgitignore="*.log\n!keep.log\nbuild/\n/only_top\n# a comment\nsub/*.tmp\n",
        DOTgit__config="needle in git\n",
        DOThidden__aDOTpy="needle hidden\n",
        appDOTpy="import os\nneedle = 1\nprint(needle)\n",
        buriedDOTlog="needle in log\n",
        keepDOTlog="needle kept\n",
        build__outDOTpy="needle built\n",
        only_top="needle top\n",
        sub__only_top="needle not top\n",
        sub__DOTgit="gitdir: needle\n",
        sub__aDOTtmp="needle tmp\n",
        sub__b__cDOTtmp="needle deep tmp\n",
        sub__DOTgitignore="!buried.log\n*.md\n",
        sub__buriedDOTlog="needle dug out\n",
        sub__readmeDOTmd="needle in md\n",
        sub__xDOTts="no such thing\n",
        binary=b"needle\n\0needle\n",
        late_nul=b"a\n" * 5000 + b"\0 needle\n",
        dosDOTtxt=b"\xef\xbb\xbfneedle\r\nNeedle\r\n",
        latinDOTtxt="schöne needle\n".encode("latin-1"),
        long=b"x" * 5000 + b"needle\n" + b"needle" + b"y" * 5000 + b"\n",
    )
    (found.root / "link").symlink_to("app.py")
    (found.root / "linked").symlink_to(tmp_path)
    return found


def names(space: Workspace, pattern: str, path: str = ".") -> list[str]:
    return sorted(called(GlobTool(space), pattern=pattern, path=path).text.split("\n"))


# --- glob ------------------------------------------------------------------------------------------------------------

ALL = """
.gitignore .hidden/a.py app.py binary dos.txt keep.log late_nul latin.txt link linked long sub/.gitignore sub/b/c.tmp
sub/buried.log sub/only_top sub/x.ts
"""


def test_glob_leaves_out_what_git_ignores_and_never_follows_links(space: Workspace) -> None:
    assert names(space, "**") == sorted(ALL.split())
    assert names(space, "**/*") == sorted(ALL.split())


@pytest.mark.parametrize(
    ("pattern", "path", "expected"),
    [
        ("*.py", ".", ["app.py"]),
        ("**/*.py", ".", [".hidden/a.py", "app.py"]),
        ("**/*.{py,ts}", ".", [".hidden/a.py", "app.py", "sub/x.ts"]),
        ("{sub,.hidden}/[ax].*", ".", [".hidden/a.py", "sub/x.ts"]),
        ("sub/*", ".", ["sub/.gitignore", "sub/b/", "sub/buried.log", "sub/only_top", "sub/x.ts"]),
        ("*", "sub", ["sub/.gitignore", "sub/b/", "sub/buried.log", "sub/only_top", "sub/x.ts"]),
        ("**/b/**/c.tmp", ".", ["sub/b/c.tmp"]),
        ("sub/**/x.ts", ".", ["sub/x.ts"]),
        ("app.py", ".", ["app.py"]),
        ("build/*", ".", ["build/out.py"]),
        ("*.none", "sub", ["No files match '*.none' in 'sub'."]),
    ],
)
def test_glob_patterns(space: Workspace, pattern: str, path: str, expected: list[str]) -> None:
    assert names(space, pattern, path) == sorted(expected)


def test_glob_lists_the_newest_first_and_caps(space: Workspace) -> None:
    for age, name in enumerate(["sub/x.ts", "app.py", "keep.log"]):
        os.utime(space.root / name, (2e9 - age, 2e9 - age))
    assert called(GlobTool(space), pattern="**/*.{py,ts,log}").text.split("\n")[:3] == [
        "sub/x.ts",
        "app.py",
        "keep.log",
    ]
    plant(space.root, **{f"many__{n}": "" for n in range(600)})
    text = called(GlobTool(space), pattern="many/*").text.split("\n")
    assert len(text) == 501
    assert text[-1] == "[The newest 500 of 600 are shown. Narrow the pattern to see others.]"


def test_glob_outside_is_said(space: Workspace, tmp_path: Path) -> None:
    outside = str(tmp_path.resolve())
    for pattern, path in [("../*.txt", "."), ("*.txt", ".."), (f"{outside}/*.txt", "sub"), ("*.txt", "linked")]:
        plan = planned(GlobTool(space), pattern=pattern, path=path)
        assert plan.outside == outside
        assert ran(plan).text == f"{outside}/secret.txt"
    assert planned(GlobTool(space), pattern="/*").outside == "/"


@pytest.mark.parametrize("pattern", ["", "a/*/../../..", "/", "**/../x"])
def test_glob_patterns_that_name_nothing(space: Workspace, pattern: str) -> None:
    with pytest.raises(ToolFailed, match="names no files"):
        planned(GlobTool(space), pattern=pattern)


def test_glob_in_what_is_no_folder(space: Workspace) -> None:
    with pytest.raises(ToolFailed, match="'nothing' does not exist"):
        called(GlobTool(space), pattern="*", path="nothing")
    with pytest.raises(ToolFailed, match=r"'app.py' leads through something that is not a folder"):
        called(GlobTool(space), pattern="*", path="app.py")


def test_rules_of_the_repository_above_count(tmp_path: Path) -> None:
    plant(tmp_path, DOTgitignore="*.log\n", work__aDOTlog="", work__bDOTpy="")
    space = Workspace(root=tmp_path.resolve() / "work", spool=tmp_path)
    assert names(space, "*") == ["a.log", "b.py"], "without a repository, what lies above is none of our business"
    (tmp_path / ".git").mkdir()
    assert names(space, "*") == ["b.py"]


def test_a_line_that_is_no_rule_is_passed_over() -> None:
    rules = Rules().within("", "*.a\n!\n*.b")
    assert [rules.ignores(name) for name in ("x.a", "x.b", "x.c")] == [True, True, False]


def test_a_stop_ends_a_walk_with_what_was_found(space: Workspace) -> None:
    plant(space.root, **{f"d{n}__f": "" for n in range(300)})

    async def run() -> None:
        stop = asyncio.Event()
        stop.set()
        plan = planned(GlobTool(space), pattern="**")
        out = await plan.run(ToolContext(call="call_1", stop=stop, emit=lambda _: None))
        assert out.interrupted
        assert out.text.endswith("[Stopped before the search was complete.]")

    asyncio.run(run())


# --- grep ------------------------------------------------------------------------------------------------------------

FOUND = """\
app.py:2:needle = 1
app.py:3:print(needle)
dos.txt:1:needle
keep.log:1:needle kept
late_nul:5001:\N{REPLACEMENT CHARACTER} needle
latin.txt:1:sch\N{REPLACEMENT CHARACTER}ne needle"""


def test_grep_finds_lines(space: Workspace) -> None:
    text = called(GrepTool(space, None), pattern="needle").text
    assert text.startswith(FOUND)
    assert f"\nlong:1:[4606 characters cut ...] {'x' * 394}needle [... line cut, 5006 bytes in total]\n" in text
    assert f"\nlong:2:needle{'y' * 394} [... line cut, 5006 bytes in total]\n" in text
    for left_out in ("in git", "in log", "built", "needle top", "needle tmp", "in md", "binary", "link"):
        assert left_out not in text
    assert text.split("\n")[-4:] == [
        ".hidden/a.py:1:needle hidden",
        "sub/buried.log:1:needle dug out",
        "sub/only_top:1:needle not top",
        "sub/b/c.tmp:1:needle deep tmp",
    ]


CASES: list[dict[str, object]] = [
    {"pattern": "needle"},
    {"pattern": "NEEDLE", "ignore_case": True},
    {"pattern": "^needle$"},
    {"pattern": "needle", "context": 1},
    {"pattern": "needle", "context": 20, "path": "app.py"},
    {"pattern": "needle", "limit": 3},
    {"pattern": "needle", "limit": 1, "context": 2},
    {"pattern": "needle", "glob": "*.{py,log}"},
    {"pattern": "needle", "glob": "sub/**/*.tmp"},
    {"pattern": "needle", "path": "sub"},
    {"pattern": "needle", "path": "build"},
    {"pattern": "needle", "path": "binary"},
    {"pattern": r"(?<=print\()needle"},
    {"pattern": r"-needle"},
    {"pattern": r"\bp\w+t"},
    {"pattern": "^$"},
    {"pattern": "nothing at all"},
    {"pattern": "."},
]


@needs_ripgrep
@pytest.mark.parametrize("arguments", CASES, ids=str)
def test_ripgrep_gives_the_same(space: Workspace, arguments: dict[str, object]) -> None:
    ran: list[tuple[Sequence[str], int]] = []

    async def counted(argv: Sequence[str], *, cwd: Path, **_of: object) -> tuple[int, bytes]:
        code, written = await run_program(argv, cwd=cwd)
        ran.append((argv, code))
        return code, written

    with_it = called(GrepTool(space, counted), **arguments)
    assert with_it == called(GrepTool(space, None), **arguments)
    asked = [code for argv, code in ran if "--files-with-matches" in argv]
    assert asked == ([] if "?<=" in str(arguments) else [0])


DIALECT = [
    "foo",
    "<foo>",
    "foobar",
    "a",
    "aa",
    "aab",
    "A",
    "ä",
    "Ä",
    "ß",
    "\u017f",
    "K",
    "k",
    "a b",
    "{",
    "}",
    "{1}",
    "a{1}",
    "[x]",
    "a&&b",
    "&",
    "~",
    "-",
    "a-b",
    "x.y",
    "1",
    "\u0661",
    "_",
    "$",
    "^",
    "\\\\",
    "f()",
    "x+",
    "++i",
    "#x",
]
SAME = [
    r"\<foo\>",
    r"\<",
    r"[[:alpha:]]",
    r"[[:space:]]",
    r"[[:^alpha:]]",
    r"[a&&b]",
    r"[a-z&&[^b]]",
    r"[a~~b]",
    r"[a-c--b]",
    r"[[x]]",
    r"[[]",
    r"[]x]",
    r"[^]x]",
    r"a++",
    r"a++a",
    r"a?+a",
    r"a*+a",
    r"a{1,}+a",
    r"a{,2}",
    r"a{1,2}",
    r"a{2}",
    r"\{",
    r"{",
    r"}",
    r"a{",
    r"a\{1}",
    r"\d",
    r"\w",
    r"\W",
    r"\s",
    r"\b",
    r"\B",
    r"\p{L}",
    r"\x41",
    r"\u0041",
    r"^.$",
    r"^..$",
    r"\Aa",
    r"a\z",
    r"a\Z",
    r"(?i)k",
    r"(?i)[a-z]",
    r"(?x)#x",
    r"(?s).",
    r"(?m)^a",
    r"(?-u)\w",
    r"(?P<n>a)",
    r"(?<n>a)",
    r"(?>a)",
    r"(a)\1",
    r"(?=a)",
    r"a|",
    r"()",
    r"a+?",
    r"\-",
    r"\/",
    r"\_",
    r"[\w-]",
    r"[^a]",
    r"[\[x]",
    r"f\(\)",
    r"\+\+",
    r"[[a]b]",
]


@needs_ripgrep
@pytest.mark.parametrize("ignore_case", [False, True])
def test_ripgrep_gives_the_same_for_expressions_that_it_reads_otherwise(tmp_path: Path, ignore_case: bool) -> None:  # noqa: FBT001 - a parameter
    space = workspace(tmp_path)
    (space.root / "lines").write_text("\n".join(DIALECT))
    for (pattern,) in some([(each,) for each in (*SAME, "a{ 1}", "a{1, 2}", "(?x) foo # c")], 48):
        arguments: dict[str, object] = {"pattern": pattern, "ignore_case": ignore_case}
        without = called(GrepTool(space, None), **arguments)
        assert called(GrepTool(space, run_program), **arguments) == without, pattern


@needs_ripgrep
def test_ripgrep_gives_the_same_for_strange_names(space: Workspace) -> None:
    for name in (b"-v", b"a b", b"semi;colon", b"col:1:on", b"new\nline", b"bad\xff", b"--", b"\xc3\xa4"):
        (space.root / os.fsdecode(name)).write_text("odd needle\n")
    with_it = called(GrepTool(space, run_program), pattern="odd").text
    assert with_it == called(GrepTool(space, None), pattern="odd").text
    assert with_it.count("odd needle") == 8


def test_what_no_program_can_say_is_searched_anyway(space: Workspace) -> None:
    ran: list[str] = []

    async def refused(argv: Sequence[str], **_of: object) -> tuple[int, bytes]:
        ran.append(argv[0])
        raise ToolFailed("Program was not run.")

    async def failed(argv: Sequence[str], **_of: object) -> tuple[int, bytes]:
        ran.append(argv[0])
        return 2, b"trouble"

    async def failed_in_a_batch(argv: Sequence[str], **_of: object) -> tuple[int, bytes]:
        ran.append(argv[0])
        return 123, b""

    async def babbled(argv: Sequence[str], **_of: object) -> tuple[int, bytes]:
        ran.append(argv[0])
        return 0, b"what is this?\0"

    expected = called(GrepTool(space, None), pattern="needle")
    for run in (refused, failed, failed_in_a_batch, babbled):
        ran.clear()
        assert called(GrepTool(space, run), pattern="needle") == expected
        assert ran


def test_a_stop_ends_a_search_that_waits_for_a_program(space: Workspace) -> None:
    ended: list[str] = []

    async def run() -> None:
        stop = asyncio.Event()

        async def endless(argv: Sequence[str], *, call: str, cwd: Path, spool: Path) -> tuple[int, bytes]:
            assert (call, cwd) == ("call_1", space.root)  # what is left of it is found by its call
            assert spool.parent == space.spool  # and what it wrote is swept with the rest
            if "ls-files" in argv:
                return 128, b""
            stop.set()
            try:
                await asyncio.Event().wait()
            finally:
                ended.append(argv[0])
            return 0, b""

        plan = planned(GrepTool(space, endless), pattern="needle")
        out = await asyncio.wait_for(plan.run(ToolContext(call="call_1", stop=stop, emit=lambda _: None)), 10)
        assert out.interrupted
        assert len(ended) == 1
        assert asyncio.all_tasks() == {asyncio.current_task()}
        assert list(space.spool.iterdir()) == []

    asyncio.run(run())


def test_grep_context_and_limit(space: Workspace) -> None:
    (space.root / "ten").write_text("".join(f"line {n}\n" for n in range(1, 11)))
    grep = GrepTool(space, None)
    assert called(grep, pattern="line (2|3|8)", path="ten", context=1).text == (
        "ten-1-line 1\nten:2:line 2\nten:3:line 3\nten-4-line 4\n--\nten-7-line 7\nten:8:line 8\nten-9-line 9"
    )
    assert called(grep, pattern="line", path="ten", limit=2).text == (
        "ten:1:line 1\nten:2:line 2\n[Only the first 2 matches are shown. Narrow the search to see others.]"
    )
    assert "more" not in called(grep, pattern="line", path="ten", limit=10).text
    assert called(grep, pattern="word", path="ten").text == "No lines match 'word' in 'ten' (1 files)."


def test_grep_refuses_what_is_no_pattern(space: Workspace) -> None:
    with pytest.raises(ToolFailed, match=r"Pattern 'a\(b' is not a regular expression: missing \) at position 3"):
        planned(GrepTool(space, None), pattern="a(b")
    with pytest.raises(ToolFailed, match="do not fit"):
        planned(GrepTool(space, None), pattern="")
    with pytest.raises(ToolFailed, match="'nothing' does not exist"):
        called(GrepTool(space, None), pattern="x", path="nothing")


def test_grep_outside_is_said(space: Workspace, tmp_path: Path) -> None:
    secret = str(tmp_path.resolve() / "secret.txt")
    plan = planned(GrepTool(space, None), pattern="secret", path="../secret.txt")
    assert plan.outside == secret
    assert ran(plan).text == f"{secret}:1:the secret"
    assert ran(planned(GrepTool(space, None), pattern="the secret", path="..")).text.startswith(f"{secret}:1:the")


def test_a_pattern_that_backtracks_for_ever_stops_no_other_thread(space: Workspace) -> None:
    (space.root / "trap").write_text("a" * 100 + "b\n")
    ticks = 0
    done = threading.Event()

    def tick() -> None:
        nonlocal ticks
        while not done.is_set():
            ticks += 1
            time.sleep(0.01)

    ticking = threading.Thread(target=tick)
    ticking.start()
    try:
        with pytest.raises(ToolFailed, match="takes too long on a line of 'trap' because it backtracks"):
            called(GrepTool(space, None), pattern="(a|aa)+$", path="trap")
    finally:
        done.set()
        ticking.join()
    assert ticks > 5, "the interpreter was let go of"


@needs("refused permissions")
def test_what_cannot_be_read_is_said(space: Workspace) -> None:
    (space.root / "app.py").chmod(0)
    (space.root / "sub").chmod(0)
    assert "[2 could not be read" in called(GrepTool(space, None), pattern="needle").text


@pytest.mark.parametrize("run", [run_program, None])
def test_what_rules_hide_is_neither_searched_nor_listed_and_that_is_said(
    tmp_path: Path, run: RunProgram | None
) -> None:
    space = workspace(tmp_path)
    plant(space.root, aDOTpy="needle\n", keysDOTenv="needle secret\n", deep__moreDOTenv="needle secret\n")
    plant(space.root, idDOTpem="needle secret\n")

    def visibility(path: str) -> Visibility:
        return "nothing" if path.endswith(".env") else "name" if path.endswith(".pem") else "all"

    async def output_of(plan: Plan) -> str:
        context = ToolContext(call="c", stop=asyncio.Event(), emit=lambda _: None, may_read=visibility)
        return (await plan.run(context)).text

    left_out = "[2 left out: rules do not allow them to be read here. Continue without, or ask the user.]"
    found = asyncio.run(output_of(planned(GrepTool(space, run=run), pattern="needle")))
    not_searched = "[1 file with secrets was not searched. Name one in `path` if you need it: the user is asked.]"
    assert found.splitlines() == ["a.py:1:needle", not_searched, left_out]
    listed = asyncio.run(output_of(planned(GlobTool(space), pattern="**/*")))
    assert listed.splitlines() == ["id.pem", "a.py", left_out]

from __future__ import annotations

import hashlib
import os
import socket
import stat
import tracemalloc
from pathlib import Path

import pytest

from holdfast.errors import ToolFailed
from holdfast.system.user_directories import KEYS_FILE
from holdfast.tool_calls import FileChange
from holdfast.tools.builtin.glob import GlobTool
from holdfast.tools.builtin.grep import GrepTool
from holdfast.tools.builtin.read_write import ReadTool, WriteTool, check_change
from holdfast.tools.tool import Workspace
from skips import needs
from tool_harness import called, planned, ran, workspace


@pytest.fixture
def space(tmp_path: Path) -> Workspace:
    return workspace(tmp_path)


def sha(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()


# --- read ------------------------------------------------------------------------------------------------------------


def test_read_numbers_the_lines(space: Workspace) -> None:
    (space.root / "a.txt").write_bytes(b"one\r\n\ntwo\rthree")
    plan = planned(ReadTool(space), path="./a.txt")
    assert (plan.effect, plan.title, plan.outside, plan.changes) == ("read", "read a.txt", None, ())
    assert ran(plan).text == "1\tone\n2\t\n3\ttwo\rthree"


def test_read_a_window(space: Workspace) -> None:
    (space.root / "a.txt").write_text("".join(f"line {n}\n" for n in range(1, 11)))
    read = ReadTool(space)
    some = called(read, path="a.txt", offset=3, limit=2)
    assert some.text == "3\tline 3\n4\tline 4\n[Lines 3 to 4 are shown; the file continues. Read on with offset=5.]"
    assert called(read, path="a.txt", offset=9, limit=2).text == "9\tline 9\n10\tline 10"
    past = called(read, path="a.txt", offset=11)
    assert (past.text, past.ok) == ("File 'a.txt' has 10 lines, so there is nothing from line 11 on.", False)


def test_read_an_empty_file(space: Workspace) -> None:
    (space.root / "a.txt").touch()
    out = called(ReadTool(space), path="a.txt")
    assert out.ok
    assert out.text.startswith("File 'a.txt' is empty,")


def test_read_caps_lines_and_text(space: Workspace) -> None:
    (space.root / "long.txt").write_text("x" * 5000 + "\n" + "ü" * 2000 + "\nend\n")
    first, second, third = called(ReadTool(space), path="long.txt").text.split("\n")
    assert first == "1\t" + "x" * 2000 + " [... line cut, 5001 bytes in total]"
    assert second == "2\t" + "ü" * 2000
    assert third == "3\tend"
    (space.root / "wide.txt").write_text(("y" * 999 + "\n") * 100)
    out = called(ReadTool(space), path="wide.txt").text
    assert len(out) < 65_000
    assert out.endswith("[Lines 1 to 63 are shown; the file continues. Read on with offset=64.]")


def test_read_a_window_of_a_very_large_file_without_loading_it(space: Workspace) -> None:
    path = space.root / "big.log"
    with path.open("wb") as file:
        for _ in range(100):
            file.write((b"z" * 99 + b"\n") * 5000 + b"w" * 500_000)
    assert path.stat().st_size == 100_000_000
    tracemalloc.start()
    try:
        out = called(ReadTool(space), path="big.log", offset=250_000, limit=3)
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert out.text.startswith("250000\t" + "z" * 99)
    assert peak < 5_000_000


def test_a_stop_ends_a_read(space: Workspace) -> None:
    (space.root / "a.txt").write_text("one\n" * 1000)
    out = ran(planned(ReadTool(space), path="a.txt"), stopped=True)
    assert out.interrupted or out.text.count("\n") == 999
    assert out.ok


def test_read_a_byte_order_mark_and_bytes_that_are_not_utf8(space: Workspace) -> None:
    (space.root / "bom.txt").write_bytes(b"\xef\xbb\xbfone\n\xef\xbb\xbftwo\n")
    assert called(ReadTool(space), path="bom.txt").text == "1\tone\n2\t\ufefftwo"
    (space.root / "latin.txt").write_bytes("ein schöner Tag, für alle\n".encode("latin-1"))
    out = called(ReadTool(space), path="latin.txt").text
    assert out.startswith("1\tein sch\ufffdner Tag")
    assert out.endswith("[Bytes that are not valid UTF-8 are shown as U+FFFD.]")


@pytest.mark.parametrize(
    ("content", "guess"),
    [
        (b"\x89PNG\r\n\x1a\n\0\0", "a PNG image of 10 bytes"),
        (b"a\0b", "binary data of 3 bytes"),
        ("hello".encode("utf-16"), "UTF-16 text of 12 bytes"),
        (bytes(range(128, 256)) * 10, "binary data of 1280 bytes"),
    ],
)
def test_read_refuses_binary_files(space: Workspace, content: bytes, guess: str) -> None:
    (space.root / "b").write_bytes(content)
    with pytest.raises(ToolFailed, match=f"File 'b' is {guess}, not text"):
        called(ReadTool(space), path="b")


def test_utf_16_is_said_to_be_convertible(space: Workspace) -> None:
    (space.root / "u16.txt").write_text("hello", "utf-16")
    with pytest.raises(ToolFailed, match=r"only UTF-8 can be read, so convert it \(iconv -f UTF-16 -t UTF-8\)"):
        called(ReadTool(space), path="u16.txt")


def test_read_refuses_what_is_not_a_file(space: Workspace) -> None:
    read = ReadTool(space)
    os.mkfifo(space.root / "pipe")
    (space.root / "folder").mkdir()
    with socket.socket(socket.AF_UNIX) as server:
        server.bind(str(space.root / "sock"))
        for path, words in [
            ("pipe", "is a named pipe, not a regular file"),
            ("/dev/null", "is a device, not a regular file"),
            ("folder", "is a folder, not a file. Look at it with glob"),
            (".", "is a folder, not a file"),
            ("sock", "cannot be used"),
        ]:
            with pytest.raises(ToolFailed, match=words):
                called(read, path=path)


def test_a_missing_file_has_neighbours(space: Workspace) -> None:
    read = ReadTool(space)
    (space.root / "src").mkdir()
    (space.root / "src/Settings.py").touch()
    with pytest.raises(
        ToolFailed, match=r"'src/setting.py' does not exist. Similar names in its folder: 'Settings.py'"
    ):
        called(read, path="src/setting.py")
    with pytest.raises(ToolFailed, match="Nothing in its folder has a similar name"):
        called(read, path="src/zzz")
    with pytest.raises(ToolFailed, match="Its folder does not exist either"):
        called(read, path="nowhere/zzz")


def test_arguments_that_do_not_fit(space: Workspace) -> None:
    for arguments in ({}, {"path": "a", "lines": 3}, {"path": "a", "offset": 0}, {"path": "a", "limit": "many"}):
        with pytest.raises(ToolFailed, match="Arguments of 'read' do not fit"):
            planned(ReadTool(space), **arguments)
    assert ReadTool.schema.parameters["required"] == ["path"]
    assert ReadTool.schema.parameters["additionalProperties"] is False


def test_a_title_is_one_line(space: Workspace) -> None:
    assert planned(ReadTool(space), path="a\nb").title == "read a\\nb"


# --- write -----------------------------------------------------------------------------------------------------------


def test_write_a_new_file_with_its_folders(space: Workspace) -> None:
    plan = planned(WriteTool(space), path="src/deep/new.py", content="one\ntwo\n")
    change = FileChange(path="src/deep/new.py", before=None, after=sha("one\ntwo\n"))
    assert plan.changes == (change,)
    assert plan.detail == "--- src/deep/new.py\n+++ src/deep/new.py\n@@ -1,0 +1,2 @@\n+one\n+two\n"
    assert not (space.root / "src").exists(), "a plan only looks"
    assert check_change(space.root, change) == "before"
    assert ran(plan).text == "Created src/deep/new.py: 8 bytes (+2 -0 lines)."
    assert check_change(space.root, change) == "after"
    assert (space.root / "src/deep/new.py").read_text() == "one\ntwo\n"
    assert [path.name for path in (space.root / "src/deep").iterdir()] == ["new.py"]


def test_write_keeps_the_mode_and_follows_a_link_inside(space: Workspace) -> None:
    path = space.root / "run.sh"
    path.write_text("old\n")
    path.chmod(0o750)
    (space.root / "link").symlink_to("run.sh")
    plan = planned(WriteTool(space), path="link", content="new\n")
    assert plan.changes == (FileChange(path="run.sh", before=sha("old\n"), after=sha("new\n")),)
    assert ran(plan).text == "Replaced run.sh: 4 bytes (+1 -1 lines)."
    assert path.read_text() == "new\n"
    assert stat.S_IMODE(path.stat().st_mode) == 0o750
    assert (space.root / "link").is_symlink()


@pytest.mark.parametrize(
    ("before", "content", "after", "said"),
    [
        (b"one\r\ntwo\r\nthree\r\n", "one\ntwo\n", b"one\r\ntwo\r\n", " Kept: line ends (CRLF)."),
        (b"one\r\n", "one\r\ntwo\r\n", b"one\r\ntwo\r\n", ""),
        (b"one\r\ntwo\n", "one\ntwo\nthree\n", b"one\ntwo\nthree\n", ""),
        (b"one\r\n", "one", b"one", ""),
        (b"\xef\xbb\xbfone\r\n", "two\n", b"\xef\xbb\xbftwo\r\n", " Kept: line ends (CRLF) and byte order mark."),
        (b"\xef\xbb\xbfone\n", "\ufefftwo\n", b"\xef\xbb\xbftwo\n", ""),
    ],
)
def test_write_keeps_the_form_of_a_file(space: Workspace, before: bytes, content: str, after: bytes, said: str) -> None:
    path = space.root / "form.txt"
    path.write_bytes(before)
    plan = planned(WriteTool(space), path="form.txt", content=content)
    assert plan.changes == (FileChange(path="form.txt", before=sha(before.decode()), after=sha(after.decode())),)
    assert ran(plan).text.partition("lines).")[2] == said
    assert path.read_bytes() == after


@pytest.mark.parametrize(
    ("rules", "name", "crlf"),
    [
        ({".editorconfig": "root = true\n[*]\nend_of_line = crlf\n"}, "a/b.bat", ".editorconfig"),
        (
            {".editorconfig": "[*]\nend_of_line = lf\n[*.{bat,cmd}]\nend_of_line = CRLF ; Windows\n"},
            "a/b.bat",
            ".editorconfig",
        ),
        ({".editorconfig": "[*.bat]\nend_of_line = crlf\n[*]\nend_of_line = lf\n"}, "b.bat", ""),
        ({".editorconfig": "[*]\nend_of_line=crlf\n", "a/.editorconfig": "[*]\nend_of_line=lf\n"}, "a/b.bat", ""),
        ({".editorconfig": "[*]\nend_of_line=crlf\n", "a/.editorconfig": "root=true\n"}, "a/b.bat", ""),
        ({".editorconfig": "[/b.bat]\nend_of_line=crlf\n"}, "a/b.bat", ""),
        ({".editorconfig": "[a/**]\nend_of_line=crlf\n"}, "a/c/b.bat", ".editorconfig"),
        ({".gitattributes": "# rules\n* text=auto\n*.bat text eol=crlf\n"}, "a/b.bat", ".gitattributes"),
        ({".gitattributes": "*.bat eol=crlf\n*.bat -text\n"}, "b.bat", ""),
        ({".editorconfig": "[*]\nend_of_line=lf\n", ".gitattributes": "* eol=crlf\n"}, "b.bat", ""),
        ({".editorconfig": "[" + "*" * 5000 + "]\nend_of_line=crlf\n" + "#" * 70_000}, "b.bat", ""),
        ({}, "b.bat", ""),
    ],
)
def test_a_new_file_has_the_line_ends_of_its_project(
    space: Workspace, rules: dict[str, str], name: str, crlf: str
) -> None:
    for path, text in rules.items():
        (space.root / path).parent.mkdir(exist_ok=True)
        (space.root / path).write_text(text)
    said = ran(planned(WriteTool(space), path=name, content="one\ntwo\n")).text
    assert (space.root / name).read_bytes() == (b"one\r\ntwo\r\n" if crlf else b"one\ntwo\n")
    assert said.endswith(f" Line ends: CRLF, as {crlf} says." if crlf else " lines).")


def test_write_says_that_only_the_line_ends_would_change(space: Workspace) -> None:
    (space.root / "form.txt").write_bytes(b"one\r\n")
    with pytest.raises(ToolFailed, match="already has exactly this content"):
        planned(WriteTool(space), path="form.txt", content="one\n")


def test_a_new_file_has_the_mode_of_the_umask(space: Workspace) -> None:
    before = os.umask(0o027)
    try:
        called(WriteTool(space), path="a", content="a")
    finally:
        os.umask(before)
    assert stat.S_IMODE((space.root / "a").stat().st_mode) == 0o640


@pytest.mark.parametrize("meanwhile", [b"other\n", None])
def test_write_leaves_a_file_alone_that_changed_since_the_plan(space: Workspace, meanwhile: bytes | None) -> None:
    path = space.root / "a.txt"
    path.write_text("old\n")
    plan = planned(WriteTool(space), path="a.txt", content="new\n")
    (change,) = plan.changes
    path.unlink()
    if meanwhile is not None:
        path.write_bytes(meanwhile)
    with pytest.raises(ToolFailed, match=r"changed since this call was planned\. Nothing was written"):
        ran(plan)
    assert (path.read_bytes() if path.exists() else None) == meanwhile
    assert check_change(space.root, change) == "other"
    assert len(list(space.root.iterdir())) == (meanwhile is not None), "no temporary file stays"


def test_write_does_not_replace_a_file_that_appeared_since_the_plan(space: Workspace) -> None:
    plan = planned(WriteTool(space), path="a.txt", content="new\n")
    (space.root / "a.txt").write_text("theirs\n")
    with pytest.raises(ToolFailed, match="changed since"):
        ran(plan)
    assert (space.root / "a.txt").read_text() == "theirs\n"


def test_write_refuses_what_would_change_nothing(space: Workspace) -> None:
    (space.root / "a.txt").write_text("same\n")
    with pytest.raises(ToolFailed, match="already has exactly this content"):
        planned(WriteTool(space), path="a.txt", content="same\n")


@pytest.mark.parametrize(
    ("path", "words"),
    [
        (".", "is a folder"),
        ("folder", "is a folder"),
        ("file/below", "leads through something that is not a folder"),
        ("locked", "is read-only"),
        (".git/hooks/pre-commit", "is internal to git"),
        ("sub/.GIT/config", "is internal to git"),
        ("x" * 300, "is longer than the file system allows"),
    ],
)
def test_write_refuses_what_cannot_be(space: Workspace, path: str, words: str) -> None:
    (space.root / "folder").mkdir()
    (space.root / "file").touch()
    (space.root / "locked").touch()
    (space.root / "locked").chmod(0o444)
    with pytest.raises(ToolFailed, match=words):
        planned(WriteTool(space), path=path, content="new\n")


def test_write_over_a_binary_and_over_a_large_file(space: Workspace) -> None:
    (space.root / "b").write_bytes(b"\0" * 10)
    plan = planned(WriteTool(space), path="b", content="text\n")
    assert plan.detail == "b is a binary file of 10 bytes; all of it is replaced."
    (space.root / "large").write_bytes(b"x" * 10_000_001)
    plan = planned(WriteTool(space), path="large", content="small\n")
    assert plan.detail == "large is too large to show the changes."
    ran(plan)
    assert (space.root / "large").read_text() == "small\n"


def test_text_that_cannot_be_is_replaced_and_said(space: Workspace) -> None:
    out = called(WriteTool(space), path="a", content="a\0b")
    assert out.text.endswith("Invalid characters were written as U+FFFD.")
    assert (space.root / "a").read_text() == "a\ufffdb"


def test_write_outside_says_so_and_tells_nothing_before_it_is_allowed(space: Workspace, tmp_path: Path) -> None:
    write = WriteTool(space)
    plan = planned(write, path="../secret.txt", content="mine\n")
    outside = str(tmp_path.resolve() / "secret.txt")
    assert (plan.outside, plan.title) == (outside, f"write {outside}")
    change = FileChange(path=outside, before=sha("the secret\n"), after=sha("mine\n"))
    assert plan.changes == (change,)
    assert check_change(space.root, change) == "before"
    same = planned(write, path="../secret.txt", content="the secret\n")
    assert (same.outside, same.changes, same.detail) == (outside, (), "")
    with pytest.raises(ToolFailed, match="already has exactly this content"):
        ran(same)
    assert "Replaced" in ran(plan).text
    assert check_change(space.root, change) == "after"


@needs("refused permissions")
def test_a_folder_that_cannot_be_written(space: Workspace) -> None:
    (space.root / "closed").mkdir(mode=0o500)
    with pytest.raises(ToolFailed, match="permission denied"):
        called(WriteTool(space), path="closed/a", content="a")


@pytest.mark.parametrize(
    ("path", "expected"),
    [
        ("file", "other"),
        ("folder", "other"),
        ("pipe", "other"),
        ("link", "unreadable"),
        ("file/below", "unreadable"),
        ("a\0b", "unreadable"),
        ("", "other"),
        ("../secret.txt", "other"),
        ("/nowhere/at/all", "unreadable"),
        ("x" * 300, "unreadable"),
        ("gone/file", "before"),
    ],
)
def test_looking_never_raises(space: Workspace, path: str, expected: str) -> None:
    (space.root / "file").write_text("something else")
    (space.root / "folder").mkdir()
    (space.root / "link").symlink_to("file")
    os.mkfifo(space.root / "pipe")
    assert check_change(space.root, FileChange(path=path, before=None, after=sha("x"))) == expected


def test_looking_into_a_workspace_that_is_gone(space: Workspace) -> None:
    space.root.rmdir()
    assert check_change(space.root, FileChange(path="a", before=None, after=sha("x"))) == "unreadable"


def test_a_file_too_large_to_hash_is_not_replaced_nor_looked_at(tmp_path: Path) -> None:
    with (tmp_path / "huge").open("wb") as file:
        file.truncate(20 * 1024**3)  # sparse: nothing is written, but hashing it would take half a minute
    with pytest.raises(ToolFailed, match="at most 100,000,000"):
        WriteTool(Workspace(root=tmp_path, spool=tmp_path)).plan("c", '{"path": "huge", "content": "x"}')
    assert check_change(tmp_path, FileChange(path="huge", before=None, after="0" * 64)) == "other"


@pytest.mark.parametrize(
    "name", [KEYS_FILE, f".{KEYS_FILE}.4711", f"{KEYS_FILE}.1"]
)  # what a kill leaves of one being written; one put aside
def test_kept_keys_are_opened_by_no_tool(tmp_path: Path, name: str) -> None:
    space = workspace(tmp_path)
    (space.root / name).write_text('{"keys": {"A_KEY": "sk-secret"}}')
    (space.root / "link").symlink_to(space.root / name)
    read, write, grep = ReadTool(space), WriteTool(space), GrepTool(space, run=None)
    for path in (name, "link"):
        for tool, more in ((read, {}), (write, {"content": "{}"}), (grep, {"pattern": "secret"})):
            with pytest.raises(ToolFailed, match="holds API keys"):
                called(tool, path=path, **more)
    assert "sk-secret" not in called(grep, pattern="secret").text
    assert name not in called(GlobTool(space), pattern="*keys*").text

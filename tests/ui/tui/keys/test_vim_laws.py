"""Laws of vim's keys: they do what vim does, the cursor stays in the text, and every change can be undone."""

from __future__ import annotations

import itertools
import json
import subprocess
from pathlib import Path

from hypothesis import given
from hypothesis import strategies as st

from holdfast.ui.tui.keys.vim_editor import Edited, VimEditor
from laws import law
from skips import needs

TEXTS = (
    "one two, three",
    "a.b(c) d\n  indented line\nlast",
    "x",
    "foo  bar\n baz qux_1\nend.",
    "ü é w\n. . ;x",
    "  lead\nmore\ntail  ",
)
MOTIONS = (*"hjklwbe0^$G", "gg", "fo", "t ", "Fe", "Te", "2w", "3l", "2j", "2e", "f,", "2b", "3G", "fo;", "Fe;", "fo,")
MOVED = tuple(each for each in MOTIONS if ";" not in each and each != "fo,")
COMMANDS = (
    *(f"{count}{operator}{motion}" for operator in "dcy" for motion in (*MOVED, operator) for count in ("", "2")),
    *("diw", "ciw", "yiw", "daw", "yaw", "x", "3x", "X", "D", "C", "s", "2s", "S", "Y", "rz", "2rz", "~", "3~", "J"),
    *("ihi", "ahi", "Ihi", "Ahi", "ohi", "Ohi"),
)
SELECTIONS = [
    f"{mode}{motion}"
    for mode in "vV"
    for motion in (*MOVED, "", "iw", "aw", "jo", "l$", "jkl", "$j", "bo0", "fo;", "vV", "Vv", "vv")
]
OPERATIONS = ("d", "y", "x", "c", "sZ", "cXY", "p", "P", "2p", "", "lP")
"""What is made of what is selected in visual mode."""
ESC = "\x1b"


def ours(text: str, commands: list[str]) -> tuple[str, int]:
    """Return the text and the cursor after the commands, each with an Esc behind it."""
    editor = VimEditor()
    moved = editor.escape(text, 0)
    assert moved is not None
    cursor = moved.cursor
    for command in commands:
        for key in command:
            if editor.mode == "insert":
                text, cursor = text[:cursor] + key + text[cursor:], cursor + 1
            else:
                done = editor.press(key, text, cursor)
                text, cursor = done.text, done.cursor
            assert 0 <= cursor <= len(text)
        left = editor.escape(text, cursor)
        if left is not None:
            text, cursor = left.text, left.cursor
        assert editor.mode == "normal"
    return text, cursor


def theirs(cases: list[tuple[str, list[str]]], folder: Path) -> list[tuple[str, int]]:
    """Return what vim makes of the cases."""
    script = ["set cpoptions=aABceFs backspace= noautoindent nojoinspaces", "let g:out=[]"]
    for text, commands in cases:
        keys = "".join(f"{command}{ESC}" for command in commands)
        typed = "".join(f"\\<Char-{ord(key)}>" if ord(key) < ord(" ") or key in '\\"<|' else key for key in keys)
        script += [
            "enew!",
            'let @"=""',
            f"call setline(1, {json.dumps(text.split(chr(10)), ensure_ascii=False)})",
            "call cursor(1, 1)",
            f'call feedkeys("{typed}", "ntx")',
            'call add(g:out, [getline(1, "$"), line("."), charcol(".")])',
        ]
    result = folder / "out.json"
    script += [f'call writefile([json_encode(g:out)], "{result}")', "qa!"]
    (folder / "script.vim").write_text("\n".join(script))
    command = ["vim", "-Nu", "NONE", "-i", "NONE", "-n", "-es", "-S", str(folder / "script.vim")]
    subprocess.run(command, check=False, stdin=subprocess.DEVNULL, capture_output=True)
    found: list[tuple[str, int]] = []
    for lines, row, column in json.loads(result.read_text()):
        found.append(("\n".join(lines), sum(len(line) + 1 for line in lines[: row - 1]) + column - 1))
    return found


CASES = [
    (text, [*before, command, *after])
    for number, (text, command) in enumerate((text, command) for text in TEXTS for command in COMMANDS)
    for before in ([], [MOTIONS[number % len(MOTIONS)]], [MOTIONS[number * 7 % len(MOTIONS)], "l"])
    for after in ([], ["p"], ["2P"])[number % 3 : number % 3 + 1]
]


VISUAL_COMMANDS = tuple(f"{selection}{operation}" for selection in SELECTIONS for operation in OPERATIONS)
_BEFORE: tuple[list[str], ...] = ([], ["yw"], ["yy"], ["w", "yw"], ["j", "l"], ["yy", "w"])
VISUAL = [
    (text, [*_BEFORE[number % 6], f"{selection}{operation}", *(["p"] if number % 2 else [])])
    for number, (text, selection, operation) in enumerate(itertools.product(TEXTS, SELECTIONS, OPERATIONS))
]


@needs("vim")
def test_it_does_what_vim_does(tmp_path: Path) -> None:
    cases = [*CASES, *VISUAL]
    results = theirs(cases, tmp_path)
    wrong = [
        f"{text!r} {commands}: {ours(text, commands)}, vim: {expected}"
        for (text, commands), expected in zip(cases, results, strict=True)
        if ours(text, commands) != expected
    ]
    assert not wrong, f"{len(wrong)} of {len(cases)}\n" + "\n".join(wrong[:20])


@law()
@given(
    st.text(st.sampled_from("ab. \n_,漢"), max_size=20),
    st.lists(st.sampled_from([*COMMANDS, *MOTIONS, *VISUAL_COMMANDS, "p", "P", "caw", "u", "\x12"]), max_size=8),
)
def test_every_change_can_be_undone(text: str, commands: list[str]) -> None:
    assert ours(text, [*commands, "99u"])[0] == text
    after = ours(text, commands)[0]
    if "u" not in commands:
        assert ours(text, [*commands, "99u", "99\x12"])[0] == after


def test_escape_is_for_the_editor_only_where_it_ends_something() -> None:
    editor = VimEditor()
    assert editor.escape("text", 4) is not None
    assert editor.escape("text", 3) is None
    editor.press("2", "text", 3)
    assert editor.pending == "2"
    assert editor.escape("text", 3) is not None
    assert editor.pending == ""
    editor.press("i", "text", 3)
    assert editor.mode == "insert"
    editor.reset()
    assert editor.mode == "insert"


def test_what_is_selected_is_known_and_ends_when_the_text_changes_by_other_means() -> None:
    editor = VimEditor()
    editor.escape("one two", 0)
    assert editor.press("v", "one two", 0).mode == "visual"
    selected = editor.press("e", "one two", 0).selected
    assert selected is not None
    assert selected.span("one two") == (0, 3)
    assert editor.press("V", "one two", 2).mode == "visual line"
    assert editor.press("2", "one two", 2).selected is not None
    assert editor.pending == "2"
    escaped = editor.escape("one two", 2)
    assert escaped is not None
    assert (escaped.mode, escaped.cursor, escaped.selected, editor.pending) == ("normal", 2, None, "")
    assert editor.escape("one two", 2) is None
    editor.press("v", "one two", 2)
    assert editor.press("x", "one two, and more", 4) == Edited(text="one wo, and more", cursor=4, mode="normal")
    editor.press("v", "text", 0)
    editor.reset()
    assert editor.mode == "insert"

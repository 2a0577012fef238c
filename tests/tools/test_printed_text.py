"""What a line printer keeps of colours, progress bars, backspaces and equal lines."""

from __future__ import annotations

import time

import pytest

from holdfast.tools.printed_text import printed_text

FRAMES = "".join(f"\rprogress {number}" for number in range(1, 2001))


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("\x1b[31mred\x1b[0m\n", "red\n"),
        (f"{FRAMES}\n", "progress 2000\n"),
        ("one\r\ntwo\r\n", "one\ntwo\n"),
        ("50 %\r100 %\r\n", "100 %\n"),
        ("\x1b]8;;https://x.org\x1b\\link\x1b]8;;\x1b\\\n", "link\n"),
        ("\x1b]0;a title\x07text", "text"),
        ("⠋ wait\x1b[2K\x1b[1G⠙ wait\x1b[2K\x1b[1Gdone\n", "done\n"),
        ("N\bNA\bAM\bME\bE", "NAME"),
        ("\b\bx", "x"),
        ("a\x07b\x0ec", "abc"),
        ("tab\tand\x00nul", "tab\tand\x00nul"),
        ("same\n" * 4, "same\n" * 4),
        ("same\n" * 500, "same\nsame\n[... the line above 498 more times ...]\n"),
        ("\n" * 9, "\n" * 9),
        ("unfinished \x1b[", "unfinished "),
    ],
)
def test_it_is_what_a_line_printer_keeps(text: str, shown: str) -> None:
    assert printed_text(text) == shown


@pytest.mark.parametrize(
    "text", ["\r" * 1_000_000, "\x1b" * 1_000_000, "\x1b]" * 500_000, "a\b" * 500_000, "x\n" * 500_000]
)
def test_it_is_linear(text: str) -> None:
    begun = time.process_time()
    assert len(printed_text(text)) <= len(text)
    assert time.process_time() - begun < 10

"""What a line printer keeps of colours, progress bars, backspaces and equal lines."""

from __future__ import annotations

import time

import pytest

from holdfast.tools.printed_text import HIGHEST_SCREEN, printed_text

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
        ("a 1 %\nb 1 %\n\x1b[2Aa 50 %\nb 9 %\n\x1b[2Aa 99 %\nb 99 %\ndone\n", "a 99 %\nb 99 %\ndone\n"),
        ("a 1 %\r\nb 1 %\r\n\x1b[2F\x1b[2Ka 99 %\r\n\x1b[2Kb 99 %\r\n", "a 99 %\nb 99 %\n"),
        ("one\ntwo\nthree\n\x1b[3A\x1b[Jdone\n", "done\n"),
        ("long line\n\x1b[1A\x1b[2Kshort\n", "short\n"),
        ("long line\n\x1b[1A\r\x1b[Kshort\n", "short\n"),
        ("kept\n\x1b[31ma\x1b[0m\n\x1b[1A\x1b[32mb\x1b[0m\n", "kept\nb\n"),
        ("A\nK\n\x1b[2AB\nJ\n", "B\nJ\n"),
        ("first\nsecond\n\x1b[1A\x1b[1Bthird\n", "first\nsecond\nthird\n"),
        ("".join(f"row {n}\n" for n in range(300)) + "\x1b[999Atop\n", None),
        ("\x1b7\x1b[24;0f\x1b[42mProgress: [ 10%]\x1b[49m [##..] \x1b8Unpacking x\n", "Unpacking x\n"),
        ("\x1b[sa word\x1b[u\n", "a word\n"),
        ("built\n" + "".join(f"\x1b[H\x1b[2J\x1b[3Jframe {n}\nrow\n" for n in range(900)), "built\nframe 899\nrow\n"),
        ("".join(f"\x1b[H\x1b[Jframe {n}\n" for n in range(9)) + "\x1b[2Jdone\n", "done\n"),
        ("begun" + "".join(f"\x1bcframe {n}\n" for n in range(9)) + "\x1b[H\x1b[2J", "begun\nframe 8\n"),
        ("an error\n\x1b[H\x1b[2Jbuilt\n", "an error\nbuilt\n"),
        ("a\x1b[2Jb\x1b[2Jc\x1b[2Jd", "ad"),
        ("H\x1b[J" * 9, "H" * 9),
    ],
)
def test_it_is_what_a_line_printer_keeps(text: str, shown: str | None) -> None:
    if shown is None:  # further up than a screen is high
        shown = "".join("top\n" if n == 300 + 1 - HIGHEST_SCREEN else f"row {n}\n" for n in range(300))
    assert printed_text(text) == shown


def test_the_frames_of_a_builder_are_its_last() -> None:
    """As docker, npm and others draw: up by as many lines as were drawn, and each line erased and written."""
    drawn = "".join(
        ("\x1b[3A" if frame else "") + "".join(f"\x1b[2K#{line} step {frame}s\x1b[0m\n" for line in range(3))
        for frame in range(400)
    )
    assert printed_text(f"begin\n{drawn}end\n") == "begin\n#0 step 399s\n#1 step 399s\n#2 step 399s\nend\n"


@pytest.mark.parametrize(
    "text",
    [
        "\r" * 1_000_000,
        "\x1b" * 1_000_000,
        "\x1b]" * 500_000,
        "a\b" * 500_000,
        "x\n" * 500_000,
        "x\n\x1b[1A" * 200_000,
        "\x1b7\x1b[1;1H" * 100_000,
        "\x1b[A\x1b[J\n" * 200_000,
        "\x1b7" * 500_000,
    ],
)
def test_it_is_linear(text: str) -> None:
    begun = time.process_time()
    assert len(printed_text(text)) <= len(text)
    assert time.process_time() - begun < 10

"""Dragged files, as terminals write them."""

from __future__ import annotations

import pytest

from holdfast.ui.tui.prompt.dropped_paths import mention, text_for_drop, with_image_mention

FILES = {"/p/shot.png", "/p/my shot.PNG", "/p/it's.jpg", "/p/notes.txt", "~/a.webp", "/p/é ü.gif", "/p/a.png b.png"}
LOCAL = "file://"


def is_file(path: str) -> bool:
    return path in FILES


@pytest.mark.parametrize(
    ("pasted", "written"),
    [
        ("/p/shot.png", "@/p/shot.png "),
        ("/p/shot.png \n", "@/p/shot.png "),
        ("~/a.webp", "@~/a.webp "),
        (r"/p/my\ shot.PNG", '@"/p/my shot.PNG" '),
        ("'/p/my shot.PNG'", '@"/p/my shot.PNG" '),
        ('"/p/my shot.PNG"', '@"/p/my shot.PNG" '),
        ("/p/my shot.PNG", '@"/p/my shot.PNG" '),
        (r"/p/it\'s.jpg", '@"/p/it\'s.jpg" '),
        ("'/p/it'\\''s.jpg'", '@"/p/it\'s.jpg" '),
        (f"{LOCAL}/p/%C3%A9%20%C3%BC.gif", '@"/p/é ü.gif" '),
        ("file://localhost/p/shot.png", "@/p/shot.png "),
        (f"{LOCAL}/p/notes.txt", "/p/notes.txt "),
        ("/p/shot.png '/p/my shot.PNG' /p/notes.txt", '@/p/shot.png @"/p/my shot.PNG" /p/notes.txt '),
        ("/p/shot.png\n/p/notes.txt", "@/p/shot.png /p/notes.txt "),
        ("/p/a.png b.png", '@"/p/a.png b.png" '),
        ("/p/notes.txt", ""),
        ("/p/gone.png", ""),
        ("file://elsewhere/p/shot.png", ""),
        ("look at /p/shot.png", ""),
        ("'unclosed /p/shot.png", ""),
        ("shot.png", ""),
        ("file://[", ""),
        ("", ""),
        ("/p/shot.png" + " " * 9_000 + "x", ""),
    ],
)
def test_a_paste_of_nothing_but_paths(pasted: str, written: str) -> None:
    assert text_for_drop(pasted, is_file=is_file) == written


@pytest.mark.parametrize(
    ("prompt", "sent"),
    [
        ("/p/shot.png describe", "@/p/shot.png describe"),
        ("/p/shot.png", "@/p/shot.png"),
        (r"/p/my\ shot.PNG what is it?", '@"/p/my shot.PNG" what is it?'),
        ("'/p/my shot.PNG'\nwhat?", '@"/p/my shot.PNG"\nwhat?'),
        ("/p/notes.txt shorten it", "/p/notes.txt shorten it"),
        ("/p/gone.png describe", "/p/gone.png describe"),
        ("see /p/shot.png", "see /p/shot.png"),
        ("/p/shot.png, please", "/p/shot.png, please"),
        ("'quoted' words", "'quoted' words"),
        ("", ""),
    ],
)
def test_a_path_at_the_beginning_of_a_prompt(prompt: str, sent: str) -> None:
    assert with_image_mention(prompt, is_file=is_file) == sent


def test_a_name_with_spaces_is_quoted() -> None:
    assert [mention(name) for name in ("a.png", "a b.png", 'a "b".png')] == ["@a.png", '@"a b.png"', '@a "b".png']

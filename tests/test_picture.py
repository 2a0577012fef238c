"""The pictures of the screen are made by their scripts, show the screen as it is, and load nothing."""

from __future__ import annotations

import re
import subprocess
import sys
from itertools import groupby, product
from pathlib import Path

import pytest

import pictures
from picture import PICTURE, lines
from tiers import TIER

ROOT = Path(__file__).parents[1]
MARKS = "▌◐■✓✗?·"
WORDS = ("Release version 1.4.", "interrupted", "Effect unknown", "Go on.", "tagged and not uploaded", "CHANGES.md")


def structure(picture: str) -> list[str]:
    """Return the marks at the beginnings of the lines, from the top, one for each run of equal ones."""
    return [mark for mark, _ in groupby(line[0] for line in lines(picture) if line and line[0] in MARKS)]


def lacks(picture: str) -> list[str]:
    """Return the words of the story that the picture lacks."""
    shown = "\n".join(lines(picture))
    return [word for word in WORDS if word not in shown]


def test_the_picture_is_that_of_the_screen(tmp_path: Path) -> None:
    """When this fails because the screen has changed: `make picture`, and look at it."""
    subprocess.run([sys.executable, "bench/picture.py", str(tmp_path / "now.svg")], cwd=ROOT, check=True)
    now, stored = (path.read_text("utf-8") for path in (tmp_path / "now.svg", PICTURE))
    assert lacks(now) == lacks(stored) == []
    assert structure(now) == structure(stored)


def test_a_picture_of_another_screen_is_found() -> None:
    stored = PICTURE.read_text("utf-8")
    assert structure(stored) == ["▌", "◐", "■", "·", "▌", "✓", "?", "▌"]
    assert structure(stored.replace("◐", "✓")) != structure(stored)
    assert lacks(stored.replace("CHANGES.md", "NOTES.md")) == ["CHANGES.md"]


def test_the_picture_is_small_and_loads_nothing() -> None:
    stored = PICTURE.read_text("utf-8")
    assert len(stored) < 64_000
    assert set(re.findall(r"url\((.)", stored)) == {"#"}
    assert not re.search(r"@font-face|@import|href=|/tmp/|<script", stored)
    assert "](docs/screen.svg)" in (ROOT / "README.md").read_text("utf-8")


@pytest.mark.deep
@pytest.mark.skipif(TIER == "quick", reason="it takes long: in a deeper tier")
def test_the_pictures_at_three_sizes_are_those_of_the_screen(tmp_path: Path) -> None:
    """When this fails because the screen has changed: `make picture`, and look at them."""
    subprocess.run([sys.executable, "bench/pictures.py", str(tmp_path)], cwd=ROOT, check=True)
    created = {path.name: path.read_bytes() for path in tmp_path.iterdir()}
    stored = {path.name: path.read_bytes() for path in pictures.PICTURES.iterdir()}
    assert created.keys() == stored.keys()
    assert [name for name in created if created[name] != stored[name]] == []


def test_the_docs_show_every_picture_and_they_load_nothing() -> None:
    shown = (ROOT / "docs/how-to/screens.md").read_text("utf-8")
    for scene, (columns, rows), theme in product(pictures.SCENES, pictures.SIZES, pictures.THEMES):
        path = pictures.PICTURES / f"{scene}-{columns}x{rows}-{theme}.svg"
        picture = path.read_text("utf-8")
        assert f"](../pictures/{path.name})" in shown
        assert len(picture) < 80_000
        assert set(re.findall(r"url\((.)", picture)) == {"#"}
        assert not re.search(r"@font-face|@import|href=|/tmp/|<script", picture)

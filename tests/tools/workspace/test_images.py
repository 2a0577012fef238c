"""Images for a model: recognized by their bytes, refused with a reason where no model takes them."""

from __future__ import annotations

import struct
from pathlib import Path

import pytest

from holdfast.errors import ToolFailed
from holdfast.tools.workspace.images import LARGEST_IMAGE_FILE, image, is_image, named_images
from shown_images import png


def test_an_image_is_recognized_by_its_bytes() -> None:
    shown = image(png(20, 30), "a.jpeg")
    assert (shown.media_type, shown.width, shown.height, shown.data) == ("image/png", 20, 30, png(20, 30))
    assert shown.described == f"a.jpeg (PNG, 20 x 30 pixels, {len(png(20, 30))} bytes)"
    assert is_image(png()[:100])
    assert not is_image(b"%PDF-1.7")


@pytest.mark.parametrize(
    ("content", "why"),
    [
        (b"plain words, but called so", "is not a supported image"),
        (b"", "is not a supported image"),
        (png()[:8] + bytes(LARGEST_IMAGE_FILE), f"is too large: {LARGEST_IMAGE_FILE + 8} bytes"),
        (png(9000, 1), "is too large: 9000 x 1 pixels"),
    ],
)
def test_what_no_model_takes_is_refused_with_a_reason(content: bytes, why: str) -> None:
    with pytest.raises(ToolFailed, match=why):
        image(content, "a.png")


def jpeg(width: int, height: int, *before: bytes) -> bytes:
    """Return the head of a JPEG whose frame stands behind other segments."""
    frame = b"\xff\xc0" + struct.pack(">HBHH", 11, 8, height, width) + b"\x01\x01\x11\x00"
    segments = b"".join(b"\xff\xe1" + struct.pack(">H", len(each) + 2) + each for each in before)
    return b"\xff\xd8" + segments + frame + b"\xff\xd9"


def test_the_size_of_a_jpeg_is_found_behind_whatever_else_it_holds() -> None:
    shown = image(jpeg(300, 200, bytes(60_000), bytes(65_000), bytes(65_000)), "a.jpg")
    assert (shown.media_type, shown.width, shown.height) == ("image/jpeg", 300, 200)
    with pytest.raises(ToolFailed, match="9000 x 9000 pixels"):
        image(jpeg(9_000, 9_000, bytes(65_000)), "a.jpg")


def test_padding_before_a_marker_of_a_jpeg_is_skipped() -> None:
    content = jpeg(300, 200, bytes(10)).replace(b"\xff\xc0", b"\xff\xff\xff\xc0")
    assert image(content, "a.jpg").width == 300


def test_words_name_images(tmp_path: Path) -> None:
    (tmp_path / "shots").mkdir()
    (tmp_path / "shots" / "a.png").write_bytes(png())
    (tmp_path / "b.JPG").write_bytes(b"not one")
    (tmp_path / "c.webp").mkdir()
    text = "compare @shots/a.png, @shots/a.png and @b.JPG with @gone.png, @c.webp, me@shots/a.png and @main.py"
    images, wrong = named_images(text, tmp_path)
    assert [each.name for each in images] == ["shots/a.png"]
    assert [each.partition(" (")[0] for each in wrong] == ["File 'b.JPG' is not a supported image"]


def test_a_name_with_spaces_is_quoted(tmp_path: Path) -> None:
    (tmp_path / "my shot.png").write_bytes(png())
    images, wrong = named_images(
        f'@"my shot.png" and "@my shot.png" and @"{tmp_path}/my shot.png", @"gone a.png"', tmp_path
    )
    assert ([each.name for each in images], wrong) == (["my shot.png", f"{tmp_path}/my shot.png"], ())


def test_an_image_that_cannot_be_read_is_left_out(tmp_path: Path) -> None:
    (tmp_path / "loop.png").symlink_to("loop.png")
    (tmp_path / "dir").mkdir()
    assert named_images("@loop.png @" + "x" * 300 + ".png", tmp_path)[0] == ()

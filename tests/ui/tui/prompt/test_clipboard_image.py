"""The image in the clipboard: which program reads it, and the message where none can."""

from __future__ import annotations

from pathlib import Path

import pytest

from holdfast.errors import UsageError
from holdfast.ui.tui.prompt.clipboard_image import MOST_PASTED_IMAGES, clipboard_commands, clipboard_image
from shown_images import png


def test_the_desktop_at_hand_is_asked() -> None:
    def which(name: str) -> str | None:
        return f"/bin/{name}"

    both = clipboard_commands({"WAYLAND_DISPLAY": "wayland-0", "DISPLAY": ":0"}, which)
    assert [command[0] for command in both] == ["/bin/wl-paste", "/bin/xclip"]
    assert [command[0] for command in clipboard_commands({"DISPLAY": ":0"}, which)] == ["/bin/xclip"]


@pytest.mark.parametrize(
    ("environ", "message"),
    [
        ({}, "DISPLAY are not set. Drag the file"),
        ({"DISPLAY": ":0"}, "no xclip here. Install xclip."),
        ({"WAYLAND_DISPLAY": "w", "DISPLAY": ":0"}, "no wl-paste here. Install wl-clipboard or xclip."),
    ],
)
def test_what_is_missing_is_said(environ: dict[str, str], message: str) -> None:
    with pytest.raises(UsageError, match=message):
        clipboard_commands(environ, lambda _: None)


def test_the_latest_images_are_kept_and_what_is_no_image_is_not(tmp_path: Path) -> None:
    (tmp_path / "image").write_bytes(png())
    program = tmp_path / "wl-paste"
    program.write_text(f"#!/bin/sh\ncat {tmp_path}/image\n")
    program.chmod(0o755)
    environ = {"WAYLAND_DISPLAY": "w", "PATH": f"{tmp_path}:/bin:/usr/bin", "HOLDFAST_HOME": str(tmp_path / "home")}
    stored = [clipboard_image(environ) for _ in range(MOST_PASTED_IMAGES + 2)]
    assert sorted(stored[0].parent.iterdir()) == stored[2:]
    assert stored[-1].read_bytes() == png()
    (tmp_path / "image").write_text("only words")
    with pytest.raises(UsageError, match="holds no image"):
        clipboard_image(environ)
    program.write_text("#!/bin/sh\nexit 1\n")
    with pytest.raises(UsageError, match="holds no image"):
        clipboard_image(environ)

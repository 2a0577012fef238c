"""Which files a command names: those that its file and its user wrote, none that the output of a command has."""

from __future__ import annotations

from pathlib import Path

from holdfast.skills.named_files import with_named_files


def test_only_written_names_are_files(tmp_path: Path) -> None:
    root = tmp_path.resolve()
    (root / "a.md").write_text("A")
    (root / "b.md").write_text("B")
    text = with_named_files(root, "See @a.md\nand @b.md", written="See @a.md\noutput")
    assert text == 'See @a.md\nand @b.md\n\n<file path="a.md">\nA\n</file>'

"""Which editor Ctrl+G opens."""

from __future__ import annotations

from collections.abc import Mapping

import pytest

from holdfast.errors import UsageError
from holdfast.ui.settings.editor_choice import editor_command


@pytest.mark.parametrize(
    ("environ", "installed", "words"),
    [
        ({"VISUAL": "code --wait", "EDITOR": "nano"}, {"code", "nano"}, ["code", "--wait"]),
        ({"VISUAL": "code --wait", "EDITOR": "nano"}, {"nano"}, ["nano"]),
        ({"VISUAL": "", "EDITOR": "'/my dir/ed' -x"}, {"/my dir/ed"}, ["/my dir/ed", "-x"]),
        ({"EDITOR": "'unclosed"}, {"vim", "vi"}, ["vim"]),
        ({}, {"vi"}, ["vi"]),
    ],
)
def test_the_first_that_is_installed(environ: Mapping[str, str], installed: set[str], words: list[str]) -> None:
    assert editor_command(environ, lambda name: name if name in installed else None) == words


def test_all_that_were_tried_are_named() -> None:
    with pytest.raises(UsageError) as raised:
        editor_command({"EDITOR": "emacs -nw"}, lambda _: None)
    message = "No editor is installed: tried $VISUAL (not set), $EDITOR ('emacs -nw'), nano, vim, vi. "
    assert str(raised.value).startswith(message)

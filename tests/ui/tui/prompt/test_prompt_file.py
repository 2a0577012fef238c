"""The prompts of earlier sessions: theirs alone to read, bounded, and of one folder."""

from __future__ import annotations

import stat
from pathlib import Path

import pytest

from holdfast.errors import StateError
from holdfast.ui.tui.prompt.prompt_file import LONGEST_PROMPT, PromptFile

HERE, THERE = Path("/here"), Path("/there")


def test_each_folder_has_its_own(tmp_path: Path) -> None:
    path = tmp_path / "state" / "prompts.jsonl"
    assert PromptFile(path).read(HERE) == ((), 0)
    for cwd, text in ((HERE, "one"), (THERE, "two"), (HERE, "thr\nee \ud800 日本"), (HERE, "x" * (LONGEST_PROMPT + 1))):
        PromptFile(path).append(cwd, text)
    assert PromptFile(path).read(THERE) == (("two",), 0)
    assert PromptFile(path).read(HERE) == (("one", "thr\nee \ufffd 日本"), 0)
    assert stat.S_IMODE(path.stat().st_mode) == 0o600


def test_old_ones_go_and_damage_costs_a_line(tmp_path: Path) -> None:
    path = tmp_path / "prompts.jsonl"
    file = PromptFile(path, largest=1_000)
    for number in range(200):
        file.append(HERE, f"prompt {number}")
    prompts, damaged = file.read(HERE)
    assert damaged == 0
    assert prompts == tuple(f"prompt {number}" for number in range(200 - len(prompts), 200))
    assert sum(each.stat().st_size for each in tmp_path.iterdir()) <= 3_000
    with path.open("ab") as torn:
        torn.write(b'{"cwd": "/he\n\xff\n[]\n')
    file.append(HERE, "after")
    prompts, damaged = file.read(HERE)
    assert (prompts[-1], damaged) == ("after", 3)


def test_what_cannot_be_written_is_said(tmp_path: Path) -> None:
    (tmp_path / "prompts.jsonl").mkdir()
    with pytest.raises(StateError, match="Cannot write the prompt history"):
        PromptFile(tmp_path / "prompts.jsonl").append(HERE, "x")
    with pytest.raises(StateError, match="Cannot read the prompt history"):
        PromptFile(tmp_path / "prompts.jsonl").read(HERE)

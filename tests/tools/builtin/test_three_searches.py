"""The answer of `grep` is the same with ripgrep, with the system's grep, by a worker and in the agent itself."""

from __future__ import annotations

import asyncio
import os
import random
from pathlib import Path

import pytest

from hidden_programs import path_without
from holdfast.tools.builtin import search_programs
from holdfast.tools.builtin.grep import GrepTool
from holdfast.tools.builtin.line_search import SearchDeadline
from holdfast.tools.process.session_supervisors import Supervisors
from holdfast.tools.tool import ToolContext, ToolOutput, Visibility, Workspace
from skips import needs
from tiers import SEED, TIER
from tool_harness import called, planned, workspace

WORDS = [
    "needle",
    "Needle",
    "NEEDLE",
    "schön",
    "\u212aelvin",
    "kelvin",
    "a needle.",
    "f(x)",
    "x" * 3000,
    "",
    "  ",
    "1 + 1",
]
PATTERNS = [
    "needle",
    "^needle$",
    "(?i)kelvin",
    r"\bneedle\b",
    r"sch.n",
    r"f\(x\)",
    r"(?<=a )needle",
    r"^$",
    r"x{100,}$",
    r"needle|kelvin",
    r"[[:alpha:]]+\.",
    r"\d \+ \d",
    r"nee?dle",
    r"no such thing",
    r"(n)e{2}dle",
    ".",
]


def plant(space: Workspace) -> None:
    """Write files with every kind of line, name and content."""
    draw = random.Random(SEED)
    for at in range(60):
        folder = space.root / draw.choice(["", "a", "a/b", "ü", "with space"])
        folder.mkdir(parents=True, exist_ok=True)
        lines = [draw.choice(WORDS).encode("utf-8" if draw.random() < 0.9 else "utf-16") for _ in range(30)]
        ends = draw.choice([b"\n", b"\r\n"])
        mark = draw.choice([b"", b"\xef\xbb\xbf"])
        begin = draw.choice(["-", "f", "new\nline", "ä"])
        (folder / f"{begin}{at}").write_bytes(mark + ends.join(lines))
    (space.root / "binary").write_bytes(b"needle\0needle\n")
    (space.root / "invalid").write_bytes(b"sch\xf6n needle\xff\nneedle\n")
    (space.root / "-").write_text("needle\n")
    (space.root / ".env").write_text("needle\n")


def secret(path: str) -> Visibility:
    return "name" if path.endswith(".env") else "all"


def answers(space: Workspace, arguments: list[dict[str, object]]) -> list[ToolOutput]:
    async def run() -> list[ToolOutput]:
        supervisors = Supervisors(space.spool.parent, workspace=space.root)
        try:
            found: list[ToolOutput] = []
            for each in arguments:
                context = ToolContext(
                    call="c", stop=asyncio.Event(), emit=lambda _: None, may_read=secret, has_read_rules=False
                )
                found.append(await planned(GrepTool(space, supervisors.capture), **each).run(context))
            return found
        finally:
            await supervisors.close()

    return asyncio.run(run())


@needs("ripgrep")
@pytest.mark.deep
def test_every_way_gives_the_same_answer(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    space = workspace(tmp_path)
    plant(space)
    draw = random.Random(SEED)
    chosen = PATTERNS if TIER == "deep" else [*draw.sample(PATTERNS, 7), "needle"]
    arguments: list[dict[str, object]] = [
        {
            "pattern": pattern,
            "ignore_case": draw.random() < 0.3,
            "context": draw.choice([0, 0, 2]),
            "limit": draw.choice([3, 100, 1000]),
            "glob": draw.choice(["*", "*", "f*"]),
        }
        for pattern in chosen
    ]
    by_ripgrep = answers(space, arguments)
    monkeypatch.setenv("PATH", path_without(tmp_path / "grep", "rg"))
    by_grep = answers(space, arguments)
    monkeypatch.setenv("PATH", path_without(tmp_path / "none", "rg", "grep"))
    by_worker = answers(space, arguments)
    assert by_ripgrep == by_grep
    assert by_grep == by_worker
    for each, found in zip(arguments, by_worker, strict=True):
        assert ("1 file with secrets was not searched" in found.text) == (each["glob"] == "*")

    def alone(each: dict[str, object]) -> ToolOutput:
        context = ToolContext(call="c", stop=asyncio.Event(), emit=lambda _: None, may_read=secret)

        async def run() -> ToolOutput:
            return await planned(GrepTool(space, None), **each).run(context)

        return asyncio.run(run())

    assert by_worker == [alone(each) for each in arguments]


def test_what_there_was_no_time_for_is_counted(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    space = workspace(tmp_path)
    for at in range(5):
        (space.root / f"f{at}").write_text("needle\n")
    monkeypatch.setattr(search_programs, "OWN_SECONDS", 0.0)
    monkeypatch.setenv("PATH", path_without(tmp_path / "none", "rg", "grep"))
    (found,) = answers(space, [{"pattern": "needle"}])
    assert found.text == (
        "No lines match 'needle' in '.' (0 files).\n"
        "[5 files were not searched: it took too long. Narrow `path` or `glob`, or write a simpler pattern.]"
    )


def test_a_deadline_is_set_when_its_time_is_up_or_another_flag_is() -> None:
    assert SearchDeadline(0).is_set()
    assert not SearchDeadline(1000).is_set()
    assert SearchDeadline(1000, SearchDeadline(0)).is_set()


def test_more_names_than_one_answer_holds_are_asked_for_in_parts(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    space = workspace(tmp_path)
    for at in range(300):
        (space.root / f"{'n' * 100}{at:03}").write_text("a needle\nneedle\n" if at % 2 else "aneedle\n")
    monkeypatch.setattr("holdfast.tools.process.supervisor_client.CAPTURE_MOST", 4_000)
    monkeypatch.setattr(search_programs, "CAPTURE_MOST", 4_000)
    (found,) = answers(space, [{"pattern": r"(?:^|\s)needle", "limit": 1000}])
    assert found == called(GrepTool(space, None), pattern=r"(?:^|\s)needle", limit=1000)
    assert found.text.count("\n") == 299


@pytest.mark.parametrize("size", [500, 300_000, 1_200_000])
def test_the_match_in_a_long_line_is_shown(tmp_path: Path, size: int) -> None:
    space = workspace(tmp_path)
    half = "x" * (size // 2)
    (space.root / "a.js").write_text(f"{half}needle{half}\nlast needle\n")
    shown, last = called(GrepTool(space, None), pattern="needle", context=1).text.split("\n")
    assert "needle" in shown
    assert len(shown) < 600
    assert f"[... line cut, {size + 6 + (size >= 1_000_000)} bytes in total]" in shown
    assert last == "a.js:2:last needle"


def test_no_program_is_started_by_a_relative_path(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    space = workspace(tmp_path)
    (space.root / "a").write_text("needle\n")
    monkeypatch.setenv("PATH", f".{os.pathsep}")
    (found,) = answers(space, [{"pattern": "needle"}])
    assert found.text == "a:1:needle"

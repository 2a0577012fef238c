"""The slips of each family of models, run by the real tools: each works with a note, or fails with a reason."""

from __future__ import annotations

import asyncio
import re
from collections import Counter
from collections.abc import Generator
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import product
from pathlib import Path
from tempfile import TemporaryDirectory

import msgspec
import pytest
from trained_slips import MEANT, NATIVE, SLIPS

from holdfast.errors import ToolFailed
from holdfast.tools.arguments.tolerant_tool import missing_tool
from holdfast.tools.builtin.declarations import DECLARATIONS
from holdfast.tools.tool import ToolContext
from holdfast.tools.toolbox import LocalToolbox
from process_leaks import linux_only
from tiers import sampled

pytestmark = linux_only

FILES = {
    "a.py": 'def main():\n    x = 1\n    print("one")\n    return x\n\n\ndef other():\n    y = 2\n    return y\n',
    "src/b.py": "b = 1\n",
    "Makefile": "test:\n\t@echo tested\n",
}
FAMILIES = ("claude", "gpt", "gemini", "qwen, mistral, deepseek", "small ones")


@dataclass(frozen=True, slots=True)
class Slip:
    """A call as a model of a family writes it, and what it reads about it. `leaves` is in a.py afterwards."""

    family: str
    name: str
    tool: str
    arguments: str
    works: bool
    words: tuple[str, ...]
    leaves: str


def _slips() -> list[Slip]:
    found: list[Slip] = []
    for line in Path(__file__).with_name("model_slips.tsv").read_text(encoding="utf-8").splitlines():
        family, name, tool, arguments, outcome, words, *leaves = line.split("\t")
        works = {"ok": True, "refused": False}[outcome]
        shown = arguments.replace("⏎", "\n")
        found.append(
            Slip(family, name, tool, shown, works, tuple(words.split(" | ")), "".join(leaves).replace("⏎", "\n"))
        )
    return found


SLIPS_OF_MODELS = _slips()


@contextmanager
def place() -> Generator[tuple[Path, LocalToolbox]]:
    """Give a folder with FILES, and a toolbox for it that has every tool."""
    with TemporaryDirectory() as name:
        root = Path(name).resolve() / "work"
        for path, text in FILES.items():
            (root / path).parent.mkdir(parents=True, exist_ok=True)
            (root / path).write_text(text)
        (root.parent / "own" / "session").mkdir(parents=True)
        yield root, LocalToolbox(root, root.parent / "own" / "session", declared={each.name for each in DECLARATIONS})


def outcome(toolbox: LocalToolbox, tool: str, arguments: str) -> tuple[bool, str]:
    """Return whether a call was carried out, and what the model reads. Nothing is asked, nothing runs on."""

    async def run() -> tuple[bool, str]:
        try:
            found = toolbox.tools.get(tool)
            if found is None:
                return False, missing_tool(tool, toolbox.tools)
            plan = found.plan("call_1", arguments)
            context = ToolContext(call="call_1", stop=asyncio.Event(), emit=lambda _: None)
            output = await plan.run(context)
        except ToolFailed as failed:
            return False, str(failed)
        finally:
            await toolbox.close()
        return True, output.text

    return asyncio.run(run())


@pytest.mark.parametrize("slip", SLIPS_OF_MODELS, ids=lambda slip: f"{slip.family}: {slip.tool}: {slip.name}")
def test_a_slip_works_or_has_a_reason_to_act_on(slip: Slip) -> None:
    with place() as (root, toolbox):
        works, text = outcome(toolbox, slip.tool, slip.arguments.replace("{ROOT}", str(root)))
        changed = (root / "a.py").read_text()
    assert (works, [each for each in slip.words if each not in text]) == (slip.works, []), text
    assert slip.leaves in changed, text
    if not works:
        assert changed == FILES["a.py"], "what is refused changes nothing"


def test_each_family_has_its_ten_slips() -> None:
    assert set(Counter(slip.family for slip in SLIPS_OF_MODELS)) == set(FAMILIES)
    assert min(Counter(slip.family for slip in SLIPS_OF_MODELS).values()) >= 10
    assert len(SLIPS) >= 10


@pytest.mark.parametrize("tools", [("bash", "edit", "read"), ("apply_patch", "bash", "read")])
def test_a_model_that_edits_in_another_dialect_reads_which_one_there_is(tools: tuple[str, ...]) -> None:
    other = "apply_patch" if "edit" in tools else "Edit"
    here = "edit" if "edit" in tools else "apply_patch"
    assert missing_tool(other, tools) == (
        f"Tool {other!r} does not exist (expected one of {', '.join(tools)}). Nothing was done. "
        f"Change files with {here}."
    )


# --- every tool, every family, every slip ----------------------------------------------------------------------------

_VARIES = re.compile(r"\d+\.\d+ s|\n?\[(?:Tool|Arguments)[^\n]*\]")
EVERY = list(product(MEANT, NATIVE, SLIPS))


@pytest.mark.parametrize(("tool", "family", "slip"), sampled(EVERY, 60))
def test_a_call_with_a_slip_does_what_was_meant(tool: str, family: str, slip: str) -> None:
    name, arguments = NATIVE[family][tool]
    with place() as (root, toolbox):
        meant = _done(root, toolbox, tool, msgspec.json.encode(MEANT[tool]).decode())
    with place() as (root, toolbox):
        assert _done(root, toolbox, name, SLIPS[slip](arguments)) == meant


def _done(root: Path, toolbox: LocalToolbox, tool: str, arguments: str) -> tuple[bool, str, dict[str, bytes]]:
    """Return how a call ended, what the model reads but for the slip, and the files afterwards. Nothing is fetched."""
    if tool in toolbox.tools and toolbox.tools[tool].schema.name == "fetch":
        plan = toolbox.tools[tool].plan("call_1", arguments)
        return True, plan.title, {}
    works, text = outcome(toolbox, tool, arguments)
    files = {str(path.relative_to(root)): path.read_bytes() for path in root.rglob("*") if path.is_file()}
    return works, _VARIES.sub("", text), files

"""Twelve small tasks, each checked on the files and on the calls of the session, never on the model's words."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import msgspec

README = "# Fruit basket\n\nCounts fruit.\n"
BASKET = 'def count_fruit(basket):\n    """Return how many pieces there are."""\n    return len(basket)\n'
TEST = 'from basket import count_fruit\n\n\ndef test_count():\n    assert count_fruit({"apple": 2, "pear": 1}) == 3\n'


class Seen(msgspec.Struct, frozen=True):
    """What a task left: its folder, and the calls that were carried out, by tool, with their results."""

    folder: Path
    calls: tuple[tuple[str, str], ...]

    def text(self, name: str) -> str:
        """Return the text of a file, "" without one."""
        path = self.folder / name
        return path.read_text(encoding="utf-8", errors="replace") if path.is_file() else ""

    def called(self, *tools: str, gave: str = "") -> bool:
        """Return whether one of these tools was called, with this in its result."""
        return any(tool in tools and gave in result for tool, result in self.calls)


class Task(msgspec.Struct, frozen=True):
    """Prompts, each a turn, and whether the work was done; `killed` is whether the first turn is killed and resumed."""

    name: str
    prompts: tuple[str, ...]
    done: Callable[[Seen], bool]
    killed: bool = False
    window: int = 32_768


TASKS = (
    Task(
        "list", ("What files are here? Look with a tool.",), lambda seen: seen.called("glob", "bash", gave="basket.py")
    ),
    Task(
        "title", ("Read README.md and say its title.",), lambda seen: seen.called("read", "bash", gave="Fruit basket")
    ),
    Task("create", ('Create a file notes.txt with the text "hello".',), lambda seen: "hello" in seen.text("notes.txt")),
    Task("tests", ("Run the tests with: python3 -m pytest -q",), lambda seen: seen.called("bash", gave="assert")),
    Task(
        "fix",
        ("In basket.py replace `return len(basket)` by `return sum(basket.values())`.",),
        lambda seen: "return sum(basket.values())" in seen.text("basket.py"),
    ),
    Task(
        "rename",
        ("Rename the function count_fruit to total_fruit in basket.py.",),
        lambda seen: "def total_fruit(" in seen.text("basket.py"),
    ),
    Task(
        "search",
        ("Which files contain count_fruit? Use grep.",),
        lambda seen: seen.called("grep", "bash", gave="test_"),
    ),
    Task("status", ("Run `git status` and say what it prints.",), lambda seen: seen.called("bash", gave="git")),
    Task(
        "recall",
        ("Read README.md.", "Write the first line of what you read to title.txt."),
        lambda seen: "Fruit basket" in seen.text("title.txt"),
    ),
    Task(
        "resume",
        ("Run `sleep 60` in the shell, then read README.md.", "Read README.md now."),
        lambda seen: seen.called("read", "bash", gave="Fruit basket"),
        killed=True,
    ),
    Task(
        "small window",
        ("Read README.md and say its title.",),
        lambda seen: seen.called("read", "bash", gave="Fruit basket"),
        window=4_096,
    ),
    Task(
        "long file",
        ("Read long.txt and say what line 150 has.",),
        lambda seen: seen.called("read", "bash", gave="line 150"),
    ),
)


def prepare(folder: Path) -> None:
    """Write the files that each task begins with."""
    (folder / "README.md").write_text(README)
    (folder / "basket.py").write_text(BASKET)
    (folder / "test_basket.py").write_text(TEST)
    (folder / "long.txt").write_text("".join(f"line {number}\n" for number in range(1, 201)))

"""The screen at three sizes, light and dark, for docs/how-to/screens.md: `python bench/pictures.py [FOLDER]`.

The program runs for real, against a scripted provider, and is brought from scene to scene; at each one its terminal is
given every size and every theme. Every run writes the same bytes: the session is new, and nothing on it tells the time.
"""

from __future__ import annotations

import asyncio
import sys
from collections.abc import AsyncIterator
from pathlib import Path

from textual.pilot import Pilot

from holdfast.config.settings import Config
from holdfast.testing import Call, Say
from holdfast.ui.startup.arguments import Arguments
from holdfast.ui.startup.run_options import run_options
from holdfast.ui.tui.app import HoldfastApp
from picture import MODEL, lines, portable, shop, showing, shows_approval, until

PICTURES = Path(__file__).parents[1] / "docs/pictures"
SIZES = ((60, 20), (96, 32), (150, 44))
THEMES = {"dark": "holdfast-dark", "light": "holdfast-light"}
SCENES = ("welcome", "answer", "question", "diff")

MODULE = '''"""Prices."""


def total(prices):
    """Return the sum."""
    sum = 0
    for price in prices:
        sum += price
    return sum
'''
ANSWER = """\
`total` adds up every price. Two things to know:

| case | returns | as wanted |
|---|---|---|
| no prices | `0` | yes |
| a price of `None` | an error | **no** |

```python
sum(price for price in prices if price is not None)
```

1. The loop can be one line.
2. Its variable hides Python's own `sum`.
"""
SCRIPT = (
    (Say("I read the module first."), Call("read", {"path": "prices.py"})),
    (Say(ANSWER),),
    (
        Say("I write it in one line."),
        Call(
            "edit",
            {
                "path": "prices.py",
                "old": "    sum = 0\n    for price in prices:\n        sum += price\n    return sum\n",
                "new": "    return sum(price for price in prices if price is not None)\n",
            },
        ),
    ),
    (Say("`total` skips prices that are missing now."),),
)


async def scenes(screen: HoldfastApp, pilot: Pilot[int]) -> AsyncIterator[str]:
    """Bring the screen to each scene, and yield its name there."""
    await until(pilot, lambda: "Ask holdfast" in shown(screen))
    yield "welcome"
    await pilot.press(*"What does total do?", "enter")
    await until(pilot, lambda: "own sum" in shown(screen) and not screen.controller.status.doing)
    yield "answer"
    await pilot.press(*"Make it skip missing prices.", "enter")
    await until(pilot, lambda: shows_approval(screen, "prices.py"))
    yield "question"
    await pilot.press("y")
    await until(pilot, lambda: "missing now" in shown(screen) and not screen.controller.status.doing)
    await pilot.press(*"/diff", "enter")
    await until(pilot, lambda: "last turn" in shown(screen))
    yield "diff"


def shown(screen: HoldfastApp) -> str:
    """Return the text that the screen shows."""
    return "\n".join(lines(screen.export_screenshot()))


async def drawn_in(work: Path, environ: dict[str, str]) -> dict[str, str]:
    """Return each picture by its name."""
    options = run_options(Arguments(model=MODEL), environ, user_config=Config(), cwd=work)
    pictures: dict[str, str] = {}
    async with showing(options, SIZES[-1]) as (screen, pilot):
        async for scene in scenes(screen, pilot):
            for columns, rows in SIZES:
                await pilot.resize_terminal(columns, rows)
                for name, theme in THEMES.items():
                    screen.theme = theme
                    await until(pilot, lambda: True)
                    pictures[f"{scene}-{columns}x{rows}-{name}.svg"] = portable(
                        screen.export_screenshot(title="holdfast")
                    )
    return pictures


def drawn() -> dict[str, str]:
    """Return the pictures by their names: SVG, which loads nothing."""
    with shop(SCRIPT, "prices.py", MODULE) as (work, environ):
        return asyncio.run(drawn_in(work, environ))


def main() -> None:
    """Write the pictures."""
    folder = Path(*sys.argv[1:] or [PICTURES])
    folder.mkdir(parents=True, exist_ok=True)
    for name, picture in drawn().items():
        (folder / name).write_text(picture, "utf-8")


if __name__ == "__main__":
    main()

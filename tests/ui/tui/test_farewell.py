"""What stays in the terminal: never more than a screen, never anything that the terminal acts on."""

from __future__ import annotations

import pytest
from rich.cells import cell_len

from holdfast.ui.tui.farewell import Farewell, farewell_lines

ID = "20261122-1556-dj3p"


def lines(answer: str, *, title: str = "Fix it", cost: float | None = 0.194, columns: int = 80, rows: int = 24) -> str:
    farewell = Farewell(session=ID, title=title, cost=cost, answer=answer)
    return "\n".join(farewell_lines(farewell, columns=columns, rows=rows))


def test_a_short_answer_is_whole() -> None:
    assert lines("Done.\n\n- a\n- b\n") == f"Done.\n\n- a\n- b\n\nFix it · $0.19\nholdfast -r {ID}"
    assert lines("", cost=None) == f"Fix it\nholdfast -r {ID}"
    assert lines("", title="", cost=0.0) == f"holdfast -r {ID}"


@pytest.mark.parametrize("answer", ["x\n" * 500, "long " * 9_000, "日本語" * 300 + "\n" + "é\n" * 90])
@pytest.mark.parametrize(("columns", "rows"), [(80, 24), (20, 8), (200, 60)])
def test_a_long_one_is_cut_to_the_screen(answer: str, columns: int, rows: int) -> None:
    shown = lines(answer, columns=columns, rows=rows).splitlines()
    assert sum(max(1, -(-cell_len(line) // columns)) for line in shown[:-2]) <= rows
    assert any("more line" in line for line in shown)


def test_nothing_in_it_is_acted_on() -> None:
    shown = lines("\x1b[31mred", title="\x1b]0;owned\x07")
    assert "red" in shown
    assert "\x1b" not in shown

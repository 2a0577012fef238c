"""The pages of `/context` and `/cost`: where the tokens and the money of a session go. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

from holdfast.session.conversation.context_breakdown import ContextBreakdown
from holdfast.session.journal.parts import Usage
from holdfast.text import literal
from holdfast.ui.tui.widgets.status_line import PLAIN, Status, share, tokens
from holdfast.ui.view.columns import single_line
from holdfast.ui.view.session_costs import Spending

_BAR = 20
_ALIKE = 0.1
"""The share by which a count and an estimate may differ before the page says so."""

_TURNS = 30
"""Newest turns that `/cost` lists."""


def context_page(
    status: Status, breakdown: ContextBreakdown, *, colours: Mapping[str, str] = PLAIN, compact_at: float = 0.0
) -> RenderableType:
    """Return how full the window is, what fills it, and the largest results. `compact_at` is a share, 0: never."""
    shown: list[RenderableType] = [Text("Context\n", "bold")]
    if not status.context:
        return Group(
            *shown, Text("  Nothing yet: the next request sends the system prompt, the tools and your prompt.")
        )
    of = f" of {tokens(status.window)} ({share(status.context, status.window)})" if status.window else ""
    shown.append(Text(f"  {tokens(status.context)} tokens{of}, {literal(status.model)}"))
    if abs(breakdown.total - status.context) > status.context * _ALIKE:
        shown.append(Text(f"  by the provider's count; about {tokens(breakdown.total)} by the estimate below", "dim"))
    if status.window:
        free = max(0, int(status.window * (compact_at or 1)) - status.context)
        until = "before holdfast summarizes older messages" if compact_at else "free"
        shown.append(Text(f"  {tokens(free)} {until}\n", "dim"))
    else:
        shown.append(Text("  The window of this model is not known: set context_window in its config.\n", "dim"))
    shown.append(_kinds(breakdown, colours))
    if breakdown.largest:
        shown.append(Text("\nLargest results\n", "bold"))
        rows = [(tokens(each.tokens), f"{each.name} {_short(each.arguments)}") for each in breakdown.largest]
        shown.append(_rows(rows))
    shown.append(Text("\nEstimated, at 4 bytes a token. /compact summarizes, /rewind goes back.", "dim"))
    return Group(*shown)


def cost_page(spending: Spending) -> RenderableType:
    """Return the usage of a session in all, by model and by turn."""
    total = spending.total()
    shown: list[RenderableType] = [
        Text("Token usage and cost of this session\n", "bold"),
        _table([("in all", "", total, sum(number for number, _ in spending.by_model().values()))]),
        Text("\nBy model\n", "bold"),
        _table((model or "unknown", "", usage, number) for model, (number, usage) in spending.by_model().items()),
    ]
    turns = list(spending.by_turn().items())
    left = f", the last {_TURNS} of {len(turns)}" if len(turns) > _TURNS else ""
    shown.append(Text(f"\nBy turn{left}\n", "bold"))
    shown.append(
        _table(
            (f"{turn}", spending.prompts.get(turn, "before the first prompt"), usage, number)
            for turn, (number, usage) in turns[-_TURNS:]
        )
    )
    if not spending.all:
        return Group(shown[0], Text("  Nothing yet."))
    if total.cost is None:
        shown.append(Text("\nunknown: no price is known for a model; set it in [models] of the config.", "dim"))
    return Group(*shown)


def usage_text(status: Status) -> str:
    """Return the tokens and the cost of a session, and how much of the window it fills."""
    usage = status.usage
    window = f" of {tokens(status.window)}" if status.window else ""
    parts = (
        f"{tokens(usage.input_tokens)} in, {tokens(usage.output_tokens)} out",
        f"context {tokens(status.context)}{window}",
        f"cost {cost_text(usage)}",
    )
    return " · ".join(parts)


def cost_text(usage: Usage) -> str:
    """Return a cost in US dollars."""
    return "unknown" if usage.cost is None else f"${float(usage.cost):.4f}"


def _kinds(breakdown: ContextBreakdown, colours: Mapping[str, str]) -> Table:
    table = Table.grid(padding=(0, 2))
    for _ in range(2):
        table.add_column(no_wrap=True)
    table.add_column(justify="right", no_wrap=True)
    table.add_column(justify="right", no_wrap=True)
    for kind, count in sorted(breakdown.kinds, key=lambda each: -each[1]):
        filled = round(_BAR * count / breakdown.total)
        bar = Text("━" * filled, colours.get("primary", "")).append("─" * (_BAR - filled), "dim")
        table.add_row(Text(f"  {literal(kind)}"), bar, Text(tokens(count)), Text(share(count, breakdown.total), "dim"))
    return table


def _table(rows: Iterable[tuple[str, str, Usage, int]]) -> Table:
    table = Table.grid(padding=(0, 2))
    table.add_column(no_wrap=True)
    heads = ("", "requests", "input", "cached", "output", "cost", "")
    for _ in heads[1:-1]:
        table.add_column(justify="right", no_wrap=True)
    table.add_column(no_wrap=True, overflow="ellipsis")
    table.add_row(*(Text(head, "dim") for head in heads))
    for name, note, usage, number in rows:
        cells = (
            Text(f"  {literal(name)}"),
            Text(f"{number}"),
            Text(tokens(usage.input_tokens)),
            Text(tokens(usage.cache_read_tokens), "dim"),
            Text(tokens(usage.output_tokens)),
            Text(cost_text(usage)),
            Text(_short(note), "dim", no_wrap=True, overflow="ellipsis"),
        )
        table.add_row(*cells)
    return table


def _rows(rows: Sequence[tuple[str, str]]) -> Table:
    table = Table.grid(padding=(0, 2))
    widest = max(len(first) for first, _ in rows) + 2  # else a long second column takes its room
    table.add_column(justify="right", no_wrap=True, min_width=widest)
    table.add_column(no_wrap=True, overflow="ellipsis")
    for first, second in rows:
        table.add_row(Text(f"  {first}"), Text(second, no_wrap=True, overflow="ellipsis"))
    return table


def _short(text: str) -> str:
    return single_line(literal(text))[:200]

"""The keys of the main screen, and the actions of the app that they call."""

from __future__ import annotations

from textual.binding import Binding

MAIN_KEYS: tuple[Binding, ...] = (
    Binding("escape", "interrupt", "Stop", show=False, priority=True, id="interrupt"),
    Binding("ctrl+c", "give_up", "Interrupt, clear, quit", show=False, priority=True, id="give-up"),
    Binding("ctrl+d", "leave_if_empty", "Quit", show=False, priority=True, id="quit-if-empty"),
    Binding("ctrl+q", "quit", "Quit", show=False, id="quit"),
    Binding("ctrl+b", "background", "Move to the background", show=False, priority=True, id="background"),
    Binding("shift+tab", "mode", "Permission mode", show=False, priority=True, id="mode"),
    Binding("ctrl+l", "redraw", "Redraw", show=False, id="redraw"),
    Binding("ctrl+z", "suspend_process", "Suspend", show=False, priority=True, id="suspend"),
    Binding("ctrl+g", "edit", "Open the editor", show=False, priority=True, id="editor"),
    Binding("ctrl+r", "history", "Prompt history", show=False, priority=True, id="history"),
    Binding("ctrl+t", "todo", "To-do list", show=False, priority=True, id="todo"),
    Binding("ctrl+o", "expand", "Expand", show=False, id="expand"),
    Binding("ctrl+end", "to_end", "To the end", show=False, priority=True, id="to-end"),
    Binding("pageup", "page(-1)", "Page up", show=False, priority=True, id="page-up"),
    Binding("pagedown", "page(1)", "Page down", show=False, priority=True, id="page-down"),
)

BENEATH = frozenset({"interrupt", "leave_if_empty", "mode", "edit", "history", "todo", "expand", "page", "to_end"})
"""Keys of the main screen; an open dialog receives them first."""

"""`/diff`: the changes of the turn, of the session, or of the working tree, on the full screen, file by file."""

from __future__ import annotations

from collections.abc import Callable
from typing import ClassVar, Literal

from rich.text import Text
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Vertical
from textual.widgets import Static

from holdfast.errors import HoldfastError
from holdfast.system.threads import in_daemon
from holdfast.text import literal
from holdfast.ui.tui.pages.file_diffs import ShownDiff
from holdfast.ui.tui.render.plain_text import Text as Lines
from holdfast.ui.tui.widgets.detail_view import DetailView
from holdfast.ui.tui.widgets.pickers import OverlayScreen

Scope = Literal["turn", "session", "tree"]
SCOPES: dict[Scope, str] = {"turn": "last turn", "session": "session", "tree": "working tree"}
"""The scopes, by their names in `/diff NAME`, with their labels."""

_FOOT = "← → file · Tab turn, session, tree · ↑ ↓ scroll · Enter, Ctrl+O unfold · Esc close"
_AROUND = 6
"""Maximum lines of the heading and the key hints."""
_EMPTY: dict[Scope, str] = {
    "turn": "No file was edited in the last turn. What commands changed is in the working tree: Tab.",
    "session": "No file was edited in this session. What commands changed is in the working tree: Tab.",
    "tree": "Nothing differs from the last commit.",
}


def heading(scope: Scope, files: tuple[ShownDiff, ...], at: int) -> Text:
    """Return the lines above a file: the scopes, the file, and how much changed."""
    text = Text("Diff  ", "bold")
    for number, (name, label) in enumerate(SCOPES.items()):
        text.append(" · " * bool(number), "dim").append(label, "bold reverse" if name == scope else "dim")
    if files:
        file = files[at]
        text.append(f"\n{at + 1}/{len(files)}  ", "dim").append(literal(file.path), "bold")
        text.append(f"  +{file.added} -{file.removed}", "dim")
    return text


class DiffScreen(OverlayScreen[None]):
    """The screen. `load` returns the files of a scope; it is called on another thread."""

    CSS = """
    DiffScreen { background: $background; }
    DiffScreen Vertical { padding: 0 1; }
    DiffScreen #heading { height: auto; margin-bottom: 1; }
    DiffScreen DetailView { background: $background; }
    DiffScreen #foot { height: auto; margin-top: 1; color: $foreground 60%; }
    """
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("escape,q,ctrl+c", "dismiss(None)", "Leave", show=False, priority=True),
        Binding("right,n", "file(1)", "Next file", show=False, priority=True),
        Binding("left,p", "file(-1)", "Previous file", show=False, priority=True),
        Binding("tab", "scope(1)", "Next scope", show=False, priority=True),
        Binding("shift+tab", "scope(-1)", "Previous scope", show=False, priority=True),
        Binding("up", "scroll(-1)", "Up", show=False, priority=True),
        Binding("down", "scroll(1)", "Down", show=False, priority=True),
        Binding("enter", "open", "Open a fold", show=False, priority=True),
        Binding("ctrl+o", "fold", "Open or close folds", show=False, priority=True),
        Binding("pageup", "page(-1)", "Page up", show=False, priority=True),
        Binding("pagedown,space", "page(1)", "Page down", show=False, priority=True),
    ]

    def __init__(self, scope: Scope, load: Callable[[Scope], tuple[ShownDiff, ...]]) -> None:
        super().__init__()
        self._scope: Scope = scope
        self._load = load
        self._files: tuple[ShownDiff, ...] = ()
        self._at = 0

    def compose(self) -> ComposeResult:
        """Yield heading, file and key hints."""
        with Vertical():
            yield Static(id="heading", markup=False)
            yield DetailView(id="body")
            yield Static(Text(_FOOT), id="foot")

    def on_mount(self) -> None:
        """Show the first file."""
        super().on_mount()
        self.query_one(DetailView).focus()
        self._read()

    def on_resize(self) -> None:
        """Leave room for the heading and the key hints."""
        self.query_one(DetailView).styles.max_height = max(1, self.size.height - _AROUND)

    def action_file(self, by: int) -> None:
        """Show another file."""
        if self._files:
            self._at = (self._at + by) % len(self._files)
            self._show()

    def action_scope(self, by: int) -> None:
        """Show the changes of another scope."""
        names = list(SCOPES)
        self._scope = names[(names.index(self._scope) + by) % len(names)]
        self._read()

    def action_scroll(self, by: int) -> None:
        """Scroll by a line."""
        self.query_one(DetailView).scroll_lines(by)

    def action_page(self, by: int) -> None:
        """Scroll by a page."""
        self.query_one(DetailView).scroll_page(by)

    def action_open(self) -> None:
        """Open the first fold in view."""
        self.query_one(DetailView).open_next()

    def action_fold(self) -> None:
        """Open all folds, or close them."""
        self.query_one(DetailView).toggle_folds()

    def _read(self) -> None:
        async def read(scope: Scope) -> None:
            try:
                files, message = await in_daemon(lambda: self._load(scope)), ""
            except HoldfastError as error:
                files, message = (), str(error)
            if scope == self._scope and self.is_attached:  # else another was chosen in the meantime
                self._files, self._at = files, 0
                self._show(message)

        self.run_worker(read(self._scope))

    def _show(self, message: str = "") -> None:
        self.query_one("#heading", Static).update(heading(self._scope, self._files, self._at))
        empty = [Lines((literal(message or _EMPTY[self._scope]),), "text")]
        self.query_one(DetailView).show(self._files[self._at].fragments() if self._files else empty)

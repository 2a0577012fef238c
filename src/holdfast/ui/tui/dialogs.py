"""What the screen shows outside the transcript: notices, pages to read, and lists to choose from."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TypeVar

from rich.console import RenderableType
from rich.text import Text
from textual.app import App
from textual.widgets import Static

from holdfast.errors import HoldfastError
from holdfast.system.threads import in_daemon
from holdfast.text import literal
from holdfast.ui.advice import SCREEN, with_advice
from holdfast.ui.tui.widgets.pickers import Choice, ContentSearch, Picker

T = TypeVar("T")


class Dialogs:
    """The notice above the composer, and the pages and lists that open on top of the screen."""

    def __init__(self, app: App[int]) -> None:
        self.notice = Static(id="notice", markup=False)
        """The widget of the notice."""
        self.message = ""
        """The text of the notice, "" if there is none."""
        self._app = app

    def notify(self, message: str, *, also: bool = False) -> None:
        """Show a notice until the next prompt, page, list or Esc, in place of the current one unless `also`.

        "" clears it.
        """
        before = self.message if also and message not in self.message else ""
        self.message = f"{before}\n{message}" if before else message
        self.notice.update(Text(literal(self.message)))
        self.notice.display = bool(self.message)

    def notify_for(self, seconds: float, message: str) -> None:
        """Show a notice for `seconds`, unless another one replaces it."""
        self.notify(message)

        def over() -> None:
            if self.message == message:
                self.notify("")

        self._app.set_timer(seconds, over)

    def attempt(self, action: Callable[[], None]) -> bool:
        """Call `action`. Return whether it succeeded; if not, show the error."""
        try:
            action()
        except HoldfastError as error:
            self.notify(with_advice(error, SCREEN))
            return False
        return True

    def in_background(self, work: Callable[[], T], then: Callable[[T], None]) -> None:
        """Run `work` in the background, then call `then` with its result; show an error as a notice."""

        async def wait() -> None:
            try:
                result = await in_daemon(work)
            except HoldfastError as error:
                self.notify(with_advice(error, SCREEN))
            else:
                self.attempt(lambda: then(result))

        self._app.run_worker(wait())

    def read(self, *pages: RenderableType) -> None:
        """Open a page to read; Tab turns to the next one."""
        from holdfast.ui.tui.widgets.text_page import TextPage

        self.notify("")
        self._app.push_screen(TextPage(*pages))

    def pick(  # noqa: PLR0913 - what the keys of a list do
        self,
        title: str,
        choices: Sequence[Choice],
        then: Callable[[str], None],
        *,
        on_cancel: Callable[[], None] = lambda: None,
        on_highlight: Callable[[str], None] | None = None,
        remove: tuple[str, Callable[[str], None]] | None = None,
        toggle: tuple[str, Callable[[str], None]] | None = None,
        keep: tuple[str, Callable[[str], None]] | None = None,
        preview: Callable[[str], str] | None = None,
        search: ContentSearch | None = None,
        choice_for: Callable[[str], Choice | None] = lambda _: None,
    ) -> Picker:
        """Let the user choose, then call `then`, or `on_cancel`; a previewed theme is undone. Return the list.

        `remove` (Ctrl+X), `toggle` (Ctrl+F) and `keep` (Ctrl+S) are each a short description and a function; that of
        `keep` is called instead of `then`. `on_highlight` is called with each highlighted value. `preview` returns the
        text below the list for a value, `search` the values that contain the words. If nothing matches the typed text,
        `choice_for` may return a choice for it.
        """
        self.notify("")
        before = self._app.theme

        def chosen(value: str | None) -> None:
            self._app.theme = before
            if value is None:
                on_cancel()
            else:
                use = keep[1] if picker.keep_requested and keep is not None else then
                self.attempt(lambda: use(value))

        removal = None
        if remove is not None:
            description, remove_value = remove

            def removed(value: str) -> bool:
                return self.attempt(lambda: remove_value(value))

            removal = description, removed
        marking = None
        if toggle is not None:
            description, mark = toggle

            def marked(value: str) -> None:
                self.attempt(lambda: mark(value))

            marking = description, marked
        picker = Picker(
            title,
            choices,
            on_highlight=on_highlight,
            remove=removal,
            toggle=marking,
            keep="" if keep is None else keep[0],
            preview=preview,
            search=search,
            choice_for=choice_for,
        )
        self._app.push_screen(picker, chosen)
        return picker

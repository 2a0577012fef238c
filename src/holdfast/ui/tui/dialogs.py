"""What the screen says and asks outside the transcript: notices, pages to read, and lists to choose from."""

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
    """The notice above the composer, and what opens on top of the screen."""

    def __init__(self, app: App[int]) -> None:
        self.notice = Static(id="notice", markup=False)
        """The widget of the notice."""
        self.said = ""
        """The notice, "" if there is none."""
        self._app = app

    def say(self, message: str, *, also: bool = False) -> None:
        """Show a notice until the next prompt, page, list or Esc, in place of the current one unless `also`.

        "" clears it.
        """
        before = self.said if also and message not in self.said else ""
        self.said = f"{before}\n{message}" if before else message
        self.notice.update(Text(literal(self.said)))
        self.notice.display = bool(self.said)

    def say_for(self, seconds: float, message: str) -> None:
        """Show a notice for so many seconds, unless another one replaces it."""
        self.say(message)

        def over() -> None:
            if self.said == message:
                self.say("")

        self._app.set_timer(seconds, over)

    def attempt(self, what: Callable[[], None]) -> bool:
        """Call `what`. Return whether it succeeded; if not, show the error."""
        try:
            what()
        except HoldfastError as error:
            self.say(with_advice(error, SCREEN))
            return False
        return True

    def in_background(self, work: Callable[[], T], then: Callable[[T], None]) -> None:
        """Run `work` in the background, then call `then` with its result; show an error as a notice."""

        async def wait() -> None:
            try:
                done = await in_daemon(work)
            except HoldfastError as error:
                self.say(with_advice(error, SCREEN))
            else:
                self.attempt(lambda: then(done))

        self._app.run_worker(wait())

    def read(self, *pages: RenderableType) -> None:
        """Open a page to read; Tab turns to the next one."""
        from holdfast.ui.tui.widgets.text_page import TextPage  # noqa: PLC0415 - few are read

        self.say("")
        self._app.push_screen(TextPage(*pages))

    def pick(  # noqa: PLR0913 - what the keys of a list do
        self,
        title: str,
        choices: Sequence[Choice],
        then: Callable[[str], None],
        *,
        left: Callable[[], None] = lambda: None,
        shown: Callable[[str], None] | None = None,
        remove: tuple[str, Callable[[str], None]] | None = None,
        toggle: tuple[str, Callable[[str], None]] | None = None,
        keep: tuple[str, Callable[[str], None]] | None = None,
        preview: Callable[[str], str] | None = None,
        search: ContentSearch | None = None,
        typed: Callable[[str], Choice | None] = lambda _: None,
    ) -> Picker:
        """Let the user choose, then call `then`, or `left` on cancel; a previewed theme is undone. Return the list.

        `remove` is what Ctrl+X does to a choice, `toggle` what Ctrl+F does: a short description, and the function.
        `keep` is called instead of `then` for a choice by Ctrl+S.
        `preview` returns what stands below the list for a choice, `search` which choices have words in them, and
        `typed` the choice that what was written stands for if nothing matches.
        """
        self.say("")
        before = self._app.theme

        def chosen(value: str | None) -> None:
            self._app.theme = before
            if value is None:
                left()
            else:
                does = keep[1] if picker.kept and keep is not None else then
                self.attempt(lambda: does(value))

        also = None
        if remove is not None:
            does, what = remove

            def removed(value: str) -> bool:
                return self.attempt(lambda: what(value))

            also = does, removed
        marks = None
        if toggle is not None:
            described, mark = toggle

            def marked(value: str) -> None:
                self.attempt(lambda: mark(value))

            marks = described, marked
        picker = Picker(
            title,
            choices,
            shown=shown,
            remove=also,
            toggle=marks,
            keep="" if keep is None else keep[0],
            preview=preview,
            search=search,
            typed=typed,
        )
        self._app.push_screen(picker, chosen)
        return picker

"""Lists to choose from: the sessions, those in the trash, and the branches of the open one."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence

from holdfast.errors import UsageError
from holdfast.session.catalog import SessionSummary
from holdfast.session.conversation.branches import Branch, branches
from holdfast.session.session_search import search_sessions
from holdfast.session.storage.sqlite_store import read_copy
from holdfast.ui.startup.session_choice import lost_sessions
from holdfast.ui.tui.choices import CommandTarget
from holdfast.ui.tui.sessions.session_preview import session_preview
from holdfast.ui.tui.widgets.pickers import Choice
from holdfast.ui.tui.widgets.welcome import Welcome
from holdfast.ui.view.columns import age, byte_count, home, single_line

_TRASH = "/trash"  # no ID has a slash


def pick_session(target: CommandTarget) -> None:
    """Let the user choose another session to resume, by its title or its content, or restore one from the trash."""
    catalog = target.controller.catalog
    target.dialogs.in_background(
        lambda: (catalog.all(), catalog.trashed()), lambda found: _offer_sessions(*found, target)
    )


def _offer_sessions(found: Sequence[SessionSummary], trashed: Sequence[SessionSummary], target: CommandTarget) -> None:
    controller = target.controller
    summaries = {each.id: each for each in found if each.id != controller.session}
    here = str(controller.cwd)
    lost = {each.id for each in lost_sessions(summaries.values(), controller.cwd)}
    of_here = {each.id for each in summaries.values() if each.cwd == here} | lost
    ordered = sorted(summaries.values(), key=lambda each: each.id not in of_here)  # sessions of this folder first
    choices = [_choice(each, lost=each.id in lost) for each in ordered]
    if trashed:
        choices.append(Choice(_TRASH, "Trash", f"{len(trashed)} deleted: Enter lists them"))
    if not choices:
        raise UsageError("No other sessions yet. Type a prompt to start one.")

    def search(words: str, is_current: Callable[[], bool]) -> Mapping[str, str]:
        excerpts: dict[str, str] = {}
        for each in search_sessions(controller.catalog, words, ordered):
            if not is_current():
                break
            excerpts[each.summary.id] = each.excerpt
        return excerpts

    def preview(value: str) -> str:
        return "" if value == _TRASH else session_preview(summaries[value], controller.catalog.folder(value))

    def chosen(value: str) -> None:
        if value == _TRASH:
            _offer_trash(trashed, target)
        elif value in lost:
            from holdfast.agent.moved_session import moved_summary

            controller.agent.resume(moved_summary(summaries[value], controller.cwd, "picker"))
        else:
            controller.agent.resume(summaries[value])

    def trash(value: str) -> None:
        if value == _TRASH:
            raise UsageError("The trash stays. To free its space, delete the folder `trash` next to the sessions.")
        controller.catalog.trash(value)
        _refresh_welcome(target)
        target.dialogs.notify(f"Moved session {value} to trash. To restore it: /resume, then Trash.")

    target.dialogs.pick("Resume", choices, chosen, remove=("moves it to trash", trash), preview=preview, search=search)


def _offer_trash(trashed: Sequence[SessionSummary], target: CommandTarget) -> None:
    catalog = target.controller.catalog

    def restore(session: str) -> None:
        restored = catalog.restore(session)
        _refresh_welcome(target)
        target.dialogs.notify(f'Restored session {restored.id}, "{single_line(restored.title)}". /resume {restored.id}')

    target.dialogs.pick("Trash: Enter restores", [_choice(each) for each in trashed], restore)


def _refresh_welcome(target: CommandTarget) -> None:
    """Update the last session in the welcome text."""
    catalog, cwd = target.controller.catalog, target.controller.cwd
    stack = target.app.screen_stack  # pyright: ignore[reportUnknownMemberType] - an app of any result
    welcome = stack[0].query_one(Welcome)
    target.dialogs.in_background(lambda: catalog.latest(cwd), welcome.learn_last)


def _choice(summary: SessionSummary, *, lost: bool = False) -> Choice:
    details = (
        age(time.time() - summary.modified),
        f"Enter moves it here · was in {home(summary.cwd)}" if lost else home(summary.cwd),
        byte_count(summary.bytes),
        *(["damaged"] * bool(summary.damage)),
    )
    return Choice(summary.id, summary.title or "(no prompt yet)", " · ".join(details))


def pick_branch(target: CommandTarget) -> None:
    """Let the user choose a branch that a rewind left behind; it continues in a copy, the session stays as it is."""
    controller = target.controller
    if not controller.session:
        raise UsageError("No session is open. Type a prompt to start one, or /resume one.")
    summary = controller.catalog.find(controller.session)
    folder = controller.catalog.folder(summary.id)
    target.dialogs.in_background(
        lambda: branches(read_copy(folder).records), lambda found: _offer_branches(summary, found, target)
    )


def _offer_branches(summary: SessionSummary, found: Sequence[Branch], target: CommandTarget) -> None:
    if not found:
        raise UsageError("This session has one branch: it was never rewound. /rewind makes another.")
    by_end = {str(each.until): each for each in found}
    choices: list[Choice] = []
    for end, each in reversed(by_end.items()):
        left = "present" if each.left is None else f"left {age(time.time() - each.left)}"
        turns = f"{each.turns} turn{'s' * (each.turns != 1)}"
        title = single_line(each.prompt) or "(no prompt yet)"
        choices.append(Choice(end, title, f"{left} · {turns}", now=each.left is None))

    def preview(end: str) -> str:
        return single_line(by_end[end].answer[-400:]) or "(no answer)"

    def chosen(end: str) -> None:
        if by_end[end].left is None:
            target.dialogs.notify("This is the present branch.")
        else:
            target.controller.continue_in_copy(summary, until=int(end))
            target.dialogs.notify("This branch continues in a copy. Files are as they are now; the session stays.")

    target.dialogs.pick("Branches: Enter continues one in a copy", choices, chosen, preview=preview)

"""The lists that the user chooses from: turns, prompts, models, and what to do about a session in use."""

from __future__ import annotations

import msgspec
from textual.app import App

from holdfast.errors import UsageError
from holdfast.host.commands import Rewind
from holdfast.host.events import InUse
from holdfast.text import literal
from holdfast.ui.startup.run_options import DEMO
from holdfast.ui.tui.dialogs import Dialogs
from holdfast.ui.tui.session_controller import NO_MODEL, SessionController
from holdfast.ui.tui.widgets.composer import Composer
from holdfast.ui.tui.widgets.pickers import Choice
from holdfast.ui.tui.widgets.transcript import Transcript

DEFAULT_EFFORT = "default"
"""The name of the effort that is not sent: the provider decides."""

SET_UP = -1
"""The exit code with which the screen asks for the setup, and to be shown again after it."""


class CommandTarget(msgspec.Struct, frozen=True):
    """What the commands act on: the controller of the session, and the parts of the screen."""

    app: App[int]
    controller: SessionController
    dialogs: Dialogs
    transcript: Transcript
    composer: Composer


def offer_session_in_use(in_use: InUse, target: CommandTarget) -> None:
    """Ask the user what to do about a session that another process holds."""
    choices = [
        Choice("fork", "Continue in a copy", "the other process keeps the original"),
        Choice("read", "Read it", "read-only, as it is now"),
    ]

    def chosen(what: str) -> None:
        if what == "fork":
            target.controller.continue_in_copy(in_use.session, in_use.model)
        else:
            target.controller.agent.read(in_use.session)

    name, by = in_use.session.id, f" by {literal(in_use.holder)}" if in_use.holder else ""

    def cancelled() -> None:
        here = "Staying in this one." if target.controller.session else "Your next prompt starts a new one."
        target.dialogs.notify(f"Session {name} is open elsewhere. {here} To choose again: /resume {name}")

    target.dialogs.pick(f"Session {name} is open elsewhere{by}", choices, chosen, on_cancel=cancelled)


def offer_model(target: CommandTarget) -> None:
    """Ask a user without a model what to do: use a provider whose key is set, run the setup, or try the demo."""
    ready = [each for each in target.controller.providers.values() if each.model and target.controller.has_key(each)]
    choices = [
        *(Choice(each.example, f"Use {each.example}", f"{each.key_variable} is set") for each in ready),
        Choice("/setup", "Set up a provider", "with API key and model"),
        Choice(DEMO, "Try the demo model", "scripted: no key, no network"),
    ]

    def chosen(what: str) -> None:
        if what == "/setup":
            leave_for_setup(target)
        else:
            target.dialogs.notify("")
            target.controller.use_model(what)

    before = target.dialogs.message
    target.dialogs.pick("Choose a model to start", choices, chosen)
    target.dialogs.notify(before)
    target.dialogs.notify(NO_MODEL, also=True)


def leave_for_setup(target: CommandTarget) -> None:
    """Close the screen for the setup, and show it again afterwards. Raise `UsageError` during a turn."""
    if target.controller.status.doing:
        raise UsageError("Busy. Press Esc to interrupt, or wait for the turn to finish.")
    target.app.exit(SET_UP)


def pick_turn(target: CommandTarget) -> None:
    """Let the user choose a prompt to rewind to; its text returns to the composer for editing."""
    prompts = target.controller.prompts
    if not prompts:
        raise UsageError("Nothing to rewind yet.")
    choices = [Choice(str(each.turn), _line(target, each.text), f"turn {each.turn}") for each in reversed(prompts)]
    target.dialogs.pick(
        "Rewind to before… (conversation only; files are not restored)",
        choices,
        lambda turn: target.controller.agent.submit(Rewind(int(turn))),
    )


def pick_prompt(target: CommandTarget) -> None:
    """Let the user choose an earlier prompt to edit and send again."""
    prompts = tuple(dict.fromkeys(reversed(target.composer.past_prompts.prompts)))
    if not prompts:
        raise UsageError("No earlier prompts yet.")
    choices = [Choice(text, _line(target, text)) for text in prompts]
    target.dialogs.pick("Prompt history", choices, target.composer.give_back)


def _line(target: CommandTarget, prompt: str) -> str:
    """Return a prompt in one line, pastes as their marks, so that a question after a paste is visible."""
    return " ".join(target.composer.pastes.collapse(prompt).split())

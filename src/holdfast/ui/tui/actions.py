"""What the slash commands do. Each is a few lines over the agent's commands, a picker or a page."""

from __future__ import annotations

import asyncio
import os
import platform
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import get_args

from holdfast import __version__
from holdfast.calls import Mode
from holdfast.errors import UsageError
from holdfast.session.catalog import Summary
from holdfast.session.entries import Usage
from holdfast.text import literal
from holdfast.tools.thread import in_daemon
from holdfast.ui.blocks import Answer
from holdfast.ui.choosing import DEMO, project_of
from holdfast.ui.exporting import FORMS, Form, exported, form_of, write
from holdfast.ui.table import age, home, size
from holdfast.ui.tui.branch import branch
from holdfast.ui.tui.commands import Line, Name
from holdfast.ui.tui.desk import NO_MODEL, Desk
from holdfast.ui.tui.pages import help_page, lines_page, rows_page
from holdfast.ui.tui.pickers import Choice
from holdfast.ui.tui.status import MODES, Status, share, tokens
from holdfast.ui.tui.themes import DARK, LIGHT
from holdfast.ui.tui.told import InUse

DIFF = "git --no-pager diff --stat --patch HEAD"
"""What `/diff` runs, as the person's own command."""


def offer(in_use: InUse, desk: Desk) -> None:
    """Let the person choose what to do about a session that another process holds."""
    choices = [
        Choice("fork", "Go on in a copy", "the other process keeps the original"),
        Choice("read", "Only read it", "as it is now"),
    ]

    def chosen(what: str) -> None:
        if what == "fork":
            desk.go_on_in_a_copy(in_use.session)
        else:
            desk.agent.read(in_use.session)

    name, by = in_use.session.id, f" by {literal(in_use.holder)}" if in_use.holder else ""

    def left() -> None:
        here = "This one goes on." if desk.session else "Your next prompt begins a new one."
        desk.say(f"Session {name} is in use and was not opened. {here} To choose again: /resume {name}")

    desk.pick(f"Session {name} is in use{by}", choices, chosen, left=left)


def act(line: Line, desk: Desk) -> None:
    """Do what the command says; raises `HoldfastError`, in words for the person, if it cannot be done."""
    DOES[line.command.name](desk, line.rest)


def _new(desk: Desk, _rest: str) -> None:
    desk.begin_anew()
    desk.say("The next prompt begins a new session. The last one is kept: /resume.")


def _resume(desk: Desk, rest: str) -> None:
    if rest:
        desk.agent.resume(desk.catalog.find(rest))
    else:
        pick_session(desk)


def _diff(desk: Desk, _rest: str) -> None:
    if not branch(desk.cwd):
        raise UsageError(
            f"Folder {home(str(desk.cwd))!r} is in no git repository, one was expected. To begin one: !git init."
        )
    desk.run_command(DIFF, share=False)


def _rename(desk: Desk, rest: str) -> None:
    _open(desk)
    if not rest:
        raise UsageError("Title is missing, some words were expected. Type /rename and the title.")
    desk.agent.rename(rest)


def renamed(title: str) -> str:
    """Return what is said of a session that has another title now."""
    return f"This session is called: {title}" if title else "This session is called by its first prompt again."


def _compact(desk: Desk, rest: str) -> None:
    _open(desk)
    desk.compact(rest)


def _uncompact(desk: Desk, _rest: str) -> None:
    _open(desk)
    desk.agent.uncompact()


def _fork(desk: Desk, _rest: str) -> None:
    desk.go_on_in_a_copy(desk.catalog.find(_open(desk)))


def _model(desk: Desk, rest: str) -> None:
    if rest:
        desk.use_model(rest)
    else:
        _pick_model(desk)


def _export(desk: Desk, rest: str) -> None:
    session = _open(desk)
    word, _, name = rest.partition(" ")
    form: Form | None = next((form for form in FORMS if form == word), None)
    if not rest:
        choices = [Choice(form, form, what) for form, (_, what) in FORMS.items()]
        desk.pick("Write it to a file as", choices, lambda chosen: _export(desk, chosen))
    elif form is None:
        _write(desk, session, form_of(rest), rest)
    else:
        _write(desk, session, form, name.strip() or f"{session}{FORMS[form][0]}")


def _write(desk: Desk, session: str, form: Form, name: str) -> None:
    path = desk.cwd / Path(name).expanduser()

    def export() -> str:
        document, findings = exported(desk.catalog.folder(session), form)
        write(path, document)
        return f" It is damaged: {findings[0].what}" if findings else ""

    desk.meanwhile(export, lambda damaged: desk.say(f"Exported to {home(str(path))}, as {FORMS[form][1]}.{damaged}"))


def _theme(desk: Desk, rest: str) -> None:
    ours = (DARK.name, LIGHT.name)
    others = sorted(name for name, theme in desk.available_themes.items() if not theme.ansi and name not in ours)
    themes = (*ours, *others)  # those of the terminal's sixteen colours have no shades to tell things apart by
    if not rest:
        choices = [Choice(name, name, "in use" * (name == desk.theme), now=name == desk.theme) for name in themes]
        desk.pick("Colours", choices, desk.use_theme, shown=desk.use_theme)
    elif rest in themes:
        desk.use_theme(rest)
    else:
        raise UsageError(f"Theme {rest!r} does not exist, one of {', '.join(themes)} was expected. See /theme.")


def _permissions(desk: Desk, rest: str) -> None:
    modes: tuple[Mode, ...] = get_args(Mode)
    for mode in modes:
        if mode == rest:
            desk.use_mode(mode)
            return
    if rest:
        raise UsageError(f"Mode {rest!r} does not exist, one of {', '.join(modes)} was expected. See /permissions.")
    now = desk.status.mode
    choices = [
        Choice(f"mode {mode}", mode, f"{MODES[mode]}{', now' * (mode == now)}", now=mode == now) for mode in modes
    ]
    kept = project_of(desk.environ, desk.cwd).remembered
    choices += [
        Choice(f"forbid {at}", f"ask again about {each.text}", "allowed in this folder") for at, each in enumerate(kept)
    ]

    def chosen(value: str) -> None:
        what, _, which = value.partition(" ")
        if what == "mode":
            _permissions(desk, which)
        else:
            desk.agent.forbid(kept[int(which)])

    desk.pick("What may run without asking", choices, chosen)


def _config(desk: Desk, _rest: str) -> None:
    from holdfast.ui.config import lines, settled  # noqa: PLC0415 - when it is asked for

    desk.read(lines_page("Settings", lines(settled(desk.arguments, desk.environ, desk.cwd))))


def _doctor(desk: Desk, _rest: str) -> None:
    from holdfast.ui.doctor import lines  # noqa: PLC0415 - when it is asked for
    from holdfast.ui.doctor.probes import examined  # noqa: PLC0415 - likewise

    async def look() -> None:
        found = await in_daemon(lambda: asyncio.run(examined(desk.environ, desk.cwd)))
        desk.say("")
        desk.read(lines_page("What was found", lines(found)))

    desk.say("Looking …")
    desk.run_worker(look())


def offer_a_model(desk: Desk) -> None:
    """Let somebody without a model choose what to do about it: one whose key is there, the set-up, or the demo."""
    ready = [each for each in desk.providers.values() if each.model and desk.has_key(each)]
    choices = [
        *(Choice(each.example, f"Use {each.example}", f"{each.key_variable} is set") for each in ready),
        Choice("/setup", "Set up a provider", "its key and a model, by questions"),
        Choice(DEMO, "Look around with the demo model", "scripted: no key, no network"),
    ]

    def chosen(what: str) -> None:
        if what == "/setup":
            desk.leave_for_setup()
        else:
            desk.say("")
            desk.use_model(what)

    desk.say(NO_MODEL, also=True)
    desk.pick("No model is set up yet", choices, chosen)


def _open(desk: Desk) -> str:
    if not desk.session:
        raise UsageError("No session is open, one was expected. Type a prompt to begin one, or /resume one.")
    return desk.session


def pick_turn(desk: Desk) -> None:
    """Let the person choose a prompt to go back to; its words come back to be edited."""
    prompts = desk.known.prompts
    if not prompts:
        raise UsageError("Conversation has no prompt to go back to, one was expected. Type one.")
    choices = [Choice(str(turn), " ".join(text.split()), f"turn {turn}") for turn, text in reversed(prompts.items())]
    desk.pick(
        "Go back to before (what followed is kept in the journal; files stay as they are)",
        choices,
        lambda turn: desk.agent.rewind(int(turn)),
    )


def pick_prompt(desk: Desk) -> None:
    """Let the person choose an earlier prompt to write again."""
    prompts = tuple(dict.fromkeys(reversed(desk.composer.sent)))
    if not prompts:
        raise UsageError("Prompt to write again is missing, an earlier one was expected. Type one.")
    choices = [Choice(text, " ".join(text.split())) for text in prompts]
    desk.pick("Write again", choices, desk.composer.give_back)


def pick_session(desk: Desk) -> None:
    """Let the person choose another session to go on with."""
    desk.meanwhile(desk.catalog.all, lambda found: _offer_sessions(found, desk))


def _offer_sessions(found: Sequence[Summary], desk: Desk) -> None:
    now = time.time()
    summaries = {each.id: each for each in found if each.id != desk.session}
    if not summaries:
        raise UsageError("There is no other session, one was expected. Type a prompt to begin one.")
    here = str(desk.cwd)
    ordered = sorted(summaries.values(), key=lambda each: each.cwd != here)  # those of this folder first
    choices = [
        Choice(
            each.id,
            each.title or "(no prompt yet)",
            " · ".join(
                (
                    age(now - each.modified),
                    home(each.cwd),
                    size(each.bytes),
                    *(("damaged",) if each.damage else ()),
                )
            ),
        )
        for each in ordered
    ]

    def trash(session: str) -> None:
        desk.catalog.trash(session)
        desk.say(f"Session {session} is in the trash, beside the others.")

    desk.pick(
        "Go on with",
        choices,
        lambda chosen: desk.agent.resume(summaries[chosen]),
        remove=("moves it to the trash", trash),
    )


def _pick_model(desk: Desk) -> None:
    now = desk.status.model
    choices = [
        Choice(name, name, "in use" if name == now else desk.lacks(each), now=name == now)
        for each in desk.providers.values()
        for name in (each.example,)
    ]
    unnamed = {each.example: each for each in desk.providers.values() if not each.model}
    choices.append(Choice(DEMO, DEMO, "scripted: no key, no network", now=now == DEMO))
    if now and now not in {choice.value for choice in choices}:
        choices.insert(0, Choice(now, now, "in use", now=True))

    def use(chosen: str) -> None:
        if chosen in unnamed:
            desk.composer.give_back(f"/model {unnamed[chosen].name}:")
        else:
            desk.use_model(chosen)

    desk.pick("Model (any other: /model PROVIDER:MODEL)", choices, use)


def _copy(desk: Desk, _rest: str) -> None:
    blocks = (desk.view.block(key) for key in reversed(desk.view.keys))
    answer = next((block.text for block in blocks if isinstance(block, Answer)), "")
    if not answer:
        raise UsageError("Conversation has no answer to copy, one was expected. Wait for one.")
    desk.copy_to_clipboard(answer)
    desk.say(f"Copied {len(answer)} character{'s' * (len(answer) > 1)}, if your terminal lets programs copy (OSC 52).")


def _status(desk: Desk) -> list[tuple[str, str]]:
    return [
        ("session", desk.session or "none yet"),
        ("folder", home(str(desk.cwd))),
        ("model", desk.status.model or "none"),
        ("may run", desk.status.mode),
        ("holdfast", f"{__version__}, Python {platform.python_version()}, {platform.system()}"),
        ("terminal", " ".join(filter(None, (os.environ.get("TERM_PROGRAM"), os.environ.get("TERM"))))),
    ]


def _cost(usage: Usage) -> list[tuple[str, str]]:
    return [
        ("read", f"{usage.input_tokens:,} tokens"),
        ("from a cache", f"{usage.cache_read_tokens:,} tokens"),
        ("into a cache", f"{usage.cache_write_tokens:,} tokens"),
        ("written", f"{usage.output_tokens:,} tokens"),
        ("cost", "not known" if usage.cost is None else f"${float(usage.cost):.4f}"),
    ]


def _context(status: Status) -> list[tuple[str, str]]:
    if not status.context:
        return [("in use", "nothing has been said yet")]
    used = f", {share(status.context, status.window)} of {tokens(status.window)}" if status.window else ""
    return [("in use", f"about {status.context:,} tokens{used}")]


DOES: dict[Name, Callable[[Desk, str], None]] = {
    "help": lambda desk, _: desk.read(help_page()),
    "new": _new,
    "resume": _resume,
    "rewind": lambda desk, _: pick_turn(desk),
    "fork": _fork,
    "rename": _rename,
    "model": _model,
    "compact": _compact,
    "uncompact": _uncompact,
    "export": _export,
    "permissions": _permissions,
    "theme": _theme,
    "diff": _diff,
    "copy": _copy,
    "status": lambda desk, _: desk.read(rows_page("Status", _status(desk))),
    "cost": lambda desk, _: desk.read(rows_page("Tokens and money of this session", _cost(desk.status.usage))),
    "context": lambda desk, _: desk.read(rows_page("Context", _context(desk.status))),
    "config": _config,
    "doctor": _doctor,
    "setup": lambda desk, _: desk.leave_for_setup(),
    "quit": lambda desk, _: desk.exit(0),
}
"""What each command does."""

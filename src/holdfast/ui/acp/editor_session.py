"""One session as a client drives it: prompts, their answers, cancels, questions and choices.

How it works. A prompt is registered when it is read, before any task runs. So a cancel that is read after it reaches
it, also in the same packet: the prompt is journalled, its turn is stopped at once, and the answer is `cancelled`. Each
prompt has one task, which runs after that of the prompt before it, and which alone answers it, exactly once.

A second prompt stops the first one. Editors let people type at once after a stop, and some send no cancel at all.

After its answer nothing of a turn is shown. What is learned later, e.g. the outcome of a call that did not end in
time, is held back until the next prompt, where the model reads it too.

What a client that disappears leaves: the turn is stopped with the cause `output` and settled like any other. A process
that is killed leaves an open turn in the journal; loading the session settles it before anything is replayed, so a
question that was open is `not started`, and the next prompt tells the model.
"""

from __future__ import annotations

import asyncio
from contextlib import ExitStack
from pathlib import Path

import msgspec

from holdfast.agent.agent import Agent
from holdfast.agent.events import Event, Fact, LiveOutput, TurnFailed
from holdfast.agent.stop_cause import StopCause
from holdfast.agent.turn.asker import ApprovalAnswer
from holdfast.errors import ProviderFault, StateError
from holdfast.providers.connect import connect
from holdfast.providers.model import Model
from holdfast.providers.model_table import window_of
from holdfast.providers.registry import split
from holdfast.session.conversation.token_estimate import Tally
from holdfast.session.journal import entries as e
from holdfast.session.journal.parts import CallPart
from holdfast.system.threads import in_daemon
from holdfast.tools.tool import Plan
from holdfast.ui.acp.call_cards import AcpFields, CallCard
from holdfast.ui.acp.connection import EditorConnection
from holdfast.ui.acp.json_rpc import INVALID_PARAMS, RequestId, RpcError
from holdfast.ui.acp.permission import chosen_option, permission_options
from holdfast.ui.acp.prompt_command import PromptCommand, commands_update, prompt_command
from holdfast.ui.acp.prompt_content import PromptContent
from holdfast.ui.acp.refusals import Refusals
from holdfast.ui.acp.session_choices import SessionChoices
from holdfast.ui.acp.session_start import StartedSession
from holdfast.ui.acp.session_updates import SessionUpdates, note, replayed_updates
from holdfast.ui.acp.turn_answer import stop_reason
from holdfast.ui.headless.attachments import attached
from holdfast.ui.startup.debug_log_option import debug_log_note
from holdfast.ui.startup.run_options import RunOptions
from holdfast.ui.view.question import question_of

OUTPUT_EVERY = 0.1
"""Seconds between two looks at what a running call prints."""
OUTPUT_TAIL = 4_000
"""Characters of it that are shown."""

_CLIENT = StopCause("user")


class _Prompt:
    """A prompt of the client without an answer. `stop` is why it is to end, once that is known."""

    def __init__(self, request: RequestId, content: PromptContent) -> None:
        self.request = request
        self.content = content
        self.stop: StopCause | None = None


class EditorSession:
    """An open session; `yolo` is whether that mode is offered."""

    def __init__(
        self,
        started: StartedSession,
        connection: EditorConnection,
        *,
        yolo: bool,
        refusals: Refusals,
    ) -> None:
        self.id = started.session.id
        self._session = started.session
        self._options = started.options
        self._closing: ExitStack = started.closing
        self._log = started.log
        self._connection = connection
        self._yolo = yolo
        self._refusals = refusals
        self._prompts: list[_Prompt] = []
        self._last: asyncio.Task[None] | None = None
        self._fault: ProviderFault | None = None
        self._shows = False  # whether a prompt runs whose updates are shown
        self._held: list[AcpFields] | None = None  # updates for the next prompt; None: they are dropped
        self._printed: dict[str, str] = {}
        self._updates = SessionUpdates(started.session.cwd, live=True)
        self._updates.knows(record.entry for record in started.session.reading.records)
        self._agent = self._new_agent(started.options)
        self._tally = Tally()
        self._models = started.options.favourites.usable()[0]

    # --- opening and closing ------------------------------------------------------------------------------------

    async def recover(self) -> None:
        """Settle what an earlier process left open. On a full disk the session can still be read."""
        try:
            await self._agent.recover()
        except StateError as error:
            debug_log_note(str(error))

    def replay(self) -> None:
        """Show the whole conversation."""
        for update in replayed_updates(self._session.store.read().records, self._session.cwd):
            self._notify(update)

    def welcome(self) -> None:
        """Show what a client knows of an open session: commands, title, usage. Later updates are shown as they come."""
        self._held = []
        self._notify(commands_update())
        if self._agent.conversation.messages:
            self._tell_usage()

    async def close(self) -> None:
        """Stop what runs, end all processes and release the session. The prompts are answered before."""
        try:
            if self._last is not None:
                await asyncio.wait({self._last})
            await self._agent.close()
        finally:
            self._closing.close()

    @property
    def root(self) -> Path:
        """Return the folder in which the session works."""
        return self._session.cwd

    @property
    def busy(self) -> bool:
        """Return whether a prompt has no answer yet."""
        return bool(self._prompts)

    # --- prompts ------------------------------------------------------------------------------------------------

    def submit(self, request: RequestId, content: PromptContent) -> None:
        """Register a prompt, which is answered when its turn has ended. Earlier ones are stopped."""
        self.stop(_CLIENT)
        prompt = _Prompt(request, content)
        self._prompts.append(prompt)
        self._last = asyncio.create_task(self._answer(prompt, self._last), name="prompt")

    def stop(self, cause: StopCause = _CLIENT) -> None:
        """Stop every prompt that was read until now."""
        for prompt in self._prompts:
            prompt.stop = prompt.stop or cause
        self._agent.stop(cause)

    def cancel_request(self, request: RequestId) -> None:
        """Stop the prompt with this id, if it has no answer yet."""
        for prompt in self._prompts:
            if prompt.request == request:
                prompt.stop = prompt.stop or _CLIENT
                if prompt is self._prompts[0]:
                    self._agent.stop(_CLIENT)

    async def _answer(self, prompt: _Prompt, before: asyncio.Task[None] | None) -> None:
        """Run the prompt's turn after the one before it, and answer it once."""
        if before is not None:
            await asyncio.wait({before})
        refused: list[RpcError] = []
        reason = "end_turn"
        self._fault = None
        self._shows = True
        held, self._held = self._held or [], []
        for update in held:
            self._notify(update)
        with self._refusals.to(refused.append):
            reason = await self._turn(prompt)
        self._shows = False
        self._printed.clear()
        self._prompts.remove(prompt)
        if prompt.stop is not None:
            self._connection.answer(prompt.request, {"stopReason": "cancelled"})
        elif refused:
            self._connection.refuse(prompt.request, refused[0])
        else:
            self._connection.answer(prompt.request, {"stopReason": reason})

    async def _turn(self, prompt: _Prompt) -> str:
        """Run the turn, or the command that the prompt is, and return its stop reason."""
        text, images = prompt.content.text, prompt.content.images
        if (command := prompt_command(text)) is not None:
            if prompt.stop is None:
                await self._command(command)
            return "end_turn"
        mentioned = attached(self._agent, text, lambda why: self._show(note(why)))
        turn = asyncio.ensure_future(self._agent.run(text, images=(*images, *mentioned)))
        await asyncio.sleep(0)  # the turn has the session before a stop can reach it
        if prompt.stop is not None:
            self._agent.stop(prompt.stop)
        ended = await turn
        if ended.reason == "refusal":
            self._show(note("The model refused to answer."))
        return stop_reason(ended, self._fault)

    async def _command(self, command: PromptCommand) -> None:
        match command.name:
            case "compact":
                await self._agent.compact(command.words)
            case "uncompact":
                await self._agent.uncompact()
            case "rename":
                self._agent.rename(command.words)

    # --- choices ------------------------------------------------------------------------------------------------

    def choices(self) -> SessionChoices:
        """Return what is set, and what can be set."""
        now = self._agent.conversation
        return SessionChoices(
            mode=self._agent.mode,
            model=now.chosen_model,
            effort=now.settings.effort,
            models=self._offered(now.chosen_model),
            yolo=self._yolo,
        )

    def described(self) -> AcpFields:
        """Return the choices as a new session is answered with them."""
        choices = self.choices()
        return {"configOptions": choices.config_options(), "modes": choices.mode_state()}

    def choose(self, option: str, value: object) -> None:
        """Set a choice, from the next request or decision on. Raise `RpcError` for what is not offered."""
        choices = self.choices()
        match option:
            case "mode":
                self._agent.mode = choices.mode_of(value)
            case "model":
                if not isinstance(value, str):
                    raise RpcError(INVALID_PARAMS, f"Unknown model {value!r} (expected PROVIDER:MODEL).")
                split(value, self._options.providers)
                self._agent.use_model(value)
            case "thinking":
                effort = choices.effort_of(value)
                settings = self._agent.conversation.settings
                self._agent.use_settings(msgspec.structs.replace(settings, effort=effort))
            case _:
                raise RpcError(INVALID_PARAMS, f"Unknown option {option!r} (expected mode, model or thinking).")

    def _offered(self, model: str) -> list[str]:
        found = list(self._models)
        for provider in self._options.providers_in_use(model):
            found += (f"{provider.name}:{each.id}" for each in self._options.models_at_hand(provider).models)
        return found

    # --- what the client sees -----------------------------------------------------------------------------------

    def _notify(self, update: AcpFields) -> None:
        self._connection.notify("session/update", {"sessionId": self.id, "update": update})

    def _show(self, update: AcpFields) -> None:
        """Show an update of a turn now, or with the next prompt."""
        if self._shows:
            self._notify(update)
        elif self._held is not None:
            self._held.append(update)

    def _emit(self, event: Event) -> None:
        match event:
            case TurnFailed(fault=fault):
                self._fault = fault
            case LiveOutput(call=call, text=text):
                self._prints(call, text)
            case _:
                if isinstance(event, Fact) and isinstance(event.entry, e.CallEnded):
                    self._printed.pop(event.entry.call, None)
                for update in self._updates.of(event):
                    self._show(update)
                if isinstance(event, Fact):
                    self._follow(event.entry)

    def _follow(self, entry: e.Entry) -> None:
        """Show what has changed with an entry beside the conversation."""
        loop = asyncio.get_running_loop()
        match entry:
            case e.ModeChanged() | e.ModelChanged() | e.ModelSettingsChanged():
                loop.call_soon(self._tell_choices)  # what it says applies after it is journalled
            case e.ApprovalAnswered(mode=mode) if mode is not None:
                loop.call_soon(self._tell_choices)
            case e.ResponseEnded() | e.Compacted() | e.Uncompacted():
                self._tell_usage(again=not isinstance(entry, e.ResponseEnded))
            case e.PromptAccepted(turn=1, text=text):
                self._tell_title(text)
            case e.Titled(title=title) if title:
                self._tell_title(title)
            case _:
                pass

    def _tell_title(self, title: str) -> None:
        self._show({"sessionUpdate": "session_info_update", "title": title.strip().partition("\n")[0][:80]})

    def _tell_choices(self) -> None:
        if self._held is None:
            return
        choices = self.choices()
        self._notify({"sessionUpdate": "current_mode_update", "currentModeId": choices.mode})
        self._notify({"sessionUpdate": "config_option_update", "configOptions": choices.config_options()})

    def _tell_usage(self, *, again: bool = False) -> None:
        now = self._agent.conversation
        if again:
            self._tally = Tally()
        used = self._tally.tokens(now)
        config = self._options.config
        size = window_of(now.model, config.models) or config.context.window
        update: AcpFields = {"sessionUpdate": "usage_update", "used": used, "size": max(size, used)}
        if now.usage.cost is not None:
            update["cost"] = {"amount": float(now.usage.cost), "currency": "USD"}
        if self._shows or not self._prompts:
            self._notify(update)

    def _prints(self, call: str, text: str) -> None:
        """Keep the end of what a call prints, and show it soon."""
        waits = call in self._printed
        self._printed[call] = (self._printed.get(call, "") + text)[-OUTPUT_TAIL:]
        if not waits:
            asyncio.get_running_loop().call_later(OUTPUT_EVERY, self._look, call, "")

    def _look(self, call: str, before: str) -> None:
        """Show what a call has printed, as long as it runs."""
        now, card = self._printed.get(call), self._updates.card(call)
        if now is None or card is None or not self._shows:
            return
        if now != before:
            self._notify(card.printing(now))
        asyncio.get_running_loop().call_later(OUTPUT_EVERY, self._look, call, now)

    # --- the agent ----------------------------------------------------------------------------------------------

    async def _ask(self, call: CallPart, plan: Plan, why: str) -> ApprovalAnswer:
        """Ask the user through the client. A stop ends the wait; nothing waits for the client then."""
        del why
        question = question_of(plan, mode=self._agent.mode)
        card = self._updates.card(call.id) or CallCard(call, self._session.cwd, longest=OUTPUT_TAIL)
        asked: AcpFields = {
            "sessionId": self.id,
            "toolCall": card.asked(plan, question.warnings),
            "options": permission_options(question),
        }
        for _ in range(2):
            request = self._connection.ask("session/request_permission", asked)
            try:
                answer = await request.answer
            finally:
                self._connection.withdraw(request)
            match None if answer.failed else chosen_option(answer.result, question):
                case None:
                    debug_log_note(f"The editor gave no usable answer about call {call.id}: {answer.failed or '?'}")
                case "cancelled":  # the user closed the question
                    self.stop(_CLIENT)
                    return ApprovalAnswer(allowed=False)
                case choice:
                    return choice.answer()
        return ApprovalAnswer(allowed=False, reason="The editor gave no usable answer.")

    async def _connect(self, name: str) -> Model:
        aim = await in_daemon(lambda: self._options.endpoint(name))  # the keyring may be slow
        return await connect(aim, self._options.limits.of(name), log=self._log)

    def _new_agent(self, options: RunOptions) -> Agent:
        agent = Agent(
            store=self._session.store,
            toolbox=self._session.toolbox,
            connect=self._connect,
            mode=options.mode,
            emit=self._emit,
            ask=self._ask,
            limits=options.limits,
            context=options.config.context,
            window=lambda name: window_of(name, options.config.models),
            project=options.project_of(self._session.cwd),
            debug=options.arguments.debug,
            log=self._log,
            reading=self._session.reading,
            providers=options.providers,
            defaults=options.settings_of,
            fallback=options.fallback,
        )
        agent.permissions.resume(chosen=options.mode_chosen)
        if options.resumed is not None:
            if options.arguments.model or not options.resumed.model:
                agent.use_model(options.model)
            agent.use_settings(options.chosen_settings.over(agent.conversation.settings))
        return agent

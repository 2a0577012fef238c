"""One session as a client drives it: prompts, their answers, cancels, questions and choices.

How it works. A prompt is registered when it is read, before any task runs. So a cancel that is read after it reaches
it, also in the same packet: the prompt is journalled, its turn is stopped at once, and the answer is `cancelled`. Each
prompt has one task. It runs after the task of the previous prompt, and it alone answers the prompt, exactly once.

A second prompt stops the first one. Editors let people type at once after a stop, and some send no cancel at all.

If the client disappears, the turn is stopped with the cause `output` and settled like any other. If holdfast is killed,
the journal has an open turn; loading the session settles it before anything is replayed, and the next prompt tells the
model.

A question that was open when the process was killed stays open: its call is replayed as pending. The next prompt
decides. `/continue`, or the same prompt again, asks the user again and continues the turn; any other prompt leaves the
call `not started`.
"""

from __future__ import annotations

import asyncio
from contextlib import ExitStack
from pathlib import Path

import msgspec

from holdfast.agent.agent import Agent
from holdfast.agent.stop_cause import StopCause
from holdfast.errors import StateError, UsageError
from holdfast.providers.connect import connect
from holdfast.providers.model import Model
from holdfast.providers.registry import split
from holdfast.session.journal import entries as e
from holdfast.session.journal.parts import CallPart
from holdfast.system.threads import in_daemon
from holdfast.tools.workspace.images import named_images
from holdfast.ui.acp.display.call_cards import AcpFields, CallCard
from holdfast.ui.acp.display.session_updates import SessionUpdates, replayed_updates
from holdfast.ui.acp.display.turn_display import OUTPUT_TAIL, TurnDisplay
from holdfast.ui.acp.prompt_command import PromptCommand, asks_again, commands_update, prompt_command
from holdfast.ui.acp.prompt_content import PromptContent
from holdfast.ui.acp.protocol.client_abilities import ClientAbilities
from holdfast.ui.acp.protocol.connection import EditorConnection
from holdfast.ui.acp.protocol.json_rpc import INVALID_PARAMS, RequestId, RpcError
from holdfast.ui.acp.protocol.refusals import Refusals
from holdfast.ui.acp.questions.client_questions import ClientQuestions
from holdfast.ui.acp.session_choices import SessionChoices
from holdfast.ui.acp.session_start import StartedSession
from holdfast.ui.acp.turn_answer import stop_reason
from holdfast.ui.startup.debug_log_option import debug_log_note
from holdfast.ui.startup.run_options import RunOptions

_CLIENT = StopCause("user")
_WAITS = (
    "A question about a call is still open. Send /continue to answer it; with any other prompt the call is not started."
)


class _Prompt:
    """A prompt that has no answer yet. `stop` is the cause to stop it with, None as long as it runs."""

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
        abilities: ClientAbilities,
        yolo: bool,
        refusals: Refusals,
    ) -> None:
        self.id = started.session.id
        self._session = started.session
        self._options = started.options
        self._closing: ExitStack = started.closing
        self._log = started.log
        self._lists = started.lists
        self._connection = connection
        self._yolo = yolo
        self._refusals = refusals
        self._prompts: list[_Prompt] = []
        self._last: asyncio.Task[None] | None = None
        self._abilities = abilities
        self._updates = SessionUpdates(started.session.cwd, live=True, abilities=abilities)
        self._updates.add_known(record.entry for record in started.session.reading.records)
        self._display = TurnDisplay(
            self._updates,
            notify=self._notify,
            conversation=lambda: self._agent.conversation,
            choices=self.choices,
            options=started.options,
        )
        self._questions = ClientQuestions(
            self.id,
            connection,
            abilities,
            card=self._card,
            stop=self.stop,
        )
        self._agent = self._new_agent(started.options)
        self._models = started.options.favourites.usable()[0]

    # --- opening and closing ------------------------------------------------------------------------------------

    async def recover(self) -> None:
        """Settle what an earlier process left open, except a question. A full disk does not prevent reading."""
        try:
            await self._agent.recover(keep_question=True)
        except StateError as error:
            debug_log_note(str(error))

    def replay(self) -> None:
        """Show the whole conversation."""
        for update in replayed_updates(self._session.store.read().records, self._session.cwd, self._abilities):
            self._notify(update)

    def welcome(self) -> None:
        """Show the state of the opened session: commands, usage. Later updates are shown as they come."""
        waits = self._agent.recovery.can_resume
        self._list_commands(waits=waits)
        if self._lists is not None:
            self._lists.when_known(self._list_commands)
        if waits:
            self._notify(self._updates.note(_WAITS))
        self._display.opened()

    def _list_commands(self, *, waits: bool | None = None) -> None:
        open_ = self._agent.recovery.can_resume if waits is None else waits
        self._notify(commands_update(self._options.prompt_commands(), waits=open_))

    async def close(self) -> None:
        """Stop the turn, end all processes and release the session. All prompts are answered first."""
        try:
            if self._last is not None:
                await asyncio.wait({self._last})
            if self._lists is not None:
                await self._lists.close(leaving=True)
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
        """Register a prompt. It is answered when its turn has ended. Earlier prompts are stopped."""
        self.stop(_CLIENT)
        prompt = _Prompt(request, content)
        self._prompts.append(prompt)
        self._last = asyncio.create_task(self._answer(prompt, self._last), name="prompt")

    def stop(self, cause: StopCause = _CLIENT) -> None:
        """Stop every prompt that was read so far."""
        for prompt in self._prompts:
            prompt.stop = prompt.stop or cause
        self._session.toolbox.stop_waiting()
        self._agent.stop(cause)

    def cancel_request(self, request: RequestId) -> None:
        """Stop the prompt with this id, if it has no answer yet."""
        for prompt in self._prompts:
            if prompt.request == request:
                prompt.stop = prompt.stop or _CLIENT
                if prompt is self._prompts[0]:
                    self._session.toolbox.stop_waiting()
                    self._agent.stop(_CLIENT)

    async def _answer(self, prompt: _Prompt, before: asyncio.Task[None] | None) -> None:
        """Run the prompt's turn after the one before it, and answer it once."""
        if before is not None:
            await asyncio.wait({before})
        refused: list[RpcError] = []
        reason = "end_turn"
        self._display.begin_turn()
        with self._refusals.to(refused.append):
            reason = await self._turn(prompt)
        self._display.end_turn()
        self._prompts.remove(prompt)
        if prompt.stop is not None:
            self._connection.answer(prompt.request, {"stopReason": "cancelled"})
        elif refused:
            self._connection.refuse(prompt.request, refused[0])
        else:
            self._connection.answer(prompt.request, {"stopReason": reason})

    async def _turn(self, prompt: _Prompt) -> str:
        """Run the prompt's turn or command, and return its stop reason."""
        text, images = prompt.content.text, prompt.content.images
        command = prompt_command(text)
        resumes = self._agent.recovery.can_resume and (self._is_repeated(text) or asks_again(command))
        if command is not None and not resumes:
            if prompt.stop is None:
                await self._command(command)
            return "end_turn"
        if resumes:
            turn = asyncio.ensure_future(self._resumed())
        else:
            mentioned, wrong = named_images(text, self._session.cwd)
            for why in wrong:
                self._display.show(self._updates.note(why, "warning"))
            if prompt.stop is not None and text.startswith("/mcp__"):
                return "end_turn"  # the server was not asked
            written = await self._session.toolbox.expand_prompt(text)
            turn = asyncio.ensure_future(self._agent.run(written, images=(*images, *mentioned)))
        await asyncio.sleep(0)  # the turn starts before a stop can reach it
        if prompt.stop is not None:
            self._agent.stop(prompt.stop)
        ended = await turn
        if ended.reason == "refusal":
            why = f": {ended.detail}" if ended.detail else ""
            self._display.show(self._updates.note(f"The model refused to answer{why.rstrip('.')}."))
        return stop_reason(ended, self._display.fault)

    async def _resumed(self) -> e.TurnEnded:
        """Ask the open question again, and run its turn to its end."""
        self._list_commands(waits=False)
        ended = await self._agent.resume_turn()
        if ended is None:
            raise StateError("The open question could not be asked again: its turn is settled. Send a new prompt.")
        return ended

    def _is_repeated(self, text: str) -> bool:
        """Return whether this is the prompt of the turn that is open."""
        prompts = [entry.text for entry in self._agent.journal.entries() if isinstance(entry, e.PromptAccepted)]
        return prompts[-1:] == [text]

    async def _command(self, command: PromptCommand) -> None:
        match command.name:
            case "compact":
                await self._agent.compact(command.words)
            case "uncompact":
                await self._agent.uncompact()
            case "rename":
                self._agent.rename(command.words)
            case "continue":
                raise UsageError("Nothing to continue: no question is open. Send a prompt.")

    # --- choices ------------------------------------------------------------------------------------------------

    def choices(self) -> SessionChoices:
        """Return the current choices, and the possible ones."""
        now = self._agent.conversation
        return SessionChoices(
            mode=self._agent.mode,
            model=now.chosen_model,
            effort=now.settings.effort,
            models=self._offered(now.chosen_model),
            yolo=self._yolo,
        )

    def described(self) -> AcpFields:
        """Return the choices as fields of the answer to `session/new`."""
        choices = self.choices()
        return {"configOptions": choices.config_options(), "modes": choices.mode_state()}

    def choose(self, option: str, value: object) -> None:
        """Set a choice, from the next request or decision on. Raise `RpcError` if it is not offered."""
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

    def _notify(self, update: AcpFields) -> None:
        self._connection.notify("session/update", {"sessionId": self.id, "update": update})

    def _card(self, call: str) -> CallCard:
        """Return the card of a call; of one that was not shown, as of a session that was not loaded, a new one."""
        if (shown := self._updates.card(call)) is not None:
            return shown
        part = next((each.part for each in self._agent.conversation.open_calls if each.part.id == call), None)
        return CallCard(part or CallPart(id=call, name="", arguments=""), self._session.cwd, longest=OUTPUT_TAIL)

    # --- the agent ----------------------------------------------------------------------------------------------

    async def _connect(self, name: str) -> Model:
        aim = await in_daemon(lambda: self._options.endpoint(name))  # the keyring may be slow
        return await connect(aim, self._options.limits.of(name), log=self._log)

    def _new_agent(self, options: RunOptions) -> Agent:
        agent = options.new_agent(
            store=self._session.store,
            toolbox=self._session.toolbox,
            project=options.project_of(self._session.cwd),
            connect=self._connect,
            emit=self._display.emit,
            ask=self._questions.ask,
            reading=self._session.reading,
            log=self._log,
        )
        if options.resumed is not None:
            if options.arguments.model or not options.resumed.model:
                agent.use_model(options.model)
            agent.use_settings(options.chosen_settings.over(agent.conversation.settings))
        return agent

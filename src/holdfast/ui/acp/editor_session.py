"""One session in an editor: the protocol's prompts, cancels, answers and choices as commands of the session's host.

How it works. A prompt is submitted when it is read, before any task runs. So a cancel that is read after it reaches it,
also in the same packet: the host journals the prompt, stops its turn at once, and the answer is `cancelled`. A prompt
is answered exactly once, when its submission has ended, behind the last update of its turn.

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

from holdfast.agent.events import Event
from holdfast.agent.stop_cause import StopCause
from holdfast.errors import StateError
from holdfast.host import commands as c
from holdfast.host import events as h
from holdfast.host.hosted_session import RULES_OF
from holdfast.host.opening import open_host
from holdfast.questions import ApprovalAnswer, Question, QuestionRules
from holdfast.session.journal import entries as e
from holdfast.session.journal.parts import CallPart
from holdfast.tools.tool import Plan
from holdfast.ui.acp.display.call_cards import AcpFields, CallCard
from holdfast.ui.acp.display.session_updates import SessionUpdates, replayed_updates
from holdfast.ui.acp.display.turn_display import OUTPUT_TAIL, TurnDisplay
from holdfast.ui.acp.prompt_content import PromptContent
from holdfast.ui.acp.protocol.client_abilities import ClientAbilities
from holdfast.ui.acp.protocol.refusals import Refusals
from holdfast.ui.acp.questions.client_questions import ClientQuestions
from holdfast.ui.acp.session_choices import SessionChoices
from holdfast.ui.acp.session_start import StartedSession
from holdfast.ui.acp.turn_answer import stop_reason
from holdfast.ui.headless.turn_end import TurnWatch
from holdfast.ui.json_rpc.connection import EditorConnection
from holdfast.ui.json_rpc.messages import INVALID_PARAMS, RequestId, RpcError
from holdfast.ui.startup.debug_log_option import debug_log_note

_CLIENT = StopCause("user")
_WAITS = (
    "A question about a call is still open. Send /continue to answer it; with any other prompt the call is not started."
)


class _Prompt:
    """A prompt that has no answer yet."""

    def __init__(self, request: RequestId, submission: c.Submission) -> None:
        self.request = request
        self.submission = submission
        self.is_cancelled = False


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
        self._lists = started.lists
        self._connection = connection
        self._yolo = yolo
        self._refusals = refusals
        self._prompts: list[_Prompt] = []
        self._watch = TurnWatch(started.options.config.receipt.tests)
        self._question_task: asyncio.Task[None] | None = None
        self._abilities = abilities
        self._listed: AcpFields = {}
        self._models = started.options.favourites.usable()[0]
        self._host = open_host(
            started.options,
            started.session,
            RULES_OF["editor"],
            log=started.log,
            offered=QuestionRules(yolo=yolo),
        )
        self._updates = SessionUpdates(started.session.cwd, live=True, abilities=abilities)
        self._display = TurnDisplay(
            self._updates,
            notify=self._notify,
            conversation=lambda: self._host.agent.conversation,
            choices=self.choices,
            options=started.options,
        )
        self._questions = ClientQuestions(self.id, connection, abilities, card=self._card)
        self._host.listen(self._show)

    # --- opening and closing ------------------------------------------------------------------------------------

    async def recover(self) -> None:
        """Settle what an earlier process left open, except a question. A full disk does not prevent reading."""
        try:
            await self._host.submit(c.Continue(ask_again=False)).ended
        except StateError as error:
            debug_log_note(str(error))

    def replay(self) -> None:
        """Show the whole conversation."""
        for update in replayed_updates(self._session.store.read().records, self._session.cwd, self._abilities):
            self._notify(update)

    def welcome(self) -> None:
        """Show the state of the opened session: commands, usage. Later updates are shown as they come."""
        self._listed = {}
        self._list_commands()
        if self._lists is not None:
            self._lists.when_known(self._list_commands)
        if self._host.agent.recovery.can_resume:
            self._notify(self._updates.note(_WAITS))
        self._display.opened()

    def _list_commands(self) -> None:
        """Show the commands, unless the client has this list."""
        listed: list[AcpFields] = []
        for each in self._host.slash_commands():
            hint: AcpFields = {"input": {"hint": each.takes}} if each.takes else {}
            listed.append({"name": each.name, "description": each.summary, **hint})
        update: AcpFields = {"sessionUpdate": "available_commands_update", "availableCommands": listed}
        if update != self._listed:
            self._listed = update
            self._notify(update)

    async def close(self) -> None:
        """Stop the turn, end all processes and release the session. All prompts are answered first."""
        try:
            if self._prompts:
                await asyncio.wait([each.submission.ended for each in self._prompts])
            if self._lists is not None:
                await self._lists.close(leaving=True)
            await self._host.close()
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
        """Submit a prompt. It is answered when its work has ended. Earlier prompts are stopped."""
        for each in self._prompts:
            each.is_cancelled = True
        self._display.begin()
        images = content.images
        command = c.Typed(content.text) if content.is_typed else c.Prompt(content.text, images=images)
        prompt = _Prompt(request, self._host.submit(command))
        self._prompts.append(prompt)
        prompt.submission.ended.add_done_callback(lambda _: self._answer_ended())

    def stop(self, cause: StopCause = _CLIENT) -> None:
        """Stop every prompt that was read so far."""
        for prompt in self._prompts:
            prompt.is_cancelled = True
        self._host.submit(c.Stop(cause.cause, cause.detail))

    def cancel_request(self, request: RequestId) -> None:
        """Stop the prompt with this id, if it has no answer yet. Those before the last one are being stopped."""
        if self._prompts and self._prompts[-1].request == request:
            self.stop()

    def _answer_ended(self) -> bool:
        """Answer the prompts whose work has ended, each once. Return whether there were any."""
        ended = [each for each in self._prompts if each.submission.ended.done()]
        for prompt in ended:
            self._prompts.remove(prompt)
            self._answer(prompt)
        if ended and not self._prompts:
            self._display.end()
        return bool(ended)

    def _answer(self, prompt: _Prompt) -> None:
        refused: list[RpcError] = []
        reason, meta = "end_turn", AcpFields()
        with self._refusals.to(refused.append):
            result = prompt.submission.ended.result()
            if isinstance(result, e.TurnEnded):
                reason = self._end_of(result)
                meta = self._receipt_of(result)
        if prompt.is_cancelled:
            self._connection.answer(prompt.request, {"stopReason": "cancelled", **meta})
        elif refused:
            self._connection.refuse(prompt.request, refused[0])
        else:
            self._connection.answer(prompt.request, {"stopReason": reason, **meta})

    def _receipt_of(self, ended: e.TurnEnded) -> AcpFields:
        """Return what happened in a turn, for the editor's program."""
        found = self._watch.ended(ended, self._host.agent.conversation).receipt
        return {"_meta": {"holdfast/receipt": msgspec.to_builtins(found)}}

    def _end_of(self, ended: e.TurnEnded) -> str:
        """Return the stop reason of a turn, or raise `RpcError` if it failed."""
        if ended.reason == "refusal":
            why = f": {ended.detail}" if ended.detail else ""
            self._display.show(self._updates.note(f"The model refused to answer{why.rstrip('.')}."))
        return stop_reason(ended, self._display.fault)

    # --- events of the host -------------------------------------------------------------------------------------

    def _show(self, event: h.HostEvent) -> None:
        match event:
            case h.Opened(facts=facts):
                self._updates.add_known(each.entry for each in facts)
            case h.Busy():
                self._display.begin_turn()
            case h.Idle(ended=ended):
                if not self._answer_ended() and ended is not None:  # of a turn that an ended task began
                    with self._refusals.to(self._warn):
                        self._end_of(ended)
                if not self._prompts:
                    self._display.end()
                if self._listed:
                    self._list_commands()
            case h.Asked(question=question, plan=plan):
                self._question_task = asyncio.create_task(self._ask(question, plan), name="question")
            case h.AskClosed() if self._question_task is not None:
                self._question_task.cancel()
                self._question_task = None
            case h.Lines(submission=number, lines=lines):
                self._display.show(self._updates.answer("\n".join(lines), f"s{number}"))
            case h.Warned(message=message) if not any(each.submission.ended.done() for each in self._prompts):
                self._display.show(self._updates.note(message, "error"))
            case _ if isinstance(event, Event):
                self._watch.see(event)
                self._display.emit(event)
            case _:
                pass

    def _warn(self, error: RpcError) -> None:
        self._display.show(self._updates.note(str(error), "error"))

    async def _ask(self, question: Question, plan: Plan) -> None:
        """Ask the user, and pass on the answer. A question that the user closes stops the turn."""
        answer: ApprovalAnswer | None = ApprovalAnswer()
        with self._refusals.to(lambda _: None):
            answer = await self._questions.ask(question, plan)
        if answer is None:
            self.stop()
        else:
            self._host.submit(c.Answer(question.id, answer.choice, answer.words, answer.marked))

    # --- choices ------------------------------------------------------------------------------------------------

    def choices(self) -> SessionChoices:
        """Return the current choices, and the possible ones."""
        now = self._host.agent.conversation
        return SessionChoices(
            mode=self._host.agent.mode,
            model=now.chosen_model,
            effort=now.settings.effort,
            models=self._offered(now.chosen_model),
            yolo=self._yolo,
        )

    def described(self) -> AcpFields:
        """Return the choices as fields of the answer to `session/new`."""
        choices = self.choices()
        return {"configOptions": choices.config_options(), "modes": choices.mode_state()}

    def choose(self, option: str, value: object) -> c.Submission:
        """Set a choice, from the next request or decision on. Raise `RpcError` if it is not offered."""
        choices = self.choices()
        match option:
            case "mode":
                return self._host.submit(c.UseMode(choices.mode_of(value)))
            case "model":
                if not isinstance(value, str):
                    raise RpcError(INVALID_PARAMS, f"Unknown model {value!r} (expected PROVIDER:MODEL).")
                return self._host.submit(c.UseModel(value))
            case "thinking":
                effort = choices.effort_of(value)
                settings = self._host.agent.conversation.settings
                return self._host.submit(c.UseSettings(msgspec.structs.replace(settings, effort=effort)))
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
        part = next((each.part for each in self._host.agent.conversation.open_calls if each.part.id == call), None)
        return CallCard(part or CallPart(id=call, name="", arguments=""), self._session.cwd, longest=OUTPUT_TAIL)

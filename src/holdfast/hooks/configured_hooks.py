"""What hooks do in a session: what each event tells them, and what follows from what they say.

Interruption rules. `hook-started` is durable before a hook runs, and its end follows in `hook-ended`. A hook about a
call runs before `call-started` or behind the durable `call-ended`, so it can neither eat a result nor be taken for one.
A stop ends it as it ends a command, and the call is settled as not started. A hook that a crash left without an end is
settled by recovery, whether hooks are configured then or not. What a `PreToolUse` hook said about a call is kept in
this process: no question to the user, and no change of the arguments, makes it run twice. After a crash with the
question open it runs again.

Fail closed. A `PreToolUse` hook that was killed, was late, could not start or said what cannot be read makes the call a
question; where no user can be asked, the call is denied. What a hook allows replaces a question and never a refusal.

Example: a `PreToolUse` hook for `Bash` exits with code 2 and prints "no rm here". The journal has `hook-started`,
`hook-ended` (deny), and `call-ended` (denied) with the reason; no `call-started`.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import msgspec

from holdfast.agent.events import CheckFinding, Event
from holdfast.agent.seam import (
    HOOK_CONTEXT,
    Approved,
    CallJudgement,
    Expanded,
    LeftBehind,
    OtherArguments,
    PlannedCall,
    Seam,
)
from holdfast.agent.stop_cause import StopCause
from holdfast.errors import HoldfastError, ToolFailed, UsageError
from holdfast.hooks.answer import HookAnswer, failed_answer
from holdfast.hooks.definition import GATES, SESSION_END, Hook
from holdfast.hooks.hook_runs import Ended, HookRuns
from holdfast.hooks.tool_words import changed_arguments, claude_arguments, claude_name, tool_response
from holdfast.hooks.transcript import HookTranscript
from holdfast.session.conversation.conversation import Conversation
from holdfast.session.journal import entries as e
from holdfast.session.journal.store import StoredEntry
from holdfast.tool_calls import Mode
from holdfast.tools.approval.command_words import harmless
from holdfast.tools.approval.decision import Allow, Ask, Deny
from holdfast.tools.permission_rules.rule_set import RuleSet
from holdfast.tools.toolbox import LocalToolbox

if TYPE_CHECKING:
    from holdfast.agent.agent import Agent

MOST_STOP_BLOCKS = 8
"""How often in a row `Stop` hooks may keep a turn going."""

_MODES: Mapping[Mode, str] = {
    "ask": "default",
    "accept-edits": "acceptEdits",
    "plan": "plan",
    "yolo": "bypassPermissions",
}
_UNREADABLE = "cannot be read (/hooks and `holdfast doctor` say why)"
_MARGIN = 10.0
"""Seconds that the end of a hook may take beyond its own time."""


class ConfiguredHooks:
    """What hooks do in one session. `agent` is that of the session, made later."""

    def __init__(
        self,
        hooks: Sequence[Hook],
        toolbox: LocalToolbox,
        *,
        session: str,
        agent: Callable[[], Agent],
        asks_user: bool,
    ) -> None:
        self._hooks = tuple(hooks)
        self.root: Path = toolbox.root
        """The folder in which hooks run."""
        self._agent = agent
        self._session = session
        self._asks_user = asks_user
        self._runs = HookRuns(toolbox, lambda: agent().journal)
        self._transcript = HookTranscript(toolbox.folder, session=session, cwd=toolbox.root)
        self._emit: Callable[[Event], None] = _hear_nothing
        self._began = False
        self._compacted: e.Compacted | None = None
        self._judged: dict[str, tuple[str, CallJudgement]] = {}  # by call: its arguments, and what was said of them
        self._question_answers: dict[str, tuple[str, CallJudgement]] = {}  # likewise, by `PermissionRequest` hooks
        self._contexts: dict[str, str] = {}  # by call, what `PreToolUse` hooks add behind its result
        self._planned: dict[str, PlannedCall] = {}  # calls that may start

    def bound(self, emit: Callable[[Event], None]) -> Callable[[Event], None]:
        """Keep `emit` for what the user reads, and return it."""
        self._emit = emit
        return emit

    def seam(self) -> Seam:
        """Return how hooks take part in turns."""
        return Seam(
            before_call=(self.before_call,),
            before_question=(self.before_question,),
            before_start=(self.before_start,),
            after_call=(self.after_call,),
            recovery=(self,),
            before_end=(self.before_end,),
            before_compact=(self.before_compact,),
            more_time=max((hook.timeout for hook in self._hooks), default=0.0) + _MARGIN,
        )

    # --- calls ------------------------------------------------------------------------------------------------------

    def before_call(self, planned: PlannedCall) -> CallJudgement | Awaitable[CallJudgement]:
        """Return what `PreToolUse` hooks say about a call; they run once for its arguments."""
        call = planned.call
        known = self._judged.get(call.id)
        if known is not None and known[0] == call.arguments:
            return known[1]
        if planned.plan.is_for_the_user and call.id not in self._question_answers:
            self._question_answers[call.id] = call.arguments, Allow()
            self._notify(f"holdfast asks you about {planned.plan.title}", "elicitation_dialog")
        hooks = self._of("PreToolUse", planned)
        return self._judge(planned, hooks) if hooks else Allow()

    async def _judge(self, planned: PlannedCall, hooks: Sequence[Hook]) -> CallJudgement:
        call = planned.call
        ended = await self._run("PreToolUse", hooks, self._call_fields(planned), call=call.id)
        if context := _contexts(ended):
            self._contexts[call.id] = context
        judgement = _judgement(planned, ended)
        changed = "" if isinstance(judgement, Deny) else self._changed(planned, ended)
        changing = [answer for _, answer in ended if answer.updated is not None and not answer.failed]
        if changed and isinstance(judgement, Approved) and changing[-1].decision != "allow":
            judgement = Allow()  # the hook that allows saw other arguments
        self._judged[call.id] = changed or call.arguments, judgement
        if changed:
            return OtherArguments(changed, changed_by=_by([each for each in ended if each[1].updated is not None]))
        return judgement

    def _changed(self, planned: PlannedCall, ended: Iterable[Ended]) -> str:
        updates = [answer.updated for _, answer in ended if answer.updated is not None and not answer.failed]
        return changed_arguments(planned, updates[-1], self.root) if updates else ""

    def before_question(self, planned: PlannedCall) -> CallJudgement | Awaitable[CallJudgement]:
        """Return what `PermissionRequest` hooks say about a call that the user is about to be asked about."""
        known = self._question_answers.get(planned.call.id)
        if known is not None and known[0] == planned.call.arguments:
            return known[1]
        hooks = self._of("PermissionRequest", planned)
        if hooks:
            return self._answer(planned, hooks)
        return self._left_to_user(planned)

    async def _answer(self, planned: PlannedCall, hooks: Sequence[Hook]) -> CallJudgement:
        call = planned.call
        ended = await self._run("PermissionRequest", hooks, self._call_fields(planned), call=call.id)
        answers = [(hook, answer) for hook, answer in ended if not answer.failed]
        refused = next((each for each in answers if each[1].decision == "deny"), None)
        if refused is not None:
            return Deny(_denied(planned, *refused))
        allowed = next(
            (each for each in answers if each[1].decision == "allow" and _is_seen_by(each[0], planned)), None
        )
        if allowed is None or len(answers) < len(ended):
            return self._left_to_user(planned)
        changed, approved = self._changed(planned, [allowed]), Approved(_by([allowed]))
        self._question_answers[call.id] = changed or call.arguments, approved
        return OtherArguments(changed, changed_by=_by([allowed])) if changed else approved

    def _left_to_user(self, planned: PlannedCall) -> Allow:
        self._question_answers[planned.call.id] = planned.call.arguments, Allow()
        self._notify(f"holdfast needs your permission for {planned.plan.title}", "permission_prompt")
        return Allow()

    def before_start(self, planned: PlannedCall) -> None:
        """Keep the call for the hooks behind its end."""
        self._planned[planned.call.id] = planned

    def after_call(self, ended: e.CallEnded) -> Awaitable[Sequence[e.ResultAmended]] | None:
        """Run the hooks behind the durable outcome of a call; return what they add to its result."""
        planned = self._planned.pop(ended.call, None)
        context = self._contexts.pop(ended.call, "")
        self._judged.pop(ended.call, None)
        self._question_answers.pop(ended.call, None)
        if planned is None:
            return None
        event = "PostToolUse" if ended.outcome == "ok" else "PostToolUseFailure"
        hooks = self._of(event, planned)
        return self._amend(event, planned, ended, hooks, context) if hooks or context else None

    async def _amend(
        self, event: str, planned: PlannedCall, ended: e.CallEnded, hooks: Sequence[Hook], context: str
    ) -> tuple[e.ResultAmended, ...]:
        fields = self._call_fields(planned)
        if event == "PostToolUse":
            fields["tool_response"] = tool_response(planned.tool, ended.outcome, ended.text)
        else:
            fields |= {"error": ended.text, "is_interrupt": ended.outcome == "interrupted"}
        answered = await self._run(event, hooks, fields, call=ended.call) if hooks else ()
        outputs = [answer.output for _, answer in answered if answer.output is not None]
        replaced = [e.ResultAmended(call=ended.call, text=outputs[-1], replaces=True)] if outputs else []
        texts = [context, *(_note(hook, answer.reason) for hook, answer in answered if answer.decision == "block")]
        texts.append(_contexts(answered))
        text = "\n".join(filter(None, texts))
        return (*replaced, *([e.ResultAmended(call=ended.call, text=text)] if text else []))

    # --- turns ------------------------------------------------------------------------------------------------------

    async def submit_prompt(self, typed: str, expanded: Expanded) -> Expanded:
        """Run the hooks of a new session and of the prompt; return the prompt with what they add.

        Raises `UsageError` if one of them forbids it: then nothing is sent.
        """
        contexts: list[str] = []
        if source := self._session_source():
            self._began = True
            hooks = self._of("SessionStart", source)
            fields = {"source": source, "model": self._agent().conversation.chosen_model}
            started = await self._run("SessionStart", hooks, fields)
            contexts.append(_contexts(started))
            _refuse_end(started)
        submitted = await self._run("UserPromptSubmit", self._of("UserPromptSubmit"), {"prompt": typed})
        _refuse_end(submitted)
        for hook, answer in submitted:
            if answer.decision == "block":
                raise _not_sent(hook, answer)
        contexts.append(_contexts(submitted))
        context = "\n".join(filter(None, contexts))
        if not context:
            return expanded
        return msgspec.structs.replace(expanded, text=f"{expanded.text}{HOOK_CONTEXT}{context}")

    def _session_source(self) -> str:
        """Return why the hooks of a session's start are due, "" if they are not."""
        conversation = self._agent().conversation
        before, self._compacted = self._compacted, conversation.compacted
        if not self._began:
            return "resume" if conversation.turns else "startup"
        return "compact" if conversation.compacted is not None and conversation.compacted is not before else ""

    def before_end(self) -> Awaitable[bool] | None:
        """Return whether `Stop` hooks keep the finished turn going; None if there are none."""
        hooks = self._of("Stop")
        return self._goes_on(hooks) if hooks else None

    async def _goes_on(self, hooks: Sequence[Hook]) -> bool:
        journal = self._agent().journal
        conversation = journal.conversation
        blocks = blocks_in_a_row(journal.stored_after(max(0, journal.checkpoints.turn_began - 1)))
        fields = {
            "stop_hook_active": blocks > 0,
            "last_assistant_message": conversation.answer,
            "background_tasks": [task.started.id for task in conversation.open_tasks],
        }
        ended = await self._run("Stop", hooks, fields, ends=False)
        if any(answer.ends for _, answer in ended):
            return False
        reasons = [_note(hook, answer.reason) for hook, answer in ended if answer.decision == "block"]
        if not reasons:
            return False
        if blocks >= MOST_STOP_BLOCKS:
            self._emit(
                CheckFinding(f"Hooks of Stop kept the turn going {MOST_STOP_BLOCKS} times in a row. It ends now.")
            )
            return False
        journal.append(e.Steered(queued="", text="\n".join(reasons), cause="hook"))
        return True

    def before_compact(self, why: e.Why, wish: str) -> Awaitable[str] | None:
        """Return why `PreCompact` hooks forbid a compaction, "" if they do not; None if there are none."""
        trigger = "manual" if why == "asked" else "auto"
        hooks = self._of("PreCompact", trigger)
        return self._forbid(hooks, {"trigger": trigger, "custom_instructions": wish}) if hooks else None

    async def _forbid(self, hooks: Sequence[Hook], fields: dict[str, object]) -> str:
        ended = await self._run("PreCompact", hooks, fields)
        return next(
            (
                f"{_by([each])} blocked it: {each[1].reason.rstrip('.')}."
                for each in ended
                if each[1].decision == "block"
            ),
            "",
        )

    # --- a step of recovery: it ends with the session ---------------------------------------------------------------

    @property
    def any_running(self) -> bool:
        """Return whether a hook runs."""
        return self._runs.any_running

    def orphans(self, conversation: Conversation) -> tuple[LeftBehind, ...]:
        """Return nothing: recovery knows the hooks of an earlier process by itself."""
        del conversation
        return ()

    def missing_ends(self, conversation: Conversation, running: str, *, began: Mapping[str, float]) -> tuple[()]:
        """Return nothing, as above."""
        del conversation, running, began
        return ()

    async def end(self, within: float) -> None:
        """Stop every hook, then run those for the end of the session, all within `SESSION_END`."""
        await self._runs.end(within)
        hooks = [msgspec.structs.replace(hook, timeout=SESSION_END) for hook in self._of("SessionEnd", "other")]
        if self._began and hooks:
            ending = asyncio.ensure_future(self._run("SessionEnd", hooks, {"reason": "other"}, ends=False))
            await asyncio.wait({ending}, timeout=SESSION_END + within)
            if not ending.done():
                ending.cancel()
            elif (error := ending.exception()) is not None:
                self._agent().journal.not_recorded(error)
            await self._runs.end(within)

    # --- running ----------------------------------------------------------------------------------------------------

    def _of(self, event: str, subject: PlannedCall | str | None = None) -> tuple[Hook, ...]:
        """Return the hooks of an event that match the call, or the word, that it is about: each command once."""
        match subject:
            case None:
                names: tuple[str, ...] = ()
            case str():
                names = (subject,)
            case _:
                names = (claude_name(subject.tool), subject.tool)
        found = [hook for hook in self._hooks if hook.event == event and hook.matches(*names)]
        if isinstance(subject, PlannedCall):
            found = [hook for hook in found if self._fits(hook, subject)]
        return _each_line_once(found)

    def _fits(self, hook: Hook, planned: PlannedCall) -> bool:
        """Return whether the call is one that the hook's condition is about; a gate's is, unless it surely is not."""
        if hook.condition is None:
            return True
        rules = RuleSet(rules=(hook.condition,), root=str(self.root))
        if rules.against("ask", planned.plan, planned.plan.line, tool=planned.tool) is not None:
            return True
        return hook.event in GATES and not _is_seen_by(hook, planned)

    def _call_fields(self, planned: PlannedCall) -> dict[str, object]:
        return {
            "tool_name": claude_name(planned.tool),
            "tool_input": claude_arguments(planned, self.root),
            "tool_use_id": planned.call.id,
        }

    async def _run(
        self, event: str, hooks: Sequence[Hook], fields: Mapping[str, object], *, call: str = "", ends: bool = True
    ) -> tuple[Ended, ...]:
        """Run hooks, and return what they said; one that ends the turn stops it."""
        if not hooks:
            return ()
        readable = [hook for hook in hooks if hook.command]
        ended = await self._runs.run(readable, self._payload(event, fields), call=call) if readable else ()
        ended += tuple((hook, failed_answer(_UNREADABLE)) for hook in hooks if not hook.command)
        turn = self._agent().turn
        reason = next((answer.reason for _, answer in ended if answer.ends), None)
        if ends and reason is not None and turn is not None:
            turn.stop.set(StopCause("hook", reason))
        return ended

    def _notify(self, message: str, kind: str) -> None:
        """Start the hooks of a notification; nothing waits for them."""
        hooks = self._of("Notification", kind) if self._asks_user else ()
        if hooks:
            try:
                fields = {"message": message, "notification_type": kind}
                self._runs.start(hooks, self._payload("Notification", fields))
            except HoldfastError as error:
                self._emit(CheckFinding(f"The hooks of Notification did not run: {error}"))

    def _payload(self, event: str, fields: Mapping[str, object]) -> bytes:
        """Return what the hooks of an event read on stdin, and write the transcript first."""
        agent = self._agent()
        try:
            self._transcript.write(agent.journal)
        except ToolFailed as failed:  # the hook decides without it
            self._emit(CheckFinding(str(failed)))
        known = {
            "session_id": self._session,
            "transcript_path": str(self._transcript.path),
            "cwd": str(self.root),
            "permission_mode": _MODES[agent.mode],
            "hook_event_name": event,
        }
        return msgspec.json.encode({**known, **fields})


def _is_seen_by(hook: Hook, planned: PlannedCall) -> bool:
    """Return whether all that a call does can be compared with the hook's condition."""
    line = planned.plan.line
    if hook.condition is None or hook.condition.subject == "tool":
        return True
    if line is None:
        return planned.tool != "bash"
    return not line.unclear and all(part.words and (not part.fed or harmless(part.words, ())) for part in line.parts)


def _each_line_once(hooks: Iterable[Hook]) -> tuple[Hook, ...]:
    """Return the hooks, each line once and as its most careful one has it: waited for if one is, with the most time."""
    found: dict[str, Hook] = {}
    for hook in hooks:
        known = found.get(hook.line, hook)
        found[hook.line] = msgspec.structs.replace(
            known, timeout=max(known.timeout, hook.timeout), is_async=known.is_async and hook.is_async
        )
    return tuple(found.values())


def blocks_in_a_row(entries: Iterable[StoredEntry]) -> int:
    """Return how often hooks have kept the turn going since the user's last word in it."""
    blocks = 0
    for record in entries:
        match record.entry:
            case e.Steered(cause="hook"):
                blocks += 1
            case e.PromptAccepted() | e.Steered():
                blocks = 0
            case _:
                pass
    return blocks


def _judgement(planned: PlannedCall, ended: Sequence[Ended]) -> CallJudgement:
    """Return what the hooks decide together: a refusal, then a question, then an approval."""
    for hook, answer in ended:
        if answer.decision == "deny":
            return Deny(_denied(planned, hook, answer))
    needs_approval = f"The call {planned.plan.title!r} needs approval"  # how the question shows the rest
    for hook, answer in ended:
        if answer.failed:
            return Ask(f"{needs_approval}: {_by([(hook, answer)])} could not decide, it {answer.failed}.")
    for hook, answer in ended:
        if answer.decision == "ask":
            why = f": {answer.reason}" if answer.reason else "."
            return Ask(f"{needs_approval}: {_by([(hook, answer)])} wants the user to decide{why}")
    approving = [each for each in ended if each[1].decision == "allow" and _is_seen_by(each[0], planned)]
    return Approved(_by(approving)) if approving else Allow()


def _denied(planned: PlannedCall, hook: Hook, answer: HookAnswer) -> str:
    return f"Hook {hook.shown!r} denies {planned.plan.title!r}: {answer.reason} It was not run."


def _by(ended: Sequence[Ended]) -> str:
    return f"Hook {ended[0][0].shown!r}" if ended else "A hook"


def _note(hook: Hook, text: str) -> str:
    return f"[Hook {hook.shown!r}] {text}"


def _contexts(ended: Iterable[Ended]) -> str:
    return "\n".join(answer.context for _, answer in ended if answer.context)


def _refuse_end(ended: Iterable[Ended]) -> None:
    """Raise `UsageError` if a hook ended the work before the prompt was sent."""
    for hook, answer in ended:
        if answer.ends:
            raise _not_sent(hook, answer)


def _not_sent(hook: Hook, answer: HookAnswer) -> UsageError:
    return UsageError(
        f"Prompt was not sent: hook {hook.shown!r} blocked it: {answer.reason.rstrip('.')}. Change the prompt, or the "
        "hook (/hooks lists them)."
    )


def _hear_nothing(event: Event) -> None:
    """Take an event before a client listens."""
    del event

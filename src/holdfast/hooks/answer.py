"""What a hook said: its exit code and what it printed, read as Claude Code reads them. Pure.

Exit 0: a stdout that begins with `{` is JSON, any other is text. Exit 2 blocks, with stderr as the reason, whatever
stdout says. Any other code is an error that blocks nothing. A hook that was killed, was late, could not start or
printed JSON that cannot be read has `failed`: it decided nothing, and what waits for its decision must not take that
for a yes.

Laws (`tests/hooks/test_answer_laws.py`): any bytes give an answer of bounded size; no answer of a failed hook allows.
"""

from __future__ import annotations

from typing import Literal

import msgspec

from holdfast.text import valid_unicode
from holdfast.tool_calls import Outcome
from holdfast.tools.process.command_end import CommandFinished
from holdfast.typed_data import decode_json

MOST_HOOK_TEXT = 10_000
"""Characters of each text of a hook that are kept."""

MOST_OUTPUT = 1_000_000
"""Bytes of the output of a hook that are read."""

_BLOCKS = 2
_NOT_STARTED = (126, 127)


class HookAnswer(msgspec.Struct, frozen=True, kw_only=True):
    """What a hook said. `decision` is about its call or event; `reason` is why, for the model, or for the user.

    `failed` is why it could not decide, "" if it could. `context` is more text for the model, `message` is for the
    user. `updated` are the arguments that the call shall have, `output` the result that it shall have. With `ends`, the
    turn ends, for `reason`.
    """

    outcome: Outcome = "ok"
    decision: Literal["", "allow", "ask", "deny", "block"] = ""
    reason: str = ""
    failed: str = ""
    context: str = ""
    message: str = ""
    updated: dict[str, object] | None = None
    output: str | None = None
    ends: bool = False
    seconds: float = 0.0
    exit: int | None = None


class _PermissionAnswer(msgspec.Struct, frozen=True):
    behavior: Literal["allow", "deny"] | None = None
    updatedInput: dict[str, object] | None = None  # noqa: N815 - as it is written
    message: str | None = None


class _Specific(msgspec.Struct, frozen=True):
    additionalContext: str | None = None  # noqa: N815 - as it is written
    permissionDecision: Literal["allow", "deny", "ask", "defer"] | None = None  # noqa: N815 - likewise
    permissionDecisionReason: str | None = None  # noqa: N815 - likewise
    updatedInput: dict[str, object] | None = None  # noqa: N815 - likewise
    updatedToolOutput: object = None  # noqa: N815 - likewise
    decision: _PermissionAnswer | None = None


class _Output(msgspec.Struct, frozen=True, rename={"goes_on": "continue"}):
    goes_on: bool | None = True
    stopReason: str | None = None  # noqa: N815 - as it is written
    systemMessage: str | None = None  # noqa: N815 - likewise
    decision: Literal["block", "approve"] | None = None
    reason: str | None = None
    hookSpecificOutput: _Specific | None = None  # noqa: N815 - likewise


def answer_of(  # noqa: PLR0911 - one for each way to end
    event: str, finished: CommandFinished, stdout: bytes, stderr: bytes
) -> HookAnswer:
    """Return what a hook of an event said."""
    out, err = _text(stdout), _text(stderr)
    known = HookAnswer(seconds=finished.seconds, exit=finished.code)
    replace = msgspec.structs.replace
    if why := _not_ended(finished):
        return replace(known, outcome="failed" if finished.cause == "exit" else "interrupted", failed=why, reason=err)
    if finished.code in _NOT_STARTED:
        return replace(known, outcome="failed", failed=f"could not start (exit code {finished.code})", reason=err)
    if finished.code == _BLOCKS:
        return replace(known, decision=_blocking(event), reason=err or "It exited with code 2, and gave no reason.")
    if finished.code:
        return replace(known, outcome="failed", reason=err or f"exit code {finished.code}")
    if not stdout.lstrip().startswith(b"{"):
        text_counts = event in ("UserPromptSubmit", "SessionStart")
        return replace(known, context=out if text_counts else "")
    try:
        output = decode_json(stdout, _Output)
    except (msgspec.DecodeError, UnicodeDecodeError) as error:
        return replace(known, outcome="failed", failed=f"printed JSON that cannot be read: {error}")
    return _json_answer(event, output, known)


def failed_answer(why: str) -> HookAnswer:
    """Return the answer of a hook that could not be run."""
    return HookAnswer(outcome="failed", failed=valid_unicode(why)[:MOST_HOOK_TEXT])


def _not_ended(finished: CommandFinished) -> str:
    match finished.cause:
        case "exit" if finished.signal is not None or finished.code is None:
            return f"was ended by signal {finished.signal}"
        case "exit":
            return ""
        case "timeout":
            return f"was ended: it took more than {finished.seconds:.1f} s"
        case "stop":
            return "was stopped"
        case "signalled" | "unguarded" | "lost":
            return "was ended: the process that ran it died"


def _blocking(event: str) -> Literal["deny", "block"]:
    return "deny" if event in ("PreToolUse", "PermissionRequest") else "block"


def _json_answer(event: str, output: _Output, known: HookAnswer) -> HookAnswer:
    """Return the answer of a hook that printed JSON."""
    specific = output.hookSpecificOutput or _Specific()
    decision: Literal["", "allow", "ask", "deny", "block"] = ""
    reason, updated = output.reason or "", specific.updatedInput
    if output.decision == "block":
        decision = _blocking(event)
    elif output.decision == "approve" and event == "PreToolUse":
        decision = "allow"
    if event == "PreToolUse" and specific.permissionDecision is not None:
        decision = "ask" if specific.permissionDecision == "defer" else specific.permissionDecision
        reason = specific.permissionDecisionReason or reason
    if event == "PermissionRequest" and specific.decision is not None:
        decision = specific.decision.behavior or ""
        updated = specific.decision.updatedInput
        reason = specific.decision.message or reason
    new_output = specific.updatedToolOutput
    text = new_output if new_output is None or isinstance(new_output, str) else msgspec.json.encode(new_output).decode()
    ends = output.goes_on is False
    return msgspec.structs.replace(
        known,
        decision=decision,
        reason=_short((output.stopReason or reason) if ends else reason),
        context=_short(specific.additionalContext or ""),
        message=_short(output.systemMessage or ""),
        updated=updated,
        output=None if text is None else _short(text),
        ends=ends,
    )


def _text(raw: bytes) -> str:
    return _short(raw[: 4 * MOST_HOOK_TEXT].decode(errors="replace").strip())


def _short(text: str) -> str:
    text = valid_unicode(text)
    return (
        text
        if len(text) <= MOST_HOOK_TEXT
        else f"{text[:MOST_HOOK_TEXT]}\n[... {len(text) - MOST_HOOK_TEXT} characters cut ...]"
    )

"""Hooks about calls: what they decide, in which order it is journalled, and what fails is never a yes."""

from __future__ import annotations

import asyncio
import json
import os
import re
import signal
from pathlib import Path

import pytest

from holdfast.agent.seam import Expanded
from holdfast.agent.stop_cause import StopCause
from holdfast.errors import UsageError
from holdfast.hooks.definition import Hook
from holdfast.questions import ApprovalAnswer, Question
from holdfast.session.conversation.conversation import UserMessage
from holdfast.session.journal import entries as e
from holdfast.testing.script import Call, Say
from holdfast.tools.tool import Plan
from hook_rig import HookRig, hook, hook_rig, python
from process_leaks import linux_only
from undo_rig import until

pytestmark = linux_only

DENY = python('print("Not here.", file=sys.stderr); sys.exit(2)')
ALLOW = python('print(json.dumps({"hookSpecificOutput": {"permissionDecision": "allow"}}))')


def results(rig: HookRig) -> list[str]:
    """Return what the model reads of its calls."""
    return [
        result.text
        for message in rig.agent.conversation.messages
        if isinstance(message, UserMessage)
        for result in message.results
    ]


async def yes(question: Question, plan: Plan) -> ApprovalAnswer:
    del plan
    return ApprovalAnswer(next(each.name for each in question.choices if each.allows))


async def test_a_hook_denies_before_the_call_starts(tmp_path: Path) -> None:
    async with hook_rig(tmp_path, hook("PreToolUse", DENY, "Bash")) as rig:
        await rig.bash("touch ran")
        assert rig.kinds == ["prompt-accepted", "hook-started", "hook-ended", "call-ended", "turn-ended"]
        (ended,) = rig.ended
        assert (ended.decision, ended.text, ended.exit) == ("deny", "Not here.", 2)
        assert rig.outcomes == ["denied"]
        assert "Not here." in results(rig)[0]
    assert not (tmp_path / "w" / "ran").exists()


async def test_a_hook_for_another_tool_does_not_run(tmp_path: Path) -> None:
    async with hook_rig(tmp_path, hook("PreToolUse", DENY, "Edit|Write"), hook("PreToolUse", DENY, "^Ba$")) as rig:
        await rig.bash("touch ran")
        assert "hook-started" not in rig.kinds
        assert rig.outcomes == ["ok"]


BROKEN = {
    "killed": python("os.kill(os.getpid(), 9)"),
    "late": python("import time; time.sleep(600)"),
    "not there": "/no/such/program",
    "broken JSON": "echo '{ no'",
    "an unknown decision": """echo '{"hookSpecificOutput": {"permissionDecision": "yes"}}'""",
}


@pytest.mark.parametrize("how", BROKEN)
async def test_what_fails_is_a_question_and_without_a_user_a_no(tmp_path: Path, how: str) -> None:
    hooks = (hook("PreToolUse", ALLOW), hook("PreToolUse", BROKEN[how], timeout=0.3 if how == "late" else 30))
    async with hook_rig(tmp_path, *hooks) as rig:  # in yolo, where nothing else asks
        await rig.bash("touch ran")
        assert rig.outcomes == ["denied"]
        assert "could not decide" in results(rig)[0]
        assert not (rig.folder / "ran").exists()
    asked: list[str] = []

    async def ask(question: Question, plan: Plan) -> ApprovalAnswer:
        asked.append(question.reason)
        return await yes(question, plan)

    async with hook_rig(tmp_path, *hooks, ask=ask) as rig:
        await rig.bash("touch ran")
        assert len(asked) == 1
        assert "could not decide" in asked[0]
        assert rig.outcomes == ["ok"]
        assert sum(isinstance(each, e.HookStarted) for each in rig.entries) == 2  # the answer runs none again


async def test_the_kill_of_a_running_hook_asks_the_user(tmp_path: Path) -> None:
    asked: list[str] = []

    async def ask(question: Question, plan: Plan) -> ApprovalAnswer:
        asked.append(question.reason)
        return await yes(question, plan)

    command = python('open("pid", "w").write(str(os.getpid())); import time; time.sleep(600)')
    async with hook_rig(tmp_path, hook("PreToolUse", command), ask=ask) as rig:
        turn = asyncio.create_task(rig.bash("touch ran"))
        pid = rig.folder / "pid"
        await until(lambda: pid.exists() and pid.read_text() != "")
        os.kill(int(pid.read_text()), signal.SIGKILL)
        await turn
        assert "could not decide" in asked[0]
        assert rig.outcomes == ["ok"]


async def test_an_error_that_is_no_gate_blocks_nothing(tmp_path: Path) -> None:
    async with hook_rig(tmp_path, hook("PreToolUse", "echo oops >&2; exit 1")) as rig:
        await rig.bash("touch ran")
        assert rig.outcomes == ["ok"]
        assert [(each.outcome, each.decision, each.text) for each in rig.ended] == [("failed", "", "oops")]


async def test_an_approval_replaces_a_question_and_no_refusal(tmp_path: Path) -> None:
    async with hook_rig(tmp_path, hook("PreToolUse", ALLOW), mode="ask") as rig:
        await rig.bash("touch ran")
        assert rig.outcomes == ["ok"]
    async with hook_rig(tmp_path, hook("PreToolUse", ALLOW), mode="plan") as rig:
        await rig.bash("touch ran")
        assert rig.outcomes == ["denied"]
    async with hook_rig(tmp_path, hook("PreToolUse", ALLOW), hook("PreToolUse", DENY), mode="ask") as rig:
        await rig.bash("touch ran")
        assert rig.outcomes == ["denied"]


async def test_a_hook_never_answers_for_the_user_what_the_model_asks(tmp_path: Path) -> None:
    async with hook_rig(tmp_path, hook("PreToolUse", ALLOW), hook("PermissionRequest", ALLOW)) as rig:
        await rig.turn((Call("present_plan", {"plan": "All of it."}),))
        assert rig.outcomes == ["denied"]


async def test_a_changed_call_is_planned_again_and_the_hook_runs_once(tmp_path: Path) -> None:
    change = python(
        'print(json.dumps({"hookSpecificOutput": {"updatedInput": {**told["tool_input"], "command": "echo two"}}}))'
    )
    async with hook_rig(tmp_path, hook("PreToolUse", change, "Bash")) as rig:
        await rig.bash("echo one")
        (started,) = (each for each in rig.entries if isinstance(each, e.CallStarted))
        assert json.loads(started.arguments) == {"command": "echo two"}
        assert "Hook" in started.changed_by
        assert len(rig.ended) == 1
        assert results(rig)[0].startswith("two")
        assert "changed this call" in results(rig)[0]


async def test_what_a_hook_reads_has_the_names_of_the_other_program(tmp_path: Path) -> None:
    keep = python('json.dump({**told, "project": os.environ["CLAUDE_PROJECT_DIR"]}, open("told.json", "w"))')
    async with hook_rig(tmp_path, hook("PreToolUse", keep, "Edit"), mode="accept-edits") as rig:
        (rig.folder / "a.py").write_text("one\n")
        await rig.turn((Call("read", {"path": "a.py"}),), (Call("edit", {"path": "a.py", "old": "one", "new": "two"}),))
        told = json.loads((rig.folder / "told.json").read_text())
        call = next(each.call for each in rig.entries if isinstance(each, e.CallStarted) and each.effect == "write")
        assert told["tool_name"] == "Edit"
        path = str(rig.hooks.root / "a.py")
        assert told["tool_input"] == {"file_path": path, "old_string": "one", "new_string": "two"}
        assert told["tool_use_id"] == call
        assert told["permission_mode"] == "acceptEdits"
        assert told["hook_event_name"] == "PreToolUse"
        assert told["session_id"] == "hooked"
        assert told["project"] == told["cwd"] == str(rig.hooks.root)
        expect_transcript(Path(told["transcript_path"]), rig.session)


def expect_transcript(transcript: Path, folder: Path) -> None:
    """Assert that the file has the conversation of the test above in the other program's format."""
    assert transcript.stat().st_mode & 0o777 == 0o600
    assert transcript.parent == folder
    lines = [json.loads(line) for line in transcript.read_text().splitlines()]
    assert [line["type"] for line in lines] == ["user", "assistant", "user", "assistant"]
    assert lines[0]["message"]["content"] == "go on"
    assert lines[1]["message"]["content"][0]["name"] == "Read"
    assert lines[2]["message"]["content"][0]["type"] == "tool_result"
    assert [line["parentUuid"] for line in lines] == [None, *(line["uuid"] for line in lines[:-1])]


async def test_a_result_is_durable_before_the_hook_behind_it_and_amended_after(tmp_path: Path) -> None:
    add = python('print(json.dumps({"hookSpecificOutput": {"additionalContext": "lint: clean"}}))')
    async with hook_rig(tmp_path, hook("PostToolUse", add, "Bash")) as rig:
        await rig.bash("echo one")
        kinds = [kind for kind in rig.kinds if kind != "prompt-accepted"]
        assert kinds == ["call-started", "call-ended", "hook-started", "hook-ended", "result-amended", "turn-ended"]
        assert results(rig)[0].endswith("lint: clean")
        assert results(rig)[0].startswith("one")
        sent = rig.model.requests[-1]
        assert "lint: clean" in str(sent)


async def test_a_hook_behind_a_failure_has_its_own_event(tmp_path: Path) -> None:
    hooks = (hook("PostToolUse", "touch post"), hook("PostToolUseFailure", "touch failure"))
    async with hook_rig(tmp_path, *hooks) as rig:
        await rig.bash("exit 3")
        assert (rig.folder / "failure").exists()
        assert not (rig.folder / "post").exists()


async def test_what_a_hook_leaves_running_is_not_waited_for(tmp_path: Path) -> None:
    async with hook_rig(tmp_path, hook("PreToolUse", "sleep 600 & echo started")) as rig:
        await rig.bash("true")  # the supervisor starts with the first hook
        await rig.bash("true")
        waits = [each.seconds for each in rig.ended]
        assert all(seconds < 60 for seconds in waits)
        assert [each.outcome for each in rig.ended] == ["ok", "ok"]


async def test_a_flood_is_cut(tmp_path: Path) -> None:
    flood = f"{python('pass').split()[0]} -c 'import sys; sys.stderr.write(\"x\" * 9_000_000); sys.exit(2)'"
    async with hook_rig(tmp_path, hook("PreToolUse", flood)) as rig:
        await rig.bash("touch ran")
        (ended,) = rig.ended
        assert ended.decision == "deny"
        assert 10_000 <= len(ended.text) < 10_100
        assert "characters cut" in ended.text
        assert list((rig.session / "spool").iterdir()) == []


async def test_the_same_command_runs_once(tmp_path: Path) -> None:
    hooks = [hook("PreToolUse", "echo run >> runs", matcher) for matcher in ("Bash", "*", "Bash|Edit")]
    async with hook_rig(tmp_path, *hooks) as rig:
        await rig.bash("true")
        assert (rig.folder / "runs").read_text() == "run\n"


async def test_a_stop_ends_the_hook_and_its_call_did_not_start(tmp_path: Path) -> None:
    command = python('open("pid", "w").write(str(os.getpid())); import time; time.sleep(600)')
    async with hook_rig(tmp_path, hook("PreToolUse", command)) as rig:
        turn = asyncio.create_task(rig.bash("touch ran"))
        pid = rig.folder / "pid"
        await until(lambda: pid.exists() and pid.read_text() != "")
        rig.agent.stop(StopCause("user"))
        ended = await turn
        assert ended.cause == "user"
        assert rig.outcomes == ["not_started"]
        await until(lambda: len(rig.ended) == 1)
        assert rig.ended[0].outcome == "interrupted"
        await until(lambda: not Path("/proc", pid.read_text()).exists())
    assert not (tmp_path / "w" / "ran").exists()


async def test_continue_false_ends_the_turn_for_its_reason(tmp_path: Path) -> None:
    end = python('print(json.dumps({"continue": False, "stopReason": "That is enough."}))')
    async with hook_rig(tmp_path, hook("PostToolUse", end)) as rig:
        ended = await rig.bash("echo one")
        assert (ended.cause, ended.detail, ended.reason) == ("hook", "That is enough.", "cancelled")
        assert rig.outcomes == ["ok"]
        assert [each.decision for each in rig.ended] == ["stop"]


async def test_a_permission_request_hook_answers_in_place_of_the_user(tmp_path: Path) -> None:
    allow = python('print(json.dumps({"hookSpecificOutput": {"decision": {"behavior": "allow"}}}))')
    deny = python('print(json.dumps({"hookSpecificOutput": {"decision": {"behavior": "deny", "message": "No."}}}))')
    for command, outcome in ((allow, "ok"), (deny, "denied")):
        async with hook_rig(tmp_path, hook("PermissionRequest", command), mode="ask", ask=yes) as rig:
            await rig.bash("touch ran")
            assert rig.outcomes == [outcome]
            assert "approval-asked" not in rig.kinds
            assert len(rig.ended) == 1


async def test_a_question_notifies_and_does_not_wait_for_that(tmp_path: Path) -> None:
    notify = hook("Notification", "cat > notified.json; sleep 600")
    async with hook_rig(tmp_path, notify, mode="ask", ask=yes) as rig:
        await rig.bash("touch ran")
        assert rig.outcomes == ["ok"]
        file = rig.folder / "notified.json"
        await until(lambda: file.exists() and file.read_text().endswith("}"))
        assert json.loads(file.read_text())["notification_type"] == "permission_prompt"


@pytest.mark.parametrize("hooks", [(hook("Stop", "exit 2"),), (hook("Stop", "exit 2"), hook("Stop", "true"))])
async def test_a_stop_hook_keeps_the_turn_going_eight_times(tmp_path: Path, hooks: tuple[Hook, ...]) -> None:
    async with hook_rig(tmp_path, *hooks) as rig:
        rig.model.extend(*((Say(f"{number}"),) for number in range(12)))
        ended = await rig.agent.run("go on")
        assert ended.cause == "finished"
        steered = [each for each in rig.entries if isinstance(each, e.Steered)]
        assert [each.cause for each in steered] == ["hook"] * 8
        assert len(rig.model.requests) == 9


async def test_the_count_of_stop_hooks_is_in_the_journal(tmp_path: Path) -> None:
    keep = python(
        'open("active", "a").write(f"{told[\'stop_hook_active\']}\\n"); sys.exit(0 if os.path.exists("end") else 2)'
    )
    async with hook_rig(tmp_path, hook("Stop", keep)) as rig:
        rig.model.extend(*((Say(f"{number}"),) for number in range(3)), (Call("bash", {"command": "touch end"}),))
        await rig.turn()
        assert (rig.folder / "active").read_text().split() == ["False", "True", "True", "True"]


async def test_no_stop_hook_runs_behind_a_stop_of_the_user(tmp_path: Path) -> None:
    async with hook_rig(tmp_path, hook("Stop", "touch stopped")) as rig:
        rig.model.extend((Call("bash", {"command": "sleep 600"}),))
        turn = asyncio.create_task(rig.agent.run("go on"))
        await until(lambda: "call-started" in rig.kinds)
        rig.agent.stop(StopCause("user"))
        await turn
        assert not (rig.folder / "stopped").exists()


async def test_a_prompt_gets_its_context_or_is_refused(tmp_path: Path) -> None:
    hooks = (
        hook("SessionStart", "echo branch main", "startup"),
        hook("SessionStart", "echo never", "resume"),
        hook("UserPromptSubmit", 'grep -q forbidden && { echo "No such word." >&2; exit 2; }; echo noted'),
    )
    async with hook_rig(tmp_path, *hooks) as rig:
        expanded = await rig.hooks.submit_prompt("hello", Expanded("hello there"))
        assert expanded.text.startswith("hello there\n\n[Context")
        assert expanded.text.endswith("branch main\nnoted")
        with pytest.raises(UsageError, match=r"No such word"):
            await rig.hooks.submit_prompt("forbidden", Expanded("forbidden"))
        assert [each.event for each in rig.entries if isinstance(each, e.HookStarted)] == [
            "SessionStart",
            "UserPromptSubmit",
            "UserPromptSubmit",
        ]


async def test_a_compaction_is_refused(tmp_path: Path) -> None:
    async with hook_rig(tmp_path, hook("PreCompact", 'echo "Keep all." >&2; exit 2', "manual")) as rig:
        for number in range(6):
            await rig.turn((Say(f"{number} " + "long words of an answer " * 400),))
        with pytest.raises(UsageError, match=r"Keep all"):
            await rig.agent.compact()
        assert not any(isinstance(each, e.Compacted) for each in rig.entries)


async def test_the_end_of_a_session_has_its_hooks_and_little_time(tmp_path: Path) -> None:
    hooks = (hook("SessionEnd", "touch ended"), hook("SessionEnd", "sleep 600"))
    async with hook_rig(tmp_path, *hooks) as rig:
        await rig.hooks.submit_prompt("hello", Expanded("hello"))
    assert (tmp_path / "w" / "ended").exists()
    assert sorted(each.outcome for each in rig.ended) == ["interrupted", "ok"]
    assert re.fullmatch(r"It was .*", next(each.text for each in rig.ended if each.outcome != "ok"))


async def test_a_session_without_a_prompt_ends_without_hooks(tmp_path: Path) -> None:
    async with hook_rig(tmp_path, hook("SessionEnd", "touch ended")) as rig:
        pass
    assert rig.ended == []

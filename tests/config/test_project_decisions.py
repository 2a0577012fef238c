"""What the user allows permanently: asked once, kept where no repository can write it, never more than was shown."""

from __future__ import annotations

import asyncio
import stat
from collections.abc import Callable
from pathlib import Path

import pytest

from agent_harness import Rig
from holdfast.agent.events import NotRecorded
from holdfast.config.project_decisions import Project
from holdfast.errors import ConfigInvalid
from holdfast.questions import ApprovalAnswer
from holdfast.session.journal.entries import ApprovalAnswered, ApprovalAsked
from holdfast.session.journal.parts import CallPart
from holdfast.session.journal.store import MemoryStore
from holdfast.testing.script import Call, Say
from holdfast.testing.scripted_model import ScriptedModel
from holdfast.testing.toolbox import FunctionTool
from holdfast.tool_calls import FileChange, Mode, Pattern, Remember
from holdfast.tools.tool import Plan, ToolContext, ToolOutput

SRC = Pattern(effect="write", text="src/**")


def edits(path: str) -> FunctionTool:
    async def run(arguments: dict[str, object], context: ToolContext) -> ToolOutput:
        del arguments, context
        return ToolOutput(text="edited")

    return FunctionTool("edit", "write", run, change=FileChange(path=path, before=None, after="0" * 64))


class Person:
    """A user who allows everything, and counts the questions."""

    def __init__(self, remember: Remember, *, meanwhile: Callable[[], None] = lambda: None) -> None:
        self.remember: Remember = remember
        self.meanwhile = meanwhile
        self.questions = 0

    async def __call__(self, call: CallPart, plan: Plan, why: str) -> ApprovalAnswer:
        del call, plan, why
        self.questions += 1
        self.meanwhile()
        await asyncio.sleep(0)
        return ApprovalAnswer(allowed=True, remember=self.remember)


def edit_rig(person: Person, *, path: str = "src/a.py", mode: Mode = "ask", project: Project | None = None) -> Rig:
    script = [[Call("edit", {}), Call("edit", {})], [Say("done")]]
    rig = Rig(ScriptedModel(script), [edits(path)], mode=mode, ask=person)
    rig.agent.permissions.project = project
    return rig


async def test_once_is_once() -> None:
    person = Person("")
    rig = edit_rig(person)
    await rig.agent.run("edit")
    assert person.questions == 2
    assert rig.agent.conversation.allowed == ()


async def test_for_the_session_is_kept_with_the_session() -> None:
    person = Person("session")
    rig = edit_rig(person)
    await rig.agent.run("edit")
    assert person.questions == 1
    patterns = [entry.pattern for entry in rig.entries if isinstance(entry, ApprovalAsked)]
    assert patterns == [SRC], "what may be remembered is in the question"
    answered = [(entry.remember, entry.pattern) for entry in rig.entries if isinstance(entry, ApprovalAnswered)]
    assert answered == [("session", SRC)]
    store = MemoryStore()
    store.append(rig.entries, expected=0)
    again = Rig(ScriptedModel([[Call("edit", {})], [Say("done")]]), [edits("src/b.py")], mode="ask", ask=person)
    again.store = store
    again.agent = again.new_agent()
    await again.agent.run("edit that too")
    assert person.questions == 1


async def test_for_the_project_is_kept_in_the_persons_state(tmp_path: Path) -> None:
    person, state = Person("project"), tmp_path / "state" / "approvals"
    rig = edit_rig(person, project=Project(state, tmp_path / "project"))
    await rig.agent.run("edit")
    assert person.questions == 1
    (file,) = state.iterdir()
    assert stat.S_IMODE(file.stat().st_mode) == 0o600
    other = edit_rig(person, project=Project(state, tmp_path / "project"))
    await other.agent.run("edit")
    assert person.questions == 1
    elsewhere = edit_rig(person, project=Project(state, tmp_path / "another"))
    await elsewhere.agent.run("edit")
    assert person.questions == 2


async def test_an_approval_that_cannot_be_kept_counts_in_the_session_and_is_reported(tmp_path: Path) -> None:
    person = Person("project")
    rig = edit_rig(person, project=Project(tmp_path / "state" / "approvals", tmp_path))
    (tmp_path / "state").write_text("not a folder")
    await rig.agent.run("edit")
    assert person.questions == 1
    assert any(isinstance(event, NotRecorded) for event in rig.events)
    assert rig.agent.conversation.allowed == (SRC,)


async def test_what_runs_by_itself_is_asked_about_each_time() -> None:
    person = Person("project")
    rig = edit_rig(person, path=".git/hooks/pre-commit", mode="accept-edits")
    await rig.agent.run("edit")
    assert person.questions == 2
    assert rig.agent.conversation.allowed == ()


async def test_a_mode_counts_from_the_next_decision_even_while_the_user_thinks() -> None:
    def plan_only() -> None:
        rig.agent.mode = "plan"

    person = Person("session", meanwhile=plan_only)
    rig = edit_rig(person)
    await rig.agent.run("edit")
    assert person.questions == 1
    assert rig.outcomes == {"edit": "denied"}
    result = rig.results()["edit"]
    assert result.text.startswith("Plan mode allows only reading:")
    rig.agent.mode = "yolo"
    assert rig.agent.mode == "yolo"
    rig.model.extend([Call("edit", {})], [Say("done")])
    await rig.agent.run("now")
    assert rig.outcomes == {"edit": "ok"}


def test_a_file_that_is_none_allows_nothing_and_says_so(tmp_path: Path) -> None:
    project = Project(tmp_path, Path("/p"))
    project.allow(SRC)
    project.allow(SRC)
    assert Project(tmp_path, Path("/p")).patterns == (SRC,)
    Project(tmp_path, Path("/p")).forbid(SRC)
    assert Project(tmp_path, Path("/p")).patterns == ()
    (file,) = tmp_path.iterdir()
    file.write_text('{"project": "/other", "allowed": [{"effect": "write", "text": "src/**"}]}')
    assert Project(tmp_path, Path("/p")).patterns == ()
    file.write_text("{")
    damaged = Project(tmp_path, Path("/p"))
    assert (damaged.patterns, damaged.trusts("any")) == ((), None)
    assert damaged.unread.endswith("delete it to be asked again. Until then it allows nothing.")
    with pytest.raises(ConfigInvalid, match="to be asked again"):
        damaged.allow(SRC)
    assert damaged.patterns == (SRC,)
    assert file.read_text() == "{"


def test_two_processes_keep_what_each_allowed(tmp_path: Path) -> None:
    one, two = Project(tmp_path, Path("/p")), Project(tmp_path, Path("/p"))
    one.allow(SRC)
    two.allow(Pattern(effect="execute", text="make"))
    assert set(Project(tmp_path, Path("/p")).patterns) == {SRC, Pattern(effect="execute", text="make")}

"""SIGKILL while the user is asked about a call: when the session is opened again they are asked again, once."""

from __future__ import annotations

import asyncio
import signal
import subprocess
import sys
from pathlib import Path

from holdfast.agent.agent import Agent
from holdfast.providers.model import Model
from holdfast.questions import ApprovalAnswer
from holdfast.session.conversation.conversation import UserMessage
from holdfast.session.journal.parts import CallPart
from holdfast.session.storage.sqlite_store import SqliteStore
from holdfast.testing.script import Say
from holdfast.testing.scripted_model import ScriptedModel
from holdfast.tools.tool import Plan
from holdfast.tools.toolbox import LocalToolbox

DIES = """
import asyncio, sys
from pathlib import Path
from holdfast.agent.agent import Agent
from holdfast.session.journal.entries import SessionOpened
from holdfast.session.storage.sqlite_store import SqliteStore
from holdfast.testing.scripted_model import ScriptedModel
from holdfast.testing.script import Call
from holdfast.tools.toolbox import LocalToolbox

async def main(folder):
    store = SqliteStore.create(folder / "home" / "session")
    toolbox = LocalToolbox(folder / "workspace", folder / "home" / "session")
    opened = SessionOpened(session="session", cwd=str(folder / "workspace"), model="openai-chat:m", system="S",
                           tools=toolbox.schemas, version="0")
    store.append([opened], expected=0)
    model = ScriptedModel([[Call("read", {"path": "a.txt"}), Call("bash", {"command": "echo ran >> ran.txt"}),
                            Call("write", {"path": "b.txt", "content": "new"})]])

    async def connect(name):
        return model

    async def ask(call, plan, why):
        print("ASKED", flush=True)
        await asyncio.Event().wait()

    agent = Agent(store=store, toolbox=toolbox, connect=connect, mode="ask", emit=lambda _: None, ask=ask)
    await agent.run("do it")

asyncio.run(main(Path(sys.argv[1])))
"""


def test_the_question_is_asked_again_once(tmp_path: Path) -> None:
    (tmp_path / "workspace").mkdir()
    (tmp_path / "home").mkdir()
    (tmp_path / "workspace" / "a.txt").write_text("one\n")
    with subprocess.Popen([sys.executable, "-c", DIES, str(tmp_path)], stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == "ASKED\n"
        process.send_signal(signal.SIGKILL)
    questions = asyncio.run(_taken_up(tmp_path))
    assert questions == ["bash", "write"]
    assert (tmp_path / "workspace" / "ran.txt").read_text() == "ran\n"
    assert (tmp_path / "workspace" / "b.txt").read_text() == "new"


async def _taken_up(folder: Path) -> list[str]:
    """Return what the user is asked when the session is opened again."""
    questions: list[str] = []
    model = ScriptedModel([[Say("done")]])

    async def connect(name: str) -> Model:
        del name
        return model

    async def ask(call: CallPart, plan: Plan, why: str) -> ApprovalAnswer:
        del plan, why
        questions.append(call.name)
        await asyncio.sleep(0)
        return ApprovalAnswer(allowed=True)

    agent = Agent(
        store=SqliteStore.open(folder / "home" / "session"),
        toolbox=LocalToolbox(folder / "workspace", folder / "home" / "session"),
        connect=connect,
        mode="ask",
        emit=lambda _: None,
        ask=ask,
    )
    ended = await agent.resume_turn()
    await agent.close()
    assert ended is not None
    assert ended.cause == "finished"
    last = model.requests[-1].messages[-1]
    assert isinstance(last, UserMessage)
    assert [result.outcome for result in last.results] == ["ok", "ok", "ok"]
    return questions

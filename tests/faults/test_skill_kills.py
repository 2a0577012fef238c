"""SIGKILL at each entry of a turn with a command in its prompt, a skill and nested instructions: of agent, supervisor.

What must hold: no prompt exists before its text does, the command has one end, each call one outcome, the next prompt
works, and a second later nothing of the command lives. A command that no supervisor runs is found out.
"""

from __future__ import annotations

import json
import os
import time
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import pytest
from launching import World
from report import record
from struck import left

from holdfast.history.profiles import OPENAI_CHAT
from holdfast.session.journal import entries as e
from holdfast.session.journal.parts import CallPart
from holdfast.session.storage.sqlite_store import read_copy
from holdfast.session.verify import verify
from holdfast.skills.trusted_texts import judge_texts
from holdfast.testing.script import Call, ReceivedRequest, Reply, Say
from holdfast.testing.scripted_provider import ScriptedProvider
from launcher import PRODUCT
from polling import eventually
from process_leaks import linux_only
from tiers import sampled, some

pytestmark = linux_only

VICTIMS = ("agent", "supervisor", "supervisor-agent")
MOST = 4

STRIKE = """
import json, os, pathlib, signal, time
from holdfast.session.journal.entries import ProcessStarted
from holdfast.session.storage.sqlite_store import SqliteStore

victims, point = os.environ["STRIKE"].split()
append, done = SqliteStore.append, 0

def above(pid):
    return int(pathlib.Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[1])

def strike():
    marker = pathlib.Path("marker")
    pids = [int(each) for each in marker.read_text().split()] if marker.exists() else []
    told = {"at": time.monotonic(), "pids": pids}
    pathlib.Path("struck.new").write_text(json.dumps(told))
    os.rename("struck.new", "struck")
    if "supervisor" in victims:
        try:
            boss = above(pids[0])
        except (OSError, IndexError):
            boss = 0
        if boss > 1 and boss != os.getpid():
            os.kill(boss, signal.SIGKILL)
    if "agent" in victims:
        os.kill(os.getpid(), signal.SIGKILL)

def struck(self, entries, *, expected):
    global done
    done += 1
    if int(point) == 2 * done - 1:
        strike()
    length = append(self, entries, expected=expected)
    if int(point) == 2 * done:
        until = time.monotonic() + 30
        while any(isinstance(each, ProcessStarted) for each in entries) and time.monotonic() < until:
            if os.path.exists("marker"):
                break
            time.sleep(0.005)
        strike()
    if point == "0":
        pathlib.Path("points").write_text(str(2 * done))
    return length

SqliteStore.append = struck
"""

UNSUPERVISED = """
import asyncio, subprocess
from holdfast.skills import prompt_texts

async def output(self, file, command, *, trusted):
    ran = await asyncio.to_thread(subprocess.run, command, shell=True, stdout=subprocess.PIPE, start_new_session=True)
    return ran.stdout.decode(), False

prompt_texts.PromptTexts._output = output
"""
"""Known-bad: a command of a prompt runs beside the supervisor and the journal."""

COMMAND = "Its state: !`sleep 300 & echo $$ $! > new; mv new marker; sleep 0.3; kill $!; echo clean`\n"


def turn(request: ReceivedRequest) -> Reply:
    """Return what the model does next: a skill, a file with instructions beside it, an answer."""
    if '"go on"' in str(request.body).replace("'", '"'):
        return (Say("Whole again."),)
    match sum(message["role"] == "assistant" for message in request.messages):
        case 0:
            return (Call("skill", {"name": "greet"}),)
        case 1:
            return (Call("read", {"path": "a/x"}),)
        case _:
            return (Say("Done."),)


@pytest.fixture
def skill_world(tmp_path: Path) -> Iterator[World]:
    with ScriptedProvider() as provider:
        world = World("openai-chat", root=tmp_path, provider=provider)
        world.one_past = False
        try:
            yield world
            world.verify()
        finally:
            world.close()


def struck_at(world: World, victims: str, point: int, *, program: str = STRIKE) -> list[str]:
    """Return what is wrong after a strike at a point of the turn."""
    folder = world.folder / f"{victims}-{point}"
    for name, text in (
        (".claude/skills/greet/SKILL.md", "---\ndescription: Greets\n---\nHello."),
        (".claude/commands/look.md", COMMAND),
        ("a/AGENTS.md", "Use tabs."),
        ("a/x", "x"),
    ):
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(text)
    judge_texts(world.environ(), folder, trusted=True)
    world.script(*[turn] * 5)
    how = ("-m", world.model, "--yolo", "-p", "/look")
    agent = world.start(*how, program=program + PRODUCT, environ=world.environ(STRIKE=f"{victims} {point}"), cwd=folder)
    if point == 0:
        assert agent.wait().code == 0
        return []
    eventually((folder / "struck").exists)
    struck = json.loads((folder / "struck").read_text())
    found: list[str] = []
    ran = agent.wait()
    if "agent" in victims:
        remain, _ = left(struck["pids"], struck["at"])
        found += [f"{len(remain)} processes live"] if remain else []
    remain, _ = left(map(int, marked(folder)), time.monotonic())
    found += [f"{len(remain)} processes live after the end"] if remain else []
    if ("agent" in victims) != (ran.code == -9):
        found += complaints_of_end(ran.code, ran.err)
    for session in (each for each in world.sessions if opened_in(world, each) == str(folder)):
        world.go_on(cwd=folder)
        found += complaints(world.entries(session), prompts_at_most=2)
        found += [each.what for each in verify(session.name, read_copy(session), OPENAI_CHAT).problems]
    return [f"{victims} at {point}: {each}" for each in found]


def marked(folder: Path) -> list[str]:
    return (folder / "marker").read_text().split() if (folder / "marker").exists() else []


def complaints_of_end(code: int, err: str) -> list[str]:
    """Return what is wrong with the end of an agent that was not killed: it may have refused the prompt."""
    return [] if code == 0 or "Nothing was sent" in err else [f"it ended with {code}: {err}"]


def opened_in(world: World, session: Path) -> str:
    entries = world.entries(session)
    return entries[0].cwd if entries and isinstance(entries[0], e.SessionOpened) else ""


def complaints(entries: list[e.Entry], *, prompts_at_most: int) -> list[str]:
    """Return what is wrong in the journal of a settled session."""
    started = [each.id for each in entries if isinstance(each, e.ShellStarted)]
    ended = Counter(each.id for each in entries if isinstance(each, e.ShellEnded))
    found = [f"command {each} has {ended[each]} ends" for each in started if ended[each] != 1]
    parts = [part for each in entries if isinstance(each, e.ResponseEnded) for part in each.parts]
    calls = [part.id for part in parts if isinstance(part, CallPart)]
    outcomes = Counter(each.call for each in entries if isinstance(each, e.CallEnded))
    found += [f"call {each} has {outcomes[each]} outcomes" for each in calls if outcomes[each] != 1]
    prompts = [each for each in entries if isinstance(each, e.PromptAccepted)]
    found += [f"a prompt says {each.text!r}" for each in prompts if each.typed and each.text != "Its state: clean"]
    if any(each.typed for each in prompts) and not any(
        isinstance(each, e.ShellEnded) and each.outcome == "ok" for each in entries
    ):
        found.append("a prompt was accepted without the end of its command")
    found += ["too many prompts"] if len(prompts) > prompts_at_most else []
    notes = [each.note for each in entries if isinstance(each, e.FilesChanged)]
    found += ["instructions were given twice"] if sum("Use tabs." in note for note in notes) > 1 else []
    return found


def tried(world: World, victims: str, *, most: int, program: str = STRIKE) -> tuple[list[str], int, int]:
    """Return what is wrong at any point, how many were tried, and how many there are."""
    struck_at(world, victims, 0)
    many = int((world.folder / f"{victims}-0" / "points").read_text())
    points = [point for (point,) in some([(each,) for each in range(1, many + 1)], most)]
    return [each for point in points for each in struck_at(world, victims, point, program=program)], len(points), many


@pytest.mark.parametrize("victims", sampled(VICTIMS, 2))
def test_a_kill_at_any_entry_of_a_turn_with_skills(skill_world: World, victims: str) -> None:
    found, points, of = tried(skill_world, victims, most=MOST)
    record("a turn with a command and a skill", f"{victims} killed", points=points, of=of, violations=found)
    assert found == []


def test_a_command_beside_the_supervisor_is_found_out(skill_world: World) -> None:
    """Killed while the command runs, the agent leaves its processes."""
    folder = skill_world.folder / "agent-0"
    folder.mkdir()
    (folder / ".claude/commands").mkdir(parents=True)
    (folder / ".claude/commands/look.md").write_text(
        COMMAND.replace("sleep 0.3", "sleep 3000").replace("sleep 300 ", "sleep 3000 ")
    )
    judge_texts(skill_world.environ(), folder, trusted=True)
    how = ("-m", skill_world.model, "--yolo", "-p", "/look")
    agent = skill_world.start(*how, program=UNSUPERVISED + PRODUCT, cwd=folder)
    eventually((folder / "marker").exists)
    agent.kill()
    remain, _ = left(map(int, marked(folder)), time.monotonic())
    record(
        "a command in a prompt, beside the supervisor",
        "agent killed",
        points=1,
        violations=list(map(str, remain)),
        known_bad=True,
    )
    assert remain
    assert os.getpid() not in remain

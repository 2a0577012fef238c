"""A session with real tools in a real folder, a scripted model, and the undo of files."""

from __future__ import annotations

import asyncio
import os
import stat
import subprocess
from collections.abc import AsyncGenerator, Callable, Sequence
from contextlib import asynccontextmanager
from pathlib import Path

from agent_harness import opened
from holdfast.agent.agent import Agent
from holdfast.agent.events import Event
from holdfast.host.kept_files import KeptFiles
from holdfast.providers.model import Model
from holdfast.session.journal import entries as e
from holdfast.session.journal.store import MemoryStore, Store
from holdfast.testing.script import Call, Reply, Say
from holdfast.testing.scripted_model import ScriptedModel
from holdfast.tools.toolbox import LocalToolbox
from holdfast.undo.session_undo import SessionUndo
from polling import HANGS

GIT = ("git", "-c", "user.name=t", "-c", "user.email=t@example.org")

State = tuple[str, object, object]


def git(folder: Path, *words: str) -> str:
    """Run git in a folder as its user does."""
    return subprocess.run([*GIT, *words], cwd=folder, check=True, capture_output=True, text=True).stdout


def contents(folder: Path) -> dict[str, State]:
    """Return everything below a folder but git's own: files with mode and content, links, folders."""
    found: dict[str, State] = {}
    for at, folders, files in os.walk(folder):
        if at == str(folder):
            folders[:] = [name for name in folders if name != ".git"]
        for name in (*folders, *files):
            path = Path(at, name)
            status = path.lstat()
            key = str(path.relative_to(folder))
            if path.is_symlink():
                found[key] = ("link", str(path.readlink()), "")
            elif path.is_dir():
                found[key] = ("folder", "", "")
            else:
                found[key] = ("file", path.read_bytes(), stat.S_IMODE(status.st_mode))
    return found


async def until(check: Callable[[], bool]) -> None:
    """Wait for something that happens beside."""
    for _ in range(int(100 * HANGS)):
        if check():
            return
        await asyncio.sleep(0.01)
    raise AssertionError("it did not happen")


class UndoRig:
    """A session in `home/w`, whose files are kept in `home/home/s`."""

    def __init__(self, home: Path, store: Store | None = None, *, confined: bool = False) -> None:
        self.home = home
        self.confined = confined
        self.folder = home / "w"
        self.session = home / "home" / "s"
        self.folder.mkdir(exist_ok=True)
        self.session.mkdir(exist_ok=True, parents=True)
        self.store = store or MemoryStore()
        if self.store.length == 0:
            self.store.append([opened()], expected=0)
        self.model = ScriptedModel()
        self.events: list[Event] = []
        self.agent, self.undo = self._opened()

    def _opened(self) -> tuple[Agent, SessionUndo]:
        async def connect(name: str) -> Model:
            del name
            return self.model

        toolbox = LocalToolbox(self.folder, self.session)
        if self.confined:
            toolbox.confine("require")
        reading = self.store.read()
        kept = KeptFiles(toolbox, reading)
        agent = Agent(
            store=self.store,
            toolbox=toolbox,
            connect=connect,
            mode="yolo",
            emit=kept.bound(lambda: self.agent.journal, self.events.append),
            seam=kept.seam(),
            reading=reading,
        )
        return agent, kept.undo

    async def turn(self, *replies: Reply) -> e.TurnEnded:
        """Run a turn in which the model makes these calls, one reply after the other."""
        self.model.extend(*replies, (Say("Done."),))
        return await self.agent.run("go on")

    async def calls(self, *calls: Call) -> e.TurnEnded:
        """Run a turn with a reply for each call."""
        return await self.turn(*((call,) for call in calls))

    async def bash(self, *lines: str) -> e.TurnEnded:
        """Run a turn with these commands."""
        return await self.calls(*(Call("bash", {"command": line}) for line in lines))

    @property
    def entries(self) -> list[e.Entry]:
        """Return the journal."""
        return [record.entry for record in self.store.read().records]

    def of(self, kind: type) -> Sequence[e.Entry]:
        """Return the entries of one kind."""
        return [each for each in self.entries if isinstance(each, kind)]


@asynccontextmanager
async def undo_rig(home: Path, store: Store | None = None, *, confined: bool = False) -> AsyncGenerator[UndoRig]:
    """Give a session whose commands may be confined, and close it."""
    rig = UndoRig(home, store, confined=confined)
    try:
        yield rig
    finally:
        await rig.agent.close()

"""A session whose first entry is flipped at any byte, or cut off anywhere in it: the agent goes on, and loses no more.

Two rules. The session is young, so that most of its file is that entry; it is continued as a user does, found by its
folder, opened and prompted. `test_store_damage.py` damages every byte of a journal and asks the store alone.
"""

from __future__ import annotations

import asyncio
import shutil
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest
from report import record
from store_trials import chosen, red, scratch

from holdfast.agent.agent import Agent
from holdfast.agent.sessions import OpenSession, create, fork, resume
from holdfast.errors import HoldfastError
from holdfast.history.profiles import OPENAI_CHAT
from holdfast.providers.model import Model
from holdfast.session.catalog import Catalog
from holdfast.session.conversation.conversation import AssistantMessage, Conversation, UserMessage
from holdfast.session.journal.entries import Repaired, encode
from holdfast.session.storage.sqlite_store import read_copy
from holdfast.session.verify import verify
from holdfast.testing.script import Call, Say
from holdfast.testing.scripted_model import ScriptedModel
from holdfast.ui.export.export import session_document
from tiers import DEEP, SEED

_MODEL = "openai-chat:scripted"
_PROMPT, _ANSWER, _NEXT = "the first prompt", "The first answer.", "Whole again."
_PIECES = 8 if DEEP else 1  # of each case, so that workers share them evenly
_MOST = 10


@dataclass(frozen=True, slots=True)
class Young:
    """A session with one turn, closed and as kill -9 leaves it; `body` are the bytes of its first entry."""

    base: Path
    cwd: Path
    body: bytes


@pytest.fixture(scope="module")
def young() -> Iterator[Young]:
    with scratch() as base:
        cwd = base / "work"
        cwd.mkdir()
        catalog = Catalog(base / "open")
        session = create(catalog, cwd=cwd, model=_MODEL)
        script = [[Call("bash", {"command": "echo one"})], [Say(_ANSWER)]]

        def killed() -> None:
            shutil.copytree(base / "open", base / "killed", ignore=shutil.ignore_patterns("supervisor.*"))

        asyncio.run(_turn(session, ScriptedModel(script), _PROMPT, killed))
        body = encode(read_copy(catalog.folder(session.id)).records[0].entry)
        (base / "open").rename(base / "closed")
        yield Young(base, cwd, body)


async def _turn(session: OpenSession, model: ScriptedModel, prompt: str, then: Callable[[], None]) -> None:
    async def connect(name: str) -> Model:
        del name
        return model

    agent = Agent(
        store=session.store,
        toolbox=session.toolbox,
        connect=connect,
        mode="yolo",
        emit=lambda _: None,
        reading=session.reading,
    )
    try:
        assert (await agent.run(prompt)).cause == "finished"
        then()
    finally:
        await agent.close()


def _continued(root: Path, cwd: Path, *, complete: bool) -> list[str]:
    """Return what is wrong with how the session in `root` goes on; `complete` if only its first entry was damaged."""
    catalog = Catalog(root)
    found = catalog.latest(cwd)
    if found is None:
        return ["it is not found by its folder"]
    problems = verify(found.id, read_copy(catalog.folder(found.id)), OPENAI_CHAT).problems
    wrong = [f"verify says {each.todo!r}" for each in problems if not each.todo.startswith("Continue with holdfast -r")]
    session_document(catalog.folder(found.id))
    copy = fork(catalog, found)
    copy.store.close()
    if copy.cwd != cwd:
        wrong.append(f"its copy works in {copy.cwd}")
    shutil.rmtree(catalog.folder(copy.id))
    for number in (1, 2):
        session = resume(catalog, catalog.find(found.id))
        model = ScriptedModel([[Say(_NEXT)]])
        asyncio.run(_turn(session, model, "go on", lambda: None))
        wrong += [f"the {number}. time {each}" for each in _sent(model.requests[-1], cwd, complete=complete)]
    reading = read_copy(catalog.folder(found.id))
    findings = [
        each for record in reading.records if isinstance(record.entry, Repaired) for each in record.entry.findings
    ]
    if reading.findings and not findings:
        wrong.append("the damage was not reported")
    if len(set(findings)) < len(findings):
        wrong.append("it was reported twice")
    return wrong


def _sent(conversation: Conversation, cwd: Path, *, complete: bool) -> Iterator[str]:
    opened = conversation.opened
    if opened is None or (opened.cwd, conversation.model) != (str(cwd), _MODEL):
        yield f"it works with {opened}"
    elif not opened.system or not opened.tools:
        yield "the system prompt or the tools are missing"
    texts = [text for each in conversation.messages if isinstance(each, UserMessage) for text in each.texts]
    answers = [part for each in conversation.messages if isinstance(each, AssistantMessage) for part in each.parts]
    results = [result for each in conversation.messages if isinstance(each, UserMessage) for result in each.results]
    has_turn = _PROMPT in texts and _ANSWER in str(answers) and [result.outcome for result in results] == ["ok"]
    if complete and not has_turn:
        yield "a part of the first turn is lost"


def _flipped(data: bytes, place: int) -> bytes:
    return data[:place] + bytes([data[place] ^ 1 << (place + SEED) % 8]) + data[place + 1 :]


def _cut(data: bytes, place: int) -> bytes:
    return data[:place]


def _places(data: bytes, body: bytes) -> list[int]:
    """Return where the bytes of the entry lie in the file, found by pieces of it: it stands on several pages.

    A piece stands behind the one before it; one that does not, at the only place that it has: other entries, too, name
    the model.
    """
    found: set[int] = set()
    behind = len(data)
    for start in range(0, len(body) - 15, 16):
        piece = body[start : start + 16]
        at = behind if data.startswith(piece, behind) else data.find(piece) if data.count(piece) == 1 else len(data)
        if at < len(data):
            found.update(range(at, at + 16))
        behind = at + 16
    assert len(found) > len(body) // 2
    return sorted(found)


@pytest.mark.parametrize("piece", range(_PIECES))
@pytest.mark.parametrize("damage", [_flipped, _cut], ids=["flipped", "cut"])
@pytest.mark.parametrize(("state", "file"), [("closed", "session.db"), ("killed", "session.db-wal")])
def test_a_session_goes_on_whatever_byte_of_its_first_entry_is_damaged(
    young: Young, state: str, file: str, damage: Callable[[bytes, int], bytes], piece: int
) -> None:
    (path,) = (young.base / state).glob(f"*/{file}")
    data = path.read_bytes()
    every = _places(data, young.body)
    few = chosen(every, _MOST)[piece::_PIECES]

    def tried(place: int) -> list[str]:
        root = young.base / "damaged"
        shutil.rmtree(root, ignore_errors=True)
        shutil.copytree(young.base / state, root)
        (root / path.relative_to(young.base / state)).write_bytes(damage(data, place))
        try:
            return _continued(root, young.cwd, complete=damage is _flipped)
        except (HoldfastError, AssertionError) as error:
            return [f"{type(error).__name__}: {error}"]

    found = red((f"byte {place}", tried(place)) for place in few)
    record(
        f"a young session, {state}", "a bit flipped", points=len(few), violations=found, of=len(every[piece::_PIECES])
    )
    assert found == []

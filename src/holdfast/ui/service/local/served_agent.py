"""The agent of a session that the local server drives, with the options of a run in its folder."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path

import msgspec

from holdfast.agent.events import Event, Fact
from holdfast.agent.turn.approval_prompt import ApprovalPrompt
from holdfast.fleet.held_session import HeldSession
from holdfast.fleet.places.place import SessionPlace
from holdfast.fleet.worker.driven_agent import DrivenAgent
from holdfast.providers.connect import connect
from holdfast.providers.model import Model
from holdfast.providers.registry import split
from holdfast.questions import QuestionRules
from holdfast.session.journal.store import StoredEntry
from holdfast.system.threads import in_daemon
from holdfast.tool_calls import Image, Mode
from holdfast.tools.workspace.images import named_images
from holdfast.ui.service.local.local_held_session import LocalHeldSession
from holdfast.ui.service.local.served_session import ServedSession
from holdfast.ui.startup.debug_log_option import debug_log_note


class OwnFolder(msgspec.Struct, frozen=True, kw_only=True):
    """The folder of a local session: a `SessionPlace` that never moves."""

    cwd: Path
    identity: str = "local"
    wrap: tuple[str, ...] = ()

    def values(self) -> dict[str, object]:
        """Return the folder."""
        return {"cwd": str(self.cwd)}

    def save(self, turn: int) -> dict[str, object]:
        """Return the folder; there is nothing to save."""
        del turn
        return self.values()

    def close(self, *, remove: bool) -> None:
        """Do nothing: the folder is the user's."""


class ServedAgent:
    """An `AgentMaker` for one open session. `publish` gets durable entries and live events, and must not block."""

    def __init__(
        self,
        served: ServedSession,
        session: LocalHeldSession,
        *,
        publish: Callable[[StoredEntry | Event], None],
        yolo: bool,
    ) -> None:
        self._served = served
        self._session = session
        self._publish = publish
        self._yolo = yolo

    def place(self, session: str, values: Mapping[str, object]) -> SessionPlace:
        """Return the session's folder."""
        del session, values
        return OwnFolder(cwd=self._served.session.cwd)

    def __call__(self, held_session: HeldSession, place: SessionPlace, ask: ApprovalPrompt) -> DrivenAgent:
        """Return the agent."""
        del held_session
        options, session = self._served.options, self._served.session
        agent = options.new_agent(
            store=session.store,
            toolbox=session.toolbox,
            project=options.project_of(place.cwd),
            connect=self._connect,
            emit=self._emit,
            ask=ask,
            offered=QuestionRules(yolo=self._yolo),
            reading=session.reading,
            log=self._served.log,
        )
        if not agent.conversation.chosen_model and options.model:
            agent.use_model(options.model)
        modes: tuple[Mode, ...] = ("ask", "accept-edits", "plan", *(("yolo",) if self._yolo else ()))
        return DrivenAgent(
            agent=agent,
            modes=modes,
            check_model=lambda name: split(name, options.providers),
            find_images=lambda _agent, text: self._images(text),
        )

    def _images(self, text: str) -> tuple[Image, ...]:
        images, wrong = named_images(text, self._served.session.cwd)
        for why in wrong:
            debug_log_note(why)
        return images

    async def _connect(self, name: str) -> Model:
        options = self._served.options
        aim = await in_daemon(lambda: options.endpoint(name))  # the keyring may be slow
        return await connect(aim, options.limits.of(name), log=self._served.log)

    def _emit(self, event: Event) -> None:
        if not isinstance(event, Fact):
            self._publish(event)
            return
        self._publish(StoredEntry(event.seq, self._served.session.store.appended_at, event.entry))
        self._session.recorded(event.seq, event.entry)

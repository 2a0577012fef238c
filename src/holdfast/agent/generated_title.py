"""Has a model write the session's title in the background, if the user has configured one for that.

How it works. When the first turn of a session has ended and the user has not named it, one request goes to that model,
over its own connection, while the session continues. The answer is journalled as a title with the model's name. Nothing
waits for it: not the next prompt, and not the end of the session, which stops the request.

Interruption. Nothing is journalled before the answer has arrived, because the request has no effect but its cost. After
a crash, the end of the session or a failure, the first prompt stays the title. The model is asked once, after the first
turn, and never again: a title is not worth a second try. If the user sets a title in the meantime, the answer is
dropped.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable

import msgspec

from holdfast.agent.cancellation import DetachedTasks, StopSignal, TurnStopped
from holdfast.agent.events import CheckFinding, Event, Fact
from holdfast.agent.journal_writer import JournalWriter
from holdfast.agent.model_request.connection import Connection
from holdfast.agent.model_request.response_stream import Stream
from holdfast.agent.stop_cause import StopCause
from holdfast.config.settings import Limits
from holdfast.errors import HoldfastError
from holdfast.providers.model import Model
from holdfast.session.conversation.conversation import AssistantMessage, Conversation, UserMessage
from holdfast.session.journal.entries import SessionOpened, Titled, TurnEnded
from holdfast.session.journal.model_settings import ModelSettings
from holdfast.session.journal.parts import TextPart
from holdfast.session.request.normalize import with_changes
from holdfast.session.titles import prompt_title
from holdfast.text import valid_unicode

TITLE_INSTRUCTIONS = (
    "Write a title for the conversation that the user quotes: three to seven words, in the language of the user, "
    "without quotation marks and without a full stop. Answer with the title only."
)

WITHIN = 60.0
"""Seconds that the request may take."""

_PROMPT, _ANSWER = 4_000, 2_000  # characters that are quoted


class GeneratedTitle:
    """Asks `model` for the title of one session, at most once."""

    def __init__(
        self,
        model: str,
        *,
        journal: Callable[[], JournalWriter],
        connect: Callable[[str], Awaitable[Model]],
        limits: Limits,
        defaults: Callable[[str], ModelSettings],
    ) -> None:
        """Create it before the session's agent; `journal` is called once that runs. With model "" it does nothing."""
        self._model = model
        self._journal = journal
        self._detached = DetachedTasks()
        self._connection = Connection(connect, limits, self._detached)
        self._limits = limits
        self._defaults = defaults
        self._emit: Callable[[Event], None] = lambda _: None
        self._named = False
        self._task: asyncio.Task[None] | None = None
        self._stop: StopSignal | None = None

    def wrap_emit(self, emit: Callable[[Event], None]) -> Callable[[Event], None]:
        """Return an `emit` that also starts the request once the first turn has ended; it never waits."""
        self._emit = emit

        def titling_emit(event: Event) -> None:
            emit(event)
            match event:
                case Fact(entry=Titled()):
                    self._named = True
                case Fact(entry=TurnEnded(turn=1, reason="end_turn")):
                    self._begin()
                case _:
                    pass

        return titling_emit if self._model else emit

    def _begin(self) -> None:
        conversation = self._journal().conversation
        if self._task is None and not self._named and not conversation.title:
            self._stop = StopSignal(self._detached)
            self._task = asyncio.get_running_loop().create_task(self._ask(conversation, self._stop), name="title")

    def _notify(self, why: str) -> None:
        self._emit(CheckFinding(f"No title from {self._model!r}: {why} The first prompt is the title."))

    @property
    def running(self) -> bool:
        """Return whether the title is being written."""
        return self._task is not None and not self._task.done()

    async def end(self) -> None:
        """Stop the request, if one runs, and close its connection: within twice `drop_wait`. Raise what it raised."""
        if self._task is not None and self._stop is not None:
            self._stop.set(StopCause("external", "the session was closed"))
            await asyncio.wait({self._task})
            await self._detached.end(self._limits.drop_wait)
            self._task.result()

    async def _ask(self, conversation: Conversation, stop: StopSignal) -> None:
        try:
            await self._write(title_request(conversation, self._model, self._defaults(self._model)), stop)
        except TurnStopped:
            pass  # the session is closed: its first prompt is its title
        except TimeoutError:
            self._notify(f"it took longer than {WITHIN:g} s.")
        except HoldfastError as error:
            self._notify(str(error))
        finally:
            await self._connection.drop()

    async def _write(self, conversation: Conversation, stop: StopSignal) -> None:
        model = await self._connection.model(self._model, stop)
        stream = Stream(
            0,
            model,
            non_streaming=False,
            limits=self._limits.of(self._model),
            detached=self._detached,
            append=lambda _: None,
            emit=lambda _: None,
        )
        async with asyncio.timeout(WITHIN):
            finished = await stream.run(conversation, stop, on_event=lambda: None)
        answer = "".join(part.text for part in finished.parts if isinstance(part, TextPart))
        title = prompt_title(valid_unicode(answer).replace("**", "")).strip(" \"'`.")
        if not title:
            self._notify("its answer was empty.")
        elif not self._named:
            self._journal().append(Titled(title=title, model=model.name, usage=finished.usage))


def title_request(conversation: Conversation, model: str, settings: ModelSettings) -> Conversation:
    """Return a conversation, without tools, that asks `model` for a title of the first exchange."""
    opened = conversation.opened
    first_entry = SessionOpened(
        session=opened.session if opened else "",
        cwd=opened.cwd if opened else "",
        model=model,
        system=TITLE_INSTRUCTIONS,
        tools=(),
        version=opened.version if opened else "",
    )
    prompt = conversation.prompts[0].text if conversation.prompts else ""
    answer = next(
        (
            part.text
            for message in reversed(conversation.messages)
            if isinstance(message, AssistantMessage)
            for part in message.parts
            if isinstance(part, TextPart)
        ),
        "",
    )
    quoted = f"<user>\n{prompt[:_PROMPT]}\n</user>\n<assistant>\n{answer[:_ANSWER]}\n</assistant>"
    return with_changes(
        msgspec.structs.replace(
            conversation,
            opened=first_entry,
            model=model,
            settings=settings,
            messages=(UserMessage((), (quoted,)),),
            queued=(),
        )
    )

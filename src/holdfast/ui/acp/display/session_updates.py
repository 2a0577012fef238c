"""Events and entries as the updates that a client shows: the same for a running turn and for a replay.

A replay has no streamed text, so a response is shown when it ends; at the end of a live one only the text that was not
streamed follows. Ids are those of the journal: a client that saw part of a turn sees the same ids in a replay.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Literal

from holdfast.agent.events import (
    CheckFinding,
    Event,
    Fact,
    LiveCall,
    LiveOutput,
    LivePrompt,
    LiveText,
    LiveThinking,
    NotRecorded,
    Shortening,
    TurnFailed,
)
from holdfast.session.journal import entries as e
from holdfast.session.journal.parts import CallPart, TextPart, ThinkingPart
from holdfast.session.journal.store import StoredEntry
from holdfast.text import printable, valid_unicode
from holdfast.ui.acp.display.call_cards import (
    LARGEST_SHOWN,
    OUTCOMES,
    AcpFields,
    CallCard,
    code_block,
    head_and_tail,
    text_content,
)
from holdfast.ui.acp.protocol.client_abilities import NO_ABILITIES, ClientAbilities
from holdfast.ui.view.sentences import Narrator, SentenceKind

LONGEST_LIVE = 20_000
"""Characters shown of a result in a live turn."""
LONGEST_REPLAYED = 2_000
"""Characters shown of a result in a replay."""

_SHOWN_KINDS: frozenset[SentenceKind] = frozenset({"retry", "context", "damage", "repaired", "task", "hook"})
_REPLAYED_KINDS: frozenset[SentenceKind] = frozenset({*_SHOWN_KINDS, "failed", "cut", "end"})
"""In a live turn, the answer to the prompt reports the additional kinds."""

NoticeSeverity = Literal["info", "warning", "error"]
_SEVERITY: dict[SentenceKind, NoticeSeverity] = {"retry": "warning", "damage": "error", "repaired": "warning"}


class SessionUpdates:
    """Makes the updates of one session, which works in `root`. `live` is whether they are shown as they happen.

    The client's `abilities` say whether it draws notices, which are never part of a replay, and compactions.
    """

    def __init__(self, root: Path, *, live: bool, abilities: ClientAbilities = NO_ABILITIES) -> None:
        self._root = root
        self._live = live
        self._compactions = abilities.compactions
        self._notices = live and abilities.notices
        self._longest = LONGEST_LIVE if live else LONGEST_REPLAYED
        self._narrator = Narrator(receipts=False)
        self._cards: dict[str, CallCard] = {}
        self._streamed_text: dict[str, str] = {}  # the streamed text of the current response, by kind of chunk

    def of(self, event: Event) -> Iterator[AcpFields]:
        """Yield the updates for an event."""
        match event:
            case LiveText(step=step, text=text):
                yield self._stream_chunk("agent_message_chunk", f"m{step}", text)
            case LiveThinking(step=step, text=text):
                yield self._stream_chunk("agent_thought_chunk", f"t{step}", text)
            case LiveOutput() | LiveCall() | TurnFailed() | LivePrompt():
                pass  # throttled by the session, shown when complete, part of the prompt's answer, and not yet one
            case Shortening(message=message) | NotRecorded(message=message) | CheckFinding(message=message):
                yield self.note(message, "warning")
            case Fact(seq=seq, entry=entry):
                yield from self._fact(seq, entry)

    def card(self, call: str) -> CallCard | None:
        """Return the card of a call that was shown."""
        return self._cards.get(call)

    def add_known(self, entries: Iterable[e.Entry]) -> None:
        """Add entries that were shown before, or need not be shown."""
        for entry in entries:
            self._narrator.sentences(entry)
            if isinstance(entry, e.ResponseEnded) and entry.cut is None:
                for part in entry.parts:
                    if isinstance(part, CallPart):
                        self._cards[part.id] = CallCard(part, self._root, longest=self._longest)

    def _fact(self, seq: int, entry: e.Entry) -> Iterator[AcpFields]:
        kinds = _SHOWN_KINDS if self._live else _REPLAYED_KINDS
        if self._compactions and isinstance(entry, e.Compacted):
            yield _compaction(seq, entry)
            kinds -= {"context"}
        sentences = [each for each in self._narrator.sentences(entry) if each.kind in kinds]
        match entry:
            case e.PromptAccepted(text=text, queued=queued, images=images) if not self._live or queued:
                yield _user_chunk(seq, "\n".join([text, *(f"[image: {each.described}]" for each in images)]))
            case e.Steered(text=text):
                yield _user_chunk(seq, text)
            case e.RequestStarted():
                self._streamed_text.clear()
            case e.ResponseEnded():
                yield from self._response(entry)
            case e.CallStarted(call=call) if call in self._cards:
                yield self._cards[call].started_update(entry)
            case e.CallEnded(call=call) if call in self._cards:
                yield self._cards[call].finished_update(entry)
                if entry.outcome == "ok" and (plan := self._cards[call].plan_update()) is not None:
                    yield plan
            case e.CallLate(call=call):
                if call in self._cards:
                    yield self._cards[call].late_update(entry)
                text = f"After the end of its turn: {self._narrator.title(call)}: {entry.outcome.replace('_', ' ')}."
                yield _chunk("agent_message_chunk", f"l{seq}", text)
            case e.ShellStarted(id=call_id, command=command):
                yield {
                    "sessionUpdate": "tool_call",
                    "toolCallId": call_id,
                    "title": printable(f"! {' '.join(command.split())}"),
                    "kind": "execute",
                    "status": "in_progress",
                }
            case e.ShellEnded(id=call_id):
                output = head_and_tail(printable(entry.text), self._longest)
                yield {
                    "sessionUpdate": "tool_call_update",
                    "toolCallId": call_id,
                    "status": OUTCOMES[entry.outcome],
                    "content": [text_content(code_block(output))],
                }
            case _:
                pass
        for each in sentences:
            yield self.note(each.text, _SEVERITY.get(each.kind, "info"), f"n{seq}")

    def note(self, text: str, severity: NoticeSeverity = "info", message_id: str = "n0") -> AcpFields:
        """Return a note from holdfast. A client without notices gets it as a thought: the model did not write it."""
        if self._notices:
            return {"sessionUpdate": "notice", "severity": severity, "title": printable(text)}
        return _chunk("agent_thought_chunk", message_id, f"{text}\n")

    def answer(self, text: str, message_id: str) -> AcpFields:
        """Return the answer of holdfast itself to a command of the user."""
        return _chunk("agent_message_chunk", message_id, f"{text}\n")

    def _response(self, entry: e.ResponseEnded) -> Iterator[AcpFields]:
        """Yield the part of a response that was not streamed, and its calls."""
        thought = "".join(part.text for part in entry.parts if isinstance(part, ThinkingPart))
        text = "".join(part.text for part in entry.parts if isinstance(part, TextPart))
        for kind, message_id, full_text in (
            ("agent_thought_chunk", f"t{entry.step}", thought),
            ("agent_message_chunk", f"m{entry.step}", text),
        ):
            streamed = self._streamed_text.get(kind, "")
            if full_text.startswith(streamed) and full_text != streamed:
                yield _chunk(kind, message_id, full_text[len(streamed) :])
        self._streamed_text.clear()
        if entry.cut is None:
            for part in entry.parts:
                if isinstance(part, CallPart):
                    card = self._cards[part.id] = CallCard(part, self._root, longest=self._longest)
                    yield card.created_update()

    def _stream_chunk(self, kind: str, message_id: str, text: str) -> AcpFields:
        self._streamed_text[kind] = self._streamed_text.get(kind, "") + text
        return _chunk(kind, message_id, text)


def _chunk(kind: str, message_id: str, text: str) -> AcpFields:
    content = {"type": "text", "text": printable(valid_unicode(text))}
    return {"sessionUpdate": kind, "messageId": message_id, "content": content}


def _user_chunk(seq: int, text: str) -> AcpFields:
    return _chunk("user_message_chunk", f"u{seq}", head_and_tail(text, LARGEST_SHOWN))


def _compaction(seq: int, entry: e.Compacted) -> AcpFields:
    summary = [{"type": "text", "text": printable(entry.note)}] if entry.note.strip() else []
    return {"sessionUpdate": "compaction_update", "compactionId": f"c{seq}", "status": "completed", "summary": summary}


def replayed_updates(
    records: Iterable[StoredEntry], root: Path, abilities: ClientAbilities = NO_ABILITIES
) -> Iterator[AcpFields]:
    """Yield the updates of a whole conversation, without rewound turns. The same entries give the same updates."""
    updates = SessionUpdates(root, live=False, abilities=abilities)
    for record in unrewound(records):
        yield from updates.of(Fact(record.seq, record.entry))


def unrewound(records: Iterable[StoredEntry]) -> list[StoredEntry]:
    """Return the entries without those of rewound turns."""
    branch: list[StoredEntry] = []
    for record in records:
        match record.entry:
            case e.Rewound(turn=turn):
                begins = (
                    place
                    for place, each in enumerate(branch)
                    if isinstance(each.entry, e.PromptAccepted) and each.entry.turn >= turn
                )
                del branch[next(begins, len(branch)) :]
            case _:
                branch.append(record)
    return branch

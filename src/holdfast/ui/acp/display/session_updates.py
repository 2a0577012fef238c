"""Events and entries as the updates that a client shows: the same for a turn that runs and for one that is replayed.

A replay has no streamed text, so a response is shown when it ends; of a live one only what was not streamed follows
then. Ids are those of the journal: a client that saw part of a turn sees the same ids in a replay.
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
"""Characters of a result that are shown as it comes."""
LONGEST_REPLAYED = 2_000
"""Characters of a result that are shown of an earlier turn."""

_TOLD: frozenset[SentenceKind] = frozenset({"retry", "context", "damage", "repaired", "task"})
_TOLD_LATER: frozenset[SentenceKind] = frozenset({*_TOLD, "failed", "cut", "end"})
"""Of a live turn, its answer says these."""

NoticeSeverity = Literal["info", "warning", "error"]
_SEVERITY: dict[SentenceKind, NoticeSeverity] = {"retry": "warning", "damage": "error", "repaired": "warning"}


class SessionUpdates:
    """Makes the updates of one session, which works in `root`. `live` if they are shown as they happen.

    The client's `abilities` say whether it draws notices, which are never part of a replay, and compactions.
    """

    def __init__(self, root: Path, *, live: bool, abilities: ClientAbilities = NO_ABILITIES) -> None:
        self._root = root
        self._live = live
        self._compactions = abilities.compactions
        self._notices = live and abilities.notices
        self._longest = LONGEST_LIVE if live else LONGEST_REPLAYED
        self._narrator = Narrator()
        self._cards: dict[str, CallCard] = {}
        self._said: dict[str, str] = {}  # what was streamed, by kind of chunk, of the response that comes

    def of(self, event: Event) -> Iterator[AcpFields]:
        """Yield the updates for an event."""
        match event:
            case LiveText(step=step, text=text):
                yield self._streamed("agent_message_chunk", f"m{step}", text)
            case LiveThinking(step=step, text=text):
                yield self._streamed("agent_thought_chunk", f"t{step}", text)
            case LiveOutput() | LiveCall() | TurnFailed():
                pass  # throttled by the session, shown when it is complete, and part of the prompt's answer
            case Shortening(message=message) | NotRecorded(message=message) | CheckFinding(message=message):
                yield self.note(message, "warning")
            case Fact(seq=seq, entry=entry):
                yield from self._fact(seq, entry)

    def card(self, call: str) -> CallCard | None:
        """Return the card of a call that was shown."""
        return self._cards.get(call)

    def knows(self, entries: Iterable[e.Entry]) -> None:
        """Take in what was shown before, or need not be shown."""
        for entry in entries:
            self._narrator.sentences(entry)
            if isinstance(entry, e.ResponseEnded) and entry.cut is None:
                for part in entry.parts:
                    if isinstance(part, CallPart):
                        self._cards[part.id] = CallCard(part, self._root, longest=self._longest)

    def _fact(self, seq: int, entry: e.Entry) -> Iterator[AcpFields]:
        told = _TOLD if self._live else _TOLD_LATER
        if self._compactions and isinstance(entry, e.Compacted):
            yield _compaction(seq, entry)
            told -= {"context"}
        sentences = [each for each in self._narrator.sentences(entry) if each.kind in told]
        match entry:
            case e.PromptAccepted(text=text, queued=queued, images=images) if not self._live or queued:
                yield _user(seq, "\n".join([text, *(f"[image: {each.described}]" for each in images)]))
            case e.Steered(text=text):
                yield _user(seq, text)
            case e.RequestStarted():
                self._said.clear()
            case e.ResponseEnded():
                yield from self._response(entry)
            case e.CallStarted(call=call) if call in self._cards:
                yield self._cards[call].started(entry)
            case e.CallEnded(call=call) if call in self._cards:
                yield self._cards[call].finished(entry)
                if entry.outcome == "ok" and (plan := self._cards[call].plan_update()) is not None:
                    yield plan
            case e.CallLate(call=call):
                if call in self._cards:
                    yield self._cards[call].late(entry)
                text = f"After the end of its turn: {self._narrator.title(call)}: {entry.outcome.replace('_', ' ')}."
                yield _chunk("agent_message_chunk", f"l{seq}", text)
            case e.ShellStarted(id=own, command=command):
                yield {
                    "sessionUpdate": "tool_call",
                    "toolCallId": own,
                    "title": printable(f"! {' '.join(command.split())}"),
                    "kind": "execute",
                    "status": "in_progress",
                }
            case e.ShellEnded(id=own):
                said = head_and_tail(printable(entry.text), self._longest)
                yield {
                    "sessionUpdate": "tool_call_update",
                    "toolCallId": own,
                    "status": OUTCOMES[entry.outcome],
                    "content": [text_content(code_block(said))],
                }
            case _:
                pass
        for each in sentences:
            yield self.note(each.text, _SEVERITY.get(each.kind, "info"), f"n{seq}")

    def note(self, text: str, severity: NoticeSeverity = "info", own: str = "n0") -> AcpFields:
        """Return a note of holdfast: no words of the model, so a client without notices gets it as a thought."""
        if self._notices:
            return {"sessionUpdate": "notice", "severity": severity, "title": printable(text)}
        return _chunk("agent_thought_chunk", own, f"{text}\n")

    def _response(self, entry: e.ResponseEnded) -> Iterator[AcpFields]:
        """Yield what was not streamed of a response, and its calls."""
        thought = "".join(part.text for part in entry.parts if isinstance(part, ThinkingPart))
        text = "".join(part.text for part in entry.parts if isinstance(part, TextPart))
        for kind, own, whole in (
            ("agent_thought_chunk", f"t{entry.step}", thought),
            ("agent_message_chunk", f"m{entry.step}", text),
        ):
            said = self._said.get(kind, "")
            if whole.startswith(said) and whole != said:
                yield _chunk(kind, own, whole[len(said) :])
        self._said.clear()
        if entry.cut is None:
            for part in entry.parts:
                if isinstance(part, CallPart):
                    card = self._cards[part.id] = CallCard(part, self._root, longest=self._longest)
                    yield card.written()

    def _streamed(self, kind: str, own: str, text: str) -> AcpFields:
        self._said[kind] = self._said.get(kind, "") + text
        return _chunk(kind, own, text)


def _chunk(kind: str, own: str, text: str) -> AcpFields:
    content = {"type": "text", "text": printable(valid_unicode(text))}
    return {"sessionUpdate": kind, "messageId": own, "content": content}


def _user(seq: int, text: str) -> AcpFields:
    return _chunk("user_message_chunk", f"u{seq}", head_and_tail(text, LARGEST_SHOWN))


def _compaction(seq: int, entry: e.Compacted) -> AcpFields:
    summary = [{"type": "text", "text": printable(entry.note)}] if entry.note.strip() else []
    return {"sessionUpdate": "compaction_update", "compactionId": f"c{seq}", "status": "completed", "summary": summary}


def replayed_updates(
    records: Iterable[StoredEntry], root: Path, abilities: ClientAbilities = NO_ABILITIES
) -> Iterator[AcpFields]:
    """Yield the updates of a whole conversation, without what was rewound. The same entries give the same updates."""
    updates = SessionUpdates(root, live=False, abilities=abilities)
    for record in unrewound(records):
        yield from updates.of(Fact(record.seq, record.entry))


def unrewound(records: Iterable[StoredEntry]) -> list[StoredEntry]:
    """Return the entries of the branch that goes on."""
    kept: list[StoredEntry] = []
    for record in records:
        match record.entry:
            case e.Rewound(turn=turn):
                begins = (
                    place
                    for place, each in enumerate(kept)
                    if isinstance(each.entry, e.PromptAccepted) and each.entry.turn >= turn
                )
                del kept[next(begins, len(kept)) :]
            case _:
                kept.append(record)
    return kept

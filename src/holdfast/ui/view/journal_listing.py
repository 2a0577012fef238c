"""A journal as sentences in its order. Nothing is omitted silently: damage appears where the lost entries were."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from holdfast.session.journal import entries as e
from holdfast.session.journal.parts import CallPart
from holdfast.session.journal.store import Finding, StoredEntry
from holdfast.ui.view.sentences import Narrator, Sentence


def transcript(records: Iterable[StoredEntry], findings: Iterable[Finding] = ()) -> Iterator[Sentence]:
    """Yield a sentence for each entry, in journal order, then for calls and text without an end."""
    lost = sorted(findings, key=lambda finding: finding.seq)
    of_the_file = any(finding.seq == 0 for finding in lost)  # then the last entries may be lost
    narrator, unfinished = Narrator(), _Unfinished()
    for record in records:
        while lost and lost[0].seq <= record.seq:
            yield Sentence("damage", lost.pop(0).what)
            unfinished.gap()
        if isinstance(record.entry, e.PromptAccepted | e.Rewound | e.TurnEnded):
            yield from unfinished.sentences(narrator)
        unfinished.take(record.entry)
        yield from narrator.sentences(record.entry)
    yield from (Sentence("damage", finding.what) for finding in lost)
    if lost or of_the_file:
        unfinished.gap()
    yield from unfinished.sentences(narrator)


class _Unfinished:
    """Streamed text and calls that have no end in the journal so far."""

    def __init__(self) -> None:
        self._streamed = ""
        self._calls: dict[str, str] = {}  # those without an outcome, and what is known of them

    def take(self, entry: e.Entry) -> None:
        match entry:
            case e.ResponseCheckpoint(text=text):
                self._streamed += text
            case e.RequestStarted() | e.RequestFailed(retry_in=float()):
                self._streamed = ""
            case e.ResponseEnded(parts=parts, cut=cut):
                self._streamed = ""
                if cut is None:
                    self._calls.update({part.id: "not started" for part in parts if isinstance(part, CallPart)})
            case e.ApprovalAsked(call=call):
                self._calls[call] = "waited for approval"
            case e.CallStarted(call=call):
                self._calls[call] = "started"
            case e.CallEnded(call=call):
                self._calls.pop(call, None)
            case _:
                pass

    def gap(self) -> None:
        """Record a gap: it may have contained the start of a call without an end."""
        self._calls = {call: known if known == "started" else "may have run" for call, known in self._calls.items()}

    def sentences(self, narrator: Narrator) -> Iterator[Sentence]:
        """Yield sentences about text and calls without an end, and forget them."""
        if self._streamed.strip():
            yield Sentence("answer", self._streamed)
            yield Sentence("cut", "The response above is incomplete in the journal.")
        self._streamed = ""
        for call, known in self._calls.items():
            yield Sentence("call", f"◌ {narrator.title(call)}: {known}, outcome unknown")
        self._calls.clear()

"""A block that was once called settled never changes, moves or vanishes: the terminal cannot undo what it printed."""

from __future__ import annotations

from hypothesis import given
from test_view_laws import lived

from holdfast.agent.events import Fact, LiveOutput, LiveText
from holdfast.session.journal.entries import CallEnded, CallStarted, Entry, PromptAccepted, ResponseEnded
from holdfast.session.journal.parts import CallPart, TextPart, Usage
from holdfast.ui.view.blocks import Block, CallBlock
from holdfast.ui.view.view import View
from journals import journals
from laws import law


def comparable(blocks: list[Block]) -> list[Block | str]:
    """Return the blocks, of calls only the keys: these journals also start and end a call that was over."""
    return [block.key if isinstance(block, CallBlock) else block for block in blocks]


@law()
@given(journals)
def test_what_is_settled_stays(entries: list[Entry]) -> None:
    view = View()
    settled: list[Block] = []
    for at, event in enumerate(lived(entries)):
        view.take(event, at=float(at))
        count = view.settled(len(settled))
        assert comparable([*view.blocks()][: len(settled)]) == comparable(settled)
        settled = [*view.blocks()][:count]
        assert len(settled) == count


def test_a_running_call_and_what_is_behind_it_wait() -> None:
    view = View()
    call = CallPart(id="a", name="bash", arguments="{}")
    step = ResponseEnded(step=1, model="m:m", parts=(TextPart(text="I look."), call), usage=Usage(), finish="tool_call")
    accepted = PromptAccepted(turn=1, text="go")
    for seq, entry in enumerate((accepted, step, CallStarted(call="a", effect="execute")), 1):
        view.take(Fact(seq, entry))
    assert view.settled() == 2
    view.take(LiveOutput("a", "printed"))
    assert view.settled(2) == 2
    view.take(Fact(4, CallEnded(call="a", outcome="ok", text="done", seconds=0.1)))
    assert view.settled(2) == 3
    view.take(LiveText(2, "I saw"))
    assert view.settled(3) == 3  # streams

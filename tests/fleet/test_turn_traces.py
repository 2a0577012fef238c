"""The spans of turns, as the SDK of OpenTelemetry keeps them: their tree, times, names of the conventions, failures."""

from __future__ import annotations

from hypothesis import given

from holdfast.fleet.traces.turn_spans import TurnSpan, TurnSpans
from holdfast.fleet.traces.turn_traces import TurnTraces
from holdfast.session.journal import entries as e
from holdfast.session.journal.parts import CallPart, TextPart, Usage
from holdfast.session.journal.store import StoredEntry
from journals import journals
from laws import law
from skips import imported

sdk = imported("opentelemetry.sdk.trace")
keep = imported("opentelemetry.sdk.trace.export.in_memory_span_exporter")
export = imported("opentelemetry.sdk.trace.export")

MODEL = "anthropic:claude-x"
USAGE = Usage(input_tokens=10, output_tokens=5, cost="0.25")
CALL = CallPart(id="c1", name="bash", arguments='{"command": "secret"}')
TURN: tuple[e.Entry, ...] = (
    e.PromptAccepted(turn=1, text="a secret"),
    e.RequestStarted(step=1, attempt=1, model=MODEL),
    e.RequestFailed(step=1, attempt=1, fault="overloaded", message="busy"),
    e.RequestStarted(step=1, attempt=2, model=MODEL),
    e.ResponseEnded(step=1, model=MODEL, parts=(TextPart("secret"), CALL), usage=USAGE, finish="tool_use"),
    e.CallStarted(call="c1", effect="execute"),
    e.CallEnded(call="c1", outcome="failed", text="secret"),
    e.RequestStarted(step=2, attempt=1, model=MODEL),
    e.ResponseEnded(step=2, model=MODEL, parts=(TextPart("secret"),), usage=USAGE, finish="end_turn"),
    e.TurnEnded(turn=1, reason="end_turn", cause="finished"),
)


def test_a_turn_is_a_tree_of_spans_without_what_was_said() -> None:
    exporter = keep.InMemorySpanExporter()
    provider = sdk.TracerProvider()
    provider.add_span_processor(export.SimpleSpanProcessor(exporter))
    traces = TurnTraces("s-1", provider)
    for seq, entry in enumerate(TURN, 1):
        traces.replay(StoredEntry(seq, 100.0 + seq, entry))
    assert exporter.get_finished_spans() == ()  # an earlier process has sent them
    for seq, entry in enumerate(TURN, 1):
        traces.take(StoredEntry(seq, 200.0 + seq, entry))
    spans = {(each.name, each.start_time): each for each in exporter.get_finished_spans()}
    turn = spans["invoke_agent holdfast", 201 * 10**9]
    assert turn.end_time == 210 * 10**9
    assert turn.parent is None
    others = [each for each in spans.values() if each is not turn]
    assert {each.parent.span_id for each in others} == {turn.context.span_id}
    assert sorted(each.name for each in others) == ["chat claude-x"] * 3 + ["execute_tool bash"]
    assert turn.attributes["gen_ai.conversation.id"] == "s-1"
    assert turn.attributes["gen_ai.usage.input_tokens"] == 20
    assert turn.attributes["holdfast.cost_usd"] == 0.5
    failed, first = (spans["chat claude-x", at * 10**9] for at in (202, 204))
    assert failed.attributes["error.type"] == "overloaded"
    assert not failed.status.is_ok
    assert failed.kind.name == "CLIENT"
    assert first.attributes["gen_ai.provider.name"] == "anthropic"
    assert first.attributes["gen_ai.response.finish_reasons"] == ("tool_use",)
    tool = spans["execute_tool bash", 206 * 10**9]
    assert tool.end_time == 207 * 10**9
    assert tool.attributes["gen_ai.tool.call.id"] == "c1"
    assert tool.attributes["error.type"] == "failed"
    assert all("secret" not in each.to_json() for each in spans.values())


@law(60)
@given(journals)
def test_any_journal_gives_spans_that_end_after_they_begin(journal: list[e.Entry]) -> None:
    spans = TurnSpans("s")
    for seq, entry in enumerate(journal, 1):
        turn = spans.take(StoredEntry(seq, float(seq), entry))
        if turn is not None:
            expect_within(turn)


def expect_within(span: TurnSpan) -> None:
    assert span.begin <= span.end
    for each in span.children:
        assert span.begin <= each.begin
        assert each.end <= span.end
        expect_within(each)

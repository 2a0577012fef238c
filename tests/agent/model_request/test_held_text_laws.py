"""Laws of text that is held back: nothing is lost, nothing waits without a reason, and no written call is shown."""

from __future__ import annotations

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from holdfast.agent.model_request.held_text import LONGEST_HELD, HeldText
from laws import law

CALL = '{"name": "read", "arguments": {"path": "a"}}'
WRITTEN = (
    f"<tool_call>\n{CALL}\n</tool_call>",
    f"<tools>{CALL}</tools>",
    f"```json\n{CALL}\n```",
    f"```\n{CALL}\n```",
    f"```{CALL}```",
    f"```xml\n<tool_call>{CALL}</tool_call>\n```",
    CALL,
    f"[{CALL}, {CALL}]",
    f"{{{CALL}}}",
    f'{{"type": "function", "id": "c1", "function": {CALL}}}',
    '{"arguments": {"path": "a"}, "name": "read"}',
    '{"tool": "read", "tool_input": {"path": "a"}}',
    "<function=read>\n<parameter=path>\na\n</parameter>\n</function>",
    '<invoke name="read"><parameter name="path">a</parameter></invoke>',
    '<x:function_calls><x:invoke name="read"><x:parameter name="path">a</x:parameter></x:invoke></x:function_calls>',
    f"[TOOL_CALLS] [{CALL}]",
    '[TOOL_CALLS]read[ARGS]{"path": "a"}',
    f"<|python_tag|>{CALL}",
    f"<|tool_call|>{CALL}",
    '<|tool_call_begin|>functions.read:0<|tool_call_argument_begin|>{"path": "a"}',
    '<\uff5ctool▁call▁begin\uff5c>function<\uff5ctool▁sep\uff5c>read\n```json\n{"path": "a"}\n```',
    '<|channel|>commentary to=functions.read <|constrain|>json<|message|>{"path": "a"}',
    '<|start|>assistant<|channel|>commentary to=functions.read<|message|>{"path": "a"}',
)
TEXTS = (
    "",
    "I look.\n",
    "Three\n\nparagraphs, `code` and a < b.\n",
    "```python\nx = {1: [2]}\n```\n",
    "| a | b |\n- [link](x)\n",
)
PLAIN = (
    "Done.",
    "if a < b and c > d: e[0]",
    '{"name": "Bob", "age": 3}\n',
    '{"error": "x"} is what it says.',
    "[1, 2, 3]",
    "<div class='x'>text</div>",
    "`<|im_end|>` ends a turn, `<|im_start|>` begins one.",
    "```\n<|im_start|>user\nhi<|im_end|>\n<|im_start|>assistant\n```\nThat is ChatML.",
    "<|im_start|>user\nhi<|im_end|>\n<|im_start|>user\nonce more",
    "<|channel|>final<|message|>Here it is.",
    "[x] done, [TODO] not",
    "</s",
    "a <b c",
)


def pieces(text: str, sizes: list[int]) -> list[str]:
    found: list[str] = []
    at = 0
    for size in sizes:
        found.append(text[at : at + size])
        at += size
    return [*found, text[at:]]


SIZES = st.lists(st.integers(1, 12), max_size=60)


@law()
@given(text=st.text(alphabet='`<>|[]{}"\n nametools/_:im_enduser,x', max_size=200), sizes=SIZES, calls=st.booleans())
@example(text="``` `", sizes=[1, 1, 1], calls=True)
def test_what_is_shown_and_what_is_held_are_the_text(text: str, sizes: list[int], *, calls: bool) -> None:
    held = HeldText(calls=calls)
    shown = "".join(held.add(piece) for piece in pieces(text, sizes))
    whole = shown + held.rest()
    assert text.startswith(whole)
    assert whole == text or held.overrun


@law()
@given(before=st.sampled_from(TEXTS), written=st.sampled_from(WRITTEN), sizes=SIZES)
def test_no_written_call_is_shown(before: str, written: str, sizes: list[int]) -> None:
    held = HeldText(calls=True)
    shown = "".join(held.add(piece) for piece in pieces(before + written, sizes))
    assert shown == before
    assert held.rest() == written


@law()
@given(before=st.sampled_from(TEXTS), text=st.sampled_from(PLAIN), sizes=SIZES, calls=st.booleans())
def test_another_text_is_shown_while_it_arrives(before: str, text: str, sizes: list[int], *, calls: bool) -> None:
    held = HeldText(calls=calls)
    whole = f"{before}{text} And on it goes.\n"
    shown = "".join(held.add(piece) for piece in pieces(whole, sizes))
    assert (shown, held.rest(), held.overrun) == (whole, "", "")


OVERRUNS = (
    "\n<|im_end|>\n<|im_start|>user\nthanks<|im_end|>",
    "<|eot_id|><|start_header_id|>user<|end_header_id|>\n\nthanks",
    "<end_of_turn>\n<start_of_turn>user\nthanks",
    "<|end|>\n<|user|>\nthanks",
    "<|endoftext|><|im_end|>\n<|im_start|>user\nthanks",
    "</s>[INST] thanks [/INST]",
    "</s><s>[INST] thanks",
    "<\uff5cend▁of▁sentence\uff5c><\uff5cUser\uff5c>thanks",
    "<|END_OF_TURN_TOKEN|><|START_OF_TURN_TOKEN|><|USER_TOKEN|>thanks",
    "<|im_end|>\n<|im_start|>tool\nok",
)


@law()
@given(before=st.sampled_from(TEXTS[:4]), over=st.sampled_from(OVERRUNS), sizes=SIZES, calls=st.booleans())
def test_an_answer_is_over_where_the_model_ended_it(before: str, over: str, sizes: list[int], *, calls: bool) -> None:
    held = HeldText(calls=calls)
    shown = "".join(held.add(piece) for piece in pieces(f"{before}Sure.{over}", sizes))
    assert held.overrun
    assert (shown + held.rest()).strip() == f"{before}Sure.".strip()


def test_what_is_too_long_for_a_call_is_shown() -> None:
    held = HeldText(calls=True)
    assert held.add("<tool_call>") == ""
    shown = "".join(held.add("x" * 1_000) for _ in range(LONGEST_HELD // 1_000 + 1))
    assert len(shown) > LONGEST_HELD
    assert held.add("<tool_call> x") == "<tool_call> x"


@pytest.mark.parametrize("text", [f"{CALL} is a call", "<tool_call> is a tag"])
def test_a_call_that_is_none_is_text_at_the_end(text: str) -> None:
    held = HeldText(calls=True)
    assert held.add(text) + held.rest() == text

from __future__ import annotations

import pytest

from holdfast.errors import ToolFailed
from holdfast.tools.approval.decision import Allow, Policy, decide
from holdfast.tools.builtin.todo import TodoTool
from tool_harness import called, planned


def test_the_list_is_what_was_given() -> None:
    items = [{"text": "look", "state": "done"}, {"text": " mend\nit ", "state": "doing"}, {"text": "try"}]
    plan = planned(TodoTool(), items=items)
    assert plan.title == "todo: 1 of 3 done"
    assert decide(plan, Policy("plan")) == Allow()
    assert called(TodoTool(), items=items).text == "[x] look\n[>] mend\\nit\n[ ] try"
    assert called(TodoTool(), items=[]).text == "The list is empty."


def test_every_provider_can_read_its_schema() -> None:
    written = str(TodoTool.schema.parameters)
    assert "$" not in written
    assert "'maxLength': 200" in written


@pytest.mark.parametrize(
    "items",
    [
        [{"text": ""}],
        [{"text": " "}],
        [{"text": "a"}, {"text": "a "}],
        [{"text": "a", "state": "x"}],
        [{"text": "a" * 201}],
    ],
)
def test_a_list_that_says_nothing_clear_is_refused(items: list[dict[str, str]]) -> None:
    with pytest.raises(ToolFailed, match=r"expected|Expected|Invalid|must be"):
        planned(TodoTool(), items=items)

"""The notices about calls that repeat: for the model in results, for the user as a question.

They are stored in entries, so a change here does not change what older sessions send.
"""

from __future__ import annotations

from holdfast.session.conversation.call_repeats import Repetition
from holdfast.session.conversation.conversation import OpenCall
from holdfast.session.model_notices import HOLDFAST


def repetition_line(repeated: Repetition, *, program: str = HOLDFAST) -> str:
    """Return the line, behind a result, that tells the model that it repeats itself."""
    if repeated.calls == 1:
        same = f"This call and its result are the same as the last {repeated.times - 1} before it."
    else:
        same = (
            f"The last {repeated.calls} calls and their results are the same as the {repeated.times - 1} rounds before."
        )
    return f"[Note from {program}: {same} Do something else, or say what you need.]"


def not_run_again(repeated: Repetition, returned: str) -> str:
    """Return the result of a call that is not run because it would be the same once more; `returned` is capped."""
    round_ = "This call" if repeated.calls == 1 else f"This round of {repeated.calls} calls"
    returned = f" It returned:\n{returned}" if returned.strip() else ""
    return (
        f"Not started: {round_.lower()} was made {repeated.times - 1} times in a row with the same result, so it was "
        f"not made again. Do something else, or say what keeps you from it.{returned}"
    )


def same_call(place: int) -> str:
    """Return the result of a call that only reads and that stands earlier in its response too, at `place` from 1."""
    return f"Not started: it is the same as call {place} of this response, whose result holds for it too."


def loop_detail(call: OpenCall, repeated: Repetition) -> str:
    """Return what repeats, for the user."""
    if repeated.calls == 1:
        return f"{call.part.name}, {repeated.times} times in a row"
    return f"a round of {repeated.calls} calls up to {call.part.name}, {repeated.times} times in a row"


def loop_question(call: OpenCall, repeated: Repetition) -> str:
    """Return the question whether a loop may go on."""
    return f"The model repeats itself: {loop_detail(call, repeated)}, with the same result. Let it go on?"


GO_ON, END = "Let it go on", "End the turn"
"""The options of that question."""

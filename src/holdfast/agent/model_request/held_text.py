"""Holds back what may be no text of the answer, while an answer streams. Pure.

How it works. What is shown cannot be hidden, so text that begins like something else waits until it is known. There
are two such things. A call written as text, on a server whose text calls are read: it waits to the end of the answer,
which says whether it is one. And a token with which a chat template ends a turn: if the beginning of the user's next
message follows, the model writes both sides of the conversation. Its server lacks the stop word, and would let it go on
until the window is full; the answer ends where the model ended it. A token with nothing behind it, or in a code block,
is text.

Why only this one order of tokens? An answer may well explain a chat template. It begins with the token that begins a
message, or stands in a code block; an answer that was not stopped begins with the one that ends it.

Example: `Sure.<|im_end|>`, `<|im_start|>us`, `er` shows "Sure." and is over.

Laws (`tests/agent/model_request/test_held_text_laws.py`): in whatever pieces a text arrives, what is shown and what is
held are the text; a text without any of these beginnings is shown at once; no written call is shown.
"""

from __future__ import annotations

import re

from holdfast.errors import ProviderFailed
from holdfast.tools.arguments.begun_calls import begun_call

LONGEST_HELD = 256 * 1024
"""Characters to hold back: a longer text is no call."""

_CANDIDATE = re.compile(r"[`<\[{]")

_LONGEST_TOKEN = 80
"""Characters of the tokens that end a turn and begin the next one."""

_END = re.compile(
    r"(?:<\|(?:im_end|eot_id|end|endoftext|end_of_text|eom_id|eot|END_OF_TURN_TOKEN)\|>|<end_of_turn>|</s>"
    r"|<\uff5cend▁of▁sentence\uff5c>)\s*"
)
_ROLE = r"(?:user|human|system|developer|tool|ipython|environment|observation)"
_OTHER_TURN = re.compile(
    rf"<\|(?:im_start|start_header_id|header_start|start)\|>{_ROLE}\b|<start_of_turn>{_ROLE}\b|<\|{_ROLE}\|>"
    r"|<\uff5cUser\uff5c>|<\|START_OF_TURN_TOKEN\|><\|USER_TOKEN\|>|(?:<s>\s*)?\[INST\]"
)
_TOKEN_HEAD = re.compile(r"(?:<s>\s*)?(?:\[[A-Z]*|<[/\w|\uff5c▁]*(?:>[a-z]{0,12})?|<\|\w*\|><[\w|]*)?")


class HeldText:
    """The text of one answer; with `calls` what may be a written call is held back."""

    def __init__(self, *, calls: bool) -> None:
        self._calls = calls
        self._tail = ""
        self._to_the_end = False  # a call has begun
        self._in_code = False
        self._blank_line = True  # nothing but blanks was let through of the current line
        self._explains = False  # it has the beginning of a turn before any end of one
        self._before = ""  # the last character that was let through
        self.overrun = ""
        """The token behind which the model writes the next message of the user, "" if it does not."""

    def add(self, piece: str) -> str:
        """Return what may be shown, now that the next piece is there."""
        if self.overrun:
            return ""
        text = self._tail + piece
        self._tail = ""
        if self._to_the_end:
            if len(text) <= LONGEST_HELD:
                self._tail = text
                return ""
            self._to_the_end, self._calls = False, False
        place = self._first_held(text)
        self._tail = text[place:]
        return self._let(text[:place])

    def rest(self) -> str:
        """Return what is held back, which is text after all; nothing of it behind the end of the model's turn."""
        rest = "" if self.overrun else self._tail
        self._tail, self._to_the_end = "", False
        return self._let(rest)

    def failure(self, model: str) -> ProviderFailed | None:
        """Return the failure of an answer that goes on as the user, None if it does not."""
        if not self.overrun:
            return None
        return ProviderFailed(
            f"Model {model!r} ended its answer with {self.overrun} and went on to write the next message of the user. "
            "It was cut off there. Its server lacks the stop word of its chat template.",
            fault="malformed",
        )

    def _first_held(self, text: str) -> int:
        """Return from where on the text is held back."""
        at = 0
        while (found := _CANDIDATE.search(text, at)) is not None:
            at = found.start()
            if text[at] == "`":
                ticks = len(text) - at - len(text[at:].lstrip("`"))
                if at + ticks == len(text) and ticks < 3:  # noqa: PLR2004 - a fence
                    return at
                if ticks < 3:  # noqa: PLR2004 - code in a line
                    at += ticks
                    continue
                if not self._in_code and self._begins_call(text, at):
                    return at
                self._in_code = not self._in_code
                at += ticks
                continue
            if not self._in_code and (self._ends_turn(text, at) or self._begins_call(text, at)):
                return at
            at += 1
        return len(text)

    def _begins_call(self, text: str, at: int) -> bool:
        if not self._calls or (text[at] == "{" and not self._begins_line(text, at)):
            return False
        begun = begun_call(text[at:])
        self._to_the_end = begun == "yes"
        return begun != "no"

    def _ends_turn(self, text: str, at: int) -> bool:
        """Return whether the model's turn may end here, and note if the user's begins behind it."""
        before = text[at - 1] if at else self._before
        if text[at] != "<" or before == "`" or self._explains:
            return False
        end = _END.match(text, at)
        if end is None:
            self._explains = _OTHER_TURN.match(text, at) is not None
            head = _TOKEN_HEAD.fullmatch(text, at)
            return head is not None and len(text) - at <= _LONGEST_TOKEN
        while (more := _END.match(text, end.end())) is not None:
            end = more
        if _OTHER_TURN.match(text, end.end()) is not None:
            self.overrun = text[at : end.end()].strip()
            return True
        head = _TOKEN_HEAD.fullmatch(text, end.end())
        return head is not None and len(text) - end.end() <= _LONGEST_TOKEN

    def _begins_line(self, text: str, at: int) -> bool:
        line = text.rfind("\n", 0, at) + 1
        return not text[line:at].strip() and (bool(line) or self._blank_line)

    def _let(self, text: str) -> str:
        if text:
            line = text.rfind("\n") + 1
            self._blank_line = not text[line:].strip() and (bool(line) or self._blank_line)
            self._before = text[-1]
        return text

"""Text made safe at its two boundaries: on the way into the journal, and on the way to a terminal."""

from __future__ import annotations

import re

_SURROGATES = re.compile("[\ud800-\udfff]")
_ACTED_ON = (
    r"[\x00-\x08\x0b-\x1f\x7f-\x9f"  # C0 but tab and newline, DEL, C1
    r"\u061c\u200b\u200e\u200f\u202a-\u202e\u2060-\u2069\ufeff\U000e0000-\U000e007f]"  # bidi, zero width, tags
)
_CHARACTER = re.compile(_ACTED_ON)
# A sequence that has no end, has a line end in it or is longer than any terminal takes is none: its introducer goes
# alone, and the text that would have been hidden is seen.
_SEQUENCE = re.compile(
    r"\x1b\][^\x07\x1b\n]{0,4096}(?:\x07|\x1b\\)"  # OSC: titles, clipboard, links
    r"|\x1b[PX^_][^\x1b\n]{0,4096}\x1b\\"  # DCS, SOS, PM, APC
    r"|\x1b\[[0-?]{0,64}[ -/]{0,4}[@-~]"  # CSI
    r"|\x1b[ -/]{0,4}[0-~]"  # two-byte escapes, and introducers
    r"|" + _ACTED_ON
)


def valid_unicode(text: str) -> str:
    """Return `text` with lone surrogates and NULs replaced by U+FFFD: JSON parsers and stores refuse them.

    Apply it to whole strings: two halves of a pair that arrive in separate deltas are valid once joined.
    """
    if "\x00" in text:
        text = text.replace("\x00", "\ufffd")
    if text.isascii() or not _SURROGATES.search(text):
        return text
    # Adjacent halves are one character; only what stays alone is replaced.
    return text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")


def printable(text: str) -> str:
    """Return `text` without anything a terminal would act on: escape sequences, controls, bidi and invisible marks.

    Tabs and newlines stay; a carriage return before a newline goes, alone it becomes a newline. For what people read:
    a sequence may hold words that a terminal would not show either. For what they decide on there is `literal`.
    """
    text = text.replace("\r\n", "\n").replace("\r", "\n")
    return _SEQUENCE.sub("", text)


def literal(text: str) -> str:
    r"""Return `text` with all that a terminal would act on written out (`\x1b`), so that nothing of it is hidden."""
    return _CHARACTER.sub(lambda found: found[0].encode("unicode_escape").decode(), text)

"""Make text safe for the journal and for a terminal."""

from __future__ import annotations

import re

_SURROGATES = re.compile("[\ud800-\udfff]")
_CONTROLS = (
    r"[\x00-\x08\x0b-\x1f\x7f-\x9f"  # C0 but tab and newline, DEL, C1
    r"\u061c\u200b\u200e\u200f\u202a-\u202e\u2060-\u2069\ufeff\U000e0000-\U000e007f]"  # bidi, zero width, tags
)
_CHARACTER = re.compile(_CONTROLS)
# An incomplete, multi-line or overlong sequence is not matched as one: only its introducer is removed, so that the text
# after it stays visible.
_SEQUENCE = re.compile(
    r"\x1b\][^\x07\x1b\n]{0,4096}(?:\x07|\x1b\\)"  # OSC: titles, clipboard, links
    r"|\x1b[PX^_][^\x1b\n]{0,4096}\x1b\\"  # DCS, SOS, PM, APC
    r"|\x1b\[[0-?]{0,64}[ -/]{0,4}[@-~]"  # CSI
    r"|\x1b[ -/]{0,4}[0-~]"  # two-byte escapes, and introducers
    r"|" + _CONTROLS
)


TEXT_UNREADABLE = "(its text cannot be read)"


def valid_unicode(text: str) -> str:
    """Return `text` with lone surrogates and NULs replaced by U+FFFD: JSON parsers and databases refuse them.

    Apply it to complete strings: two halves of a surrogate pair in separate deltas are valid once joined.
    """
    if "\x00" in text:
        text = text.replace("\x00", "\ufffd")
    if text.isascii() or not _SURROGATES.search(text):
        return text
    # Adjacent halves become one character; only lone ones are replaced.
    return text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")


def printable(text: str) -> str:
    """Return `text` without anything a terminal acts on: escape sequences, controls, bidi and invisible characters.

    Tabs and newlines stay. A carriage return becomes a newline, CR LF becomes one newline. Use it for text that people
    read: it also removes text inside escape sequences. Use `literal` for text that people approve.
    """
    text = text.replace("\r\n", "\n").replace("\r", "\n")
    return _SEQUENCE.sub("", text)


def text_of(error: BaseException) -> str:
    """Return the text of an exception of others' code, which may fail to say it."""
    try:
        return valid_unicode(str(error))
    except BaseException:  # noqa: BLE001 - code of a tool or a plug-in, which may even exit here
        return TEXT_UNREADABLE


def error_text(error: BaseException) -> str:
    """Return the type and the text of an exception of others' code, which may have none."""
    name, text = type(error).__name__, text_of(error)
    if text == TEXT_UNREADABLE:
        return f"{name} {TEXT_UNREADABLE}"
    return f"{name}: {text}" if text.strip(" .") else name


def literal(text: str) -> str:
    r"""Return `text` with everything a terminal acts on written out (`\x1b`), so that nothing is hidden."""
    return _CHARACTER.sub(lambda found: found[0].encode("unicode_escape").decode(), text)

"""The conversation as a file in Claude Code's own line format, for hooks that read `transcript_path`.

One JSON object in a line for each prompt, response and result, in the order of the journal. Before a hook starts, what
the journal has by then is added at its end, so a hook never reads a file that is being written. The journal is the
truth: each process writes the file from its beginning.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator
from datetime import UTC, datetime
from pathlib import Path
from uuid import NAMESPACE_URL, uuid5

import msgspec

from holdfast.agent.journal_writer import JournalWriter
from holdfast.errors import ToolFailed
from holdfast.hooks.tool_words import claude_name
from holdfast.session.journal import entries as e
from holdfast.session.journal.parts import CallPart, TextPart
from holdfast.session.journal.store import StoredEntry
from holdfast.typed_data import decode_json

FILE = "transcript.jsonl"


class HookTranscript:
    """The file of one session, in its folder."""

    def __init__(self, folder: Path, *, session: str, cwd: Path) -> None:
        self.path = folder / FILE
        self._session = session
        self._cwd = str(cwd)
        self._seq = 0
        self._last: str | None = None  # the id of the last line

    def write(self, journal: JournalWriter) -> None:
        """Add what the journal has behind the last line. Raise `ToolFailed` if it cannot be written."""
        records = journal.stored_after(self._seq)
        lines = b"".join(self.lines(records))
        try:
            if self._seq == 0:
                self.path.unlink(missing_ok=True)
                flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW
            else:
                flags = os.O_WRONLY | os.O_APPEND | os.O_NOFOLLOW
            with os.fdopen(os.open(self.path, flags, 0o600), "wb") as file:
                file.write(lines)
        except OSError as error:
            raise ToolFailed(
                f"Transcript {str(self.path)!r} for hooks cannot be written: {error.strerror}. Free some disk space."
            ) from error
        if records:
            self._seq = records[-1].seq

    def lines(self, records: Iterable[StoredEntry]) -> Iterator[bytes]:
        """Yield the lines of these entries."""
        for record in records:
            for kind, message in _messages(record.entry):
                yield self._line(record, kind, message)

    def _line(self, record: StoredEntry, kind: str, message: object) -> bytes:
        name = f"{self._session}/{record.seq}/{self._last}"
        line = {
            "parentUuid": self._last,
            "isSidechain": False,
            "userType": "external",
            "cwd": self._cwd,
            "sessionId": self._session,
            "version": "holdfast",
            "type": kind,
            "message": message,
            "uuid": str(uuid5(NAMESPACE_URL, name)),
            "timestamp": datetime.fromtimestamp(record.at, UTC).isoformat(timespec="milliseconds"),
        }
        self._last = str(line["uuid"])
        return msgspec.json.encode(line) + b"\n"


def _messages(entry: e.Entry) -> Iterator[tuple[str, object]]:
    """Yield the type and the message of the lines that an entry gives."""
    match entry:
        case e.PromptAccepted(text=text) | e.Steered(text=text):
            yield "user", {"role": "user", "content": text}
        case e.ResponseEnded():
            content: list[object] = []
            for part in entry.parts:
                if isinstance(part, TextPart) and part.text.strip():
                    content.append({"type": "text", "text": part.text})
                elif isinstance(part, CallPart) and entry.cut is None:
                    name = claude_name(part.name)
                    content.append({"type": "tool_use", "id": part.id, "name": name, "input": _input(part.arguments)})
            if content:
                usage = {"input_tokens": entry.usage.input_tokens, "output_tokens": entry.usage.output_tokens}
                model = entry.model.partition(":")[2]
                message = {"type": "message", "role": "assistant", "model": model, "content": content, "usage": usage}
                yield "assistant", message
        case e.CallEnded(call=call, text=text, outcome=outcome):
            yield "user", {"role": "user", "content": [_result(call, text, is_error=outcome != "ok")]}
        case e.ResultAmended(call=call, text=text):
            yield "user", {"role": "user", "content": [{"type": "text", "text": f"[Hook, about {call}] {text}"}]}
        case _:
            pass


def _result(call: str, text: str, *, is_error: bool) -> object:
    return {"type": "tool_result", "tool_use_id": call, "content": text, "is_error": is_error}


def _input(arguments: str) -> object:
    try:
        return decode_json(arguments or "{}", object)
    except (msgspec.DecodeError, UnicodeDecodeError):
        return {"unreadable": arguments}

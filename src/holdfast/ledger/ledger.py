"""The ledger: begins, ends and looks up the calls of a program, and heals histories with what it knows of them."""

from __future__ import annotations

import functools
import threading
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Concatenate, ParamSpec, TypeVar, Unpack, cast

import msgspec

from holdfast.errors import CallRepeated, DamageError, StateError, StorageFailed, ToolFailed, UsageError
from holdfast.ledger.call import RecordedCall
from holdfast.ledger.call_file import LARGEST_CALL_RESULT, LONGEST_CALL_FIELD, CallFile
from holdfast.ledger.call_notices import (
    CALL_NOT_BEGUN,
    LOST_OUTCOME,
    call_arguments_text,
    encoded_result,
    fate_of,
    interrupted_text,
    running_text,
)
from holdfast.ledger.call_row import CallRecord, CallRow, Look, Replay, ResultForm, StoredOutcome, digest_of
from holdfast.ledger.call_store import CallStore
from holdfast.ledger.writer_process import lives, pid_of, this_process
from holdfast.text import error_text, valid_unicode
from holdfast.tool_calls import Effect

if TYPE_CHECKING:
    from holdfast.history import Repair, Request

Params = ParamSpec("Params")
T = TypeVar("T")

LONGEST_RECORDED_NAME = 1_000
"""Characters of an id, a name or a scope."""

LONGEST_CALL_ERROR = 64 << 10
"""Characters that are kept of the text of an exception."""

_REPLAYS = ("never", "safe")
_EFFECTS = ("read", "write", "execute", "remote")


class Ledger:
    """Records calls before they run and how they ended. Threads, tasks and processes may share its file.

    An id is one call within a `scope`. Give each conversation a scope if your provider's ids are not unique: some
    count them from 0 in every conversation.
    """

    def __init__(self, store: str | Path | CallStore, *, scope: str = "", now: Callable[[], float] = time.time) -> None:
        """Keep the calls in this SQLite file, which is made when it is needed, or in another store."""
        self._store: CallStore = CallFile(Path(store)) if isinstance(store, str | Path) else store
        self._scope = _bounded("scope", scope)
        self._now = now
        self._unrecorded = _Unrecorded()

    def scoped(self, scope: str) -> Ledger:
        """Return the same ledger for the calls of another scope."""
        other = Ledger(self._store, scope=scope, now=self._now)
        other._unrecorded = self._unrecorded
        return other

    def call(
        self,
        id: str,  # noqa: A002 - the field's word
        name: str,
        args: object = None,
        *,
        effect: Effect = "remote",
        replay: Replay = "never",
        settle: Look | None = None,
    ) -> RecordedCall:
        """Return the call, to be entered by `with` or `async with`. `args` is JSON data.

        `replay` says whether a run without an end may be repeated; `settle` looks whether it took effect. With an
        `effect` of "read" the model reads that an interrupted call had no effect.
        """
        if replay not in _REPLAYS:
            raise UsageError(f"Argument 'replay' is {replay!r} (expected one of {', '.join(_REPLAYS)}).")
        if effect not in _EFFECTS:
            raise UsageError(f"Argument 'effect' is {effect!r} (expected one of {', '.join(_EFFECTS)}).")
        if (arguments := call_arguments_text(args)) is None:
            raise UsageError(f"The arguments of call {id!r} are not JSON data. Pass them as the model wrote them.")
        row = CallRow(
            scope=self._scope,
            id=_bounded("id", id),
            name=_bounded("name", name),
            arguments=arguments if len(arguments.encode()) <= LONGEST_CALL_FIELD else "",
            digest=digest_of(arguments),
            effect=effect,
            attempt=0,  # not begun
            begun_at=0.0,
            begun_by="",
        )
        return RecordedCall(self, row, is_safe=replay == "safe", look=settle)

    def recorded(
        self, name: str = "", *, effect: Effect = "remote", replay: Replay = "never", settle: Look | None = None
    ) -> Callable[[Callable[Params, T]], Callable[Concatenate[str, Params], T]]:
        """Return a decorator: the function is called with the id of its call as one more argument, the first.

        A call that has ended is not run again: its result is returned, and if it had failed `ToolFailed` is raised.
        """
        import inspect  # a fifth of the start of a small program

        def decorate(function: Callable[Params, T]) -> Callable[Concatenate[str, Params], T]:
            if inspect.isgeneratorfunction(function) or inspect.isasyncgenfunction(function):
                raise UsageError(
                    f"Function {function.__name__!r} is a generator: its call would end before its body ran. Collect "
                    "what it yields in a function, and record that."
                )
            signature = inspect.signature(function)

            def call_of(id_: str, args: tuple[object, ...], named: Mapping[str, object]) -> RecordedCall:
                bound = signature.bind(*args, **named)
                bound.apply_defaults()
                arguments = {key: _plain(value) for key, value in bound.arguments.items()}
                return self.call(id_, name or function.__name__, arguments, effect=effect, replay=replay, settle=settle)

            if inspect.iscoroutinefunction(function):

                @functools.wraps(function)
                async def run_async(id_: str, /, *args: Params.args, **named: Params.kwargs) -> object:
                    async with call_of(id_, args, named) as call:
                        if not call.done:
                            call.result = await cast("Awaitable[object]", function(*args, **named))
                    return _returned(call)

                return cast("Callable[Concatenate[str, Params], T]", run_async)

            @functools.wraps(function)
            def run(id_: str, /, *args: Params.args, **named: Params.kwargs) -> object:
                with call_of(id_, args, named) as call:
                    if not call.done:
                        call.result = _ended(function, function(*args, **named))
                return _returned(call)

            return cast("Callable[Concatenate[str, Params], T]", run)

        return decorate

    def outcomes(self, ids: Iterable[str]) -> dict[str, CallRecord]:
        """Return what is known of the calls with these ids; of an unknown one nothing."""
        asked_ids = [each for each in dict.fromkeys(ids) if _is_name(each)]
        rows = self._unrecorded.over(self._scope, self._store.rows(self._scope, asked_ids))
        return {
            each: CallRecord(id=each, name="", outcome="lost", text=LOST_OUTCOME)
            if row is None
            else self.record_of(row)
            for each in asked_ids
            if each in rows
            for row in (rows[each],)
        }

    def heal(
        self,
        messages: object,
        *,
        format: str | None = None,  # noqa: A002 - the word of the glossary
        profile: str | None = None,
        frozen: int = 0,
        **request: Unpack[Request],
    ) -> Repair:
        """Return the repaired conversation, as `repair` does, with what is known of each call that has no result.

        A call that the ledger does not know keeps the result that claims nothing.
        """
        from holdfast.history import repair

        return repair(messages, format=format, profile=profile, frozen=frozen, results=self.texts, **request)

    def texts(self, ids: Sequence[str]) -> dict[str, str]:
        """Return what a model may read as the results of these calls, as `repair` takes it."""
        return {key: record.text for key, record in self.outcomes(ids).items()}

    def prune(self, older_than: float) -> int:
        """Remove calls that ended more than so many seconds ago, and return how many. Their ids are unknown then."""
        if not older_than >= 0:
            raise UsageError(f"Argument 'older_than' is {older_than!r} (expected seconds, 0 or more).")
        self._write_unrecorded()
        return self._store.prune(self._now() - older_than, is_alive=lives)

    def close(self) -> None:
        """Close the file. Closing twice is fine."""
        try:
            self._write_unrecorded()
        finally:
            self._store.close()

    def begin(self, row: CallRow, *, is_safe: bool) -> tuple[CallRow, CallRow | None]:
        """Record a beginning. Return it, and the row of an earlier run if the call was not begun for that reason.

        Raises `CallRepeated` for other arguments, and for a call that another task or process runs.
        """
        self._write_unrecorded()
        row = msgspec.structs.replace(row, begun_at=self._now(), begun_by=this_process(), attempt=1)
        replaced: list[int] = []

        def may_replace(there: CallRow) -> bool:
            again = _is_same(there, row) and (there.outcome == "not_started" or (is_safe and _is_without_end(there)))
            if again:
                replaced.append(there.attempt + 1)
            return again

        there = self._store.begin(row, may_replace=may_replace)
        if there is None:
            return msgspec.structs.replace(row, attempt=replaced[-1]) if replaced else row, None
        if not _is_same(there, row):
            raise CallRepeated(
                f"Call {row.id!r} was recorded before with other arguments, or of another tool ({there.name}). It was "
                "not run. Give each call its own id.",
                call=row.id,
                outcome=self.record_of(there).outcome,
                text=self.record_of(there).text,
            )
        if not there.outcome and lives(there.begun_by):
            raise self.repeated(there)
        return row, there

    def restart(self, row: CallRow, found: CallRow, *, happened: bool | None) -> CallRow:
        """Record what a look found of the run `found`, and begin again if it did not happen; return that beginning.

        Raises `CallRepeated` if it happened, if that is unknown, or if another process was faster.
        """
        if happened is not False:
            if happened:
                found = msgspec.structs.replace(found, outcome="interrupted", found="happened", ended_at=self._now())
                self._store.finish(found)
            raise self.repeated(found)
        row = msgspec.structs.replace(row, begun_at=self._now(), begun_by=this_process(), attempt=found.attempt + 1)
        there = self._store.begin(row, may_replace=lambda there: there == found)
        if there is not None:
            raise self.repeated(there)
        return row

    def finish(self, row: CallRow, outcome: StoredOutcome, result: object) -> None:
        """Record the end of a call. If it cannot be written now, it is written before the next call begins."""
        form: ResultForm = ""
        text = ""
        if isinstance(result, BaseException):
            form, text = "text", error_text(result)[:LONGEST_CALL_ERROR] if outcome == "failed" else ""
        elif outcome == "ok":
            form, text = cast("tuple[ResultForm, str]", encoded_result(result))
        row = msgspec.structs.replace(row, outcome=outcome, form=form, result=text, ended_at=self._now())
        self._unrecorded.add(row)
        self._write_unrecorded()

    def record_of(self, row: CallRow) -> CallRecord:
        """Return a stored call as it is shown."""
        outcome = fate_of(row, alive=not row.outcome and lives(row.begun_by))
        result, text = None, ""
        match outcome:
            case "ok" | "failed":
                try:
                    result, text = self._result_of(row)
                except DamageError as damage:
                    text = f"It ended ({outcome}), and its result is lost. {damage}"
                    result = text
            case "running":
                text = running_text(pid_of(row.begun_by))
            case "not_started":
                text = CALL_NOT_BEGUN
            case _:
                text = interrupted_text(row)
        return CallRecord(
            id=row.id,
            name=row.name,
            outcome=outcome,
            text=text,
            result=result,
            arguments=msgspec.json.decode(row.arguments) if row.arguments else None,
            attempt=row.attempt,
            begun_at=row.begun_at,
            ended_at=row.ended_at,
        )

    def repeated(self, row: CallRow) -> CallRepeated:
        """Return the exception that says what is known of an earlier run, and that it was not run again."""
        record = self.record_of(row)
        return CallRepeated(
            f"Call {row.id!r} of {row.name} was not run again: it was begun before. {record.text}",
            call=row.id,
            outcome=record.outcome,
            text=record.text,
        )

    def _result_of(self, row: CallRow) -> tuple[object, str]:
        text = row.result
        if row.form in ("json-file", "text-file"):
            text = self._store.kept_result(row.result).decode()
        return (msgspec.json.decode(text) if row.form.startswith("json") else text), text

    def _write_unrecorded(self) -> None:
        """Write the ends that could not be written yet. Raises `StorageFailed` if they still cannot."""
        for row in self._unrecorded.rows():
            try:
                is_written = self._store.finish(self._with_file(row))
            except StorageFailed as error:
                raise StorageFailed(
                    f"The end of call {row.id!r} ({row.outcome}) is not recorded yet: {error}"
                ) from error
            self._unrecorded.remove(row)
            if not is_written and not self._has_end(row):
                raise StateError(
                    f"The end of call {row.id!r} ({row.outcome}) cannot be recorded: its beginning is not in the "
                    "ledger any more. Keep its result yourself, and look what happened to the file."
                )

    def _has_end(self, row: CallRow) -> bool:
        """Return whether another thread has written the same end."""
        there = self._store.rows(row.scope, (row.id,)).get(row.id)
        return there is not None and (there.attempt, there.outcome) == (row.attempt, row.outcome)

    def _with_file(self, row: CallRow) -> CallRow:
        """Return the row with its result in a file, if it is too long for a row."""
        data = row.result.encode()
        if len(data) <= LONGEST_CALL_FIELD:
            return row
        if len(data) > LARGEST_CALL_RESULT:
            note = f"The result was too long to be kept: {len(data):,} bytes (at most {LARGEST_CALL_RESULT:,})."
            return msgspec.structs.replace(row, form="text", result=note)
        form: ResultForm = "json-file" if row.form == "json" else "text-file"
        return msgspec.structs.replace(row, form=form, result=self._store.keep_result(data))


class _Unrecorded:
    """The ends of calls of this process that are not written yet, because the disk was full, for example."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._ends: dict[tuple[str, str], CallRow] = {}

    def add(self, row: CallRow) -> None:
        with self._lock:
            self._ends[row.scope, row.id] = row

    def remove(self, row: CallRow) -> None:
        with self._lock:
            if self._ends.get((row.scope, row.id)) is row:
                del self._ends[row.scope, row.id]

    def rows(self) -> list[CallRow]:
        with self._lock:
            return list(self._ends.values())

    def over(self, scope: str, rows: Mapping[str, CallRow | None]) -> dict[str, CallRow | None]:
        """Return the rows of a scope with these ends in the place of their beginnings."""
        with self._lock:
            return {**rows, **{row.id: row for row in self._ends.values() if row.scope == scope and row.id in rows}}


def _is_same(there: CallRow, row: CallRow) -> bool:
    return there.name == row.name and there.digest == row.digest


def _is_without_end(row: CallRow) -> bool:
    return row.outcome == "interrupted" or (not row.outcome and not lives(row.begun_by))


def _ended(function: Callable[..., object], returned: object) -> object:
    """Return what the function returned. Raises `UsageError` for what has still to run: that is not the call's end."""
    if isinstance(returned, Awaitable | Iterator | AsyncIterator):
        unfinished = cast("object", returned)
        if (close := getattr(unfinished, "close", None)) is not None:
            close()
        raise UsageError(
            f"Function {function.__name__!r} returned a {type(unfinished).__name__}, whose body has still to run. "
            "Record an `async def` function, or one that returns what it collected."
        )
    return returned


def _returned(call: RecordedCall) -> object:
    if call.outcome == "failed" and call.record is not None:
        raise ToolFailed(call.record.text)
    return call.result


def _plain(value: object) -> object:
    return list(cast("tuple[object, ...]", value)) if isinstance(value, tuple) else value


def _is_name(text: str) -> bool:
    """Return whether this can be the id of a recorded call."""
    return 0 < len(text) <= LONGEST_RECORDED_NAME and text == valid_unicode(text)


def _bounded(what: str, text: str) -> str:
    if len(text) > LONGEST_RECORDED_NAME or (what != "scope" and not text):
        least = 0 if what == "scope" else 1
        raise UsageError(
            f"Argument {what!r} has {len(text)} characters (expected {least} to {LONGEST_RECORDED_NAME:,})."
        )
    if what == "name":
        return valid_unicode(text)
    if text != valid_unicode(text):  # two ids that differ in this alone would be one call
        raise UsageError(f"Argument {what!r} is {text!r}, which is not valid Unicode. Give the call an id of your own.")
    return text

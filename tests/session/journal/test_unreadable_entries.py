"""A journal appends nothing that it could not read again."""

from __future__ import annotations

from pathlib import Path

import pytest

from holdfast.errors import EntryInvalid
from holdfast.session.journal import entries as e
from holdfast.session.journal.store import MemoryStore, Store
from holdfast.session.storage.sqlite_store import SqliteStore

UNREADABLE: tuple[e.Entry, ...] = (
    e.Queued(id=5, text="x", when="later"),  # pyright: ignore[reportArgumentType] - what a defect would write
    e.Queued(id="q", text="x", when="never"),  # pyright: ignore[reportArgumentType] - likewise
    e.CallEnded(call="c", outcome="ok", text="x", images=("/tmp/x.png",)),  # pyright: ignore[reportArgumentType] - likewise
    e.CallEnded(call="c", outcome="ok", text="x", seconds=float("nan")),
    e.Titled(title="\ud800"),
    e.ModelSettingsChanged(settings=object()),  # pyright: ignore[reportArgumentType] - likewise
)


@pytest.mark.parametrize("kind", ["memory", "disk"])
@pytest.mark.parametrize("entry", UNREADABLE, ids=lambda entry: repr(entry)[:40])
def test_an_entry_that_could_not_be_read_again_is_not_appended(tmp_path: Path, kind: str, entry: e.Entry) -> None:
    store: Store = MemoryStore() if kind == "memory" else SqliteStore.create(tmp_path / "s")
    with pytest.raises(EntryInvalid, match=r"was not written: it could not be read again: .*Nothing was written"):
        store.append([e.Titled(title="before"), entry], expected=0)
    assert store.append([e.Titled(title="after")], expected=0) == 1
    reading = store.read()
    assert ([each.entry for each in reading.records], reading.findings) == ([e.Titled(title="after")], ())
    store.close()

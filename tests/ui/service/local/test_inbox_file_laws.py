"""The laws of the inbox of the local server: what was written is read back, once, and what is done stays done."""

from __future__ import annotations

import tempfile
from pathlib import Path

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from holdfast.errors import StateError
from holdfast.fleet.record import InboxRow
from holdfast.ui.service.local.inbox_file import InboxFile
from laws import law

SESSIONS = st.sampled_from(["one", "two"])
KEYS = st.tuples(st.sampled_from(["me", "bot"]), st.sampled_from(["prompt", "stop"]), st.sampled_from(["", "a", "b"]))
STEPS = st.one_of(
    st.tuples(st.just("add"), SESSIONS, KEYS, st.text(max_size=8)),
    st.tuples(st.just("done"), st.integers(1, 8), st.integers(1, 9), st.sampled_from(["", "why"])),
    st.tuples(st.just("again")),
)


@given(st.lists(STEPS, max_size=14))
@example([("add", "one", ("me", "prompt", "a"), "x"), ("add", "one", ("bot", "stop", "a"), "y")])
@law()
def test_a_row_is_read_back_once_by_any_later_process(steps: list[tuple[object, ...]]) -> None:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "service", "inbox.db")
        inbox = InboxFile(path)
        known: dict[int, InboxRow] = {}
        for step in steps:
            match step:
                case ("add", str(session), (str(sender), str(kind), str(key)), str(text)):
                    row = inbox.add(
                        session, "stop" if kind == "stop" else "prompt", {"text": text}, key=key, sender=sender
                    )
                    its = (session, sender, kind, key)
                    same = [
                        each
                        for each in known.values()
                        if key and (each.session, each.sender, each.kind, each.key) == its
                    ]
                    assert row.new is not bool(same)
                    if same:
                        assert row.id == same[0].id
                        assert row.body == same[0].body
                    else:
                        known[row.id] = row
                        assert row.body == {"text": text}
                case ("done", int(row_id), int(seq), str(refused)):
                    inbox.done(row_id, seq=None if refused else seq, refused=refused)
                    if row_id in known and known[row_id].done is None:
                        known[row_id] = next(each for each in inbox.rows(known[row_id].session) if each.id == row_id)
                        assert known[row_id].done is not None
                        assert (known[row_id].seq, known[row_id].refused) == (None if refused else seq, refused)
                case _:
                    inbox.close()
                    inbox = InboxFile(path)
        for session in ("one", "two"):
            rows = inbox.rows(session)
            expected = [each for each in known.values() if each.session == session]
            assert [(each.id, each.body, each.done, each.refused) for each in rows] == [
                (each.id, each.body, each.done, each.refused) for each in expected
            ]
            assert [each.row.id for each in inbox.waiting(session)] == [each.id for each in rows if each.done is None]
            assert len({each.name for each in inbox.waiting(session)}) == len(inbox.waiting(session))
        inbox.close()


def test_one_server_at_a_time_and_only_its_user_reads_it(tmp_path: Path) -> None:
    path = tmp_path / "service" / "inbox.db"
    inbox = InboxFile(path)
    with pytest.raises(StateError, match=r"serves these sessions already \(pid \d+ on "):
        InboxFile(path)
    inbox.drive("s")
    inbox.drive("s")
    assert inbox.driven() == ("s",)
    inbox.close()
    inbox.close()
    with pytest.raises(StateError, match="closed"):
        inbox.driven()
    again = InboxFile(path)
    assert again.driven() == ("s",)
    again.drop("s")
    assert again.driven() == ()
    again.close()
    assert path.stat().st_mode & 0o777 == 0o600
    assert path.parent.stat().st_mode & 0o777 == 0o700

"""The sessions of a folder, or of all, in pages. Pure."""

from __future__ import annotations

import datetime as dt
from pathlib import Path

from holdfast.session.catalog import SessionSummary

PAGE_LENGTH = 50
"""Sessions in one answer of `session/list`."""


def session_page(found: tuple[SessionSummary, ...], *, cwd: str | None, cursor: str | None) -> dict[str, object]:
    """Return one page of the sessions, the newest first; `cursor` is the last id of the page before."""
    here = None if cwd is None else str(Path(cwd).resolve())
    rest = [each for each in found if here is None or each.cwd == here]
    if cursor is not None:
        ids = [each.id for each in rest]
        rest = rest[ids.index(cursor) + 1 :] if cursor in ids else []
    page = rest[:PAGE_LENGTH]
    listed = [
        {
            "sessionId": each.id,
            "cwd": each.cwd or "/",
            "title": each.title or each.damage or None,
            "updatedAt": dt.datetime.fromtimestamp(each.modified, dt.UTC).isoformat(timespec="seconds"),
        }
        for each in page
    ]
    more = {"nextCursor": page[-1].id} if len(rest) > len(page) else {}
    return {"sessions": listed, **more}

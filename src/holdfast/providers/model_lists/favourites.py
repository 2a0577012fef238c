"""The models that the user marked as favourites, in a small file next to the sessions.

The config has no setting for them: the file is the only place, and `/model` writes it.
"""

from __future__ import annotations

from pathlib import Path

import msgspec

from holdfast.errors import ConfigInvalid, StorageFailed
from holdfast.system.bounded_files import STATE_FILE, read_bounded
from holdfast.system.durable_files import make_folder, replace_file
from holdfast.typed_data import decode_json


class _Favourites(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The content of the file: PROVIDER:MODEL, the oldest first."""

    models: tuple[str, ...] = ()


class Favourites:
    """The favourites in the file at `path`, which need not exist."""

    def __init__(self, path: Path) -> None:
        self._path = path

    def read(self) -> tuple[str, ...]:
        """Return the favourites, the oldest first. Raise `ConfigInvalid` for an unreadable file."""
        try:
            raw = read_bounded(self._path, STATE_FILE)
            return tuple(dict.fromkeys(decode_json(raw, _Favourites).models))
        except FileNotFoundError:
            return ()
        except (OSError, msgspec.DecodeError, UnicodeDecodeError) as error:
            why = error.strerror if isinstance(error, OSError) else error
            raise ConfigInvalid(
                f"Favourites file {str(self._path)!r} cannot be read: {why}. Fix it, or move it away to start again."
            ) from error

    def usable(self) -> tuple[tuple[str, ...], str]:
        """Return the favourites, and what is wrong with the file ("" if nothing; else there are none)."""
        try:
            return self.read(), ""
        except ConfigInvalid as error:
            return (), str(error)

    def toggle(self, model: str) -> tuple[str, ...]:
        """Mark a model, or unmark it, durably. Return the favourites. Raise `ConfigInvalid` or `StorageFailed`."""
        now = self.read()
        then = tuple(each for each in now if each != model) if model in now else (*now, model)
        try:
            make_folder(self._path.parent)
            replace_file(self._path, msgspec.json.format(msgspec.json.encode(_Favourites(then)), indent=1))
        except OSError as error:
            raise StorageFailed(
                f"Favourites file {str(self._path)!r} cannot be written: {error.strerror}. Nothing was changed. "
                "Free some disk space, or fix the permissions of its folder."
            ) from error
        return then

"""What a disk may hold after power was lost: images made from a log of the operations of a program.

Two rules. What was synced is there: a file's bytes by a sync of the file, a name by a sync of its folder. Of the rest
anything may be: nothing, all, some in any order, half of it, zeros in its place; names come and go in order.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from pathlib import Path, PurePosixPath

from shimmed import Operation

_SECTOR = 512
_FOLDER = -1


@dataclass(frozen=True, slots=True)
class _Write:
    """Bytes put at an offset of a file; None in place of bytes sets its size."""

    file: int
    offset: int
    data: bytes | None

    def put(self, content: bytearray) -> None:
        if self.data is None:
            content[self.offset :] = bytes(max(0, self.offset - len(content)))
            return
        content.extend(bytes(max(0, self.offset + len(self.data) - len(content))))
        content[self.offset : self.offset + len(self.data)] = self.data

    def zeros(self) -> _Write:
        """Return what it leaves if the size of the file was written and its bytes were not."""
        return _Write(self.file, self.offset, None if self.data is None else bytes(len(self.data)))

    def torn(self) -> _Write:
        """Return what it leaves if only its first sectors were written; none of a short one."""
        return _Write(self.file, self.offset, self.data and self.data[: len(self.data) // 2 // _SECTOR * _SECTOR])


@dataclass(frozen=True, slots=True)
class _Naming:
    """Names that appear in a folder, each with its file, and names that go."""

    folder: str
    names: tuple[tuple[str, int | None], ...]


@dataclass(frozen=True, slots=True)
class Image:
    """What every file holds; a folder is None."""

    files: dict[str, bytes | None]

    def build(self, root: Path) -> None:
        """Put it on the disk, in the empty folder `root`."""
        for path, content in sorted(self.files.items()):
            if content is None:
                (root / path).mkdir(mode=0o700)
            else:
                (root / path).write_bytes(content)

    def digest(self) -> bytes:
        summary = hashlib.blake2b(digest_size=16)
        for path, content in sorted(self.files.items()):
            summary.update(f"\0{path}\0{-1 if content is None else len(content)}\0".encode() + (content or b""))
        return summary.digest()


@dataclass(slots=True)
class Disk:
    """A disk under a folder: what is durable on it, and what waits in the system's memory."""

    root: str
    _durable_names: dict[str, int] = field(default_factory=dict[str, int])
    _names: dict[str, int] = field(default_factory=dict[str, int])
    _files: dict[int, bytearray] = field(default_factory=dict[int, bytearray])
    _writes: list[_Write] = field(default_factory=list[_Write])
    _namings: list[_Naming] = field(default_factory=list[_Naming])

    @classmethod
    def of(cls, folder: Path, root: str) -> Disk:
        """Return a disk on which all that is in `folder` is durable; operations will name it `root`."""
        disk = cls(root)
        for path in sorted(folder.rglob("*")):
            name = str(path.relative_to(folder))
            disk._names[name] = _FOLDER if path.is_dir() else len(disk._files)
            if not path.is_dir():
                disk._files[len(disk._files)] = bytearray(path.read_bytes())
        disk._durable_names = dict(disk._names)
        return disk

    def take(self, operation: Operation) -> None:
        """Do what the operation does, to the memory or, for a sync, to the disk."""
        path, other = self._name(operation.path), self._name(operation.other)
        match operation.kind:
            case "w" if path in self._names:  # else it was unlinked
                self._writes.append(_Write(self._names[path], operation.offset, operation.data))
            case "t" if path in self._names:
                self._writes.append(_Write(self._names[path], operation.offset, None))
            case "c":
                self._files[len(self._files)] = bytearray()
                self._rename({path: len(self._files) - 1})
            case "m":
                self._rename({path: _FOLDER})
            case "r":
                self._rename({path: None, other: self._names[path]})
            case "l":
                self._rename({other: self._names[path]})
            case "u":
                self._rename({path: None})
            case "s":
                self._sync(path)
            case "x" if chr(operation.offset) == "s":  # the system forgets what it could not write
                self._writes = [write for write in self._writes if write.file != self._names.get(path)]
            case _:
                pass

    def images(self) -> Iterator[Image]:
        """Yield what may be found if the power is lost now, the same image more than once."""
        everything = self._writes
        for writes in self._choices():
            yield self._image(writes, self._namings)
            yield self._image(writes, ())
        for number in range(len(self._namings)):
            yield self._image(everything, self._namings[:number])
            yield self._image((), self._namings[:number])
            yield self._image(everything, self._namings[:number] + self._namings[number + 1 :])

    def _choices(self) -> Iterator[list[_Write]]:
        writes = self._writes
        yield writes
        yield []
        yield [write.zeros() for write in writes]
        for number, write in enumerate(writes):
            before, after = writes[:number], writes[number + 1 :]
            yield before
            yield before + after
            yield [write]
            for instead in (write.torn(), write.zeros()):
                yield [*before, instead]
                yield [*before, instead, *after]

    def _image(self, writes: Iterable[_Write], namings: Iterable[_Naming]) -> Image:
        names = dict(self._durable_names)
        for naming in namings:
            _apply(names, naming)
        contents = {file: bytearray(content) for file, content in self._files.items() if file in names.values()}
        for write in writes:
            if write.file in contents:
                write.put(contents[write.file])
        there = {
            name: None if file == _FOLDER else bytes(contents[file])
            for name, file in names.items()
            if all(str(above) in names for above in PurePosixPath(name).parents[:-1])
        }
        return Image(there)

    def _sync(self, path: str) -> None:
        file = self._names.get(path, _FOLDER)
        if file == _FOLDER:
            for naming in self._namings:
                if naming.folder == path:
                    _apply(self._durable_names, naming)
            self._namings = [naming for naming in self._namings if naming.folder != path]
            return
        for write in self._writes:
            if write.file == file:
                write.put(self._files[file])
        self._writes = [write for write in self._writes if write.file != file]

    def _rename(self, names: dict[str, int | None]) -> None:
        folder = str(PurePosixPath(next(iter(names))).parent)
        naming = _Naming(folder, tuple(names.items()))
        _apply(self._names, naming)
        self._namings.append(naming)

    def _name(self, path: str) -> str:
        return path.removeprefix(self.root).lstrip("/") or "."


def _apply(names: dict[str, int], naming: _Naming) -> None:
    for name, file in naming.names:
        if file is None:
            names.pop(name, None)
        else:
            names[name] = file

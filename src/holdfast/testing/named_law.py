"""Names the law that a failure broke, for suites that a user's own class must pass."""

from __future__ import annotations

from types import TracebackType


class NamedLaw:
    """A context manager that turns any failure of the block into an AssertionError that begins with the law's name."""

    def __init__(self, law: str) -> None:
        """Create it for a law, such as `a store keeps order`."""
        self._law = law

    def __enter__(self) -> None:
        pass

    def __exit__(self, _: type[BaseException] | None, error: BaseException | None, __: TracebackType | None) -> None:
        if isinstance(error, Exception):
            message = str(error) if isinstance(error, AssertionError) else f"{type(error).__name__}: {error}"
            raise AssertionError(f"Law {self._law!r} is broken: {message}") from error  # noqa: TRY004 - a breach, not a type

"""How many examples a law is tried on: a hundred while somebody works, two thousand where it is decided (CI)."""

from __future__ import annotations

from hypothesis import settings

LEAST = 2_000


def law(*, shared_by: int) -> settings:
    """Return the settings of a law that so many tests share: in CI they try `LEAST` examples together."""
    if settings.get_current_profile_name() == "ci":
        return settings(max_examples=-(-LEAST // shared_by))
    return settings()

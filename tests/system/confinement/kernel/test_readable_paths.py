"""What Landlock grants: everything but the secrets, by their siblings, within a bound."""

from __future__ import annotations

from collections.abc import Mapping

import pytest

from holdfast.system.confinement.description import Mask
from holdfast.system.confinement.kernel.readable_paths import RuleLimit, read_grants

TREE: Mapping[str, list[str]] = {
    "/ws": [".env", "a", "sub", "keys"],
    "/ws/sub": ["b", ".env"],
    "/ws/keys": ["k"],
}


def entries(folder: str) -> list[str]:
    return TREE[folder]


def file(path: str) -> Mask:
    return Mask(path, is_folder=False)


def test_a_folder_without_a_secret_is_granted_whole() -> None:
    assert read_grants(["/usr", "/ws"], [file("/etc/shadow")], entries).subtrees == ("/usr", "/ws")


def test_beside_a_secret_every_other_entry_is_granted_and_the_names() -> None:
    grants = read_grants(["/ws"], [file("/ws/.env")], entries)
    assert grants.subtrees == ("/ws/a", "/ws/keys", "/ws/sub")
    assert grants.names == ("/ws",)


def test_a_secret_further_below_splits_each_folder_above_it() -> None:
    grants = read_grants(["/ws"], [file("/ws/sub/.env")], entries)
    assert grants.subtrees == ("/ws/.env", "/ws/a", "/ws/keys", "/ws/sub/b")
    assert grants.names == ("/ws", "/ws/sub")


def test_the_names_in_a_secret_folder_are_not_granted() -> None:
    grants = read_grants(["/ws"], [Mask("/ws/keys", is_folder=True)], entries)
    assert grants.subtrees == ("/ws/.env", "/ws/a", "/ws/sub")
    assert grants.names == ()


def test_a_secret_around_the_workspace_does_not_hide_it() -> None:
    assert read_grants(["/ws"], [Mask("/", is_folder=True)], entries).subtrees == ("/ws",)


def test_too_many_siblings_are_refused() -> None:
    many = [str(number) for number in range(100)]
    assert len(read_grants(["/x"], [file("/x/1")], lambda _: many, most=101).subtrees) == 99
    with pytest.raises(RuleLimit, match="more than 100 rules"):
        read_grants(["/x"], [file("/x/1")], lambda _: many, most=100)

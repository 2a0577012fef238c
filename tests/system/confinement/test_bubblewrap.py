"""The order and the words of bubblewrap's arguments: wide before narrow, secrets last, no capability, no namespace."""

from __future__ import annotations

from itertools import pairwise

import pytest

from holdfast.system.confinement.bubblewrap import bubblewrap_words, visible_masks
from holdfast.system.confinement.description import Confinement, GitFolders, Level, Mask, SystemView

SYSTEM = SystemView(folders=("/etc", "/usr"), links=(("/bin", "usr/bin"),), scratch=("/run", "/tmp"))
PLAIN = Confinement(
    level="read",
    cwd="/h/u/ws",
    roots=("/h/u/ws",),
    temporary="/h/u/s/tmp",
    placeholders="/h/u/s/masks",
    home="/h/u",
    system=SYSTEM,
    toolchains=("/h/u/.cargo",),
    git=(GitFolders(pinned=("/h/u/ws/.git",), protected=("/h/u/ws/.git/config", "/h/u/ws/.git/info/attributes")),),
    caches=("/h/u/.cargo/registry",),
    fixed=("/h/u/ws/deep/er/.envrc",),
    masks=(Mask("/h/u/ws/.env", is_folder=False, size=3, mtime_ns=7), Mask("/h/u/.ssh", is_folder=True)),
)


def mounts(described: Confinement) -> list[tuple[str, str]]:
    """Return each option that puts something somewhere, with its place."""
    words = list(bubblewrap_words(described))
    words = words[: words.index("--")]
    at = [n for n, word in enumerate(words) if word.startswith("--")] + [len(words)]
    return [(words[begin], words[end - 1]) for begin, end in pairwise(at) if end - begin > 1]


def position(described: Confinement, option: str, place: str) -> int:
    return mounts(described).index((option, place))


@pytest.mark.parametrize("level", ["read", "workspace", "network"])
def test_every_level_has_no_capability_no_namespace_and_no_network(level: Level) -> None:
    words = bubblewrap_words(PLAIN._replace(level=level))
    for word in ("--unshare-user", "--disable-userns", "--unshare-pid", "--unshare-net", "--die-with-parent"):
        assert word in words
    assert ("--cap-drop", "ALL") in list(pairwise(words))
    assert ("--remount-ro", "/proc") in list(pairwise(words))
    assert ("--remount-ro", "/") in list(pairwise(words))
    assert ("--seccomp", "3") in list(pairwise(words))


def test_at_level_read_nothing_but_the_temporary_folder_is_bound_writable() -> None:
    assert [place for option, place in mounts(PLAIN) if option == "--bind"] == ["/h/u/s/tmp"]
    assert {place for option, place in mounts(PLAIN) if option == "--remount-ro"} == {"/proc", "/dev", "/"}
    assert {place for option, place in mounts(PLAIN) if option == "--dir"} >= {"/tmp", "/run", "/var/tmp"}
    assert [place for option, place in mounts(PLAIN) if option == "--tmpfs"] == ["/dev/shm"]


def test_a_limited_view_shows_home_only_where_a_toolchain_is() -> None:
    shown = {place for option, place in mounts(PLAIN) if option == "--ro-bind"}
    assert "/" not in shown
    assert "/h/u" not in shown
    assert {"/usr", "/etc", "/h/u/.cargo", "/h/u/ws"} <= shown
    assert ("--symlink", "/bin") in mounts(PLAIN)


@pytest.mark.parametrize("sees_disk", [False, True])
def test_wide_comes_before_narrow_and_secrets_come_last(*, sees_disk: bool) -> None:
    described = PLAIN._replace(level="workspace", sees_disk=sees_disk)
    workspace = position(described, "--bind", "/h/u/ws")
    assert position(described, "--tmpfs", "/tmp") < workspace
    assert (
        workspace
        < position(described, "--bind", "/h/u/ws/.git")
        < position(described, "--ro-bind", "/h/u/ws/.git/config")
    )
    assert position(described, "--bind", "/h/u/ws/deep") < position(described, "--bind", "/h/u/ws/deep/er")
    assert position(described, "--bind", "/h/u/ws/deep/er") < position(described, "--ro-bind", "/h/u/ws/deep/er/.envrc")
    assert position(described, "--ro-bind", "/h/u/ws/.git/config") < position(described, "--ro-bind", "/h/u/ws/.env")
    assert position(described, "--ro-bind", "/h/u/ws/.env") < position(described, "--bind", "/h/u/s/tmp")


def test_a_folder_above_something_read_only_cannot_be_renamed() -> None:
    assert ("--bind", "/h/u/ws/.git/info") in mounts(PLAIN._replace(level="workspace"))


def test_caches_are_writable_above_level_read_only() -> None:
    assert ("--bind", "/h/u/.cargo/registry") not in mounts(PLAIN)
    assert ("--bind", "/h/u/.cargo/registry") in mounts(PLAIN._replace(level="workspace"))


def test_a_secret_that_is_not_visible_is_not_masked() -> None:
    assert [mask.path for mask in visible_masks(PLAIN)] == ["/h/u/ws/.env"]
    seeing = PLAIN._replace(level="workspace", sees_disk=True)
    assert [mask.path for mask in visible_masks(seeing)] == ["/h/u/.ssh", "/h/u/ws/.env"]


def test_a_secret_in_a_secret_folder_and_a_workspace_that_is_one_are_not_masked() -> None:
    masks = (Mask("/h/u/ws", is_folder=True), Mask("/h/u/ws/k", is_folder=True), Mask("/h/u/ws/k/x", is_folder=False))
    assert [mask.path for mask in visible_masks(PLAIN._replace(masks=masks))] == ["/h/u/ws/k"]


def test_a_secret_folder_around_the_temporary_folder_is_emptied_before_it_is_bound() -> None:
    described = PLAIN._replace(level="workspace", sees_disk=True, masks=(Mask("/h/u/s", is_folder=True),))
    assert position(described, "--tmpfs", "/h/u/s") < position(described, "--bind", "/h/u/s/tmp")
    assert position(described, "--bind", "/h/u/s/tmp") < position(described, "--remount-ro", "/h/u/s")
    assert ("--ro-bind", "/h/u/s") not in mounts(described)
    within = described._replace(temporary="/h/u/ws/own/tmp", masks=(Mask("/h/u/ws/own", is_folder=True),))
    assert position(within, "--bind", "/h/u/ws") < position(within, "--tmpfs", "/h/u/ws/own")
    assert position(within, "--tmpfs", "/h/u/ws/own") < position(within, "--bind", "/h/u/ws/own/tmp")


def test_a_linked_worktree_shows_its_repository_without_hooks_at_level_read() -> None:
    git = GitFolders(pinned=("/r/.git",), protected=("/r/.git/hooks",), common="/r/.git", hooks=("/r/.git/hooks",))
    described = PLAIN._replace(git=(git,))
    words = bubblewrap_words(described)
    assert position(described, "--ro-bind", "/r/.git") < position(described, "--ro-bind", "/r/.git/hooks")
    assert words[words.index("/r/.git/hooks") - 1] == "/h/u/s/masks/folder"
    writing = PLAIN._replace(git=(git,), level="workspace")
    assert bubblewrap_words(writing)[bubblewrap_words(writing).index("/r/.git/hooks") - 1] == "--ro-bind"


def test_a_looking_line_sees_the_processes_and_sockets_of_the_machine() -> None:
    words = bubblewrap_words(PLAIN._replace(is_looking=True))
    assert ("--ro-bind", "/proc", "/proc") in list(zip(words, words[1:], words[2:], strict=False))
    assert "--unshare-net" not in words
    assert words[-2].endswith('; exec "$@"')
    assert words[-3:-1] != bubblewrap_words(PLAIN)[-3:-1], "and its own are not counted"


def test_a_toolchain_in_the_workspace_stays_writable_with_it() -> None:
    described = PLAIN._replace(level="workspace", sees_disk=True, toolchains=("/h/u/ws/.venv", "/tmp/tools"))
    assert ("--ro-bind", "/h/u/ws/.venv") not in mounts(described)
    assert ("--ro-bind", "/tmp/tools") in mounts(described)


def test_a_toolchain_that_another_one_shows_is_not_mounted_again() -> None:
    described = PLAIN._replace(toolchains=("/h/u/.pyenv/plugins/x", "/h/u/.pyenv"))
    assert ("--ro-bind", "/h/u/.pyenv") in mounts(described)
    assert ("--ro-bind", "/h/u/.pyenv/plugins/x") not in mounts(described)


@pytest.mark.parametrize("sees_disk", [False, True])
def test_a_secret_folder_is_never_a_toolchain_and_hides_what_surrounds_one(*, sees_disk: bool) -> None:
    masks = (Mask("/h/u/.x/secret", is_folder=True), Mask("/h/u/.docker", is_folder=True))
    toolchains = ("/h/u/.x", "/h/u/.x/secret/bin", "/h/u/.docker", "/h/u/.docker/bin")
    described = PLAIN._replace(level="workspace", sees_disk=sees_disk, toolchains=toolchains, masks=masks)
    assert ("--ro-bind", "/h/u/.docker") not in mounts(described)
    assert position(described, "--tmpfs", "/h/u/.docker") < position(described, "--ro-bind", "/h/u/.docker/bin")
    hidden = position(described, "--tmpfs", "/h/u/.x/secret")
    assert hidden < position(described, "--ro-bind", "/h/u/.x/secret/bin")
    assert sees_disk or position(described, "--ro-bind", "/h/u/.x") < hidden


def test_a_secret_in_a_workspace_within_a_secret_folder_is_masked() -> None:
    masks = (Mask("/h/u/.s", is_folder=True), Mask("/h/u/.s/ws/.env", is_folder=False))
    described = PLAIN._replace(level="workspace", sees_disk=True, roots=("/h/u/.s/ws",), masks=masks)
    assert [mask.path for mask in visible_masks(described)] == ["/h/u/.s", "/h/u/.s/ws/.env"]
    assert position(described, "--bind", "/h/u/.s/ws") < position(described, "--ro-bind", "/h/u/.s/ws/.env")


def test_a_writable_folder_above_something_read_only_does_not_show_a_secret_folder_again() -> None:
    masks = (Mask("/h/u/ws/deep/k", is_folder=True),)
    described = PLAIN._replace(
        level="workspace", masks=masks, temporary="/h/u/ws/deep/k/tmp", fixed=("/h/u/ws/deep/er/x", "/h/u/ws/deep/k/x")
    )
    assert position(described, "--bind", "/h/u/ws/deep") < position(described, "--tmpfs", "/h/u/ws/deep/k")
    assert ("--ro-bind", "/h/u/ws/deep/k/x") not in mounts(described)


def test_a_command_that_stays_waits_for_what_it_started() -> None:
    front, staying = (bubblewrap_words(PLAIN._replace(stays=stays))[-2] for stays in (False, True))
    assert "while [ $# -gt 1 ]; do sleep" in staying
    assert "while [ $# -gt 1 ]; do sleep" not in front
    assert "background: true" in front
    assert "background: true" not in staying

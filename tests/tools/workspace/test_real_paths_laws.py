"""Laws of paths whose links are followed once: each leads where the kernel says, whatever was asked before."""

from __future__ import annotations

import os
import tempfile
from pathlib import Path

from hypothesis import example, given
from hypothesis import strategies as st

from holdfast.tools.workspace.real_paths import LinksFollowed, real_path
from laws import law

PARTS = st.sampled_from(["a", "b", "out", "up", "file", "gone", "..", "."])
PATHS = st.lists(PARTS, min_size=1, max_size=6).map("/".join)


def tree(folder: Path) -> Path:
    """Make folders with links to one another, out, up and to nothing; return where paths begin."""
    top = folder / "top"
    for name in ("a/a", "a/b", "b/a"):
        (top / name).mkdir(parents=True)
    (folder / "outside/a").mkdir(parents=True)
    links = {
        "a/out": "../../outside",
        "b/out": "../a",
        "out": "a/b",
        "a/up": "..",
        "b/up": "/",
        "a/a/gone": "../none/x",
    }
    for name, target in links.items():
        (top / name).symlink_to(target)
    (top / "a/file").touch()
    (top / "b/file").symlink_to("../a/file")
    return top


@law()
@given(st.lists(PATHS, min_size=1, max_size=8))
@example(["a/up/b/file", "a/up/b", "a/up"])
@example(["gone/a/b", "gone/../a/out/a", "gone"])
@example(["a/file/a", "a/file"])
def test_a_path_leads_where_it_leads_alone_and_where_the_kernel_finds_it(paths: list[str]) -> None:
    with tempfile.TemporaryDirectory() as folder:
        top = tree(Path(os.path.realpath(folder)))
        links = LinksFollowed()
        for path in paths:
            named = f"{top}/{path}"
            assert links.real(named) == real_path(named)
            if Path(named).exists():  # of what does not exist the kernel says nothing
                assert links.real(named) == os.path.realpath(named, strict=True)


def test_paths_behind_proc_and_deep_ones_are_left_to_the_lookup_of_one_path(tmp_path: Path) -> None:
    links = LinksFollowed()
    deep = f"{tmp_path}/" + "x/" * 3_000 + "y"
    for path in ("/proc/self/root/etc", "/proc/self/cwd/..", "/proc", deep, f"{tmp_path}/a/../b", "/", "/a"):
        assert links.real(path) == real_path(path)

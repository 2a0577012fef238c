"""Tokens, rights and cookies: who is admitted, and when a token is not any more."""

from __future__ import annotations

import os
import tomllib
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from holdfast.errors import ConfigInvalid, StateError
from holdfast.ui.service.access import RIGHTS, Caller, Right, TokenFile, new_token

READER = Caller("reader", frozenset({"read"}))


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "home" / "tokens.toml"


def test_a_token_admits_its_caller_with_its_rights(path: Path) -> None:
    reader, both = new_token(path, "reader", ("read",)), new_token(path, "both", ("ask", "answer"))
    tokens = TokenFile(path)
    assert tokens.bearer(reader) == READER
    assert tokens.bearer(both) == Caller("both", frozenset({"ask", "answer"}))
    for wrong in ("", reader[:-1], f"{reader}x", reader.swapcase(), f" {reader}", "\udcff", "ü" * 43):
        assert tokens.bearer(wrong) is None


def test_a_cookie_admits_its_caller_and_is_no_token(path: Path) -> None:
    token = new_token(path, "reader", ("read",))
    new_token(path, "writer", RIGHTS)
    tokens = TokenFile(path)
    cookie, other = tokens.cookie_of(READER), tokens.cookie_of(Caller("writer", frozenset()))
    assert tokens.cookie(cookie) == READER
    assert token not in cookie
    assert tokens.bearer(cookie) is None
    proof, other_proof = cookie.partition(".")[2], other.partition(".")[2]
    assert tokens.bearer(proof) is None
    for wrong in ("", ".", "reader", "reader.", f"reader.{other_proof}", f"writer.{proof}", f"x.{proof}", cookie[:-1]):
        assert tokens.cookie(wrong) is None
    assert tokens.cookie("reader.ü") is None


def test_a_token_that_was_deleted_or_replaced_admits_no_one(path: Path) -> None:
    token = new_token(path, "reader", ("read",))
    tokens = TokenFile(path)
    cookie, text = tokens.cookie_of(READER), path.read_text()
    path.write_text(text.replace(token, "n" * len(token)))
    os.utime(path, ns=(1, 1))
    assert tokens.bearer(token) is None
    assert tokens.cookie(cookie) is None
    assert tokens.bearer("n" * len(token)) == READER
    path.write_text("")
    assert tokens.bearer("n" * len(token)) is None


@pytest.mark.parametrize("damage", ["mode", "content", "link", "missing", "folder", "pipe"])
def test_a_file_that_became_unsafe_admits_no_one(path: Path, damage: str) -> None:
    token = new_token(path, "reader", ("read",))
    tokens = TokenFile(path)
    assert tokens.bearer(token) == READER
    match damage:
        case "mode":
            path.chmod(0o640)
        case "content":
            path.write_text("[tokens")
        case "link":
            path.rename(path.with_name("real"))
            path.symlink_to(path.with_name("real"))
        case "missing":
            path.unlink()
        case "folder":
            path.unlink()
            path.mkdir(0o700)
        case _:
            path.unlink()
            os.mkfifo(path, 0o600)
    assert tokens.bearer(token) is None
    with pytest.raises(ConfigInvalid):
        TokenFile(path)


@pytest.mark.parametrize(
    "text",
    [
        '[tokens.a]\ntoken = "short"\nrights = ["read"]\n',
        f'[tokens."a b"]\ntoken = "{"x" * 40}"\nrights = ["read"]\n',
        f'[tokens.a]\ntoken = "{"ü" * 40}"\nrights = ["read"]\n',
        f'[tokens.a]\ntoken = "{"x" * 40}"\nrights = ["all"]\n',
        f'[tokens.a]\ntoken = "{"x" * 40}"\nrights = ["read"]\nmore = 1\n',
        "tokens = 3\n",
    ],
)
def test_an_invalid_file_is_refused_with_its_path(path: Path, text: str) -> None:
    path.parent.mkdir()
    path.write_text(text)
    path.chmod(0o600)
    with pytest.raises(ConfigInvalid, match=r"tokens\.toml"):
        TokenFile(path)
    with pytest.raises(ConfigInvalid, match=r"tokens\.toml"):
        new_token(path, "b", ("read",))
    assert path.read_text() == text


def test_tokens_that_are_added_at_once_are_all_kept(path: Path) -> None:
    def add(number: int) -> tuple[str, str]:
        return f"bot-{number}", new_token(path, f"bot-{number}", ("read",))

    with ThreadPoolExecutor(16) as pool:
        added = dict(pool.map(add, range(40)))
    kept = tomllib.loads(path.read_text())["tokens"]
    assert {name: each["token"] for name, each in kept.items()} == added
    assert path.stat().st_mode & 0o777 == 0o600


@pytest.mark.parametrize("name", ["", "a b", "a.b", "x" * 65, "ü", "a\n"])
def test_an_invalid_name_or_a_used_one_is_refused(path: Path, name: str) -> None:
    rights: tuple[Right, ...] = ("read",)
    new_token(path, "used", rights)
    before = path.read_text()
    for each in (name, "used"):
        with pytest.raises(ConfigInvalid, match="Choose another"):
            new_token(path, each, rights)
    assert path.read_text() == before


def test_a_folder_that_cannot_be_made_is_named(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(StateError, match="file"):
        new_token(tmp_path / "file" / "tokens.toml", "a", ("read",))

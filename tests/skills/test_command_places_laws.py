"""That nothing which is filled into a command becomes a part of it, wherever its place stands."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from holdfast.skills.command_places import PlaceRefused
from holdfast.skills.prompt_template import filled
from laws import law


def command(text: str, arguments: str, **variables: str) -> str:
    (found,) = filled(f"```!\n{text}\n```", arguments, names=("issue",), variables=variables).commands
    return found


EVIL = (
    "$(echo${IFS}hacked>pwned)",
    '";touch pwned;"',
    "`touch pwned`",
    "a;touch pwned",
    "'\\''",
    "\\'; touch pwned; \\'",
)
NOT_BARE = (
    'echo "$1"', "echo '$1'", 'echo "x: $ARGUMENTS"', "echo `ls $1`", 'echo "$(ls $1)"', "cat <<EOF\n$1\nEOF",
    "cat <<< $1", "# $1\nls", "ls # $1", 'bash -c "echo $1"', "bash -c $1", "sh -ec $1", "eval $1",
    "echo $$1", "echo $'a' $1",
    "echo $'a\\' $1'", "echo ${x:-$1}", "((x=$1))", "[[ $1 -eq 0 ]]", "a[$1]=1", "let $1", "printf -v $1 x",
    "[ -v $1 ]",
    "echo $(( $1 ))", "echo \"'$1'\"", "echo '\"$1\"'", 'echo "a\\"$1"', 'echo "$issue"', 'echo "$ARGUMENTS[0]"',
    "echo '$1", "echo \\$$1",
)  # fmt: skip


@pytest.mark.parametrize("text", NOT_BARE)
def test_outside_of_bare_places_only_harmless_values_are_filled_in(text: str, tmp_path: Path) -> None:
    for evil in EVIL:
        quoted = evil if "ARGUMENTS" in text and "[" not in text else "'" + evil.replace("'", "'\"'\"'") + "'"
        with pytest.raises(PlaceRefused, match="without quotes"):
            command(text, quoted)
    assert not list(tmp_path.iterdir())
    if "$$" not in text:
        assert "main.py" in command(text, "main.py")


BARE = (
    "printf %s $1", 'printf "%s" $1', "printf '%s' a/$1", "printf %s --x=$1", "(printf %s $1)",
    "printf %s $(printf %s $1)", 'printf %s \\"$1', "printf %s ${HOME}/$1", 'printf %s "${A}"$1',
    "printf %s ''$1", "true;printf %s x$1",
    "printf %s \"a'b\"$1",
)  # fmt: skip


@pytest.mark.parametrize("text", BARE)
def test_a_bare_place_takes_anything(text: str, tmp_path: Path) -> None:
    for evil in EVIL:
        ready = command(text, "'" + evil.replace("'", "'\"'\"'") + "'", A="harmless words")
        ran = subprocess.run(["bash", "-c", ready], capture_output=True, text=True, cwd=tmp_path, check=True)
        assert evil in ran.stdout or "$(" in text, ready
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize("name", ["CLAUDE_SKILL_DIR", "CLAUDE_PROJECT_DIR"])
def test_a_folder_with_an_odd_name_is_quoted_or_refused(name: str) -> None:
    folder = "/tmp/a;touch x;b"
    assert command(f"ls ${{{name}}}/x", "", **{name: folder}) == "ls '/tmp/a;touch x;b'/x"
    with pytest.raises(PlaceRefused, match=name):
        command(f'ls "${{{name}}}/x"', "", **{name: folder})
    assert command(f'ls "${{{name}}}/x"', "", **{name: "/srv/my files"}) == 'ls "/srv/my files/x"'
    with pytest.raises(PlaceRefused):
        command(f"echo `ls ${{{name}}}`", "", **{name: "/srv/my files"})


PIECES = (
    "$1",
    "$1",
    "$ARGUMENTS",
    '"',
    "'",
    "\\",
    "`",
    "$(",
    ")",
    "<<E",
    "\n",
    "#",
    " ",
    "a",
    "$",
    "[",
    "((",
    "${",
    "}",
)


@law(300)
@given(
    pieces=st.lists(st.sampled_from(PIECES), min_size=1, max_size=8),
    evil=st.sampled_from(
        ("$(>pwned)", '";>pwned;"', "`>pwned`", "';>pwned;'", "\n>pwned\n", "\\';>pwned;\\'", ")>pwned;(")
    ),
)
def test_whatever_the_command_no_value_runs(
    pieces: list[str], evil: str, tmp_path_factory: pytest.TempPathFactory
) -> None:
    folder = tmp_path_factory.mktemp("run")
    text = ": " + "".join(pieces)
    if "```" in text:
        return
    try:
        ready = command(text, "'" + evil.replace("'", "'\"'\"'") + "'")
    except PlaceRefused:
        return
    subprocess.run(["bash", "-c", ready], capture_output=True, cwd=folder, check=False, stdin=subprocess.DEVNULL)
    assert not (folder / "pwned").exists(), ready

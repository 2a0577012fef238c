"""The keys in the config: what they change, and what is said where they cannot."""

from __future__ import annotations

import pytest

from holdfast.ui.settings.key_map import KEY_ACTIONS, is_key, key_map, key_words
from holdfast.ui.tui.keys.main_keys import MAIN_KEYS
from holdfast.ui.tui.widgets.composer import Composer


def test_the_defaults_are_those_of_the_bindings() -> None:
    bound = {
        each.id: tuple(each.key.split(",")) for each in (*MAIN_KEYS, *Composer.BINDINGS) if not isinstance(each, tuple)
    }
    assert bound == {name: action.keys for name, action in KEY_ACTIONS.items()}
    assert key_map({}).faults == ()
    assert all(is_key(key) for action in KEY_ACTIONS.values() for key in action.keys)


def test_an_action_gets_other_keys_or_none() -> None:
    found = key_map({"history": "ctrl+n", "new-line": ("ctrl+x", "f5"), "quit": ()})
    assert (found.keys["history"], found.keys["new-line"], found.keys["quit"]) == (("ctrl+n",), ("ctrl+x", "f5"), ())
    assert found.faults == ()
    assert key_words(found.keys["new-line"]) == "Ctrl+X, F5"


@pytest.mark.parametrize(
    ("configured", "fault"),
    [
        ({"histori": "ctrl+n"}, "Did you mean history?"),
        ({"history": "ctrl+nowhere"}, "is not a key"),
        ({"history": "ctrl+m"}, "is not a key"),
        ({"history": "shift+a"}, "is not a key"),
        ({"history": "ctrl+."}, "is not a key"),
        ({"history": "enter"}, "the prompt itself needs enter"),
        ({"history": "x"}, "the prompt itself needs x"),
        ({"history": "ctrl+n", "editor": "ctrl+n"}, "ctrl+n is the key of history too"),
        ({"history": "ctrl+g"}, "ctrl+g was the key of editor"),
        ({"interrupt": ()}, "interrupt: it needs a key"),
        ({"history": "ctrl+c"}, "the only key of give-up, which needs one"),
        ({"give-up": ("",)}, "give-up: it needs a key"),
        ({"send": ()}, "send: it needs a key"),
        ({"new-line": "enter"}, "the only key of send, which needs one"),
        ({"send": "alt+enter"}, "alt+enter was the key of queue"),
    ],
)
def test_what_cannot_be_is_said(configured: dict[str, str | tuple[str, ...]], fault: str) -> None:
    found = key_map(configured)
    assert len(found.faults) == 1
    assert fault in found.faults[0]
    assert found.keys["interrupt"] == ("escape",)
    assert "enter" in (*found.keys["send"], *found.keys["new-line"])
    assert found.keys["give-up"] == ("ctrl+c",)


def test_modifiers_have_one_order() -> None:
    assert key_map({"history": "Shift+Ctrl+X"}).keys["history"] == ("ctrl+shift+x",)


def test_keys_are_exchanged_without_a_word() -> None:
    found = key_map({"history": "ctrl+g", "editor": "ctrl+r"})
    assert (found.keys["history"], found.keys["editor"], found.faults) == (("ctrl+g",), ("ctrl+r",), ())


@pytest.mark.parametrize("new_line", [{}, {"new-line": "enter"}, {"new-line": ("ctrl+n", "enter")}, {"new-line": "f5"}])
def test_an_enter_that_does_not_send_begins_a_line(new_line: dict[str, str | tuple[str, ...]]) -> None:
    found = key_map({"send": "ctrl+s", **new_line})
    assert (found.keys["send"], found.faults) == (("ctrl+s",), ())
    assert "enter" in found.keys["new-line"]
    assert "enter" not in key_map({"send": ("ctrl+s", "enter"), "new-line": "f5"}).keys["new-line"]

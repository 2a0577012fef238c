"""The keys of the screen's actions: the defaults, and what `[keys]` in the config changes. Pure."""

from __future__ import annotations

import difflib
import re
from collections.abc import Mapping
from types import MappingProxyType

import msgspec


class KeyAction(msgspec.Struct, frozen=True):
    """An action with its keys; if `needed`, it must have at least one."""

    keys: tuple[str, ...]
    description: str
    needed: bool = False


KEY_ACTIONS: Mapping[str, KeyAction] = MappingProxyType(
    {
        "interrupt": KeyAction(("escape",), "interrupt the turn; twice: rewind, or clear the prompt", needed=True),
        "give-up": KeyAction(("ctrl+c",), "interrupt; clear the prompt; twice: quit", needed=True),
        "quit-if-empty": KeyAction(("ctrl+d",), "quit if the prompt is empty"),
        "quit": KeyAction(("ctrl+q",), "quit"),
        "send": KeyAction(("enter",), "send; steer while a turn runs", needed=True),
        "new-line": KeyAction(("ctrl+j", "shift+enter"), "new line"),
        "queue": KeyAction(("alt+enter",), "queue for the next turn"),
        "history": KeyAction(("ctrl+r",), "search the prompt history"),
        "editor": KeyAction(("ctrl+g",), "edit the prompt in your editor"),
        "attach": KeyAction(("ctrl+v",), "attach the image in the clipboard"),
        "mode": KeyAction(("shift+tab",), "next permission mode"),
        "background": KeyAction(("ctrl+b",), "move the running command to the background"),
        "todo": KeyAction(("ctrl+t",), "show all of the to-do list, or less"),
        "expand": KeyAction(("ctrl+o",), "expand or collapse all output"),
        "page-up": KeyAction(("pageup",), "scroll up"),
        "page-down": KeyAction(("pagedown",), "scroll down"),
        "to-end": KeyAction(("ctrl+end",), "scroll to the end"),
        "redraw": KeyAction(("ctrl+l",), "redraw"),
        "suspend": KeyAction(("ctrl+z",), "suspend"),
    }
)
"""By the name in `[keys]`."""

_WORDS = ("enter", "escape", "tab", "space", "backspace", "delete", "insert", "home", "end", "pageup", "pagedown")
_NAMED = frozenset({*_WORDS, "up", "down", "left", "right", *(f"f{number}" for number in range(1, 13))})
_KEY = re.compile(r"((?:(?:ctrl|alt|shift)\+)*)([a-z0-9]+)")
_ALIAS_KEYS = frozenset({"ctrl+m", "ctrl+i", "ctrl+h"})
"""What terminals send for Enter, Tab and Backspace."""
_FIXED = frozenset({"tab", "up", "down", "left", "right", "backspace", "space"})
"""Keys that the prompt itself needs."""

NO_KEY = "no-key"
"""The key of an action without keys: with an empty text, Textual would keep its default keys."""

_ENTER = ("send", "new-line")
"""The actions that may have Enter; one of them always has it."""


class KeyMap(msgspec.Struct, frozen=True):
    """The keys of each action, and a message for each fault in `[keys]`."""

    keys: Mapping[str, tuple[str, ...]]
    faults: tuple[str, ...] = ()


def key_map(configured: Mapping[str, str | tuple[str, ...]]) -> KeyMap:
    """Return the keys with the changes of the config; impossible ones are left out, and reported in `faults`.

    An Enter that does not send starts a new line.
    """
    keys = {name: action.keys for name, action in KEY_ACTIONS.items()}
    faults: list[str] = []
    chosen: dict[str, str] = {}  # the action that the config assigns each key to
    for name, value in configured.items():
        new_keys = tuple(_spelled(each) for each in ((value,) if isinstance(value, str) else value) if each)
        if fault := _fault(name, new_keys, chosen):
            faults.append(fault)
            continue
        keys[name] = new_keys
        chosen |= dict.fromkeys(new_keys, name)
    for name in KEY_ACTIONS:
        lost = {key: chosen[key] for key in keys[name] if chosen.get(key, name) != name}
        rest = tuple(key for key in keys[name] if key not in lost)
        for key, winner in lost.items():
            if rest or not KEY_ACTIONS[name].needed:
                faults.append(f"[keys] {winner}: {key} was the key of {name}. Give {name} another key, or [] for none.")
            else:
                keys[winner] = tuple(each for each in keys[winner] if each != key) or KEY_ACTIONS[winner].keys
                faults.append(f"[keys] {winner}: {key} is the only key of {name}, which needs one. Choose another key.")
                rest = (key,)
        keys[name] = rest
    if not any("enter" in keys[name] for name in _ENTER):
        keys["new-line"] += ("enter",)
    return KeyMap(keys, tuple(fault for fault in faults if not _is_intended(fault, configured)))


def _is_intended(fault: str, configured: Mapping[str, str | tuple[str, ...]]) -> bool:
    """Return whether a key was moved on purpose: the action that had it is in the config too."""
    found = re.search(r"was the key of ([a-z-]+)\.", fault)
    return found is not None and found[1] in configured


def _fault(name: str, keys: tuple[str, ...], chosen: Mapping[str, str]) -> str:
    """Return why an action cannot have these keys, "" if it can."""
    if name not in KEY_ACTIONS:
        near = difflib.get_close_matches(name, KEY_ACTIONS, n=1)
        hint = f"Did you mean {near[0]}?" if near else "See /keys for all of them."
        return f"[keys] has an unknown action {name!r}. {hint}"
    if not keys and KEY_ACTIONS[name].needed:
        return f"[keys] {name}: it needs a key. Give it one, or remove the line."
    for key in keys:
        if not is_key(key):
            return f"[keys] {name}: {key!r} is not a key (expected one such as ctrl+k, alt+enter, f5). Correct it."
        if key in _FIXED or len(key) == 1 or (key == "enter" and name not in _ENTER):
            return f"[keys] {name}: the prompt itself needs {key}. Choose one with ctrl or alt."
        if key in chosen:
            return f"[keys] {name}: {key} is the key of {chosen[key]} too. Give one of them another key."
    return ""


def _spelled(key: str) -> str:
    """Return the key with its modifiers in Textual's order."""
    *modifiers, last = key.lower().split("+")
    return "+".join((*sorted(modifiers), last))


def is_key(key: str) -> bool:
    """Return whether this is the name of a key that a terminal can send."""
    found = _KEY.fullmatch(key)
    if found is None or key in _ALIAS_KEYS or (found[1] == "shift+" and len(found[2]) == 1):
        return False
    return len(found[2]) == 1 or found[2] in _NAMED


def key_words(keys: tuple[str, ...]) -> str:
    """Return keys as they are printed on a keyboard: `Ctrl+J, Shift+Enter`."""
    named = {"escape": "Esc", "pageup": "Page up", "pagedown": "Page down"}
    return ", ".join("+".join(named.get(part, part.capitalize()) for part in key.split("+")) for key in keys)

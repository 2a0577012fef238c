"""Add one setting to a config text; everything else stays as written, including comments. Pure."""

from __future__ import annotations

import json
import re
import tomllib

from holdfast.config.servers import Server
from holdfast.errors import ConfigInvalid

_MODEL = re.compile(r"""^(model[ \t]*=[ \t]*)(?:"(?:[^"\\\n]|\\.)*"|'[^'\n]*')""", re.MULTILINE)
_TABLE = re.compile(r"^\s*\[", re.MULTILINE)


def with_model(text: str, model: str) -> str:
    """Return the config `text` with this model. Raise `ConfigInvalid` if the right line cannot be found."""
    table = _TABLE.search(text)
    head, tail = (text[: table.start()], text[table.start() :]) if table else (text, "")
    line = f"model = {_string(model)}"
    if _MODEL.search(head):
        new = f"{_MODEL.sub(lambda found: f'{found[1]}{_string(model)}', head, count=1)}{tail}"
    else:
        new = f"{line}{_ending(text)}{text}"
    return _checked(text, new, {"model": model}, line)


def with_server(text: str, name: str, server: Server) -> str:
    """Return the config `text` with one more configured server. Raise `ConfigInvalid` likewise."""
    settings = {"kind": server.kind, "base_url": server.base_url, "api_key_env": server.api_key_env}
    said = {key: value for key, value in settings.items() if value}
    lines = "".join(f"{key} = {_string(value)}\n" for key, value in said.items())
    table = f"[providers.{_string(name)}]\n{lines}"
    before = tomllib.loads(text).get("providers", {})
    new = f"{text.rstrip()}\n\n{table}".lstrip()
    if (ending := _ending(text)) != "\n":
        new = new.replace("\r\n", "\n").replace("\n", ending)
    return _checked(text, new, {"providers": {**before, name: said}}, table)


def _ending(text: str) -> str:
    """Return the line ending of the text."""
    return "\r\n" if "\r\n" in text else "\n"


def _string(value: str) -> str:
    return json.dumps(value)


def _checked(text: str, new: str, changed: dict[str, object], wanted: str) -> str:
    """Return the new text if it decodes to the old settings plus the change."""
    try:
        right = tomllib.loads(new) == {**tomllib.loads(text), **changed}
    except tomllib.TOMLDecodeError:
        right = False
    if not right:
        raise ConfigInvalid(
            f"Cannot add a setting to this config: its layout is not one setting per line. Add it by hand: {wanted}"
        )
    return new

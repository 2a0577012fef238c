"""What a client says it can do, of what holdfast would use. Pure.

A capability is there when it is an object; null and anything else mean that it is not.
"""

from __future__ import annotations

from collections.abc import Mapping

import msgspec

from holdfast.typed_data import convert_value


class ClientAbilities(msgspec.Struct, frozen=True, kw_only=True):
    """The client opens a terminal for a command, shows forms and addresses, and draws notices and compactions."""

    terminal: bool = False
    forms: bool = False
    addresses: bool = False
    notices: bool = False
    compactions: bool = False


NO_ABILITIES = ClientAbilities()


def client_abilities(capabilities: Mapping[str, object] | None) -> ClientAbilities:
    """Return what the `clientCapabilities` of `initialize` offer."""
    said = capabilities or {}
    return ClientAbilities(
        terminal=_within(said, "auth").get("terminal") is True,
        forms=_offers(_within(said, "elicitation"), "form"),
        addresses=_offers(_within(said, "elicitation"), "url"),
        notices=_offers(_within(said, "session"), "notices"),
        compactions=_offers(_within(said, "session"), "compaction"),
    )


def _within(said: Mapping[str, object], name: str) -> Mapping[str, object]:
    try:
        return convert_value(said.get(name), dict[str, object])
    except msgspec.ValidationError:
        return {}


def _offers(said: Mapping[str, object], name: str) -> bool:
    return isinstance(said.get(name), dict)

"""The capabilities of a client that holdfast uses. Pure.

A capability is present if it is an object. Null or anything else means that it is absent.
"""

from __future__ import annotations

from collections.abc import Mapping

import msgspec

from holdfast.typed_data import convert_value


class ClientAbilities(msgspec.Struct, frozen=True, kw_only=True):
    """Whether the client opens terminals, shows forms and addresses, and draws notices and compactions."""

    terminal: bool = False
    forms: bool = False
    addresses: bool = False
    notices: bool = False
    compactions: bool = False


NO_ABILITIES = ClientAbilities()


def client_abilities(capabilities: Mapping[str, object] | None) -> ClientAbilities:
    """Return the abilities in the `clientCapabilities` of `initialize`."""
    offered = capabilities or {}
    return ClientAbilities(
        terminal=_within(offered, "auth").get("terminal") is True,
        forms=_offers(_within(offered, "elicitation"), "form"),
        addresses=_offers(_within(offered, "elicitation"), "url"),
        notices=_offers(_within(offered, "session"), "notices"),
        compactions=_offers(_within(offered, "session"), "compaction"),
    )


def _within(capabilities: Mapping[str, object], name: str) -> Mapping[str, object]:
    try:
        return convert_value(capabilities.get(name), dict[str, object])
    except msgspec.ValidationError:
        return {}


def _offers(capabilities: Mapping[str, object], name: str) -> bool:
    return isinstance(capabilities.get(name), dict)

"""The limits of a run, with those that the config sets for single providers."""

from __future__ import annotations

import msgspec

from holdfast.config.settings import Config, Limits
from holdfast.errors import ConfigInvalid
from holdfast.providers.registry import Providers


def provider_limits(config: Config, providers: Providers) -> Limits:
    """Return the limits of the config, with those of each provider. Raise `ConfigInvalid`."""
    limits = config.limits
    for name in limits.providers.keys() - providers.keys():
        raise ConfigInvalid(
            f"Unknown provider {name!r} in [limits.providers] (expected one of {', '.join(providers)}). "
            "Fix the name in config.toml."
        )
    servers = {name: server.limits for name, server in config.providers.items() if server.limits is not None}
    for name in limits.providers.keys() & servers.keys():
        raise ConfigInvalid(
            f"Limits of provider {name!r} are set twice in the config. Keep those in [providers.{name}.limits]."
        )
    return msgspec.structs.replace(limits, providers={**limits.providers, **servers})

"""The user's settings for the answers of a model: effort, temperature, length, service tier."""

from __future__ import annotations

from typing import Annotated, Literal, get_args

import msgspec

Effort = Literal["off", "minimal", "low", "medium", "high", "xhigh", "max"]
"""How much a model reasons before it answers, from not at all to as much as it can."""

EFFORTS: tuple[Effort, ...] = get_args(Effort)

SamplingTemperature = Annotated[float, msgspec.Meta(ge=0, le=2)]
OutputTokens = Annotated[int, msgspec.Meta(ge=1)]
ServiceTier = Annotated[str, msgspec.Meta(pattern=r"\A[A-Za-z0-9_-]{1,40}\Z")]


class ModelSettings(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """The settings of requests, for whichever model they go to. None: nothing is sent, so the provider decides.

    `max_output` is the most tokens of an answer. Whether a model takes a setting, and how it is sent, is
    decided for each request (`holdfast.providers.protocols.sent_settings`).
    """

    effort: Effort | None = None
    temperature: SamplingTemperature | None = None
    max_output: OutputTokens | None = None
    service_tier: ServiceTier | None = None

    def over(self, defaults: ModelSettings) -> ModelSettings:
        """Return these settings, with the defaults for those that are not set."""
        chosen = {name: value for name, value in msgspec.structs.asdict(self).items() if value is not None}
        return msgspec.structs.replace(defaults, **chosen)

    def moved(self, before: ModelSettings, after: ModelSettings) -> ModelSettings:
        """Return these settings for another model: values equal to the default `before` become the default `after`.

        Values that the user chose for the session stay. Those that only the config sets for the old model do not.
        """
        current, old = msgspec.structs.asdict(self), msgspec.structs.asdict(before)
        chosen = {name: value for name, value in current.items() if value != old[name]}
        return msgspec.structs.replace(after, **chosen)


NO_SETTINGS = ModelSettings()


def settings_text(settings: ModelSettings) -> str:
    """Return the settings as a sentence."""
    named = {
        "effort": settings.effort,
        "temperature": None if settings.temperature is None else f"{settings.temperature:g}",
        "max output": None if settings.max_output is None else f"{settings.max_output:,} tokens",
        "service tier": settings.service_tier,
    }
    values = ", ".join(f"{name} {value}" for name, value in named.items() if value is not None)
    return f"Model settings: {values}." if values else "Model settings: the provider's own."

"""The exit code says how a turn ended: each cause has one, and a program may rely on which."""

from __future__ import annotations

from typing import get_args

import pytest

from holdfast.errors import (
    EXIT_APPROVAL,
    EXIT_FAILED,
    EXIT_INTERRUPTED,
    EXIT_MAX_COST,
    EXIT_OK,
    EXIT_RETRYABLE,
    ProviderFault,
)
from holdfast.session.journal.entries import Cause, TurnEnded
from holdfast.session.model_notices import REASONS
from holdfast.ui.headless.turn_end import exit_code

CODES: dict[tuple[Cause, ProviderFault | None], int] = {
    ("finished", None): EXIT_OK,
    ("approval", None): EXIT_APPROVAL,
    ("max_cost", None): EXIT_MAX_COST,
    ("user", None): EXIT_INTERRUPTED,
    ("signal", None): EXIT_INTERRUPTED,
    ("output", None): EXIT_INTERRUPTED,
    ("external", None): EXIT_INTERRUPTED,
    ("provider", "overloaded"): EXIT_RETRYABLE,
    ("provider", "rate_limited"): EXIT_RETRYABLE,
    ("provider", "unreachable"): EXIT_RETRYABLE,
    ("provider", "rejected"): EXIT_FAILED,
    ("provider", "certificate"): EXIT_FAILED,
    ("provider", "certificate_host"): EXIT_FAILED,
    ("provider", "certificate_date"): EXIT_FAILED,
    ("provider", "proxy_password"): EXIT_FAILED,
    ("provider", "proxy_refused"): EXIT_FAILED,
    ("provider", "credentials"): EXIT_FAILED,
    **{
        (cause, None): EXIT_FAILED
        for cause in (
            "max_tokens",
            "max_steps",
            "refusal",
            "timeout",
            "flood",
            "empty",
            "loop",
            "periodic",
            "text_call",
            "storage",
            "crash",
            "bug",
            "fork",
            "hook",
            "import",
        )
    },
}


@pytest.mark.parametrize(("how", "code"), CODES.items(), ids=str)
def test_each_cause_has_its_exit_code(how: tuple[Cause, ProviderFault | None], code: int) -> None:
    cause, fault = how
    assert exit_code(TurnEnded(turn=1, reason=REASONS[cause], cause=cause), fault) == code


def test_every_cause_is_here_and_the_codes_differ() -> None:
    assert {cause for cause, _ in CODES} == set(get_args(Cause))
    codes = {EXIT_OK, EXIT_APPROVAL, EXIT_INTERRUPTED, EXIT_RETRYABLE, EXIT_FAILED, EXIT_MAX_COST}
    assert len(codes) == 6

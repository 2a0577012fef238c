"""Turns an exception raised while serving a request into its answer: a request is always answered."""

from __future__ import annotations

from collections.abc import Callable, Generator, Mapping
from contextlib import contextmanager

from holdfast.errors import HoldfastError
from holdfast.ui.json_rpc.messages import INTERNAL_ERROR, RpcError
from holdfast.ui.startup.debug_log_option import debug_log_note


class Refusals:
    """Turns exceptions into errors of the protocol. The traceback of a bug is stored."""

    def __init__(self, environ: Mapping[str, str]) -> None:
        self._environ = environ

    @contextmanager
    def to(self, refuse: Callable[[RpcError], None]) -> Generator[None]:
        """Call `refuse` with the error for an exception raised within."""
        try:
            yield
        except RpcError as error:
            refuse(error)
        except HoldfastError as error:
            from holdfast.ui.acp.turn_answer import rpc_error

            refuse(rpc_error(error))
        except Exception as error:  # noqa: BLE001 - the top of the ui: a request is always answered
            refuse(self._bug(error))

    def _bug(self, error: Exception) -> RpcError:
        import traceback

        from holdfast.ui.startup.crash_report import keep_traceback

        trace, location = keep_traceback("".join(traceback.format_exception(error)), environ=self._environ)
        debug_log_note(f"Internal error. This is a bug in holdfast ({location}).\n{trace}")
        message = f"Internal error: this is a bug in holdfast. The session is saved. Please report it ({location})."
        return RpcError(INTERNAL_ERROR, message)

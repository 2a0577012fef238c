"""The guard for sessions of requests: an adapter to mount on a provider's address."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from requests.adapters import HTTPAdapter

from holdfast.guard.guarded_request import GuardMode, Mend, RequestGuard
from holdfast.guard.request_repair import Texts


class GuardAdapter(HTTPAdapter):
    """Repairs requests that the provider would refuse: `session.mount("https://", GuardAdapter())`."""

    def __init__(
        self,
        *,
        ledger: Texts | None = None,
        on_mend: Callable[[Mend], object] | None = None,
        mode: GuardMode = "repair",
        **options: Any,  # noqa: ANN401 - those of HTTPAdapter
    ) -> None:
        self._guard = RequestGuard(ledger, on_mend, mode)
        super().__init__(**options)

    def send(self, request: Any, *words: Any, **options: Any) -> Any:  # noqa: ANN401 - as HTTPAdapter has it
        """Send the request, or a repaired one in its place."""
        body = request.body.encode() if isinstance(request.body, str) else request.body
        if request.method == "POST" and isinstance(body, bytes):
            new = self._guard.body(str(request.url), request.headers, body)
            if new is not None:
                request = request.copy()
                request.body = new
                request.headers["Content-Length"] = str(len(new))
        return super().send(request, *words, **options)

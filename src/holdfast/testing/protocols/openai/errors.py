"""What both protocols of OpenAI share: authorization, unknown paths, errors."""

from __future__ import annotations

from abc import ABC, abstractmethod

from holdfast.testing.protocols.protocol import Incoming, Refusal, ResponseHead, document
from holdfast.testing.protocols.strict_json import NotJson, parse_strict_json
from holdfast.testing.script import Fail, ReceivedRequest

_NO_KEY = (
    "You didn't provide an API key. You need to provide your API key in an Authorization header using Bearer auth (i.e."
    " Authorization: Bearer YOUR_KEY), or as the password field (with blank username) if you're accessing the API from"
    " your browser and are prompted for a username and password. You can obtain an API key from"
    " https://platform.openai.com/account/api-keys."
)
_NOT_JSON = (
    "We could not parse the JSON body of your request. (HINT: This likely means you aren't using your HTTP library"
    " correctly. The OpenAI API expects a JSON payload, but what was sent was not valid JSON. If you have trouble"
    " figuring out how to fix this, please contact us through our help center at help.openai.com.)"
)
_SERVER_ERROR = (
    "The server had an error while processing your request. Sorry about that! You can retry your request, or contact us"
    " through our help center at help.openai.com if the error persists."
)
_FAILURES: dict[int, tuple[str, str | None, str]] = {  # status: type, code, message
    400: ("invalid_request_error", None, "Bad request."),
    401: ("invalid_request_error", "invalid_api_key", "Incorrect API key provided."),
    403: (
        "invalid_request_error",
        "unsupported_country_region_territory",
        "Country, region, or territory not supported",
    ),
    404: ("invalid_request_error", "model_not_found", "The model does not exist or you do not have access to it."),
    429: ("requests", "rate_limit_exceeded", "Rate limit reached for requests. Please try again later."),
    500: ("server_error", None, _SERVER_ERROR),
    503: ("service_unavailable_error", None, "That model is currently overloaded with other requests."),
}
_SERVERS = 500  # from this status on, the server is at fault
_SHOWN = 12  # characters of a wrong key to show: the first eight and the last four


class OpenAI(ABC):
    """One of OpenAI's protocols: its path, and how it parses a body."""

    requires_key = True
    path: str

    @abstractmethod
    def read(self, body: object) -> ReceivedRequest:
        """Parse the body. Raise `Refusal` if it breaks a rule of this protocol."""

    def serves(self, path: str) -> bool:
        """Return whether it answers a POST on the path."""
        return path == self.path

    def not_found(self, incoming: Incoming) -> Refusal:
        """Return the error for an unknown path or method."""
        if incoming.path != self.path:
            return Refusal(f"Invalid URL ({incoming.method} {incoming.path})", status=404)
        what = f"Not allowed to {incoming.method} on {incoming.path}."
        return Refusal(what, status=405, code="method_not_supported")

    def admit(self, incoming: Incoming, *, key: str | None) -> ReceivedRequest:
        """Return the request. Raise `Refusal` in OpenAI's words."""
        if key is not None:
            _refuse_other_keys(incoming, key)
        try:
            return self.read(parse_strict_json(incoming.body))
        except NotJson as error:
            raise Refusal(_NOT_JSON) from error

    def failure(self, fail: Fail) -> Refusal:
        """Return OpenAI's own error for that status."""
        kind, code, message = _FAILURES.get(fail.status) or _FAILURES[400 if fail.status < _SERVERS else 500]
        return Refusal(fail.message or message, status=fail.status, kind=kind, code=code)

    def error_response(self, refusal: Refusal, *, number: int) -> tuple[ResponseHead, bytes]:
        """Return the error response to request `number`."""
        error = {"message": refusal.message, "type": refusal.kind, "param": refusal.param, "code": refusal.code}
        headers = (("content-type", "application/json"), ("x-request-id", f"req_{number:024d}"))
        return ResponseHead(refusal.status, headers), document({"error": error})


def _refuse_other_keys(incoming: Incoming, key: str) -> None:
    scheme, _, api_key = incoming.headers.get("authorization", "").partition(" ")
    if scheme.lower() != "bearer" or not api_key:
        raise Refusal(_NO_KEY, status=401)
    if api_key != key:
        shown = api_key if len(api_key) <= _SHOWN else f"{api_key[:8]}{'*' * (len(api_key) - _SHOWN)}{api_key[-4:]}"
        where = "You can find your API key at https://platform.openai.com/account/api-keys."
        what = f"Incorrect API key provided: {shown}. {where}"
        raise Refusal(what, status=401, code="invalid_api_key")

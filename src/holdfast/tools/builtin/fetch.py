"""The tool `fetch`: a web page as text, from public addresses only.

The address that was checked is the one connected to: names are resolved once per request, and every address must pass.
A redirect to another host is reported, not followed.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING

import msgspec

from holdfast import __version__
from holdfast.errors import ToolFailed
from holdfast.system.address_policy import may_ask
from holdfast.system.host_addresses import addresses_of
from holdfast.tool_calls import Effect
from holdfast.tools.bounded_work import run_bounded
from holdfast.tools.builtin.declarations import FETCH_SCHEMA, FetchArguments
from holdfast.tools.builtin.html_to_markdown import DownloadedPage, decompress, page_text, refuse_kind
from holdfast.tools.schema import parse_arguments
from holdfast.tools.tool import Plan, ToolContext, ToolOutput
from holdfast.tools.truncation import escape_newlines

if TYPE_CHECKING:
    import httpx2

MOST = 2_000_000
"""Most bytes read of a page."""

SECONDS = 30.0
"""Seconds for a whole fetch."""

_SILENCE = 10.0
_REDIRECTS = 5
_SHOWN = 60_000
_TRIED = 4  # addresses tried per host
_PORTS = {"http": 80, "https": 443}
_ERROR = 400


class FetchTool:
    """Fetches a page. `networks` may be asked although they are not public."""

    schema = FETCH_SCHEMA
    effect: Effect = "read"

    def __init__(self, *, look_up: Callable[[str, int], list[str]] = addresses_of) -> None:
        self.networks: tuple[str, ...] = ()
        self._look_up = look_up

    def plan(self, call: str, arguments: str) -> Plan:  # noqa: ARG002 - the Tool protocol's
        """Return the plan of a fetch. Nothing is sent."""
        args = parse_arguments(arguments, FetchArguments, tool="fetch")
        url = _parse_url(args.url)
        fetch = _Fetch(look_up=self._look_up, networks=self.networks, offset=args.offset)

        async def run(context: ToolContext) -> ToolOutput:
            late = (
                f"Page {str(url)!r} was not received and converted within {SECONDS:g} s. "
                "Try again later, or use another address."
            )
            stopped = f"Page {str(url)!r} was not received yet."
            work = partial(fetch.output, url)
            return await run_bounded(work, context.stop, seconds=SECONDS, stopped=stopped, late=late)

        return Plan(effect="read", title=escape_newlines(f"fetch {url}"), host=url.host, run=run)


class _Fetch(msgspec.Struct, frozen=True, kw_only=True):
    look_up: Callable[[str, int], list[str]]
    networks: tuple[str, ...]
    offset: int

    def output(self, url: httpx2.URL, stop: threading.Event) -> ToolOutput:
        """Return the page, an error page, or a redirect; raises `ToolFailed` if there is none."""
        import httpx2  # 0.2 s that only a page pays

        first_url = url
        until = time.monotonic() + SECONDS
        # Ignore the environment: a proxy would replace the checked address, and .netrc contains passwords.
        with httpx2.Client(trust_env=False, timeout=_SILENCE, follow_redirects=False) as client:
            for _ in range(_REDIRECTS + 1):
                response = self._sent(client, url)
                try:
                    if not response.has_redirect_location:
                        return self._shown(response, url, stop, until)
                finally:
                    response.close()
                to = _parse_url(response.headers["location"], url)
                if to.host != url.host or (url.scheme, to.scheme) == ("https", "http"):
                    return ToolOutput(
                        text=f"Page {str(url)!r} redirects to {str(to)!r}. Fetch that address if you need it."
                    )
                url = to
        msg = f"Page {str(first_url)!r} redirects more than {_REDIRECTS} times. Use another address."
        raise ToolFailed(msg)

    def _sent(self, client: httpx2.Client, url: httpx2.URL) -> httpx2.Response:
        """Return the response, body unread, of the first address that answers."""
        import httpx2

        headers = {
            "Host": url.netloc.decode("ascii"),
            "User-Agent": f"holdfast/{__version__}",
            "Accept": "text/markdown, text/html;q=0.9, text/*;q=0.8, application/json;q=0.8, */*;q=0.1",
            "Accept-Encoding": "gzip",
        }
        failed: httpx2.HTTPError | None = None
        for address in self._judged(url)[:_TRIED]:
            # The name is in the Host header and in TLS, where the certificate is checked against it.
            request = client.build_request(
                "GET", url.copy_with(host=address), headers=headers, extensions={"sni_hostname": url.host}
            )
            try:
                return client.send(request, stream=True)
            except (httpx2.ConnectError, httpx2.ConnectTimeout) as error:
                failed = error
            except httpx2.HTTPError as error:
                raise _unreachable(url, error) from error
        raise _unreachable(url, failed) from failed

    def _judged(self, url: httpx2.URL) -> list[str]:
        """Return the host's addresses; raises `ToolFailed` if it has none, or one that is not allowed."""
        try:
            found = self.look_up(url.host, url.port or _PORTS[url.scheme])
        except (OSError, UnicodeError) as error:
            msg = f"Host {url.host!r} cannot be resolved: {error}. Check its name."
            raise ToolFailed(msg) from error
        for address in found:
            if not may_ask(address, self.networks):
                msg = (
                    f"Host {url.host!r} is at {address}, which is not a public address. "
                    "Nothing was sent. The user can allow it in the settings (fetch.addresses)."
                )
                raise ToolFailed(msg)
        return found

    def _shown(self, response: httpx2.Response, url: httpx2.URL, stop: threading.Event, until: float) -> ToolOutput:
        import httpx2

        ok = response.status_code < _ERROR
        kind = response.headers.get("content-type", "").partition(";")[0].strip().lower()
        if ok:
            refuse_kind(str(url), kind)
        raw = bytearray()
        try:
            for piece in response.iter_raw():
                raw += piece
                if len(raw) > MOST or stop.is_set() or time.monotonic() > until:
                    break
        except httpx2.HTTPError as error:
            raise _unreachable(url, error) from error
        interrupted = ToolOutput(text=f"Page {str(url)!r} was received in part: {len(raw)} bytes.", interrupted=True)
        if stop.is_set():
            return interrupted
        encoding = response.headers.get("content-encoding", "").strip().lower()
        plain, more = decompress(bytes(raw), encoding, most=MOST, url=str(url))
        page = DownloadedPage(
            url=str(url),
            kind=kind,
            charset=response.charset_encoding,
            raw=plain,
            goes_on=more or len(raw) > MOST or time.monotonic() > until,
        )
        head = f"{response.status_code} {response.reason_phrase}".strip()
        try:
            part = self._part(page, stop)
        except ToolFailed:
            if stop.is_set():
                return interrupted
            raise
        return ToolOutput(text=f"[{escape_newlines(f'{url}: {head}, {kind}')}]\n{part}", ok=ok)

    def _part(self, page: DownloadedPage, stop: threading.Event) -> str:
        """Return the requested part of the page, and a sentence about what is not shown."""
        text = page_text(page, stop.is_set)
        part = text[self.offset : self.offset + _SHOWN]
        end = self.offset + len(part)
        if end < len(text):
            part += f"\n[Characters {self.offset} to {end} of {len(text)} are shown. Read on with offset={end}.]"
        elif not part:
            part = f"[There is nothing from character {self.offset} on: the text has {len(text)}.]"
        if page.goes_on:
            part += f"\n[Only the first {len(page.raw)} bytes of the page were read.]"
        return part


def _parse_url(text: str, base: httpx2.URL | None = None) -> httpx2.URL:
    """Return a link on a page at `base` as a URL; raises `ToolFailed` if it cannot be fetched."""
    import httpx2

    try:
        url = httpx2.URL(text) if base is None else base.join(text)
    except (httpx2.InvalidURL, ValueError) as error:
        raise ToolFailed(f"Address {text!r} is invalid: {error} (expected http:// or https://). Fix it.") from error
    if url.scheme not in _PORTS or not url.host:
        msg = f"Address {text!r} cannot be fetched (expected http:// or https://). Use read for files."
        raise ToolFailed(msg)
    if url.userinfo:
        msg = f"Address {text!r} contains a user name. Leave out the part before the @."
        raise ToolFailed(msg)
    return url.copy_with(fragment=None)


def _unreachable(url: httpx2.URL, error: Exception | None) -> ToolFailed:
    why = f"{type(error).__name__}: {error}" if error is not None else "it has no address"
    return ToolFailed(f"Page {str(url)!r} cannot be fetched: {why}. Try again, or use another address.")

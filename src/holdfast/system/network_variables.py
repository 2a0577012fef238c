"""What the environment says about the network: the proxy for an address, and the certificates to trust.

Every HTTP client of holdfast, and `holdfast doctor`, reads these variables here, and only those that one address needs:
an unusable proxy for other addresses stops no command. What cannot be used is a sentence with the variable in it.

The rules are those of curl and of the HTTP libraries: `https_proxy` and `HTTPS_PROXY` for addresses with https,
`http_proxy` for those with http, else `all_proxy`; the name in lower case wins, even if it is empty; `NO_PROXY` has
hosts, domains, addresses and networks that are asked directly. `socks://`, which desktops write, means SOCKS5.
"""

from __future__ import annotations

import ssl
from collections.abc import Iterator, Mapping
from ipaddress import ip_address, ip_network
from pathlib import Path
from urllib.parse import SplitResult, urlsplit

import msgspec

SOCKS_SCHEMES = ("socks5", "socks5h")
_SCHEMES = ("http", "https", *SOCKS_SCHEMES)
_PORTS = {"http": 80, "https": 443}
_LONGEST = 200  # characters of a value to quote


class Route(msgspec.Struct, frozen=True):
    """How an address is reached: `proxy` is the URL of a proxy, with its password, and `variable` names it; or "".

    `place` is HOST or HOST:PORT of the address.
    """

    place: str
    proxy: str = ""
    variable: str = ""

    @property
    def shown_proxy(self) -> str:
        """Return the proxy's URL without user and password, "" for a direct connection."""
        if not self.proxy:
            return ""
        parts = urlsplit(self.proxy)
        return f"{parts.scheme}://{parts.netloc.rpartition('@')[2]}"

    @property
    def through(self) -> str:
        """Return words about the proxy that follow the name of a place, "" for a direct connection."""
        return f" through the proxy {self.shown_proxy!r} ({self.variable})" if self.proxy else ""

    @property
    def is_socks(self) -> bool:
        return self.proxy.startswith(tuple(f"{scheme}://" for scheme in SOCKS_SCHEMES))


def route_to(address: str, environ: Mapping[str, str]) -> Route:
    """Return how the URL `address` is reached. Raise `ValueError`, with a sentence, for a proxy that is no URL."""
    parts = urlsplit(address)
    place = _place(parts)
    variable, value = _proxy_variable(parts.scheme, environ)
    if not value or _is_exempt(parts, environ):
        return Route(place)
    proxy = value if "://" in value else f"http://{value}"  # as HTTP libraries read it
    if proxy.startswith("socks://"):
        proxy = f"socks5h{proxy.removeprefix('socks')}"
    scheme = proxy.partition("://")[0].lower()
    if scheme not in _SCHEMES:
        raise ValueError(
            f"{variable} cannot be used: {scheme[:_LONGEST]!r} is no kind of proxy that holdfast knows "
            "(expected http, https, socks5 or socks5h). Fix the variable, or unset it."
        )
    try:
        endpoint = urlsplit(proxy)
        usable = bool(endpoint.hostname) and endpoint.port != 0 and proxy.isprintable() and " " not in proxy
    except ValueError:  # its message may quote a password
        usable = False
    if not usable:
        raise ValueError(
            f"{variable} is not the URL of a proxy (expected http://HOST:PORT or socks5://HOST:PORT). "
            "Fix the variable, or unset it."
        )
    return Route(place, proxy, variable)


def trust_fault(environ: Mapping[str, str]) -> str:
    """Return why the certificates that the environment names cannot be used, as sentences; "" if they can."""
    variable = "SSL_CERT_FILE"
    if name := environ.get(variable, ""):
        what = f"{variable} names {name[:_LONGEST]!r}"
        try:
            if Path(name).is_dir():
                return f"{what}, which is a folder (expected a file). Set SSL_CERT_DIR to it instead."
            ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT).load_verify_locations(name)
        except ssl.SSLError:
            return f"{what}, which has no certificates in PEM form. Fix the variable, or unset it."
        except (OSError, ValueError) as error:
            why = _file_words(error)
            return f"{what}, which {why}. Fix the variable, or unset it to trust this system's certificates."
        return _key_log_fault(environ)
    variable = "SSL_CERT_DIR"
    if (name := environ.get(variable, "")) and not any(Path(each).is_dir() for each in name.split(":") if each):
        return (
            f"{variable} names {name[:_LONGEST]!r}, which is no folder. "
            "Fix the variable, or unset it to trust this system's certificates."
        )
    return _key_log_fault(environ) if name else ""


def _key_log_fault(environ: Mapping[str, str]) -> str:
    """Return why Python cannot write the keys of connections to SSLKEYLOGFILE, as it does with such certificates."""
    variable = "SSLKEYLOGFILE"
    if not (name := environ.get(variable, "")):
        return ""
    try:
        with Path(name).open("a"):
            return ""
    except (OSError, ValueError) as error:
        why = _file_words(error).replace("read", "written")
        return f"{variable} names {name[:_LONGEST]!r}, which {why}. Fix the variable, or unset it."


def network_fault(environ: Mapping[str, str], *addresses: str) -> str:
    """Return why these URLs cannot be reached with the variables of the environment, "" if they can."""
    try:
        for address in addresses:
            route_to(address, environ)
    except ValueError as error:
        return str(error)
    return trust_fault(environ) if any(each.startswith("https:") for each in addresses) else ""


ANY_ADDRESS = ("http://a.invalid", "https://a.invalid")
"""For clients that connect to whatever a server names: the HTTP library then reads every variable."""


def _file_words(error: OSError | ValueError) -> str:
    match error:
        case FileNotFoundError():
            return "does not exist"
        case OSError(strerror=str() as why):
            return f"cannot be read: {why}"
        case _:
            return "cannot be read"


def _place(parts: SplitResult) -> str:
    host = parts.hostname or ""
    named = f"[{host}]" if ":" in host else host
    return f"{named}:{parts.port}" if parts.port else named


def _proxy_variable(scheme: str, environ: Mapping[str, str]) -> tuple[str, str]:
    """Return the variable that names a proxy for addresses of this scheme, and its value; two empty texts if none."""
    for lower in (f"{scheme}_proxy", "all_proxy"):
        for name in (lower, lower.upper()):
            # CGI programs get a header "Proxy" of their client as HTTP_PROXY.
            if name in environ and not (name == "HTTP_PROXY" and "REQUEST_METHOD" in environ):
                if value := environ[name].strip():
                    return name, value
                break  # set to nothing: no proxy
    return "", ""


def _is_exempt(parts: SplitResult, environ: Mapping[str, str]) -> bool:
    listed = environ.get("no_proxy", environ.get("NO_PROXY", ""))
    return any(_names(each.strip().lower(), parts) for each in listed.split(","))


def _names(entry: str, parts: SplitResult) -> bool:
    """Return whether an entry of NO_PROXY names the host of a URL: a host, a domain, an address or a network."""
    host = (parts.hostname or "").rstrip(".")
    if entry == "*":
        return True
    scheme, _, rest = entry.rpartition("://")
    if scheme not in ("", "all", parts.scheme):
        return False
    return any(
        name and (not port or port == str(parts.port or _PORTS.get(parts.scheme, ""))) and _covers(name, host, scheme)
        for name, port in _hosts_and_ports(rest)
    )


def _hosts_and_ports(text: str) -> Iterator[tuple[str, str]]:
    """Yield the entry as a host, and as a host and a port."""
    yield text.removeprefix("[").removesuffix("]"), ""
    name, colon, port = text.rpartition(":")
    if colon and port.isdecimal() and (":" not in name or name.endswith("]")):
        yield name.removeprefix("[").removesuffix("]"), port


def _covers(name: str, host: str, scheme: str) -> bool:
    """Return whether a name covers the host: itself and what is below it; exactly itself if a `scheme` was written."""
    try:
        return ip_address(host) in ip_network(name, strict=False)
    except ValueError:  # one of them is a name
        pass
    if name.startswith("*."):
        return host.endswith(name[1:])
    domain = name.strip(".")
    return host == domain or (not scheme and bool(domain) and host.endswith(f".{domain}"))

"""How far one comes on the way to a server: real sockets, real certificates, and what stands in between."""

from __future__ import annotations

import asyncio
import datetime as dt
import socket
import ssl
import threading
import time
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path

import pytest
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import NameOID

from holdfast.providers.catalog import PROVIDER_INFO
from holdfast.providers.connectivity import ConnectivityStep, check_connectivity
from holdfast.providers.registry import PROVIDERS, address_of, info_of
from holdfast.system.network_variables import route_to
from holdfast.ui.commands.provider_failures import unreachable_reason
from polling import HANGS, expect_within


def step(address: str, patience: float = 5.0, **environ: str) -> ConnectivityStep:
    return asyncio.run(check_connectivity(address, environ, patience=patience)).step


def certificate(folder: Path, *, days: int) -> Path:
    """Return a file with a self-signed certificate for localhost, valid for so many days from a year ago."""
    key = ec.generate_private_key(ec.SECP256R1())
    name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "localhost")])
    begins = dt.datetime.now(dt.UTC) - dt.timedelta(days=365)
    created = (
        x509.CertificateBuilder()
        .subject_name(name)
        .issuer_name(name)
        .public_key(key.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(begins)
        .not_valid_after(begins + dt.timedelta(days=days))
        .add_extension(x509.SubjectAlternativeName([x509.DNSName("localhost")]), critical=False)
        .add_extension(x509.BasicConstraints(ca=True, path_length=None), critical=True)
        .sign(key, hashes.SHA256())
    )
    path = folder / "server.pem"
    form = (serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption())
    path.write_bytes(key.private_bytes(*form) + created.public_bytes(serialization.Encoding.PEM))
    return path


@contextmanager
def listening(pem: Path | None = None) -> Generator[int]:
    """Give the port of a server that accepts, with TLS if it has a certificate, and says nothing."""
    context = None
    if pem is not None:
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(pem)
    with socket.create_server(("127.0.0.1", 0)) as server:

        def serve() -> None:
            while True:
                try:
                    connection, _ = server.accept()
                except OSError:
                    return
                with connection:
                    connection.settimeout(5)
                    try:
                        if context is None:
                            connection.recv(1)
                            connection.sendall(b"HTTP/1.1 400 Bad Request\r\n\r\n")
                        else:
                            with context.wrap_socket(connection, server_side=True) as secure:
                                secure.recv(1)
                    except OSError:
                        continue

        thread = threading.Thread(target=serve, daemon=True)
        thread.start()
        yield server.getsockname()[1]
        server.shutdown(socket.SHUT_RDWR)
    thread.join(5)


def free_port() -> int:
    with socket.create_server(("127.0.0.1", 0)) as server:
        return server.getsockname()[1]


def test_one_that_listens_and_one_that_does_not() -> None:
    with listening() as port:
        assert step(f"http://127.0.0.1:{port}/v1") == "reached"
        assert step(f"https://127.0.0.1:{port}/v1") == "tls"
    assert step(f"http://127.0.0.1:{free_port()}") == "refused"
    assert step(f"http://localhost:{free_port()}") == "refused"
    assert step("http://nowhere.invalid") == "name"
    assert step("http://a..b") == "name"


@pytest.mark.parametrize(("days", "found"), [(1000, "certificate"), (1, "certificate_date")])
def test_a_certificate_is_looked_at(tmp_path: Path, days: int, found: str, monkeypatch: pytest.MonkeyPatch) -> None:
    pem = certificate(tmp_path, days=days)
    with listening(pem) as port:
        monkeypatch.delenv("SSL_CERT_FILE", raising=False)
        assert step(f"https://localhost:{port}") in ("certificate", found)
        monkeypatch.setenv("SSL_CERT_FILE", str(pem))
        assert step(f"https://localhost:{port}") == ("reached" if days == 1000 else "certificate_date")


def test_one_that_takes_too_long_is_left() -> None:
    with socket.create_server(("127.0.0.1", 0)) as server:  # its queue accepts, and it never answers a handshake
        assert step(f"https://127.0.0.1:{server.getsockname()[1]}", 0.3) == "time"


def test_a_name_that_takes_too_long_is_left_too(monkeypatch: pytest.MonkeyPatch) -> None:
    reported = threading.Event()

    def never(*_: object, **__: object) -> list[object]:
        reported.wait(HANGS)
        return []

    monkeypatch.setattr(socket, "getaddrinfo", never)
    since = time.monotonic()
    try:
        assert step("http://slow.test", 0.2) == "time"
        expect_within(5, since)
    finally:
        reported.set()


def test_one_that_does_not_answer_the_end_of_a_connection_was_reached(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    pem, left = certificate(tmp_path, days=1000), threading.Event()
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(pem)
    monkeypatch.setenv("SSL_CERT_FILE", str(pem))

    def serve(server: socket.socket) -> None:
        connection, _ = server.accept()
        with connection, context.wrap_socket(connection, server_side=True):
            left.wait(HANGS)

    with socket.create_server(("127.0.0.1", 0)) as server:
        thread = threading.Thread(target=serve, args=(server,), daemon=True)
        thread.start()
        try:
            assert step(f"https://localhost:{server.getsockname()[1]}", 2.0) == "reached"
        finally:
            left.set()
            thread.join(5)


@pytest.mark.parametrize("proxy", ["http://ann:s3cretpw", "http://[ann:s3cretpw@h", "ann:s3cretpw@127.0.0.1:{port}"])
def test_nothing_of_a_proxy_shows_its_password(proxy: str) -> None:
    environ = {"HTTPS_PROXY": proxy.format(port=free_port())}
    way = asyncio.run(check_connectivity("https://api.example.test", environ, patience=5))
    assert way.step in ("proxy", "environment")
    assert "HTTPS_PROXY" in unreachable_reason(way)
    assert "s3cretpw" not in str(way)


def test_a_proxy_without_a_scheme_is_asked_as_the_libraries_do() -> None:
    with listening() as port:
        way = asyncio.run(
            check_connectivity(
                "https://api.example.test", {"HTTPS_PROXY": f"ann:s3cretpw@127.0.0.1:{port}"}, patience=5
            )
        )
    assert (way.step, way.proxy) == ("reached", f"http://127.0.0.1:{port}")


def test_a_proxy_stands_in_between_unless_no_proxy_names_the_host() -> None:
    with listening() as port:
        proxy = f"http://user:secret@127.0.0.1:{port}"
        way = asyncio.run(check_connectivity("https://api.example.test/v1", {"HTTPS_PROXY": proxy}, patience=5))
        assert (way.step, way.place, way.proxy) == ("reached", "api.example.test", f"http://127.0.0.1:{port}")
        assert step("https://nowhere.invalid", https_proxy=proxy, NO_PROXY="nowhere.invalid") == "name"
    closed = f"http://127.0.0.1:{free_port()}"
    assert step("https://api.example.test", HTTPS_PROXY=closed) == "proxy"
    assert route_to("http://x", {"HTTPS_PROXY": closed}).proxy == ""
    assert route_to("http://x", {"all_proxy": closed}).proxy == closed


def test_every_provider_is_known_with_its_address() -> None:
    for provider in PROVIDERS.values():
        assert provider.name in PROVIDER_INFO
        address = address_of(provider, {})
        assert address.startswith(("https://", "http://localhost")) or provider.name in ("bedrock", "azure")
        if provider.address_variable:
            assert address_of(provider, {provider.address_variable: "http://x"}) == f"http://x{provider.path}"
        assert info_of(provider).title

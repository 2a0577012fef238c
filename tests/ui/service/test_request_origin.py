"""Whose requests the server answers: each combination of host, origin and site."""

from __future__ import annotations

import pytest

from holdfast.ui.service.access import LOOPBACK, host_name, host_refusal, origin_refusal

HOST = "127.0.0.1:4747"


@pytest.mark.parametrize(
    ("host", "name"),
    [
        ("localhost", "localhost"),
        ("LocalHost:4747", "localhost"),
        ("127.0.0.1:", "127.0.0.1"),
        ("[::1]", "[::1]"),
        ("[::1]:4747", "[::1]"),
    ],
)
def test_the_names_of_this_machine_are_served(host: str, name: str) -> None:
    assert host_name(host) == name
    assert host_refusal(host, LOOPBACK) == ""


@pytest.mark.parametrize(
    "host",
    [
        "",
        "evil.example",
        "evil.example:4747",
        "127.0.0.1.evil.example",
        "localhost.",
        "localhost:4747@evil.example",
        "localhost:evil.example",
        "[::1",
        "[::1]evil.example",
        "[::1]:x",
        "::1",
        "127.0.0.1 ",
        "evil.example localhost",
    ],
)
def test_any_other_host_is_refused(host: str) -> None:
    assert "is not served here" in host_refusal(host, LOOPBACK)


@pytest.mark.parametrize("site", [None, "none", "same-origin"])
@pytest.mark.parametrize("origin", [None, f"http://{HOST}", f"https://{HOST}", f"HTTP://{HOST}"])
def test_programs_and_the_own_page_may_send_requests(origin: str | None, site: str | None) -> None:
    assert origin_refusal(HOST, origin, site) == ""


@pytest.mark.parametrize("site", ["cross-site", "same-site"])
@pytest.mark.parametrize("origin", [None, f"http://{HOST}", "http://evil.example"])
def test_a_page_of_another_origin_may_not(origin: str | None, site: str) -> None:
    assert "another site" in origin_refusal(HOST, origin, site)


@pytest.mark.parametrize("site", [None, "none", "same-origin"])
@pytest.mark.parametrize(
    "origin",
    [
        "null",
        "",
        "http://evil.example",
        "http://127.0.0.1",
        "http://127.0.0.1:4748",
        "http://localhost:4747",
        f"http://x@{HOST}",
        f"ftp://{HOST}",
        f"//{HOST}",
        "http://[x",
        f"http://{HOST}.evil.example",
    ],
)
def test_another_origin_is_refused_whatever_the_site(origin: str, site: str | None) -> None:
    assert "Only holdfast's own page" in origin_refusal(HOST, origin, site)

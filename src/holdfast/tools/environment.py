"""The environment that commands are started with."""

from __future__ import annotations

import os
from collections.abc import Mapping

from holdfast.tools.processes import MARK

PASSED_ON = (
    {"PATH", "HOME", "USER", "LOGNAME", "SHELL", "TMPDIR", "TZ", "LANG", "LANGUAGE", "SSH_AUTH_SOCK"}
    | {"VIRTUAL_ENV", "CONDA_PREFIX", "CONDA_DEFAULT_ENV", "PYENV_ROOT", "NVM_DIR", "JAVA_HOME", "LD_LIBRARY_PATH"}
    | {"GOPATH", "GOROOT", "CARGO_HOME", "RUSTUP_HOME"}
    | {"HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY", "NO_PROXY", "http_proxy", "https_proxy", "all_proxy", "no_proxy"}
    | {"SSL_CERT_FILE", "SSL_CERT_DIR", "CURL_CA_BUNDLE", "REQUESTS_CA_BUNDLE", "NODE_EXTRA_CA_CERTS"}
)
PASSED_ON_BY_PREFIX = ("LC_", "XDG_")
# Nobody is there to answer a question, page through a text or look at colours.
UNATTENDED = {
    "TERM": "dumb",
    "NO_COLOR": "1",
    "PAGER": "cat",
    "GIT_PAGER": "cat",
    "GIT_EDITOR": "true",
    "GIT_TERMINAL_PROMPT": "0",
}


def child_environment(own: Mapping[str, str], *, call: str = "") -> dict[str, str]:
    """Return what a command may know of the agent's environment `own`: an allow-list, so never a provider's key.

    It carries the `call` it is started for, by which what it leaves alive is found.
    """
    passed = {name: own[name] for name in own if name in PASSED_ON or name.startswith(PASSED_ON_BY_PREFIX)}
    marked = {MARK: call} if call else {}
    return {"PATH": os.defpath, **passed, **UNATTENDED, **marked}

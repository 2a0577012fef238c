"""The environment of commands."""

from __future__ import annotations

import os
from collections.abc import Mapping

from holdfast.tools.process.process_table import CALL_VARIABLE

PASSED_ON = (
    {"PATH", "HOME", "USER", "LOGNAME", "SHELL", "TMPDIR", "TZ", "LANG", "LANGUAGE", "SSH_AUTH_SOCK"}
    | {"VIRTUAL_ENV", "CONDA_PREFIX", "CONDA_DEFAULT_ENV", "PYENV_ROOT", "NVM_DIR", "JAVA_HOME", "LD_LIBRARY_PATH"}
    | {"GOPATH", "GOROOT", "CARGO_HOME", "RUSTUP_HOME"}
    | {"HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY", "NO_PROXY", "http_proxy", "https_proxy", "all_proxy", "no_proxy"}
    | {"SSL_CERT_FILE", "SSL_CERT_DIR", "CURL_CA_BUNDLE", "REQUESTS_CA_BUNDLE", "NODE_EXTRA_CA_CERTS"}
)
PASSED_ON_BY_PREFIX = ("LC_", "XDG_")
# No user can answer a question, page through text or see colors.
UNATTENDED = {
    "TERM": "dumb",
    "NO_COLOR": "1",
    "PAGER": "cat",
    "GIT_PAGER": "cat",
    "GIT_EDITOR": "true",
    "GIT_TERMINAL_PROMPT": "0",
}


def child_environment(environ: Mapping[str, str], *, call: str = "") -> dict[str, str]:
    """Return the variables of the agent's `environ` that a command gets: an allow-list, never an API key.

    Adds the `call`, by which leftover processes are found.
    """
    variables = {name: environ[name] for name in environ if name in PASSED_ON or name.startswith(PASSED_ON_BY_PREFIX)}
    marked = {CALL_VARIABLE: call} if call else {}
    return {"PATH": os.defpath, **variables, **UNATTENDED, **marked}

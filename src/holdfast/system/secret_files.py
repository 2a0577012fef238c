"""The names of files that hold secrets: a closed list, compared without case. Pure.

A model is shown such a file only after a question. The list follows what the usual programs keep keys and passwords in.
Left out are what projects keep as an example (`.env.example`) and source code that is only called so
(`credentials.py`): a question about every file named after its subject would soon be answered without being read.
"""

from __future__ import annotations

import re

from holdfast.system.file_names import folded_path

_EXAMPLES = r"(?:example|sample|template|dist|default|defaults|schema|test)"
_NAMES = re.compile(
    rf"\.env(?!rc$)(?!(?:\..*)?\.{_EXAMPLES}$)(?:[.\-_].*)?"
    r"|.*\.(?:pem|key|p12|pfx|keystore|jks|kdbx|ppk|asc\.key)"
    r"|id_(?:rsa|dsa|ecdsa|ed25519|ecdsa_sk|ed25519_sk|xmss)(?:[._-](?!pub$).*)?"
    r"|\.netrc|_netrc|\.npmrc|\.pypirc|\.git-credentials|\.htpasswd|\.pgpass|\.my\.cnf|\.dockercfg"
    r"|\.?credentials(?:\.(?:json|ya?ml|toml|ini|cfg|conf|csv|xml|txt|db|env|properties))?"
    r"|.*\.tfstate(?:\.backup)?|(?:terraform|.*\.auto)\.tfvars(?:\.json)?"
)
_FOLDERS = frozenset({".aws", ".ssh", ".gnupg", ".kube", ".azure", ".gcloud", ".docker", ".password-store"})
_PUBLIC = re.compile(r".*\.pub|known_hosts.*|authorized_keys.*|config|.*cacerts?\.pem|ca-bundle.*|ca-certificates.*")


def holds_secrets(path: str) -> bool:
    """Return whether a file with this path (its last parts count, in any case) is one that holds secrets."""
    *folders, name = folded_path(path).split("/")
    if _NAMES.fullmatch(name):
        return not _PUBLIC.fullmatch(name)
    return any(folder in _FOLDERS for folder in folders) and bool(name) and not _PUBLIC.fullmatch(name)

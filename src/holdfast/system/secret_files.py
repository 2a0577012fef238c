"""The names of files that hold secrets: a closed list, compared without case. Pure.

A model is shown such a file only after a question. The list follows what the usual programs keep keys and passwords in,
wherever a copy of their folder lies: a workspace may be the home folder. A backup that an editor leaves beside a file
counts as the file. Left out are what projects keep as an example (`.env.example`) and source code that
is only called so (`credentials.py`): a question about every file named after its subject would soon be answered unread.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from functools import lru_cache
from typing import NamedTuple

from holdfast.system.file_names import folded_path

_EXAMPLES = r"(?:example|sample|template|dist|default|defaults|schema|test)"
_DATA = r"(?:\.(?:json|ya?ml|toml|ini|cfg|conf|csv|xml|txt|db|env|properties))"
_NAMES = re.compile(
    rf"\.env(?:rc)?(?!(?:\..*)?\.{_EXAMPLES}$)(?:[.\-_].*)?"
    rf"|(?!(?:.*[.\-_])?{_EXAMPLES}\.env$).+\.env"
    r"|.*\.(?:pem|key|p8|p12|pfx|keystore|jks|kdbx|ppk|asc\.key)"
    r"|id_(?:rsa|dsa|ecdsa|ed25519|ecdsa_sk|ed25519_sk|xmss)(?:[._-](?!pub$).*)?|.*deploy[_-]?key"
    r"|_netrc|\.npmrc|\.git-credentials|\.htpasswd|\.dockercfg|\.dev\.vars|\.vault[_-]pass(?:word)?"
    rf"|\.?(?:credentials|secrets?){_DATA}?|.*service[_-]?account.*\.json|(?:.+[._-])?kubeconfig{_DATA}?"
    r"|.*\.tfstate(?:\..*)?|(?:terraform|.*\.auto)\.tfvars(?:\.json)?"
)
_FOLDERS = frozenset({".aws", ".ssh", ".gnupg", ".kube", ".azure", ".gcloud", ".docker", ".password-store"})
_PUBLIC = re.compile(r".*\.pub|known_hosts.*|authorized_keys.*|.*cacerts?\.pem|ca-bundle.*|ca-certificates.*")

_BACKUP = re.compile(r"(?:~|\.(?:bak|backup|old|orig|save|saved|copy|tmp|sw[a-p]|\d+))$")

CREDENTIALS_AT_HOME = (
    # Keys, and what clouds, hosts of code and of packages are asked with.
    ".ssh", ".aws", ".gnupg", ".azure", ".kube", ".docker", ".netrc", ".authinfo", ".authinfo.gpg", ".password-store",
    ".config/gh", ".config/glab-cli", ".config/hub", ".config/gcloud", ".config/doctl", ".config/hcloud",
    ".config/heroku", ".config/flyctl", ".config/netlify", ".config/stripe", ".config/ngrok", ".config/linode-cli",
    ".config/rclone", ".config/op", ".config/sops", ".config/age", ".config/containers/auth.json", ".config/helm",
    ".local/share/com.vercel.cli", ".fly", ".oci", ".aliyun", ".bluemix", ".snowflake", ".databrickscfg", ".s3cfg",
    ".boto", ".vault-token", ".terraform.d", ".terraformrc", ".pulumi/credentials.json", ".ansible/vault",
    ".git-credentials", ".config/git/credentials", ".npmrc", ".pypirc", ".config/pypoetry/auth.toml",
    ".local/share/uv/credentials", ".cargo/credentials", ".cargo/credentials.toml", ".gem/credentials",
    ".composer/auth.json", ".config/composer/auth.json", ".nuget/nuget/nuget.config", ".config/nuget/nuget.config",
    ".m2/settings.xml", ".m2/settings-security.xml", ".gradle/gradle.properties", ".sbt/.credentials",
    ".ivy2/.credentials", ".lein/credentials.clj", ".hex/hex.config", ".pub-cache/credentials.json",
    ".config/dart/pub-credentials.json", ".cache/huggingface/token", ".huggingface", ".kaggle/kaggle.json",
    # Other agents.
    ".claude/.credentials.json", ".claude.json", ".codex/auth.json", ".gemini/oauth_creds.json",
    ".qwen/oauth_creds.json", ".local/share/opencode/auth.json", ".config/github-copilot", ".local/share/crush",
    # Databases, mail and shares.
    ".pgpass", ".my.cnf", ".msmtprc", ".fetchmailrc", ".mbsyncrc", ".offlineimaprc", ".smbcredentials",
    # What was typed.
    ".bash_history", ".zsh_history", ".zhistory", ".local/share/fish/fish_history", ".config/fish/fish_history",
    ".python_history", ".node_repl_history", ".psql_history", ".mysql_history", ".sqlite_history",
    ".rediscli_history", ".irb_history", ".lesshst", ".viminfo",
    # Browsers, mail programs, chats, keyrings and wallets.
    ".mozilla", ".thunderbird", ".config/google-chrome", ".config/chromium", ".config/bravesoftware",
    ".config/microsoft-edge", ".config/vivaldi", ".config/slack", ".config/discord", ".config/signal", ".purple",
    ".cache/mozilla", ".cache/thunderbird", ".cache/google-chrome", ".cache/chromium", ".cache/evolution",
    ".local/share/keyrings", ".local/share/kwalletd", ".config/bitwarden cli", ".bitcoin", ".electrum",
    ".ethereum", ".config/solana",
)  # fmt: skip
"""Files and folders of credentials in a home folder, in lower case; the wall masks them all."""

_ENDS = frozenset(tuple(each.split("/")) for each in CREDENTIALS_AT_HOME)
_FIRST = frozenset(each[0] for each in _ENDS)
_MOST_PARTS = max(map(len, _ENDS))


class _Folder(NamedTuple):
    """The folders above a file: their names, whether every file in them is a secret, and whether one may begin one."""

    names: tuple[str, ...]
    is_secret: bool
    begins: bool


def holds_secrets(path: str) -> bool:
    """Return whether a file with this path (its last parts count, in any case) is one that holds secrets."""
    above, _, name = folded_path(path).rpartition("/")
    folder = _folder(above)
    return any(_is_secret(folder, each) for each in _meant(name))


@lru_cache(maxsize=256)  # many files lie in one folder
def _folder(above: str) -> _Folder:
    names = tuple(above.split("/"))
    return _Folder(names, not _FOLDERS.isdisjoint(names), not _FIRST.isdisjoint(names))


_MARKS = re.compile(
    r"\0[.#]|\.(?:env|pem|key|p8|p12|pfx|jks|kdbx|ppk)|id_(?:rsa|dsa|ecdsa|ed25519|xmss)|deploy"
    r"|netrc|credential|secret|account|kubeconfig|tfstate|tfvars"
)
"""What stands in the name of every file that holds secrets, if no folder on the way to it makes it one."""


def perhaps_secret(folder: str, names: Iterable[str]) -> bool:
    """Return False if none of the files of these names in a folder (its whole path) holds secrets. Fast for many."""
    text = "\0" + "\0".join(names)
    if not text.isascii() or _MARKS.search(text.lower()):
        return True
    return not (_FOLDERS | _FIRST).isdisjoint(folded_path(folder).split("/"))


def _is_secret(folder: _Folder, name: str) -> bool:
    if _PUBLIC.fullmatch(name) or (name == "config" and folder.names[-1:] == (".ssh",)):
        return False
    if _NAMES.fullmatch(name) or (name and folder.is_secret):
        return True
    if not folder.begins and name not in _FIRST:
        return False
    parts = [*folder.names, name]
    begins = (at for at, part in enumerate(parts) if part in _FIRST)
    return any(tuple(parts[at : at + many]) in _ENDS for at in begins for many in range(1, _MOST_PARTS + 1))


def _meant(name: str) -> tuple[str, ...]:
    """Return the name of a file, and the one that it is a backup of, if it is named as one."""
    if name[:1] not in (".", "#") and not _BACKUP.search(name):
        return (name,)  # nearly all are
    found = [name]
    if name.startswith(".") and re.search(r"\.sw[a-p]$", name):
        found.append(name[1:-4])  # Vim's, beside the file
    while (cut := _BACKUP.sub("", found[-1])) != found[-1]:
        found.append(cut)
    if name.startswith("#") and name.endswith("#"):  # Emacs's
        found.append(name[1:-1])
    found += [each.removeprefix(".#") for each in found if each.startswith(".#")]
    return tuple(dict.fromkeys(found))

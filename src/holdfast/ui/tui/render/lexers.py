"""The lexers for syntax colouring, loaded on demand.

Only the languages listed here are coloured; some other lexers take minutes for certain texts.
"""

from __future__ import annotations

import threading
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pygments.lexer import Lexer

_LANGUAGES = {
    "bash": "sh shell zsh",
    "c": "h",
    "console": "shell-session shellsession terminal",
    "cpp": "c++ cc cxx hpp hh",
    "csharp": "cs c#",
    "css": "scss less",
    "diff": "patch udiff",
    "docker": "dockerfile",
    "elixir": "ex exs",
    "go": "golang",
    "haskell": "hs",
    "html": "htm vue svelte",
    "ini": "cfg conf properties",
    "java": "",
    "javascript": "js mjs cjs node",
    "json": "jsonc json5 jsonl",
    "kotlin": "kt kts",
    "lua": "",
    "make": "makefile mk",
    "nix": "",
    "ocaml": "ml mli",
    "php": "",
    "protobuf": "proto",
    "python": "py pyi python3",
    "r": "",
    "ruby": "rb",
    "rust": "rs",
    "scala": "",
    "sql": "sqlite postgresql mysql",
    "swift": "",
    "terraform": "tf hcl",
    "toml": "",
    "typescript": "ts mts cts",
    "tsx": "jsx",
    "xml": "svg xsd",
    "yaml": "yml",
    "zig": "",
}
_NAMED = {name: language for language, others in _LANGUAGES.items() for name in (language, *others.split())}


class Lexers:
    """The loaded lexers; others are loaded in a thread, because that takes a tenth of a second or more."""

    def __init__(self) -> None:
        self._lexers: dict[str, Lexer | None] = {}
        self.loaded = 0
        """Number of loaded lexers; when it grows, code can be redrawn."""

    def lexer(self, language: str) -> Lexer | None:
        """Return the lexer of a language, None if it is unknown or not loaded yet."""
        name = _NAMED.get(language.strip().lower())
        if name is None:
            return None
        if name not in self._lexers:
            self._lexers[name] = None
            threading.Thread(target=self.load, args=(name,), name=f"lexer {name}", daemon=True).start()
        return self._lexers[name]

    def load(self, name: str) -> None:
        """Load the lexer called `name`, one of the known ones."""
        from pygments import lexers

        self._lexers[name] = lexers.get_lexer_by_name(name)  # pyright: ignore[reportUnknownMemberType] - its options are anything
        self.loaded += 1

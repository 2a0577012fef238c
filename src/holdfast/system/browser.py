"""Opens a web page in the user's browser, where there is one."""

from __future__ import annotations

import os
import sys
from urllib.parse import urlsplit


def has_browser() -> bool:
    """Return whether a page can be shown next to the terminal: there is a desktop."""
    return sys.platform == "darwin" or bool(os.environ.get("DISPLAY") or os.environ.get("WAYLAND_DISPLAY"))


def open_page(url: str) -> bool:
    """Open an http or https page; return False if that is not possible."""
    if not has_browser() or urlsplit(url).scheme not in ("http", "https"):
        return False
    import webbrowser

    return webbrowser.open(url)

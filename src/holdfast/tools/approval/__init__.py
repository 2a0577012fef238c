"""Whether a call may run: the decision, the patterns that the user allowed, and what a command line consists of."""

from __future__ import annotations

"""Laws of what runs unasked where commands can be confined: every mode, level, answer, argument and kind of rule."""

from __future__ import annotations

from itertools import product
from typing import get_args

import pytest

from holdfast.tool_calls import Confined, Leaving, Mode, Pattern
from holdfast.tools.approval.decision import Allow, Ask, Decision, Deny, Policy, decide, granted
from holdfast.tools.permission_rules.permission_rule import parse_rule
from holdfast.tools.permission_rules.rule_set import RuleSet
from holdfast.tools.tool import Plan, ToolContext, ToolOutput

LEVELS: tuple[tuple[Confined, ...], ...] = (("read",), ("read", "workspace", "network"))
COMMANDS = ("ls", "cat a.txt | wc -l", "make test", "echo x > out.txt", "echo x > .git/hooks/pre-commit", "cat /etc/passwd", "ls $(", "eval x")
HOST = "example.org"

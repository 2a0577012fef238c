"""The options of a run, parsed by argparse, and its error messages."""

from __future__ import annotations

import argparse
from typing import NoReturn, get_args

from holdfast import __version__
from holdfast.config.settings import ScreenKind
from holdfast.session.journal.model_settings import EFFORTS, Effort
from holdfast.text import literal
from holdfast.tool_calls import Mode, OnApproval, SandboxMode

EPILOG = """\
commands:
  holdfast "PROMPT"                       open the screen and send this prompt
  holdfast setup                          set up a provider, API key and model
  holdfast config                         show every setting and its source
  holdfast doctor                         check this machine's setup
  holdfast models [PROVIDER]              list models, with window and price
  holdfast sessions ACTION                manage your sessions (see -h)
  holdfast undo|redo [SESSION]            take back what a turn did to files, do it again
  holdfast plugins                        list your plug-ins, and why one is not in use
  holdfast mcp ACTION                     manage MCP servers, or serve as one (see -h)
  holdfast check|repair FILE              validate / repair a conversation file
  holdfast acp                            serve an editor (Agent Client Protocol)
  holdfast worker --store URL             drive sessions of a fleet (extra: fleet)
  holdfast fleet init|status --store URL  create the database of a fleet, show its state
  holdfast serve                          serve an HTTP API and a page for your sessions
  holdfast completion bash|zsh|fish       print a shell completion script
  holdfast demo                           watch a demo (no key, no network)

exit codes: 0 done · 1 turn failed · 2 usage · 3 approval needed (--on-approval stop) · 4 damaged document
            5 cost limit reached · 6 a --require is not met · 75 provider failure, try again · 130 interrupted
"""


class Arguments(argparse.Namespace):
    """The command line of a run; without arguments, that of a bare `holdfast`."""

    prompt: str | None = None
    first_prompt: str = ""
    model: str | None = None
    effort: Effort | None = None
    temperature: float | None = None
    max_output: int | None = None
    service_tier: str | None = None
    fallback_model: str | None = None
    input_format: str = "text"
    output_format: str = "text"
    require: list[str] | None = None
    permission_mode: Mode | None = None
    yolo: bool = False
    sandbox: SandboxMode | None = None
    on_approval: OnApproval | None = None
    max_steps: int | None = None
    max_cost: float | None = None
    timeout: float | None = None
    system_prompt: str | None = None
    system_prompt_file: str | None = None
    append_system_prompt: str | None = None
    append_system_prompt_file: str | None = None
    no_session: bool = False
    session_id: str = ""
    cwd: str | None = None
    continue_: bool = False
    resume: str | None = None
    fork: bool = False
    screen: ScreenKind | None = None
    debug: bool = False
    trust_project: bool | None = None
    mcp_config: list[str] | None = None
    strict_mcp_config: bool = False
    no_hooks: bool = False
    allow: list[str] | None = None
    deny: list[str] | None = None
    tools: str | None = None


class Parser(argparse.ArgumentParser):
    """An ArgumentParser whose error messages are safe to print on a terminal."""

    def error(self, message: str) -> NoReturn:
        """Print the usage error, and exit."""
        super().error(literal(message))

    def add_format(self) -> None:
        """Add the options for the format of a command's output: `--format`, and `--json` for short."""
        self.add_argument("--format", choices=("text", "json"), default="text")
        self.add_argument("--json", dest="format", action="store_const", const="json", help="short for --format json")


def parser() -> Parser:
    """Return the parser of a run's options."""
    parser = Parser(
        prog="holdfast",
        description="A coding agent whose conversations cannot be broken.",
        epilog=EPILOG,
        formatter_class=argparse.RawDescriptionHelpFormatter,
        allow_abbrev=False,
    )
    add = parser.add_argument
    add("-p", "--print", "--prompt", dest="prompt", nargs="?", const="", metavar="PROMPT",
        help="run one turn and print the answer; appends standard input to the prompt")  # fmt: skip
    add("-c", "--continue", dest="continue_", action="store_true",
        help="continue the most recent session in this directory")  # fmt: skip
    add("-r", "--resume", nargs="?", const="", metavar="ID",
        help="resume a session by ID or unique prefix; without ID, pick one")  # fmt: skip
    add("--fork", "--fork-session", dest="fork", action="store_true", help="fork: continue in a copy (with -c or -r)")
    add("--no-session", action="store_true", help="with -p: delete the session when the run ends")
    add(
        "--session-id",
        default="",
        metavar="ID",
        help="with -p: use this ID for the new session",
    )
    add("--input-format", choices=("text", "stream-json"), default="text",
        help="with -p: read prompts as JSON lines from standard input, one turn each")  # fmt: skip
    add("--output-format", choices=("text", "json", "stream-json"), default="text",
        help="with -p: text (default), one JSON object, or JSON lines")  # fmt: skip
    add("--require", action="append", metavar="CONDITION",
        help="with -p: exit with 6 unless it holds: ran:CMD, changed[:GLOB], unchanged:GLOB, no-unknown, "
        "no-denied")  # fmt: skip
    kinds = parser.add_mutually_exclusive_group()
    kinds.add_argument("--inline", dest="screen", action="store_const", const="inline",
        help="keep the conversation in the terminal's own scrollback")  # fmt: skip
    kinds.add_argument("--plain", dest="screen", action="store_const", const="plain",
        help="text only, line by line, for screen readers and simple terminals")  # fmt: skip
    add("--debug", action="store_true", help="write a debug log and validate the conversation after every step")
    add_settings(parser)
    add("--version", action="version", version=f"holdfast {__version__}")
    return parser


def add_settings(parser: argparse.ArgumentParser) -> None:
    """Add the options that override settings of the config."""
    add = parser.add_argument
    add("-m", "--model", metavar="PROVIDER:MODEL", help="model to use, e.g. openai:gpt-5.5")
    add("--effort", choices=EFFORTS, help="how much the model reasons (default: the provider's)")
    add("--temperature", type=float, metavar="T", help="sampling temperature, from 0 to 2")
    add("--max-output", type=int, metavar="N", help="maximum tokens of an answer")
    add("--service-tier", metavar="TIER", help="the provider's service tier, e.g. flex")
    add("--fallback-model", metavar="PROVIDER:MODEL",
        help="model to switch to for the rest of a turn if the model is overloaded or does not answer")  # fmt: skip
    add("--permission-mode", choices=get_args(Mode), default=None, help="which calls run without asking (default: ask)")
    add("--sandbox", choices=get_args(SandboxMode), default=None, help="run commands in a sandbox (default: auto)")
    add("-y", "--yolo", action="store_true", help="short for --permission-mode yolo")
    add("--on-approval", choices=get_args(OnApproval), default=None,
        help="with -p: deny a call that needs approval, or stop the turn (default: deny)")  # fmt: skip
    add("--allow", action="append", metavar="RULE",
        help="allow calls without asking, e.g. 'Bash(git commit *)'; repeatable")  # fmt: skip
    add("--deny", action="append", metavar="RULE", help="never run these calls, in any mode; repeatable")
    add("--tools", metavar="NAMES", help="declare only these tools in a new session, e.g. read,grep,bash")
    add("--mcp-config", action="append", metavar="FILE", help="also use the MCP servers in this file; repeatable")
    add("--strict-mcp-config", action="store_true", help="use only the MCP servers of --mcp-config")
    add("--no-hooks", action="store_true", help="run no hooks, whatever is configured")
    add("--max-steps", type=int, metavar="N", help="maximum model requests per turn")
    add(
        "--max-cost",
        type=float,
        metavar="DOLLARS",
        help="end the turn before a request once the run has cost this much",
    )
    add("--timeout", type=float, metavar="SECONDS", help="end the turn after this time")
    add("--system-prompt", metavar="TEXT", help="use this text as the system prompt of a new session")
    add("--system-prompt-file", metavar="FILE", help="use this file as the system prompt of a new session")
    add("--append-system-prompt", metavar="TEXT", help="append this text to the system prompt of a new session")
    add("--append-system-prompt-file", metavar="FILE", help="append this file to the system prompt of a new session")
    add("-C", "--cwd", metavar="DIR", help="work in this directory")
    add("--trust-project", action=argparse.BooleanOptionalAction, default=None,
        help="trust (or stop trusting) this project's .holdfast/config.toml; remembered")  # fmt: skip

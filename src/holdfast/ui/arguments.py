"""The options of a run, as argparse reads them, and how it complains."""

from __future__ import annotations

import argparse
from typing import NoReturn, get_args

from holdfast import __version__
from holdfast.calls import Mode
from holdfast.text import literal

EPILOG = """\
commands:
  holdfast setup                                                  a provider, its key and a model, by questions
  holdfast config                                                 every setting, and where it comes from
  holdfast doctor                                                 what could be wrong here, and what to do about it
  holdfast sessions list|show|verify|export|import|rename|delete  your sessions
  holdfast check|repair FILE                                      what a provider refuses in a conversation; mend it
  holdfast completion bash|zsh|fish                               what makes your shell complete all of this
  holdfast demo                                                   see it work, without a key or a network

exit codes: 0 done · 1 turn failed · 2 usage · 3 approval needed but nobody to ask · 4 damaged document
            75 provider failure worth retrying · 130 interrupted
"""


class Arguments(argparse.Namespace):
    """The options of a run."""

    prompt: str | None
    model: str | None
    output_format: str
    permission_mode: Mode | None
    yolo: bool
    max_steps: int | None
    timeout: float | None
    cwd: str | None
    continue_: bool
    resume: str | None
    fork: bool
    debug: bool
    trust_project: bool | None


class Parser(argparse.ArgumentParser):
    """argparse's own, but for its complaints: they repeat words, and do nothing to a terminal."""

    def error(self, message: str) -> NoReturn:
        """Say what is wrong with the words, and exit."""
        super().error(literal(message))


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
        help="run one turn and print the answer; standard input is appended")  # fmt: skip
    add("-c", "--continue", dest="continue_", action="store_true", help="go on with the latest session of this folder")
    add("-r", "--resume", nargs="?", const="", metavar="ID",
        help="go on with this session (a unique prefix will do); on the screen, without ID: choose one")  # fmt: skip
    add("--fork", "--fork-session", dest="fork", action="store_true", help="with -c or -r: go on in a copy")
    add("--output-format", choices=("text", "json", "stream-json"), default="text")
    add("--debug", action="store_true", help="log what is done, and check the conversation all the time")
    add_settings(parser)
    add("--version", action="version", version=f"holdfast {__version__}")
    return parser


def add_settings(parser: argparse.ArgumentParser) -> None:
    """Add the options that set what a config sets too, and where."""
    add = parser.add_argument
    add("-m", "--model", metavar="PROVIDER:MODEL", help="openai:…, anthropic:…, or of another provider")
    add("--permission-mode", choices=get_args(Mode), default=None, help="default: ask")
    add("-y", "--yolo", action="store_true", help="short for --permission-mode yolo")
    add("--max-steps", type=int, metavar="N", help="model requests this turn may make")
    add("--timeout", type=float, metavar="SECONDS", help="end the turn after this long")
    add("-C", "--cwd", metavar="DIR", help="work in this folder")
    add("--trust-project", action=argparse.BooleanOptionalAction, default=None,
        help="obey this project's .holdfast/config.toml as it is, or no longer; remembered")  # fmt: skip

"""`holdfast --plain`: reads lines and prints text, with no cursor movement, on the agent that `-p` uses."""

from __future__ import annotations

import asyncio
import gc
import sys
from collections.abc import Mapping
from pathlib import Path

import msgspec

from holdfast.config.settings import read_config
from holdfast.errors import EXIT_INTERRUPTED, EXIT_OK
from holdfast.providers.credentials.process_environment import remove_keys
from holdfast.session.catalog import Catalog
from holdfast.system.user_directories import homes
from holdfast.ui.headless.run import session_of
from holdfast.ui.plain.conversation import PlainConversation
from holdfast.ui.startup.arguments import Arguments
from holdfast.ui.startup.debug_log_option import debug_log, debug_log_note
from holdfast.ui.startup.project_trust import judge_project
from holdfast.ui.startup.run_options import RunOptions, run_options
from holdfast.ui.startup.session_choice import chosen_session, working_directory


def main(arguments: Arguments, *, environ: Mapping[str, str]) -> int:
    """Run the plain mode until the user leaves, and return the exit code. Raise `HoldfastError` if it cannot start."""
    gc.disable()  # during the imports, which create no garbage
    options = _options(arguments, environ)
    while True:
        code, renew = _run(options)
        if not renew:
            return code
        options = msgspec.structs.replace(options, resumed=None, fork=False, first_prompt="")


def _options(arguments: Arguments, environ: Mapping[str, str]) -> RunOptions:
    places = homes(environ)
    user_config = read_config(places.config)
    cwd = working_directory(arguments.cwd)
    summary = chosen_session(Catalog(places.sessions), arguments, cwd=cwd, notify=debug_log_note)
    judge_project(environ, cwd if summary is None else Path(summary.cwd or cwd), trusted=arguments.trust_project)
    options = run_options(arguments, environ, user_config=user_config, cwd=cwd, resumed=summary)
    remove_keys(options.providers)
    for notice in filter(None, (*options.notices, options.unread)):
        debug_log_note(notice)
    return options


def _run(options: RunOptions) -> tuple[int, bool]:
    """Run one session. Return the exit code, and whether the user wants a new session."""
    session = session_of(options, has_user=True)
    options.prepare(session.toolbox)
    try:
        with debug_log(options, session.id, notify=debug_log_note) as log, asyncio.Runner() as runner:
            conversation = PlainConversation(options, session, runner.get_loop(), log=log)
            try:
                runner.run(conversation.run())
            finally:
                conversation.close()
    finally:
        session.store.close()
    print(f"Session saved. To continue: holdfast --plain -r {session.id}", flush=True)
    sys.stdout.flush()
    return (EXIT_INTERRUPTED if conversation.signal_name else EXIT_OK), conversation.renew

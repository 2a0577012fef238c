"""T0: a harness that finds nothing in turns that are known to be wrong finds nothing at all."""

from __future__ import annotations

import re

import pytest
from bad_turns import (
    ActsFirst,
    AppendsAsItGoes,
    SavesAtTheEnd,
    TellsFirst,
    TidiesUp,
    agent_that_approves_plans_first,
    agent_that_emits_first,
    agent_that_forgets_tasks,
    agent_that_runs_questions,
    agent_that_takes_silence_for_consent,
)
from injectors import FROM_OUTSIDE, tried
from report import record
from scenario_runner import Making, Play
from scenarios import SCENARIOS

BY_NAME = {injector.name: injector for injector in FROM_OUTSIDE}

LOST_RESULT = r"finished, and its result is not in the journal"
LOST_PROMPT = r"prompts \['do it'\] were given, \[\] are in the journal"
OPEN_CALL = r"calls .* have outcomes {}"
OPEN_TURN = r"not every turn has one end"
TOLD_EARLY = r"entry \d+ was told before it was durable"
PARTED = r"the answer to question .* is in the journal without its outcome"
LOST_ANSWER = r"question \w+ was answered, and ended not_started"
INVENTED = r"question \w+ has an answer that nobody gave"
NO_MODE = r"plan \w+ is approved, and its mode is not with it"
OPEN_TASK = r"tasks are open"
ACTED_EARLY = r"acts, and the journal does not have that it started"


@pytest.mark.parametrize("injector", ["stop", "cancel", "asyncio.timeout", "asyncio.wait_for", "the loop closes"])
@pytest.mark.parametrize(
    ("making", "found"),
    [
        (SavesAtTheEnd, [LOST_PROMPT, LOST_RESULT]),
        (AppendsAsItGoes, [LOST_RESULT, OPEN_CALL, OPEN_TURN]),
        (TidiesUp, [LOST_RESULT]),
    ],
    ids=lambda value: getattr(value, "__name__", ""),
)
def test_a_turn_that_is_known_to_be_wrong_is_found_out(making: Making, found: list[str], injector: str) -> None:
    complaints = tried(SCENARIOS["three parallel tools"], BY_NAME[injector], making=making, some=20)
    for pattern in found:
        assert any(re.search(pattern, complaint) for complaint in complaints), pattern


def test_a_clean_up_that_can_be_cancelled_is_found_out() -> None:
    complaints = tried(SCENARIOS["one tool"], BY_NAME["cancel twice, 2 apart"], making=TidiesUp, some=20)
    assert any(re.search(OPEN_TURN, complaint) for complaint in complaints)


@pytest.mark.parametrize(
    ("making", "found"),
    [(TellsFirst, TOLD_EARLY), (agent_that_emits_first, TOLD_EARLY), (ActsFirst, ACTED_EARLY)],
    ids=["TellsFirst", "an agent that tells first", "ActsFirst"],
)
def test_what_comes_before_its_entry_is_found_out_without_any_fault(making: Making, found: str) -> None:
    play = Play(SCENARIOS["one tool"], making=making)
    play.run()
    complaints = [complaint for complaint in play.complaints if re.search(found, complaint)]
    record(f"one tool ({making.__name__})", "none", points=1, violations=complaints, known_bad=True)
    assert complaints


@pytest.mark.parametrize(
    ("making", "scenario", "found"),
    [
        (agent_that_runs_questions, "questions of the model", PARTED),
        (agent_that_takes_silence_for_consent, "a question that is never answered", INVENTED),
        (agent_that_approves_plans_first, "a plan that is handed over", NO_MODE),
        (agent_that_approves_plans_first, "taken up at a plan", NO_MODE),
        (agent_that_forgets_tasks, "background tasks", OPEN_TASK),
        (agent_that_forgets_tasks, "a command that is moved to the background", OPEN_TASK),
    ],
    ids=lambda value: getattr(value, "__name__", value),
)
def test_what_users_and_tasks_say_is_missed_without_any_fault(making: Making, scenario: str, found: str) -> None:
    play = Play(SCENARIOS[scenario], making=making)
    play.run()
    complaints = [complaint for complaint in play.complaints if re.search(found, complaint)]
    record(f"{scenario} ({making.__name__})", "none", points=1, violations=complaints, known_bad=True)
    assert complaints


def test_an_answer_that_a_stop_loses_is_found_out() -> None:
    scenario = SCENARIOS["questions of the model"]
    complaints = tried(scenario, BY_NAME["stop"], making=agent_that_runs_questions, some=80)
    assert any(re.search(LOST_ANSWER, complaint) for complaint in complaints)

"""What the doctor says of what it finds, and the doctor itself on a machine that is well, and one that is not."""

from __future__ import annotations

import json
import os
import re
import socket
import time
from pathlib import Path

import pytest

from holdfast.config.model_servers import ModelOverrides
from holdfast.providers.connectivity import ConnectivityResult
from holdfast.providers.credentials.provider_keys import ProviderKey
from holdfast.providers.model_table import facts_of, model_table
from holdfast.providers.registry import PROVIDERS
from holdfast.session.storage.lease import Lease
from holdfast.session.verify import Problem, Report
from holdfast.ui.commands.doctor import findings, probes
from holdfast.ui.commands.doctor.findings import DoctorFinding
from holdfast.ui.main import main
from holdfast.ui.startup.project_trust import judge_project
from polling import expect_within

GB = 1_000_000_000
CUSTOM_MODEL = facts_of("home:m", overrides={"home:m": ModelOverrides(context_window=5, reasoning="none")})
PROBLEM = Problem(kind="damage", where="entry 1", what="A hole.", todo="")


def report(session: str, *problems: Problem) -> Report:
    return Report(session=session, entries=1, messages=1, profiles=1, problems=problems)


@pytest.mark.parametrize(
    ("finding", "level", "words"),
    [
        (findings.versions({"holdfast": "1"}, (3, 12)), "ok", "holdfast 1"),
        (findings.versions({"holdfast": "1"}, (3, 15)), "ok", "not tested with Python later than 3.13"),
        (findings.terminal_finding(tty=True, term="xterm", columns=100, lines=30, encoding="UTF-8"), "ok", "100x30"),
        (
            findings.terminal_finding(tty=True, term="dumb", columns=100, lines=30, encoding="utf-8"),
            "warn",
            "holdfast -p",
        ),
        (findings.terminal_finding(tty=True, term="xterm", columns=79, lines=30, encoding="utf-8"), "warn", "larger"),
        (findings.terminal_finding(tty=True, term="xterm", columns=99, lines=30, encoding="ascii"), "warn", "UTF-8"),
        (findings.terminal_finding(tty=False, term="", columns=80, lines=24, encoding="ascii"), "ok", "not a terminal"),
        (findings.keys(PROVIDERS, {"ANTHROPIC_API_KEY": ProviderKey("file", "sk")}), "ok", "ANTHROPIC_API_KEY (file)"),
        (findings.keys(PROVIDERS, {}), "warn", "holdfast setup"),
        (findings.model("a:b", ""), "ok", "a:b"),
        (findings.model("a:b", "Key is missing."), "fail", "Key is missing."),
        (findings.model(None, ""), "warn", "holdfast setup"),
        (findings.model("demo", ""), "ok", "not with -p"),
        (findings.model_table_finding("2026", None, window=0), "ok", "2026"),
        (findings.model_table_finding("2026", facts_of("anthropic:claude-sonnet-5-5"), window=0), "ok", "2026"),
        (findings.model_table_finding("2026", facts_of("home:m"), window=0), "warn", 'in [models."home:m"]'),
        (findings.model_table_finding("2026", facts_of("home:m"), window=9000), "ok", "assumed to be 9,000 tokens"),
        (
            findings.model_table_finding("2026", CUSTOM_MODEL, window=0),
            "ok",
            "home:m is not in it: its cost is unknown",
        ),
        (findings.disk("~/x", 2 * GB), "ok", "2 GB"),
        (findings.disk("~/x", GB // 2), "warn", "Free some disk space"),
        (findings.disk("~/x", GB // 20), "fail", "Free some disk space"),
        (findings.folder_finding("~/x", mode=0o700, writable=True, kind="ext4"), "ok", "0700"),
        (findings.folder_finding("~/x", mode=None, writable=True, kind=""), "ok", "does not exist yet"),
        (findings.folder_finding("~/x", mode=0o755, writable=True, kind="ext4"), "warn", "chmod 700"),
        (findings.folder_finding("~/x", mode=0o700, writable=False, kind="ext4"), "fail", "HOLDFAST_HOME"),
        (findings.folder_finding("~/x", mode=0o700, writable=True, kind="nfs4"), "warn", "network"),
        (findings.program("ripgrep", None), "warn", "Install ripgrep"),
        (findings.program("git", "git version 2"), "ok", "git version 2"),
        (
            findings.program("git", "", "it failed with exit code 2"),
            "warn",
            "installed, but it failed with exit code 2",
        ),
        (findings.bubblewrap("0.8", works=True, configured=True, namespaces=""), "ok", "0.8"),
        (findings.bubblewrap(None, works=False, configured=False, namespaces=""), "ok", "not installed"),
        (findings.bubblewrap(None, works=False, configured=True, namespaces=""), "warn", "Install bubblewrap"),
        (findings.bubblewrap("0.8", works=False, configured=True, namespaces="It is 0."), "warn", "It is 0."),
        (findings.commands_finding("It did not start."), "fail", "It did not start."),
        (findings.kernel("Linux", missing=[]), "ok", "Linux"),
        (findings.kernel("Linux", missing=["/proc"]), "warn", "no /proc"),
        (findings.kernel("Darwin", missing=[]), "warn", "Darwin"),
        (findings.sessions([report("a")], 1), "ok", "1 session verified"),
        (findings.sessions([report("a")], 9), "ok", "verify --all"),
        (findings.sessions([report("a"), report("b", PROBLEM)], 2), "fail", "sessions verify b"),
        (findings.sessions([], 0), "ok", "none yet"),
        (next(findings.temporary_findings("~/t", 2)), "warn", "The next holdfast -p deletes them"),
        (findings.config("~/c", there=True, problem="Line 3."), "fail", "Line 3."),
        (findings.config("~/c", there=False, problem=""), "ok", "defaults"),
    ],
)
def test_what_is_found_has_a_level_and_words(finding: DoctorFinding, level: str, words: str) -> None:
    assert finding.level == level
    assert words in f"{finding.what} {finding.todo}"
    assert level == "ok" or finding.todo


def test_a_provider_that_is_not_reached_is_grave_if_it_is_the_chosen_one() -> None:
    known = PROVIDERS["anthropic"]
    refused = ConnectivityResult(step="refused", place="x.test", detail="refused")
    assert (
        findings.provider_finding(known, ConnectivityResult(step="reached", place="x.test"), chosen=True).level == "ok"
    )
    assert findings.provider_finding(known, refused, chosen=False).level == "warn"
    assert findings.provider_finding(known, refused, chosen=True).level == "fail"
    assert "Connection refused at x.test" in findings.provider_finding(known, refused, chosen=True).todo


def test_where_a_key_goes_is_reported_if_the_environment_says_it() -> None:
    way = ConnectivityResult(step="reached", place="x.test", variable="ANTHROPIC_BASE_URL")
    text = findings.provider_finding(PROVIDERS["anthropic"], way, chosen=True).what
    assert text == "x.test reachable (from ANTHROPIC_BASE_URL)"


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    (tmp_path / "work").mkdir()
    monkeypatch.chdir(tmp_path / "work")
    (tmp_path / "home").mkdir(mode=0o700)
    return tmp_path / "home"


def examined(
    home: Path, capsys: pytest.CaptureFixture[str], **environ: str
) -> tuple[int, dict[str, DoctorFinding], str]:
    code = main(["doctor", "--format", "json"], {"HOLDFAST_HOME": str(home), **environ})
    out = capsys.readouterr().out
    return code, {each["name"]: DoctorFinding(**each) for each in json.loads(out)}, out


def test_a_machine_that_is_well(home: Path, capsys: pytest.CaptureFixture[str]) -> None:
    with socket.create_server(("127.0.0.1", 0)) as server:
        (home / "config.toml").write_text('model = "anthropic:m"\n')
        environ = {
            "ANTHROPIC_API_KEY": "sk-of-the-doctor",
            "ANTHROPIC_BASE_URL": f"http://127.0.0.1:{server.getsockname()[1]}",
        }
        code, found, out = examined(home, capsys, **environ)
    assert code == 0, out
    assert {each.level for each in found.values()} <= {"ok", "warn"}
    assert "sk-of-the-doctor" not in out
    for name in ("config", "model", "provider anthropic", "commands", "disk", "data folder", "sessions", "keys"):
        assert found[name].level == "ok", found[name]
    assert (found["model table"].level, str(model_table().date) in found["model table"].what) == ("warn", True)
    assert '[models."anthropic:m"]' in found["model table"].todo
    assert "(from ANTHROPIC_BASE_URL)" in found["provider anthropic"].what
    assert "git version" in found["git"].what or found["git"].level == "warn"


def test_one_that_is_not(home: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (home / "config.toml").write_text("modle = 3\n")
    (home / "holdfast-keys.json").write_text("{}")
    (home / "holdfast-keys.json").chmod(0o644)
    broken = home / "sessions" / "20260101-abcdef"
    broken.mkdir(parents=True, mode=0o700)
    (broken / "session.db").write_bytes(b"no database")
    code, found, out = examined(home, capsys)
    assert code == 1
    assert "Did you mean 'model'" in found["config"].todo, out
    assert "chmod 600" in found["keys"].todo
    assert found["sessions"].level == "fail"
    assert (found["keys"].level, "model" in found) == ("warn", False)
    assert main(["doctor"], {"HOLDFAST_HOME": str(home)}) == 1
    assert "FAIL  config" in capsys.readouterr().out


def test_what_killed_runs_without_a_session_left_is_found(home: Path, capsys: pytest.CaptureFixture[str]) -> None:
    for name in ("killed", "lives"):
        (home / "temporary" / name).mkdir(parents=True)
    lease = Lease.take(home / "temporary" / "lives")
    _, found, _ = examined(home, capsys)
    lease.release()
    assert found["temporary"].what.startswith("1 killed run with --no-session left files in ")
    assert sorted(path.name for path in (home / "temporary").iterdir()) == ["killed", "lives"], "doctor changes nothing"


def test_limits_that_stop_every_run_are_found(home: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (home / "config.toml").write_text("[limits.providers.opnai]\nattempts = 1\n")
    code, found, _ = examined(home, capsys)
    assert (code, found["config"].level) == (1, "fail")
    assert "Unknown provider 'opnai'" in found["config"].todo


def program(folder: Path, name: str, text: str) -> None:
    path = folder / name
    path.write_text(f"#!/bin/sh\n{text}\n")
    path.chmod(0o755)


def test_programs_that_hang_or_fail_are_not_waited_for_and_not_well(
    home: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "bin").mkdir()
    program(tmp_path / "bin", "git", "exec sleep 31415")
    program(tmp_path / "bin", "rg", "exit 7")
    monkeypatch.setenv("PATH", f"{tmp_path / 'bin'}:{os.environ['PATH']}")
    monkeypatch.setattr(probes, "ANSWERING", 2.0)
    since = time.monotonic()
    _, found, out = examined(home, capsys)
    expect_within(20, since)
    assert (found["git"].level, found["git"].what) == ("warn", "installed, but it did not answer within 2 s"), out
    assert (found["ripgrep"].level, found["ripgrep"].what) == ("warn", "installed, but it failed with exit code 7")
    assert found["commands"].level == "ok"


def test_an_address_that_is_none_and_a_region_that_is_missing(home: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (home / "config.toml").write_text('model = "bedrock:m"\n')
    environ = {
        "AWS_BEARER_TOKEN_BEDROCK": "sk-of-amazon-0001",
        "OPENAI_API_KEY": "sk-of-openai-0001",
        "OPENAI_BASE_URL": "http://me:s3cret@localhost:99999/v1",
    }
    code, found, out = examined(home, capsys, **environ)
    assert code == 1
    assert "AWS_REGION" in found["model"].todo
    assert (found["provider bedrock"].level, found["provider openai"].level) == ("fail", "warn")
    assert "OPENAI_BASE_URL" in found["provider openai"].todo
    assert "s3cret" not in out
    code, found, _ = examined(home, capsys, **environ, AWS_REGION="eu-north-1")
    assert (code, found["model"].level) == (0, "ok")


def test_the_model_of_a_trusted_project_is_the_one_that_is_looked_for(
    home: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (home / "config.toml").write_text('model = "demo"\n')
    code, found, _ = examined(home, capsys)
    assert (code, found["model"].level) == (0, "ok")
    (tmp_path / "work/.holdfast").mkdir()
    (tmp_path / "work/.holdfast/config.toml").write_text('model = "ollama:tiny"\n')
    environ = {"HOLDFAST_HOME": str(home), "OLLAMA_BASE_URL": "http://127.0.0.1:9/v1"}
    judge_project(environ, tmp_path / "work", trusted=True)
    code, found, _ = examined(home, capsys, **environ)
    assert (code, found["model"].what, found["provider ollama"].level) == (1, "ollama:tiny", "fail")


def test_a_proxys_password_is_not_printed(home: Path, capsys: pytest.CaptureFixture[str]) -> None:
    environ = {"ANTHROPIC_API_KEY": "sk-of-the-doctor", "HTTPS_PROXY": "ann:s3cretpw@127.0.0.1:9"}
    _, found, out = examined(home, capsys, **environ)
    assert "through http://127.0.0.1:9" in found["provider anthropic"].what
    assert "s3cretpw" not in out


def test_its_json_has_the_keys_that_are_documented(home: Path, capsys: pytest.CaptureFixture[str]) -> None:
    text = (Path(__file__).parents[3] / "docs/reference/settings.md").read_text("utf-8")
    config, doctor = (json.loads(each) for each in re.findall(r"```json\n(.*?)```", text, re.DOTALL)[-2:])
    (home / "config.toml").write_text('model = "ollama:m"\n[permissions]\ndeny = ["Bash(rm *)"]\n')
    environ = {"HOLDFAST_HOME": str(home), "OPENAI_BASE_URL": "http://x", "ANTHROPIC_API_KEY": "sk-0001-0001"}
    main(["config", "--json"], environ)
    found = json.loads(capsys.readouterr().out)
    assert found.keys() == config.keys()
    for name, rows in found.items():
        assert rows
        assert all(row.keys() == config[name][0].keys() for row in rows), name
    main(["doctor", "--json"], {**environ, "OPENAI_BASE_URL": "", "OLLAMA_BASE_URL": "http://127.0.0.1:9"})
    found = json.loads(capsys.readouterr().out)
    assert all(row.keys() == doctor[0].keys() for row in found)
    assert {row["level"] for row in found} <= {"ok", "warn", "fail"}

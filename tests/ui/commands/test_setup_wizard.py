"""The questions of the setup, answered as the user would: which key goes where, and what is refused at once."""

from __future__ import annotations

import builtins
import getpass
import re
import stat
from pathlib import Path

import pytest

from holdfast.providers.credentials import provider_keys
from holdfast.providers.credentials.provider_keys import KeyFile
from holdfast.providers.registry import PROVIDERS
from holdfast.testing.script import Say
from holdfast.testing.scripted_provider import ScriptedProvider
from holdfast.ui.commands.setup.wizard import SetupChoice, Wizard

KEY = "sk-of-the-new-server-0001"
OTHERS = {name: f"sk-of-{name.lower()}" for name in ("GEMINI_API_KEY", "GOOGLE_API_KEY", "OPENAI_API_KEY")}


class Person:
    """Types the answers in turn, and leaves when there are none."""

    def __init__(self) -> None:
        self.answers: list[str] = []
        self.questions: list[str] = []

    def answer(self, question: str = "") -> str:
        self.questions.append(question.partition("[")[0].strip(" :\n"))
        if not self.answers:
            raise EOFError
        return self.answers.pop(0)


@pytest.fixture
def person(monkeypatch: pytest.MonkeyPatch) -> Person:
    person = Person()
    monkeypatch.setattr(builtins, "input", person.answer)
    monkeypatch.setattr(getpass, "getpass", person.answer)
    monkeypatch.setattr(provider_keys, "unavailable_reason", lambda: "this is a test")
    return person


def run_setup(person: Person, home: Path, *answers: str, **environ: str) -> tuple[Wizard, SetupChoice | None]:
    person.answers.extend(answers)
    wizard = Wizard({"HOLDFAST_HOME": str(home), **environ})
    return wizard, wizard.run()


@pytest.mark.parametrize(
    ("name", "variable"),
    [
        ("gemini", "SERVER_GEMINI_API_KEY"),
        ("OpenAI", "SERVER_OPENAI_API_KEY"),
        ("Google", "SERVER_GOOGLE_API_KEY"),
        ("127.0.0.1", "SERVER_127_0_0_1_API_KEY"),
        ("home-1", "HOME_1_API_KEY"),
    ],
)
def test_a_new_server_gets_its_own_key(person: Person, tmp_path: Path, name: str, variable: str) -> None:
    with ScriptedProvider([[Say("ready")]], key=KEY) as server:
        address = f"{server.url}/v1"
        wizard, chosen = run_setup(person, tmp_path, "other", address, "", name, "y", KEY, "small", **OTHERS)
        assert [request.headers["authorization"] for request in server.requests] == [f"Bearer {KEY}"]
    assert chosen is not None
    assert chosen.server is not None
    assert chosen.server.api_key_env == variable
    list(wizard.write(chosen))
    assert variable in (tmp_path / "holdfast-keys.json").read_text()
    assert f'api_key_env = "{variable}"' in (tmp_path / "config.toml").read_text()


@pytest.mark.parametrize("address", ["http://[::1/v1", "http://localhost:99999/v1", "localhost:1234/v1", "http://"])
def test_what_is_no_address_is_asked_for_again_at_once(person: Person, tmp_path: Path, address: str) -> None:
    with pytest.raises(EOFError):
        run_setup(person, tmp_path, "other", address, "http://localhost:8080/v1")
    where = "Base URL, e.g. http://localhost:8080/v1"
    assert person.questions == ["Number or name", where, where, "Number or name"]


ALL = ("other", "http://127.0.0.1:9/v1", "", "mine", "y", KEY, "small")


@pytest.mark.parametrize("number", range(len(ALL)))
@pytest.mark.parametrize("leaving", ["\x1b", None])
def test_esc_and_the_end_of_the_input_leave_at_every_question(
    person: Person, tmp_path: Path, number: int, leaving: str | None
) -> None:
    with pytest.raises(EOFError):
        run_setup(person, tmp_path, *ALL[:number], *([leaving] if leaving else []))
    assert len(person.questions) == number + 1
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    ("provider", "environ", "message"),
    [
        ("openai", {"OPENAI_BASE_URL": "http://localhost:99999/v1"}, "OPENAI_BASE_URL of provider"),
        ("bedrock", {}, "Set AWS_REGION"),
    ],
)
def test_one_that_the_environment_makes_unusable_is_refused_when_it_is_chosen(
    person: Person,
    tmp_path: Path,
    provider: str,
    environ: dict[str, str],
    message: str,
    capsys: pytest.CaptureFixture[str],
) -> None:
    with pytest.raises(EOFError):
        run_setup(person, tmp_path, provider, **environ)
    assert person.questions == ["Number or name"] * 2
    assert message in capsys.readouterr().out


@pytest.mark.parametrize(("text", "mode"), [("{half a", 0o600), ('{"keys": {"MISTRAL_API_KEY": "sk-old"}}', 0o644)])
def test_a_file_of_keys_that_cannot_be_used_is_repaired_at_the_end(
    person: Person, tmp_path: Path, text: str, mode: int, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "holdfast-keys.json"
    path.write_text(text)
    path.chmod(mode)
    with ScriptedProvider([[Say("ready")]], key=KEY) as server:
        wizard, chosen = run_setup(person, tmp_path, "openai-chat", KEY, "small", OPENAI_BASE_URL=f"{server.url}/v1")
    assert chosen is not None
    assert "The setup repairs that when it ends" in capsys.readouterr().out
    assert (path.read_text(), stat.S_IMODE(path.stat().st_mode)) == (text, mode)
    assert re.search(r"is now readable only by you|moved to .*keys\.json\.1'", next(iter(wizard.write(chosen))))
    list(wizard.write(chosen))
    keys, wrong = KeyFile(path).usable()
    assert (keys["OPENAI_API_KEY"].value, wrong) == (KEY, "")
    assert ("MISTRAL_API_KEY" in keys) == ("sk-old" in text)


def test_an_address_is_offered_without_its_password(
    person: Person, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    config = '[providers.corp]\nkind = "openai-chat"\nbase_url = "http://me:hunter2@corp.test/v1?key=zzz"\n'
    (tmp_path / "config.toml").write_text(config)
    with pytest.raises(EOFError):
        run_setup(person, tmp_path)
    out = capsys.readouterr().out
    assert "at http://corp.test/v1" in out
    assert "hunter2" not in out
    assert "zzz" not in out


def test_the_config_keeps_the_line_ends_and_the_comments_that_it_has(person: Person, tmp_path: Path) -> None:
    config = tmp_path / "config.toml"
    config.write_bytes(b'model = "a:b"  # cheap, ask Ann\r\n[limits]\r\nmax_steps = 3\r\n')
    wizard = Wizard({"HOLDFAST_HOME": str(tmp_path)})
    list(wizard.write(SetupChoice(provider=PROVIDERS["ollama"], model="tiny")))
    assert config.read_bytes() == b'model = "ollama:tiny"  # cheap, ask Ann\r\n[limits]\r\nmax_steps = 3\r\n'
    assert person.questions == []

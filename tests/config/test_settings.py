from __future__ import annotations

import re
from pathlib import Path

import msgspec
import pytest

from holdfast.config.model_servers import ModelOverrides
from holdfast.config.settings import Allowed, Config, Limits, ProjectConfig, decoded, read_config
from holdfast.errors import ConfigInvalid, ModelUnusable
from holdfast.providers.registry import PROVIDERS, Provider, resolve_endpoint
from holdfast.session.conversation.context_settings import ContextSettings
from holdfast.system.user_directories import homes
from holdfast.tool_calls import Pattern


def test_no_file_means_the_defaults(tmp_path: Path) -> None:
    assert read_config(tmp_path / "config.toml") == Config()


def test_a_provider_has_its_own_limits(tmp_path: Path) -> None:
    path = tmp_path / "config.toml"
    path.write_text("[limits]\nwrite = 7\n[limits.providers.anthropic]\nfirst_event = 600\n")
    limits = read_config(path).limits
    assert (limits.of("anthropic:m").first_event, limits.of("anthropic:m").write) == (600, 7)
    assert limits.of("openai-chat:m").first_event == 180


def test_what_is_said_is_read(tmp_path: Path) -> None:
    path = tmp_path / "config.toml"
    path.write_text(
        'model = "anthropic:m"\npermission_mode = "plan"\npid_namespace = true\n'
        "[limits]\nmax_steps = 3\ntimeout = 1.5\n"
    )
    config = read_config(path)
    assert (config.model, config.permission_mode, config.pid_namespace) == ("anthropic:m", "plan", True)
    assert config.limits == Limits(max_steps=3, timeout=1.5)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("model = 3", "model"),
        ("modle = 'x'", "modle"),
        ("permission_mode = 'everything'", "everything"),
        ("[limits]\ntimeout = -1", "timeout"),
        ("[limits]\nmax_steps = 0", "max_steps"),
        ("[limits]\nconnect = -10", "connect"),
        ("[limits]\nwrite = 0", "write"),
        ("[context]\nprune = 'sometimes'", "prune"),
        ("[context]\nprune_turns = 0", "prune_turns"),
        ("[context]\nprune_least = -1", "prune_least"),
        ("[context]\ncompact_at = 0.0", "compact_at"),
        ("[context]\ncompact_at = 1.5", "compact_at"),
        ("[limits.providers.anthropic]\nidle_event = -1", "providers"),
        ("[limits.providers.anthropic]\ntimeout = 1", "timeout"),
        ("[models.gpt]\nimages = true", "Model 'gpt' names no provider (expected [models.\"PROVIDER:MODEL\"])"),
        ("[models.'a:']\nimages = true", "names no provider"),
        ("[models.'a:m']\ncontext_window = 0", "context_window"),
        ("[models.'a:m']\ninput_price = -1\noutput_price = 1", "input_price"),
        ("[models.'a:m']\ninput_price = inf\noutput_price = 1", "input_price"),
        ("[models.'a:m']\noutput_price = 1", "expected both `input_price` and `output_price`"),
        ("[models.'a:m']\ncache_read_price = 1", "expected both `input_price` and `output_price`"),
        ("[models.'a:m']\nreasoning = 'much'", "reasoning"),
        ("[models.'a:m']\ncontext_windw = 1", "Did you mean 'context_window'?"),
        ("\nmodel = x", "line 2"),
        ("\xff", "TOML"),
    ],
)
def test_what_cannot_be_meant_is_named(tmp_path: Path, text: str, message: str) -> None:
    path = tmp_path / "config.toml"
    path.write_bytes(text.encode("latin-1"))
    with pytest.raises(ConfigInvalid) as caught:
        read_config(path)
    assert message in str(caught.value)
    assert str(path) in str(caught.value)
    assert caught.value.exit_code == 2


def test_what_is_allowed_is_allowed_for_that_alone() -> None:
    assert Allowed(run=("make *",), write=("src/**",), fetch=("example.org",)).patterns == (
        Pattern(effect="execute", text="make *"),
        Pattern(effect="write", text="src/**"),
        Pattern(effect="read", text="example.org"),
    )


def test_a_folder_in_its_place_is_named(tmp_path: Path) -> None:
    with pytest.raises(ConfigInvalid, match="cannot be read"):
        read_config(tmp_path)


def test_one_variable_moves_everything(tmp_path: Path) -> None:
    places = homes({"HOLDFAST_HOME": str(tmp_path)})
    assert places.config.is_relative_to(tmp_path)
    assert places.sessions.is_relative_to(tmp_path)


def test_otherwise_the_xdg_folders_are_used(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "c"))
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "s"))
    places = homes({})
    assert places.config == tmp_path / "c" / "holdfast" / "config.toml"
    assert places.sessions == tmp_path / "s" / "holdfast" / "sessions"


@pytest.mark.parametrize(("name", "known"), PROVIDERS.items())
def test_a_key_and_an_address_come_from_the_environment(name: str, known: Provider) -> None:
    assert known.address_variable is not None
    key = {} if known.key_variable is None else {known.key_variable: "k"}
    found = resolve_endpoint(f"{name}:m:with:colons", {**key, known.address_variable: "http://x"})
    assert (found.model, found.address) == ("m:with:colons", f"http://x{known.path}")
    assert found.key == key.get(known.key_variable or "")
    region = dict.fromkeys(known.region_variables[:1], "eu-north-1")
    if known.address is None and known.path:
        with pytest.raises(ModelUnusable, match=rf"No address for {name}\. Set {known.address_variable}"):
            resolve_endpoint(f"{name}:m", key)
    else:
        there = known.address or (known.regional_address.format(region="eu-north-1") or None)
        assert resolve_endpoint(f"{name}:m", {**key, **region}).address == there


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("gpt-5.5", "PROVIDER:MODEL"),
        ("openai-chat:", "PROVIDER:MODEL"),
        ("anthropc:m", "Did you mean anthropic:m?"),
        ("nobody:m", "Unknown provider"),
        ("anthropic:m", "ANTHROPIC_API_KEY"),
    ],
)
def test_a_model_that_cannot_be_used_is_one_sentence_and_exit_2(name: str, message: str) -> None:
    with pytest.raises(ModelUnusable) as caught:
        resolve_endpoint(name, {})
    assert message in str(caught.value)
    assert caught.value.exit_code == 2


@pytest.mark.parametrize("key", ["sk-SECRET\n", "sk-SECRET\r", " sk-SECRET", "sk-SECRETé", "sk-\x7fSECRET"])
def test_a_key_that_cannot_be_sent_is_refused_and_never_quoted(key: str) -> None:
    with pytest.raises(ModelUnusable, match="Set OPENAI_API_KEY again") as caught:
        resolve_endpoint("openai-chat:m", {"OPENAI_API_KEY": key})
    assert "SECRET" not in str(caught.value)
    assert "SECRET" not in repr(resolve_endpoint("openai-chat:m", {"OPENAI_API_KEY": "sk-SECRET"}))


def test_a_model_that_cannot_be_written_down_is_refused() -> None:
    with pytest.raises(ModelUnusable, match="unprintable characters"):
        resolve_endpoint("openai-chat:m\udcff", {"OPENAI_API_KEY": "k"})


def test_what_fetch_may_ask_is_networks(tmp_path: Path) -> None:
    config = tmp_path / "config.toml"
    config.write_text('[fetch]\naddresses = ["127.0.0.1", "fd00::/8"]')
    assert read_config(config).fetch.addresses == ("127.0.0.1", "fd00::/8")
    for wrong in ("localhost", "10.0.0.1/8", ""):
        config.write_text(f'[fetch]\naddresses = ["{wrong}"]')
        with pytest.raises(ConfigInvalid, match=r"has an invalid setting: .*\$\.fetch"):
            read_config(config)


def blocks(page: str) -> list[bytes]:
    """Return the TOML examples of a page of the reference."""
    text = (Path(__file__).parents[2] / "docs/reference" / page).read_text("utf-8")
    return [block.encode() for block in re.findall(r"^```toml\n(.*?)^```", text, re.MULTILINE | re.DOTALL)]


def test_the_page_on_settings_is_valid_and_has_every_setting_with_its_default() -> None:
    user, project = blocks("settings.md")
    config = decoded(user, Config, name="settings.md")
    assert msgspec.structs.replace(config.limits, max_cost=None, timeout=None, providers={}) == Limits()
    assert config.context == ContextSettings()
    named = set(re.findall(r"^(\w+) =", user.decode(), re.MULTILINE))
    settings = (Limits, ContextSettings, ModelOverrides)
    assert {name for each in settings for name in each.__struct_fields__} - named == {"providers"}
    assert decoded(project, ProjectConfig, name="settings.md").allow != Allowed()


def test_the_servers_of_the_page_on_providers_are_valid() -> None:
    (servers,) = blocks("providers.md")
    assert set(decoded(servers, Config, name="providers.md").providers) == {"home", "work", "amazon"}

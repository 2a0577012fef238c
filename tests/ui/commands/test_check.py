"""The commands `holdfast check` and `holdfast repair` over real files and real processes."""

from __future__ import annotations

import json
import os
import re
import stat
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from holdfast.history.formats import FORMATS
from holdfast.history.profiles import PROFILES
from holdfast.history.repair import NOT_REPAIRABLE
from holdfast.history.shape import NO_RESULT
from launcher import launcher
from skips import needs

USER = {"role": "user", "content": "Which files are there?"}
CALLS = {
    "role": "assistant",
    "content": None,
    "tool_calls": [
        {"id": "call_1", "type": "function", "function": {"name": "ls", "arguments": "{}"}},
        {"id": "call_2", "type": "function", "function": {"name": "date", "arguments": "{}"}},
    ],
}
RESULT = {"role": "tool", "tool_call_id": "call_1", "content": "a.txt"}
AGAIN = {"role": "user", "content": "Are you still there?"}
MADE_UP = {"role": "tool", "tool_call_id": "call_2", "content": NO_RESULT}
VALID: list[object] = [USER]
STUCK = [USER, CALLS, RESULT, AGAIN]
REPAIRED = [USER, CALLS, RESULT, MADE_UP, AGAIN]
UNANSWERED = (
    "An assistant message with 'tool_calls' must be followed by tool messages responding to each 'tool_call_id'. "
    "The following tool_call_ids did not have response messages:"
)


class Ran:
    """What a command did: its exit code, and its two streams as bytes and as text."""

    def __init__(self, done: subprocess.CompletedProcess[bytes]) -> None:
        self.code = done.returncode
        self.bytes = done.stdout
        self.out = done.stdout.decode()
        self.err = done.stderr.decode()


def run(folder: Path, *argv: str, stdin: bytes = b"") -> Ran:
    environ = {**os.environ, "PYTHONUTF8": "1"}
    return Ran(launcher().run(argv, cwd=folder, environ=environ, given=stdin))


def put(folder: Path, document: object, name: str = "a.json") -> str:
    data = document if isinstance(document, bytes) else json.dumps(document).encode()
    (folder / name).write_bytes(data)
    return name


# --- check -----------------------------------------------------------------------------------------------------------


def test_valid(tmp_path: Path) -> None:
    ran = run(tmp_path, "check", put(tmp_path, VALID))
    line = "a.json: valid for openai-chat (format openai-chat)\n"
    also = "It could also be anthropic or openai-responses; choose with --format.\n"
    assert (ran.code, ran.out, ran.err) == (0, line + also, "")
    assert run(tmp_path, "check", "--format", "openai-chat", "a.json").out == line


def test_what_stands_beside_the_messages_tells_the_format(tmp_path: Path) -> None:
    blank = [USER, {"role": "assistant", "content": [{"type": "text", "text": ""}]}, USER]
    ran = run(tmp_path, "check", put(tmp_path, {"model": "m", "system": "be brief", "messages": blank}))
    assert ran.code == 4
    assert "for anthropic (format anthropic)\n" in ran.out
    tools = [{"name": "ls", "input_schema": {"type": "object"}}]
    assert "(format anthropic)\n" in run(tmp_path, "check", put(tmp_path, {"tools": tools, "messages": [USER]})).out
    tools = [{"type": "function", "function": {"name": "ls"}}]
    assert "(format openai-chat)\n" in run(tmp_path, "check", put(tmp_path, {"tools": tools, "messages": [USER]})).out


def test_keys_that_stand_twice_are_found_in_linear_time(tmp_path: Path) -> None:
    members = ",\n".join(f'"key{number % 50_000}": 1' for number in range(100_000))
    ran = run(tmp_path, "check", put(tmp_path, f'[{{"role": "user", "content": "hi", {members}}}]'.encode()))
    assert ran.code == 4
    assert "line 100000" in ran.out


def test_what_only_one_format_has_tells_it_also_where_it_is_broken(tmp_path: Path) -> None:
    thought = {"role": "assistant", "content": [{"type": "thinking", "thinking": "cut sho"}]}
    ran = run(tmp_path, "check", put(tmp_path, [*VALID[:1], thought, *VALID[:1]]))
    assert ran.out.startswith("a.json: 2 violations for anthropic (format anthropic)")


def test_a_violation_is_reported_with_place_rule_sentence_and_error(tmp_path: Path) -> None:
    ran = run(tmp_path, "check", put(tmp_path, STUCK))
    assert ran.code == 4
    assert ran.out.splitlines() == [
        "a.json: 1 violation for openai-chat (format openai-chat)",
        "",
        "messages[1].tool_calls[1]  call-without-result",
        "  The call date ('call_2') has no result. Every call has a result.",
        f"  The provider's error: {UNANSWERED} call_2",
    ]


def test_whose_error_it_is_is_said(tmp_path: Path) -> None:
    file = put(tmp_path, STUCK)
    report = run(tmp_path, "check", "--profile", "openai-compatible", file).out
    assert "  The provider's error: Invalid request: an assistant message with 'tool_calls' must be followed" in report
    other = run(tmp_path, "check", "--profile", "cohere", file).out.splitlines()
    assert f"  The error of openai-chat for the same: {UNANSWERED} call_2" in other


def test_check_in_json(tmp_path: Path) -> None:
    ran = run(tmp_path, "check", "--json", "--profile", "mistral", put(tmp_path, {"messages": STUCK, "model": "m"}))
    report: dict[str, Any] = json.loads(ran.out)
    assert (ran.code, report["valid"], report["format"], report["profile"]) == (4, False, "openai-chat", "mistral")
    rules = {each["rule"] for each in report["violations"]}
    assert rules == {"call-without-result", "call-id-length", "call-id-charset", "user-after-result"}
    assert report["violations"][0]["position"].startswith("messages[1].tool_calls[")
    assert all(each["sentence"] for each in report["violations"])


def test_standard_input(tmp_path: Path) -> None:
    ran = run(tmp_path, "check", "-", stdin=json.dumps(STUCK).encode())
    assert ran.code == 4
    assert ran.out.startswith("standard input: 1 violation")


def test_the_terminal_is_not_written_to_by_the_document(tmp_path: Path) -> None:
    name = "ls\x1b]0;owned\x07\u202e"
    call = {"id": "\x1b[2J", "type": "function", "function": {"name": name, "arguments": "{}"}}
    file = put(tmp_path, [USER, {"role": "assistant", "tool_calls": [call]}])
    for command in (["check"], ["repair", "--dry-run"], ["check", "--json"]):
        ran = run(tmp_path, *command, file)
        assert not {"\x1b", "\x07", "\u202e"} & set(ran.out + ran.err)


@pytest.mark.parametrize(
    ("data", "message"),
    [
        (b"", "not JSON at line 1, column 1"),
        (b'[{"role": "user",\n  "content": "cut', "not JSON at line 2, column 14"),
        (b'[{"role": "user",\n  oops "content": "a"}]', "not JSON at line 2, column 3"),
        (b'[{"role": "user",\n "content": "\xc3\xa9\xff"}]', "not UTF-8 at line 2, column 15 (byte 0xff)"),
        ("[]".encode("utf-16"), "not UTF-8 at line 1, column 1"),
        (b'[{"role": "user", "content": NaN}]', "NaN is not a number"),
        (b"[" * 100_000, "not JSON"),
        (
            b'{"role": "user"}\n{"role": "assistant"}',
            "(Extra data). If each line is",
        ),
        (b'"hello"', "not a conversation"),
        (b'{"a": 1}', "not a conversation"),
        (b'[{"name": "x"}]', "not a conversation"),
    ],
)
@pytest.mark.parametrize("command", ["check", "repair"])
def test_what_is_no_conversation_is_reported_with_its_place(
    tmp_path: Path, command: str, data: bytes, message: str
) -> None:
    ran = run(tmp_path, command, put(tmp_path, data))
    assert (ran.code, ran.out) == (4, "")
    assert ran.err.startswith("holdfast: The document is ")
    assert message in ran.err
    assert ran.err.count("\n") == 1


TWICE = b'[\n {"role": "user", "content": "first",\n  "content": "second"}\n]'


def test_what_is_nested_too_deep_to_repair_is_reported_and_not_written(tmp_path: Path) -> None:
    deep = b'[{"role": "user", "content": ' + b"[" * 450 + b'"a"' + b"]" * 450 + b"}]"
    ran = run(tmp_path, "repair", "--in-place", put(tmp_path, deep))
    assert (ran.code, ran.out) == (4, "")
    assert "nested 452 levels deep at messages[0].content[0]" in ran.err
    assert (tmp_path / "a.json").read_bytes() == deep


def test_a_key_that_stands_twice_is_damage(tmp_path: Path) -> None:
    ran = run(tmp_path, "check", put(tmp_path, TWICE))
    assert ran.code == 4
    assert "messages[0].content  line 3, column 3\n  The key 'content' occurs twice" in ran.out
    report = json.loads(run(tmp_path, "check", "--json", "a.json").out)
    assert not report["valid"]
    assert (report["damage"][0]["line"], report["damage"][0]["column"]) == (3, 3)


def test_a_repair_would_lose_a_value_of_a_key_that_stands_twice(tmp_path: Path) -> None:
    ran = run(tmp_path, "repair", put(tmp_path, TWICE))
    assert (ran.code, ran.out) == (4, "")
    assert "line 3, column 3 (messages[0].content)" in ran.err


def test_only_keys_of_one_object_are_damage(tmp_path: Path) -> None:
    nested = {"b": [{"b": '\\"}'}, {"b": ',"b":'}], "c": {"b": 1, "c": {"b": 2}}}
    file = put(tmp_path, [{**USER, "x": nested}])
    assert run(tmp_path, "check", "--profile", "deepseek", file).code == 0


def test_usage(tmp_path: Path) -> None:
    file = put(tmp_path, VALID)
    for argv, message in (
        (["check", "gone.json"], "Cannot read 'gone.json'"),
        (["check", "."], "Cannot read"),
        (
            ["check", "--format", "openai-chat", "--profile", "gemini", file],
            "Profile 'gemini' does not apply to the format openai-chat",
        ),
        (["check", "--profile", "nobody", file], "invalid choice: 'nobody'"),
        (["check", "--format", "nothing", file], "invalid choice: 'nothing'"),
        (["check"], "FILE"),
        (["repair", "--in-place", "-"], "--in-place"),
        (["repair", "--in-place", "gone.json"], "--in-place"),
        (["repair", "--in-place", "-o", "b.json", file], "not allowed with"),
        (["repair", "-o", "gone/b.json", file], "Cannot write"),
    ):
        ran = run(tmp_path, *argv)
        assert (ran.code, ran.out) == (2, ""), argv
        assert message in ran.err
        assert "Traceback" not in ran.err


def test_the_help_lists_what_is_registered(tmp_path: Path) -> None:
    out = run(tmp_path, "repair", "--help").out
    assert all(name in out for name in (*FORMATS, *PROFILES))


def test_nothing_heavy_is_imported(tmp_path: Path) -> None:
    put(tmp_path, STUCK)
    program = """
import sys
from holdfast.ui.main import main
assert main(["repair", "a.json", "-o", "b.json"]) == 0
print(sorted({"pydantic_ai", "pydantic", "textual", "asyncio", "httpx", "sqlite3"} & set(sys.modules)))
"""
    done = subprocess.run([sys.executable, "-c", program], cwd=tmp_path, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert done.stdout.endswith("[]\n")


# --- repair ----------------------------------------------------------------------------------------------------------


def test_the_document_goes_to_standard_output_and_the_edits_beside_it(tmp_path: Path) -> None:
    before = json.dumps(STUCK)
    ran = run(tmp_path, "repair", put(tmp_path, STUCK))
    assert (ran.code, json.loads(ran.out)) == (0, REPAIRED)
    assert ran.err.splitlines()[:2] == [
        "a.json: 1 edit for openai-chat (format openai-chat)",
        f"* The call at messages[1].tool_calls[1] has no result; it gets one that says so: {NO_RESULT}",
    ]
    assert '+ messages[3] {"role": "tool", "tool_call_id": "call_2"' in ran.err
    assert (tmp_path / "a.json").read_text() == before


@needs("linux")
@pytest.mark.parametrize("size", [1, 100_000])
def test_a_full_disk_is_reported(tmp_path: Path, size: int) -> None:
    file = put(tmp_path, [{"role": "user", "content": "x" * size}])
    with Path("/dev/full").open("wb") as full:
        command = [sys.executable, "-m", "holdfast", "repair", file]
        done = subprocess.run(command, cwd=tmp_path, stdout=full, stderr=subprocess.PIPE, check=False)
    assert done.returncode == 1
    assert done.stderr.startswith(b"holdfast: Cannot write to standard output: ")
    assert done.stderr.count(b"\n") == 1


def test_an_output_that_its_reader_closes_ends_the_repair_silently(tmp_path: Path) -> None:
    file = put(tmp_path, [{"role": "user", "content": "x" * 1_000_000}])
    command = [sys.executable, "-m", "holdfast", "repair", file]
    with subprocess.Popen(command, cwd=tmp_path, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as process:
        assert process.stdout
        assert process.stderr
        process.stdout.close()
        assert process.stderr.read() == b""
    assert process.returncode == 141


def test_what_was_repaired_is_valid(tmp_path: Path) -> None:
    repaired = run(tmp_path, "repair", "-", "--profile", "mistral", stdin=json.dumps(STUCK).encode())
    assert repaired.code == 0
    assert run(tmp_path, "check", "-", "--profile", "mistral", stdin=repaired.bytes).code == 0
    again = run(tmp_path, "repair", "-", "--profile", "mistral", stdin=repaired.bytes)
    assert (again.code, again.bytes) == (0, repaired.bytes)
    assert "nothing to repair" in again.err


@pytest.mark.parametrize(
    "data",
    [
        b'[{"role":"user","content":"\\u00e9"}]',
        b'{"messages":[{"role":"user","content":"a"}],"temperature":1.50}',
        b'\xef\xbb\xbf  [ {"role": "user" ,\r\n\t"content": "\xc3\xa9"} ]\r\n\r\n',
    ],
)
def test_a_valid_input_is_echoed_byte_for_byte(tmp_path: Path, data: bytes) -> None:
    file = put(tmp_path, data)
    assert run(tmp_path, "repair", file).bytes == data
    assert run(tmp_path, "repair", "-o", "b.json", file).code == 0
    assert (tmp_path / "b.json").read_bytes() == data
    ran = run(tmp_path, "repair", "--in-place", file)
    assert (ran.code, sorted(path.name for path in tmp_path.iterdir())) == (0, ["a.json", "b.json"])


@pytest.mark.parametrize("indent", [None, 1, 4, "\t"])
@pytest.mark.parametrize("end", ["", "\n"])
def test_the_looks_are_kept(tmp_path: Path, indent: int | str | None, end: str) -> None:
    body = {"model": "é", "unknown": {"n": [1.5, None, 10**30]}, "messages": STUCK}
    ran = run(tmp_path, "repair", "-", stdin=(json.dumps(body, indent=indent, ensure_ascii=False) + end).encode())
    repaired = {**body, "messages": REPAIRED}
    assert ran.out == json.dumps(repaired, indent=indent, ensure_ascii=False) + end


def test_compact_stays_compact(tmp_path: Path) -> None:
    ran = run(tmp_path, "repair", "-", stdin=json.dumps(STUCK, separators=(",", ":")).encode())
    assert ran.out == json.dumps(REPAIRED, separators=(",", ":"))


def test_half_a_surrogate_pair_is_repaired(tmp_path: Path) -> None:
    ran = run(tmp_path, "repair", "-", stdin=b'{"system":"b\\ud800","messages":[{"role":"user","content":"a\\ud800"}]}')
    assert ran.code == 0
    assert json.loads(ran.out) == {"system": "b\ufffd", "messages": [{"role": "user", "content": "a\ufffd"}]}


def test_a_new_file(tmp_path: Path) -> None:
    file = put(tmp_path, STUCK)
    ran = run(tmp_path, "repair", file, "-o", "b.json")
    assert (ran.code, ran.err) == (0, "")
    assert ran.out.endswith("\nWritten to b.json\n")
    assert json.loads((tmp_path / "b.json").read_text()) == REPAIRED


@pytest.mark.parametrize("output", ["a.json", "other.json"])
def test_what_is_there_is_not_overwritten(tmp_path: Path, output: str) -> None:
    file = put(tmp_path, STUCK)
    put(tmp_path, b"precious", "other.json")
    before = (tmp_path / output).read_bytes()
    ran = run(tmp_path, "repair", file, "-o", output)
    assert (ran.code, ran.out) == (2, "")
    assert f"File '{output}' already exists" in ran.err
    assert (tmp_path / output).read_bytes() == before


def test_in_place_keeps_a_backup(tmp_path: Path) -> None:
    file = put(tmp_path, STUCK)
    (tmp_path / file).chmod(0o640)
    before = (tmp_path / file).read_bytes()
    ran = run(tmp_path, "repair", "--in-place", file)
    assert (ran.code, ran.err) == (0, "")
    assert ran.out.endswith("\nWritten to a.json; original kept as a.json.bak\n")
    assert json.loads((tmp_path / file).read_text()) == REPAIRED
    assert (tmp_path / "a.json.bak").read_bytes() == before
    assert [stat.S_IMODE(path.stat().st_mode) for path in sorted(tmp_path.iterdir())] == [0o640, 0o640]


def test_in_place_through_a_link(tmp_path: Path) -> None:
    (tmp_path / "real").mkdir()
    put(tmp_path / "real", STUCK)
    (tmp_path / "link.json").symlink_to("real/a.json")
    assert run(tmp_path, "repair", "--in-place", "link.json").code == 0
    assert (tmp_path / "link.json").is_symlink()
    assert json.loads((tmp_path / "real" / "a.json").read_text()) == REPAIRED
    assert json.loads((tmp_path / "link.json.bak").read_text()) == STUCK


def test_a_backup_is_not_overwritten(tmp_path: Path) -> None:
    file = put(tmp_path, STUCK)
    put(tmp_path, b"precious", "a.json.bak")
    ran = run(tmp_path, "repair", "--in-place", file)
    assert (ran.code, ran.out) == (2, "")
    assert "File 'a.json.bak' already exists" in ran.err
    assert (tmp_path / "a.json.bak").read_bytes() == b"precious"
    assert json.loads((tmp_path / file).read_text()) == STUCK


def test_a_dry_run_writes_nothing(tmp_path: Path) -> None:
    file = put(tmp_path, STUCK)
    for extra in ([], ["-o", "b.json"], ["--in-place"]):
        ran = run(tmp_path, "repair", "--dry-run", file, *extra)
        assert (ran.code, ran.err) == (0, "")
        assert "+ messages[3]" in ran.out
        assert ran.out.endswith("\nNothing written (--dry-run).\n")
    assert [path.name for path in tmp_path.iterdir()] == ["a.json"]
    assert json.loads((tmp_path / file).read_text()) == STUCK


def test_repair_in_json(tmp_path: Path) -> None:
    file = put(tmp_path, STUCK)
    report = json.loads(run(tmp_path, "repair", "--json", "--dry-run", file).out)
    assert (report["valid"], report["remaining"]) == (True, [])
    assert [each["edit"] for each in report["edits"]] == ["add-result"]
    assert report["edits"][0]["sentence"].startswith("The call at messages[1]")
    ran = run(tmp_path, "repair", "--json", file)
    assert (json.loads(ran.out), json.loads(ran.err)) == (REPAIRED, report)


@pytest.mark.parametrize("extra", [[], ["-o", "b.json"], ["--in-place"], ["--dry-run"]])
def test_what_can_be_repaired_is_written_also_where_something_remains(tmp_path: Path, extra: list[str]) -> None:
    use: dict[str, object] = {"type": "tool_use", "id": "a", "name": "ls", "input": {}}
    call: dict[str, object] = {"role": "assistant", "content": [use]}
    file = put(tmp_path, [USER, call])  # a list of messages: it cannot say that thinking is off
    ran = run(tmp_path, "repair", "--thinking", "on", file, *extra)
    report = ran.out if extra else ran.err
    assert ran.code == 4
    assert "Repaired as far as possible. Remaining: 1 violation" in report
    assert f"No repair for thinking-not-first: {NOT_REPAIRABLE['thinking-not-first']}." in report
    if extra != ["--dry-run"]:
        place = {"-o": "b.json", "--in-place": file}
        written = (tmp_path / place[extra[0]]).read_text() if extra else ran.out
        assert len(json.loads(written)) == 3
    assert (tmp_path / "a.json.bak").exists() == (extra == ["--in-place"])


def test_a_response_of_too_many_calls_is_split(tmp_path: Path) -> None:
    calls = [
        {"id": f"call_{number}", "type": "function", "function": {"name": "ls", "arguments": "{}"}}
        for number in range(129)
    ]
    file = put(tmp_path, [USER, {"role": "assistant", "content": "", "tool_calls": calls}, AGAIN])
    assert "maximum length 128" in run(tmp_path, "check", file).out
    ran = run(tmp_path, "repair", file)
    assert (ran.code, "messages[1].tool_calls[128] on (1)" in ran.err) == (0, True)
    first, second = [message for message in json.loads(ran.out) if message["role"] == "assistant"]
    assert [*first["tool_calls"], *second["tool_calls"]] == calls
    put(tmp_path, ran.out.encode(), "b.json")
    assert run(tmp_path, "check", "b.json").code == 0


def test_what_no_edit_repairs_stays_as_it_is(tmp_path: Path) -> None:
    ran = run(tmp_path, "repair", put(tmp_path, []), "--format", "openai-chat", "--in-place")
    assert (ran.code, ran.err) == (4, "")
    assert f"No repair for no-messages: {NOT_REPAIRABLE['no-messages']}." in ran.out
    assert [path.name for path in tmp_path.iterdir()] == ["a.json"]


def test_a_result_that_moves_is_shown_where_it_went(tmp_path: Path) -> None:
    late = {"role": "tool", "tool_call_id": "call_2", "content": "Monday " * 20}
    ran = run(tmp_path, "repair", "--dry-run", put(tmp_path, [USER, CALLS, RESULT, AGAIN, late, AGAIN]))
    lines = [line for line in ran.out.splitlines() if line[:2] in ("- ", "+ ")]
    assert [line[:13] for line in lines] == ["+ messages[3]", "- messages[4]"]
    assert all(len(line) < 200 and "Monday" in line and "…" in line for line in lines)


def test_the_page_shows_what_happens(tmp_path: Path) -> None:
    page = (Path(__file__).parents[3] / "docs/how-to/check.md").read_text()
    document, *shown = re.findall(r"^```\w*\n(.*?)^```", page, flags=re.MULTILINE | re.DOTALL)
    put(tmp_path, document.encode(), "stuck.json")
    for block in shown:
        command, _, expected = block.partition("\n")
        ran = run(tmp_path, *command.removeprefix("$ holdfast ").split())
        assert ran.out + ran.err == expected
    assert json.loads((tmp_path / "stuck.json").read_text())[3] == MADE_UP


def test_a_number_that_cannot_be_written_again_is_reported(tmp_path: Path) -> None:
    data = json.dumps({"n": 0, "messages": STUCK}).replace('"n": 0', '"n": 1e400').encode()
    ran = run(tmp_path, "repair", put(tmp_path, data))
    assert (ran.code, ran.out) == (4, "")
    assert "a number too large" in ran.err

"""Chat templates as judges: Mistral's own, which `mistral-common` writes, and those in `templates`, of other models.

Two rules. A template reads messages as vLLM hands them over: arguments as objects, texts in parts as one text where the
template knows no parts. What a template refuses, whatever it raises, its server answers with an error.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, cast

import jinja2
from jinja2.sandbox import ImmutableSandboxedEnvironment
from mistral_common.integrations.chat_templates.chat_templates import generate_chat_template
from mistral_common.tokens.tokenizers.base import TokenizerVersion

Message = dict[str, Any]

_FOLDER = Path(__file__).parent / "templates"
_NO_PARTS = ("mistral-v3-tekken", "qwen3", "deepseek-v3")


def template_refusal(source: str, *, parts: bool, written: bool = False) -> Callable[[str, list[object]], str]:
    """Return what a chat template raises.

    It checks what its author thought of: Mistral's the order of roles, ids of nine characters, that a message holds
    something and of what kind its parts are; the others next to nothing, but break over what they do not expect: a
    content or a name that is no text, arguments that are no object.
    It lets pass everything that it does not look at: unknown fields, blank text, calls without results.
    """
    template = _environment().from_string(source)

    def refusal(wire: str, messages: list[object]) -> str:
        try:
            read = [_handed_over(each, parts=parts, written=written) for each in json.loads(json.dumps(messages))]
            template.render(messages=read, bos_token="<s>", eos_token="</s>", add_generation_prompt=True)
        except (jinja2.TemplateError, TypeError, ValueError, KeyError, AttributeError) as error:
            return f"Template refused the {wire} body: {type(error).__name__} {error}"
        return ""

    return refusal


def _environment() -> jinja2.Environment:
    """Return jinja as the servers set it up."""
    environment = ImmutableSandboxedEnvironment(
        trim_blocks=True, lstrip_blocks=True, extensions=["jinja2.ext.loopcontrols"]
    )
    environment.filters["tojson"] = _as_json
    environment.globals["raise_exception"] = _raised  # pyright: ignore[reportArgumentType] - any function may stand there
    return environment


def _as_json(value: object, *, ensure_ascii: bool = False) -> str:
    return json.dumps(value, ensure_ascii=ensure_ascii)


def _raised(words: str) -> None:
    raise jinja2.TemplateError(words)


def _handed_over(message: Message, *, parts: bool, written: bool) -> Message:
    read = dict(message)
    content: Any = message.get("content")
    if isinstance(content, list) and not parts:
        read["content"] = "\n".join(
            each["text"] if each["type"] == "text" else "<image>" for each in cast("list[Message]", content)
        )
    if calls := message.get("tool_calls"):
        read["tool_calls"] = calls if written else [_with_arguments(each) for each in calls]
    return read


def _with_arguments(call: Message) -> Message:
    arguments = call["function"]["arguments"]
    return {**call, "function": {**call["function"], "arguments": json.loads(arguments) if arguments else {}}}


def mistral_templates() -> Iterator[tuple[str, Callable[[str, list[object]], str]]]:
    """Yield what each of Mistral's own templates refuses, by its name."""
    for version in (TokenizerVersion.v3, TokenizerVersion.v7, TokenizerVersion.v11, TokenizerVersion.v13):
        source = generate_chat_template(
            spm=False,
            tokenizer_version=version,
            image_support=True,
            audio_support=False,
            thinking_support=version is TokenizerVersion.v13,
            default_system_prompt=None,
            plain_thinking_support=False,
            use_special_token_variables=True,
            model_settings_fields=None,
            reasoning_effort_values=None,
            reasoning_effort_default=None,
        )
        yield f"template-mistral-{version.value}", template_refusal(source, parts=True)
    yield from _stored("mistral-v3-tekken")


def other_templates() -> Iterator[tuple[str, Callable[[str, list[object]], str]]]:
    """Yield what each of the other templates refuses, by its name."""
    yield from _stored("qwen3", "deepseek-v3", "glm-4.5")


def _stored(*names: str) -> Iterator[tuple[str, Callable[[str, list[object]], str]]]:
    for name in names:
        source = (_FOLDER / f"{name}.jinja").read_text(encoding="utf-8")
        yield f"template-{name}", template_refusal(source, parts=name not in _NO_PARTS, written=name == "deepseek-v3")

"""How a server's Chat Completions differ from OpenAI's: one record of flags for each provider."""

from __future__ import annotations

import msgspec

from holdfast.config.model_servers import EffortForm, LimitField, TextCalls, ThinkingForm


class Compat(msgspec.Struct, frozen=True, kw_only=True):
    """The dialect of one provider; the defaults suit most servers that are not OpenAI's.

    `stream_usage`: streams report token usage only if `stream_options` asks for it; False for servers that refuse that
    field. `null_content`: content next to calls is null if there is none, not "". `think_tags`: thinking may stand
    between `<think>` and `</think>` at the beginning of the content. `thinking` is how a model gets its own thinking
    back: "as-received" in the field or the tags in which it came, "parts" as parts of the content (Mistral), "none" not
    at all (Groq refuses it). `reasoning_details`: thinking comes and goes as `reasoning_details` too (OpenRouter).
    `reasoning_with_calls`: each message with calls has `reasoning_content`, "" if there is none (DeepSeek).
    `reports_cost`: the usage has the cost in US dollars. `effort` is the field that sets how much a model reasons:
    `reasoning_effort`, OpenRouter's `reasoning: {effort}`, or `chat_template_kwargs`, from which a chat template reads
    `enable_thinking` and `reasoning_effort`. `output_limit` is the field that limits an answer. `service_tiers` are
    those it takes, also over Responses. `no_effort_with_tools` are beginnings of names of models that refuse tools
    together with any effort but none. `prompt_progress`: a stream tells how much of the prompt is read if
    `return_progress` asks for it (llama.cpp).
    together with any effort but none. `text_calls`: calls that its models write as text are read, over any protocol;
    "auto" for servers of the user's own.
    """

    stream_usage: bool = True
    null_content: bool = False
    think_tags: bool = True
    thinking: ThinkingForm = "as-received"
    reasoning_details: bool = False
    reasoning_with_calls: bool = False
    reports_cost: bool = False
    effort: EffortForm = "reasoning_effort"
    output_limit: LimitField = "max_tokens"
    service_tiers: tuple[str, ...] = ()
    no_effort_with_tools: tuple[str, ...] = ()
    prompt_progress: bool = False
    text_calls: TextCalls = "off"


FOREIGN_COMPAT = Compat()
OPENAI_COMPAT = Compat(
    null_content=True,
    think_tags=False,
    output_limit="max_completion_tokens",
    service_tiers=("auto", "default", "flex", "scale", "priority"),
    # "Function tools with reasoning_effort are not supported for gpt-5.4 in /v1/chat/completions" (livekit/agents#5088,
    # openai-openapi#541): over Responses they are.
    no_effort_with_tools=("gpt-5.2", "gpt-5.3", "gpt-5.4", "gpt-5.5", "gpt-5.6", "gpt-6"),
)
DEEPSEEK_COMPAT = Compat(reasoning_with_calls=True)
GROQ_COMPAT = Compat(thinking="none", service_tiers=("auto", "on_demand", "flex", "performance"))
LOCAL_COMPAT = Compat(text_calls="auto")
TEMPLATE_COMPAT = Compat(effort="chat_template_kwargs", text_calls="auto")
LLAMACPP_COMPAT = Compat(effort="chat_template_kwargs", prompt_progress=True, text_calls="auto")
MISTRAL_COMPAT = Compat(stream_usage=False, thinking="parts", think_tags=False)
OPENROUTER_COMPAT = Compat(reasoning_details=True, reports_cost=True, effort="reasoning")

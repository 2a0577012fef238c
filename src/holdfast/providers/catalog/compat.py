"""How a server's Chat Completions differ from OpenAI's: one record of flags for each provider."""

from __future__ import annotations

import msgspec

from holdfast.config.settings import ThinkingForm


class Compat(msgspec.Struct, frozen=True, kw_only=True):
    """The dialect of one provider; the defaults suit most servers that are not OpenAI's.

    `stream_usage`: streams report token usage only if `stream_options` asks for it; False for servers that refuse that
    field. `null_content`: content next to calls is null if there is none, not "". `think_tags`: thinking may stand
    between `<think>` and `</think>` at the beginning of the content. `thinking` is how a model gets its own thinking
    back: "as-received" in the field or the tags in which it came, "parts" as parts of the content (Mistral), "none" not
    at all (Groq refuses it). `reasoning_details`: thinking comes and goes as `reasoning_details` too (OpenRouter).
    `reasoning_with_calls`: each message with calls has `reasoning_content`, "" if there is none (DeepSeek).
    `reports_cost`: the usage has the cost in US dollars.
    """

    stream_usage: bool = True
    null_content: bool = False
    think_tags: bool = True
    thinking: ThinkingForm = "as-received"
    reasoning_details: bool = False
    reasoning_with_calls: bool = False
    reports_cost: bool = False


FOREIGN_COMPAT = Compat()
OPENAI_COMPAT = Compat(null_content=True, think_tags=False)
DEEPSEEK_COMPAT = Compat(reasoning_with_calls=True)
GROQ_COMPAT = Compat(thinking="none")
MISTRAL_COMPAT = Compat(stream_usage=False, thinking="parts", think_tags=False)
OPENROUTER_COMPAT = Compat(reasoning_details=True, reports_cost=True)

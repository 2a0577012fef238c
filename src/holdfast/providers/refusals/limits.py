"""Rows on limits: a provider that is asked too often or is busy, and a conversation that is too long.

Throttling is judged first: "Too many tokens, please wait" is about tokens in a minute, and compaction would lose
messages for nothing. "Request too large … tokens per minute" is the exception before it: more than a minute's tokens in
one request are refused after any wait.
"""

from __future__ import annotations

from http import HTTPStatus

from holdfast.providers.refusals.refusal import REFUSING, RefusalRow, row_words

_OVERFLOWS = (
    "agents that compare providers' texts: pi-mono packages/ai/src/utils/overflow.ts, opencode provider-error.ts"
)
_THROTTLED = REFUSING | {
    HTTPStatus.FORBIDDEN,
    HTTPStatus.TOO_MANY_REQUESTS,
    498,
    HTTPStatus.SERVICE_UNAVAILABLE,
    HTTPStatus.GATEWAY_TIMEOUT,
    529,
}
_TOO_LARGE = REFUSING | {HTTPStatus.TOO_MANY_REQUESTS}

LIMIT_ROWS = (
    RefusalRow(
        id="larger-than-a-minute",
        speaker="OpenAI, Groq",
        recovery="shorten",
        words=row_words(r"request too large for .{0,200}tokens per min"),
        statuses=_TOO_LARGE,
        example="Request too large for gpt-5.5 in organization org on tokens per min (TPM): Limit 30000, Requested"
        " 42000. The input or output tokens must be reduced in order to run successfully.",
        source="continue#10602, aider#1880 (OpenAI); console.groq.com/docs/errors (413), ai_automation_suggester#61"
        " (Groq)",
    ),
    RefusalRow(
        id="output-limit",
        speaker="Anthropic, OpenAI, Bedrock, Groq, Ollama",
        recovery="none",
        words=row_words(
            r"^(?!.*maximum context length).*(?:max_(?:completion_|output_|new_)?tokens:? (?:is too large|\d+ > \d+)"
            r"|max(?:imum)?[ _](?:allowed )?(?:number of )?(?:output|completion)[ _]tokens"
            r"|maximum tokens you requested exceeds?|max_tokens`? must be less than or equal to)"
        ),
        example="max_tokens: 200000 > 64000, which is the maximum allowed number of output tokens for claude-x",
        source="claude-code#24451, NextChat#3195 (OpenAI), vercel/ai#2772 (Bedrock), opencode#1000 (Groq),"
        " hyper-grok-build#44 (Ollama): a limit of the answer, no overflow",
    ),
    RefusalRow(
        id="throttled",
        speaker="Bedrock, OpenAI, Anthropic, Z.AI, Vertex",
        recovery="wait",
        words=row_words(
            r"please wait before|throttl|rate[ _-]?limit|too many requests|tokens per (?:min|day|second)"
            r"|requests per (?:min|day|second)|resource (?:has been )?exhausted|concurrency limit|请求过多|速率限制"
        ),
        codes=frozenset({"throttlingException", "ThrottlingException", "throttling_error", "1302", "1303"}),
        statuses=_THROTTLED,
        example="Too many tokens, please wait before trying again.",
        source="claude-code#236, Roo-Code#5050, MARRVEL_MCP#225; docs.z.ai/api-reference/api-code,"
        " docs.bigmodel.cn (1302, 1303)",
    ),
    RefusalRow(
        id="busy",
        speaker="OpenAI, Moonshot, Z.AI, llama.cpp, Groq, gateways",
        recovery="wait",
        words=row_words(
            r"\boverloaded\b|(?:at|over|exceeded) capacity|capacity (?:is )?(?:exceeded|full)|temporarily unavailable"
            r"|service (?:is )?(?:currently )?unavailable|model is (?:currently )?loading|loading model"
            r"|server (?:is )?busy"
            r"|upstream connect error|no healthy upstream|try again later"
        ),
        codes=frozenset(
            {"engine_overloaded_error", "overloaded_error", "server_is_overloaded", "capacity_exceeded", "1305"}
        ),
        statuses=_THROTTLED,
        example="The engine is currently overloaded, please try again later",
        source="kimi.com/code/docs (error reference), opencode#27602; docs.bigmodel.cn (1305);"
        " console.groq.com/docs/errors (498)",
    ),
    RefusalRow(
        id="context-length-code",
        speaker="OpenAI, Groq, Copilot, Z.AI, llama.cpp, SiliconFlow",
        recovery="shorten",
        codes=frozenset(
            {
                "context_length_exceeded",
                "model_max_prompt_tokens_exceeded",
                "exceed_context_size_error",
                "model_context_window_exceeded",
                "context_window_exceeded",
                "request_too_large",
                "1261",
            }
        ),
        words=row_words(
            r"context_length_exceeded|model_context_window_exceeded|request_too_large|ContextWindowExceeded"
        ),
        statuses=_TOO_LARGE,
        example="litellm.ContextWindowExceededError: litellm.BadRequestError: ContextWindowExceededError:"
        " OpenAIException - too long",
        source="platform.claude.com/docs/en/api/errors, chathub#126 (OpenAI), copilot-intellij-feedback#94,"
        " llama.cpp#15780, docs.bigmodel.cn (1261), docs.litellm.ai/docs/exception_mapping; the others: " + _OVERFLOWS,
    ),
    RefusalRow(
        id="input-tokens-exceeded",
        speaker="Amazon Nova",
        recovery="shorten",
        words=row_words(r"input tokens exceeded|number of (?:input )?tokens exceeds? max"),
        example="Input Tokens Exceeded: Number of input tokens exceeds maximum length. Please update the input to try"
        " again.",
        source="errors of Nova that users recorded in public repositories; a page of AWS about it: unconfirmed",
    ),
    RefusalRow(
        id="input-token-count",
        speaker="Gemini, Vertex AI",
        recovery="shorten",
        words=row_words(r"input token count .{0,40}(?:exceeds|only supports)"),
        example="The input token count is 1200000 but model only supports up to 1048576.",
        source="gemini-cli#6678, #4231, #12214; Vertex AI: python-genai#2050, warp#15662",
    ),
    RefusalRow(
        id="model-window-too-large",
        speaker="Mistral",
        recovery="shorten",
        words=row_words(r"too large for model with \d+ max"),
        example="Prompt contains 140000 tokens and 0 draft tokens, too large for model with 131072 maximum"
        " context length",
        source="portkey.ai/error-library (mistral-ai 13710000); " + _OVERFLOWS,
    ),
    RefusalRow(
        id="input-and-answer",
        speaker="Anthropic",
        recovery="shorten",
        words=row_words(r"input length and `?max_tokens`? exceed"),
        example="input length and `max_tokens` exceed context limit: 190000 + 32000 > 200000, decrease input length or"
        " `max_tokens` and try again",
        source="docker-agent#569, strands-agents/sdk-python#1078",
    ),
    RefusalRow(
        id="maximum-context-length",
        speaker="OpenAI, OpenRouter, vLLM, SGLang, DeepSeek, Mistral, NVIDIA",
        recovery="shorten",
        words=row_words(
            r"maximum context length|(?:exceeds?|exceeded|exceeding) (?:the |this "
            r"|your )?(?:model'?s? )?(?:available |max(?:imum)? )?"
            r"context (?:window|length|size|limit)|exceed(?:s|ed)? (?:the )?context\b"
        ),
        example="This endpoint's maximum context length is 131072 tokens. However, you requested about 135349 tokens"
        " (60662 of text input, 10687 of tool input, 64000 in the output).",
        source="OpenHands#9937, suna#6368 (OpenRouter), ChatPDF#6 (OpenAI), OpenCowork#82,"
        " claude-code-best/claude-code#272 (vLLM), rllm#55 (llama-cpp-python)",
    ),
    RefusalRow(
        id="context-window",
        speaker="MiniMax, LM Studio, llama.cpp, Fireworks, Ollama",
        recovery="shorten",
        words=row_words(
            r"context (?:window|length|size|limit) (?:has been |is |was )?(?:exceed|overflow|only \d|too small|reached)"
            r"|context (?:the )?overflows?\b|(?:greater|longer|larger) than the (?:model'?s? )?context"
            r"|reached context length of|configured context size is|available context size"
            r"|keep the first \d+ tokens"
        ),
        example="Trying to keep the first 9000 tokens when context the overflows. However, the model is loaded with"
        " context length of only 4096 tokens, which is not enough.",
        source="lmstudio-bug-tracker#237, MiniMax-M2#119, llama.cpp#15780; the others: " + _OVERFLOWS,
    ),
    RefusalRow(
        id="prompt-too-long",
        speaker="Anthropic, Ollama, Fireworks, Bedrock, Z.AI, Baidu",
        recovery="shorten",
        words=row_words(
            r"(?:prompt|input|request|conversation|messages?)(?: tokens?)? (?:is |are |was )?(?:too long|too large)"
            r"|(?:prompt|input|request|conversation)(?: tokens?)? (?:length )?exceeds? (?:the )?(?:max(?:imum)?"
            r"|limit)\b"
            r"|request exceeds the maximum (?:allowed )?(?:size|number of bytes)"
        ),
        statuses=_TOO_LARGE,
        example="prompt is too long: 210000 tokens > 200000 maximum",
        source="claude-code#12186, suna#217, pi#102; docs.bigmodel.cn (1261)",
    ),
    RefusalRow(
        id="maximum-prompt-length",
        speaker="xAI",
        recovery="shorten",
        words=row_words(r"maximum (?:prompt|input) length (?:is|of) \d"),
        example="This model's maximum prompt length is 131072 but the request contains 537812 tokens.",
        source="cline#3120",
    ),
    RefusalRow(
        id="model-token-limit",
        speaker="Moonshot, Copilot, AI21, OpenAI, IBM",
        recovery="shorten",
        words=row_words(
            r"exceed(?:s|ed)? (?:the )?(?:model|configured|prompt|input)? ?token[s]? limit"
            r"|(?:prompt )?tokens? limit exceeded"
            r"|token count(?: of \d+)? exceeds the limit|tokens? exceeds? the configured limit"
            r"|number of input tokens \d+ cannot exceed"
        ),
        example="Invalid request: Your request exceeded model token limit: 262144 (requested: 270011)",
        source="kimi-cli#2011, copilot-more#35; the others: " + _OVERFLOWS,
    ),
    RefusalRow(
        id="input-length-range",
        speaker="DashScope",
        recovery="shorten",
        words=row_words(r"range of input length should be"),
        example="<400> InternalError.Algo.InvalidParameter: Range of input length should be [1, 258048]",
        source="qwen-code#98, #2068, Qwen-Agent#615",
    ),
    RefusalRow(
        id="model-length",
        speaker="vLLM, SGLang, StepFun, TensorRT-LLM",
        recovery="shorten",
        words=row_words(
            r"longer than the max(?:imum)? (?:model|sequence|input|context) len"
            r"|(?:exceeds?|exceeded) (?:the )?(?:model'?s? )?max(?:imum)?[ _](?:model|sequence|allowed input"
            r"|input|context|seq)[ _]?len"
            r"|exceeds? the model max length|max_seq_len(?:gth)? exceeded|exceeds? max_(?:model|seq|input)_len"
        ),
        example="The decoder prompt (length 40000) is longer than the maximum model length of 32768. Make sure that"
        " `max_model_len` is no smaller than the number of text tokens plus multimodal tokens.",
        source="vLLM vllm/v1/engine/input_processor.py; the others: unconfirmed",
    ),
    RefusalRow(
        id="no-room-for-the-answer",
        speaker="vLLM, TensorRT-LLM",
        recovery="shorten",
        words=row_words(
            r"max_(?:completion_|new_)?tokens must be at least 1, got -\d|max_tokens \(-\d+\) must be greater"
        ),
        example="max_tokens must be at least 1, got -512.",
        source="vLLM vllm/sampling_params.py: the prompt fills the window, so that a negative rest is left",
    ),
    RefusalRow(
        id="inputs-tokens",
        speaker="TGI, Together, Hugging Face",
        recovery="shorten",
        words=row_words(r"`?inputs`? (?:tokens \+ `?max_new_tokens`? )?must (?:be <=|have less than)"),
        example="Input validation error: `inputs` tokens + `max_new_tokens` must be <= 32768. Given: 40000 `inputs`"
        " tokens and 4096 `max_new_tokens`",
        source="huggingface.co/CohereForAI/c4ai-command-r-plus/discussions/43",
    ),
    RefusalRow(
        id="requested-tokens",
        speaker="llama-cpp-python, Azure, Cohere",
        recovery="shorten",
        words=row_words(
            r"requested tokens \(\d+\) exceed|tokens in request more than max tokens allowed"
            r"|total number of tokens in the (?:prompt|input) cannot exceed|size limit exceeded by \d+ tokens"
            r"|too many (?:input )?tokens\b"
        ),
        example="too many tokens: total number of tokens in the prompt cannot exceed 4081 - received 5120",
        source="sandbox-topically#4 (Cohere), llama-cpp-python#462; the others: " + _OVERFLOWS,
    ),
    RefusalRow(
        id="reduce-the-length",
        speaker="Groq, Cerebras, OpenAI",
        recovery="shorten",
        words=row_words(
            r"reduce the length of (?:the|your) (?:messages|prompt|input)|current length is \d+ while limit is \d+"
        ),
        example="Please reduce the length of the messages or completion. Current length is 140000 while limit is"
        " 131072",
        source="cline#5140, opencode#1551 (Cerebras), smol-ai/developer#7 (OpenAI)",
    ),
    RefusalRow(
        id="no-reason",
        speaker="Cerebras, gateways",
        recovery="shorten",
        bare=True,
        often_unstated=False,
        statuses=frozenset({HTTPStatus.BAD_REQUEST, HTTPStatus.REQUEST_ENTITY_TOO_LARGE}),
        example="",
        source="openclaw#119596 (Cerebras), oh-my-pi#1251, billion-context-pi#215; no overflow: pi#8682, #9482",
    ),
    RefusalRow(
        id="message-tokens",
        speaker="Volcengine Ark, Baidu, Hunyuan",
        recovery="shorten",
        words=row_words(
            r"exceed(?:s|ed)? max(?:imum)? message tokens|length of messages must be less than|max input characters"
            r"|prompt tokens too long|输入.{0,10}(?:过长|超过|超长)"
        ),
        example="Total tokens of image and text exceed max message tokens. Request id: x",
        source="errors of Ark that users recorded in public repositories; Baidu and Hunyuan: unconfirmed",
    ),
    RefusalRow(
        id="too-many-tokens-for-the-model",
        speaker="other servers",
        recovery="shorten",
        words=row_words(
            r"\b(?:prompt|input|messages?|conversation|total|requested)\b[^.:]{0,60}\btokens?\b[^.]{0,60}"
            r"(?:exceed|longer than|more than|greater than|larger than|over the)[^.]{0,40}"
            r"\b(?:max(?:imum)?|limit|allowed|window|model)"
        ),
        example="Your prompt has 70000 tokens, which is more than the limit of this model",
        source="the common form of the rows above; its example: unconfirmed",
    ),
    RefusalRow(
        id="body-too-large",
        speaker="every server and proxy",
        recovery="shorten",
        any_words=True,
        often_unstated=False,
        statuses=frozenset({HTTPStatus.REQUEST_ENTITY_TOO_LARGE}),
        example="Request Entity Too Large",
        source="RFC 9110, 15.5.14",
    ),
)

"""What providers really said, word for word from public reports: each text is the row that says it is its source."""

from __future__ import annotations

import json
from dataclasses import dataclass

import pytest

from holdfast.errors import ProviderFault
from holdfast.providers.error_mapping import http_failure, stream_failure
from holdfast.providers.refusals import ROWS, refusal_named


@dataclass(frozen=True)
class Quote:
    """A body with an error, the report that has it, the row and, if it is not `rejected`, the fault."""

    row: str
    source: str
    body: str
    status: int = 400
    fault: ProviderFault = "rejected"


def claude(row: str, source: str, text: str, status: int = 400, fault: ProviderFault = "rejected") -> Quote:
    body = {"type": "error", "error": {"type": "invalid_request_error", "message": text}, "request_id": "req_1"}
    return Quote(row, source, json.dumps(body), status, fault)


def gpt(
    row: str, source: str, text: str, code: str | None = None, status: int = 400, fault: ProviderFault = "rejected"
) -> Quote:
    error = {"message": text, "type": "invalid_request_error", "param": None, "code": code}
    return Quote(row, source, json.dumps({"error": error}), status, fault)


def google(row: str, source: str, text: str, fault: ProviderFault = "rejected") -> Quote:
    return Quote(
        row,
        source,
        json.dumps({"error": {"code": 400, "message": text, "status": "INVALID_ARGUMENT"}}),
        400,
        fault,
    )


THINKING = (
    claude("thinking-signature", "claude-code#10627", "messages.1.content.0: Invalid `signature` in `thinking` block"),
    Quote(
        "thinking-signature",
        "Antigravity-Manager#498",
        r'{"error":{"code":400,"message":"{\"type\":\"error\",\"error\":{\"type\":\"invalid_request_error\",\"message\":'
        r'\"messages.1.content.0: Invalid `signature` in `thinking`       block\"},\"request_id\":\"req_vrtx_1\"}",'
        r'"status":"INVALID_ARGUMENT"}}',
    ),
    Quote(
        "thinking-signature",
        "opencode#15074",
        "Bad Request: InvokeModelWithResponseStream: operation error Bedrock Runtime: InvokeModelWithResponseStream,"
        " https response error StatusCode: 400, RequestID: 9f83, ValidationException: ***.***.content.0: Invalid"
        " `signature` in `thinking` block (request id: 2026) trace_id: 075e",
    ),
    claude(
        "thinking-changed",
        "claude-code#19539",
        "messages.5.content.1: `thinking` or `redacted_thinking` blocks in the latest assistant message cannot be"
        " modified. These blocks must remain as they were in the original response.",
    ),
    claude(
        "thinking-last",
        "CLIProxyAPI#5321",
        "messages.3: The final block in an assistant message cannot be `thinking`.",
    ),
    claude(
        "thinking-last",
        "forgecode#1853",
        "messages.1.content.0: When thinking is disabled, an `assistant` message in the final position cannot contain"
        " `thinking`. To use thinking blocks, enable `thinking` in your request.",
    ),
    claude(
        "thinking-first",
        "kilocode#5219",
        "messages.1.content.0.type: Expected `thinking` or `redacted_thinking`, but found `tool_use`. When `thinking`"
        " is enabled, a final `assistant` message must start with a thinking block (preceeding the lastmost set of"
        " `tool_use` and `tool_result` blocks). We recommend you include thinking blocks from previous turns. To avoid"
        " this requirement, disable `thinking`. Please consult our documentation at"
        " https://docs.claude.com/en/docs/build-with-claude/extended-thinking",
    ),
    Quote(
        "thinking-variant",
        "open-cowork#231",
        "Failed to deserialize the JSON body into the target type: messages[2]: unknown variant `thinking`, expected"
        " `text` at line 1 column 812",
    ),
    gpt(
        "thinking-required",
        "opencode#24791",
        "The `content[].thinking` in the thinking mode must be passed back to the API.",
        "invalid_request_error",
    ),
    gpt(
        "thinking-required",
        "GCMP#26",
        "Missing thinking block in the assistant message at message index 11. For more information, please refer to"
        " https://api-docs.deepseek.com/guides/thinking_mode#tool-calls",
        "invalid_request_error",
    ),
    gpt(
        "thinking-required",
        "rikkahub#1629",
        "The `reasoning_text` in the thinking mode must be passed back to the API.",
    ),
    gpt(
        "reasoning-required",
        "positron#13211",
        "The reasoning_content in the thinking mode must be passed back to the API.",
        "invalid_request_error",
    ),
    Quote(
        "reasoning-required",
        "AionUi#2746",
        r'{"error":{"message":"Error from provider: Provider returned error","code":400,"metadata":{"raw":"{\"error\":'
        r"{\"message\":\"thinking is enabled but reasoning_content is missing in assistant tool call message at index 2"
        r'\",\"type\":\"invalid_request_error\"}}","provider_name":"Moonshot AI","is_byok":true}},"user_id":"user_1"}',
    ),
    gpt(
        "encrypted-reasoning",
        "codex#8145",
        "The encrypted content gAAA...DQ== could not be verified.",
        "invalid_encrypted_content",
    ),
    Quote(
        "encrypted-reasoning",
        "copilot-api#363",
        '{"code": "bad_request", "message": "The encrypted content gAAA...Qw== could not be verified. Reason: Encrypted'
        ' content could not be decrypted or parsed."}',
    ),
    Quote(
        "encrypted-reasoning",
        "copilot-api#339",
        r'{"error":{"message":"{\"error\":{\"message\":\"Encrypted function output content could not be decrypted or'
        r' decoded.\",\"code\":\"invalid_request_body\"}}\n","type":"error","param":"","code":null}}',
    ),
    Quote(
        "encrypted-reasoning",
        "sub2api#4535",
        '{"code": "invalid-argument", "error": "Could not decrypt the provided encrypted_content. Ensure the value is'
        ' the unmodified encrypted_content from a previous response."}',
    ),
    Quote(
        "encrypted-reasoning",
        "grok2api#688",
        '{"code": "invalid-argument", "error": "Could not decode the compaction blob. Ensure it is unmodified from the'
        ' compact response."}',
    ),
    gpt(
        "reasoning-item",
        "cline#12242",
        "Item 'fc_0a4d512680f81369006a5364c645f481a1a979134e6d548de1' of type 'function_call' was provided without its"
        " required 'reasoning' item: 'rs_0a4d512680f81369006a5364c4142481a1803037dcae023e29'.",
    ),
    gpt(
        "reasoning-item",
        "oh-my-pi#41",
        "Item with id 'rs_04962823ecde01b901698e138042688193a657e07614b238c3' not found. Items are not persisted when"
        " `store` is set to false. Try again with `store` set to true, or remove this item from your input.",
        status=404,
    ),
    google("thought-signature", "gemini-cli#13467", "Corrupted thought signature."),
    google(
        "thought-signature",
        "CodexPlusPlus#367",
        "Function call is missing a thought_signature in functionCall parts. This is required for tools to work"
        " correctly, and missing thought_signature may lead to degraded model performance. Additional data, function"
        " call `default_api:exec_command` , position 3. Please refer to"
        " https://ai.google.dev/gemini-api/docs/thought-signatures for more details.",
    ),
    Quote(
        "thought-signature",
        "9router#301",
        '{"error":{"message":"[gemini-cli/gemini-3-flash-preview] [400]: Unable to submit request because Thought'
        " signature is not valid.. Learn more: https://cloud.google.com/vertex-ai/generative-ai/docs/model-reference"
        '/gemini (reset after 30s)"}}',
    ),
    gpt(
        "reasoning-field",
        "jan#8136",
        "'messages.1' : for 'role:assistant' the following must be satisfied[('messages.1' : property"
        " 'reasoning_content' is unsupported)]",
    ),
    gpt("reasoning-field", "vercel/ai#8057", "messages[2].reasoning: reasoning is not supported with this model"),
    Quote(
        "reasoning-field",
        "cherry-studio#16790",
        '{"message": "messages.2.assistant.reasoning_content: property \'messages.2.assistant.reasoning_content\' is'
        ' unsupported", "type": "invalid_request_error", "param": "validation_error", "code": "wrong_api_format"}',
    ),
    Quote(
        "reasoning-field",
        "litellm#30835",
        '{"detail":[{"type":"extra_forbidden","loc":["body","messages",2,"assistant","reasoning_content"],"msg":"Extra'
        ' inputs are not permitted","input":"hm"}]}',
        422,
    ),
)

OTHERS = (
    Quote("control-tokens", "gajae-code#3706", '{"detail": "Request blocked."}'),
    gpt("control-tokens", "gajae-code#2144", "Request blocked.", "invalid_prompt"),
    gpt(
        "one-call",
        "llama.cpp, run",
        "This model only supports single tool-calls at once!",
        status=500,
        fault="overloaded",
    ),
    claude(
        "tool-schema",
        "claude-code#7365",
        "tools.118.custom.input_schema: JSON schema is invalid. It must match JSON Schema draft 2020-12"
        " (https://json-schema.org/draft/2020-12). Learn more about tool use at"
        " https://docs.anthropic.com/en/docs/tool-use.",
    ),
    gpt(
        "tool-schema",
        "kubernetes-mcp-server#340",
        "Invalid schema for function 'namespaces_list': In context=(), object schema missing properties.",
        "invalid_function_parameters",
    ),
    google(
        "tool-schema",
        "kubernetes-mcp-server#340",
        "* GenerateContentRequest.tools[0].function_declarations[0].parameters.properties[params].properties: should be"
        " non-empty for OBJECT type",
    ),
    gpt(
        "bad-image",
        "STranslate#277",
        "You uploaded an unsupported image. Please make sure your image has of one the following formats: ['png',"
        " 'jpeg', 'gif', 'webp'].",
        "invalid_image_format",
    ),
    gpt(
        "bad-image",
        "gptpdf#6",
        "You uploaded an unsupported image. Please make sure your image is below 20 MB in size and is of one the"
        " following formats: ['png', 'jpeg', 'gif', 'webp'].",
        "sanitizer_server_error",
    ),
    gpt(
        "bad-image",
        "Qwen-VL#431",
        "Download the media resource timed out during the data inspection process.",
        "InvalidParameter.DataInspection",
    ),
    gpt(
        "bad-image",
        "agentscope-java#2700",
        "<400> InternalError.Algo.InvalidParameter: Failed to download multimodal content",
    ),
)

LIMITS = (
    Quote("no-reason", "openclaw#119596", "", 413, "too_long"),
    Quote("no-reason", "oh-my-pi#1251", "", 400, "too_long"),
    gpt(
        "larger-than-a-minute",
        "aider#1880",
        "Request too large for gpt-4o in organization org-1 on tokens per min (TPM): Limit 30000, Requested 36278. The"
        " input or output tokens must be reduced in order to run successfully. Visit"
        " https://platform.openai.com/account/rate-limits to learn more.",
        "rate_limit_exceeded",
        429,
        "too_long",
    ),
    claude(
        "output-limit",
        "claude-code#24451",
        "max_tokens: 128001 > 64000, which is the maximum allowed number of output tokens for claude-opus-4-5-20251101",
    ),
    gpt(
        "output-limit",
        "NextChat#3195",
        "max_tokens is too large: 8192. This model supports at most 4096 completion tokens, whereas you provided 8192.",
    ),
    Quote(
        "output-limit",
        "vercel/ai#2772",
        '{"message":"The maximum tokens you requested exceeds the model limit of 4096. Try again with a maximum tokens'
        ' value that is lower than 4096."}',
    ),
    gpt("output-limit", "opencode#1000", "`max_tokens` must be less than or equal to `16384`"),
    gpt(
        "output-limit",
        "hyper-grok-build#44",
        "max_tokens (384000) exceeds model's maximum output tokens (65536) for model deepseek-v4-flash:0731",
    ),
    gpt(
        "context-length-code",
        "chathub#126",
        "This model's maximum context length is 4097 tokens. However, your messages resulted in 4294 tokens. Please"
        " reduce the length of the messages.",
        "context_length_exceeded",
        fault="too_long",
    ),
    Quote(
        "context-length-code",
        "copilot-intellij-feedback#94",
        '{"error":{"message":"prompt token count of 138898 exceeds the limit of 64000",'
        '"code":"model_max_prompt_tokens_exceeded"}}',
        fault="too_long",
    ),
    Quote(
        "context-length-code",
        "llama.cpp#15780",
        '{"error": {"code": 500, "message": "the request exceeds the available context size. try increasing the context'
        ' size or enable context shift", "type": "exceed_context_size_error", "n_prompt_tokens": 1407, "n_ctx": 256}}',
        500,
        "too_long",
    ),
    Quote(
        "context-length-code",
        "platform.claude.com/docs/en/api/errors",
        '{"type": "error", "error": {"type": "request_too_large", "message": "Request exceeds the maximum allowed'
        ' number of bytes."}}',
        413,
        "too_long",
    ),
    gpt(
        "maximum-context-length",
        "OpenHands#9937",
        "This endpoint's maximum context length is 131072 tokens. However, you requested about 138956 tokens (7884 of"
        ' text input, 131072 in the output). Please reduce the length of either one, or use the "middle-out" transform'
        " to compress your prompt automatically.",
        "400",
        fault="too_long",
    ),
    gpt(
        "maximum-context-length",
        "OpenCowork#82",
        "This model's maximum context length is 262144 tokens. However, you requested 128000 output tokens and your"
        " prompt contains at least 134145 input tokens, for a total of at least 262145 tokens. Please reduce the length"
        " of the input prompt or the number of requested output tokens. (parameter=input_tokens, value=134145)",
        fault="too_long",
    ),
    gpt(
        "maximum-context-length",
        "claude-code-best/claude-code#272",
        "'max_tokens' or 'max_completion_tokens' is too large: 64000. This model's maximum context length is 64001"
        " tokens and your request has 24235 input tokens (64000 > 64001 - 24235). None",
        fault="too_long",
    ),
    Quote(
        "context-window",
        "lmstudio-bug-tracker#237",
        '{"error":"Trying to keep the first 15857 tokens when context the overflows. However, the model is loaded with'
        " context length of only 4096 tokens, which is not enough. Try to load the model with a larger context length,"
        ' or provide a shorter input"}',
        fault="too_long",
    ),
    Quote(
        "context-window",
        "MiniMax-M2#119",
        '{"type":"error","error":{"type":"bad_request_error","message":"invalid params, context window exceeds limit'
        ' (2013)"}}',
        fault="too_long",
    ),
    gpt(
        "maximum-prompt-length",
        "cline#3120",
        "This model's maximum prompt length is 131072 but the request contains 136973 tokens.",
        fault="too_long",
    ),
    gpt(
        "model-token-limit",
        "copilot-more#35",
        "prompt token count of 93854 exceeds the limit of 90000",
        fault="too_long",
    ),
    gpt(
        "reduce-the-length",
        "cline#5140",
        "Please reduce the length of the messages or completion. Current length is 42328 while limit is 40000",
        fault="too_long",
    ),
    gpt("maximum-context-length", "rllm#55", "Requested tokens (516) exceed context window of 512", fault="too_long"),
    google(
        "input-token-count",
        "python-genai#2050",
        "The input token count (25270) exceeds the maximum number of tokens allowed (4000).",
        fault="too_long",
    ),
    google(
        "input-token-count",
        "warp#15662",
        "The input token count exceeds the maximum number of tokens allowed 1048576.",
        fault="too_long",
    ),
    gpt(
        "input-and-answer",
        "bolt.new#7422",
        "input length and max_tokens exceed context limit: 86888 + 119866 > 204648, decrease input length or max_tokens"
        " and try again",
        fault="too_long",
    ),
    gpt(
        "prompt-too-long",
        "claude-code#2569",
        r'{"type":"error","error":{"type":"invalid_request_error","message":"Prompt is too long"}}',
        "413",
        413,
        "too_long",
    ),
)
QUOTES = (*THINKING, *OTHERS, *LIMITS)


@pytest.mark.parametrize("quote", QUOTES, ids=lambda quote: f"{quote.row} {quote.source}")
def test_a_quoted_refusal_is_its_row(quote: Quote) -> None:
    failed = http_failure("own:some-model", quote.status, {}, quote.body.encode())
    assert (failed.refusal, failed.fault) == (quote.row, quote.fault)


@pytest.mark.parametrize(
    "quote", [each for each in QUOTES if each.body.startswith("{")], ids=lambda quote: f"{quote.row} {quote.source}"
)
def test_a_quoted_refusal_inside_a_stream_is_its_row(quote: Quote) -> None:
    assert stream_failure("own:some-model", json.loads(quote.body)).refusal == quote.row


def test_the_rows_about_contents_that_were_looked_up_are_quoted() -> None:
    for quote in QUOTES:
        assert refusal_named(quote.row) is not None
    quoted = {quote.row for quote in QUOTES}
    contents = {row.id for row in ROWS if row.recovery not in ("shorten", "wait", "none", "no_images")}
    assert contents <= quoted

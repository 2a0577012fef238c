"""Rows on what a conversation holds: thinking, control tokens, the schemas of tools, several calls at once."""

from __future__ import annotations

from holdfast.providers.refusals.refusal import RefusalRow, row_words

TOOL_ROWS = (
    RefusalRow(
        id="tool-schema",
        speaker="OpenAI, Anthropic, Gemini, Groq, Moonshot, Bedrock, Mistral, llama.cpp",
        recovery="tools",
        words=row_words(
            r"\btools\.\d+\.|\btools\[\d+\]|function_declarations?\[\d+\]|[\"']tools[\"'], ?\d"
            r"|toolconfig[./]tools|functionDeclaration\b"
            r"|invalid (?:json )?(?:function |tool )?(?:input |parameters? )?schema|input_schema|invalid 'tools"
            r"|json schema (?:is invalid|conversion failed|is not supported)|flavored json schema"
            r"|not defined in the schema properties|object schema missing properties|array schema missing items"
            r"|(?:failed|error|unable) (?:to )?(?:in |when |while )?(?:pars|compil|convert"
            r"|initializ)\w* (?:the )?grammar"
        ),
        codes=frozenset({"invalid_function_parameters", "invalid_tool_schema"}),
        example="Invalid schema for function 'mcp__trip__book': In context=(), object schema missing properties.",
        source="claude-code#7365, spring-ai#4776, kubernetes-mcp-server#340, azure-mcp#197, gemini-cli#1458,"
        " chatbox#2583, zed#28521 (Bedrock)",
    ),
)

CONTENT_ROWS = (
    RefusalRow(
        id="thinking-signature",
        speaker="Anthropic, Bedrock, Vertex AI",
        recovery="thinking",
        words=row_words(
            r"invalid `?signature`? in `?thinking`?|thinking`?\.signature|redacted_thinking\.data"
            r"|signature[^.]{0,40}thinking|bound to a different conversation"
        ),
        example="messages.1.content.0: Invalid `signature` in `thinking` block",
        source="claude-code#10627, anthropic-sdk-python#1598, opencode#15074 (Bedrock), Antigravity-Manager#498"
        " (Vertex AI)",
    ),
    RefusalRow(
        id="thinking-changed",
        speaker="Anthropic, Bedrock",
        recovery="thinking",
        words=row_words(r"thinking`?[^.]{0,60}(?:cannot be modified|must remain as they were)"),
        example="messages.1.content.141: `thinking` or `redacted_thinking` blocks in the latest assistant"
        " message cannot"
        " be modified. These blocks must remain as they were in the original response.",
        source="claude-code#19539, #25361, #63203, gajae-code#107, atomic#1720",
    ),
    RefusalRow(
        id="thinking-last",
        speaker="Anthropic",
        recovery="thinking",
        words=row_words(
            r"final block in an assistant message cannot be `?(?:redacted_)?thinking"
            r"|(?:final position|assistant message)[^.]{0,40}cannot (?:contain|end with|be) `?(?:redacted_)?thinking"
        ),
        example="messages.1: The final block in an assistant message cannot be `thinking`.",
        source="CLIProxyAPI#5321, hermes-agent#13010, forgecode#3071; thinking that is off: forgecode#1195, #1853",
    ),
    RefusalRow(
        id="thinking-first",
        speaker="Anthropic",
        recovery="thinking",
        words=row_words(r"expected `?thinking`? or `?redacted_thinking`?, but found"),
        example="messages.1.content.0.type: Expected `thinking` or `redacted_thinking`, but found `tool_use`.",
        source="kilocode#5219, opencode#3077, claude-code#1213",
    ),
    RefusalRow(
        id="thinking-variant",
        speaker="DeepSeek, servers with Anthropic's protocol",
        recovery="thinking",
        words=row_words(
            r"(?:unknown variant|unsupported|unexpected|does not match)[^.]{0,80}`?(?:redacted_)?thinking"
            r"|doesn'?t support the reasoningcontent|reasoningtext\.signature"
        ),
        example="invalid request body: unknown variant `redacted_thinking`, expected one of `text`, `image`,"
        " `document`",
        source="deepseek-recipe 0.2, run; open-cowork#231 (DeepSeek); pi-mono amazon-bedrock.ts",
    ),
    RefusalRow(
        id="encrypted-reasoning",
        speaker="OpenAI, Azure, xAI",
        recovery="thinking",
        words=row_words(
            r"encrypted (?:function output )?content[^.]{0,120}(?:could not|cannot|not) (?:be )?"
            r"(?:verified|decrypt|parsed|match)"
            r"|(?:could not|cannot|failed to|unable to) (?:decrypt|verify)[^.]{0,60}encrypted|invalid_encrypted_content"
            r"|could not decode the compaction blob"
        ),
        codes=frozenset({"invalid_encrypted_content"}),
        example="The encrypted content gAAA... could not be verified. Reason: Encrypted content could not be"
        " decrypted or"
        " parsed.",
        source="codex#8145, #35334, sub2api#2863, copilot-api#339, #363; xAI: sub2api#4535, grok2api#688",
    ),
    RefusalRow(
        id="reasoning-item",
        speaker="OpenAI, Azure, llama.cpp",
        recovery="thinking",
        words=row_words(
            r"without its required (?:following item|'?reasoning'? item)|duplicate item found with id"
            r"|item with id '?(?:rs|fc|msg)_\w+'? not found|item\['content'\] is not an array"
            r"|expected an id that begins with"
        ),
        example="Item 'fc_X' of type 'function_call' was provided without its required 'reasoning' item: 'rs_Y'.",
        source="cline#12242, mastra#8738, continue#10018, oh-my-pi#41, vercel/ai#7883; llama.cpp's server, run",
    ),
    RefusalRow(
        id="thought-signature",
        speaker="Gemini, Vertex AI",
        recovery="thinking",
        words=row_words(r"thought[_ ]?signature"),
        example="Corrupted thought signature.",
        source="gemini-cli#13467, MassGen#665 (OpenRouter), CodexPlusPlus#367, 9router#301 (Vertex AI)",
    ),
    RefusalRow(
        id="reasoning-required",
        speaker="DeepSeek, Moonshot",
        recovery="reasoning",
        words=row_words(
            r"reasoning_content`?[^.]{0,60}(?:must be passed back|is missing|is required)"
            r"|missing[^.]{0,40}reasoning_content"
        ),
        example="thinking is enabled but reasoning_content is missing in assistant tool call message at index 2",
        source="positron#13211, cc-switch-cli#169 (DeepSeek), AionUi#2746 (Moonshot)",
    ),
    RefusalRow(
        id="thinking-required",
        speaker="DeepSeek, over Anthropic's protocol and over Responses",
        recovery="reasoning",
        words=row_words(
            r"(?:\.thinking|reasoning_text)`?[^.]{0,60}must be passed back"
            r"|missing thinking block in the assistant message"
        ),
        example="The `content[].thinking` in the thinking mode must be passed back to the API.",
        source="opencode#24791, aether#31, hermes-agent#16149, GCMP#26; Responses: rikkahub#1629",
    ),
    RefusalRow(
        id="reasoning-field",
        speaker="Groq, Mistral, Cerebras, Moonshot",
        recovery="thinking",
        words=row_words(
            r"\breasoning(?:_content|_details|_text)?\b['\"`\])]*[^.]{0,80}"
            r"(?:unsupported|not supported|not permitted|not allowed|unexpected|unrecognized|extra)"
            r"|(?:extra_forbidden|unrecognized|unexpected|unknown|unsupported)[^.]{0,80}\breasoning(?:_content"
            r"|_details)?\b"
        ),
        example="'messages.2' : for 'role:assistant' the following must be satisfied[('messages.2' : property"
        " 'reasoning_content' is unsupported)]",
        source="jan#8136, vercel/ai#8057 (Groq), cherry-studio#16790 (Cerebras), litellm#30835, crush#1590 (Mistral)",
    ),
    RefusalRow(
        id="control-tokens",
        speaker="OpenAI, gateways with tiktoken",
        recovery="markers",
        words=row_words(
            r"^\W*(?:[^:]{0,60}: ?)?request blocked\b|disallowed special token|special tokens?[^.]{0,40}not allowed"
        ),
        codes=frozenset({"invalid_prompt"}),
        statuses=frozenset({400, 403, 422, 500, 502}),
        example="Request blocked.",
        source="gajae-code#2144, #2267, #3706, codex#32177, oh-my-pi#6913, hermes-agent#75860, kolega-code#516",
    ),
    RefusalRow(
        id="one-call",
        speaker="chat templates of Llama 3.x (llama.cpp, vLLM, NVIDIA)",
        recovery="one_call",
        words=row_words(
            r"only supports single tool-calls at once|(?:parallel|multiple) tool[ _-]calls? (?:are|is) not supported"
        ),
        example="This model only supports single tool-calls at once!",
        source="chat templates of Llama 3.1 to 3.3, run with llama.cpp's server; NVIDIA NIM sends it with status 500",
    ),
)

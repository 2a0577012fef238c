"""Rows on images: a request that is refused for one image, or for images in general.

No list of models that take images exists, so the words decide. They count only if images were sent.
"""

from __future__ import annotations

from holdfast.providers.refusals.refusal import RefusalRow, row_words

IMAGE_ROWS = (
    RefusalRow(
        id="bad-image",
        speaker="Anthropic, OpenAI, Google, xAI, DashScope, Mistral, llama.cpp, vLLM, Ollama",
        recovery="bad_images",
        words=row_words(
            r"(?:process|decode|load|read|identify|download|parse)[^.]{0,20} image\b"
            r"|\b(?:invalid|unsupported|corrupt(?:ed)?|broken|bad|valid|many) image(?:s\b|\b(?! input))"
            r"|\bimage\b[^.]{0,60}(?:exceed|too (?:large|big|small|long)|not valid|corrupt|does not match|appears to be"
            r"|could not be|must be at least|dimension|do not meet)"
            r"|illegal base64 data|inspection of the media|media resource|download multimodal content"
        ),
        codes=frozenset(
            {
                "empty_image_file",
                "failed_to_download_image",
                "image_content_policy_violation",
                "image_file_not_found",
                "image_file_too_large",
                "image_parse_error",
                "image_too_large",
                "image_too_small",
                "invalid_base64_image",
                "invalid_image",
                "invalid_image_format",
                "invalid_image_mode",
                "invalid_image_url",
                "unsupported_image_media_type",
                "InvalidParameter.DataInspection",
            }
        ),
        example="messages.3.content.1.image.source.base64.data: image exceeds 5 MB maximum: 7340032 bytes >"
        " 5242880 bytes",
        source="claude-code#25592, #13480, #46127, STranslate#277, gptpdf#6 (OpenAI), Qwen-VL#431, agentscope-java#2700"
        " (DashScope); the codes: openai-python response_error.py",
    ),
    RefusalRow(
        id="no-images",
        speaker="OpenRouter, DeepSeek, Ollama, Groq, llama.cpp, vLLM",
        recovery="no_images",
        words=row_words(
            r"image|\bvision|multi-?modal|content[ _-]?(?:part[ _-]?)?type|(?:expected|be) a (?:valid )?string"
        ),
        often_unstated=False,
        example="No endpoints found that support image input",
        source="hermes-agent#23411, openclaw#99079, goose#5396; DeepSeek, llama.cpp and vLLM in decision 0013",
    ),
)

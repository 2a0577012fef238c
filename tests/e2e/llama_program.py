"""A model for llama.cpp's server whose weights are a script.

One rule. What it says next follows from the last token alone (attention is nought); the prompt's last token names the
script, and is `say` if the user asks for no other.
"""

from __future__ import annotations

import importlib
from pathlib import Path

WINDOW = 65_536
BEGINNING = 259  # behind <unk>, <s>, </s> and one token for each byte
END = 2
WIDTH = 128
"""Half of it for the bytes, at random; half for the tokens of the scripts, one dimension each."""

CALLED = '<tool_call>{"name": '
SCRIPTS: dict[str, tuple[str, ...]] = {
    "say": ("Hello", " from", " a", " small", " server", "."),
    "glob": ("I", " look", "\n", CALLED + '"glob", "argum', 'ents": {"pat', 'tern": "*', '.txt"}}', "</tool_call>"),
    "bash": (
        CALLED + '"bash", "arguments": {"command": "echo be',
        'gun; sleep 300"}}</tool_call>\n',
        CALLED + '"bash", "arguments": {"command": "echo sec',
        'ond"}}</tool_call>',
    ),
    "forever": (" on", " and"),
    "noise": (),
}
"""What the model says, token by token; no token is in two places. "forever" never ends, "noise" is bytes by chance."""

# The rules of roles and ids are Mistral's, in its words; how a call is written is that of Qwen and Hermes.
TEMPLATE = r"""
{%- if messages[0].role == "system" %}{{- "[SYSTEM]" + messages[0].content }}{% set sent = messages[1:] %}
{%- else %}{% set sent = messages %}{% endif %}
{%- if tools %}{{- "[TOOLS]" + (tools | tojson) }}{% endif %}
{%- set ns = namespace(index=0) %}
{%- for message in sent %}
    {%- if message.role == "user" or (message.role == "assistant" and not message.tool_calls) %}
        {%- if (message.role == "user") != (ns.index % 2 == 0) %}
{{- raise_exception("After the optional system message, conversation roles must alternate user/assistant/...") }}
        {%- endif %}
        {%- set ns.index = ns.index + 1 %}
    {%- elif message.role not in ("assistant", "tool") %}
        {{- raise_exception("Only user, assistant and tool roles are supported, with a system message at the start") }}
    {%- endif %}
    {{- "[" + message.role + "]" }}{{- message.content or "" }}
    {%- for call in message.tool_calls or [] %}
        {%- if call.id | length != 9 %}
            {{- raise_exception("Tool call IDs should be alphanumeric strings with length 9!") }}
        {%- endif %}
        {{- '<tool_call>{"name": ' + (call.function.name | tojson) + ', "arguments": ' }}
        {{- (call.function.arguments | tojson) + "}</tool_call>\n" }}
    {%- endfor %}
    {%- if message.role == "assistant" %}{{- eos_token }}{% endif %}
{%- endfor %}
{%- if add_generation_prompt %}
    {%- set ns.script = "say" %}
    {%- for name in ["glob", "bash", "forever", "noise"] %}
        {%- if sent[-1].role == "user" and "script " + name in sent[-1].content %}{% set ns.script = name %}{% endif %}
    {%- endfor %}
    {{- "[assistant]<|" + ns.script + "|>" }}
{%- endif %}
"""


def write_model(path: Path) -> Path:
    """Write the model and return its path: a vocabulary of bytes and scripts, and one layer that does nothing."""
    gguf, numpy = importlib.import_module("gguf"), importlib.import_module("numpy")
    chance = numpy.random.default_rng(1)
    names = [f"<|{name}|>" for name in SCRIPTS]
    pieces = [piece for script in SCRIPTS.values() for piece in script]
    tokens = ["<unk>", "<s>", "</s>", *(f"<0x{byte:02X}>" for byte in range(256)), *names, *pieces]
    kind = gguf.TokenType
    kinds = [
        kind.UNKNOWN,
        *[kind.CONTROL] * 2,
        *[kind.BYTE] * 256,
        *[kind.CONTROL] * len(names),
        *[kind.NORMAL] * len(pieces),
    ]
    place = {token: number for number, token in enumerate(tokens)}
    assert len(place) == len(tokens)

    embedding = numpy.zeros((len(tokens), WIDTH), numpy.float32)
    output = numpy.zeros((len(tokens), WIDTH), numpy.float32)
    embedding[3:BEGINNING, : WIDTH // 2] = chance.standard_normal((256, WIDTH // 2))
    output[3:BEGINNING, : WIDTH // 2] = chance.standard_normal((256, WIDTH // 2))
    for number in range(BEGINNING, len(tokens)):
        embedding[number, WIDTH // 2 + number - BEGINNING] = 1
    for name, script in SCRIPTS.items():
        last = place[f"<|{name}|>"]
        for piece in script:
            output[place[piece]] += 8 * embedding[last]
            last = place[piece]
        if name == "noise":
            output[3:BEGINNING] += numpy.outer(chance.standard_normal(256), embedding[last])
        else:
            output[place[script[0]] if name == "forever" else END] += 8 * embedding[last]

    model = gguf.GGUFWriter(str(path), "llama")
    model.add_context_length(WINDOW)
    model.add_embedding_length(WIDTH)
    model.add_block_count(1)
    model.add_feed_forward_length(32)
    model.add_head_count(1)
    model.add_rope_dimension_count(WIDTH)
    model.add_layer_norm_rms_eps(1e-5)
    model.add_tokenizer_model("llama")
    model.add_token_list(tokens)
    model.add_token_scores([0.0] * len(tokens))
    model.add_token_types(kinds)
    model.add_unk_token_id(0)
    model.add_bos_token_id(1)
    model.add_eos_token_id(END)
    model.add_add_bos_token(value=False)
    model.add_add_space_prefix(value=False)
    model.add_chat_template(TEMPLATE)
    model.add_tensor("token_embd.weight", embedding)
    model.add_tensor("output.weight", output)
    for name in ("output_norm", "blk.0.attn_norm", "blk.0.ffn_norm"):
        model.add_tensor(f"{name}.weight", numpy.ones(WIDTH, numpy.float32))
    for name in ("attn_q", "attn_k", "attn_v", "attn_output"):
        model.add_tensor(f"blk.0.{name}.weight", numpy.zeros((WIDTH, WIDTH), numpy.float32))
    for name, shape in {"ffn_gate": (32, WIDTH), "ffn_up": (32, WIDTH), "ffn_down": (WIDTH, 32)}.items():
        model.add_tensor(f"blk.0.{name}.weight", numpy.zeros(shape, numpy.float32))
    model.write_header_to_file()
    model.write_kv_data_to_file()
    model.write_tensors_to_file()
    model.close()
    return path

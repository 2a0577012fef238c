"""Reads Gemini's responses: each event of a stream is a response with more of the parts.

Parts of one kind that follow each other are one part of the journal, up to a signature: Google forbids joining a signed
part with what follows.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator

import msgspec

from holdfast.history.formats.format import Json
from holdfast.providers.error_mapping import stream_failure
from holdfast.providers.model import StreamFinished
from holdfast.providers.model_table import cost_of
from holdfast.providers.protocols.finish_reasons import finish_for, known_finish
from holdfast.providers.protocols.protocol import Delta
from holdfast.providers.protocols.response_parts import CallDraft, ResponseJson, ResponseParts, token_count
from holdfast.providers.registry import ModelEndpoint
from holdfast.session.journal.parts import AnswerRefusal, Usage

SIGNATURE = "thought_signature"
"""The key of the signature in the `details` of a call, or of signed thinking."""

_INPUT = ("promptTokenCount", "toolUsePromptTokenCount")
_OUTPUT = ("candidatesTokenCount", "thoughtsTokenCount")
_CACHED = ("cachedContentTokenCount",)
_COUNTED = frozenset({*_INPUT, *_OUTPUT, *_CACHED})

_BASE64 = re.compile(r"[A-Za-z0-9+/_-]*={0,2}")


class GeminiReader:
    """Reads one response, each of whose events is a response with more of the parts."""

    closed = False

    def __init__(self, target: ModelEndpoint) -> None:
        self._name = target.name
        self._provider = target.provider.name
        self._facts = target.facts
        self._json = ResponseJson(target.name)
        self._parts = ResponseParts(target.provider.name)
        self._run = ""  # the kind of the last part, if the next of its kind continues it
        self._runs = 0
        self._reason = ""
        self._blocked = False
        self._refusal: AnswerRefusal | None = None
        self._counts: dict[str, int] = {}

    @property
    def complete(self) -> bool:
        return self._blocked or bool(self._reason)

    def event(self, name: str, data: bytes) -> Iterable[Delta]:
        """Read one event."""
        del name  # Gemini's have none
        return self._read(self._json.decode_object(data))

    def document(self, body: bytes) -> Iterable[Delta]:
        """Read the body of a response that was not streamed."""
        return self._read(self._json.decode_object(body))

    def finished(self) -> StreamFinished:
        """Return the response. Raise `ProviderFailed` if it is cut off."""
        parts = self._parts.parts()
        if self._blocked:
            return StreamFinished(parts, "refusal", self._usage(), self._refusal)
        return StreamFinished(parts, finish_for(self._name, self._reason, parts), self._usage(), self._refusal)

    def _read(self, response: Json) -> Iterator[Delta]:
        if response.get("error") is not None:
            raise stream_failure(self._name, response)
        for field, counted in (self._json.object_in(response, "usageMetadata") or {}).items():
            # Counts are totals so far; gateways leave some out of a later event, or send 0.
            if field in _COUNTED:
                self._counts[field] = token_count(counted) or self._counts.get(field, 0)
        candidates = self._json.objects_in(response, "candidates")
        if not candidates:
            feedback = self._json.object_in(response, "promptFeedback") or {}
            if why := self._json.text_in(feedback, "blockReason"):
                self._blocked = True
                self._refuse(why, feedback.get("blockReasonMessage"), feedback.get("safetyRatings"))
            return
        if reason := self._json.text_in(candidates[0], "finishReason"):
            self._reason = reason
            if known_finish(reason) == "refusal":
                self._refuse(reason, candidates[0].get("finishMessage"), candidates[0].get("safetyRatings"))
        content = self._json.object_in(candidates[0], "content") or {}
        for part in self._json.objects_in(content, "parts"):
            yield from self._read_part(part)

    def _refuse(self, reason: str, message: object, ratings: object) -> None:
        from holdfast.providers.protocols.finish_reasons import safety_refusal

        self._refusal = safety_refusal(reason, message, ratings)

    def _read_part(self, part: Json) -> Iterator[Delta]:
        text = self._json.text_in(part, "text")
        signature = self._json.text_in(part, "thoughtSignature") or None
        if signature and not _BASE64.fullmatch(signature):
            raise self._json.invalid_response("thoughtSignature is not base64")
        call = self._json.object_in(part, "functionCall")
        if call is not None:
            yield from self._read_call(call, signature)
        elif text is None:  # a kind that holdfast does not request
            self._run = ""
        elif not text and not signature:
            pass
        elif self._json.flag_in(part, "thought"):
            yield from self._read_thought(text, signature)
        else:
            key = self._part_key("text")
            yield from self._parts.add_text(key, text)
            self._parts.text(key).signature = signature
            self._run = "" if signature else "text"  # signed parts are never joined with what follows

    def _read_thought(self, text: str, signature: str | None) -> Iterator[Delta]:
        key = self._part_key("thought")
        yield from self._parts.add_thinking(key, text)
        draft = self._parts.thinking(key)
        draft.provider = self._provider if signature else None
        draft.details = {SIGNATURE: signature} if signature else None
        self._run = "" if signature else "thought"

    def _read_call(self, call: Json, signature: str | None) -> Iterator[Delta]:
        name = self._json.text_in(call, "name")
        if name is None:
            raise self._json.invalid_response("a call has no name")
        arguments = self._json.arguments_in(call, "args")  # an object, but some gateways encode it
        key = self._part_key("")
        yield from self._parts.add_call(key, name, arguments)
        draft: CallDraft = self._parts.call(key)
        draft.wire_id = self._json.text_in(call, "id")
        if signature:
            draft.provider, draft.details = self._provider, {SIGNATURE: signature}
        self._run = ""

    def _part_key(self, kind: str) -> int:
        """Return the key of the journal part that a part of this kind extends or begins."""
        if not kind or self._run != kind:
            self._runs += 1
        return self._runs

    def _usage(self) -> Usage:
        def count(*fields: str) -> int:
            return sum(self._counts.get(field, 0) for field in fields)

        usage = Usage(
            input_tokens=count(*_INPUT),
            output_tokens=count(*_OUTPUT),
            cache_read_tokens=count(*_CACHED),
        )
        priced = cost_of(self._facts, usage) if self._counts else None  # what was not counted has no price
        return msgspec.structs.replace(usage, cost=priced)

"""The field types of Gemini's contents and parts."""

from __future__ import annotations

import re

from holdfast.history.field_types import MAP, MAPS, SCALAR, TEXT, FieldTable, contents, listed, of_one_kind

_Name = str | int | None
"""The name of an enumeration's value, or its number in protocol buffers."""


def _snake(name: str) -> str:
    return re.sub("[A-Z]", lambda letter: f"_{letter[0].lower()}", name)


def _either(fields: FieldTable) -> dict[str, object]:
    """Return the fields under their names in camel case and in snake case; either may occur."""
    return {written: type_ for name, type_ in fields.items() for written in (name, _snake(name))}


_BYTES = of_one_kind(_either({"data!": str, "mimeType": TEXT, "displayName": TEXT}), None)
_PLACE = of_one_kind(_either({"fileUri?": str, "mimeType": TEXT, "displayName": TEXT}), None)
_FILES = _either({"inlineData?": _BYTES, "fileData?": _PLACE})
_RUN_BY_IT = of_one_kind(_either({"id": TEXT, "toolType?": _Name, "args?": MAP, "response?": MAP}), None)
_PROCESSED: FieldTable = {"mediaProcessing": _Name}
_ON: FieldTable = {"willContinue": bool | None}
_HOLDING_FILES = listed("", {"": {**_FILES, **_either(_PROCESSED)}}, None)
_CALL = of_one_kind(_either({"id": TEXT, "partialArgs": MAPS, **_ON}), SCALAR)
_RESPONSE = of_one_kind(_either({"id": TEXT, "parts": _HOLDING_FILES, "scheduling": _Name, **_ON}), SCALAR)
GEMINI_TYPES = of_one_kind(
    {
        "parts": contents(
            "",
            {
                "": {
                    "thought": bool | None,
                    **_FILES,
                    **_either(
                        {
                            "functionCall?": _CALL,
                            "functionResponse?": _RESPONSE,
                            "executableCode?": of_one_kind({"code!": str, "language?": _Name, "id": TEXT}, None),
                            "toolCall?": _RUN_BY_IT,
                            "toolResponse?": _RUN_BY_IT,
                            "codeExecutionResult?": of_one_kind({"outcome?": _Name, "output?": TEXT, "id": TEXT}, None),
                            "videoMetadata": MAP,
                            "mediaResolution": MAP,
                            "partMetadata": MAP,
                            "audioTranscription": MAP,
                            "speechMetadata": MAP,
                            **_PROCESSED,
                        }
                    ),
                }
            },
        )
    },
)

"""The questions of MCP servers as questions to the user: a form field by field, or a page to open. Pure.

A field is a question with options where its values are few, else one for the user's own words. Nothing is filled in
beforehand: a default is an option that the user may take. An answer is checked before it is sent.
"""

from __future__ import annotations

import datetime as dt
import math
import re
from collections.abc import Callable, Mapping
from typing import cast
from urllib.parse import urlsplit

import msgspec

from holdfast.system.browser import has_browser
from holdfast.text import valid_unicode
from holdfast.tool_calls import QuestionOption, ServerQuestion, UserQuestion
from holdfast.typed_data import convert_value

DECLINE = "Decline: answer none of it"
SKIP = "Leave this empty"
OPEN_PAGE = "Open it in the browser"
USER_OPENS = "I open it myself"
YES, NO = "Yes", "No"

MOST_OPTIONS = 6
"""Up to this many values of a field are offered as options; with more, the user types one."""

_MAIL = re.compile(r"[^@\s]+@[^@\s]+\.[^@\s]+")
_DATE_TIME = "a date and time, such as 2026-11-24T10:00:00Z"


class _Value(msgspec.Struct, frozen=True):
    const: str = ""
    title: str = ""


class _Items(msgspec.Struct, frozen=True, rename="camel"):
    enum: tuple[str, ...] = ()
    any_of: tuple[_Value, ...] = ()
    one_of: tuple[_Value, ...] = ()


class _Schema(msgspec.Struct, frozen=True, rename="camel"):
    """The supported parts of a field's schema; everything else in it is ignored."""

    type: str = "string"
    title: str = ""
    description: str = ""
    format: str = ""
    enum: tuple[str, ...] = ()
    enum_names: tuple[str, ...] = ()
    one_of: tuple[_Value, ...] = ()
    items: _Items | None = None
    default: object = None
    minimum: float | None = None
    maximum: float | None = None
    min_length: int = 0
    max_length: int | None = None
    min_items: int = 0
    max_items: int | None = None
    pattern: str = ""


class FormField(msgspec.Struct, frozen=True, kw_only=True):
    """One field of a form; `values` are those it allows, by the label that the user reads."""

    name: str
    schema: _Schema
    required: bool
    values: dict[str, str] = msgspec.field(default_factory=dict[str, str])

    @property
    def several(self) -> bool:
        return self.schema.type == "array"

    @property
    def offered(self) -> tuple[str, ...]:
        """Return the labels of the values that are offered as options."""
        if self.schema.type == "boolean":
            return YES, NO
        return tuple(self.values) if len(self.values) <= MOST_OPTIONS else ()

    @property
    def default_label(self) -> str:
        """Return the option that takes the default, "" if there is none or the values are options already."""
        default = self.schema.default
        if default is None or self.offered or not isinstance(default, str | int | float):
            return ""
        return f"Take the default: {default}"

    def read(self, chosen: str, words: str) -> dict[str, object] | str:
        """Return the field with its value, without it if it stays empty, or what is wrong with the answer."""
        if chosen == SKIP and not self.required:
            return {}
        if chosen and chosen == self.default_label:
            return {self.name: self.schema.default}
        answers = [each for each in chosen.split("\n") if each] + [
            each.strip() for each in words.split(",") if words.strip()
        ]
        if self.several:
            return self._read_several(answers)
        text = words.strip() or chosen
        if not text:
            return {} if not self.required else "It must be answered."
        if self.values:
            value = self._value(text)
            return {self.name: value} if value is not None else f"{text!r} is none of its values."
        return self._read_one(text)

    def _value(self, text: str) -> str | None:
        """Return the value that a label or the value itself names, None if there is none."""
        return self.values.get(text, text if text in self.values.values() else None)

    def _read_several(self, answers: list[str]) -> dict[str, object] | str:
        values = [self._value(each) if self.values else each for each in answers if each != SKIP]
        unknown = [label for label, value in zip(answers, values, strict=False) if value is None]
        if unknown:
            return f"{unknown[0]!r} is none of its values."
        if len(values) < self.schema.min_items:
            return f"At least {self.schema.min_items} must be chosen."
        if self.schema.max_items is not None and len(values) > self.schema.max_items:
            return f"At most {self.schema.max_items} may be chosen."
        return {self.name: values} if values or self.required else {}

    def _read_one(self, text: str) -> dict[str, object] | str:
        schema = self.schema
        match schema.type:
            case "boolean":
                found = {"yes": True, "y": True, "true": True, "no": False, "n": False, "false": False}.get(
                    text.lower()
                )
                return {self.name: found} if found is not None else f"{text!r} is neither yes nor no."
            case "integer" | "number":
                return self._read_number(text)
            case _:
                if len(text) < schema.min_length:
                    return f"It needs {schema.min_length} characters or more."
                if schema.max_length is not None and len(text) > schema.max_length:
                    return f"It may have {schema.max_length} characters at most."
                wrong = _wrong_format(text, schema.format)
                return wrong or {self.name: text}

    def _read_number(self, text: str) -> dict[str, object] | str:
        try:
            number = int(text) if self.schema.type == "integer" else float(text)
        except ValueError:
            return f"{text!r} is no {'whole ' if self.schema.type == 'integer' else ''}number."
        if not math.isfinite(number):
            return f"{text!r} is no number."
        if self.schema.minimum is not None and number < self.schema.minimum:
            return f"It must be {self.schema.minimum:g} or more."
        if self.schema.maximum is not None and number > self.schema.maximum:
            return f"It must be {self.schema.maximum:g} or less."
        return {self.name: number}


def _wrong_format(text: str, kind: str) -> str:
    """Return what is wrong with a text of this format, "" if nothing."""
    match kind:
        case "email":
            return "" if _MAIL.fullmatch(text) else f"{text!r} is no e-mail address."
        case "uri":
            return "" if _is_uri(text) else f"{text!r} is no address with a scheme, such as https://…"
        case "date":
            return "" if _parses(dt.date.fromisoformat, text) else f"{text!r} is no date, such as 2026-11-24."
        case "date-time":
            return "" if _parses(dt.datetime.fromisoformat, text) and "T" in text else f"{text!r} is not {_DATE_TIME}."
        case _:
            return ""


def _is_uri(text: str) -> bool:
    try:
        return bool(urlsplit(text).scheme) and " " not in text
    except ValueError:
        return False


def _parses(parse: Callable[[str], object], text: str) -> bool:
    try:
        parse(text)
    except ValueError:
        return False
    return True


def form_fields(question: ServerQuestion) -> tuple[FormField, ...]:
    """Return the fields of a form in their order. A field whose schema cannot be read is one for any text."""
    properties = question.schema.get("properties")
    required = question.schema.get("required")
    fields: object = cast("object", properties) if isinstance(properties, dict) else {}
    names: Mapping[str, object] = convert_value(fields, dict[str, object])
    needed = set(required) if isinstance(required, list) else set[object]()  # pyright: ignore[reportUnknownArgumentType, reportUnknownVariableType] - JSON
    return tuple(_field(name, schema, required=name in needed) for name, schema in names.items())


def _field(name: str, schema: object, *, required: bool) -> FormField:
    try:
        found = convert_value(schema, _Schema)
    except msgspec.ValidationError:
        found = _Schema()
    items = found.items or _Items()
    titled = {each.title or each.const: each.const for each in (*found.one_of, *items.any_of, *items.one_of)}
    named = dict(zip(found.enum_names or found.enum, found.enum, strict=False))
    values = titled or named or {each: each for each in items.enum}
    return FormField(name=name, schema=found, required=required, values=values)


def field_question(server: str, question: ServerQuestion, field: FormField, *, wrong: str = "") -> UserQuestion:
    """Return the question for a field; `wrong` says why the last answer was not accepted."""
    schema = field.schema
    lines = [valid_unicode(question.message.strip()), "", f"**{schema.title or field.name}**"]
    if schema.description:
        lines[-1] += f": {schema.description}"
    if field.values and not field.offered:
        lines += ["", f"One of: {', '.join(field.values)}"]
    if wrong:
        lines += ["", f"Not taken: {wrong}"]
    labels = [*field.offered, *filter(None, (field.default_label,))]
    labels += [] if field.required else [SKIP]
    options = tuple(QuestionOption(label) for label in (*labels, DECLINE))
    text = valid_unicode("\n".join(lines))
    several = field.several and bool(field.offered)
    return UserQuestion(text=text, options=options, several=several, by=_by(server), free_text=not field.offered)


def url_question(server: str, question: ServerQuestion) -> UserQuestion:
    """Return the question whether to open a page, with its whole address."""
    text = f"{question.message.strip()}\n\nThe server asks you to open this page:\n\n`{question.url}`"
    labels = (OPEN_PAGE, USER_OPENS, DECLINE) if has_browser() else (USER_OPENS, DECLINE)
    options = tuple(map(QuestionOption, labels))
    return UserQuestion(text=valid_unicode(text), options=options, by=_by(server), free_text=False, url=question.url)


def _by(server: str) -> str:
    return f"MCP server {server}"

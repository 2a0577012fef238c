"""The words that holdfast does not use: one list, read by every contract that looks at words."""

from __future__ import annotations

PHRASES = {
    "is told": "is sent, is notified, reads",
    "are told": "are sent, are notified, read",
    "whoever": "name the actor: caller, user, other process",
    "somebody": "name the actor",
    "nobody": "name the actor",
    "anybody": "name the actor",
    "anew": "again",
    "meanwhile": "in the meantime, or the event",
    "was expected": "(expected …)",
    "were expected": "(expected …)",
    "of ours": "holdfast's, or nothing",
    "of our own": "holdfast's, or nothing",
    "of one's own": "your own, or nothing",
    "of its own": "its own …",
    "a person": "the user",
    "the person": "the user",
    "summed up": "summarized",
    "sum up": "summarize",
    "sums up": "summarizes",
    "taken back": "rewound, or recalled",
    "by whose rules": "which rules apply",
    "is nobody's": "is unknown",
    "mend": "repair",
    "mends": "repairs",
    "mended": "repaired",
    "go on with": "continue, resume",
    "goes on with": "continues, resumes",
    "as far as it is known": "if known",
    "as far as is known": "if known",
    "as far as can be told": "if known",
    "a unique prefix will do": "ID or unique prefix",
    "all the same": "anyway",
    "is said how": "the hint explains how",
    "what is to be": "the noun",
    "to be had": "available",
}
"""Phrases of texts, comments and documents, each with what to write instead."""

NAMES = frozenset(
    {
        "about",
        "apart",
        "asked",
        "asking",
        "asks",
        "become",
        "becomes",
        "behind",
        "beside",
        "given",
        "gone",
        "held",
        "holds",
        "kept",
        "looked",
        "made",
        "odd",
        "owed",
        "own",
        "said",
        "say",
        "says",
        "standing",
        "stands",
        "taken",
        "tell",
        "telling",
        "tells",
        "told",
        "wanted",
        "went",
        "whole",
    }
)
"""Words that do not say what a value is, or what a function does, if they are all of its name."""

CLASS_WORDS = {"Manager", "Handler", "Helper", "Helpers", "Util", "Utils", "Service"}
"""Words in the name of a class that name a role, not a thing."""

MODULES = {"utils", "util", "common", "types", "constants", "core", "helpers", "misc"}
"""Modules and folders whose name says nothing about what is in them."""

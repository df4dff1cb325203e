"""A validator for the part of JSON Schema that config/bearerd.schema.json uses: what an editor would say about a configuration."""
import json
import re
from pathlib import Path

import plain_yaml

SCHEMA = json.loads((Path(__file__).resolve().parents[2] / "config/bearerd.schema.json").read_text())
TYPES = {"object": dict, "array": list, "string": str, "integer": int, "number": (int, float), "boolean": bool, "null": type(None)}
IGNORED = {"$comment", "$defs", "$schema", "default", "description", "examples", "title"}


def problem(text):
    """Returns the first problem of a configuration, or None."""
    return fault(typed(plain_yaml.parse(text)), SCHEMA, "the file")


def typed(value):
    if isinstance(value, dict):
        return {plain_yaml.text_of(key): typed(item) for key, item in value.items()}
    if isinstance(value, list):
        return [typed(item) for item in value]
    if re.fullmatch(r"-?\d+", value):
        return int(value)
    return {"true": True, "false": False, "": None, "null": None}.get(value, plain_yaml.text_of(value))


def fault(value, schema, place):
    for keyword, wanted in schema.items():
        if keyword not in IGNORED:
            found = KEYWORDS[keyword](value, wanted, schema, place)
            if found:
                return found
    return None


def is_valid(value, schema):
    return fault(value, schema, "") is None


def is_type(value, name):
    return isinstance(value, TYPES[name]) and not (name in ("integer", "number") and isinstance(value, bool))


def first(faults):
    return next((fault for fault in faults if fault), None)


def said(holds, place, what):
    return None if holds else f"{place}: {what}"


def properties(value, wanted, schema, place):
    return isinstance(value, dict) and first(
        fault(item, wanted[key], f"{place}.{key}") for key, item in value.items() if key in wanted)


def additional(value, wanted, schema, place):
    if not isinstance(value, dict):
        return None
    others = {key: item for key, item in value.items() if key not in schema.get("properties", {})}
    if wanted is False:
        return said(not others, place, f"unknown key {', '.join(others)}")
    return first(fault(item, wanted, f"{place}.{key}") for key, item in others.items())


def dependent(value, wanted, schema, place):
    return isinstance(value, dict) and first(
        said(set(needed) <= set(value), place, f"{key} needs {needed}") for key, needed in wanted.items() if key in value)


# By keyword: the value, the keyword's value, the schema around it, and the place in the file.
KEYWORDS = {
    "$ref": lambda value, wanted, schema, place: fault(value, SCHEMA["$defs"][wanted.rsplit("/", 1)[1]], place),
    "type": lambda value, wanted, schema, place: said(
        any(is_type(value, name) for name in ([wanted] if isinstance(wanted, str) else wanted)), place, f"is not of type {wanted}"),
    "enum": lambda value, wanted, schema, place: said(value in wanted, place, f"is none of {wanted}"),
    "const": lambda value, wanted, schema, place: said(value == wanted, place, f"is not {wanted!r}"),
    "pattern": lambda value, wanted, schema, place: isinstance(value, str) and said(
        re.search(wanted, value), place, f"does not match {wanted}"),
    "minimum": lambda value, wanted, schema, place: is_type(value, "integer") and said(value >= wanted, place, f"is below {wanted}"),
    "maximum": lambda value, wanted, schema, place: is_type(value, "integer") and said(value <= wanted, place, f"is above {wanted}"),
    "minLength": lambda value, wanted, schema, place: isinstance(value, str) and said(len(value) >= wanted, place, "is too short"),
    "maxLength": lambda value, wanted, schema, place: isinstance(value, str) and said(len(value) <= wanted, place, "is too long"),
    "minItems": lambda value, wanted, schema, place: isinstance(value, list) and said(len(value) >= wanted, place, "is too short"),
    "maxItems": lambda value, wanted, schema, place: isinstance(value, list) and said(len(value) <= wanted, place, "is too long"),
    "minProperties": lambda value, wanted, schema, place: isinstance(value, dict) and said(len(value) >= wanted, place, "is too small"),
    "maxProperties": lambda value, wanted, schema, place: isinstance(value, dict) and said(len(value) <= wanted, place, "is too large"),
    "uniqueItems": lambda value, wanted, schema, place: isinstance(value, list) and said(
        len({json.dumps(item, sort_keys=True) for item in value}) == len(value), place, "has an item twice"),
    "items": lambda value, wanted, schema, place: isinstance(value, list) and first(
        fault(item, wanted, f"{place}[{index}]") for index, item in enumerate(value)),
    "required": lambda value, wanted, schema, place: isinstance(value, dict) and said(
        set(wanted) <= set(value), place, f"needs {', '.join(set(wanted) - set(value))}"),
    "properties": properties,
    "additionalProperties": additional,
    "propertyNames": lambda value, wanted, schema, place: isinstance(value, dict) and first(fault(key, wanted, place) for key in value),
    "dependentRequired": dependent,
    "allOf": lambda value, wanted, schema, place: first(fault(value, part, place) for part in wanted),
    "anyOf": lambda value, wanted, schema, place: said(
        any(is_valid(value, part) for part in wanted), place, f"fits none of the {len(wanted)} forms: {value}"),
    "oneOf": lambda value, wanted, schema, place: said(
        sum(is_valid(value, part) for part in wanted) == 1, place, "must have exactly one form"),
    "not": lambda value, wanted, schema, place: said(not is_valid(value, wanted), place, "has a forbidden form"),
}
